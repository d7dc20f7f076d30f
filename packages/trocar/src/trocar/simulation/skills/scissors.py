"""Skill of scissors: open them, bring them to a place, close them there, and report what they severed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trocar import checks
from trocar.errors import TrocarError
from trocar.simulation.objects.blade import PlacedBlade
from trocar.simulation.skills.hands import Hands
from trocar.spatial import Array, checked_pose, pose

APPROACH, SPEED = 0.01, 0.02  # straight way of the open blades to the place [m] and its speed [m/s]
CLOSING = 0.8  # [s]


@dataclass(frozen=True)
class Snip:
    """Result of `cut`.

    Attributes:
        severed: number of cells, tetrahedra, pairs of nodes and joints of threads that were cut.
        opening: of the blades at the end [rad]; large if something that was not cut is between them.
        peak: largest force of all objects on the instrument [N]. unconverged: steps in which the solver did not
            converge. duration: [s].
    """

    severed: int
    opening: float
    peak: float
    unconverged: int
    duration: float


def cut(
    hands: Hands, arm: str, T_world_tip: Array | None = None, effort: float = 0.05, *, opening: float = 0.8
) -> Snip:
    """Cut with the scissors of an arm, which need a `Blade` in the scene.

    Args:
        T_world_tip: (4, 4) tip pose at which they close; they come along its z axis. Default: where they are.
        effort: of closing [N m]. opening: before it [rad].
    """
    scene = hands.scene
    blades = [placed for placed in scene.objects.values() if isinstance(placed, PlacedBlade)]
    blade = next((placed for placed in blades if placed.thing.carrier == arm), None)
    if blade is None:
        raise TrocarError(f"{arm} has no blade: add Blade('scissors', {arm!r}) to the objects of the scene")
    severed, begin, unconverged, peak = blade.severed, scene.time, scene.unconverged, 0.0

    def watch() -> None:
        nonlocal peak
        peak = max(peak, float(np.linalg.norm(scene.arms[arm].contact_wrench()[:3])))

    effort, opening = checks.positive("effort", effort, "N m"), checks.positive("opening", opening, "rad")
    hands.open(arm, opening)
    hands.watch = watch
    try:
        if T_world_tip is not None:
            T = checked_pose(T_world_tip)
            before = T @ pose(p=[0.0, 0.0, -APPROACH])
            hands.move(arm, before, hands.gentle(arm, before))
            hands.move(arm, T, APPROACH / SPEED)
        hands.close(arm, effort, CLOSING)
    finally:
        hands.watch = None
    return Snip(
        severed=blade.severed - severed,
        opening=float(scene.arms[arm].q[-1]),
        peak=peak,
        unconverged=scene.unconverged - unconverged,
        duration=scene.time - begin,
    )
