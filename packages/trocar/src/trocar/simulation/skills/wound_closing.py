"""Close a wound with one stitch: through both flaps, then pull the thread until the flaps meet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.errors import TrocarError, check_known
from trocar.simulation.objects.tissue import PlacedTissue
from trocar.simulation.scene import Scene
from trocar.simulation.skills.hands import Hands
from trocar.simulation.skills.suturing import (
    Stitching,
    bite,
    checked_needle,
    pierced_by,
    pull_through,
    regrasp,
    thread_of,
)
from trocar.spatial import Array, pose

CLOSED = 0.3e-3  # width below which a wound is closed [m]
STEP, SPEED, SETTLED = 1e-3, 6e-3, 0.1  # of tightening: length [m], its speed [m/s], and the rest after it [s]
MAX_PULL = 0.04  # [m]
FINE = 0.25e-3  # length of a step once the stopper is in place [m]
ACROSS = (-0.6, -0.25, 0.76)  # pull towards the entry: the thread draws the flap at its exit over the wound
AT_END = 1e-3  # distance of the thread's end from the entry at which the stopper is in place [m]
SLACK = 0.02  # thread that is left between the entry and its stopper before tightening [m]


@dataclass(frozen=True)
class Tightening:
    """Result of `tighten`.

    Attributes:
        tension: (k,) of the thread at the needle, at rest after every step of the pull with the stopper in place [N].
        width: (k,) of the wound there [m], negative where its upper edges overlap.
        held: the needle is in the jaws at the end. unconverged: steps in which the solver did not converge.
        duration: [s].
    """

    tension: Array
    width: Array
    held: bool
    unconverged: int
    duration: float

    @property
    def closed_at(self) -> float | None:
        """Tension [N] from which on the wound is narrower than 0.3 mm; None if it is open at the end."""
        wide = np.flatnonzero(self.width >= CLOSED)
        first = wide[-1] + 1 if len(wide) else 0
        return float(self.tension[first]) if first < len(self.tension) else None


@dataclass(frozen=True)
class WoundClosure:
    """Result of `close_wound`: its parts. A part is None if an earlier one failed."""

    bite: Stitching
    regrasp: Stitching | None = None
    pull: Stitching | None = None
    tightening: Tightening | None = None

    @property
    def closed(self) -> bool:
        """The wound is narrower than 0.3 mm at the tension that was asked for or less."""
        return self.tightening is not None and self.tightening.closed_at is not None


def wound_width(scene: Scene, left: str = "left", right: str = "right") -> float:
    """Width [m] of the wound between two flaps, in the middle of their upper edges; negative if they overlap.

    It is measured along the x axis of the left flap, whose +x face is the edge of the wound.
    """
    check_known("object of the scene", scene.objects, left, right)
    flaps = [scene.objects[name] for name in (left, right)]
    edges = []
    for flap, side in zip(flaps, (0.5, -0.5), strict=True):
        if not isinstance(flap, PlacedTissue):
            raise TrocarError(f"{flap.thing.name} is not a tissue")
        edges.append(flap.position(np.asarray(flap.thing.size) * [side, 0.0, 0.5]))
    return float(np.asarray(flaps[0].thing.pose)[:3, 0] @ (edges[1] - edges[0]))


def tighten(
    hands: Hands,
    arm: str,
    *,
    tension: float = 1.0,
    direction: ArrayLike = ACROSS,
    left: str = "left",
    right: str = "right",
    needle: str = "needle",
) -> Tightening:
    """Pull a thread with a stopper in small steps until the wound is closed or the tension [N] is exceeded.

    Before the stopper reaches the tissue, the wound opens and closes while the rods of the thread pass; only from then
    on it counts as closed. After 40 mm it is given up. direction: (3,) of the pull in the world.
    """
    scene, limit = hands.scene, checks.positive("tension", tension, "N")
    thread = thread_of(scene, needle)
    if thread is None:
        raise TrocarError(f"{needle} has no thread to tighten")
    along = checks.three_numbers("direction", direction, "in the world")
    along = along / np.linalg.norm(along)
    tissues, end = pierced_by(scene, needle), checked_needle(scene, needle).length + thread.thing.length
    begin, unconverged = scene.time, scene.unconverged
    curve: list[tuple[float, float]] = []
    pulled = 0.0
    while pulled < MAX_PULL:
        step = FINE if curve else STEP
        T = hands.tip(arm)
        hands.move(arm, pose(T[:3, :3], T[:3, 3] + step * along), step / SPEED)
        pulled += step
        hands.hold(SETTLED)
        if thread.tension > limit or hands.held(arm) != needle:
            break
        if max((point.s for tissue in tissues for point in tissue.forces), default=0.0) < end - AT_END:
            continue
        curve.append((thread.tension, wound_width(scene, left, right)))
        if curve[-1][1] < 0.0:
            break
    tensions, widths = np.array(curve).reshape(-1, 2).T
    return Tightening(
        tension=tensions,
        width=widths,
        held=hands.held(arm) == needle,
        unconverged=scene.unconverged - unconverged,
        duration=scene.time - begin,
    )


def close_wound(
    hands: Hands,
    arm: str,
    effort: float,
    *,
    tension: float = 1.0,
    left: str = "left",
    right: str = "right",
    needle: str = "needle",
) -> WoundClosure:
    """Bite through both flaps of a wound, regrasp the needle with an effort [N m], pull and tighten the thread.

    tension: largest tension of the thread [N].
    """
    thread = thread_of(hands.scene, needle)
    if thread is None or not thread.thing.knot:
        raise TrocarError(f"{needle} needs a thread with a stopper: Thread(..., knot=True)")
    through = bite(hands, arm, needle=needle)
    if [event.what for event in through.events].count("exit") < 2:
        return WoundClosure(through)
    taken = regrasp(hands, arm, effort, needle=needle)
    if not taken.held:
        return WoundClosure(through, taken)
    pulled = pull_through(hands, arm, thread.thing.length - SLACK, direction=ACROSS, needle=needle)
    if not pulled.held:
        return WoundClosure(through, taken, pulled)
    tight = tighten(hands, arm, tension=tension, left=left, right=right, needle=needle)
    return WoundClosure(through, taken, pulled, tight)
