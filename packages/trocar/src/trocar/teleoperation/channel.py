"""A reproducible channel that delays, reorders and loses packets, with an optional play-out buffer; presets."""

from __future__ import annotations

import heapq
import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from trocar.errors import TrocarError, check_known
from trocar.spatial import Array


@dataclass(frozen=True)
class Exponentials:
    """Jitter added to the minimum delay: a mixture of exponential distributions.

    Attributes:
        weights: probabilities. means: means of the components [s].
    """

    weights: Sequence[float]
    means: Sequence[float]

    def draw(self, rng: np.random.Generator) -> float:
        k = int(np.searchsorted(np.cumsum(self.weights), rng.random()))
        return float(rng.exponential(self.means[min(k, len(self.means) - 1)]))


@dataclass(frozen=True)
class Bursts:
    """Lost packets between two that arrive: floor of a Pareto II variable, in a good or a bad state of the link.

    Attributes:
        good, bad: shape alpha and scale lambda [packets]. stay: probability of keeping the good, the bad state.
    """

    good: tuple[float, float]
    bad: tuple[float, float]
    stay: tuple[float, float] = (0.95, 0.90)

    def lengths(self, rng: np.random.Generator) -> Any:
        """Numbers of lost packets, without end."""
        state = 0
        while True:
            alpha, scale = (self.good, self.bad)[state]
            yield int(scale * rng.pareto(alpha))
            if rng.random() > self.stay[state]:
                state = 1 - state


@dataclass(frozen=True)
class Outages:
    """Periods without packets: good and lost periods alternate, starting with a good one.

    Attributes:
        lost, good: two parameters of their lengths [s]. law: "uniform" (from, to) or "normal" (mean, deviation).
        first: length of the first good period [s]. Default: drawn.
    """

    lost: tuple[float, float]
    good: tuple[float, float]
    law: Literal["uniform", "normal"] = "uniform"
    first: float | None = None

    def periods(self, rng: np.random.Generator) -> Any:
        """Start and end times of outages [s], without end."""
        draw = rng.uniform if self.law == "uniform" else rng.normal
        t = draw(*self.good) if self.first is None else self.first
        while True:
            end = t + max(float(draw(*self.lost)), 0.0)
            yield t, end
            t = end + max(float(draw(*self.good)), 0.0)


@dataclass
class Channel:
    """One direction of a network. Packets go in with `send` and come out with `receive`.

    The newest arrived packet is in use; older ones that arrive later are dropped. With a play-out buffer a
    packet comes into use exactly `playout` after it was sent, if it arrived in time: jitter becomes a constant delay,
    which wave variables require.

    Attributes:
        delay: minimum delay [s]. jitter: added to it; a number is the mean of an exponential distribution [s].
        loss: a number is the probability that a packet is lost. outage: times without packets.
        seed: seed of all random events. playout: [s]; None for no buffer.
    """

    delay: float = 0.0
    jitter: float | Exponentials = 0.0
    loss: float | Bursts = 0.0
    outage: Outages | None = None
    seed: int = 0
    playout: float | None = None

    def __post_init__(self) -> None:
        for name in ("delay", "playout", "jitter", "loss"):
            value = getattr(self, name)
            if isinstance(value, int | float) and not (0.0 <= value < 1e6):
                raise TrocarError(f"{name} of a channel must be finite and not negative, got {value!r}")
        if isinstance(self.loss, int | float) and self.loss > 1.0:
            raise TrocarError(f"loss of a channel must be a probability, 0 to 1, got {self.loss!r}")
        self.reset()

    def reset(self) -> None:
        """Restart with the same seed and no packets."""
        delays, losses, outages = np.random.default_rng(self.seed).spawn(3)
        self._delays, self._losses = delays, losses
        self._burst = self.loss.lengths(losses) if isinstance(self.loss, Bursts) else None
        self._left = next(self._burst) if self._burst else 0
        self._outages = self.outage.periods(outages) if self.outage else None
        self._outage = next(self._outages) if self._outages else (math.inf, math.inf)
        self._waiting: list[tuple[float, int, Any]] = []
        self._count, self._newest, self._value = 0, -1, None

    @property
    def constant(self) -> bool:
        """True if every packet arrives after the same delay."""
        return not self.jitter and not self.loss and self.outage is None

    def send(self, t: float, packet: Any) -> None:
        """Send a packet at time t [s]."""
        number, self._count = self._count, self._count + 1
        arrival = t + self.delay + self._jitter()
        if not self._lost(t):
            heapq.heappush(self._waiting, (max(arrival, t + (self.playout or 0.0)), number, packet))

    def receive(self, t: float) -> Any:
        """The packet in use at time t [s]; None before the first."""
        while self._waiting and self._waiting[0][0] <= t + 1e-9:
            _, number, packet = heapq.heappop(self._waiting)
            if number > self._newest:
                self._newest, self._value = number, packet
        return self._value

    def in_flight(self) -> list[tuple[float, Any]]:
        """Sent packets that are not yet received, with the times at which they come into use [s]."""
        return [(usable, packet) for usable, _, packet in sorted(self._waiting)]

    def packets(self, steps: int, dt: float) -> Array:
        """Index (steps,) of the packet in use at each step, if one is sent at every step; -1 before the first."""
        k = np.arange(steps)
        if self.constant:
            return np.maximum(k - round(max(self.delay, self.playout or 0.0) / dt), -1)
        self.reset()
        used = np.empty(steps, dtype=int)
        for i in k:
            self.send(i * dt, i)
            packet = self.receive(i * dt)
            used[i] = -1 if packet is None else packet
        return used

    def _jitter(self) -> float:
        if isinstance(self.jitter, Exponentials):
            return self.jitter.draw(self._delays)
        return float(self._delays.exponential(self.jitter)) if self.jitter else 0.0

    def _lost(self, t: float) -> bool:
        while t >= self._outage[1] and self._outages:
            self._outage = next(self._outages)
        if self._burst is not None:
            lost = self._left > 0
            self._left = self._left - 1 if lost else next(self._burst)
        else:
            assert not isinstance(self.loss, Bursts)
            lost = bool(self.loss) and self._losses.random() < self.loss
        return lost or self._outage[0] <= t < self._outage[1]


# -- published network conditions --------------------------------------------------------------------------------------

_NETFI = tomllib.loads(Path(__file__).with_name("netfi.toml").read_text(encoding="utf-8"))


def netfi(
    delay: int = 100,
    loss: int | None = None,
    outage: int | None = None,
    *,
    seed: int = 0,
    playout: float | None = None,
    first_outage: float | None = None,
) -> Channel:
    """A channel of NetFI: mean delay 100, 300 or 500 ms, loss and outage 10, 30 or 50 %, or none.

    first_outage: time of the first outage [s]. Default: after one cool-down.
    """
    for name, value in (("delay", delay), ("loss", loss), ("outage", outage)):
        if value is not None:
            check_known(f"{name} of a NetFI channel", _NETFI[name], str(value))
    minimum, weights, rates = _NETFI["delay"][str(delay)]
    outages = None
    if outage is not None:
        max_length, pause = _NETFI["outage"][str(outage)]
        outages = Outages(lost=(0.0, max_length), good=(pause, pause), first=first_outage)
    jitter = Exponentials(weights, [1e-3 / rate for rate in rates])
    bursts = 0.0 if loss is None else Bursts(*_NETFI["loss"][str(loss)])
    return Channel(1e-3 * minimum, jitter, bursts, outages, seed, playout)


def intermittent(delay: float = 0.0, *, seed: int = 0) -> Channel:
    """A link that works for N(3.2, 0.15) s and fails for N(0.8, 0.1) s, as in a digital twin of Johns Hopkins."""
    return Channel(delay=delay, outage=Outages(lost=(0.8, 0.1), good=(3.2, 0.15), law="normal"), seed=seed)
