"""Tasks of trocar for LeRobot's EnvHub: make_env("ORG/REPO:env.py", trust_remote_code=True)."""

from __future__ import annotations

import gymnasium
import numpy as np

SUITE = "trocar"
TASKS = ("Reach", "NeedlePick", "PegTransfer", "NeedleHandover")


class LeRobotObservations(gymnasium.ObservationWrapper):
    """Observations with the names that LeRobot's preprocessor expects: agent_pos and environment_state."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        space = env.observation_space
        self._joints = sum(arm.arm.n for arm in env.unwrapped.world.arms.values())
        names = {"agent_pos": self._joints, "environment_state": space.shape[0]}
        self.observation_space = gymnasium.spaces.Dict(
            {name: gymnasium.spaces.Box(-1e4, 1e4, (size,), np.float32) for name, size in names.items()}
        )

    def observation(self, observation: np.ndarray) -> dict[str, np.ndarray]:
        position = np.concatenate([arm.q for arm in self.env.unwrapped.world.arms.values()])
        return {"agent_pos": position.astype(np.float32), "environment_state": observation}


def make_env(n_envs: int = 1, use_async_envs: bool = False) -> dict[str, dict[int, gymnasium.vector.VectorEnv]]:
    """Vector environments by suite and number of the task."""
    kind = gymnasium.vector.AsyncVectorEnv if use_async_envs else gymnasium.vector.SyncVectorEnv
    return {SUITE: {number: kind([_maker(task)] * n_envs) for number, task in enumerate(TASKS)}}


def _maker(task: str):
    def make() -> gymnasium.Env:
        return LeRobotObservations(gymnasium.make(f"trocar/{task}-v0", disable_env_checker=True))

    return make
