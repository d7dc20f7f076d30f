"""Other devices: the whole system, and the surgeon's console with its pedals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from trocar.robot import messages as m
from trocar.robot.bus import Bus
from trocar.robot.controller.arm import ArmController
from trocar.robot.controller.states import OperatingStates
from trocar.robot.interface import CONSOLE, FOOT_PEDALS, PEDALS, SYSTEM

SCALE = 0.2  # initial scale of teleoperation


class SystemController:
    """Power and homing of all arms; speech is published as status."""

    def __init__(self, bus: Bus, arms: Mapping[str, ArmController]) -> None:
        self._bus, self._arms, texts = bus, arms, OperatingStates(bus, "system")
        self.status, self.warning = texts.status, texts.warning
        handlers: dict[str, Callable[[Any], None]] = {
            "power_on": lambda _: self._all("enable", lambda arm: arm.state_command("enable")),
            "power_off": lambda _: self._all("disable", lambda arm: arm.state_command("disable")),
            "home": lambda _: self._all("home", lambda arm: arm.request("HOMED")),
            "set_volume": self._set_volume,
            "beep": lambda message: self.status(f"beep {' '.join(f'{x:g}' for x in message.values)}"),
            "string_to_speech": lambda message: self.status(f"speech {message.value!r}"),
        }
        bus.add("system", SYSTEM, commands=handlers)
        bus.publish("system/volume", m.Float(value=0.5))

    def _all(self, command: str, action: Callable[[ArmController], None]) -> None:
        self.status(f"{command} all arms")
        for arm in self._arms.values():
            arm.post(action)

    def _set_volume(self, message: m.Float) -> None:
        if 0.0 <= message.value <= 1.0:
            self._bus.publish("system/volume", m.Float(value=message.value))
        else:
            self.warning(f"set_volume, volume must be within [0;1], received {message.value:g}")


class ConsoleController:
    """Pedals, and the pairs of arms selected for teleoperation. It moves no arm itself.

    Pedals are set through `console/emulate_*` and published as `console/*` and, for older scripts, `footpedals/*`.
    """

    def __init__(self, bus: Bus, system: SystemController, pairs: tuple[str, ...]) -> None:
        self._bus, self._system, self.pairs = bus, system, pairs
        self.selected: list[str] = []
        handlers: dict[str, Callable[[Any], None]] = {
            "teleop/enable": self._enable,
            "teleop/set_scale": self._set_scale,
            "teleop/select": lambda message: self.select(message.value),
            "teleop/unselect": lambda message: self.unselect(message.value),
        }
        handlers |= {f"emulate_{pedal}": partial(self._press, pedal) for pedal in PEDALS}
        bus.add("console", CONSOLE, commands=handlers)
        bus.add("footpedals", FOOT_PEDALS)
        for pedal in PEDALS:
            self._press(pedal, m.Joy(buttons=(m.Joy.RELEASED,)))
        bus.publish("console/teleop/enabled", m.Bool(value=False))
        bus.publish("console/teleop/scale", m.Float(value=SCALE))
        for pair in pairs:
            if not self._sharing(pair):
                self.select(pair)

    def _press(self, pedal: str, message: m.Joy) -> None:
        for prefix in ("console", "footpedals"):
            self._bus.publish(f"{prefix}/{pedal}", m.Joy(buttons=message.buttons, axes=message.axes))

    def _enable(self, message: m.Bool) -> None:
        self._bus.publish("console/teleop/enabled", m.Bool(value=bool(message.value)))

    def _set_scale(self, message: m.Float) -> None:
        if 0.0 < message.value <= 1.0:
            self._bus.publish("console/teleop/scale", m.Float(value=message.value))
        else:
            self._system.warning(f"teleop/set_scale, scale must be within ]0;1], received {message.value:g}")

    def select(self, pair: str) -> None:
        """Select a pair such as MTMR_PSM1, and unselect those that share an arm with it."""
        if pair not in self.pairs:
            self._system.warning(f"teleop/select, {pair!r} is not one of {', '.join(self.pairs) or 'none'}")
            return
        for other in self._sharing(pair):
            self.unselect(other)
        self.selected.append(pair)
        self._bus.publish("console/teleop/selected", m.String(value=pair))

    def unselect(self, pair: str) -> None:
        if pair in self.selected:
            self.selected.remove(pair)
            self._bus.publish("console/teleop/unselected", m.String(value=pair))

    def _sharing(self, pair: str) -> list[str]:
        arms = set(pair.split("_"))
        return [other for other in self.selected if arms & set(other.split("_"))]
