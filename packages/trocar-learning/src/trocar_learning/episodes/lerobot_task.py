"""A task as LeRobot's environments are: names, states, pictures and actions of the data sets of `trocar record`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import numpy as np

from trocar import checks
from trocar.errors import TrocarError
from trocar.spatial import Array
from trocar_learning.envs.task_env import TaskEnv
from trocar_learning.envs.world import RATE
from trocar_learning.episodes.evaluation import driven_env, increment
from trocar_learning.episodes.policy_server import goals
from trocar_learning.episodes.rollout import FrameReader, instruction_of

NUMBERS = 16  # of a state and of an action: position, quaternion and jaw of PSM1 and PSM2
EYES = ("left", "right")
_STATES, _ACTIONS = 1e4, 10.0  # limits of the spaces, beyond all positions and commands


class LeRobotTask(gymnasium.Wrapper[dict[str, Any], Array, Any, Any]):
    """A task with agent_pos (16 numbers of tips and jaws), environment_state, and pixels of the endoscope.

    An action is 16 numbers: commanded tips and jaws of PSM1 and PSM2 in the world. Those of an arm that the task does
    not have are ignored. Pictures are those of `trocar record`, so that a policy trained on its data sets runs here.

    Args:
        task: name of a task whose arms are PSMs. level: of the randomisation. rate: of the actions [Hz], of which the
            control rate of 50 Hz is a multiple. size: width and height of the pictures. Default: no pictures.
    """

    def __init__(
        self, task: str, level: str = "nominal", rate: int = RATE, size: tuple[int, int] | None = None
    ) -> None:
        checks.count("rate", rate, 1, RATE)
        if RATE % rate:
            raise TrocarError(f"rate must divide {RATE} Hz, the control rate, got {rate}")
        self._task_env: TaskEnv = driven_env(task, level, render_mode="rgb_array")
        super().__init__(self._task_env)
        self._size = None if size is None else checks.picture_size("size", size)
        self._periods = RATE // rate
        self.metadata = self._task_env.metadata | {"render_fps": rate}
        self._reader = FrameReader(self._task_env)
        numbers = {"agent_pos": NUMBERS, "environment_state": len(self._task_env.task_numbers())}
        spaces: dict[str, gymnasium.Space[Any]] = {
            name: gymnasium.spaces.Box(-_STATES, _STATES, (count,), np.float32)
            for name, count in numbers.items()
            if count
        }
        if self._size is not None:
            image = gymnasium.spaces.Box(0, 255, (self._size[1], self._size[0], 3), np.uint8)
            spaces["pixels"] = gymnasium.spaces.Dict({f"endoscope.{eye}": image for eye in EYES})
        self.observation_space = gymnasium.spaces.Dict(spaces)
        self._observed = tuple(spaces)
        self.action_space = gymnasium.spaces.Box(-_ACTIONS, _ACTIONS, (NUMBERS,), np.float32)

    @property
    def task_description(self) -> str:
        """The task in words."""
        return instruction_of(self._task_env.task)

    @property
    def _max_episode_steps(self) -> int:
        """Limit of steps, under the name by which lerobot asks for it."""
        return round(self._task_env.task.duration * RATE / self._periods)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start an episode; `options` are those of lerobot's own wrappers and are ignored."""
        _, info = self.env.reset(seed=seed)
        self._reader = FrameReader(self._task_env)
        return self._observation(), info

    def step(self, action: Array) -> tuple[dict[str, Any], Any, bool, bool, dict[str, Any]]:
        numbers = np.asarray(action, dtype=float)
        parts: dict[str, Array] = {}
        for k, arm in enumerate(("psm1", "psm2")):
            own = numbers[None, 8 * k : 8 * k + 8]
            parts |= {f"{arm}_pose": own[:, :7], f"{arm}_gripper": own[:, 7:]}
        (goal,) = goals(parts, self._reader.arms)
        modes: Any = self._task_env.modes.values()  # of tips: `driven_env` makes no others
        period = self._task_env.period
        rest, total = np.zeros(len(self._task_env.task.extra)), 0.0
        for _ in range(self._periods):
            tips = [increment(mode, goal[arm], period) for arm, mode in zip(self._reader.arms, modes, strict=True)]
            _, reward, terminated, truncated, info = self.env.step(np.concatenate([*tips, rest]))
            total += float(reward)
            if terminated or truncated:
                break
        return self._observation(), total, terminated, truncated, info

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
        return {name: observed[name] for name in self._observed}


def lerobot_tasks(count: int, parallel: bool, *task: Any, **options: Any) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
    """Several of one `LeRobotTask`, in processes of their own if `parallel`; `task`, `options`: its arguments."""
    makers: list[Callable[[], Any]] = [partial(LeRobotTask, *task, **options)] * checks.count("count", count)
    same = gymnasium.vector.AutoresetMode.SAME_STEP  # lerobot reads the success of an episode from `final_info`
    if parallel and count > 1:
        return gymnasium.vector.AsyncVectorEnv(makers, autoreset_mode=same, context="forkserver")
    return gymnasium.vector.SyncVectorEnv(makers, autoreset_mode=same)
