"""What is simulated: an arm with its settings, as an engine and as equations that belong to it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import mujoco
import numpy as np

from trocar.arms import Arm
from trocar.mechanics import Mechanism
from trocar.mechanics.workspace import Workspace
from trocar.simulation import Simulator
from trocar.simulation.simulated_arm import SimulatedArm
from trocar.spatial import Array
from trocar.viewer.touching import things_below

# The dVRK's servo runs at 1500 Hz, and every controller can be switched to while running: one step for all.
TIMESTEP = 1.0 / 1500.0  # [s]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What is simulated: a scene, or an arm with what `Simulator` takes; `gravity` in base axes [m/s^2].

    `touch` puts a plate with a block and a needle below the instruments.
    """

    arm: str = "PSM"
    parameters: str | Path | None = None
    instrument: str | Path | None = None
    counterweight: bool = True
    friction: bool = True
    gravity: tuple[float, float, float] | None = None
    scene: str | None = None
    touch: bool = False


class Plant:
    """One simulated arm and its equations.

    The simulator and `mechanism` belong to the thread that steps; `equations` gives another thread its own.

    Attributes:
        name: of the arm in its scene, or of its kind. prefix: of its bodies in `spec`, with which it is drawn.
        T_world_base: (4, 4), the identity for an arm that is alone.
    """

    def __init__(self, settings: Settings, sim: Simulator | None = None) -> None:
        sim = _alone(settings) if sim is None else sim
        self._set(settings, sim.arm.name, sim, sim.spec, "", np.eye(4))

    @classmethod
    def in_scene(cls, name: str, sim: SimulatedArm, spec: mujoco.MjSpec, T_world_base: Array) -> Plant:
        """An arm among others; its settings are what they are."""
        x, y, z = sim.gravity_vector.tolist()
        settings = Settings(
            arm=sim.arm.name,
            instrument=sim.arm.instrument,
            counterweight=sim.counterweight,
            friction=sim.friction,
            gravity=(x, y, z),
        )
        plant = cls.__new__(cls)
        plant._set(settings, name, sim, spec, f"{name}/", T_world_base)
        return plant

    def _set(
        self, settings: Settings, name: str, sim: SimulatedArm, spec: mujoco.MjSpec, prefix: str, T_world_base: Array
    ) -> None:
        self.settings, self.name, self.sim, self.spec = settings, name, sim, spec
        self.prefix, self.T_world_base = prefix, T_world_base
        self.mechanism = self.equations()

    @property
    def arm(self) -> Arm:
        return self.sim.arm

    @property
    def alone(self) -> bool:
        """Whether it is the only arm: then its settings can be changed."""
        return not self.prefix

    def equations(self) -> Mechanism:
        """A mechanism of its own: Pinocchio's scratch data must not be shared between threads."""
        sim = self.sim
        return Mechanism(sim.arm, sim.parameters, counterweight=sim.counterweight, gravity=sim.gravity_vector)

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
    return made(things_below([sim.tip_pose()[:3, 3]], sim.arm.jaw_length, sim.arm.family))
