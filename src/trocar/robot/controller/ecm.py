"""Controller of an ECM: an arm that carries an endoscope."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trocar.robot.controller.clutch import ClutchedArm
from trocar.robot.controller.hardware import Hardware
from trocar.robot.controller.states import CommandRefused
from trocar.robot.interface import Interface
from trocar.robot.messages import String
from trocar.spatial import Array

MIN_INSERTION = 0.040  # smallest insertion from inverse kinematics [m]


class ECMController(ClutchedArm):
    """An arm that reports the type of its endoscope."""

    def __init__(self, hardware: Hardware, interface: Interface) -> None:
        super().__init__(hardware, interface)
        generation = "Si" if self.arm.name.endswith("Si") else "Classic"
        self.endoscope = f"{generation}_HD_{self.arm.instrument.upper()}"
        self.bus.publish(f"{self.name}/endoscope_type", String(value=self.endoscope))

    def handlers(self) -> dict[str, Callable[[Any], None]]:
        return super().handlers() | {"set_endoscope_type": lambda m: self.set_endoscope_type(m.value)}

    def set_endoscope_type(self, name: str) -> None:
        """The mounted endoscope is part of the scene: only its own name is accepted."""
        if name != self.endoscope:
            raise CommandRefused(f'endoscope type "{name}" is not supported; this arm carries {self.endoscope}')
        self.bus.publish(f"{self.name}/endoscope_type", String(value=name))

    def solve(self, local: Array, seed: Array) -> Array:
        """As for every arm, but never with the endoscope inside the cannula."""
        q = super().solve(local, seed)
        q[2] = max(q[2], MIN_INSERTION)
        return q
