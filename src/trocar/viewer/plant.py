"""What is simulated: an arm with its settings, as an engine and as equations that belong to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from trocar.arms import Arm
from trocar.arms.suj import SetUpArm
from trocar.mechanics import Mechanism
from trocar.mechanics.workspace import Workspace
from trocar.simulation import Simulator
from trocar.simulation.scene import Scene
from trocar.simulation.simulated_arm import SimulatedArm
from trocar.spatial import Array
from trocar.viewer.touching import things_below

# The dVRK's servo runs at 1500 Hz, and every controller can be switched to while running: one step for all.
TIMESTEP = 1.0 / 1500.0  # [s]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What is simulated: a scene, or an arm with what `Simulator` takes.

    Attributes:
        gravity: (3,) [m/s^2] in base axes, of a scene in the world; None for the usual.
        touch: puts a plate with a block and a needle below the instruments.
        arms: of a scene, what is other than in its file, by arm: instrument, counterweight, friction.
        set_up: of a scene on a cart, set-up joints (n,) [m, rad] by arm where they are other than in its file.
    """

    arm: str = "PSM"
    parameters: str | Path | None = None
    instrument: str | Path | None = None
    counterweight: bool = True
    friction: bool = True
    gravity: tuple[float, float, float] | None = None
    scene: str | None = None
    touch: bool = False
    arms: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    set_up: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


class Plant:
    """One simulated arm and its equations.

    The simulator and `mechanism` belong to the thread that steps; `equations` gives another thread its own.

    Attributes:
        name: of the arm in its scene, or of its kind. prefix: of its bodies in `spec`, with which it is drawn.
        T_world_base: (4, 4), the identity for an arm that is alone.
        set_up, q_setup: facts and values (k,) [m, rad] of the set-up joints of an arm on a cart; None without.
    """

    def __init__(self, settings: Settings, sim: Simulator | None = None) -> None:
        sim = _alone(settings) if sim is None else sim
        self._set(settings, sim.arm.name, sim, sim.spec, "", np.eye(4))

    @classmethod
    def in_scene(cls, scene: Scene, name: str) -> Plant:
        """An arm among others; its settings are those of the same arm alone."""
        sim = scene.arms[name]
        x, y, z = sim.gravity_vector.tolist()
        settings = Settings(
            arm=sim.arm.name,
            instrument=sim.arm.instrument,
            counterweight=sim.options.counterweight,
            friction=sim.options.friction,
            gravity=(x, y, z),
        )
        plant = cls.__new__(cls)
        plant._set(settings, name, sim, scene.spec, f"{name}/", scene.T_world_base(name))
        mount = scene.mount(name)
        if scene.cart is not None and mount is not None:
            plant.set_up, plant.q_setup = scene.cart.set_up(mount), scene.cart.q_setup[mount]
        return plant

    def _set(
        self, settings: Settings, name: str, sim: SimulatedArm, spec: mujoco.MjSpec, prefix: str, T_world_base: Array
    ) -> None:
        self.settings, self.name, self.sim, self.spec = settings, name, sim, spec
        self.prefix, self.T_world_base = prefix, T_world_base
        self.set_up: SetUpArm | None = None
        self.q_setup: Array | None = None
        self.mechanism = self.equations()

    @property
    def arm(self) -> Arm:
        return self.sim.arm

    @property
    def alone(self) -> bool:
        """Whether it is the only arm, and its base the world."""
        return not self.prefix

    @property
    def gravity(self) -> Array:
        """(3,) [m/s^2] in the world, which is the base of an arm that is alone."""
        return np.asarray(self.T_world_base[:3, :3] @ self.sim.gravity_vector)

    def equations(self) -> Mechanism:
        """A mechanism of its own: Pinocchio's scratch data must not be shared between threads."""
        sim = self.sim
        return Mechanism(sim.arm, sim.parameters, counterweight=sim.options.counterweight, gravity=sim.gravity_vector)

    @cached_property
    def workspace(self) -> Workspace:
        return Workspace(self.mechanism)

    def within_limits(self, q: Array) -> Array:
        """The nearest state (n,) that the joint limits of this arm allow."""
        return np.clip(q, self.arm.lower, self.arm.upper)


def _alone(settings: Settings) -> Simulator:
    def made(objects: tuple = ()) -> Simulator:
        return Simulator(
            settings.arm,
            settings.parameters,
            counterweight=settings.counterweight,
            friction=settings.friction,
            timestep=TIMESTEP,
            instrument=settings.instrument,
            gravity=settings.gravity,
            objects=objects,
        )

    sim = made()
    if not settings.touch:
        return sim
    return made(things_below([sim.tip_pose()[:3, 3]], sim.arm.jaw_length, sim.arm.carries))
