"""A trial of the peg transfer in which pegs are carried by nobody."""

from __future__ import annotations

from typing import Any

import numpy as np

from trocar.simulation import Scene
from trocar.spatial import Array
from trocar_learning.contest.peg_board import layout_of
from trocar_learning.envs.tasks.peg_rules import PegRules
from trocar_learning.envs.world import World


class PegTrial(World):
    """A scene whose pegs have the poses that a test sets, and are touched by the parts in `parts`.

    Attributes:
        parts: bits of `trocar.batch.worlds.status` by arm and peg.
    """

    cycle = 0

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene, {})
        self.parts: dict[tuple[str, str], int] = {}
        self.rules = PegRules(layout_of(scene))
        self.begin(self.rules.start(self))

    def touching(self, arm: str, thing: str) -> Array:
        return np.array([self.parts.get((arm, thing), 0)])

    def judge(self) -> None:
        """Judge the current state."""
        self.forget()
        self.rules.judge(self)

    def score(self, *names: str) -> tuple[Any, ...]:
        """Values of the memory by name."""
        return tuple(self.value(name).item() for name in names)
