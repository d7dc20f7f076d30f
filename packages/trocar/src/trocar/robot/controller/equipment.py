"""The controllers of a robot's arms, set-up joints, system and console, on one bus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from trocar.robot.bus import Bus
from trocar.robot.controller.arm import ArmController
from trocar.robot.controller.cart_and_console import ConsoleController, SetUpJoints, SystemController
from trocar.robot.controller.hardware import Hardware
from trocar.robot.controller.loop import ControlLoop
from trocar.robot.controller.mtm import MTMController
from trocar.robot.controller.patient_arms import ECMController, PSMController
from trocar.robot.interface import INTERFACES

CONTROLLERS: dict[str, type[ArmController]] = {
    "PSM": PSMController,
    "ECM": ECMController,
    "MTM": MTMController,
    "ARM": ArmController,
}


@dataclass(frozen=True)
class Equipment:
    """Everything that has a controller.

    Attributes:
        controllers: of the arms, by name. set_up: the set-up joints, None without a cart.
        devices: kind of interface by name of device, such as {"PSM1": "PSM"}.
    """

    controllers: dict[str, ArmController]
    set_up: SetUpJoints | None
    devices: dict[str, str]


def connect(loop: ControlLoop, names: Sequence[str]) -> Equipment:
    """Connect the named arms, the set-up joints of a cart, system, console and pedals to the bus of a control loop."""
    kinds: dict[str, str] = {name: loop.scene.arms[name].arm.role for name in names}
    controllers = {
        name: CONTROLLERS[kind](Hardware(name, loop, loop.parts[name]), INTERFACES[kind])
        for name, kind in kinds.items()
    }
    set_up = None if loop.scene.cart is None else SetUpJoints(loop)
    _add_console(loop.bus, controllers, kinds)
    devices = kinds | {"system": "SYSTEM", "console": "CONSOLE", "footpedals": "FOOT_PEDALS"}
    for controller in controllers.values():
        if (T_hrsv_base := controller.arm.T_hrsv_base) is not None:
            controller.reports.base_frame = lambda frame=(T_hrsv_base, "HRSV"): frame  # type: ignore[misc]
    if set_up is not None:
        devices |= {"SUJ": "SUJ"} | {f"SUJ/{name}": "SUJ_ARM" for name in set_up.mounts}
        for name in set_up.mounts:
            if name in controllers:
                controllers[name].reports.base_frame = partial(set_up.base_frame, name)
    return Equipment(controllers, set_up, devices)


def _add_console(bus: Bus, controllers: dict[str, ArmController], kinds: dict[str, str]) -> None:
    masters, slaves = ([name for name, kind in kinds.items() if kind == role] for role in ("MTM", "PSM"))
    # the right master drives PSM1 first, the left one PSM2
    pairs = [f"{master}_{slave}" for master in sorted(masters, reverse=True) for slave in sorted(slaves)]
    pairs.sort(key=lambda pair: pair not in ("MTMR_PSM1", "MTML_PSM2"))
    ConsoleController(bus, SystemController(bus, controllers), tuple(pairs))
