"""Singularities of an arm: its singular sets in closed form, and the distance to them.

The determinant of the tip Jacobian factors for all dVRK arms (derived in docs/singularities.md), named by structure:

    WristedShaft (PSM)   det J    = -cos q2 . L . (L cos q5 + a)     L = q3 + d_insertion + d_roll
    RollingShaft (ECM)   det J'J  = cos^2 q2 . (1 + L^2)^2           in m and rad
    GimballedArm (MTM)   det JJ'  = 2 (a_2 r u cos(q3 + gamma))^2 (cos^2 q6 + sin^2 q5 sin^2 q6)
                         u = a_2 sin q2 + r cos(q2 + q3 + gamma)     distance of the wrist from the yaw axis

Each factor is named after the axes or points that meet there. For any other arm the determinant and the singular
values are computed numerically, without factors or routes. To compare m with rad, and to give the Jacobian one unit,
lengths are divided by a characteristic length (default: 0.1 m, about the reach of a wrist or hand).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.arms import Arm
from trocar.arms.structure import GimballedArm, RollingShaft, WristedShaft
from trocar.errors import TrocarError
from trocar.mechanics.arm_kinematics import ArmKinematics
from trocar.mechanics.inverse_kinematics.descent import LENGTH
from trocar.mechanics.reach import HALF_PI, Range, cosine_range, distance_range
from trocar.spatial import Array

Moves = dict[tuple[str, tuple[str, ...]], Array]  # (factor, joints) -> move (..., joints) onto its singular set
# Equation of every singular set, and its geometric meaning.
SETS = {
    "pitch": ("cos q2 = 0", "the shaft lies along the yaw axis"),
    "pivot": ("L = 0", "the wrist pitch axis passes through the remote centre"),
    "wrist": ("L cos q5 + a = 0", "the wrist yaw axis passes through the remote centre"),
    "shoulder": ("a_2 sin q2 + r cos(q2 + q3 + gamma) = 0", "the wrist centre lies on the yaw axis"),
    "elbow": ("cos(q3 + gamma) = 0", "the wrist centre is in line with shoulder and elbow"),
    "gimbal": ("cos q6 = 0 and sin q5 = 0", "all four wrist axes lie in one plane"),
}


@dataclass(frozen=True)
class Route:
    """The shortest move of the named joints, with all others held, onto a singular set.

    Attributes:
        factor: name of the set. joints: joints that move.
        move: (..., len(joints)) [rad, m], signed; infinite if these joints cannot reach the set.
        distance: (...) [m]: length of the move, with angles times the characteristic length.
    """

    factor: str
    joints: tuple[str, ...]
    move: Array
    distance: Array


@dataclass(frozen=True)
class Singularity:
    """Distance of states (..., n) from the singular sets of an arm.

    Attributes:
        determinant: (...) of `measure` ("det J", "det J'J" or "det JJ'"), in m and rad.
        factors: each zero exactly on its own singular set; empty if the arm has no closed form.
        routes: ways to the sets. nearest: (...) factor of the shortest route. distance: (...) its length [m].
            Without a closed form there are no routes, `nearest` is an empty string and `distance` is NaN.
        smallest_singular_value: (...) of the scaled Jacobian: its distance (2-norm) to a singular matrix.
        length: characteristic length [m].
    """

    measure: str
    determinant: Array
    factors: Mapping[str, Array]
    routes: tuple[Route, ...]
    nearest: Array
    distance: Array
    smallest_singular_value: Array
    length: float


@dataclass(frozen=True)
class SingularSet:
    """One singular set and the part of it within the joint limits.

    Attributes:
        name: name of its factor. condition: equation of the set. meaning: geometric meaning.
        factor_range: smallest and largest value of the factor within limits, exact.
        inside: True if any part of it lies within limits.
        joint_ranges: by joint, bounds [rad, m] of the part within limits; empty if there is none.
    """

    name: str
    condition: str
    meaning: str
    factor_range: Range
    joint_ranges: Mapping[str, Range]

    @property
    def inside(self) -> bool:
        return self.factor_range[0] <= 0.0 <= self.factor_range[1]


def singularity(mechanism: ArmKinematics, q: ArrayLike, length: float = LENGTH) -> Singularity:
    """Determinant, factors and distances at states q (..., n), also outside the limits.

    A distance moves one joint at a time, so it is an upper bound of the shortest path in joint space (the gimbal of an
    MTM needs two joints at once; there it is the shortest path).
    """
    q = mechanism.checked_state(q)
    length = checks.positive("length", length, "m")
    measure, determinant, factors, moves = _determinant(mechanism, q)
    unit = {j.name: 1.0 if j.kind == "prismatic" else length for j in mechanism.arm.joints}
    routes = tuple(
        Route(factor, joints, move, np.linalg.norm(move * np.array([unit[name] for name in joints]), axis=-1))
        for (factor, joints), move in moves.items()
    )
    if routes:
        distances = np.stack([route.distance for route in routes])
        nearest, distance = np.array([route.factor for route in routes])[distances.argmin(0)], distances.min(0)
    else:
        nearest, distance = np.full(q.shape[:-1], ""), np.full(q.shape[:-1], np.nan)
    smallest = singular_values(mechanism, q, length)[..., -1]
    return Singularity(measure, determinant, factors, routes, nearest, distance, smallest, length)


def scaled_jacobian(mechanism: ArmKinematics, q: ArrayLike, length: float = LENGTH) -> Array:
    """Tip Jacobian (..., 6, m) without units: linear rows and the joint of the insertion divided by `length` [m]."""
    length = checks.positive("length", length, "m")
    J = mechanism.jacobian(q)
    J[..., :3, :] /= length
    slides = [j.kind == "prismatic" for j in mechanism.arm.joints[: mechanism.arm.tip_joints]]
    J[..., slides] *= length
    return J


def singular_values(mechanism: ArmKinematics, q: ArrayLike, length: float = LENGTH) -> Array:
    """Singular values (..., min(6, m)) of the scaled Jacobian, largest first."""
    return np.linalg.svd(scaled_jacobian(mechanism, q, length), compute_uv=False)


def manipulability(mechanism: ArmKinematics, q: ArrayLike, length: float = LENGTH) -> Array:
    """Yoshikawa's measure (...): product of the singular values of the scaled Jacobian, 0 at a singularity."""
    return singular_values(mechanism, q, length).prod(-1)


def condition_number(mechanism: ArmKinematics, q: ArrayLike, length: float = LENGTH) -> Array:
    """Largest over smallest singular value (...) of the scaled Jacobian: 1 if isotropic, infinite if singular."""
    values = singular_values(mechanism, q, length)
    with np.errstate(divide="ignore"):
        return values[..., 0] / values[..., -1]


def singular_sets(mechanism: ArmKinematics) -> tuple[SingularSet, ...]:
    """The singular sets of an arm, each with the part of it that lies within the joint limits."""
    arm, lengths = mechanism.arm, mechanism.arm.structure
    match lengths:
        case GimballedArm():
            return _gimballed_sets(arm, lengths)
        case RollingShaft():
            return (_pitch_set(arm),)
        case WristedShaft():
            return (_pitch_set(arm), *_wrist_sets(arm, lengths))
        case _:
            raise TrocarError(
                f"the singular sets of {arm.name} with {arm.instrument} have no closed form; `singularity` gives "
                "determinant and smallest singular value at any state"
            )


def _pitch_set(arm: Arm) -> SingularSet:
    pitch = arm.joints[1]
    limits = pitch.lower, pitch.upper
    return SingularSet("pitch", *SETS["pitch"], cosine_range(*limits), _zeros_of_cosine(pitch.name, limits))


def _determinant(mechanism: ArmKinematics, q: Array) -> tuple[str, Array, dict[str, Array], Moves]:
    """Name and value of the determinant, its factors, and the moves of joints onto each singular set."""
    arm, lengths = mechanism.arm, mechanism.arm.structure
    match lengths:
        case GimballedArm():
            return _gimballed_form(arm, lengths, q)
        case RollingShaft() if not arm.T_last_tip[:3, 3].any():
            L, (factors, moves) = q[..., 2] + lengths.offset, _pitch_form(arm, q[..., 1])
            return "det J'J", factors["pitch"] ** 2 * (1.0 + L * L) ** 2, factors, moves
        case WristedShaft():
            return _wristed_form(arm, lengths, q)
    J = mechanism.jacobian(q)
    J_t, m = np.swapaxes(J, -1, -2), arm.tip_joints
    measure, gram = ("det J", J) if m == 6 else ("det J'J", J_t @ J) if m < 6 else ("det JJ'", J @ J_t)
    return measure, np.linalg.det(gram), {}, {}


def _pitch_form(arm: Arm, q2: Array) -> tuple[dict[str, Array], Moves]:
    return {"pitch": np.cos(q2)}, {("pitch", (arm.joint_names[1],)): _onto(q2, HALF_PI, np.pi)[..., None]}


def _wristed_form(arm: Arm, lengths: WristedShaft, q: Array) -> tuple[str, Array, dict[str, Array], Moves]:
    L, a, q5 = q[..., 2] + lengths.offset, lengths.wrist, q[..., 4]
    insertion, wrist_pitch = arm.joint_names[2], arm.joint_names[4]
    factors, moves = _pitch_form(arm, q[..., 1])
    factors |= {"pivot": L + 0.0, "wrist": L * np.cos(q5) + a}
    with np.errstate(divide="ignore", invalid="ignore"):
        slide = -a / np.cos(q5) - L
        bend = np.arccos(-a / L) if a else np.full_like(L, HALF_PI)
    moves["pivot", (insertion,)] = -L[..., None]
    moves["wrist", (insertion,)] = slide[..., None]
    moves["wrist", (wrist_pitch,)] = _either(q5, bend)[..., None]
    return "det J", -factors["pitch"] * factors["pivot"] * factors["wrist"], factors, moves


def _gimballed_form(arm: Arm, lengths: GimballedArm, q: Array) -> tuple[str, Array, dict[str, Array], Moves]:
    a_2, r = lengths.upper_arm, lengths.r
    q2, psi, q5, q6 = q[..., 1], q[..., 2] + lengths.gamma, q[..., 4], q[..., 5]
    factors = {
        "shoulder": a_2 * np.sin(q2) + r * np.cos(q2 + psi),
        "elbow": np.cos(psi),
        "gimbal": np.cos(q6) ** 2 + (np.sin(q5) * np.sin(q6)) ** 2,
    }
    with np.errstate(invalid="ignore"):
        reach = np.arccos(-a_2 * np.sin(q2) / r)
    below = np.arctan2(-r * np.cos(psi), a_2 - r * np.sin(psi))
    _, shoulder, elbow, _, *wrist, _ = arm.joint_names
    moves: Moves = {
        ("shoulder", (shoulder,)): _onto(q2, below, np.pi)[..., None],
        ("shoulder", (elbow,)): _either(q2 + psi, reach)[..., None],
        ("elbow", (elbow,)): _onto(psi, HALF_PI, np.pi)[..., None],
        ("gimbal", tuple(wrist)): np.stack([_onto(q5, 0.0, np.pi), _onto(q6, HALF_PI, np.pi)], axis=-1),
    }
    arm_part = a_2 * r * factors["shoulder"] * factors["elbow"]
    return "det JJ'", 2.0 * arm_part**2 * factors["gimbal"], factors, moves


def _wrist_sets(arm: Arm, lengths: WristedShaft) -> tuple[SingularSet, SingularSet]:
    """The two sets of a PSM on which a wrist axis passes through the remote centre."""
    a, d = lengths.wrist, lengths.offset
    insertion, wrist_pitch = arm.joints[2], arm.joints[4]
    L = (insertion.lower + d, insertion.upper + d)
    cosines = cosine_range(wrist_pitch.lower, wrist_pitch.upper)
    products = [depth * c + a for depth in L for c in cosines]
    at_pivot = {insertion.name: (-d, -d)} if L[0] <= 0.0 <= L[1] else {}
    ranges = _wrist_ranges(arm, lengths, L, cosines) if a else at_pivot
    return (
        SingularSet("pivot", *SETS["pivot"], L, at_pivot),
        SingularSet("wrist", *SETS["wrist"], (min(products), max(products)), ranges),
    )


def _wrist_ranges(arm: Arm, lengths: WristedShaft, L: Range, cosines: Range) -> dict[str, Range]:
    """Bounds of insertion and wrist pitch on L cos q5 = -a: L and cos q5 have opposite signs, |L| = a / |cos q5|."""
    a, q5 = lengths.wrist, (arm.joints[4].lower, arm.joints[4].upper)
    depths: list[float] = []
    bends: list[float] = []
    for sign in (1.0, -1.0):  # of cos q5
        weakest, strongest = sorted(max(0.0, sign * c) for c in cosines)
        shortest, longest = sorted(-sign * depth for depth in L)
        shortest = max(shortest, a / strongest if strongest > 0.0 else np.inf)
        longest = min(longest, a / weakest if weakest > 0.0 else np.inf)
        if shortest > longest:
            continue
        depths += [-sign * shortest, -sign * longest]
        ends = np.arccos(np.clip([sign * a / shortest, sign * a / longest], -1.0, 1.0))
        candidates = np.add.outer(np.outer((1, -1), ends), (-2 * np.pi, 0, 2 * np.pi)).ravel().tolist()
        cosine = (a / longest, a / shortest)
        bends += [b for b in (*candidates, *q5) if _between(b, q5) and _between(abs(np.cos(b)), cosine)]
    if not depths:
        return {}
    return {
        arm.joint_names[2]: (min(depths) - lengths.offset, max(depths) - lengths.offset),
        arm.joint_names[4]: (min(bends), max(bends)),
    }


def _gimballed_sets(arm: Arm, lengths: GimballedArm) -> tuple[SingularSet, ...]:
    _, q2, q3, _, q5, q6, _ = ((joint.lower, joint.upper) for joint in arm.joints)
    _, shoulder_name, elbow_name, _, pitch_name, yaw_name, _ = arm.joint_names
    shoulder = distance_range(lengths, q2, q3)
    psi = (q3[0] + lengths.gamma, q3[1] + lengths.gamma)
    sine = _square_range(cosine_range(q6[0] - HALF_PI, q6[1] - HALF_PI))
    cosine = _square_range(cosine_range(*q5))
    gimbal = (1.0 - sine[1] * cosine[1], 1.0 - sine[0] * cosine[0])
    wrist = _zeros_of_cosine(pitch_name, q5, HALF_PI) | _zeros_of_cosine(yaw_name, q6)
    on_axis = {shoulder_name: q2, elbow_name: q3} if shoulder[0] <= 0.0 <= shoulder[1] else {}
    return (
        SingularSet("shoulder", *SETS["shoulder"], shoulder, on_axis),
        SingularSet("elbow", *SETS["elbow"], cosine_range(*psi), _zeros_of_cosine(elbow_name, q3, lengths.gamma)),
        SingularSet("gimbal", *SETS["gimbal"], gimbal, wrist if gimbal[0] <= 0.0 else {}),
    )


def _zeros_of_cosine(joint: str, limits: Range, offset: float = 0.0) -> dict[str, Range]:
    """First and last zero of cos(q + offset) with q between the limits, by joint name; empty if there is none."""
    first, last = np.ceil((limits[0] + offset) / np.pi - 0.5), np.floor((limits[1] + offset) / np.pi - 0.5)
    ends = (float(np.pi * (first + 0.5)) - offset, float(np.pi * (last + 0.5)) - offset)
    return {joint: ends} if first <= last else {}


def _square_range(values: Range) -> Range:
    low, high = sorted(v * v for v in values)
    return (0.0 if values[0] <= 0.0 <= values[1] else low), high


def _between(value: float, limits: Range) -> bool:
    return bool(limits[0] - 1e-12 <= value <= limits[1] + 1e-12)


def _onto(value: Array, target: Array | float, period: float) -> Array:
    """Shortest move of `value` onto target + k period."""
    return np.asarray((target - value + period / 2) % period - period / 2)


def _either(value: Array, target: Array) -> Array:
    """Shortest move of an angle onto +target or -target, up to whole turns; infinite if the target is NaN."""
    up, down = _onto(value, target, 2 * np.pi), _onto(value, -target, 2 * np.pi)
    return np.where(np.isnan(target), np.inf, np.where(np.abs(up) <= np.abs(down), up, down))
