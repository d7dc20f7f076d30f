"""A stand-in for the Python package dvrk: the clients with the values of scripts.

Release 2.4: psm(ral, 'PSM1'); 2.2: the same with `expected_interval`; 2.0: psm('PSM1'). Release 1: the same arms under
their old names, with bare values; a motion blocks until its end unless `blocking=False`, without interpolation the
setpoint changes at once; wrenches are (6,) or (3,) forces in the axes of the tip.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np

from trocar.robot.clients import devices as clients
from trocar.scripts import RELEASE_1
from trocar.scripts.crtk_package import ScriptDevice, ScriptStates
from trocar.scripts.node import node_of
from trocar.scripts.pykdl import Frame, Rotation, Vector
from trocar.scripts.session import current
from trocar.scripts.topics import first_state
from trocar.spatial import Array

ENABLE_TIMEOUT = 10.0  # [s]
HOME_TIMEOUT = 180.0  # [s]
OPEN, CLOSED = math.radians(80.0), math.radians(-20.0)


class _Named(ScriptDevice):
    """A device in a child of a node."""

    def __init__(self, ral: Any, name: str, timeout: float | None = None) -> None:
        if isinstance(ral, str):  # release 2.0: (name)
            ral, name = node_of(""), ral or name
        self._short_name, self._ral = name, ral.create_child(name)
        super().__init__(current(), self._ral.namespace(), timeout)

    def name(self) -> str:
        return self._short_name

    def ral(self) -> Any:
        return self._ral


class arm(_Named, ScriptStates, clients.ArmClient):
    """An arm by its name."""

    def __init__(
        self, ral: Any = None, arm_name: str = "", connection_timeout: float | None = None, *,
        expected_interval: float | None = None, ros_namespace: str = "",
    ) -> None:  # fmt: skip
        timeout = self.default_timeout if connection_timeout is None else connection_timeout
        if isinstance(ral, str):  # release 2.0: (arm_name, ros_namespace, expected_interval)
            ral, arm_name, ros_namespace = None, ral, arm_name or ros_namespace
        if ral is None:
            ral, timeout = node_of(ros_namespace), max(timeout, 1.0)
        super().__init__(ral, arm_name, timeout)
        self._ral.expect("operating_state", "subscriber")

    def servo_cf(self, setpoint: Any) -> None:
        """Apply a wrench (6,) [N, N m] in the axes of the tip: `body.servo_cf`, as scripts for any device call it."""
        self.body.servo_cf(setpoint)


class psm(arm, clients.PSMClient):
    """A PSM with its jaw."""


class ecm(arm, clients.ECMClient):
    """An ECM."""


class mtm(arm, clients.MTMClient):
    """An MTM with its gripper; `servo_ci` takes a crtk_msgs/CartesianImpedance."""


class suj(_Named, clients.SUJClient):
    """All set-up joints of a cart: ECM, PSM1, PSM2, PSM3.

    Release 2.4.0 of dvrk looks for /PSM1 instead of /SUJ/PSM1; this one uses the robot's names.
    """

    def __init__(self, ral: Any = "", connection_timeout: Any = 1.0) -> None:
        timeout = connection_timeout if isinstance(connection_timeout, int | float) else 1.0
        super().__init__(node_of("") if isinstance(ral, str) else ral, "SUJ", timeout)


class system(_Named, clients.SystemClient):
    """Power, homing and sounds of the whole system."""

    def __init__(self, ral: Any = "", system_namespace: str = "system") -> None:
        super().__init__(ral, system_namespace)


class console(_Named, clients.ConsoleClient):
    """Teleoperation state of the console. In releases before 2.4 it also has the methods of `system`."""

    def __init__(self, ral: Any = "", console_name: str = "console") -> None:
        super().__init__(ral, console_name)
        if not current().tuples:
            whole = clients.SystemClient(current())
            self.power_on, self.power_off, self.home = whole.power_on, whole.power_off, whole.home


class teleop_psm(_Named, clients.TeleopPSMClient):
    """Teleoperation of one pair of arms, such as MTMR_PSM1."""

    def __init__(self, ral: Any, teleop_name: str = "") -> None:
        super().__init__(ral, teleop_name)


MODULE: dict[str, type[Any]] = {kind.__name__: kind for kind in (arm, console, ecm, mtm, psm, suj, system, teleop_psm)}


# -- release 1 ---------------------------------------------------------------------------------------------------------


def _renamed(name: str) -> Callable[..., Any]:
    return lambda self, *arguments, **named: attrgetter(name)(self)(*arguments, **named)


def _number(name: str) -> Callable[..., float]:
    return lambda self: float(attrgetter(name)(self)()[0])


class ArmApi1(arm):
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


class PSMApi1(ArmApi1, psm):
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


class ECMApi1(ArmApi1, ecm):
    """An ECM."""

    def insert_endoscope(self, depth: float, *options: Any, **named: Any) -> bool:
        return self.move_joint_one(depth, 2, *options, **named)

    manual_insert = insert_endoscope


class MTMApi1(ArmApi1, mtm):
    """An MTM."""


class ConsoleApi1(console):
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
MODULE_1: dict[str, type[Any]] = {**MODULE, **_CLASSES}
