"""Elastic drive of yaw and pitch: the encoder sits on the motor, and the link is not quite where it says.

The deflection of a PSM was measured by the dVRK's developers as compliance that depends on the insertion q3:
`q_link = q_motor - c(q3) (tau - tau_0(q3))` [rad per N m]. Here it is a spring between a motor and its link, with the
motor's own inertia and, if wanted, backlash.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import mujoco
import numpy as np

from trocar.errors import TrocarError
from trocar.simulation.arm_slice import ArmSlice
from trocar.spatial import Array

# Polynomials in q3, highest power first; sawIntuitiveResearchKit mtsPSMCompensation, file of PSM3 28613.
PSM_COMPLIANCE = {
    "yaw": (-38.3402, 22.6, -4.5406, 0.3458 + 0.008478),
    "pitch": (-16.1879, 9.1018, -1.7220, 0.1343 + 0.007176),
}
PSM_OFFSET = {"yaw": (0.199,), "pitch": (-0.2419, 0.03458)}


@dataclass(frozen=True, kw_only=True)
class Compliance:
    """Elasticity of the yaw and pitch drives of a PSM.

    Attributes:
        rotor_inertia: of each motor, at the joint [kg m^2]. Not published; assumed, large enough for the dVRK's own
            PID to be stable with one sample of delay. The identified link inertias include the rotors, so that with
            this the arm is 5 % heavier about yaw and pitch.
        damping: of each spring [N m s/rad]; assumed.
        backlash: dead band of each spring, from stop to stop [rad].
    """

    rotor_inertia: float = 1e-2
    damping: float = 0.05
    backlash: float = 0.0
    compliance: dict[str, tuple[float, ...]] = field(default_factory=lambda: dict(PSM_COMPLIANCE))
    offset: dict[str, tuple[float, ...]] = field(default_factory=lambda: dict(PSM_OFFSET))

    def __post_init__(self) -> None:
        for name in ("rotor_inertia", "damping", "backlash"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0) or (name == "rotor_inertia" and value == 0):
                raise TrocarError(f"{name} of a Compliance must be positive, got {value!r}")


def motor_name(joint: str) -> str:
    return f"motor_{joint}"


def add_motors(spec: mujoco.MjSpec, compliance: Compliance) -> None:
    """A motor body per elastic joint, moved by the actuator instead of the link."""
    for joint in compliance.compliance:
        body = spec.worldbody.add_body(name=motor_name(joint), explicitinertial=True)
        body.mass, body.inertia = 1e-12, np.full(3, 1e-13)
        turn = body.add_joint(name=motor_name(joint), type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 0, 1])
        turn.armature = compliance.rotor_inertia
        spec.actuator(joint).target = motor_name(joint)


class ElasticDrives:
    """The springs between motors and links, as generalised forces."""

    def __init__(self, arm_slice: ArmSlice, compliance: Compliance) -> None:
        arm, self._compliance = arm_slice.arm, compliance
        self.joints = [arm.joint_names.index(name) for name in compliance.compliance]
        self.motors = [arm_slice.dof(motor_name(name)) for name in compliance.compliance]
        self._links = [arm_slice.dof(arm.driven[name]) for name in compliance.compliance]
        self._insertion = arm_slice.dof(arm.driven["insertion"])
        self._force = np.zeros(arm_slice.v.stop - arm_slice.v.start)

    def deflection(self, q3: float, tau: Array) -> Array:
        """Motor minus link angle (2,) under static efforts tau (2,) [rad]."""
        spec = self._compliance
        c = np.array([np.polyval(p, q3) for p in spec.compliance.values()])
        tau_0 = np.array([np.polyval(p, q3) for p in spec.offset.values()])
        return np.asarray(c * (tau - tau_0) + 0.5 * spec.backlash * np.sign(tau - tau_0))

    def force(self, qpos: Array, qvel: Array) -> Array:
        """Generalised force on the arm's joints for the next step."""
        spec, q3 = self._compliance, qpos[self._insertion]
        for k, (motor, link) in enumerate(zip(self.motors, self._links, strict=True)):
            name = list(spec.compliance)[k]
            twist, slack = qpos[motor] - qpos[link], 0.5 * spec.backlash
            stretch = twist - min(max(twist, -slack), slack)
            f = stretch / np.polyval(spec.compliance[name], q3) + np.polyval(spec.offset[name], q3)
            f += spec.damping * (qvel[motor] - qvel[link])
            self._force[motor], self._force[link] = -f, f
        return self._force
