"""Random numbers of an episode, in the order in which its seed gives them: the robot's first, then the task's.

Every room that starts from the seed of an episode uses this module, so that a board of the contest is that of the
environment with the same seed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class RobotDraws:
    """Raw numbers of a robot.

    Attributes:
        seeds: of every arm's parameters, and of the sensors. delay: of actions [control periods].
        friction: exponent of the factor of friction, from -1 to 1.
    """

    seeds: tuple[int, ...]
    delay: int
    friction: float

    @classmethod
    def of(cls, rng: np.random.Generator, arms: int, max_delay: int = 0) -> RobotDraws:
        """Draw the numbers of a robot of some arms. The generator continues with those of the task."""
        seeds = tuple(rng.integers(2**31, size=arms + 1).tolist())
        return cls(seeds, int(rng.integers(max_delay + 1)), float(rng.uniform(-1.0, 1.0)))


def branch(rng: np.random.Generator) -> np.random.Generator:
    """A generator that the state of another determines, which stays as it is: its numbers change no episode."""
    return np.random.default_rng(rng.bit_generator.state["state"]["state"])
