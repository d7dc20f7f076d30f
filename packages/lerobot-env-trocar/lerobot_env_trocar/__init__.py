"""Tasks of trocar as environments of LeRobot: --env.type=trocar --env.task=NeedlePick.

LeRobot (0.6 and later) imports every installed package whose name starts with `lerobot_env_`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gymnasium.vector import VectorEnv
from lerobot.configs import FeatureType, PolicyFeature
from lerobot.envs.configs import EnvConfig

from trocar_learning.episodes.lerobot_task import LeRobotTask, lerobot_tasks

SUITE = "trocar"
POLICY_NAMES = {"agent_pos": "observation.state", "environment_state": "observation.environment_state"}


@EnvConfig.register_subclass(SUITE)
@dataclass
class TrocarEnv(EnvConfig):
    """A task of trocar, with the states, pictures and actions of the data sets of `trocar record`.

    Attributes:
        task: NeedlePick, PegLift, Reach, ..., any whose arms are PSMs. level: of the randomisation. fps: rate of the
            actions [Hz]. images: pictures of both cameras of the endoscope, of this width and height [pixels].
    """

    task: str | None = "NeedlePick"
    level: str = "nominal"
    fps: int = 50
    images: bool = True
    width: int = 640
    height: int = 480

    def __post_init__(self) -> None:
        task = LeRobotTask(**self.gym_kwargs)
        self.features = {"action": PolicyFeature(FeatureType.ACTION, task.action_space.shape)}
        self.features_map = {"action": "action"}
        for name, space in task.observation_space.items():
            if name == "pixels":
                for film, image in space.items():
                    self.features[f"pixels/{film}"] = PolicyFeature(FeatureType.VISUAL, image.shape)
                    self.features_map[f"pixels/{film}"] = f"observation.images.{film}"
            else:
                kind = FeatureType.STATE if name == "agent_pos" else FeatureType.ENV
                self.features[name] = PolicyFeature(kind, space.shape)
                self.features_map[name] = POLICY_NAMES[name]
        task.close()

    @property
    def gym_kwargs(self) -> dict[str, Any]:
        size = (self.width, self.height) if self.images else None
        return {"task": self.task, "level": self.level, "rate": self.fps, "size": size}

    def create_envs(self, n_envs: int, use_async_envs: bool = False) -> dict[str, dict[int, VectorEnv]]:
        return {SUITE: {0: lerobot_tasks(n_envs, use_async_envs, **self.gym_kwargs)}}
