"""Share of contacts of 1 N that are detected, and the delay: wrong models, sensors with and without noise.

`python -m tools.contact_table` prints the table of docs/observers.md; that takes minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tests.support.monitored_arm import TOUCHES, contact_detector, mismatched, steps, watched
from tests.support.sensor_noise import noisy
from trocar.control.observers import CollisionDetector, ResidualStatistics, external_effort, sudden_effort
from trocar.mechanics import Mechanism
from trocar.recording import Recording
from trocar.spatial import Array

FARTHER_OFF = (0.01, 0.02, 0.05)  # errors of inertia for which contact detection is tested
WITHIN = 0.1  # delay of a detection that counts [s]
SETTLED = 1.5  # time for the slow observer to forget its initial value of zero [s]


@dataclass(frozen=True)
class Detection:
    """Steps found by one detector.

    Attributes:
        delays: (S,) [s], infinite if the step was not found, negative for an alarm before the step.
        false_alarms: number of runs without contact that raised an alarm, one run per model.
    """

    delays: Array
    false_alarms: int

    @property
    def within(self) -> float:
        """Share found within 0.1 s of the step."""
        return float(np.mean((self.delays >= 0) & (self.delays <= WITHIN + 1e-9)))

    def __str__(self) -> str:
        late = self.delays[(self.delays >= 0) & np.isfinite(self.delays)]
        times = f"{1e3 * np.median(late):.0f} ms" if late.size else "none"
        early = int((self.delays < 0).sum())
        return f"{self.within:.1%} within 0.1 s, median {times}; false alarms {early} before steps, {self.false_alarms}"


def detections(
    inertia: float, seeds: Sequence[int], phases: tuple[float, ...], noise: bool, seconds: float = 20.0
) -> dict[str, Detection]:
    """Results of `CollisionDetector` and `ContactDetector`, thresholds from the same model's run without contact."""
    return next(_detections([(inertia, noise)], seeds, phases, seconds))


def _detections(
    cases: Sequence[tuple[float, bool]], seeds: Sequence[int], phases: tuple[float, ...], seconds: float
) -> Iterator[dict[str, Detection]]:
    known, free, runs = watched(seconds), watched(seconds, phase=7.35), steps(phases)
    for inertia, noise in cases:
        delays: dict[str, list[float]] = {"collision": [], "contact": []}
        alarms = dict.fromkeys(delays, 0)
        for seed in seeds:
            model, rng = mismatched(seed, inertia), np.random.default_rng(100 + seed)
            before, without, during = (
                [noisy(r, rng) for r in group] if noise else group for group in ([known], [free], runs)
            )
            for name, first in _watches(model, before[0]).items():
                alarms[name] += first(without[0]) is not None
                times = [first(run) for run in during]
                delays[name] += [np.inf if t is None else t - TOUCHES for t in times]
        yield {name: Detection(np.array(delays[name]), alarms[name]) for name in delays}


def _watches(model: Mechanism, known: Recording) -> dict[str, Callable[[Recording], float | None]]:
    """The first alarm of each detector along a recording."""
    late = known.t >= SETTLED
    collision = CollisionDetector(ResidualStatistics.of(sudden_effort(model, known)[late], (0, 1, 2)))
    contact = contact_detector(model, known)

    def by_collision(run: Recording) -> float | None:
        rows = run.t >= SETTLED
        return collision.first(run.t[rows], sudden_effort(model, run)[rows])

    return {
        "collision": by_collision,
        "contact": lambda run: contact.first(run.t[1:], external_effort(model, run)[1:]),
    }


def main() -> None:
    """Print the table."""
    cases = [(inertia, noise) for noise in (False, True) for inertia in FARTHER_OFF]
    table = _detections(cases, range(6), (0.0, 0.7, 1.4, 2.1, 2.8, 3.5), 20.0)
    for (inertia, noise), detections in zip(cases, table, strict=True):
        for name, detection in detections.items():
            print(f"{inertia:.0%} off, {'noise' if noise else 'no noise'}, {name}: {detection}", flush=True)


if __name__ == "__main__":
    main()
