"""Hand a needle from one arm to another, by friction alone."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.errors import TrocarError
from trocar.simulation.objects.solid import Needle
from trocar.simulation.skills.hands import Hands, straight
from trocar.simulation.skills.needle_frames import REACH, grip_frame
from trocar.spatial import Array, inverse, pose, rotation

BACK = pose(p=[0.0, 0.0, -0.02])  # place of the jaws before and after a grip, in the tip frame at the grip
LIFTED = pose(p=[0.0, 0.0, 0.015])  # motion of the taker with the needle, in the world
ORIENTATIONS = 60  # of the giver's tip that are tried
TAKEN = np.radians([-65.0, -50.0, -35.0, -20.0])  # gripped points that are tried, from the middle of the needle
APPROACHES = np.linspace(-np.pi, np.pi, 24, endpoint=False)  # of the taker's jaws about the wire
MIN_MARGIN, MIN_TAKER_MARGIN = 0.15, 0.1  # of the joints from their limits [rad]
MIN_CLEARANCE = 1e-3  # between the two instruments [m]
ENOUGH = 3e-3  # clearance beyond which more is no better [m]
# radii of jaws, wrist and shaft [m]
JAWS_RADIUS, WRIST_RADIUS, SHAFT_RADIUS = 2.6e-3, 3.2e-3, 4e-3


@dataclass(frozen=True)
class HandoverPlan:
    """Meeting poses of two arms.

    Attributes:
        T_world_needle: (4, 4). T_world_giver: tip of the giver (4, 4). T_needle_taker: grip of the taker (4, 4).
        clearance: between the instruments [m].
    """

    T_world_needle: Array
    T_world_giver: Array
    T_needle_taker: Array
    clearance: float


@dataclass(frozen=True)
class Handover:
    """Result of a handover.

    Attributes:
        held: the taker holds the needle, and the giver does not touch it.
        slip: of the needle in the taker's jaws, from its grip to the end [m]. turn: [rad].
        unconverged: steps in which the solver did not converge. duration: [s].
    """

    held: bool
    slip: float
    turn: float
    unconverged: int
    duration: float


def plan_handover(
    hands: Hands, giver: str, taker: str, centre: ArrayLike, rng: np.random.Generator, needle: str = "needle"
) -> HandoverPlan:
    """Search a pose of the needle at which both arms reach it without touching each other.

    Args:
        giver: holds the needle now. taker: arm that takes it. centre: (3,) of the needle there, in the world [m].
    """
    placed = hands.scene.objects[needle]
    thing, middle = placed.thing, checks.three_numbers("centre", centre, "in the world [m]")
    if not isinstance(thing, Needle):
        raise TrocarError(f"{needle} is not a needle")
    grip = inverse(placed.pose) @ hands.scene.T_world_tip(giver)
    best: tuple[float, HandoverPlan] | None = None
    for _ in range(ORIENTATIONS):
        R = _downward(rng)
        T_needle = pose(R @ grip[:3, :3].T, middle)
        T_giver = T_needle @ grip
        q = _reached(hands, giver, T_giver, MIN_MARGIN)
        if q is None or not _travels(hands, giver, hands.tip(giver), T_giver, T_giver @ BACK):
            continue
        first = _capsules(hands, giver, T_giver, q)
        wire = _wire(thing, T_needle)
        for angle in TAKEN:
            for approach in APPROACHES:
                for side in (1, -1):
                    T_taker = grip_frame(thing, angle, approach, side)
                    T = T_needle @ T_taker
                    score = _clear(hands, taker, T, first, wire)
                    if score is None or (best is not None and score <= best[0]):
                        continue
                    if _travels(hands, taker, hands.tip(taker), T @ BACK, T, LIFTED @ T):
                        best = (score, HandoverPlan(T_needle, T_giver, T_taker, score))
        if best is not None and best[0] > 0.95 * ENOUGH:
            break
    if best is None:
        raise TrocarError(f"{giver} and {taker} find no pose for a handover at {middle.tolist()} m; use another centre")
    return best[1]


def hand_over(
    hands: Hands, giver: str, taker: str, plan: HandoverPlan, *, effort: float = 0.05, needle: str = "needle"
) -> Handover:
    """Bring a needle to the planned pose, grip it with the taker's jaws, and let it go with the giver's.

    effort: of the taker's jaws [N m].
    """
    scene = hands.scene
    placed, begin, unconverged = scene.objects[needle], scene.time, scene.unconverged
    hands.move(giver, plan.T_world_giver, hands.gentle(giver, plan.T_world_giver))
    hands.hold(0.2)
    # the needle's pose is read at rest: while the arm moves, the needle lags in the jaws
    T = placed.pose @ plan.T_needle_taker
    before = T @ BACK
    hands.move(taker, before, hands.gentle(taker, before), opening=0.7)
    hands.move(taker, T, 0.6)
    hands.hold(0.1)
    hands.close(taker, effort, 0.7)
    gripped = inverse(scene.T_world_tip(taker)) @ placed.pose
    # two hands press against each other through the needle, which would leap out of the taker's
    hands.ease(giver)
    hands.open(giver, 0.7, 0.4)
    hands.move(giver, hands.tip(giver) @ BACK, 0.5)
    hands.move(taker, LIFTED @ hands.tip(taker), 0.6)
    hands.hold(0.3)
    now = inverse(scene.T_world_tip(taker)) @ placed.pose
    point = inverse(gripped) @ [0.0, 0.0, REACH, 1.0]
    cosine = (np.trace(gripped[:3, :3].T @ now[:3, :3]) - 1) / 2
    return Handover(
        held=hands.held(taker) == needle and hands.held(giver) is None,
        slip=float(np.linalg.norm((now @ point)[:3] - [0.0, 0.0, REACH])),
        turn=float(np.arccos(np.clip(cosine, -1.0, 1.0))),
        unconverged=scene.unconverged - unconverged,
        duration=scene.time - begin,
    )


def _downward(rng: np.random.Generator) -> Array:
    """A random tip orientation (3, 3) with the jaws within 40 degrees of straight down."""
    heading, tilt, roll = rng.uniform(-np.pi, np.pi), rng.uniform(0.0, 0.7), rng.uniform(-np.pi, np.pi)
    sideways = np.array([np.cos(heading), np.sin(heading), 0.0])
    z = np.cos(tilt) * np.array([0.0, 0.0, -1.0]) + np.sin(tilt) * sideways
    x = np.cross(z, [0.0, 1.0, 0.0])
    x /= np.linalg.norm(x)
    return np.asarray(np.stack([x, np.cross(z, x), z], axis=1) @ rotation("z", roll))


def _reached(hands: Hands, arm: str, T: Array, margin: float, seed: Array | None = None) -> Array | None:
    """Joints that reach a tip pose with a margin to the limits [rad]; None if there are none."""
    facts = hands.scene.arms[arm].arm
    angles = [0, 1, 3, 4, 5]
    try:
        options = hands.solutions(arm, T) if seed is None else [hands.joints(arm, T, seed)]
    except TrocarError:
        return None
    for q in options:
        if min((q - facts.lower)[angles].min(), (facts.upper - q)[angles].min()) > margin:
            return q
    return None


def _travels(hands: Hands, arm: str, *poses: Array) -> bool:
    """True if an arm reaches tip poses (4, 4) one after the other on straight lines, from its current joints."""
    q = hands.q[arm]
    try:
        for start, end in pairwise(poses):
            q = hands.path(arm, straight(start, end), q)[-1]
    except TrocarError:
        return False
    return True


def _capsules(hands: Hands, arm: str, T: Array, q: Array) -> list[tuple[Array, Array, float]]:
    """Jaws, wrist and shaft of an arm as ends and radius, in the world [m]."""
    base, z, tip = hands.scene.T_world_base(arm), T[:3, 2], T[:3, 3]
    wrist = (base @ hands.scene.arms[arm].mechanism.pose(q, "wrist_pitch"))[:3, 3]
    return [
        (tip + 2e-3 * z, tip + 10.2e-3 * z, JAWS_RADIUS),
        (tip, wrist, WRIST_RADIUS),
        (wrist, base[:3, 3], SHAFT_RADIUS),
    ]


def _wire(needle: Needle, T: Array) -> Array:
    """Points (25, 3) along a needle in the world [m]."""
    points = np.array([needle.at(s)[0] for s in np.linspace(0.0, needle.length, 25)])
    return points @ T[:3, :3].T + T[:3, 3]


def _clear(hands: Hands, arm: str, T: Array, others: list[tuple[Array, Array, float]], wire: Array) -> float | None:
    """Clearance [m] of the taker at its grip and before it, from the giver and the rest of the needle."""
    if T[2, 2] > -0.2:  # the jaws come from above
        return None
    q = _reached(hands, arm, T, MIN_TAKER_MARGIN)
    if q is None:
        return None
    before = T @ BACK
    q_before = _reached(hands, arm, before, MIN_TAKER_MARGIN / 2, q)
    if q_before is None or np.abs(q_before - q).max() > 1.2:
        return None
    mine = _capsules(hands, arm, T, q)
    clearance = min(
        _distance(a, b, c, d) - r - s
        for capsules in (mine, _capsules(hands, arm, before, q_before))
        for a, b, r in capsules
        for c, d, s in others
    )
    # wrist and shaft must pass the rest of the needle
    wire_gap = min(float(_to_segment(wire, a, b).min()) - r for a, b, r in mine[1:])
    if clearance < MIN_CLEARANCE or wire_gap < 3e-4:
        return None
    return min(clearance, ENOUGH, wire_gap + MIN_CLEARANCE)


def _distance(a: Array, b: Array, c: Array, d: Array) -> float:
    """Distance of two segments [m], from points on the first."""
    points = a + np.linspace(0.0, 1.0, 17)[:, None] * (b - a)
    return float(_to_segment(points, c, d).min())


def _to_segment(points: Array, a: Array, b: Array) -> Array:
    """Distances of points (k, 3) from a segment [m]."""
    u = np.clip((points - a) @ (b - a) / ((b - a) @ (b - a)), 0.0, 1.0)
    return np.asarray(np.linalg.norm(points - a - u[:, None] * (b - a), axis=1))
