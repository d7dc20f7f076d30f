"""Pictures of a scene: the whole of it, or close to the tip of an arm."""

from __future__ import annotations

import weakref

import mujoco
import numpy as np

from trocar.appearance.cart_shapes import FLOOR
from trocar.appearance.films import Picture
from trocar.appearance.studio import Studio, check_size
from trocar.simulation.arm_slice import BASE
from trocar.simulation.scene import Scene
from trocar.spatial import Array

LIGHT = np.array([-0.7, -1.3, -2.2])  # direction of the key light on a cart
CLOSE = 0.25  # of a close-up, from what is looked at [m]


def render_scene(
    scene: Scene,
    direction: tuple[float, float] = (126.0, -16.0),
    size: tuple[int, int] = (960, 720),
    *,
    at: str | None = None,
    distance: float = CLOSE,
    zoom: float = 1.0,
    shadows: bool = True,
) -> Picture:
    """Image (height, width, 3) of a scene as it is now; always from one thread, which owns the OpenGL context.

    Args:
        direction: azimuth and elevation of the view [deg] in the world. size: (width, height) [pixels].
        at: arm whose tip is looked at from `distance` [m]; None for the whole scene.
        zoom: above 1 for a closer view of the whole.
    """
    check_size(size)
    place = stage(scene)
    camera = place.view(direction, zoom, size[0] / size[1])
    if at is not None:
        camera = mujoco.MjvCamera()
        camera.azimuth, camera.elevation = direction
        camera.lookat, camera.distance = scene.T_world_tip(at)[:3, 3], distance
    place.arrange(scene.data.qpos, fixed_bodies(scene))
    # at the scale of the jaws the shadow map is too coarse
    return place.picture(scene.data.qpos, camera, size, shadows=shadows and (at is None or distance > CLOSE))


def fixed_bodies(scene: Scene) -> dict[str, Array]:
    """Poses (4, 4) of all that only set-up joints move, by name in the scene's `spec`."""
    return scene.set_up_poses() | {f"{name}/{BASE}": scene.T_world_base(name) for name in scene.arms}


def new_studio(scene: Scene, samples: int = 8) -> Studio:
    """Light, backdrop and, below a cart, a floor around a copy of the scene."""
    floor = None if scene.cart is None else FLOOR[scene.cart.name]
    found = Studio(scene.spec, np.array(scene.data.qpos), floor, samples)
    if scene.cart is not None:  # lit from the front, where its arms are
        found.model.light("key").dir = LIGHT / np.linalg.norm(LIGHT)
    return found


_STAGES: weakref.WeakKeyDictionary[Scene, Studio] = weakref.WeakKeyDictionary()


def stage(scene: Scene) -> Studio:
    """The stage of a scene, made once."""
    if scene not in _STAGES:
        _STAGES[scene] = new_studio(scene)
    return _STAGES[scene]
