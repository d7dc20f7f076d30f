"""Where an arm loses a freedom: the singular sets of every arm in closed form, and how far away they are.

The determinant of the tip Jacobian factors for all dVRK arms (derived in docs/singularities.md):

    PSM   det J    = -cos q2 . L . (L cos q5 + a)                    L = q3 + d_insertion + d_roll
    ECM   det J'J  = cos^2 q2 . (1 + L^2)^2                          in m and rad
    MTM   det JJ'  = 2 (a_2 r u cos(q3 + gamma))^2 (cos^2 q6 + sin^2 q5 sin^2 q6)
                     u = a_2 sin q2 + r cos(q2 + q3 + gamma)         distance of the wrist from the yaw axis

Each factor is named after what meets there. To compare m with rad, and to give the Jacobian one unit, lengths are
divided by a characteristic length, 0.1 m unless told otherwise: about the reach of a wrist or hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trocar.arms import Arm
from trocar.errors import TrocarError
from trocar.mechanics.arm_kinematics import ArmKinematics
from trocar.mechanics.inverse_kinematics.damped_least_squares import LENGTH
from trocar.mechanics.lengths import HALF_PI, Master, Range, Shaft, cosine_range, distance_range, master, shaft
from trocar.spatial import Array

Moves = dict[tuple[str, tuple[str, ...]], Array]  # (factor, joints) -> move (..., joints) onto its singular set


@dataclass(frozen=True)
class Route:
    """The least move of the named joints, all others held, that ends on a singular set.

    Attributes:
        factor: which set. joints: which joints move.
        move: (..., len(joints)) [rad, m], signed; infinite where these joints cannot reach the set.
        distance: (...) [m]: length of the move, with angles times the characteristic length.
    """

    factor: str
    joints: tuple[str, ...]
    move: Array
    distance: Array


@dataclass(frozen=True)
class Singularity:
    """How close states (..., n) are to the singular sets of an arm.

    Attributes:
        determinant: (...) in closed form, of `measure` ("det J", "det J'J" or "det JJ'"), in m and rad.
        factors: each zero exactly on its own singular set.
        routes: ways to the sets. nearest: (...) name of the factor with the shortest. distance: (...) its length [m].
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
        name: of its factor. condition: where that is zero. meaning: what coincides there.
        factor_range: smallest and largest value of the factor within limits, exact.
        inside: whether any of it lies within limits.
        joint_ranges: by joint, bounds [rad, m] of the part within limits; empty if none does.
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

    A distance moves one joint at a time, so it bounds the shortest way in joint space from above (the gimbal of an
    MTM needs two joints at once, and there it is the shortest way).
    """
    q = mechanism.checked_state(q)
    length = _positive("length", length)
    measure, determinant, factors, moves = _closed_form(mechanism.arm, q)
    unit = {j.name: 1.0 if j.kind == "prismatic" else length for j in mechanism.arm.joints}
    routes = []
    for (factor, joints), move in moves.items():
        distance = np.linalg.norm(move * np.array([unit[name] for name in joints]), axis=-1)
        routes.append(Route(factor, joints, move, distance))
    distances = np.stack([route.distance for route in routes])
    return Singularity(
        measure=measure,
        determinant=determinant,
        factors=factors,
        routes=tuple(routes),
        nearest=np.array([route.factor for route in routes])[distances.argmin(0)],
        distance=distances.min(0),
        smallest_singular_value=singular_values(mechanism, q, length)[..., -1],
        length=length,
    )


def scaled_jacobian(mechanism: ArmKinematics, q: ArrayLike, length: float = LENGTH) -> Array:
    """Tip Jacobian (..., 6, m) without units: linear rows and the joint of the insertion divided by `length` [m]."""
    length = _positive("length", length)
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
    """Largest over smallest singular value (...) of the scaled Jacobian: 1 is isotropic, infinite singular."""
    values = singular_values(mechanism, q, length)
    with np.errstate(divide="ignore"):
        return values[..., 0] / values[..., -1]


def singular_sets(mechanism: ArmKinematics) -> tuple[SingularSet, ...]:
    """The singular sets of an arm, each with the part of it that lies within the joint limits."""
    arm = mechanism.arm
    limits = {j.name: (j.lower, j.upper) for j in arm.joints}
    if arm.family == "MTM":
        return _master_sets(master(arm), limits)
    lengths = shaft(arm)
    pitch = SingularSet(
        "pitch",
        "cos q2 = 0",
        "the shaft lies along the yaw axis",
        cosine_range(*limits["pitch"]),
        _zeros_of_cosine("pitch", limits["pitch"]),
    )
    return (pitch,) if arm.family == "ECM" else (pitch, *_wrist_sets(lengths, limits))


def _closed_form(arm: Arm, q: Array) -> tuple[str, Array, dict[str, Array], Moves]:
    """Name and value of the determinant, its factors, and the moves of joints onto each singular set."""
    if arm.family == "MTM":
        return _master_form(master(arm), q)
    lengths = shaft(arm)
    q2, L, a = q[..., 1], q[..., 2] + lengths.offset, lengths.wrist
    factors = {"pitch": np.cos(q2)}
    moves: Moves = {("pitch", ("pitch",)): _onto(q2, HALF_PI, np.pi)[..., None]}
    if arm.family == "ECM":
        if arm.T_last_tip[:3, 3].any():
            raise TrocarError(f"the tip of {arm.name} is off the roll axis: no closed form")
        return "det J'J", factors["pitch"] ** 2 * (1.0 + L * L) ** 2, factors, moves
    q5 = q[..., 4]
    factors |= {"pivot": L + 0.0, "wrist": L * np.cos(q5) + a}
    with np.errstate(divide="ignore", invalid="ignore"):
        slide = -a / np.cos(q5) - L
        bend = np.arccos(-a / L) if a else np.full_like(L, HALF_PI)
    moves["pivot", ("insertion",)] = -L[..., None]
    moves["wrist", ("insertion",)] = slide[..., None]
    moves["wrist", ("wrist_pitch",)] = _either(q5, bend)[..., None]
    return "det J", -factors["pitch"] * factors["pivot"] * factors["wrist"], factors, moves


def _master_form(lengths: Master, q: Array) -> tuple[str, Array, dict[str, Array], Moves]:
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
    moves = {
        ("shoulder", ("shoulder_pitch",)): _onto(q2, below, np.pi)[..., None],
        ("shoulder", ("elbow_pitch",)): _either(q2 + psi, reach)[..., None],
        ("elbow", ("elbow_pitch",)): _onto(psi, HALF_PI, np.pi)[..., None],
        ("gimbal", ("wrist_pitch", "wrist_yaw")): np.stack([_onto(q5, 0.0, np.pi), _onto(q6, HALF_PI, np.pi)], axis=-1),
    }
    arm_part = a_2 * r * factors["shoulder"] * factors["elbow"]
    return "det JJ'", 2.0 * arm_part**2 * factors["gimbal"], factors, moves


def _wrist_sets(lengths: Shaft, limits: Mapping[str, Range]) -> tuple[SingularSet, SingularSet]:
    """The two sets of a PSM on which a wrist axis passes through the remote centre."""
    a, d = lengths.wrist, lengths.offset
    L = (limits["insertion"][0] + d, limits["insertion"][1] + d)
    cosines = cosine_range(*limits["wrist_pitch"])
    products = [depth * c + a for depth in L for c in cosines]
    at_pivot = {"insertion": (-d, -d)} if L[0] <= 0.0 <= L[1] else {}
    return (
        SingularSet("pivot", "L = 0", "the wrist pitch axis passes through the remote centre", L, at_pivot),
        SingularSet(
            "wrist",
            "L cos q5 + a = 0",
            "the wrist yaw axis passes through the remote centre",
            (min(products), max(products)),
            _wrist_ranges(lengths, limits, L, cosines) if a else at_pivot,
        ),
    )


def _wrist_ranges(lengths: Shaft, limits: Mapping[str, Range], L: Range, cosines: Range) -> dict[str, Range]:
    """Bounds of insertion and wrist pitch on L cos q5 = -a: L and cos q5 have opposite signs, |L| = a / |cos q5|."""
    a, q5 = lengths.wrist, limits["wrist_pitch"]
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
        candidates = [
            float(turn + side * end) for end in ends for side in (1, -1) for turn in (-2 * np.pi, 0, 2 * np.pi)
        ]
        bends += [
            b for b in (*candidates, *q5) if _between(b, q5) and _between(abs(np.cos(b)), (a / longest, a / shortest))
        ]
    if not depths:
        return {}
    return {
        "insertion": (min(depths) - lengths.offset, max(depths) - lengths.offset),
        "wrist_pitch": (min(bends), max(bends)),
    }


def _master_sets(lengths: Master, limits: Mapping[str, Range]) -> tuple[SingularSet, ...]:
    q2, q3, q5, q6 = (limits[name] for name in ("shoulder_pitch", "elbow_pitch", "wrist_pitch", "wrist_yaw"))
    shoulder = distance_range(lengths, q2, q3)
    psi = (q3[0] + lengths.gamma, q3[1] + lengths.gamma)
    sine = _square_range(cosine_range(q6[0] - HALF_PI, q6[1] - HALF_PI))
    cosine = _square_range(cosine_range(*q5))
    gimbal = (1.0 - sine[1] * cosine[1], 1.0 - sine[0] * cosine[0])
    elbow = _zeros_of_cosine("elbow_pitch", psi)
    wrist = _zeros_of_cosine("wrist_pitch", (q5[0] + HALF_PI, q5[1] + HALF_PI)) | _zeros_of_cosine("wrist_yaw", q6)
    return (
        SingularSet(
            "shoulder",
            "a_2 sin q2 + r cos(q2 + q3 + gamma) = 0",
            "the wrist centre lies on the yaw axis",
            shoulder,
            {"shoulder_pitch": q2, "elbow_pitch": q3} if shoulder[0] <= 0.0 <= shoulder[1] else {},
        ),
        SingularSet(
            "elbow",
            "cos(q3 + gamma) = 0",
            "the wrist centre is in line with shoulder and elbow",
            cosine_range(*psi),
            {name: (low - lengths.gamma, high - lengths.gamma) for name, (low, high) in elbow.items()},
        ),
        SingularSet(
            "gimbal",
            "cos q6 = 0 and sin q5 = 0",
            "all four wrist axes lie in one plane",
            gimbal,
            {
                name: (low - HALF_PI, high - HALF_PI) if name == "wrist_pitch" else (low, high)
                for name, (low, high) in wrist.items()
            }
            if gimbal[0] <= 0.0
            else {},
        ),
    )


def _zeros_of_cosine(joint: str, limits: Range) -> dict[str, Range]:
    """First and last zero of the cosine between the limits, by joint name; empty if there is none."""
    first, last = np.ceil(limits[0] / np.pi - 0.5), np.floor(limits[1] / np.pi - 0.5)
    return {joint: (float(np.pi * (first + 0.5)), float(np.pi * (last + 0.5)))} if first <= last else {}


def _square_range(values: Range) -> Range:
    low, high = sorted(v * v for v in values)
    return (0.0 if values[0] <= 0.0 <= values[1] else low), high


def _between(value: float, limits: Range) -> bool:
    return bool(limits[0] - 1e-12 <= value <= limits[1] + 1e-12)


def _onto(value: Array, target: Array | float, period: float) -> Array:
    """Shortest move of `value` onto target + k period."""
    return np.asarray((target - value + period / 2) % period - period / 2)


def _either(value: Array, target: Array) -> Array:
    """Shortest move of an angle onto +target or -target, up to whole turns; infinite where target is NaN."""
    up, down = _onto(value, target, 2 * np.pi), _onto(value, -target, 2 * np.pi)
    return np.where(np.isnan(target), np.inf, np.where(np.abs(up) <= np.abs(down), up, down))


def _positive(what: str, value: float) -> float:
    if not (isinstance(value, int | float | np.number) and np.isfinite(value) and value > 0):
        raise TrocarError(f"{what} must be a positive number [m], got {value!r}")
    return float(value)
