"""The bilateral laboratory: MTMR and PSM Classic, a wall along z, a hand on the grip, many cells at once.

It measures contact over delay and stiffness, the hybrid matrix of a pair, and the Z-width of the master.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trocar.spatial import Array
from trocar.teleoperation.channel import Channel
from trocar_reproductions.bilateral.arms import CompiledArm, EngineArm, Master, Slave, Wall
from trocar_reproductions.bilateral.operator import GripImpedance, Intention, Operator, Reaches, SinusoidalPaths
from trocar_reproductions.bilateral.teleoperated_pair import Pair, PairLog

GAP = 0.01  # from the tip to the wall at the start [m]
PRESS = 0.01  # intended depth behind the wall, in the scale of the master [m]
START, REACH = 0.2, 1.0  # start and duration of the reach [s]
CLAMP = GripImpedance(1e4, 150.0)  # imposes a motion on the grip, or holds it
SPEED = 0.02  # amplitude of the imposed velocity [m/s]
PUSH = 2.0  # amplitude of the force on the slave [N]
LEAD, WINDOW = 2.0, 10.0  # settling time and length of the Fourier window [s]
FREQUENCIES = (0.1, 0.2, 0.4, 0.7, 1.0, 1.6, 2.5, 4.0, 6.3, 10.0, 16.0, 22.0, 30.0)
SUBSTEPS = 4  # arm steps per control period: a wall held over only one step of the engine would leak no energy


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


# -- transmitted impedance ---------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class HybridMatrix:
    """(f_m, -v_s) = H (v_m, f_e) along z, over frequency (F,) [Hz]; f_m of the hand, f_e on the environment.

    h11 [N s/m] is felt in free motion, h12 is the force scale in contact, -h21 the motion scale, 1/h22 [N s/m] the
    slave's impedance with the master clamped. Perfect transparency is h11 = h22 = 0, h12 = -h21 = 1.
    Because of Coulomb friction, the values are valid for the measured amplitudes only.
    """

    frequency: Array
    h11: Array
    h12: Array
    h21: Array
    h22: Array

    def llewellyn(self) -> Array:
        """Margin (F,): stable with any passive hand and environment if it is >= 0 and h11, h22 are passive.

        2 Re h11 Re h22 - |h12 h21| - Re(h12 h21), divided by |h12 h21|.
        """
        product = self.h12 * self.h21
        size = np.abs(product)
        return np.asarray((2.0 * self.h11.real * self.h22.real - size - product.real) / size)


def hybrid_matrix(
    frequencies: Any = FREQUENCIES, delay: float = 0.0, window: float = WINDOW, **options: Any
) -> HybridMatrix:
    """Measure the matrix on a pair without wall: cells with an imposed motion, and cells with a clamped master.

    window: of the Fourier transform [s]; frequencies are multiples of 1 / window. options: of `pair`.
    """
    f = np.asarray(frequencies, dtype=float)
    F, dt = len(f), 1e-3
    amplitude = np.concatenate([SPEED / (2.0 * np.pi * f), np.zeros(F)])
    hand = Operator(SinusoidalPaths(np.tile(f, 2), amplitude), CLAMP)
    steps = round((LEAD + window) / dt)
    t = dt * np.arange(steps)
    push = np.zeros((steps, 3, 2 * F))
    push[:, 2, F:] = PUSH * np.sin(2.0 * np.pi * t[:, None] * f) * np.minimum(t / 0.5, 1.0)[:, None]
    log = pair(2 * F, wall=False, operator=hand, delay=delay, **options).run(LEAD + window, push)
    wave = np.exp(-2j * np.pi * t[:, None] * np.tile(f, 2))[round(LEAD / dt) :]

    def at(signal: Array) -> Array:
        return np.asarray((signal[round(LEAD / dt) :, 2] * wave).sum(axis=0))

    v_m, v_s, f_m, f_e = at(log.v_m), at(log.v_s), at(log.hand), -at(push)
    free, clamped = slice(0, F), slice(F, None)
    h11, h21 = f_m[free] / v_m[free], -v_s[free] / v_m[free]
    h12, h22 = f_m[clamped] / f_e[clamped], -v_s[clamped] / f_e[clamped]
    return HybridMatrix(f, h11, h12, h21, h22)


# -- Z-width of the master: the stiffest virtual wall that it can display ----------------------------------------------
def wall_oscillation(
    stiffness: Sequence[float], damping: Sequence[float], grip: str = "normal", duration: float = 2.0
) -> Array:
    """Peak-to-peak motion (K, B) of the grip on a virtual wall F = K depth - B v, over the last half second [m].

    The wall is sampled and held at 1 kHz and acts one period after the measurement. A sampled wall is passive if the
    arm's damping exceeds K dt / 2 + B (Colgate and Schenkel); friction and the hand allow more.

    Args:
        stiffness: (K,) [N/m]. damping: (B,) [N s/m].
    """
    K, B = (x.ravel() for x in np.meshgrid(stiffness, damping, indexing="ij"))
    dt = 1e-3 / SUBSTEPS
    master = Master(CompiledArm("MTMR", len(K), dt=dt))
    hand = Operator(press(), grip)
    steps, tail = round(duration / dt), round(0.5 / dt)
    hand.start(steps, dt, len(K))
    z = np.zeros((steps, len(K)))
    F, delayed = (np.zeros((3, len(K))) for _ in range(2))
    for k in range(steps):
        x = master.x - master.x0
        z[k] = x[2]
        if k % SUBSTEPS == 0:
            depth = -GAP - x[2]
            F = delayed
            delayed = np.zeros_like(F)
            delayed[2] = np.where(depth > 0.0, np.maximum(K * depth - B * master.v[2], 0.0), 0.0)
        master.step(F, hand.force(k, x, master.v))
    return np.asarray(np.ptp(z[-tail:], axis=0).reshape(len(stiffness), len(damping)))
