"""What is simulated: an arm with its settings, as an engine and as equations that belong to it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from trocar.arms import Arm
from trocar.mechanics import Mechanism
from trocar.mechanics.workspace import Workspace
from trocar.simulation import Simulator
from trocar.spatial import Array

# The dVRK's servo runs at 1500 Hz, and every controller can be switched to while running: one step for all.
TIMESTEP = 1.0 / 1500.0  # [s]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a simulator is made from, as `Simulator` takes it; `gravity` in base axes [m/s^2]."""

    arm: str = "PSM"
    parameters: str | Path | None = None
    instrument: str | Path | None = None
    counterweight: bool = True
    friction: bool = True
    gravity: tuple[float, float, float] | None = None


class Plant:
    """A simulator and the equations of the same arm.

    The simulator and `mechanism` belong to the thread that steps; `equations` gives another thread its own.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.sim = Simulator(
            settings.arm,
            settings.parameters,
            counterweight=settings.counterweight,
            friction=settings.friction,
            timestep=TIMESTEP,
            instrument=settings.instrument,
            gravity=settings.gravity,
        )
        self.mechanism = self.equations()

    @property
    def arm(self) -> Arm:
        return self.sim.arm

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
