"""MuJoCo model of an arm and its parameters: one body per link, loops closed by explicit constraints.

The base frame of the arm is the world frame. Joint positions of the model are `q_tree`, zero when q is zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from trocar import checks
from trocar.appearance.arm_shapes import SHAFT_RADIUS, add_shapes
from trocar.appearance.kinematic_model import DUMMY_INERTIA, DUMMY_MASS, add_link
from trocar.arms import Arm
from trocar.arms.arm import revolute
from trocar.arms.parameters import Drive, Inertia, LeverSpring
from trocar.arms.wrist_cables import CABLE_JOINTS
from trocar.errors import TrocarError, check_known
from trocar.mechanics import Mechanism
from trocar.mechanics.cable_drives import check_rotors, motor_side
from trocar.mechanics.inertia import check_consistent
from trocar.simulation.engine import IMPEDANCE
from trocar.simulation.modelling.cable_model import MOTOR, add_cables
from trocar.simulation.scene_arm import MOUNT, Cable, Compliance, ElasticMount, Mirror, Port, SceneArm
from trocar.spatial import Array, quaternion

# Inertia of followers between the shaft and the tip, the second links of a snake wrist, which have none in the
# parameters [kg m^2]. Without it their coupling yields by 1 rad in 10 ms under 3 N at the tip; with it, by 1e-5 rad.
FOLLOWER_INERTIA = 1e-7

MIN_TIMESTEP, MAX_TIMESTEP = 1e-9, 0.02  # [s]
SEAL = {"seal_slide": "insertion", "seal_turn": "roll"}  # tendons of a port's seal: joint
INTEGRATORS = {
    "fast": mujoco.mjtIntegrator.mjINT_IMPLICITFAST,
    "exact": mujoco.mjtIntegrator.mjINT_RK4,
    "discrete": mujoco.mjtIntegrator.mjINT_DISCRETE,
}
JOINT = {"type": mujoco.mjtEq.mjEQ_JOINT, "objtype": mujoco.mjtObj.mjOBJ_JOINT}  # kind of an equality


def build(
    mechanism: Mechanism, options: SceneArm, gravity: Array, timestep: float, accuracy: str, visual: bool = True
) -> mujoco.MjSpec:
    """The MuJoCo specification of a single arm, with its base frame as the world.

    Args:
        gravity: (3,) in base axes [m/s^2]. timestep: [s]. accuracy: one of `INTEGRATORS`; see `Scene`.
        visual: False omits visual shapes.
    """
    check_known("accuracy", INTEGRATORS, accuracy)
    if not (checks.is_number(timestep) and MIN_TIMESTEP <= timestep <= MAX_TIMESTEP):
        raise TrocarError(f"timestep must be from {MIN_TIMESTEP:g} to {MAX_TIMESTEP:g} s, got {timestep!r}")
    arm, parameters = mechanism.arm, mechanism.dynamic_parameters
    check_consistent(parameters.inertias)
    parameters.check_drives()
    spec = mujoco.MjSpec()
    spec.modelname, spec.compiler.degree, spec.compiler.autolimits = arm.name, False, True
    spec.option.timestep, spec.option.integrator, spec.option.gravity = timestep, INTEGRATORS[accuracy], gravity
    spec.option.solver = mujoco.mjtSolver.mjSOL_NEWTON
    # small, because the wrist's friction is 1e-4 of the solver's default tolerance
    spec.option.tolerance = 1e-14
    spec.option.iterations = 50
    # a state that is not finite must reach the simulator's check instead of being reset silently
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    # one arm is one constraint island with simple shapes: searching for more costs a tenth of a step
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_ISLAND | mujoco.mjtDisableBit.mjDSBL_MIDPHASE
    stiff = (2.0 * timestep, 1.0)
    inertias = dict(parameters.inertias)
    if not options.counterweight:
        inertias.pop(str(arm.counterweight), None)
    root = None if options.elastic_mount is None else _add_mount(spec, options.elastic_mount)
    _add_bodies(spec, arm, inertias, options.limits, stiff, root)
    add_shapes(spec, arm, visual)
    hard = {"solref": stiff, "solimp": IMPEDANCE}
    _close_loops(spec, arm, hard)
    _add_transmissions(spec, arm, options.transmission, hard)
    for (
        braked
    ) in arm.brakes:  # released; engaged, each holds the joint of a driven body at a value set by the simulator
        spec.add_equality(name=f"brake_{braked}", name1=arm.driven[braked], active=False, **JOINT, **hard)
    cables = options.cables
    own: tuple[str, ...] = ()  # joints whose motors are bodies of their own
    if cables is not None:
        add_cables(spec, arm, cables, options.friction, timestep, stiff)
        check_rotors(arm, parameters.drives)
        own = CABLE_JOINTS
    for drive in parameters.drives:
        _add_drive(spec, arm, drive if cables is None else motor_side(arm, drive), options.friction, stiff, own)
    for element in parameters.elastics:
        if isinstance(element, LeverSpring):
            _add_spring(spec, arm, element)
    _add_motors(spec, arm, own)
    if options.compliance is not None:
        _add_elastic_motors(spec, options.compliance)
    if options.port is not None:
        _add_seal(spec, arm, options.port, stiff)
    return spec


def _add_bodies(
    spec: mujoco.MjSpec,
    arm: Arm,
    inertias: Mapping[str, Inertia],
    limits: bool,
    stiff: Sequence[float],
    root: mujoco.MjsBody | None,
) -> None:
    ratios = [(joint, arm.body(arm.driven[joint.name]).coupling[joint.name]) for joint in arm.joints]
    spans = {arm.driven[joint.name]: sorted((ratio * joint.lower, ratio * joint.upper)) for joint, ratio in ratios}
    for body in arm.bodies:
        link, joint = add_link(spec, body, root)
        inertia = inertias.get(body.name)
        if inertia is not None:
            I = inertia.I
            link.mass, link.ipos, link.inertia = inertia.mass, inertia.com, np.zeros(3)
            link.fullinertia = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]
        elif body.name in arm.transmissions and body.name in arm.carriers(arm.tip_body):
            joint.armature = FOLLOWER_INERTIA
        if limits and body.name in spans:
            joint.limited, joint.range = True, spans[body.name]
            joint.solref_limit, joint.solimp_limit = stiff, IMPEDANCE
    tip, turn = arm.T_body_tip[:3, 3], quaternion(arm.T_body_tip[:3, :3])
    spec.body(arm.tip_body).add_site(name="tip", pos=tip, quat=turn, size=[1e-3] * 3, group=4)


def _close_loops(spec: mujoco.MjSpec, arm: Arm, hard: Mapping[str, Any]) -> None:
    for loop in arm.loops:
        ends = {f"{loop.name}_a": (loop.body_a, loop.point_a), f"{loop.name}_b": (loop.body_b, loop.point_b)}
        for name, (body, point) in ends.items():
            spec.body(body).add_site(name=name, pos=point, size=[4e-3] * 3, group=4)
        first, second = ends
        connect, site = mujoco.mjtEq.mjEQ_CONNECT, mujoco.mjtObj.mjOBJ_SITE
        spec.add_equality(name=loop.name, type=connect, objtype=site, name1=first, name2=second, **hard)


def _add_transmissions(spec: mujoco.MjSpec, arm: Arm, kind: str | Cable | Mirror, hard: Mapping[str, Any]) -> None:
    """Couple bodies to others by a fixed ratio: rigidly; the counterweight also by an elastic cable or not at all."""
    for follower, leader in arm.transmissions.items():
        (joint, weight), *_ = arm.body(leader).coupling.items()
        ratio = arm.body(follower).coupling[joint] / weight
        if follower == arm.counterweight and isinstance(kind, Cable):
            tendon = spec.add_tendon(name=f"{follower}_cable", springlength=[0.0, 0.0])
            _add_coefficient(tendon, "stiffness", 0, kind.stiffness)
            _add_coefficient(tendon, "damping", 0, kind.damping)
            tendon.wrap_joint(follower, 1.0)
            tendon.wrap_joint(leader, -ratio)
        elif follower != arm.counterweight or kind == "rigid":
            rule = [0.0, ratio, *[0.0] * 10]
            spec.add_equality(name=follower, name1=follower, name2=leader, data=rule, **JOINT, **hard)


def _weights(arm: Arm, row: Array, own: Sequence[str] = ()) -> dict[str, float]:
    """Bodies whose joints determine a coordinate s = row . q (n,), with the factor of each.

    Joints in `own` are represented by their motors.
    """
    at_motors = [arm.joint_names.index(name) for name in own]
    motors = {MOTOR + name: float(row[j]) for name, j in zip(own, at_motors, strict=True) if abs(row[j]) > 1e-15}
    if motors:
        row = row.copy()
        row[at_motors] = 0.0
    return {b.name: w for b, w in zip(arm.bodies, row @ arm.D, strict=True) if abs(w) > 1e-15} | motors


@dataclass(frozen=True)
class DriveElement:
    """The joint or fixed tendon that represents a drive; `weight`: coordinate s of the drive per that of the part."""

    name: str
    on_tendon: bool
    weight: float
    bodies: Mapping[str, float]


def drive_element(arm: Arm, drive: Drive, own: Sequence[str] = ()) -> DriveElement:
    """Create it on one joint, or on a fixed tendon over several."""
    weights = _weights(arm, drive.row(arm), own)
    if len(weights) == 1:
        (body, weight), *_ = weights.items()
        return DriveElement(body, False, weight, weights)
    at_one_motor = list(drive.motors.values()) == [1.0]
    return DriveElement(next(iter(drive.motors)) if at_one_motor else f"drive_{drive.name}", True, 1.0, weights)


def _add_drive(
    spec: mujoco.MjSpec, arm: Arm, drive: Drive, friction: bool, stiff: Sequence[float], own: Sequence[str] = ()
) -> None:
    """Add a drive's inertia, stiffness and friction.

    The simulator applies constant forces and Dahl friction as generalised forces, and sets Coulomb friction
    that depends on position or load before every step.
    """
    stands_for = drive_element(arm, drive, own)
    name, weight = stands_for.name, stands_for.weight
    if drive.Im and not any(body.startswith(MOTOR) for body in stands_for.bodies):  # in series
        _check_one_branch(arm, drive.name, stands_for.bodies)
    part = _tendon(spec, name, stands_for.bodies) if stands_for.on_tendon else spec.joint(name)
    part.armature += drive.Im * weight**2
    _add_coefficient(part, "stiffness", 0, drive.K * weight**2)
    _add_coefficient(part, "stiffness", 1, drive.K2 * weight**3)
    if friction:
        _add_coefficient(part, "damping", 0, drive.Fv * weight**2)
        part.frictionloss += drive.Fc * abs(weight)
        part.solref_friction, part.solimp_friction = stiff, IMPEDANCE


def _check_one_branch(arm: Arm, drive: str, bodies: Mapping[str, float]) -> None:
    """Reject a rotor over no body, or over bodies of different branches: MuJoCo would drop part of its inertia."""
    if not bodies:
        raise TrocarError(f"the rotor of drive '{drive}' moves no body of {arm.name}: its motors have no effect")
    last = max(bodies, key=lambda name: len(arm.carriers(name)))
    for body in bodies:
        if body not in arm.carriers(last):
            raise TrocarError(
                f"the rotor of drive '{drive}' moves '{body}' and '{last}', which are on different branches of "
                f"{arm.name}: choose other `driven` bodies, one of which carries the other"
            )


def _add_spring(spec: mujoco.MjSpec, arm: Arm, spring: LeverSpring) -> None:
    """Add a spring on a lever: a tendon between a point of the link and one of its parent link."""
    body = arm.body(arm.driven[spring.joint])
    angle = np.pi + spring.offset
    fixed = body.placement @ [spring.h * np.cos(angle), spring.h * np.sin(angle), 0.0, 1.0]
    spec.body(body.name).add_site(name=f"{spring.name}_lever", pos=[spring.r, 0.0, 0.0], size=[1e-3] * 3, group=4)
    spec.body(body.parent).add_site(name=f"{spring.name}_fixed", pos=fixed[:3], size=[1e-3] * 3, group=4)
    tendon = spec.add_tendon(name=spring.name, springlength=[spring.rest, spring.rest], group=5)
    _add_coefficient(tendon, "stiffness", 0, spring.amplitude)
    tendon.wrap_site(f"{spring.name}_fixed")
    tendon.wrap_site(f"{spring.name}_lever")


def _tendon(spec: mujoco.MjSpec, name: str, weights: Mapping[str, float]) -> mujoco.MjsTendon:
    """The fixed tendon of this name, created if needed; a motor and the friction at its disc share one."""
    existing = spec.tendon(name)
    if existing is not None:
        return existing
    tendon = spec.add_tendon(name=name, group=5)
    for body, weight in weights.items():
        tendon.wrap_joint(body, weight)
    return tendon


def _add_coefficient(part: object, attribute: str, index: int, value: float) -> None:
    """Add to a stiffness or damping, which MuJoCo stores as a polynomial: linear, quadratic, cubic effort."""
    current = np.array(getattr(part, attribute), dtype=float)
    current[index] += value
    setattr(part, attribute, current)


def _add_seal(spec: mujoco.MjSpec, arm: Arm, port: Port, stiff: Sequence[float]) -> None:
    """Friction of a port's seal, as tendons over the joints that move the shaft through it."""
    for name, joint in SEAL.items():
        if joint in arm.joint_names:
            lever = 1.0 if joint == "insertion" else SHAFT_RADIUS
            tendon = _tendon(spec, name, _weights(arm, np.eye(arm.n)[arm.joint_names.index(joint)]))
            _add_coefficient(tendon, "damping", 0, port.viscous * lever**2)
            tendon.frictionloss = port.friction * lever
            tendon.solref_friction, tendon.solimp_friction = stiff, IMPEDANCE


def _add_motors(spec: mujoco.MjSpec, arm: Arm, own: Sequence[str]) -> None:
    """One motor per actuator coordinate: `ctrl` is the actuator effort."""
    for name, row in zip(arm.motors.names, np.linalg.inv(arm.motors.coupling), strict=True):
        weights = _weights(arm, row, own)
        actuator = spec.add_actuator(name=name)
        actuator.set_to_motor()
        if len(weights) == 1:
            (body, weight), *_ = weights.items()
            actuator.trntype, actuator.target = mujoco.mjtTrn.mjTRN_JOINT, body
            actuator.gear[0] = weight
        else:
            tendon = _tendon(spec, name, weights)
            actuator.trntype, actuator.target = mujoco.mjtTrn.mjTRN_TENDON, tendon.name


def _add_elastic_motors(spec: mujoco.MjSpec, compliance: Compliance) -> None:
    """A motor body per elastic joint, moved by the actuator instead of the link."""
    for joint in compliance.deflections:
        _, turn = add_link(spec, revolute(MOTOR + joint, None, np.eye(4), {}))
        turn.armature = compliance.rotor_inertia
        spec.actuator(joint).target = MOTOR + joint


def _add_mount(spec: mujoco.MjSpec, mount: ElasticMount) -> mujoco.MjsBody:
    """The body that carries the first link of the arm instead of the base."""
    body = spec.worldbody.add_body(
        name=MOUNT, explicitinertial=True, mass=DUMMY_MASS, inertia=np.full(3, DUMMY_INERTIA)
    )
    for name, (kind, axis, stiffness) in mount.joints.items():
        joint = body.add_joint(name=name, type=kind, axis=axis, pos=mount.pivot)
        joint.stiffness, joint.damping = [stiffness, 0.0, 0.0], [mount.loss * stiffness, 0.0, 0.0]
    return body
