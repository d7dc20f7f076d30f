"""Light, backdrop, floor and the first view of a page's scene."""

from __future__ import annotations

import numpy as np
import viser

from trocar.robot.messages import Frame
from trocar.spatial import Array

Camera = tuple[Array, Array]  # position and point to look at (3,) [m] in the world
ZENITH, HORIZON = (0.72, 0.78, 0.85), (0.93, 0.94, 0.95)  # colours of the backdrop
DISTANCE, ABOVE = 1.3, 0.1  # camera's distance from several arms; height above their bases of the point it looks at [m]
FROM_CART, FROM_BASES = np.array([0.42, 0.86, 0.28]), np.array([0.5, -0.8, 0.35])  # directions to the camera


def add_lights(scene: viser.SceneApi) -> None:
    """Add light and backdrop."""
    # pale enough for dark marks, dark enough for the pale arm
    shade = np.linspace(ZENITH, HORIZON, 128)[:, None] * np.ones((1, 2, 1))
    scene.set_background_image(np.round(255 * shade).astype(np.uint8), format="png")
    scene.configure_default_lights(enabled=False)
    scene.configure_environment_map("studio", environment_intensity=0.25)
    scene.add_light_ambient("/lights/ambient", intensity=0.3)
    scene.add_light_directional("/lights/key", position=(1.2, -0.8, 2.2), intensity=1.1, cast_shadow=True)
    scene.add_light_directional("/lights/fill", position=(-1.5, 1.0, 1.0), intensity=0.35)


def default_camera(frame: Frame, extent: tuple[Array, Array]) -> Camera:
    """A camera that sees the arms of a frame, or one arm between two corners (3,) [m]."""
    if len(frame.scene.arms) > 1:
        arms = frame.scene.arms.values()
        patient_side = [about for about in arms if about.arm.carries is not None] or list(arms)
        bases = np.array([about.T_world_base[:3, 3] for about in patient_side])
        centre = bases.mean(axis=0) + [0.0, 0.0, ABOVE]
        away = DISTANCE + float(np.linalg.norm(bases - bases.mean(axis=0), axis=1).max())
        on_cart = any(about.set_up is not None for about in arms)
        return centre + away * (FROM_CART if on_cart else FROM_BASES), centre
    low, high = extent
    centre, radius = (low + high) / 2, float(np.linalg.norm(high - low)) / 2
    # the mechanism on the left, the instrument on the right
    return centre + 1.95 * radius * np.array([0.78, -0.53, 0.33]), centre


def add_floor(scene: viser.SceneApi, extent: tuple[Array, Array]) -> None:
    """Add a grid below a box between two corners (3,) [m]."""
    low, high = extent
    centre = (low + high) / 2
    scene.add_grid(
        "/floor",
        width=4.0,
        height=4.0,
        cell_size=0.1,
        section_size=0.5,
        cell_color=(205, 211, 218),
        section_color=(178, 186, 196),
        position=(float(centre[0]), float(centre[1]), float(low[2]) - 0.1),
        shadow_opacity=0.2,
    )
