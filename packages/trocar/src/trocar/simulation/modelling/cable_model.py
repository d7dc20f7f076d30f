"""Elastic cables of a wrist in the MuJoCo model: motors and joints are different bodies, with springs between them.

A chain of motor bodies carries the rotors; fixed tendons along the factors of the stiffness are the cables; a body
per joint, held by dry friction and a spring, is its friction contact. It is `mechanics.CableWrist` with inertia.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import mujoco
import numpy as np

from trocar.appearance.kinematic_model import add_link
from trocar.arms import Arm
from trocar.arms.arm import revolute
from trocar.arms.wrist_cables import CABLE_JOINTS, WristCables
from trocar.errors import TrocarError
from trocar.simulation.engine import CONTACT, IMPEDANCE
from trocar.spatial import Array

MOTOR = "motor_"  # prefix of the body of an elastic drive's motor
# Inertia of the joint side and of a friction contact [kg m^2]. Assumed: a tenth of that of the rotors, and more than
# that of the fingers, so that the cables vibrate at 50 Hz instead of some hundred.
JOINT_INERTIA, CONTACT_INERTIA = 1e-5, 5e-6
LOSS = 4e-3  # damping over stiffness of cables and friction contacts [s]; assumed
# Largest frequency of the cables times timestep; a spring held over a step is stable up to 2.
RESOLVED = 1.0


def extra_joints(cables: WristCables, friction: bool) -> tuple[str, ...]:
    """Names of the joints that the cables add to the model, in its order."""
    return (*(MOTOR + name for name in CABLE_JOINTS), *(CONTACT + name for name in _contacts(cables, friction)))


def _contacts(cables: WristCables, friction: bool) -> tuple[str, ...]:
    """Joints with a friction contact that yields before it slides; a rigid one is friction of the joint itself."""
    return tuple(name for name, d in zip(CABLE_JOINTS, cables.presliding, strict=True) if friction and d > 0.0)


def relaxed_map(arm: Arm, cables: WristCables, friction: bool) -> Array:
    """Map (extra, n) from the joints q to the positions of `extra_joints` with relaxed cables."""
    wrist = [arm.joint_names.index(name) for name in CABLE_JOINTS]
    motors = np.zeros((3, arm.n))
    motors[:, wrist] = np.linalg.inv(cables.coupling)
    contacts = [arm.joint_names.index(name) for name in _contacts(cables, friction)]
    return np.concatenate([motors, np.eye(arm.n)[contacts]])


def add_cables(
    spec: mujoco.MjSpec, arm: Arm, cables: WristCables, friction: bool, timestep: float, stiff: Sequence[float]
) -> None:
    """Motor bodies, cables and friction contacts; drives and actuators are added to the motor bodies elsewhere."""
    _check_resolved(cables, friction, timestep)
    parent, contacts = None, _contacts(cables, friction)
    for name in CABLE_JOINTS:  # in series: a rotor that moves several must find them on one branch
        link, _ = add_link(spec, revolute(MOTOR + name, parent, np.eye(4), {}))
        parent = link.name
    L = np.linalg.cholesky(cables.stiffness)
    for k in range(3):  # r'S r = sum of (column k of L . r)^2
        motors = {MOTOR + name: w for name, w in zip(CABLE_JOINTS, L[:, k] @ cables.coupling, strict=True)}
        _spring(spec, f"cable_{k + 1}", motors | _joint_weights(arm, -L[:, k]), 1.0)
    for j, name in enumerate(CABLE_JOINTS):
        holder = spec.joint(arm.driven[name])
        holder.armature += JOINT_INERTIA
        if name in contacts:
            _, holder = add_link(spec, revolute(CONTACT + name, None, np.eye(4), {}))
            holder.armature = CONTACT_INERTIA
            one = _joint_weights(arm, np.eye(3)[j])
            _spring(spec, CONTACT + name, one | {CONTACT + name: -1.0}, 1.0 / cables.presliding[j])
        if friction:
            holder.frictionloss += cables.friction[j]
            holder.solref_friction, holder.solimp_friction = stiff, IMPEDANCE


def _joint_weights(arm: Arm, row: Array) -> dict[str, float]:
    """Bodies whose joints determine row . (roll, wrist pitch, wrist yaw), with the factor of each."""
    whole = np.zeros(arm.n)
    whole[[arm.joint_names.index(name) for name in CABLE_JOINTS]] = row
    return {body.name: float(w) for body, w in zip(arm.bodies, whole @ arm.D, strict=True) if abs(w) > 1e-15}


def _spring(spec: mujoco.MjSpec, name: str, weights: Mapping[str, float], stiffness: float) -> None:
    tendon = spec.add_tendon(name=name, springlength=[0.0, 0.0], group=5)
    tendon.stiffness, tendon.damping = [stiffness, 0.0, 0.0], [LOSS * stiffness, 0.0, 0.0]
    for body, weight in weights.items():
        if weight:
            tendon.wrap_joint(body, weight)


def _check_resolved(cables: WristCables, friction: bool, timestep: float) -> None:
    """Raise an error if the cables vibrate too fast for the timestep."""
    S = cables.stiffness.copy()
    if friction:
        S += np.diag(np.divide(1.0, cables.presliding, out=np.zeros(3), where=cables.presliding > 0.0))
    fastest = float(np.sqrt(np.linalg.eigvalsh(S).max() / JOINT_INERTIA))
    if fastest * timestep > RESOLVED:
        raise TrocarError(
            f"wrist cables are too stiff for a timestep of {timestep:.3g} s: they vibrate at {fastest:.4g} rad/s; use "
            f"{RESOLVED / fastest:.2g} s or less, or wrist='rigid'"
        )
