"""Times of calls that take turns, ratios between them, and how far they can be trusted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy

from trocar.errors import TrocarError
from trocar.spatial import Array

Call = Callable[[], object]

TIMESTEP = 1e-3  # [s]
MAX_SPREAD = 0.03  # of a ratio that a quiet machine gives
WARM_UP = 5  # a warm-up round for so many rounds, in which clocks rise and caches fill


class NotQuiet(TrocarError):
    """Other programs used the processor during a benchmark."""


@dataclass(frozen=True)
class TimedCall:
    """A call to time: `run` does the work of `size` units; `prepare` resets everything and is not timed."""

    run: Call
    size: int
    prepare: Call = lambda: None


class Timing(NamedTuple):
    """Median over the rounds, and half the width of its 95 % interval relative to it; 0 if it is a single number."""

    value: float
    spread: float = 0.0

    @classmethod
    def of(cls, rounds: Array) -> Timing:
        """The figure of values (n,), one per round."""
        ordered, n = np.sort(rounds), len(rounds)
        # the k-th smallest and largest value: an interval for any law
        k = max(int(scipy.stats.binom.ppf(0.025, n, 0.5)), 1)
        return cls(float(np.median(rounds)), float((ordered[n - k] - ordered[k - 1]) / (2.0 * np.median(rounds))))


def timed(
    calls: Mapping[str, TimedCall], rounds: int, progress: Callable[[float], None] | None = None
) -> dict[str, Array]:
    """Microseconds per unit of every call, one value per round.

    In every round all calls take a turn, in every other round in reverse order, so that a drift of the processor's
    clock meets all of them alike.
    """
    us = {name: np.empty(rounds) for name in calls}
    first, turns = -(-rounds // WARM_UP), list(calls)
    for i in range(-first, rounds):
        for name in turns[:: 1 if i % 2 == 0 else -1]:
            calls[name].prepare()
            us[name][i] = elapsed(calls[name].run) * 1e6 / calls[name].size  # replaces that of the warm-up
        if progress is not None:
            progress((i + first + 1) / (rounds + first))
    return us


def named_figures(names: Iterable[str], us: Mapping[str, Array], prefix: str = "") -> dict[str, Timing]:
    """Compute figures from their names (see `trocar.bench`) and the times by call and round."""

    def rounds(name: str) -> Array:
        if name.startswith("real_time_factor"):
            return TIMESTEP * 1e6 / us["step" + name.removeprefix("real_time_factor")]
        call, over, bare = name.partition("_over_")
        return us[call] / us[bare] if over else us[name.partition("_us")[0]]

    return {f"{prefix}_{name}" if prefix else name: Timing.of(rounds(name)) for name in names}


def ratios(figures: Mapping[str, Timing]) -> dict[str, Timing]:
    """The ratios among figures, which other machines can be compared with."""
    return {name: figure for name, figure in figures.items() if "_over_" in name}


def check_quiet(figures: Mapping[str, Timing]) -> None:
    """Raise NotQuiet if the ratios would not be the same in another run."""
    name, worst = max(ratios(figures).items(), key=lambda item: item[1].spread, default=("", Timing(1.0)))
    if worst.spread > MAX_SPREAD:
        raise NotQuiet(
            f"this machine is not quiet: {name} is uncertain by {100 * worst.spread:.2g} %, at most "
            f"{100 * MAX_SPREAD:g} % is accepted; end other programs, or use more rounds"
        )


def elapsed(call: Call) -> float:
    """Time of a call [s]."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def repeated(call: Call, count: int, prepare: Call = lambda: None) -> TimedCall:
    """A call many times in a row."""

    def run() -> None:
        for _ in range(count):
            call()

    return TimedCall(run, count, prepare)
