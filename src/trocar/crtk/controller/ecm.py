"""Controller of an ECM: an arm that carries an endoscope."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trocar.crtk.controller.arm import ArmController
from trocar.crtk.controller.hardware import Hardware
from trocar.crtk.controller.states import Refused
from trocar.crtk.interface import Interface
from trocar.crtk.messages import Joy, String

ENDOSCOPES = ("NO_ENDOSCOPE", "SD_STRAIGHT", "SD_UP", "SD_DOWN", "HD_STRAIGHT", "HD_UP", "HD_DOWN")


class ECMController(ArmController):
    """Clutch buttons and the type of the endoscope."""

    def __init__(self, hardware: Hardware, interface: Interface) -> None:
        super().__init__(hardware, interface)
        self.set_endoscope_type(f"HD_{self.arm.instrument.upper()}")
        for button in ("IO/arm_clutch", "IO/SUJ_clutch", "arm_clutch"):
            self.bus.publish(f"{self.name}/{button}", Joy(buttons=(Joy.RELEASED,)))

    def handlers(self) -> dict[str, Callable[[Any], None]]:
        return super().handlers() | {"set_endoscope_type": lambda m: self.set_endoscope_type(m.value)}

    def set_endoscope_type(self, name: str) -> None:
        if name not in ENDOSCOPES:
            raise Refused(f"set_endoscope_type, endoscope type {name!r} is not one of {', '.join(ENDOSCOPES)}")
        self.bus.publish(f"{self.name}/endoscope_type", String(value=name))
