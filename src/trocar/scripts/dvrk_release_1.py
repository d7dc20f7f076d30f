"""A stand-in for the Python package dvrk, release 1: the same arms under their old names, with bare values.

A motion blocks until its end unless `blocking=False`; without interpolation the setpoint changes at once. Wrenches are
(6,) or (3,) forces in the axes of the tip.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np

from trocar.scripts import dvrk_package as dvrk
from trocar.scripts.pykdl import Frame, Rotation, Vector
from trocar.scripts.topics import RELEASE_1, first_state
from trocar.spatial import Array

ENABLE_TIMEOUT = 10.0  # [s]
HOME_TIMEOUT = 180.0  # [s]
OPEN, CLOSED = math.radians(80.0), math.radians(-20.0)


def _renamed(name: str) -> Callable[..., Any]:
    return lambda self, *arguments, **named: attrgetter(name)(self)(*arguments, **named)


def _number(name: str) -> Callable[..., float]:
    return lambda self: float(attrgetter(name)(self)()[0])


class ArmApi1(dvrk.arm):
    """An arm with the methods of release 1."""

    def __init__(self, arm_name: str, ros_namespace: str = "/dvrk/", **options: Any) -> None:
        super().__init__(None, arm_name, ros_namespace=ros_namespace.replace("/dvrk/", ""), **options)

    def home(self, timeout: float = HOME_TIMEOUT) -> bool:
        """Enable and home; returns when done."""
        return bool(self.enable(ENABLE_TIMEOUT) and super().home(timeout))

    def get_robot_state(self) -> str:
        """READY when enabled and homed, UNINITIALIZED when switched off, else the state of later releases."""
        return first_state(str(self.operating_state()), bool(self.is_homed()))

    get_arm_current_state = get_arm_desired_state = get_robot_state

    def shutdown(self) -> None:
        """Switch off."""
        self.disable(ENABLE_TIMEOUT)

    def _setpoint(self) -> Array:
        position: Array = self.receive("setpoint_js").position
        return position.copy()

    def get_joint_number(self) -> int:
        return len(self.measured_jp())

    def move_joint(self, abs_input: Any, interpolate: bool = True, blocking: bool = True) -> bool:
        """Move all joints [rad, m]."""
        return _moved(self.move_jp, self.servo_jp, np.array(abs_input, dtype=float), interpolate, blocking)

    def move_joint_some(self, abs_input: Any, joint_index: Any, *options: Any, **named: Any) -> bool:
        """Move some joints, by their indices, or one by its index."""
        goal = self._setpoint()
        goal[np.atleast_1d(joint_index)] = np.asarray(abs_input, dtype=float)
        return self.move_joint(goal, *options, **named)

    def dmove_joint(self, delta_input: Any, *options: Any, **named: Any) -> bool:
        """Move all joints by a difference [rad, m]."""
        return self.move_joint(self._setpoint() + np.asarray(delta_input, dtype=float), *options, **named)

    def dmove_joint_some(self, delta_input: Any, joint_index: Any, *options: Any, **named: Any) -> bool:
        goal = self._setpoint()
        goal[np.atleast_1d(joint_index)] += np.asarray(delta_input, dtype=float)
        return self.move_joint(goal, *options, **named)

    move_joint_one, dmove_joint_one = move_joint_some, dmove_joint_some

    def move(self, abs_input: Any, interpolate: bool = True, blocking: bool = True) -> bool:
        """Move the tip to a Frame, to a position (Vector) or to an orientation (Rotation)."""
        now: Any = self.setpoint_cp()
        match abs_input:
            case Frame():
                goal = abs_input
            case Vector():
                goal = Frame(now.M, abs_input)
            case Rotation():
                goal = Frame(abs_input, now.p)
            case _:
                raise TypeError(f"move takes a Frame, a Vector or a Rotation, got {abs_input!r}")
        return _moved(self.move_cp, self.servo_cp, goal, interpolate, blocking)

    def dmove(self, delta_input: Any, interpolate: bool = True, blocking: bool = True) -> bool:
        """Move the tip by a Frame, a Vector or a Rotation in the axes and about the origin of the base."""
        if not isinstance(delta_input, Frame | Vector | Rotation):
            raise TypeError(f"dmove takes a Frame, a Vector or a Rotation, got {delta_input!r}")
        return _moved(self.move_cp, self.servo_cp, Frame(delta_input) * self.setpoint_cp(), interpolate, blocking)

    def set_wrench_body_force(self, force: Any) -> None:
        self.body.servo_cf([*np.asarray(force, dtype=float).reshape(3), 0.0, 0.0, 0.0])

    def set_wrench_spatial_force(self, force: Any) -> None:
        self.spatial.servo_cf([*np.asarray(force, dtype=float).reshape(3), 0.0, 0.0, 0.0])


class PSMApi1(ArmApi1, dvrk.psm):
    """A PSM."""

    def insert_tool(self, depth: float, *options: Any, **named: Any) -> bool:
        """Move the insertion joint to a depth [m]."""
        return self.move_joint_one(depth, 2, *options, **named)

    def dinsert_tool(self, depth: float, *options: Any, **named: Any) -> bool:
        """Move the insertion joint by a depth [m]."""
        return self.dmove_joint_one(depth, 2, *options, **named)

    def move_jaw(self, angle_radians: float, interpolate: bool = True, blocking: bool = True) -> bool:
        return _moved(self.jaw.move_jp, self.jaw.servo_jp, np.array([angle_radians]), interpolate, blocking)

    def open_jaw(self, *options: Any, **named: Any) -> bool:
        return self.move_jaw(OPEN, *options, **named)

    def close_jaw(self, *options: Any, **named: Any) -> bool:
        return self.move_jaw(CLOSED, *options, **named)

    def set_effort_jaw(self, effort: float) -> None:
        self.jaw.servo_jf(np.array([effort]))


class ECMApi1(ArmApi1, dvrk.ecm):
    """An ECM."""

    def insert_endoscope(self, depth: float, *options: Any, **named: Any) -> bool:
        return self.move_joint_one(depth, 2, *options, **named)

    manual_insert = insert_endoscope


class MTMApi1(ArmApi1, dvrk.mtm):
    """An MTM."""


class ConsoleApi1(dvrk.console):
    """The console."""

    def __init__(self, console_namespace: str = "/dvrk/console") -> None:
        super().__init__(console_namespace.replace("/dvrk/", ""))

    set_teleop_scale, get_teleop_scale = _renamed("teleop_set_scale"), _renamed("teleop_get_scale")


for _old, _new in RELEASE_1["methods"].items():
    setattr(ArmApi1, _old, _renamed(_new))
for _old, _new in RELEASE_1["numbers"].items():
    setattr(PSMApi1 if "jaw" in _old else MTMApi1, _old, _number(_new))


def _moved(move: Any, servo: Any, goal: Any, interpolate: bool, blocking: bool) -> bool:
    """True after a motion, or at once if it does not block or interpolate."""
    if not interpolate:
        servo(goal)
        return True
    handle = move(goal)
    return bool(handle.wait()) if blocking else True


_CLASSES = {"arm": ArmApi1, "console": ConsoleApi1, "ecm": ECMApi1, "mtm": MTMApi1, "psm": PSMApi1}
MODULE: dict[str, type[Any]] = {**dvrk.MODULE, **_CLASSES}
