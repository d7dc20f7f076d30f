"""Data of a robot arm: plain frozen dataclasses, no algorithms.

An arm is deliberately described twice. `serial` is the dVRK's own table, which defines the tip. `bodies` is the
real mechanism: a tree of every moving link whose joints follow the independent joints q through a constant
matrix, `q_tree = E q`, with the loops of its parallelograms listed separately. Every tree joint is zero when q is
zero, so the constant offsets of the published tables are part of the placements.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.arms.structure import Structure, structure
from trocar.errors import TrocarError, UnknownName
from trocar.spatial import Array, inverse, pose

Kind = Literal["revolute", "prismatic"]

GRAVITY = 9.81  # [m/s^2]
LIMIT_TOLERANCE = 1e-3  # [rad, m] a joint this far beyond a limit still counts as within it
CONTROL_RATE = 1500  # control loop of the dVRK [Hz]
CURRENT_NOISE = 2e-3  # standard deviation of a measured motor current [A]. ASSUMED: no source gives it
# Tolerance between encoder and potentiometer [rad, m]: dVRK manual; prismatic: ASSUMED, from an early release's PSM.
POTS_TOLERANCE: Mapping[Kind, float] = {"revolute": math.radians(5.0), "prismatic": 0.005}


@dataclass(frozen=True, kw_only=True)
class LimitedJoint:
    """A joint with limits [rad, or m if prismatic]."""

    name: str
    kind: Kind
    lower: float
    upper: float

    @property
    def unit(self) -> str:
        """Unit of the joint position: "rad" or "m"."""
        return "rad" if self.kind == "revolute" else "m"

    @property
    def effort_unit(self) -> str:
        """Unit of the joint effort: "N m" or "N"."""
        return "N m" if self.kind == "revolute" else "N"


@dataclass(frozen=True, kw_only=True)
class Joint(LimitedJoint):
    """An independent joint with its largest effort, velocity and acceleration [N m, rad/s, rad/s^2; N, m/s, m/s^2]."""

    effort: float
    velocity: float
    acceleration: float


class Jointed:
    """A mechanism with limited joints: their number, names and limits."""

    joints: Sequence[LimitedJoint]

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joints)

    @property
    def joint_names(self) -> tuple[str, ...]:
        return tuple(joint.name for joint in self.joints)

    @cached_property
    def lower(self) -> Array:
        """Lower joint limits [rad, m]."""
        return _frozen([joint.lower for joint in self.joints])

    @cached_property
    def upper(self) -> Array:
        """Upper joint limits [rad, m]."""
        return _frozen([joint.upper for joint in self.joints])

    def excess(self, q: Array) -> Array:
        """Distance (..., k) of the first k joints, q (..., k), outside their limits [rad, m]; 0 inside."""
        k = q.shape[-1]
        return np.maximum(np.maximum(self.lower[:k] - q, q - self.upper[:k]), 0.0)

    def violation(self, q: Array) -> str | None:
        """Text of the first limit violation in q (n,); None if none exceeds LIMIT_TOLERANCE."""
        for j in np.flatnonzero(self.excess(q) > LIMIT_TOLERANCE).tolist():
            joint = self.joints[j]
            return violation_text(j, joint.name, joint.lower, q[j], joint.upper, joint.unit)
        return None

    def check_within_limits(self, q: Array, what: str = "") -> None:
        """Raise an error that names joint and limits if q (n,) is outside them; `what` is its prefix."""
        if violation := self.violation(q):
            raise TrocarError(f"{what}: {violation}" if what else violation)


def violation_text(j: int, name: str, lower: float, value: float, upper: float, unit: str) -> str:
    """Text of a limit violation: `joint 3 (insertion) violates 0 <= 0.3 <= 0.24 m`."""
    return f"joint {j + 1} ({name}) violates {lower:g} <= {value:g} <= {upper:g} {unit}"


@dataclass(frozen=True, kw_only=True)
class Body:
    """A moving link.

    Attributes:
        parent: name of the body that carries it; None for the base.
        placement: pose (4, 4) of the joint frame in the parent frame; the joint acts about or along its z axis.
        coupling: row of E by joint name: this body's joint value is the weighted sum of those joints.
        label: the frame's number in the source.
    """

    name: str
    parent: str | None
    placement: Array
    kind: Kind
    coupling: Mapping[str, float]
    label: str = ""

    def __post_init__(self) -> None:
        self.placement.setflags(write=False)


def revolute(name: str, parent: str | None, placement: Array, coupling: Mapping[str, float], label: str = "") -> Body:
    """A body that turns about the z axis of its placement."""
    return Body(name=name, parent=parent, placement=placement, kind="revolute", coupling=coupling, label=label)


def prismatic(name: str, parent: str | None, placement: Array, coupling: Mapping[str, float], label: str = "") -> Body:
    """A body that slides along the z axis of its placement."""
    return Body(name=name, parent=parent, placement=placement, kind="prismatic", coupling=coupling, label=label)


@dataclass(frozen=True, kw_only=True)
class Loop:
    """A revolute joint that closes a kinematic loop: a point of body_a coincides with a point of body_b [m]."""

    name: str
    body_a: str
    point_a: tuple[float, float, float]
    body_b: str
    point_b: tuple[float, float, float]


@dataclass(frozen=True, kw_only=True)
class Motors:
    """Actuators in actuator order; `q = coupling @ q_motor`, `tau_motor = coupling.T @ tau`.

    Attributes:
        names: actuator names.
        gear: motor angle per actuator coordinate [rad/rad, rad/m].
        torque_constant: [N m/A]. current: largest [A]. encoder_counts: per motor turn, empty if not published.
    """

    names: tuple[str, ...]
    gear: tuple[float, ...]
    torque_constant: tuple[float, ...]
    current: tuple[float, ...]
    encoder_counts: tuple[int, ...] = ()
    coupling: Array

    @classmethod
    def of(cls, joints: Sequence[Joint], coupling: Array | None = None) -> Motors:
        """One motor per joint, `motor_NAME`, with the joint's largest effort. coupling: (n, n); default: identity."""
        one = (1.0,) * len(joints)
        return cls(
            names=tuple(f"motor_{joint.name}" for joint in joints),
            gear=one,
            torque_constant=one,
            current=tuple(joint.effort for joint in joints),
            coupling=_frozen(np.eye(len(joints)) if coupling is None else coupling),
        )

    @property
    def effort(self) -> Array:
        """Largest actuator effort [N m, N], current x gear x torque constant."""
        return np.array(self.gear) * np.array(self.torque_constant) * np.array(self.current)


@dataclass(frozen=True, kw_only=True)
class Gains:
    """Published PID gains in actuator coordinates [N m/rad, N m s/rad, ...; N/m if prismatic]."""

    kp: tuple[float, ...] = ()
    ki: tuple[float, ...] = ()
    kd: tuple[float, ...] = ()
    rate: float = float(CONTROL_RATE)  # [Hz]


@dataclass(frozen=True, kw_only=True)
class ControllerConstants:
    """Constants of the dVRK's controller of an arm, in actuator coordinates (n,); empty ones get their default.

    Attributes:
        tracking: largest tracking error before a fault [rad, m]. Default: no limit.
        deadband: of the PID's error [rad, m]. Default: 0.
        output: cap of the PID's output, before feed-forward [N m, N]. Default: no cap.
        goal_tolerance: joint tolerance at the end of homing [rad, m]. Default: 3 degrees.
        pots: largest difference of encoder and potentiometer before a fault [rad, m]. Default: 5 degrees, 5 mm.
        nominal_mass, cutoff: parameters of the disturbance observers [kg m^2, kg; rad/s]. Default: 0, no observer.
        gravity_compensation: on from the start. homes_to_zero: homing moves the joints to 0; otherwise they stay in
            place.
        searches_roll: homing finds the lower limit of the last joint, whose potentiometer is not used.
        compensates_positions: gravity is fed forward also during position commands.
    """

    tracking: tuple[float, ...] = ()
    deadband: tuple[float, ...] = ()
    output: tuple[float, ...] = ()
    goal_tolerance: tuple[float, ...] = ()
    pots: tuple[float, ...] = ()
    nominal_mass: tuple[float, ...] = ()
    cutoff: tuple[float, ...] = ()
    gravity_compensation: bool = True
    homes_to_zero: bool = False
    searches_roll: bool = False
    compensates_positions: bool = True

    def completed(self, joints: Sequence[LimitedJoint]) -> ControllerConstants:
        """A copy with a number for every joint."""
        n = len(joints)
        defaults = {"tracking": math.inf, "deadband": 0.0, "output": math.inf, "nominal_mass": 0.0, "cutoff": 0.0}
        defaults["goal_tolerance"] = math.radians(3.0)
        values: dict[str, Any] = {name: getattr(self, name) or (value,) * n for name, value in defaults.items()}
        values["pots"] = self.pots or tuple(POTS_TOLERANCE[joint.kind] for joint in joints)
        for name, value in values.items():
            if len(value) != n:
                raise TrocarError(f"controller.{name} needs {n} numbers, one for each actuator, got {len(value)}")
        return replace(self, **values)


@dataclass(frozen=True, kw_only=True)
class Deflection:
    """Deflection of a drive under load: `q_link = q_motor - c (tau - tau_0)`, polynomials in the insertion [m].

    Attributes:
        compliance: coefficients of c, highest power first [rad/(N m)]. offset: likewise of tau_0 [N m].
    """

    compliance: tuple[float, ...]
    offset: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class ExcitationRanges:
    """Ranges in which an arm may be excited for identification; omitted joints use a fraction of their limits.

    Attributes:
        joints: (lower, upper, velocity) by joint [rad, rad/s; m, m/s]. motors: likewise, of motors.
        frequency: base frequency of periodic motions [Hz].
        redundant_links: links whose inertia is nearly indistinguishable from that of other links in motor effort.
    """

    joints: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)
    motors: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)
    frequency: float = 0.18
    redundant_links: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Arm(Jointed):
    """Data of one arm with one instrument, in one geometry.

    Only `name`, `joints`, `bodies` and `tip_body` are required; a custom robot needs no more.

    Attributes:
        geometry, instrument: names of the set of link lengths and of the mounted instrument.
        joints: independent joints q; the first `tip_joints` of them (default: all) move the tip.
        serial: kinematic table as a chain of bodies; `T_last_tip` is the tip in its last frame. Default: the bodies
            from the base to `tip_body`, and `T_body_tip`.
        bodies: every moving link, depth-first; `tip_body` carries the tip at `T_body_tip`.
        generation: of the da Vinci, which decides its electronics: "Classic" or "Si".
        jaw_length: hinge to the end of the jaws, or of the blade if there are no jaws [m]; 0 without instrument.
        carries: kind of tool at the tip: "instrument" (with a wrist), "endoscope" or None.
        wrist_point: frame positioned by the first three joints alone; forces on the wrist act there.
        loops: closures of the parallelograms. counterweight: name of that body, if any.
        driven: the body at which each joint is actuated and measured (default: the body with its name). Other bodies
            follow through a loop or a transmission.
        transmissions: cables and gears, body -> the body it follows.
        has_rcm: the base frame is the remote centre of motion (RCM), and the body "insertion" slides through it.
        brakes: joints with a brake. gripper: range of a master's gripper [rad], which is measured but not driven.
        home: joint values of the home position (default: 0, or the nearest limit).
        mounting: default pitch of the base about x [rad].
        T_hrsv_base: pose of a master's base in the console's display frame HRSV (X left, Y up, Z away).
        motors: default: one for each joint. gains: published PID gains; empty if there are none.
        controller: constants of its controller; by default there are no deadbands, caps and checks.
        excitation: ranges for identification. deflections: measured deflections of elastic drives, by joint.
        look: shapes of its links: a file in data/meshes such as "psm_si", or "bars" for plain bars between the joints.
        dvrk_class, dvrk_name: class of the dVRK's Python package that drives it, and its usual name there.
        sources: source of each block of numbers.
    """

    name: str
    geometry: str = "own"
    instrument: str = "none"
    joints: tuple[Joint, ...]
    tip_joints: int = 0
    serial: tuple[Body, ...] = ()
    T_last_tip: Array = field(default_factory=lambda: np.eye(4))
    bodies: tuple[Body, ...]
    tip_body: str
    T_body_tip: Array = field(default_factory=lambda: np.eye(4))
    jaw_length: float = 0.0
    generation: Literal["Classic", "Si"] = "Classic"
    carries: Literal["instrument", "endoscope"] | None = None
    wrist_point: str | None = None
    loops: tuple[Loop, ...] = ()
    counterweight: str | None = None
    driven: Mapping[str, str] = field(default_factory=dict)
    transmissions: Mapping[str, str] = field(default_factory=dict)
    has_rcm: bool = False
    brakes: tuple[str, ...] = ()
    gripper: tuple[float, float] | None = None
    home: tuple[float, ...] = ()
    mounting: float = 0.0
    motors: Motors = field(default_factory=lambda: Motors.of(()))
    T_hrsv_base: Array | None = None
    gains: Gains = field(default_factory=Gains)
    controller: ControllerConstants = field(default_factory=ControllerConstants)
    excitation: ExcitationRanges = field(default_factory=ExcitationRanges)
    deflections: Mapping[str, Deflection] = field(default_factory=dict)
    look: str = "bars"
    dvrk_class: str = ""
    dvrk_name: str = ""
    sources: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        # Pinocchio's mass matrix needs depth-first order: a body's parent is on the branch that ends
        # at the body listed just before it.
        branch: list[str | None] = [None]
        for body in self.bodies:
            if body.parent not in branch:
                raise TrocarError(f"bodies of {self.name} are not listed depth-first at '{body.name}'")
            branch = [*branch[: branch.index(body.parent) + 1], body.name]
        self._fill_in_defaults()
        # Mobility: every planar loop removes two degrees of freedom, every transmission one.
        freedom = len(self.bodies) - 2 * len(self.loops) - len(self.transmissions)
        if freedom != self.n:
            raise TrocarError(f"{self.name} has {self.n} joints but its mechanism {freedom} degrees of freedom")

    def _fill_in_defaults(self) -> None:
        filled: dict[str, object] = {"driven": {name: self.driven.get(name, name) for name in self.joint_names}}
        if not self.serial:
            chain = tuple(self.body(name) for name in self.carriers(self.tip_body))
            filled |= {"serial": chain, "T_last_tip": self.T_body_tip}
        if not self.tip_joints:
            filled["tip_joints"] = self.n
        if not self.motors.names:
            filled["motors"] = Motors.of(self.joints)
        if not self.home:
            filled["home"] = tuple(np.clip(0.0, self.lower, self.upper).tolist())
        filled["controller"] = self.controller.completed(self.joints)
        for name, value in filled.items():
            object.__setattr__(self, name, value)
        for joint, name in self.driven.items():
            if joint not in self.body(name).coupling:
                raise TrocarError(f"joint '{joint}' of {self.name} does not move '{name}', where it is driven")

    @property
    def joint_units(self) -> tuple[str, ...]:
        """Unit of each joint position, "rad" or "m"."""
        return tuple(joint.unit for joint in self.joints)

    @property
    def role(self) -> Literal["PSM", "ECM", "MTM", "ARM"]:
        """Kind of its controller in the dVRK, from what it carries and measures; ARM for an arm of another robot."""
        if self.carries is not None:
            return "PSM" if self.carries == "instrument" else "ECM"
        return "ARM" if self.gripper is None else "MTM"

    @cached_property
    def structure(self) -> Structure | None:
        """Structure of the serial table if closed forms are known for it, otherwise None."""
        return structure(self)

    @cached_property
    def E(self) -> Array:
        """Constant matrix (bodies, n) of `q_tree = E q`."""
        return _frozen([[body.coupling.get(name, 0.0) for name in self.joint_names] for body in self.bodies])

    @cached_property
    def D(self) -> Array:
        """Constant matrix (n, bodies) with `q = D q_tree` on a closed mechanism; efforts act as `D.T @ tau`."""
        D = np.zeros((self.n, len(self.bodies)))
        for j, name in enumerate(self.joint_names):
            i = [body.name for body in self.bodies].index(self.driven[name])
            D[j, i] = 1.0 / self.bodies[i].coupling[name]
        return _frozen(D)

    def carriers(self, body: str) -> tuple[str, ...]:
        """A link and all links that carry it, from the base outwards."""
        parent = self.body(body).parent
        return (*(self.carriers(parent) if parent else ()), body)

    def body(self, name: str) -> Body:
        """The link of that name."""
        for body in self.bodies:
            if body.name == name:
                return body
        raise UnknownName("body", name, [b.name for b in self.bodies])


def gravity_vector(arm: Arm, gravity: ArrayLike | None = None, mounting: float | None = None) -> Array:
    """Gravity (3,) [m/s^2] in base axes: as given, or from a mounting pitch [rad]. Default: the arm's mounting.

    With the arm pitched by p about x, up is (0, sin p, cos p) in the base frame, as in the dVRK.
    """
    if gravity is not None:
        if mounting is not None:
            raise TrocarError("give gravity (a vector in base axes) or mounting (a pitch), not both")
        return _frozen(checks.finite("gravity", gravity, (3,), "three finite numbers [m/s^2] in base axes"))
    pitch = checks.finite("mounting", arm.mounting if mounting is None else mounting, (), "a finite pitch [rad]")
    return _frozen([0.0, -GRAVITY * np.sin(pitch), -GRAVITY * np.cos(pitch)])


def poses_at_zero(bodies: Sequence[Body]) -> dict[str, Array]:
    """Pose of every body in the base frame at q = 0: products of the placements, parents first."""
    T: dict[str, Array] = {}
    for body in bodies:
        T[body.name] = body.placement if body.parent is None else T[body.parent] @ body.placement
    return T


def closure(name: str, bodies: Sequence[Body], body_a: str, point_a: tuple[float, float, float], body_b: str) -> Loop:
    """Loop that pins `point_a` of body_a to the coincident point of body_b at q = 0."""
    T = poses_at_zero(bodies)
    p = inverse(T[body_b]) @ T[body_a] @ np.array([*point_a, 1.0])
    x, y, z = (float(c) for c in p[:3])
    return Loop(name=name, body_a=body_a, point_a=point_a, body_b=body_b, point_b=(x, y, z))


def shift(x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Array:
    """Pure translation (4, 4) [m]."""
    return pose(p=[x, y, z])


def _frozen(values: object) -> Array:
    array = np.array(values, dtype=float)
    array.setflags(write=False)
    return array
