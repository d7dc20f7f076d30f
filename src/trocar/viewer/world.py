"""All that is stepped together: one arm, or the arms and objects of a scene."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from trocar.appearance.scene_rendering import fixed_bodies
from trocar.errors import TrocarError, UnknownName
from trocar.simulation import Simulator
from trocar.simulation.scene import Scene
from trocar.simulation.scene_file import load_scene
from trocar.spatial import Array
from trocar.viewer.plant import TIMESTEP, Plant, Settings
from trocar.viewer.touching import things_below

AWAY, ABOVE = 1.3, 0.1  # of the camera from the arms, and what it looks at above their bases [m]
OF_ARM = ("instrument", "counterweight", "friction")  # what can be changed of one arm of a scene
BEFORE_CART, BEFORE = np.array([0.42, 0.86, 0.28]), np.array([0.5, -0.8, 0.35])  # from the arms to the camera


class World:
    """Arms by name, with one time for all.

    Args:
        scene: as the settings have it, where it is made already. earlier: what it was made from.

    Attributes:
        plants: by name. scene: None where one arm is alone.
        fixed: poses (4, 4) in the world of bodies that only set-up joints move, by name in the scene's `spec`.
    """

    def __init__(self, settings: Settings, scene: Scene | None = None, earlier: World | None = None) -> None:
        if scene is None and settings.scene is not None:
            scene = scene_of(settings)
        self.settings, self.scene = settings, scene
        self.fixed: Mapping[str, Array] = {}
        if scene is None:
            only = Plant(settings)
            assert isinstance(only.sim, Simulator)
            self._alone, self.plants = only.sim, {only.name: only}
            self._start = {only.name: np.array(only.arm.home)}
        else:
            self.plants = {name: _placed(scene, name, earlier) for name in scene.arms}
            self.fixed = fixed_bodies(scene)
            self._start = {name: arm.q for name, arm in scene.arms.items()} if earlier is None else earlier._start
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
        start = {k: plant.within_limits(self._start[k]) for k, plant in self.plants.items()}
        if q is not None:
            start[name] = q
        if self.scene is None:
            self._alone.reset(start[name], dq)
            return
        before = self.scene.snapshot()
        try:
            self.scene.reset(start, None if dq is None else {name: dq})
        except TrocarError:  # set-up joints or an instrument may have been changed so that arms overlap there
            self.scene.restore(before)
            raise

    def changed(self, name: str, changes: Mapping[str, Any]) -> World:
        """The same in the state that it is in, with other settings; or an error that says why not.

        Instrument, counterweight, friction and set-up joints are of the arm named; gravity is of all.
        """
        if self.scene is None:
            world, old = World(replace(self.settings, **changes)), self.plants[name]
            if world.plants[world.first].arm.n != old.arm.n:
                raise TrocarError("another arm needs a viewer of its own: trocar view ARM")
            world.reset(world.first, world.plants[world.first].within_limits(old.sim.q), old.sim.dq)
            return world
        for key in changes:
            if key not in (*OF_ARM, "gravity", "set_up"):
                raise UnknownName("setting of a scene", key, (*OF_ARM, "gravity", "set_up"))
        own = {key: value for key, value in changes.items() if key in OF_ARM}
        gravity, q_setup = changes.get("gravity", self.settings.gravity), changes.get("set_up")
        arms, set_up = dict(self.settings.arms), dict(self.settings.set_up)
        scene = self.scene
        if own or "gravity" in changes:
            scene = scene.changed({name: own}, gravity)
            arms[name] = {**arms.get(name, {}), **own}
        if q_setup is not None:
            scene.set_up(name, q_setup)
            set_up[name] = tuple(float(x) for x in q_setup)
        settings = replace(self.settings, arms=arms, set_up=set_up, gravity=gravity)
        return World(settings, scene, self)


def _placed(scene: Scene, name: str, earlier: World | None) -> Plant:
    T, sim = scene.T_world_base(name), scene.arms[name]
    known = None if earlier is None else earlier.plants[name]
    if known is not None and known.sim is sim and np.array_equal(known.T_world_base, T):
        return known
    return Plant.in_scene(scene, name)


def scene_of(settings: Settings, *, contacts: bool = True) -> Scene:
    """The scene that settings name, at the timestep of the viewer; without contacts nothing is refused as overlapping.

    In a scene of one's own, `contacts` is as its file says, unless it is False here.
    """
    assert settings.scene is not None
    options: dict[str, Any] = {"timestep": TIMESTEP} | ({} if contacts else {"contacts": False})
    scene = load_scene(settings.scene, **options)
    if settings.touch:
        # the plate is below the instruments, which are known only now
        hands = {name: arm for name, arm in scene.arms.items() if arm.arm.carries == "instrument"}
        reach = max((arm.arm.jaw_length for arm in hands.values()), default=0.0)
        things = things_below([scene.T_world_tip(name)[:3, 3] for name in hands], reach)
        scene = load_scene(settings.scene, objects=things, **options)
    if settings.arms or settings.gravity is not None:
        scene = scene.changed(settings.arms, settings.gravity)
    for name, q_setup in settings.set_up.items():
        scene.set_up(name, q_setup)
    return scene
