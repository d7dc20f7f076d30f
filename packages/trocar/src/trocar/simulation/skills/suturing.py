"""Skills of suturing with one arm: drive a needle through tissue, take it on the other side, and pull its thread."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.errors import TrocarError, Unreachable, check_known
from trocar.simulation.objects.piercing import TissueEvent
from trocar.simulation.objects.solid import Needle
from trocar.simulation.objects.thread import PlacedThread
from trocar.simulation.objects.tissue import PlacedTissue
from trocar.simulation.scene import Scene
from trocar.simulation.skills.hands import Hands, wrist_margin
from trocar.simulation.skills.needle_frames import grip_frame
from trocar.spatial import Array, pose

RATE = np.radians(45.0)  # of the needle along its arc [rad/s]: 6.5 mm/s for an SH needle
RETREAT = 0.02  # distance of the jaws before and after a grip [m]
REGRASP = np.radians(70.0)  # gripped point from the middle: 20 degrees behind the point; nearer, it pivots out
TILTS = np.radians([0.0, 15.0, -15.0, 30.0, -30.0])  # of the jaws about the wire, in the order in which they are tried
PULL = (-0.1, -0.35, 0.94)  # direction in which a thread is pulled, in the world
FREED = 2e-3  # length of thread that leaves the tissue along the needle's arc before the straight pull [m]
FEWER = np.radians(10.0)  # by which a turn out of the tissue is shortened or lengthened
EXPOSED = 5e-3  # length of needle beyond the tissue at which jaws near its point keep clear of the surface [m]
PUSH = np.radians(-80.0)  # gripped point from the middle for pushing a needle on, near its tail
ROOM = 2e-3  # distance of these jaws from the tissue at the end of a push [m]
RECOIL = 2e-3  # by which a needle may slip back when it is let go [m]
MAX_PUSHES = 3
THROUGH, FURTHER = np.radians(197.0), np.radians(40.0)  # turn of a bite, and the longest continuation of it


@dataclass(frozen=True)
class Stitching:
    """Outcome of a skill.

    Attributes:
        events: of the tissues, in the time of this skill.
        peak: largest force of the tissues on needle and thread [N]. mean: over all steps in the tissue [N].
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


def pierced_by(scene: Scene, needle: str) -> list[PlacedTissue]:
    """Tissues of a scene that a needle can pierce; raises an error if there is none."""
    tissues = [tissue for tissue in scene.objects.values() if isinstance(tissue, PlacedTissue)]
    pierced = [t for t in tissues if t.thing.piercing is not None and t.thing.piercing.needle == needle]
    if not pierced:
        raise TrocarError(f"no tissue of the scene has a piercing for the needle {needle!r}")
    return pierced


def thread_of(scene: Scene, needle: str) -> PlacedThread | None:
    """The thread that is swaged to a needle, if any."""
    threads = [t for t in scene.objects.values() if isinstance(t, PlacedThread) and t.thing.needle == needle]
    return threads[0] if threads else None


class _Log:
    """Forces while a skill runs."""

    def __init__(self, hands: Hands, arm: str, needle: str) -> None:
        scene = hands.scene
        self._hands, self._arm, self._needle = hands, arm, needle
        self._tissues, self._thread = pierced_by(scene, needle), thread_of(scene, needle)
        self._start, self._unconverged = scene.time, scene.unconverged
        self._forces: list[float] = []
        self._tension = 0.0

    def __enter__(self) -> _Log:
        self._watch, self._hands.watch = self._hands.watch, self._read
        return self

    def __exit__(self, *failure: object) -> None:
        self._hands.watch = self._watch

    def _read(self) -> None:
        if self._watch is not None:
            self._watch()
        total = np.asarray(sum(tissue.force for tissue in self._tissues))
        force = sqrt(total.dot(total))
        if force:
            self._forces.append(force)
        if self._thread is not None:
            self._tension = max(self._tension, self._thread.tension)

    def result(self) -> Stitching:
        """The forces and events since the start."""
        scene, tissues = self._hands.scene, self._tissues
        events = [event for tissue in tissues for event in tissue.events if event.time > self._start]
        return Stitching(
            events=sorted(events, key=lambda event: event.time),
            peak=max(self._forces, default=0.0),
            mean=float(np.mean(self._forces)) if self._forces else 0.0,
            tension=self._tension,
            passed=min((point.s for tissue in tissues for point in tissue.forces), default=0.0),
            held=self._hands.held(self._arm) == self._needle,
            unconverged=scene.unconverged - self._unconverged,
            duration=scene.time - self._start,
        )


def bite(
    hands: Hands, arm: str, *, angle: float | None = None, rate: float = RATE, needle: str = "needle"
) -> Stitching:
    """Turn a gripped needle about its own centre, through the tissue and out again.

    Args:
        angle: [rad]. Default: 197 degrees, and up to 40 more until the needle's point is out; soft tissue gives way.
        rate: [rad/s].
    """
    placed, tissues = hands.scene.objects[needle], pierced_by(hands.scene, needle)
    centre, axis = placed.pose[:3, 3], placed.pose[:3, 2]
    first = THROUGH if angle is None else checks.positive("angle", angle, "rad")
    with _Log(hands, arm, needle) as log:
        hands.turn(arm, centre, axis, first, first / checks.positive("rate", rate))
        for _ in range(0 if angle is not None else round(FURTHER / FEWER)):
            if not any(point.s == 0.0 for tissue in tissues for point in tissue.forces):
                break
            hands.turn(arm, centre, axis, FEWER, FEWER / rate)
        hands.hold(0.2)
    return log.result()


def regrasp(
    hands: Hands,
    arm: str,
    effort: float,
    *,
    angle: float = REGRASP,
    needle: str = "needle",
) -> Stitching:
    """Release a needle that the tissue holds, and grip it again near its point with an effort [N m].

    Soft tissue recoils with the needle, which is then pushed on from its tail until jaws have room at its point.
    angle: of the gripped point from the middle of the needle [rad].
    """
    with _Log(hands, arm, needle) as log:
        _release(hands, arm)
        _push_on(hands, arm, effort, needle)
        _take(hands, arm, effort, needle, angle)
    return log.result()


def _release(hands: Hands, arm: str) -> None:
    hands.open(arm)
    hands.move(arm, hands.tip(arm) @ pose(p=[0.0, 0.0, -RETREAT]), 0.6)


def _take(hands: Hands, arm: str, effort: float, needle: str, angle: float) -> None:
    """Grip a needle at an angle [rad] from its middle."""
    T = best_grip(hands, arm, hands.scene.objects[needle].pose, checked_needle(hands.scene, needle), angle)
    hands.move(arm, T @ pose(p=[0.0, 0.0, -RETREAT]), 0.8)
    hands.move(arm, T, 0.6)
    hands.close(arm, effort)


def _push_on(hands: Hands, arm: str, effort: float, needle: str) -> None:
    """Push a needle on from its tail while too little of it is out of the tissue at its point."""
    thing, tissues = checked_needle(hands.scene, needle), pierced_by(hands.scene, needle)
    grip = thing.length / 2 - PUSH * thing.radius  # behind the needle's point
    for _ in range(MAX_PUSHES):
        points = [point.s for tissue in tissues for point in tissue.forces]
        if not points or min(points) >= EXPOSED:
            return
        distance = min(EXPOSED + RECOIL - min(points), grip - ROOM - max(points))
        if distance <= 0.0:
            return
        _take(hands, arm, effort, needle, PUSH)
        T, angle = hands.scene.objects[needle].pose, distance / thing.radius
        hands.turn(arm, T[:3, 3], T[:3, 2], angle, angle / RATE)
        _release(hands, arm)


def best_grip(hands: Hands, arm: str, T_world_needle: Array, needle: Needle, angle: float) -> Array:
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
    direction: ArrayLike = PULL,
    speed: float = 0.02,
    needle: str = "needle",
) -> Stitching:
    """Turn a needle, gripped near its point, out of the tissue along its arc, then pull the thread after it.

    Args:
        distance: of the straight pull [m]. direction: (3,) of it in the world. speed: [m/s].
    """
    along = checks.three_numbers("direction", direction, "in the world")
    along = along / np.linalg.norm(along)
    with _Log(hands, arm, needle) as log:
        _turn_out(hands, arm, needle, checked_needle(hands.scene, needle))
        T = hands.tip(arm)
        hands.move(arm, pose(T[:3, :3], T[:3, 3] + distance * along), distance / checks.positive("speed", speed, "m/s"))
        hands.hold(0.3)
    return log.result()


def _turn_out(hands: Hands, arm: str, needle: str, thing: Needle) -> None:
    """Turn a needle about its own centre until its tail is out of the tissue, or as far as the arm reaches."""
    points = [point.s for tissue in pierced_by(hands.scene, needle) for point in tissue.forces]
    if not points:
        return
    T = hands.scene.objects[needle].pose
    angle = (thing.length + FREED - min(points)) / thing.radius
    while angle > FEWER:
        try:
            hands.turn(arm, T[:3, 3], T[:3, 2], angle, angle / RATE)
        except Unreachable:
            angle -= FEWER
        else:
            return


def checked_needle(scene: Scene, name: str) -> Needle:
    """The needle of a name in a scene."""
    check_known("object of the scene", scene.objects, name)
    thing = scene.objects[name].thing
    if not isinstance(thing, Needle):
        raise TrocarError(f"{name} is not a needle")
    return thing
