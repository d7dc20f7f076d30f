"""Many worlds of a task as an environment of gymnasium.vector."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from trocar import checks
from trocar.envs.task_env import MAX_OBSERVED
from trocar.envs.worlds.episodes import Episodes
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
        self._started = False

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Start the first episode of every world, and the next one when it is called again."""
        if seed is not None:
            raise TrocarError("the episodes of these worlds are drawn already; pass seeds to Episodes.drawn")
        every = self.worlds.put(np.ones(self.num_envs, dtype=bool)) if self._started else None
        self._started = True
        return self._numbers(self.worlds.reset(every)), {}

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


class DrawnVectorEnv(WorldsVectorEnv):
    """Worlds whose episodes `reset(seed=k)` draws: `gymnasium.make_vec("trocar/Reach-v0", 64, backend="threads")`.

    World j starts with the episode of the single environment with seed k + j.

    Args:
        task: name. num_envs: worlds. backend, device, options: of `batch.SceneBatch`. level: of the robots.
        episodes: drawn ones, which follow each other; they are repeated after that. Default: four per world.
    """

    def __init__(
        self,
        task: str,
        num_envs: int,
        backend: str = "threads",
        *,
        level: str = "nominal",
        episodes: int | None = None,
        **options: Any,
    ) -> None:
        self._task, self._level, self._options = task, level, {"backend": backend, **options}
        n = checks.count("num_envs", num_envs)
        self._episodes = 4 * n if episodes is None else checks.count("episodes", episodes, n)
        super().__init__(self._drawn(0, n))

    def _drawn(self, seed: int, n: int) -> TaskWorlds:
        episodes = Episodes.drawn(self._task, range(seed, seed + self._episodes), level=self._level)
        return TaskWorlds(episodes, n, **self._options)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Draw episodes from a seed on and start them; without a seed, start the next ones."""
        if seed is not None:
            self.worlds = self._drawn(checks.count("seed", seed, 0), self.num_envs)
            self._started = False
        return super().reset()
