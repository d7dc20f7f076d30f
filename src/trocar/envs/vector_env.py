"""Several episodes of a task at once, one thread per environment."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array

from trocar import checks
from trocar.envs.registration import make_task
from trocar.errors import TrocarError


class ThreadedVectorEnv(VectorEnv):
    """The environments of a task, stepped in threads; MuJoCo releases Python's lock while it steps.

    An environment whose episode has ended is reset by the next step, as in Gymnasium's own vector environments. Results
    are those of single environments, bit for bit: environment k uses the seed + k.

    Args:
        task: name of the task. num_envs: count. threads: at most. Default: one per processor.
        options: of `TaskEnv`.
    """

    def __init__(self, task: str, num_envs: int = 1, threads: int | None = None, **options: Any) -> None:
        self.num_envs = checks.count("num_envs", num_envs)
        self.envs = [make_task(task, **options) for _ in range(self.num_envs)]
        first = self.envs[0]
        self.single_action_space, self.single_observation_space = first.action_space, first.observation_space
        self.action_space = batch_space(first.action_space, self.num_envs)
        self.observation_space = batch_space(first.observation_space, self.num_envs)
        self.metadata = {**first.metadata, "autoreset_mode": AutoresetMode.NEXT_STEP}
        self.render_mode = first.render_mode
        self._over = np.zeros(self.num_envs, dtype=bool)
        self._pool = ThreadPoolExecutor(threads)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start all episodes; one seed k gives the environments k, k + 1, ..."""
        if seed is None or isinstance(seed, int):
            seed = [None if seed is None else seed + k for k in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise TrocarError(f"seed must be one number or one per environment, got {len(seed)} for {self.num_envs}")
        jobs = zip(self.envs, seed, strict=True)
        results = list(self._pool.map(lambda job: job[0].reset(seed=job[1], options=options), jobs))
        self._over[:] = False
        return self._stacked([observation for observation, _ in results]), self._infos([info for _, info in results])

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step every environment, or reset it if its episode was over."""
        if len(actions) != self.num_envs:
            raise TrocarError(f"{self.num_envs} environments need as many actions, got {len(actions)}")
        jobs = zip(self.envs, actions, self._over, strict=True)
        results = list(self._pool.map(lambda job: _advanced(*job), jobs))
        observations, rewards, terminated, truncated, infos = zip(*results, strict=True)
        ended = np.array(terminated), np.array(truncated)
        self._over = ended[0] | ended[1]
        return self._stacked(observations), np.array(rewards), *ended, self._infos(infos)

    def _stacked(self, observations: Sequence[Any]) -> Any:
        out: Any = create_empty_array(self.single_observation_space, self.num_envs)
        return concatenate(self.single_observation_space, observations, out)

    def _infos(self, infos: Sequence[dict[str, Any]]) -> dict[str, Any]:
        batch: dict[str, Any] = {}
        for k, info in enumerate(infos):
            batch = self._add_info(batch, info, k)
        return batch

    def close_extras(self, **kwargs: Any) -> None:
        """End the threads."""
        self._pool.shutdown()


def _advanced(env: Any, action: Any, over: bool) -> tuple[Any, float, bool, bool, dict[str, Any]]:
    if over:
        observation, info = env.reset()
        return observation, 0.0, False, False, info
    result: tuple[Any, float, bool, bool, dict[str, Any]] = env.step(action)
    return result
