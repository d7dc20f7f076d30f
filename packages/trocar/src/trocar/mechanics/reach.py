"""Reach of the tip of an arm, in its base: points within reach, and exact volumes.

Uses closed forms for the structures that have one and a search for all others.

With a remote centre, the wrist pitch axis is at depth L along the shaft and the tip a wrist length a from it. A point
at distance rho from the remote centre is reached if the triangle (L, a, rho) closes for some depth and bend of the
wrist within limits, with an angle psi between point and shaft, and if some shaft direction within the limits of yaw
and pitch is at that angle. The roll turns fully, so there is no other condition. The angles psi form an interval (one
ahead of and one behind the remote centre) and so do the angles between a point and the shaft directions: two intervals
to compare.
"""

from __future__ import annotations

import numpy as np

from trocar.arms import Arm
from trocar.arms.structure import GimballedArm, RollingShaft, Shaft, WristedShaft
from trocar.errors import TrocarError
from trocar.mechanics.inverse_kinematics.descent import SerialChain, sobol, solved
from trocar.spatial import Array

HALF_PI = np.pi / 2
Range = tuple[float, float]
DEPTH = 1e-9  # [m] a point this far beyond a limit still counts as within it
ANGLE = 1e-7  # [rad] likewise; the angles lose half their digits where the triangle is flat
SEARCH = 1e-6  # [m] without a closed form, a point counts as reached within this distance of the tip
BATCH = 1 << 14  # points times starts searched at once
CORNERS = 1 << 14  # number of states that determine a bounding box if there is no closed form
MARGIN = 0.05  # margin of that box, relative to its diagonal


def reaches(arm: Arm, p: Array) -> Array:
    """Mask (N,) of the points p (N, 3) [m] in the base that the tip reaches within limits, in any orientation."""
    lengths, bend = arm.structure, float(max(-arm.lower[4], arm.upper[4])) if arm.n > 4 else 0.0
    if not arm.T_last_tip[:3, 3].any():
        match lengths:
            case GimballedArm():
                return _gimballed_reaches(arm, lengths, p)
            case RollingShaft():
                return _shaft_reaches(arm, lengths.offset, 0.0, 0.0, p)
            case WristedShaft() if (
                arm.upper[3] - arm.lower[3] >= 2 * np.pi - ANGLE and arm.lower[4] <= 0.0 <= bend <= HALF_PI + ANGLE
            ):
                return _shaft_reaches(arm, lengths.offset, lengths.wrist, bend, p)
    return _search_reaches(arm, p)


def wrist_volume(arm: Arm) -> float:
    """Volume [m^3] swept within limits by the wrist pitch axis of a PSM, by the tip of an ECM or MTM; exact."""
    match arm.structure:
        case GimballedArm() as lengths:
            return _gimballed_volume(arm, lengths)
        case RollingShaft() | WristedShaft() as lengths:
            return _shaft_volume(arm, lengths)
        case _:
            raise TrocarError(f"no exact volume is known for {arm.name} with {arm.instrument}; use Workspace.volume()")


def bounding_box(arm: Arm) -> tuple[Array, Array]:
    """Lower and upper corner (3,) [m] in the base of a box that contains all points the tip reaches."""
    lengths = arm.structure
    if not isinstance(lengths, GimballedArm | RollingShaft | WristedShaft):
        m = arm.tip_joints
        tips = SerialChain(arm)(arm.lower[:m] + (arm.upper - arm.lower)[:m] * sobol(m, CORNERS))[0][:, :3, 3]
        margin = MARGIN * np.linalg.norm(np.ptp(tips, axis=0))
        return tips.min(0) - margin, tips.max(0) + margin
    q1, q2, q3 = _limits(arm)
    sine, cosine = _sine_range(q1), _negative(cosine_range(*q1))
    if isinstance(lengths, GimballedArm):
        u = distance_range(lengths, q2, q3)
        low, high = _sine_range((q2[0] + q3[0] + lengths.gamma, q2[1] + q3[1] + lengths.gamma))
        up, down = _negative(cosine_range(*q2))
        z = (lengths.r * low + lengths.upper_arm * up, lengths.r * high + lengths.upper_arm * down)
        ranges = np.array([_product(u, sine), _product(u, cosine), z])
        return ranges[:, 0], ranges[:, 1]
    d, a = lengths.offset, lengths.wrist if isinstance(lengths, WristedShaft) else 0.0
    across = cosine_range(*q2)
    sides = (_product(across, sine), _negative(_sine_range(q2)), _product(across, cosine))
    ranges = np.array([_product((q3[0] + d, q3[1] + d), side) for side in sides])
    return ranges[:, 0] - a, ranges[:, 1] + a


def _search_reaches(arm: Arm, p: Array) -> Array:
    """Search by damped least squares on the position alone, from home and from starts spread over the limits."""
    m = arm.tip_joints
    lower, upper = arm.lower[:m], arm.upper[:m]
    reached = np.zeros(len(p), bool)
    spread = lower + (upper - lower) * sobol(m)
    together = max(1, BATCH // max(1, len(p)))
    for starts in (np.array([arm.home[:m]]), *np.split(spread, range(together, len(spread), together))):
        rows = np.repeat(np.flatnonzero(~reached), len(starts))
        T = np.tile(np.eye(4), (len(rows), 1, 1))
        T[:, :3, 3] = p[rows]
        q = np.tile(starts, (len(rows) // len(starts), 1))
        _, error = solved(arm, T, q, lower, upper, length=0.0, tolerance=SEARCH)
        reached[rows[error <= SEARCH]] = True
    return reached


def _shaft_reaches(arm: Arm, offset: float, a: float, bend: float, p: Array) -> Array:
    """Closed form for a roll of a full turn and a wrist of length a [m] that bends by at most a quarter turn [rad]."""
    q1, q2, q3 = _limits(arm)
    L = (q3[0] + offset - DEPTH, q3[1] + offset + DEPTH)
    rho = np.linalg.norm(p, axis=-1)
    nearest, farthest = _angles_to_shaft(p, q1, q2)
    # bending is useful only until the tip is at a right angle to the point
    most = np.minimum(bend, np.arcsin(np.minimum(1.0, rho / a))) if a else np.full_like(rho, bend)
    along = np.sqrt(np.maximum(0.0, rho * rho - (a * np.sin(most)) ** 2))
    reached = np.zeros(len(p), bool)
    for side in (1.0, -1.0):  # of the tip: ahead of or behind the remote centre
        ends = side * rho - a, side * along - a * np.cos(most)  # depth with the wrist straight, and fully bent
        low, high = np.maximum(np.minimum(*ends), L[0]), np.minimum(np.maximum(*ends), L[1])
        angles = [_apex(rho, depth, a) for depth in (low, high)]
        overlap = (np.minimum(*angles) <= farthest + ANGLE) & (np.maximum(*angles) >= nearest - ANGLE)
        reached |= (low <= high) & (overlap | (rho <= DEPTH))  # the remote centre itself is in every direction
    return reached


def _apex(rho: Array, L: Array, a: float) -> Array:
    """Angle [rad] at the remote centre of the triangle with sides rho and |L| there and a opposite; L is signed."""
    # Heron's formula as a product, which is accurate for a flat triangle
    square = (L + a - rho) * (L + a + rho) * (rho - L + a) * (rho + L - a)
    return np.asarray(np.arctan2(np.sqrt(np.maximum(0.0, square)), np.sign(L) * (rho * rho + L * L - a * a)))


def _angles_to_shaft(p: Array, q1: Range, q2: Range) -> tuple[Array, Array]:
    """Smallest and largest angle [rad] between points p (N, 3) and the shaft directions of yaw and pitch limits.

    The direction has longitude q1 and latitude q2, so at a given latitude the nearest one has the nearest yaw.
    """
    longitude, latitude = np.arctan2(p[:, 0], -p[:, 2]), np.arctan2(-p[:, 1], np.hypot(p[:, 0], p[:, 2]))
    angles = []
    for end, turn in enumerate(_offsets(longitude, q1)):
        level, up = np.cos(latitude) * np.cos(turn), np.sin(latitude)
        away = _offsets(np.arctan2(up, level), q2)[end]
        angles.append(np.arccos(np.clip(np.hypot(level, up) * np.cos(away), -1.0, 1.0)))
    return angles[0], angles[1]


def _offsets(angle: Array, limits: Range) -> tuple[Array, Array]:
    """Smallest and largest distance [rad], at most a half turn, of angles from an interval, up to whole turns."""
    middle, half = 0.5 * (limits[0] + limits[1]), 0.5 * (limits[1] - limits[0])
    off = np.abs((angle - middle + np.pi) % (2 * np.pi) - np.pi)
    return np.maximum(0.0, off - half), np.minimum(np.pi, off + half)


def _gimballed_reaches(arm: Arm, lengths: GimballedArm, p: Array) -> Array:
    """The four gimbal axes intersect in the tip, so only the arm matters: two sides of the yaw axis, two elbows."""
    a_2, r = lengths.upper_arm, lengths.r
    yaw, shoulder, elbow = _limits(arm)
    rho, v = np.hypot(p[:, 0], p[:, 1]), p[:, 2]
    cosine = (rho * rho + v * v - a_2 * a_2 - r * r) / (2.0 * a_2 * r)
    reached = np.zeros(len(p), bool)
    for bend in (1.0, -1.0):
        angle = bend * np.arccos(np.clip(cosine, -1.0, 1.0))
        fits = (np.abs(cosine) <= 1.0) & (_offsets(angle - lengths.gamma - HALF_PI, elbow)[0] <= ANGLE)
        rows = np.flatnonzero(fits)
        lag = np.arctan2(r * np.sin(angle[rows]), a_2 + r * np.cos(angle[rows]))
        for side in (1.0, -1.0):
            q1 = np.arctan2(side * p[rows, 0], -side * p[rows, 1])
            q2 = np.arctan2(v[rows], side * rho[rows]) - lag + HALF_PI
            reached[rows] |= (_offsets(q1, yaw)[0] <= ANGLE) & (_offsets(q2, shoulder)[0] <= ANGLE)
    return reached


def _shaft_volume(arm: Arm, lengths: Shaft) -> float:
    """Integral of L^2 cos q2 over yaw, pitch and depth: a sector of a spherical shell.

    Where L changes sign the shaft has a short piece on the far side of the remote centre. Directions whose opposite
    is also within limits are then covered twice, and are subtracted once.
    """
    d = lengths.offset
    (y_low, y_high), (low, high), q3 = _limits(arm)
    if max(-low, high) > HALF_PI:
        raise TrocarError(f"the pitch of {arm.name} exceeds a quarter turn: directions would count twice")
    turn = min(y_high - y_low, 2 * np.pi)
    L_low, L_high = q3[0] + d, q3[1] + d
    total = turn * (np.sin(high) - np.sin(low)) * (L_high**3 - L_low**3) / 3
    if L_low < 0.0 < L_high:
        both = min(high, -low)
        twice = max(0.0, 2 * turn - 2 * np.pi) * 2 * np.sin(max(0.0, both))
        total -= twice * min(-L_low, L_high) ** 3 / 3
    return float(total)


def _gimballed_volume(arm: Arm, lengths: GimballedArm) -> float:
    """Integral of a_2 r u cos psi over yaw, q2 and psi = q3 + gamma, with u = a_2 sin q2 + r cos(q2 + psi)."""
    (y_low, y_high), q2, q3 = _limits(arm)
    psi = (q3[0] + lengths.gamma, q3[1] + lengths.gamma)
    one_branch = distance_range(lengths, q2, q3)[0] >= 0.0 and cosine_range(*psi)[0] >= 0.0
    if not one_branch or y_high - y_low > 2 * np.pi:
        raise TrocarError(f"the limits of {arm.name} contain a singularity: points would count twice")
    step_sine = np.sin(q2[1]) - np.sin(q2[0])
    upper = (np.cos(q2[0]) - np.cos(q2[1])) * (np.sin(psi[1]) - np.sin(psi[0]))
    # cos(q2 + psi) cos psi = (cos(q2 + 2 psi) + cos q2) / 2
    ends = sum(i * j * np.cos(q2[(i + 1) // 2] + 2 * psi[(j + 1) // 2]) for i in (1, -1) for j in (1, -1))
    fore = 0.5 * (-0.5 * ends + step_sine * (psi[1] - psi[0]))
    return float((y_high - y_low) * lengths.upper_arm * lengths.r * (lengths.upper_arm * upper + lengths.r * fore))


def _limits(arm: Arm) -> list[Range]:
    return [(joint.lower, joint.upper) for joint in arm.joints[:3]]


def cosine_range(lower: float, upper: float) -> Range:
    """Smallest and largest cosine over an interval [rad]."""
    ends = np.cos([lower, upper])
    turns = np.floor(upper / np.pi) - np.ceil(lower / np.pi) + 1  # multiples of pi inside
    peaks = np.cos(np.pi * (np.ceil(lower / np.pi) + np.arange(max(0, int(turns)))))
    values = np.concatenate([ends, np.round(peaks)])
    return float(values.min()), float(values.max())


def distance_range(lengths: GimballedArm, q2: Range, q3: Range) -> Range:
    """Smallest and largest u [m] over a box of q2, q3: the signed distance of the gimbal from the yaw axis."""
    psi = (q3[0] + lengths.gamma, q3[1] + lengths.gamma)
    extremes: list[float] = []
    # extrema lie on an edge of the box, or where both derivatives vanish: cos q2 = 0
    stationary = HALF_PI + np.pi * np.arange(np.ceil(q2[0] / np.pi - 0.5), np.floor(q2[1] / np.pi - 0.5) + 1)
    for value in (*q2, *stationary):
        cosines = cosine_range(value + psi[0], value + psi[1])
        extremes += [lengths.upper_arm * float(np.sin(value)) + lengths.r * c for c in cosines]
    for value in psi:
        sine, cosine = lengths.upper_arm - lengths.r * np.sin(value), lengths.r * np.cos(value)
        phase = float(np.arctan2(sine, cosine))
        extremes += [float(np.hypot(sine, cosine)) * c for c in cosine_range(q2[0] - phase, q2[1] - phase)]
    return min(extremes), max(extremes)


def _sine_range(limits: Range) -> Range:
    return cosine_range(limits[0] - HALF_PI, limits[1] - HALF_PI)


def _negative(values: Range) -> Range:
    return -values[1], -values[0]


def _product(a: Range, b: Range) -> Range:
    products = [x * y for x in a for y in b]
    return min(products), max(products)
