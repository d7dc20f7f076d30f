"""A stand-in for the Python package dvrk, release 1: the same arms under their old names, with bare values.

A motion blocks until its end unless `blocking=False`; without interpolation the setpoint changes at once. Wrenches are
(6,) or (3,) forces in the axes of the tip.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from trocar.scripts.dvrk import arm as later_arm
from trocar.scripts.dvrk import console as later_console
from trocar.scripts.dvrk import ecm as later_ecm
from trocar.scripts.dvrk import mtm as later_mtm
from trocar.scripts.dvrk import psm as later_psm
from trocar.scripts.dvrk import suj, system, teleop_psm
from trocar.scripts.pykdl import Frame, Rotation, Vector
from trocar.scripts.ros_variants import first_state

__all__ = ["arm", "console", "ecm", "mtm", "psm", "suj", "system", "teleop_psm"]

SWITCHING_ON = 10.0  # longest wait for power and homing [s]
HOMING = 180.0
OPEN, CLOSED = math.radians(80.0), math.radians(-20.0)


class _FirstGeneration(later_arm):
    """Methods of release 1."""

    def __init__(self, arm_name: str, ros_namespace: str = "/dvrk/", **options: Any) -> None:
        super().__init__(None, arm_name, ros_namespace=ros_namespace.replace("/dvrk/", ""), **options)
        later_home: Any = self.home

        def home(timeout: float = HOMING) -> bool:
            """Enable and home; returns when done."""
            return bool(self.enable(SWITCHING_ON) and later_home(timeout))

        self.home: Any = home

    def get_name(self) -> str:
        return self.name()

    def get_arm_current_state(self) -> str:
        """READY when enabled and homed, UNINITIALIZED when switched off, else the state of later releases."""
        return first_state(str(self.operating_state()), bool(self.is_homed()))

    get_arm_desired_state = get_robot_state = get_arm_current_state

    def shutdown(self) -> None:
        """Switch off."""
        self.disable(SWITCHING_ON)

    # -- getters -------------------------------------------------------------------------------------------------------

    def get_current_position(self) -> Any:
        return self.measured_cp()

    def get_desired_position(self) -> Any:
        return self.setpoint_cp()

    def get_current_position_local(self) -> Any:
        return self.local.measured_cp()

    def get_desired_position_local(self) -> Any:
        return self.local.setpoint_cp()

    def get_current_joint_position(self) -> Any:
        return self.measured_jp()

    def get_current_joint_velocity(self) -> Any:
        return self.measured_jv()

    def get_current_joint_effort(self) -> Any:
        return self.measured_jf()

    def get_desired_joint_position(self) -> Any:
        return self.setpoint_jp()

    def get_desired_joint_effort(self) -> Any:
        return self.setpoint_jf()

    def get_current_twist_body(self) -> Any:
        return self.measured_cv()

    get_current_twist = get_current_twist_body

    def get_current_wrench_body(self) -> Any:
        return self.body.measured_cf()

    def get_current_wrench_spatial(self) -> Any:
        return self.spatial.measured_cf()

    def get_jacobian_body(self) -> Any:
        return self.body.jacobian()

    def get_jacobian_spatial(self) -> Any:
        return self.spatial.jacobian()

    def get_joint_number(self) -> int:
        return len(self.measured_jp())

    # -- motions of the joints -----------------------------------------------------------------------------------------

    def move_joint(self, abs_input: Any, interpolate: bool = True, blocking: bool = True) -> bool:
        """Move all joints [rad, m]."""
        goal = np.array(abs_input, dtype=float)
        if not interpolate:
            self.servo_jp(goal)
            return True
        return _ended(self.move_jp(goal), blocking)

    def move_joint_one(
        self, abs_input: float, joint_index: int, interpolate: bool = True, blocking: bool = True
    ) -> bool:
        return self.move_joint_some([abs_input], [joint_index], interpolate, blocking)

    def move_joint_some(
        self, abs_input: Any, joint_index: Any, interpolate: bool = True, blocking: bool = True
    ) -> bool:
        """Move some joints, by their indices."""
        goal = self._setpoint_jp()
        goal[list(joint_index)] = np.asarray(abs_input, dtype=float)
        return self.move_joint(goal, interpolate, blocking)

    def dmove_joint(self, delta_input: Any, interpolate: bool = True, blocking: bool = True) -> bool:
        """Move all joints by a difference [rad, m]."""
        return self.move_joint(self._setpoint_jp() + np.asarray(delta_input, dtype=float), interpolate, blocking)

    def dmove_joint_one(
        self, delta_input: float, joint_index: int, interpolate: bool = True, blocking: bool = True
    ) -> bool:
        return self.dmove_joint_some([delta_input], [joint_index], interpolate, blocking)

    def dmove_joint_some(
        self, delta_input: Any, joint_index: Any, interpolate: bool = True, blocking: bool = True
    ) -> bool:
        goal = self._setpoint_jp()
        goal[list(joint_index)] += np.asarray(delta_input, dtype=float)
        return self.move_joint(goal, interpolate, blocking)

    # -- motions of the tip --------------------------------------------------------------------------------------------

    def move(self, abs_input: Any, interpolate: bool = True, blocking: bool = True) -> bool:
        """Move the tip to a Frame, to a position (Vector) or to an orientation (Rotation)."""
        goal = Frame(self.get_desired_position())
        if isinstance(abs_input, Frame):
            goal = abs_input
        elif isinstance(abs_input, Vector):
            goal.p = abs_input
        elif isinstance(abs_input, Rotation):
            goal.M = abs_input
        else:
            raise TypeError(f"move takes a Frame, a Vector or a Rotation, got {abs_input!r}")
        return self._move_tip(goal, interpolate, blocking)

    def dmove(self, delta_input: Any, interpolate: bool = True, blocking: bool = True) -> bool:
        """Move the tip by a Frame, a Vector or a Rotation in the axes and about the origin of the base."""
        if not isinstance(delta_input, Frame | Vector | Rotation):
            raise TypeError(f"dmove takes a Frame, a Vector or a Rotation, got {delta_input!r}")
        return self._move_tip(Frame(delta_input) * self.get_desired_position(), interpolate, blocking)

    def _move_tip(self, goal: Frame, interpolate: bool, blocking: bool) -> bool:
        if not interpolate:
            self.servo_cp(goal)
            return True
        return _ended(self.move_cp(goal), blocking)

    # -- efforts -------------------------------------------------------------------------------------------------------

    def set_effort_joint(self, effort: Any) -> None:
        self.servo_jf(effort)

    def set_wrench_body(self, wrench: Any) -> None:
        self.body.servo_cf(wrench)

    def set_wrench_body_force(self, force: Any) -> None:
        self.body.servo_cf(np.concatenate([np.asarray(force, dtype=float).reshape(3), np.zeros(3)]))

    def set_wrench_spatial(self, wrench: Any) -> None:
        self.spatial.servo_cf(wrench)

    def set_wrench_spatial_force(self, force: Any) -> None:
        self.spatial.servo_cf(np.concatenate([np.asarray(force, dtype=float).reshape(3), np.zeros(3)]))

    def set_wrench_body_orientation_absolute(self, absolute: bool) -> None:
        self.body_set_cf_orientation_absolute(absolute)

    def set_gravity_compensation(self, gravity_compensation: bool) -> None:
        self.use_gravity_compensation(gravity_compensation)


class console(later_console):
    """The console, with its old names."""

    def __init__(self, console_namespace: str = "/dvrk/console") -> None:
        super().__init__(console_namespace.replace("/dvrk/", ""))

    def set_teleop_scale(self, scale: float) -> None:
        self.teleop_set_scale(scale)

    def get_teleop_scale(self) -> float:
        return self.teleop_get_scale()


class arm(_FirstGeneration):
    """Any arm, by name: arm('PSM1')."""


class psm(_FirstGeneration, later_psm):
    """A PSM."""

    def insert_tool(self, depth: float, interpolate: bool = True, blocking: bool = True) -> bool:
        """Move the insertion joint to a depth [m]."""
        return self.move_joint_one(depth, 2, interpolate, blocking)

    def dinsert_tool(self, depth: float, interpolate: bool = True, blocking: bool = True) -> bool:
        """Move the insertion joint by a depth [m]."""
        return self.dmove_joint_one(depth, 2, interpolate, blocking)

    def open_jaw(self, interpolate: bool = True, blocking: bool = True) -> bool:
        return self.move_jaw(OPEN, interpolate, blocking)

    def close_jaw(self, interpolate: bool = True, blocking: bool = True) -> bool:
        return self.move_jaw(CLOSED, interpolate, blocking)

    def move_jaw(self, angle_radians: float, interpolate: bool = True, blocking: bool = True) -> bool:
        if not interpolate:
            self.jaw.servo_jp(np.array([angle_radians]))
            return True
        return _ended(self.jaw.open(angle_radians), blocking)

    def set_effort_jaw(self, effort: float) -> None:
        self.jaw.servo_jf(np.array([effort]))

    def get_current_jaw_position(self) -> float:
        return float(self.jaw.measured_jp()[0])

    def get_current_jaw_velocity(self) -> float:
        return float(self.jaw.measured_jv()[0])

    def get_current_jaw_effort(self) -> float:
        return float(self.jaw.measured_jf()[0])

    def get_desired_jaw_position(self) -> float:
        return float(self.jaw.setpoint_jp()[0])

    def get_desired_jaw_effort(self) -> float:
        return float(self.jaw.setpoint_jf()[0])


class ecm(_FirstGeneration, later_ecm):
    """An ECM."""

    def insert_endoscope(self, depth: float, interpolate: bool = True, blocking: bool = True) -> bool:
        return self.move_joint_one(depth, 2, interpolate, blocking)

    manual_insert = insert_endoscope


class mtm(_FirstGeneration, later_mtm):
    """An MTM."""

    def get_current_gripper_position(self) -> float:
        return float(self.gripper.measured_jp()[0])


def _ended(handle: Any, blocking: bool) -> bool:
    return bool(handle.wait()) if blocking else True
