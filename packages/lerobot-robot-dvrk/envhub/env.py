"""Tasks of trocar for LeRobot's EnvHub: make_env("ORG/REPO:env.py", trust_remote_code=True).

State, task numbers, pictures and actions are those of the data sets that `trocar record` writes, so that a policy
trained on one of them runs here.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

import trocar_learning.envs  # noqa: F401 - registers the tasks
from trocar_learning.episodes.evaluation import increment
from trocar_learning.episodes.policy_server import goals
from trocar_learning.episodes.rollout import FrameReader, instruction_of

SUITE = "trocar"
TASKS = ("Reach", "NeedlePick", "PegTransfer", "NeedleHandover")
RATE, NUMBERS = 50, 16


class LeRobotTask(gymnasium.Wrapper):
    """A task with LeRobot's names: agent_pos (16 numbers of tips and jaws), environment_state, and pixels.

    An action is 16 numbers: commanded tips and jaws of PSM1 and PSM2 in the world. Those of an arm that the task does
    not have are ignored.

    Args:
        env: a task in the action mode tip_increment. size: width and height of the pictures; None for none.
    """

    def __init__(self, env: gymnasium.Env, size: tuple[int, int] | None = None) -> None:
        super().__init__(env)
        self._task_env, self._size = env.unwrapped, size
        self._reader = FrameReader(self._task_env)
        numbers = len(self._task_env.task_numbers())
        spaces: dict[str, gymnasium.Space] = {
            name: gymnasium.spaces.Box(-1e4, 1e4, (count,), np.float32)
            for name, count in (("agent_pos", NUMBERS), ("environment_state", numbers))
        }
        if size is not None:
            image = gymnasium.spaces.Box(0, 255, (size[1], size[0], 3), np.uint8)
            spaces["pixels"] = gymnasium.spaces.Dict({f"endoscope.{eye}": image for eye in ("left", "right")})
        self.observation_space = gymnasium.spaces.Dict(spaces)
        self.action_space = gymnasium.spaces.Box(-10.0, 10.0, (NUMBERS,), np.float32)

    @property
    def task_description(self) -> str:
        """The task in words."""
        return instruction_of(self._task_env.task)

    @property
    def _max_episode_steps(self) -> int:
        return round(self._task_env.task.duration * RATE)

    def reset(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        _, info = self.env.reset(**options)
        self._reader = FrameReader(self._task_env)
        return self._observation(), info

    def step(self, action: np.ndarray) -> tuple[dict[str, Any], Any, bool, bool, dict[str, Any]]:
        numbers, parts = np.asarray(action, dtype=float), {}
        for k, arm in enumerate(("psm1", "psm2")):
            own = numbers[None, 8 * k : 8 * k + 8]
            parts |= {f"{arm}_pose": own[:, :7], f"{arm}_gripper": own[:, 7:]}
        (goal,) = goals(parts, self._reader.arms)
        modes, period = self._task_env.modes.values(), self._task_env.period
        actions = [increment(mode, goal[arm], period) for arm, mode in zip(self._reader.arms, modes, strict=True)]
        extra = np.zeros(len(self._task_env.task.extra))
        _, reward, terminated, truncated, info = self.env.step(np.concatenate([*actions, extra]))
        return self._observation(), reward, terminated, truncated, info

    def _observation(self) -> dict[str, Any]:
        env = self._task_env
        observed: dict[str, Any] = {
            "agent_pos": self._reader.state().astype(np.float32),
            "environment_state": env.task_numbers().astype(np.float32),
        }
        if self._size is not None:
            camera = env.camera(self._size)
            camera.look()
            observed["pixels"] = {f"endoscope.{eye}": image for eye, image in camera.images(("stereo",)).items()}
        return observed


def make_env(
    n_envs: int = 1, use_async_envs: bool = False, cfg: Any = None
) -> dict[str, dict[int, gymnasium.vector.VectorEnv]]:
    """Vector environments by suite and number of the task; `cfg` may have `task` (one of `TASKS`) and `image_size`."""
    names = (cfg.task,) if getattr(cfg, "task", None) else TASKS
    size = getattr(cfg, "image_size", None)
    kind = gymnasium.vector.AsyncVectorEnv if use_async_envs else gymnasium.vector.SyncVectorEnv
    return {SUITE: {number: kind([_maker(task, size)] * n_envs) for number, task in enumerate(names)}}


def _maker(task: str, size: tuple[int, int] | None):
    def make() -> gymnasium.Env:
        options = {"mode": "tip_increment", "disable_env_checker": True}
        return LeRobotTask(gymnasium.make(f"trocar/{task}-v0", **options), size)

    return make
