"""Several episodes of a task at once, one thread per environment."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import numpy as np
from gymnasium.error import ClosedEnvironmentError
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array

from trocar import checks
from trocar.appearance.films import Picture
from trocar.errors import TrocarError
from trocar.simulation import Diverged
from trocar.spatial import Values
from trocar_learning.envs.actions import checked_actions
from trocar_learning.envs.registration import make_task
from trocar_learning.envs.world import Info, Observation, Transition, Value


class ThreadedVectorEnv(VectorEnv):
    """The environments of a task, stepped in threads; MuJoCo releases Python's lock while it steps.

    An environment whose episode has ended is reset by the next step, as in Gymnasium's own vector environments. Results
    are those of single environments, bit for bit: environment k uses the seed + k. An environment whose simulation
    diverges is truncated with its last observation and reward 0, and `info["error"]` has the reason; the others go on.

    Args:
        task: name of the task. num_envs: number of environments. threads: largest number of threads. Default: four
            more than processors, as `ThreadPoolExecutor` chooses. options: of `TaskEnv`.
    """

    def __init__(self, task: str, num_envs: int = 1, threads: int | None = None, **options: Any) -> None:
        self.num_envs = checks.count("num_envs", num_envs)
        self._threads = None if threads is None else checks.count("threads", threads)
        self.envs = [make_task(task, **options) for _ in range(self.num_envs)]
        first = self.envs[0]
        self.single_action_space, self.single_observation_space = first.action_space, first.observation_space
        self.action_space = batch_space(first.action_space, self.num_envs)
        self.observation_space = batch_space(first.observation_space, self.num_envs)
        self.metadata = {**first.metadata, "autoreset_mode": AutoresetMode.NEXT_STEP}
        self.render_mode = first.render_mode
        self._over = np.zeros(self.num_envs, dtype=bool)
        self._last: list[Observation] = [None] * self.num_envs
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0  # that of the pool

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Start all episodes; one seed k gives the environments k, k + 1, ..."""
        check_open(self)
        seeds = self._seeds(seed)
        results = self._each(lambda k: self.envs[k].reset(seed=seeds[k], options=options))
        self._over[:] = False
        self._last = [observation for observation, _ in results]
        return self._stacked(self._last), self._infos([info for _, info in results])

    def step(self, actions: Values) -> tuple[Observation, Values, Values, Values, Info]:
        """Step every environment, or reset it if its episode was over."""
        check_open(self)
        (size,) = self.single_action_space.shape or ()
        values = checked_actions(actions, (self.num_envs, size))
        results = self._each(lambda k: self._advanced(k, values[k]))
        observations, rewards, terminated, truncated, infos = zip(*results, strict=True)
        ended = np.array(terminated), np.array(truncated)
        self._over, self._last = ended[0] | ended[1], list(observations)
        return self._stacked(observations), np.array(rewards), *ended, self._infos(infos)

    def _advanced(self, k: int, action: Values) -> Transition:
        if self._over[k]:
            observation, info = self.envs[k].reset()
            return observation, 0.0, False, False, info
        try:
            result: Transition = self.envs[k].step(action)
        except Diverged as error:
            return self._last[k], 0.0, False, True, {"error": str(error)}
        return result

    def _each(self, call: Callable[[int], Value]) -> list[Value]:
        """Results for every environment, from threads of this process: a fork or a copy has none of the first one."""
        if self._pool is None or self._process != os.getpid():
            self._pool, self._process = ThreadPoolExecutor(self._threads), os.getpid()
        futures = [self._pool.submit(call, k) for k in range(self.num_envs)]
        wait(futures)  # of all, also after an error: the next call must not meet an environment that still steps
        return [future.result() for future in futures]

    def __getstate__(self) -> dict[str, Any]:
        """State without threads, which are started again."""
        return {**vars(self), "_pool": None}

    def _seeds(self, seed: Any) -> list[int | None]:
        """Seeds of the environments, from one number, one per environment, or None."""
        if seed is None:
            return [None] * self.num_envs
        if not isinstance(seed, list | tuple | np.ndarray):
            first = checks.count("seed", seed, 0)
            return [first + k for k in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise TrocarError(f"seed must be one number or one per environment, got {len(seed)} for {self.num_envs}")
        return [None if one is None else checks.count("seed", one, 0) for one in seed]

    def render(self) -> tuple[Picture, ...] | None:
        """Pictures (height, width, 3) of all environments, uint8; None without a render mode."""
        return None if self.render_mode is None else tuple(env.render() for env in self.envs)

    def _stacked(self, observations: Sequence[Observation]) -> Values:
        out: Values = create_empty_array(self.single_observation_space, self.num_envs)
        return concatenate(self.single_observation_space, observations, out)

    def _infos(self, infos: Sequence[Info]) -> Info:
        batch: Info = {}
        for k, info in enumerate(infos):
            batch = self._add_info(batch, info, k)
        return batch

    def close_extras(self, **kwargs: Values) -> None:
        """End the threads and close the environments."""
        if self._pool is not None and self._process == os.getpid():
            self._pool.shutdown()
        for env in self.envs:
            env.close()


def check_open(env: VectorEnv) -> None:
    """Raise Gymnasium's error if an environment is closed."""
    if env.closed:
        raise ClosedEnvironmentError("the environment is closed; make another one")
