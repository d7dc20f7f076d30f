"""Linear features of observations and scaled actions, which an exported network contains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from trocar.spatial import Array
from trocar_learning.envs import TaskEnv


class LinearFeatures:
    """Features A x + c of an observation x (m,), each a scaled number or difference of two.

    Args:
        size: m. rows: per feature its scale [unit per 1], offset and indices: one, or two for a difference.
    """

    def __init__(self, size: int, rows: Sequence[tuple[float, float, tuple[int, ...]]]) -> None:
        self.A, self.c = np.zeros((len(rows), size)), np.zeros(len(rows))
        for k, (scale, offset, indices) in enumerate(rows):
            for sign, index in zip((1.0, -1.0), indices, strict=False):
                self.A[k, index] += sign / scale
            self.c[k] = -offset / scale

    @property
    def matrix(self) -> tuple[Array, Array]:
        """A (k, m) and c (k,)."""
        return self.A, self.c

    def __call__(self, x: Array) -> Array:
        return np.asarray(self.A @ x + self.c, dtype=np.float32)


class ShapedTask(gymnasium.Wrapper):
    """A task with linear features, actions of some joints only and a reward of its own.

    Args:
        features: of the observation. scale: (n,) largest action of every number of the task's action; 0: not used.
        reward: (environment, action) -> reward.
    """

    def __init__(self, env: TaskEnv, features: LinearFeatures, scale: Array, reward: Any) -> None:
        super().__init__(env)
        self.features, self.scale, self._reward = features, scale, reward
        self._used = np.flatnonzero(scale)
        self.observation_space = spaces.Box(-np.inf, np.inf, (len(features.c),), np.float32)
        self.action_space = spaces.Box(-1.0, 1.0, (len(self._used),), np.float32)

    def reset(self, **options: Any) -> tuple[Array, dict[str, Any]]:
        x, info = self.env.reset(**options)
        return self.features(x), info

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        full = np.zeros(len(self.scale))
        full[self._used] = self.scale[self._used] * np.asarray(action, dtype=float)
        x, _, terminated, truncated, info = self.env.step(full)
        return self.features(x), float(self._reward(self.env, action)), terminated, truncated, info
