"""Elastic drives of yaw and pitch: the encoder is on the motor, so the link deviates from the measured position.

The deflection depends on the insertion q3, `q_link = q_motor - c(q3) (tau - tau_0(q3))` (`Arm.deflections`). It is
modelled as a spring between a motor and its link, with the motor's inertia and optional backlash.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import mujoco
import numpy as np

from trocar import checks
from trocar.appearance.kinematic_model import add_link
from trocar.arms import Arm
from trocar.arms.arm import Deflection, revolute
from trocar.errors import TrocarError
from trocar.simulation.arm_slice import ArmSlice
from trocar.spatial import Array


@dataclass(frozen=True, kw_only=True)
class Compliance:
    """Elastic drives of an arm with known deflections, such as yaw and pitch of the Classic PSM.

    Attributes:
        rotor_inertia: inertia of each motor at the joint [kg m^2]. Not published; assumed, large enough for the dVRK's
            PID to be stable with one sample of delay. The identified link inertias include the rotors, so that with
            this the arm is 5 % heavier about yaw and pitch.
        damping: damping of each spring [N m s/rad]; assumed.
        backlash: dead band of each spring, from stop to stop [rad].
        deflections: by joint. Default: those of the arm.
    """

    rotor_inertia: float = 1e-2
    damping: float = 0.05
    backlash: float = 0.0
    deflections: Mapping[str, Deflection] = field(default_factory=dict)

    def __post_init__(self) -> None:
        checks.attributes(self, "a Compliance", positive=("rotor_inertia",), not_negative=("damping", "backlash"))

    def of(self, arm: Arm) -> Compliance:
        """A copy with the deflections of an arm; raises an error if none were measured."""
        if not self.deflections and not arm.deflections:
            raise TrocarError(f"no drive compliance is known for {arm.name}; omit compliance, or give deflections")
        return self if self.deflections else replace(self, deflections=arm.deflections)


def motor_name(joint: str) -> str:
    return f"motor_{joint}"


def add_motors(spec: mujoco.MjSpec, compliance: Compliance) -> None:
    """A motor body per elastic joint, moved by the actuator instead of the link."""
    for joint in compliance.deflections:
        _, turn = add_link(spec, revolute(motor_name(joint), None, np.eye(4), {}))
        turn.armature = compliance.rotor_inertia
        spec.actuator(joint).target = motor_name(joint)


class ElasticDrives:
    """The springs between motors and links, as generalised forces."""

    def __init__(self, arm_slice: ArmSlice, compliance: Compliance) -> None:
        arm, self._compliance = arm_slice.arm, compliance
        self.joints = [arm.joint_names.index(name) for name in compliance.deflections]
        self.motors = [arm_slice.dof(motor_name(name)) for name in compliance.deflections]
        self._links = [arm_slice.dof(arm.driven[name]) for name in compliance.deflections]
        self._insertion = arm_slice.dof(arm.driven["insertion"])
        self._force = np.zeros(arm_slice.v.stop - arm_slice.v.start)

    def force(self, qpos: Array, qvel: Array) -> Array:
        """Generalised force on the arm's joints for the next step."""
        spec, q3 = self._compliance, qpos[self._insertion]
        for drive, motor, link in zip(spec.deflections.values(), self.motors, self._links, strict=True):
            twist, slack = qpos[motor] - qpos[link], 0.5 * spec.backlash
            stretch = twist - min(max(twist, -slack), slack)
            f = stretch / np.polyval(drive.compliance, q3) + np.polyval(drive.offset, q3)
            f += spec.damping * (qvel[motor] - qvel[link])
            self._force[motor], self._force[link] = -f, f
        return self._force
