"""Order and splits of a data set: demonstrations (train, val, test), then recoveries, then failures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trocar_learning.episodes.staging import Outcome

GROUPS = ("demonstration", "recovery", "failure")
VALIDATION = TEST = 0.1  # shares of the demonstrations


@dataclass(frozen=True)
class Split:
    """A range of episodes [start, stop)."""

    name: str
    start: int
    stop: int

    def __str__(self) -> str:
        return f"{self.start}:{self.stop}"


def ordered(outcomes: Sequence[Outcome]) -> tuple[list[Outcome], list[Split]]:
    """Episodes in the order of the data set, and its splits. Within a group the order of seeds is kept."""
    order = sorted(outcomes, key=lambda outcome: (GROUPS.index(outcome.group), outcome.index))
    count = {group: sum(outcome.group == group for outcome in order) for group in GROUPS}
    shown = count["demonstration"]
    test = int(shown * TEST)
    validation = int(shown * VALIDATION)
    sizes = {"train": shown - validation - test, "val": validation, "test": test}
    sizes |= {group: count[group] for group in GROUPS[1:] if count[group]}
    splits, start = [], 0
    for name, size in sizes.items():
        splits.append(Split(name, start, start + size))
        start += size
    return order, splits
