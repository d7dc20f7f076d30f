"""Many worlds of a task as an environment of gymnasium.vector."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from trocar import checks
from trocar.errors import TrocarError
from trocar.spatial import Array, Values
from trocar_learning.envs.actions import checked_actions
from trocar_learning.envs.task_env import MAX_OBSERVED
from trocar_learning.envs.vector_env import check_open
from trocar_learning.envs.world import Info
from trocar_learning.envs.worlds.episodes import Episodes
from trocar_learning.envs.worlds.task_worlds import TaskWorlds

OPTIONS = ("threads", "device", "max_contacts", "max_constraints", "deterministic")  # of `batch.SceneBatch`


class WorldsVectorEnv(VectorEnv):
    """Worlds as a vector environment with NumPy's arrays, which are copied from the device.

    An episode that ends is followed by the next one in the same step (`AutoresetMode.SAME_STEP`).
    `info` has `is_success`, `solved`, `diverged` and the figures of the task (n,) of the step that was taken. Where an
    episode ended, `final_obs` and `final_info` have its last observation and its last `info`; `_final_obs` and
    `_final_info` mark these worlds. Episodes are those of the worlds, in their order, so that a seed is refused.
    """

    def __init__(self, worlds: TaskWorlds) -> None:
        self.worlds, self.num_envs = worlds, worlds.n
        self.single_action_space = spaces.Box(-1.0, 1.0, (worlds.size,), np.float32)
        self.single_observation_space = spaces.Box(-MAX_OBSERVED, MAX_OBSERVED, (worlds.observed,), np.float32)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}
        self._started = False

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Array, Info]:
        """Start the first episode of every world, and the next one when it is called again."""
        check_open(self)
        if seed is not None:
            raise TrocarError("the episodes of these worlds are drawn already; pass seeds to Episodes.drawn")
        if options:
            raise TrocarError("reset of worlds has no options; choose the level when they are made")
        every = self.worlds.put(np.ones(self.num_envs, dtype=bool)) if self._started else None
        self._started = True
        return self._numbers(self.worlds.reset(every)), {}

    def step(self, actions: Values) -> tuple[Values, Values, Values, Values, Info]:
        """Step every world, and start the next episode where one has ended."""
        check_open(self)
        if not self._started:
            raise ResetNeeded("no episode has started; call reset first")
        worlds = self.worlds
        values = checked_actions(actions, (self.num_envs, worlds.size))
        observation, reward, terminated, truncated, info = worlds.step(worlds.put(values))
        over = terminated | truncated
        infos: Info = {name: worlds.numpy(figures) for name, figures in info.items()}
        ended = worlds.numpy(over)
        numbers = self._numbers(observation)
        if ended.any():
            last = infos | {f"_{name}": ended for name in infos}
            infos |= {"final_obs": numbers, "_final_obs": ended, "final_info": last, "_final_info": ended}
            numbers = self._numbers(worlds.reset(over))
        return (
            numbers,
            worlds.numpy(reward).astype(np.float64),
            worlds.numpy(terminated),
            worlds.numpy(truncated),
            infos,
        )

    def _numbers(self, observation: Values) -> Array:
        return self.worlds.numpy(observation).astype(np.float32)


class DrawnVectorEnv(WorldsVectorEnv):
    """Worlds whose episodes `reset(seed=k)` draws: `gymnasium.make_vec("trocar/Reach-v0", 64, backend="threads")`.

    World j starts with the episode of the single environment with seed k + j. Default: k = 0.

    Args:
        task: name. num_envs: worlds. level: of the robots.
        episodes: drawn ones, which follow each other; they are repeated after that. Default: four per world.
        backend, options: of `batch.SceneBatch` (threads, device, max_contacts, max_constraints, deterministic).
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
        unknown = [name for name in options if name not in OPTIONS]
        if unknown:
            known = ", ".join(("level", "episodes", *OPTIONS))
            raise TrocarError(f"worlds have no {unknown[0]}, only {known}; backend='environments' has all options")
        self._task, self._level, self._options = task, level, {"backend": backend, **options}
        n = checks.count("num_envs", num_envs)
        self._episodes, self._seed = 4 * n if episodes is None else checks.count("episodes", episodes, n), 0
        super().__init__(self._drawn(n))

    def _drawn(self, n: int) -> TaskWorlds:
        seeds = range(self._seed, self._seed + self._episodes)
        return TaskWorlds(Episodes.drawn(self._task, seeds, level=self._level), n, **self._options)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Array, Info]:
        """Draw episodes from a seed on and start them; without a seed, start the next ones."""
        if seed is not None:
            first = checks.count("seed", seed, 0)
            if first != self._seed:
                self._seed = first
                self.worlds = self._drawn(self.num_envs)
            self._started = False
        return super().reset(options=options)
