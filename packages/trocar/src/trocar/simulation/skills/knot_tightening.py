"""Pulling a knot tight: two arms that hold the ends of a thread move apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trocar import checks
from trocar.errors import TrocarError
from trocar.simulation.knots import Knot
from trocar.simulation.objects.filament import PlacedFilament
from trocar.simulation.skills.hands import Hands

STROKE, SPEED = 1e-3, 0.02  # of one hand at a time [m, m/s]
MAX_WAY = 0.08  # distance that each hand moves at most [m]


@dataclass(frozen=True)
class TightKnot:
    """A knot that was pulled tight.

    Attributes:
        knot: what it is now. tensions: of the two ends [N]. distance: between the ends [m]. time: it took [s].
        reached: both tensions were reached.
    """

    knot: Knot
    tensions: tuple[float, float]
    distance: float
    time: float
    reached: bool


def tighten_knot(hands: Hands, thread: str = "thread", tension: float = 1.0) -> TightKnot:
    """Pull both ends of a thread apart, in turns, until the tension of each reaches a value [N]."""
    placed = hands.scene.objects.get(thread)
    if not isinstance(placed, PlacedFilament) or None in placed.thing.ends:
        raise TrocarError(f"{thread!r} is not a Filament of the scene whose two ends are held by arms")
    checks.positive("tension", tension, "N")
    arms, start = [str(end) for end in placed.thing.ends], hands.scene.time
    for _ in range(int(MAX_WAY / STROKE)):
        if min(placed.tension) >= tension:
            break
        for k, arm in enumerate(arms):
            if placed.tension[k] < tension:
                out = placed.points[-k] - placed.points[k - 1]
                T = hands.tip(arm)
                T[:3, 3] += STROKE * out / np.linalg.norm(out)
                hands.move(arm, T, STROKE / SPEED)
    first, last = placed.tension
    span = float(np.linalg.norm(placed.points[-1] - placed.points[0]))
    return TightKnot(placed.knot, (first, last), span, hands.scene.time - start, min(first, last) >= tension)
