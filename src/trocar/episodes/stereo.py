"""Stereo pictures of a task: two cameras at a fixed place that look at the instruments."""

from __future__ import annotations

import math
from collections.abc import Sequence
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

    def __init__(self, scene: Scene, size: tuple[int, int]) -> None:
        self.size, self._watched = size, _Watched(scene)
        watched: Any = self._watched
        self._endoscope = StereoEndoscope(watched, CAMERA, Lens.of_view(VIEW, *size))
        self.aim()

    def shows(self, scene: Scene, size: tuple[int, int]) -> bool:
        """True if these cameras look at this scene and have this size."""
        return self._watched.scene is scene and self.size == size

    def aim(self) -> None:
        """Look at the middle of the tips."""
        scene = self._watched.scene
        tips = [scene.T_world_tip(arm)[:3, 3] for arm in scene.arms]
        self.T_world_middle = looking_at(np.mean(tips, axis=0), DISTANCE * unit(_aside(tips)))
        self._watched.T = self.T_world_middle @ pose(R_TIP_OPTICAL)

    def pair(self) -> dict[str, Picture]:
        """Pictures (height, width, 3) of both eyes in the current state."""
        return dict(zip(EYES, self._endoscope.pair(), strict=True))


_cameras: list[TaskCamera] = []  # the last one: episodes that share a scene share its cameras


def task_camera(env: TaskEnv, size: tuple[int, int]) -> TaskCamera:
    """Cameras of the environment's current episode, aimed at its tips; `size`: width and height [pixels].

    The cameras of an earlier episode in the same scene are aimed again: each has OpenGL resources of its own.
    """
    scene = env.world.scene
    if _cameras and _cameras[0].shows(scene, size):
        _cameras[0].aim()
    else:
        _cameras[:] = [TaskCamera(scene, size)]
    return _cameras[0]


def _aside(tips: Sequence[Array]) -> Array:
    """Direction to the cameras: for two tips across the line between them, so that none hides the other."""
    if len(tips) < 2:
        return ASIDE
    x, y, _ = tips[1] - tips[0]
    across = np.array([-y, x, 0.0]) if math.hypot(x, y) > 1e-3 else ASIDE[:3] * [1.0, 1.0, 0.0]
    return np.asarray(math.hypot(*ASIDE[:2]) * unit(across) + [0.0, 0.0, ASIDE[2]])


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
    """A scene with an endoscope that no arm holds.

    Attributes:
        T: pose (4, 4) of the endoscope's tip in the world.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene, self.T = scene, np.eye(4)
        self.arms = _Arms(scene.arms)

    def T_world_tip(self, arm: str) -> Array:
        return self.T if arm == CAMERA else self.scene.T_world_tip(arm)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.scene, name)
