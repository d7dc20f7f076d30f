"""Controllers of patient-side arms: their clutch buttons, and the endoscope of an ECM."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from trocar.robot.controller.arm import EFFORT, JOINT, ArmController
from trocar.robot.controller.hardware import Hardware
from trocar.robot.controller.states import Refused
from trocar.robot.interface import Interface
from trocar.robot.messages import Joy, String
from trocar.spatial import Array

MIN_INSERTION = 0.040  # from inverse kinematics [m]


class ClutchedArm(ArmController):
    """An arm with a clutch on its carriage (PSM, ECM)."""

    def __init__(self, hardware: Hardware, interface: Interface) -> None:
        super().__init__(hardware, interface)
        for button in ("IO/arm_clutch", "IO/SUJ_clutch", "arm_clutch"):
            self.bus.publish(f"{self.name}/{button}", Joy(buttons=(Joy.RELEASED,)))

    def press_clutch(self, pressed: bool) -> None:
        """Press or release the arm clutch."""
        for button in ("IO/arm_clutch", "arm_clutch"):
            self.bus.publish(f"{self.name}/{button}", Joy(buttons=(Joy.PRESSED if pressed else Joy.RELEASED,)))
        if pressed and self.substate == "HOMED" and self.joints_ready:
            self.enter("MANUAL")
        elif pressed:
            self.states.warning("arm not ready yet, manipulator clutch ignored")
        elif self.substate == "MANUAL":
            self.enter("HOMED")

    def enter(self, substate: str) -> None:
        super().enter(substate)
        if substate == "MANUAL":
            self.space, self.mode, self.effort = JOINT, EFFORT, np.zeros(self.n)
            self.states.set("ENABLED", busy=True)


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
            raise Refused(f'endoscope type "{name}" is not supported; this arm carries {self.endoscope}')
        self.bus.publish(f"{self.name}/endoscope_type", String(value=name))

    def solve(self, local: Array, seed: Array) -> Array:
        """As for every arm, but never with the endoscope inside the cannula."""
        q = super().solve(local, seed)
        q[2] = max(q[2], MIN_INSERTION)
        return q
