"""Robots of the levels with drawn parameters, as arrays: friction, encoders, noise of currents, delays of actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trocar.batch.worlds.layout import SceneLayout
from trocar.spatial import Array
from trocar_learning.envs.levels import LEVELS

if TYPE_CHECKING:
    from trocar_learning.envs.task_env import TaskEnv

FRICTION = ("F", "slope", "rate")  # of the Dahl elements


@dataclass(frozen=True, eq=False)
class DrawnRobots:
    """K robots of a level; masses, inertias, damping and stiffnesses are among the fields of `Episodes`.

    Attributes:
        F, slope, rate: (K, elements) constants of the Dahl elements; see `ArmLayout`.
        constant: (K, nv) constant forces [N m, N].
        resolution: (N,) of the encoders [rad, m]. bias: (K, N) of their calibration [rad, m].
        noise: (K, periods + 1, N) of the mean measured motor efforts, first that at the start [N m, N]; float32, 7 kB
            for an episode of Track, 0.5 MB for one of PegTransfer.
        delay: (K,) of actions [control periods]. resting: (K, size) actions until the first one arrives.
    """

    F: Array
    slope: Array
    rate: Array
    constant: Array
    resolution: Array
    bias: Array
    noise: Array
    delay: Array
    resting: Array

    @property
    def max_delay(self) -> int:
        """Longest delay of any robot [control periods]."""
        return int(self.delay.max())

    @classmethod
    def joined(cls, rows: Sequence[dict[str, Array]], resolution: Array) -> DrawnRobots:
        """The robots of rows by `robot_row`."""
        return cls(resolution=resolution, **{name: np.array([row[name] for row in rows]) for name in rows[0]})


def robot_row(env: TaskEnv, layout: SceneLayout, periods: int) -> dict[str, Array]:
    """The robot of an environment that was reset, with the layout of its scene."""
    arms = layout.arms.values()
    row = {name: np.concatenate([getattr(arm, name) for arm in arms]) for name in FRICTION}
    row["constant"] = np.zeros(layout.model.nv)
    for arm in arms:
        row["constant"][slice(*arm.v)] = arm.constant
    sensors = env.stepped.loop.sensors
    row["bias"] = sensors.bias.copy()
    row["noise"] = _effort_noise(env, periods)
    row["delay"] = np.array(env.draw.delay)
    row["resting"] = np.concatenate([mode.resting for mode in env.modes.values()])
    return row


def _effort_noise(env: TaskEnv, periods: int) -> Array:
    """Noise (periods + 1, N) of measured efforts [N m, N] that the sensors of this environment will draw.

    Their generator has already given one number per motor to the calibration; every control period takes another.
    """
    scale = env.stepped.loop.sensors.effort_noise
    numbers = np.random.default_rng(env.draw.sensors.seed).standard_normal((periods + 2, len(scale)))
    return np.asarray((numbers[1:] * scale).astype(np.float32))


def is_drawn(level: str) -> bool:
    """True for levels whose robots differ from the nominal one."""
    return bool(LEVELS[level].sigma)


__all__ = ["FRICTION", "DrawnRobots", "is_drawn", "robot_row"]
