"""Stereo pictures of a task: two cameras at a fixed place that look at the instruments."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from trocar.appearance.endoscope_camera import R_TIP_OPTICAL, VIEW, StereoEndoscope
from trocar.appearance.films import Picture
from trocar.appearance.lens import Lens
from trocar.envs.task_env import TaskEnv
from trocar.simulation import Scene
from trocar.spatial import Array, pose, unit

EYES = ("left", "right")
DISTANCE = 0.16  # of the cameras from the point they look at [m]
# Direction from that point to the cameras: over the shoulder of the instruments, from the side of +y.
ASIDE = np.array([0.25, 0.8, 0.55])
CAMERA = "camera"


class TaskCamera:
    """Stereo cameras with baseline and angle of view of the endoscope.

    Attributes:
        T_world_middle: optical frame (4, 4) midway between the eyes: x right, y down, z away.
    """

    def __init__(self, scene: Scene, T_world_middle: Array, size: tuple[int, int]) -> None:
        self.T_world_middle = T_world_middle
        watched: Any = _Watched(scene, T_world_middle @ pose(R_TIP_OPTICAL))
        self._endoscope = StereoEndoscope(watched, CAMERA, Lens.of_view(VIEW, *size))

    def pair(self) -> dict[str, Picture]:
        """Pictures (height, width, 3) of both eyes in the current state."""
        return dict(zip(EYES, self._endoscope.pair(), strict=True))


def task_camera(env: TaskEnv, size: tuple[int, int]) -> TaskCamera:
    """Cameras of the environment's current episode, aimed at its tips; `size`: width and height [pixels]."""
    scene = env.world.scene
    tips = [scene.T_world_tip(arm)[:3, 3] for arm in scene.arms]
    return TaskCamera(scene, looking_at(np.mean(tips, axis=0), DISTANCE * unit(ASIDE)), size)


def looking_at(point: Array, away: Array) -> Array:
    """Optical frame (4, 4) at point + away [m] that looks at the point, with z of the world up."""
    z = unit(-away)
    x = unit(np.cross(z, [0.0, 0.0, 1.0]))
    return pose(np.stack([x, np.cross(z, x), z], axis=1), point + away)


class _Arms(dict[str, Any]):
    def __contains__(self, name: object) -> bool:
        return name == CAMERA or super().__contains__(name)

    def __missing__(self, name: str) -> Any:
        return SimpleNamespace(arm=SimpleNamespace(carries="endoscope"))


class _Watched:
    """A scene with an endoscope that no arm holds."""

    def __init__(self, scene: Scene, T_world_tip: Array) -> None:
        self._scene, self._T = scene, T_world_tip
        self.arms = _Arms(scene.arms)

    def T_world_tip(self, arm: str) -> Array:
        return self._T if arm == CAMERA else self._scene.T_world_tip(arm)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._scene, name)
