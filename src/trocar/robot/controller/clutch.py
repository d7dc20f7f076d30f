"""The clutch buttons of a patient-side arm: while the arm clutch is pressed, the arm can be moved by hand."""

from __future__ import annotations

import numpy as np

from trocar.robot.controller.arm import EFFORT, JOINT, ArmController
from trocar.robot.controller.hardware import Hardware
from trocar.robot.interface import Interface
from trocar.robot.messages import Joy


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
