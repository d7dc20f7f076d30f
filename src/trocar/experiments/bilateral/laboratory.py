"""The bilateral laboratory: MTMR and PSM Classic, a wall along z, a hand on the grip, many cells at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trocar.experiments.bilateral.arms import CompiledArm, EngineArm, Wall
from trocar.experiments.bilateral.intentions import Reaches
from trocar.experiments.bilateral.operator import Intention, Operator
from trocar.experiments.bilateral.pair_log import PairLog
from trocar.experiments.bilateral.sides import Master, Slave
from trocar.experiments.bilateral.teleoperated_pair import Pair
from trocar.teleoperation.channel import Channel

GAP = 0.01  # from the tip to the wall at the start [m]
PRESS = 0.01  # intended depth behind the wall, in the scale of the master [m]
START, REACH = 0.2, 1.0  # start and duration of the reach [s]


def press(scale: ArrayLike = 1.0, until: float | None = None) -> Reaches:
    """A path down through the gap and PRESS into the wall, and back to the start at the time `until`, if given.

    scale: scale of the motion, one number or (N,).
    """
    depth = GAP / np.asarray(scale, dtype=float) + PRESS
    goal = np.stack([0.0 * depth, 0.0 * depth, -depth])
    cues = [(START, goal, REACH)]
    return Reaches(cues if until is None else [*cues, (until, 0.0 * goal, REACH)])


def pair(
    cells: int,
    *,
    stiffness: ArrayLike = 1000.0,
    wall: bool = True,
    intention: Intention | None = None,
    operator: Operator | None = None,
    scale: ArrayLike = 1.0,
    delay: float | Sequence[float] | None = None,
    move_limits: bool = False,
    engine: bool = False,
    dt: float = 1e-3,
    **options: Any,
) -> Pair:
    """A pair of the laboratory, or `cells` of them in parallel.

    Args:
        stiffness: of the wall, one number or (N,) [N/m]. wall: False for free space.
        intention: path of a normal grip. Default: `press`. operator: replaces it.
        delay: one-way delay, one number or (N,) [s]; alternatively `forward` and `backward` channels.
        engine: simulate with the MuJoCo engine; one cell. options: further fields of `Pair`.
    """
    obstacle = Wall(stiffness, gap=GAP) if wall else None
    if engine:
        arms: tuple[Any, Any] = EngineArm("MTMR", dt=dt), EngineArm("PSM", obstacle, dt=dt)
    else:
        arms = CompiledArm("MTMR", cells, dt=dt), CompiledArm("PSM", cells, obstacle, dt=dt)
    if delay is not None:
        delays = np.broadcast_to(np.asarray(delay, dtype=float), (cells,))
        options |= {"forward": [Channel(T) for T in delays], "backward": [Channel(T) for T in delays]}
    hand = operator if operator is not None else Operator(intention or press(scale))
    return Pair(Master(arms[0]), Slave(arms[1], dt, move_limits), hand, scale=scale, dt=dt, **options)


def contact_runs(
    delays: Sequence[float],
    stiffnesses: Sequence[float],
    scales: Sequence[float] = (1.0,),
    duration: float = 4.0,
    back: float | None = None,
    **options: Any,
) -> PairLog:
    """One run of all cells of a map, pressing on the wall, in the order (scale, stiffness, delay), delay fastest.

    back: time at which the hand returns [s]. options: of `pair`.
    """
    axes = (np.asarray(x, dtype=float) for x in (scales, stiffnesses, delays))
    s, k, T = (x.ravel() for x in np.meshgrid(*axes, indexing="ij"))
    return pair(len(T), stiffness=k, delay=T.tolist(), scale=s, intention=press(s, back), **options).run(duration)
