"""Skills of suturing with one arm: drive a needle through tissue, take it on the other side, and pull its thread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.errors import TrocarError
from trocar.simulation.objects.piercing import TissueEvent
from trocar.simulation.objects.solid import Needle
from trocar.simulation.objects.thread import PlacedThread
from trocar.simulation.objects.tissue import PlacedTissue
from trocar.simulation.skills.hands import Hands, wrist_margin
from trocar.simulation.skills.needle_frames import grip_frame
from trocar.spatial import Array, inverse, pose

RATE = np.radians(45.0)  # of the needle along its arc [rad/s]: 6.5 mm/s for an SH needle
RETREAT = 0.02  # distance of the jaws before and after a grip [m]
REGRASP = np.radians(70.0)  # gripped point from the middle: 20 degrees behind the point; nearer, it pivots out
TILTS = np.radians([0.0, 15.0, -15.0, 30.0, -30.0])  # of the jaws about the wire, in the order in which they are tried
FREED = np.radians(144.0)  # turn that brings the needle's tail to the exit


@dataclass(frozen=True)
class Stitching:
    """Outcome of a skill.

    Attributes:
        events: of the tissue, in the time of this skill.
        peak: largest force of the tissue on needle and thread [N]. mean: over all steps in the tissue [N].
        tension: largest tension of the thread at the needle [N].
        passed: length of needle and thread that has left the tissue at the end [m].
        held: the needle is in the jaws at the end. unconverged: steps in which the solver did not converge.
        duration: [s].
    """

    events: list[TissueEvent]
    peak: float
    mean: float
    tension: float
    passed: float
    held: bool
    unconverged: int
    duration: float

    def happened(self, what: str) -> bool:
        """True if an event of this name occurred."""
        return any(event.what == what for event in self.events)


class _Log:
    """Forces while a skill runs."""

    def __init__(self, hands: Hands, arm: str, tissue: str, needle: str) -> None:
        scene = hands.scene
        placed = scene.objects[tissue]
        if not isinstance(placed, PlacedTissue):
            raise TrocarError(f"{tissue} is not a tissue")
        threads = [t for t in scene.objects.values() if isinstance(t, PlacedThread) and t.thing.needle == needle]
        self._hands, self._arm, self._tissue, self._needle = hands, arm, placed, needle
        self._thread = threads[0] if threads else None
        self._start, self._unconverged, self._events = scene.time, scene.unconverged, len(placed.events)
        self._forces: list[float] = []
        self._tension = 0.0

    def __enter__(self) -> _Log:
        self._hands.watch = self._read
        return self

    def __exit__(self, *failure: object) -> None:
        self._hands.watch = None

    def _read(self) -> None:
        force = float(np.linalg.norm(self._tissue.force))
        if force:
            self._forces.append(force)
        if self._thread is not None:
            self._tension = max(self._tension, self._thread.tension)

    def result(self) -> Stitching:
        """The forces and events since the start."""
        scene = self._hands.scene
        return Stitching(
            events=self._tissue.events[self._events :],
            peak=max(self._forces, default=0.0),
            mean=float(np.mean(self._forces)) if self._forces else 0.0,
            tension=self._tension,
            passed=min((point.s for point in self._tissue.forces), default=0.0),
            held=self._hands.held(self._arm) == self._needle,
            unconverged=scene.unconverged - self._unconverged,
            duration=scene.time - self._start,
        )


def bite(
    hands: Hands,
    arm: str,
    *,
    angle: float = np.radians(197.0),
    rate: float = RATE,
    needle: str = "needle",
    tissue: str = "tissue",
) -> Stitching:
    """Turn a gripped needle about its own centre by an angle [rad], through the tissue and out again.

    rate: [rad/s].
    """
    placed = hands.scene.objects[needle]
    centre, axis = placed.pose[:3, 3], placed.pose[:3, 2]
    with _Log(hands, arm, tissue, needle) as log:
        hands.turn(arm, centre, axis, angle, checks.positive("angle", angle, "rad") / checks.positive("rate", rate))
        hands.hold(0.2)
    return log.result()


def regrasp(
    hands: Hands,
    arm: str,
    effort: float,
    *,
    angle: float = REGRASP,
    needle: str = "needle",
    tissue: str = "tissue",
) -> Stitching:
    """Release a needle that the tissue holds, and grip it again near its point with an effort [N m].

    angle: of the gripped point from the middle of the needle [rad].
    """
    placed = hands.scene.objects[needle]
    thing = placed.thing
    if not isinstance(thing, Needle):
        raise TrocarError(f"{needle} is not a needle")
    with _Log(hands, arm, tissue, needle) as log:
        hands.open(arm)
        hands.move(arm, hands.tip(arm) @ pose(p=[0.0, 0.0, -RETREAT]), 0.6)
        T = _best_grip(hands, arm, placed.pose, thing, angle)
        hands.move(arm, T @ pose(p=[0.0, 0.0, -RETREAT]), 0.8)
        hands.move(arm, T, 0.6)
        hands.close(arm, effort)
    return log.result()


def _best_grip(hands: Hands, arm: str, T_world_needle: Array, needle: Needle, angle: float) -> Array:
    """The tip pose of a grip that keeps the wrist far from its limits and near its current joints.

    Jaws across the needle's plane hold it best; they are tilted only if the arm does not reach it otherwise.
    """
    facts, here = hands.scene.arms[arm].arm, hands.q[arm]
    for tilt in TILTS:
        grips = []
        for side in (-1, 1):
            T = T_world_needle @ grip_frame(needle, angle, tilt - np.pi / 2, side)
            for q in hands.solutions(arm, T):
                score = wrist_margin(facts.lower, facts.upper, q) - 0.1 * float(np.abs(q - here)[3:6].max())
                grips.append((score, T))
        if grips:
            return max(grips, key=lambda grip: grip[0])[1]
    raise TrocarError(f"{arm} reaches no grip at the needle's point")


def pull_through(
    hands: Hands,
    arm: str,
    distance: float = 0.075,
    *,
    direction: ArrayLike = (-0.1, -0.35, 0.94),
    speed: float = 0.02,
    needle: str = "needle",
    tissue: str = "tissue",
) -> Stitching:
    """Turn a needle, gripped near its point, out of the tissue along its arc, then pull the thread after it.

    Args:
        distance: of the straight pull [m]. direction: (3,) of it in the world. speed: [m/s].
    """
    placed = hands.scene.objects[needle]
    along = checks.three_numbers("direction", direction, "in the world")
    along = along / np.linalg.norm(along)
    with _Log(hands, arm, tissue, needle) as log:
        centre, axis = placed.pose[:3, 3], placed.pose[:3, 2]
        hands.turn(arm, centre, axis, FREED, FREED / RATE)
        T = hands.tip(arm)
        hands.move(arm, pose(T[:3, :3], T[:3, 3] + distance * along), distance / checks.positive("speed", speed, "m/s"))
        hands.hold(0.3)
    return log.result()


def in_jaws(hands: Hands, arm: str, needle: str = "needle") -> Array:
    """T_tip_needle (4, 4), of which changes are slip."""
    return np.asarray(inverse(hands.scene.T_world_tip(arm)) @ hands.scene.objects[needle].pose)
