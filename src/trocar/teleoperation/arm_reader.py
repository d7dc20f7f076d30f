"""Readings of a robot's arm for the samples of teleoperation."""

from __future__ import annotations

import numpy as np

from trocar.robot import Robot
from trocar.robot.controller.mtm import MTMController
from trocar.robot.controller.psm import JAW
from trocar.spatial import Array
from trocar.teleoperation.arm_states import ArmState

BEYOND_LIMIT = 0.05  # distance beyond its limit from which a joint of a master is not followed [rad]


class ArmReader:
    """Readings of one arm, in the frame that the operator sees: the display or the camera."""

    def __init__(self, robot: Robot, name: str) -> None:
        self._controller = controller = robot.controllers[name]
        self._hardware, self._reports = controller.hardware, controller.reports
        self._low = controller.arm.lower - BEYOND_LIMIT
        self._high = controller.arm.upper + BEYOND_LIMIT
        self.joint_names = controller.arm.joint_names
        self.name, self._is_master = name, isinstance(controller, MTMController)

    def measured(self) -> Array:
        """Measured pose (4, 4)."""
        return self._reports.measured_pose()

    def setpoint(self) -> Array:
        """Set-point pose (4, 4)."""
        return self._reports.setpoint_pose()

    def twist(self) -> Array:
        """Measured twist (6,) [m/s, rad/s]."""
        return self._reports.twist()

    def joints(self) -> Array:
        """Set-point joints."""
        return self._reports.q_setpoint

    def gripper(self) -> float | None:
        """Gripper angle [rad]."""
        return self._hardware.gripper if self._is_master else None

    def tip_and_jaw(self) -> tuple[Array, float | None]:
        """Set-point of the tip's pose (4, 4) and of the jaw [rad], None without an instrument."""
        q = self._hardware.setpoint()
        T = self._reports.T_reference_base.dot(self._reports.tip.pose(q[:JAW]))
        return T, float(q[JAW]) if self._controller.tip_ready else None

    def state(self) -> ArmState:
        states = self._controller.states
        return ArmState(states.state == "ENABLED", states.homed, states.busy)

    def fault(self) -> str:
        """A joint beyond its limit, "" if there is none."""
        q = self._hardware.q
        if not self._controller.tip_ready or np.count_nonzero((q > self._low) & (q < self._high)) == len(q):
            return ""
        joint = int(np.argmax(np.maximum(self._low - q, q - self._high)))
        return f"{self.name} joint {joint + 1} ({self.joint_names[joint]}) is beyond its limit at {q[joint]:.3f} rad"
