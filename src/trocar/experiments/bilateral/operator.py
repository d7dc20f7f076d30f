"""The surgeon's hand on the master: an intended path, an arm, a grip, tremor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.signal import butter, sosfilt

from trocar.errors import UnknownName
from trocar.spatial import Array

# A path: times (K,) [s] -> displacements (K, 3), or (K, 3, N) if cells differ [m].
Intention: TypeAlias = Callable[[Array], Array]


@dataclass(frozen=True)
class Grip:
    """Spring and damper between the fingers and the grip of the master [N/m, N s/m]."""

    stiffness: float
    damping: float


# Assumed; Hasser and Cutkosky 2002 find that both grow with the grip force. The laboratory uses the normal grip.
GRIPS = {"relaxed": Grip(100.0, 3.0), "normal": Grip(200.0, 5.0), "firm": Grip(1000.0, 20.0)}


@dataclass(frozen=True)
class ForeArm:
    """Mass of the arm behind the grip, coupled to the intended path [kg, N/m, N s/m].

    Mass and impedances are close to the single trial of van Beek et al. 2015 (Sci Rep 18004, fig. 3): 0.554 kg,
    135 N/m, 6.45 N s/m.
    """

    mass: float = 0.5
    stiffness: float = 135.0
    damping: float = 6.0


TREMOR_BAND = (8.0, 12.0)  # [Hz]; 50 to 200 um RMS (PMC3989364, Riviere 1997)


class Operator:
    """A hand that follows an intention.

        F = k (y - x) + b (y' - x'),    m y'' = k_a (x_i - y) + b_a (x_i' - y') - F    (y = x_i without an arm)

    Args:
        intention: path of the hand, as displacement from the start.
        grip: "relaxed", "normal", "firm", or a `Grip`. arm: mass behind the grip; None: the grip follows the path.
        tremor: RMS of each axis [m], noise between 8 and 12 Hz. reaction: delay of the intention behind its cues [s],
            0.2 for visual cues. seed: seed of the tremor.
    """

    def __init__(
        self,
        intention: Intention,
        grip: str | Grip = "normal",
        arm: ForeArm | None = None,
        *,
        tremor: float = 0.0,
        reaction: float = 0.0,
        seed: int = 0,
    ) -> None:
        if isinstance(grip, str):
            if grip not in GRIPS:
                raise UnknownName("grip", grip, GRIPS)
            grip = GRIPS[grip]
        self.intention, self.grip, self.arm = intention, grip, arm
        self.tremor, self.reaction, self.seed = tremor, reaction, seed

    def start(self, steps: int, dt: float, N: int) -> None:
        """Prepare a run of N cells."""
        self._dt = dt
        path = np.asarray(self.intention(np.maximum(dt * np.arange(steps + 1) - self.reaction, 0.0)), dtype=float)
        self._path = path[..., None] if path.ndim == 2 else path
        shake = tremor_noise(steps + 1, dt, self.tremor, self.seed)[..., None]
        if self.arm is None:
            self._path, shake = self._path + shake, np.zeros((1, 3, 1)) + 0 * shake
        self._rate = np.diff(self._path, axis=0) / dt
        self._shake, self._shake_rate = shake, np.diff(shake, axis=0) / dt
        self._y = np.broadcast_to(self._path[0], (3, N)).copy()
        self._dy = np.zeros((3, N))

    def force(self, k: int, x: Array, v: Array) -> Array:
        """Force (3, N) of the hand on the grip at step k [N], with the grip at displacement x and velocity v."""
        grip, arm = self.grip, self.arm
        if arm is None:
            return grip.stiffness * (self._path[k] - x) + grip.damping * (self._rate[k] - v)
        y, dy = self._y + self._shake[k], self._dy + self._shake_rate[k]
        F: Array = grip.stiffness * (y - x) + grip.damping * (dy - v)
        pull = arm.stiffness * (self._path[k] - self._y) + arm.damping * (self._rate[k] - self._dy)
        self._dy = self._dy + self._dt / arm.mass * (pull - F)
        self._y = self._y + self._dt * self._dy
        return F


def tremor_noise(steps: int, dt: float, rms: float, seed: int) -> Array:
    """Band-limited noise (steps, 3) with the given RMS [m]."""
    if not rms:
        return np.zeros((steps, 3))
    lead = round(1.0 / dt)  # discards the transient of the filter
    noise = np.random.default_rng(seed).normal(size=(steps + lead, 3))
    shaken = sosfilt(butter(2, TREMOR_BAND, "bandpass", fs=1.0 / dt, output="sos"), noise, axis=0)[lead:]
    scale: Array = rms / np.sqrt(np.mean(shaken**2, axis=0))
    return np.asarray(shaken * scale)
