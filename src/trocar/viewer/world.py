"""All that is stepped together: one arm, or the arms and objects of a scene."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trocar.simulation import Simulator
from trocar.simulation.scene import Scene
from trocar.simulation.scene_file import load_scene
from trocar.spatial import Array
from trocar.viewer.plant import TIMESTEP, Plant, Settings
from trocar.viewer.touching import things_below

AWAY, ABOVE = 1.3, 0.1  # of the camera from the arms, and what it looks at above their bases [m]
BEFORE_CART, BEFORE = np.array([0.42, 0.86, 0.28]), np.array([0.5, -0.8, 0.35])  # from the arms to the camera


class World:
    """Arms by name, with one time for all.

    Attributes:
        plants: by name. scene: None where one arm is alone.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings, self.scene = settings, None if settings.scene is None else scene_of(settings)
        if self.scene is None:
            only = Plant(settings)
            assert isinstance(only.sim, Simulator)
            self._alone, self.plants = only.sim, {only.name: only}
        else:
            self.plants = {
                name: Plant.in_scene(name, arm, self.scene.spec, self.scene.T_world_base(name))
                for name, arm in self.scene.arms.items()
            }
        self.first = next(iter(self.plants))

    @property
    def time(self) -> float:
        return self.plants[self.first].sim.time

    @property
    def qpos(self) -> Array:
        """Every joint of the model, a copy."""
        return np.array(self.plants[self.first].sim.data.qpos)

    def outlook(self) -> tuple[Array, Array] | None:
        """Where to look from and at what (3,) [m] in the world; None to see the arm from its usual side."""
        if self.scene is None:
            return None
        bases = np.array([plant.T_world_base[:3, 3] for plant in self.plants.values()])
        centre = bases.mean(axis=0) + [0.0, 0.0, ABOVE]
        away = AWAY + float(np.linalg.norm(bases - bases.mean(axis=0), axis=1).max())
        return centre + away * (BEFORE_CART if self.scene.cart is not None else BEFORE), centre

    def step(self, tau: Mapping[str, Array]) -> None:
        """Under efforts (n,) of every arm."""
        if self.scene is None:
            self._alone.step(tau[self.first])
        else:
            self.scene.step(tau)

    def reset(self, name: str, q: Array | None, dq: Array | None = None) -> None:
        """Time 0: one arm at q, dq (n,), the others, and that one without q, where they start."""
        if self.scene is None:
            plant = self.plants[name]
            home = plant.within_limits(np.array(plant.arm.home))
            self._alone.reset(home if q is None else q, dq)
        else:
            self.scene.reset(None if q is None else {name: q}, None if dq is None else {name: dq})


def scene_of(settings: Settings) -> Scene:
    """The scene that settings name, at the timestep of the viewer."""
    assert settings.scene is not None
    scene = load_scene(settings.scene, timestep=TIMESTEP)
    if not settings.touch:
        return scene
    # the plate is below the instruments, which are known only now
    hands = {name: arm for name, arm in scene.arms.items() if arm.arm.family == "PSM"}
    reach = max((arm.arm.jaw_length for arm in hands.values()), default=0.0)
    things = things_below([scene.T_world_tip(name)[:3, 3] for name in hands], reach)
    return load_scene(settings.scene, timestep=TIMESTEP, objects=things)
