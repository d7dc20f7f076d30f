"""A mechanism as plain read-only arrays: all data that code generators and other engines need, without algorithms.

The equations of motion follow from these arrays alone, with s = A q of the drives and z the states of Dahl friction:

    q_tree = E q                                          every tree joint is zero when q is zero
    tau    = E' tau_tree + A' (Im s'' + K0 + K s + K2 s^2) + springs(q) + cables(q) + f
    f      = A' (Fv s' + (Fc + Fx s + mu |L g|) sign(s') + sum over its elements of (F + slope s) z)

tau_tree is the effort of the tree under `gravity`, by Newton-Euler. g is the effort of all potentials at q: weight, K,
K2, springs and cables. A Dahl element follows z+ = d + (z - d) exp(-|ds| / delta), d = sign(ds); in steady sliding
z = sign(s'). SI units, radians, base axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from trocar.arms import Arm
from trocar.arms.parameters import CableTorque, Elastic, LeverSpring
from trocar.mechanics.drives import Drives, Elastics
from trocar.mechanics.recursion import TreeInertia
from trocar.spatial import Array


@dataclass(frozen=True, eq=False)
class _ReadOnly:
    """Base of dataclasses with read-only arrays."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                copy = value.copy()
                copy.setflags(write=False)
                object.__setattr__(self, field.name, copy)


@dataclass(frozen=True, kw_only=True, eq=False)
class DriveArrays(_ReadOnly):
    """Drives along s = A q: m drives with k Dahl elements in total. Units follow s: rad and N m, or m and N.

    Attributes:
        names: (m). A: (m, n), weights of s in the joints. L: (m, n), load along s = L g; zero where mu is zero.
        Im: (m,) inertia [kg m^2, kg]. Fv: viscous [N m s/rad, N s/m]. Fc: Coulomb [N m, N].
        Fo: bias of the measured effort, not part of the equations of motion; K0: constant force [N m, N].
        K: stiffness [N m/rad, N/m]. K2: quadratic [N m/rad^2, N/m^2]. Fx: Coulomb per position [N m/rad, N/m].
        mu: Coulomb per load [1].
        dahl_drive: (k,) index of the drive of each element. dahl_delta: [rad, m]. dahl_F: [N m, N].
        dahl_slope: [N m/rad, N/m].
    """

    names: tuple[str, ...]
    A: Array
    L: Array
    Im: Array
    Fv: Array
    Fc: Array
    Fo: Array
    K0: Array
    K: Array
    K2: Array
    Fx: Array
    mu: Array
    dahl_drive: Array
    dahl_delta: Array
    dahl_F: Array
    dahl_slope: Array


@dataclass(frozen=True, eq=False)
class SpringArrays(_ReadOnly):
    """Springs on levers, one entry each: energy stiffness / 2 (l - rest)^2, see `arms.parameters.LeverSpring`.

    Attributes:
        joint: (s,) index in q. stiffness: [N/m]. r, h, rest: [m]. offset: [rad].
    """

    joint: Array
    stiffness: Array
    r: Array
    h: Array
    rest: Array
    offset: Array


@dataclass(frozen=True, eq=False)
class CableArrays(_ReadOnly):
    """Cable efforts, one entry each: `polyval(coefficients, clip(q[joint], lower, upper))` [N m], signed like gravity.

    Attributes:
        joint: (c,) index in q. lower, upper: [rad].
        coefficients: (c, degree + 1), highest power first, amplitude included, padded with zeros in front.
    """

    joint: Array
    lower: Array
    upper: Array
    coefficients: Array


@dataclass(frozen=True, kw_only=True, eq=False)
class LoopArrays(_ReadOnly):
    """Loop closures, one entry each: point a of body a coincides with point b of body b [m].

    Attributes:
        body_a, body_b: (l,) indices of bodies. point_a, point_b: (l, 3) [m], each in the frame of its body.
    """

    body_a: Array
    point_a: Array
    body_b: Array
    point_b: Array


@dataclass(frozen=True, kw_only=True, eq=False)
class TreeArrays(_ReadOnly):
    """The tree of a mechanism with N bodies and n independent joints.

    Attributes:
        names: (N) bodies, parents first. joints: (n) independent joints.
        parents: (N,) index of the body that carries each; -1 for the base.
        T_parent_joint: (N, 4, 4) joint frame in the parent's frame at q_tree = 0; it is the body's frame there.
        revolute: (N,) True for a body that turns about `axes`, False for one that slides along it.
        axes: (N, 3) joint axis in the body's frame: z for all.
        E: (N, n), q_tree = E q.
        mass: (N,) [kg]. com: (N, 3) centre of mass in the body's frame [m]. inertia: (N, 3, 3) about it, in the
            body's axes [kg m^2]. Zero for bodies without inertia.
        gravity: (3,) [m/s^2], base axes.
        tip_body: index of the body with the tip, T_body_tip: (4, 4) the tip in its frame; the first tip_joints
            joints move it.
        lower, upper: (n,) joint limits [rad, m].
        joint_from_motor: (n, n), q = joint_from_motor @ q_motor. motor_effort: (n,) largest [N m, N].
    """

    names: tuple[str, ...]
    joints: tuple[str, ...]
    parents: Array
    T_parent_joint: Array
    revolute: Array
    axes: Array
    E: Array
    mass: Array
    com: Array
    inertia: Array
    gravity: Array
    tip_body: int
    T_body_tip: Array
    tip_joints: int
    lower: Array
    upper: Array
    joint_from_motor: Array
    motor_effort: Array
    drives: DriveArrays
    springs: SpringArrays
    cables: CableArrays
    loops: LoopArrays


def tree_arrays(arm: Arm, inertia: TreeInertia, gravity: Array, drives: Drives, elastics: Elastics) -> TreeArrays:
    """Build the arrays of a mechanism from its parts."""
    names = tuple(body.name for body in arm.bodies)
    return TreeArrays(
        names=names,
        joints=arm.joint_names,
        parents=_indices([-1 if body.parent is None else names.index(body.parent) for body in arm.bodies]),
        T_parent_joint=np.array([body.placement for body in arm.bodies]),
        revolute=np.array([body.kind == "revolute" for body in arm.bodies]),
        axes=np.tile([0.0, 0.0, 1.0], (len(names), 1)),
        E=arm.E,
        mass=inertia.mass,
        com=inertia.com,
        inertia=inertia.I,
        gravity=gravity,
        tip_body=names.index(arm.tip_body),
        T_body_tip=arm.T_body_tip,
        tip_joints=arm.tip_joints,
        lower=arm.lower,
        upper=arm.upper,
        joint_from_motor=arm.motors.coupling,
        motor_effort=arm.motors.effort,
        drives=_drives(drives),
        springs=_springs(arm, elastics),
        cables=_cables(arm, elastics),
        loops=LoopArrays(
            body_a=_indices([names.index(loop.body_a) for loop in arm.loops]),
            point_a=np.array([loop.point_a for loop in arm.loops]).reshape(-1, 3),
            body_b=_indices([names.index(loop.body_b) for loop in arm.loops]),
            point_b=np.array([loop.point_b for loop in arm.loops]).reshape(-1, 3),
        ),
    )


def _drives(drives: Drives) -> DriveArrays:
    terms = ("A", "L", "Im", "Fv", "Fc", "Fo", "K0", "K", "K2", "Fx", "mu")
    return DriveArrays(
        names=tuple(drive.name for drive in drives.drives),
        dahl_drive=drives.owner,
        dahl_delta=drives.delta,
        dahl_F=drives.F,
        dahl_slope=drives.slope,
        **{term: getattr(drives, term) for term in terms},
    )


def _springs(arm: Arm, elastics: Elastics) -> SpringArrays:
    springs = [element for element in elastics.elements if isinstance(element, LeverSpring)]
    names = ("amplitude", "r", "h", "rest", "offset")
    numbers = np.array([[getattr(spring, name) for spring in springs] for name in names], dtype=float)
    return SpringArrays(_joints(arm, springs), *numbers)


def _cables(arm: Arm, elastics: Elastics) -> CableArrays:
    cables = [element for element in elastics.elements if isinstance(element, CableTorque)]
    longest = max((len(cable.coefficients) for cable in cables), default=0)
    padded = [np.pad(cable.coefficients, (longest - len(cable.coefficients), 0)) * cable.amplitude for cable in cables]
    coefficients = np.array(padded, dtype=float).reshape(len(cables), longest)
    lower, upper = np.array([(cable.lower, cable.upper) for cable in cables], dtype=float).reshape(-1, 2).T
    return CableArrays(_joints(arm, cables), lower, upper, coefficients)


def _joints(arm: Arm, elements: Sequence[Elastic]) -> Array:
    return _indices([arm.joint_names.index(element.joint) for element in elements])


def _indices(values: list[int]) -> Array:
    return np.array(values, dtype=int)
