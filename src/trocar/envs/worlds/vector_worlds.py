"""Many worlds of a task as an environment of gymnasium.vector."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from trocar.envs.task_env import MAX_OBSERVED
from trocar.envs.worlds.task_worlds import TaskWorlds
from trocar.errors import TrocarError
from trocar.spatial import Array


class WorldsVectorEnv(VectorEnv):
    """Arrays of NumPy, copied from the device. An episode that ends is followed by the next one in the same step.

    `info` has `is_success` and `diverged` (n,); where an episode ended, `final_obs` has its last observation.
    Episodes are those of the worlds, in their order, so that a seed is refused.
    """

    def __init__(self, worlds: TaskWorlds) -> None:
        self.worlds, self.num_envs = worlds, worlds.n
        self.single_action_space = spaces.Box(-1.0, 1.0, (worlds.size,), np.float32)
        self.single_observation_space = spaces.Box(-MAX_OBSERVED, MAX_OBSERVED, (worlds.observed,), np.float32)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Start the next episode of every world."""
        if seed is not None:
            raise TrocarError("the episodes of these worlds are drawn already; pass seeds to Episodes.drawn")
        return self._numbers(self.worlds.reset()), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step every world, and start the next episode where one has ended."""
        worlds = self.worlds
        values = np.asarray(actions, dtype=float)
        if values.shape != (self.num_envs, worlds.size):
            raise TrocarError(f"actions must have shape ({self.num_envs}, {worlds.size}), got {values.shape}")
        observation, reward, terminated, truncated, info = worlds.step(worlds.put(values))
        over = terminated | truncated
        infos: dict[str, Any] = {name: worlds.numpy(info[name]) for name in ("is_success", "diverged")}
        ended = worlds.numpy(over)
        numbers = self._numbers(observation)
        if ended.any():
            infos |= {"final_obs": numbers, "_final_obs": ended}
            numbers = self._numbers(worlds.reset(over))
        return (
            numbers,
            worlds.numpy(reward).astype(np.float64),
            worlds.numpy(terminated),
            worlds.numpy(truncated),
            infos,
        )

    def _numbers(self, observation: Any) -> Array:
        return self.worlds.numpy(observation).astype(np.float32)
