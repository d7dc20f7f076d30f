"""The wrist of one arm whose controller compensates its cables: the PID follows another command than the setpoint."""

from __future__ import annotations

import numpy as np

from trocar.arms import Arm
from trocar.arms.wrist_cables import WristCables
from trocar.control import WristCompensation
from trocar.robot.controller.actuators import Servo
from trocar.robot.controller.constants import PERIOD
from trocar.robot.controller.memory import Remembering
from trocar.spatial import Array


class CompensatedWrist(Remembering):
    """Shifts the readings that the PID of an arm gets by the compensation of its wrist.

    The setpoint stays that of the client, `measured_js` that of the motors. Under effort control, or with motors off,
    there is nothing to compensate; the history then continues where the motors are.

    Args:
        arm: facts. cables: those that the controller assumes. part: actuators of the arm.
    """

    MEMORY = ("memory", "_tracked", "_shift")

    def __init__(self, arm: Arm, cables: WristCables, part: slice) -> None:
        self.cables, self.part = cables, part
        self._law = WristCompensation(cables, arm=arm)
        self._joint_from_motor = arm.motors.coupling
        self._motor_from_joint = np.linalg.inv(arm.motors.coupling)[:, self._law.wrist]
        self._tracked = False  # in the last cycle
        self._shift = np.zeros(arm.n)  # of the actuators in the last cycle

    @property
    def memory(self) -> object:
        return self._law.memory

    @memory.setter
    def memory(self, memory: object) -> None:
        self._law.memory = memory  # type: ignore[assignment]

    def begin(self, q: Array) -> None:
        """The arm was placed with its encoders at q (n,), with relaxed cables."""
        self._law.begin(q)
        self._tracked = False

    def shift(self, servo: Servo, q: Array, dq: Array) -> None:
        """Shift actuator positions and velocities (N,) of the whole loop, in place; once per cycle."""
        part, law = self.part, self._law
        tracks = bool((servo.on[part] & ~servo.in_effort[part]).all())
        if tracks:
            if not self._tracked:
                law.follow(self._joint_from_motor.dot(q[part]))
            goal = self._joint_from_motor.dot(servo.q_ref[part])[law.wrist]
            shift = self._motor_from_joint.dot(law.wrist_command(goal, PERIOD) - goal)
            q[part] -= shift
            if self._tracked:
                dq[part] -= (shift - self._shift) / PERIOD
            self._shift = shift
        self._tracked = tracks
