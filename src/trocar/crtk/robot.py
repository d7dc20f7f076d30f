"""A dVRK in process: the simulated scene, the controllers of its arms, the bus and the clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

from trocar.crtk.bus import Bus
from trocar.crtk.clients.arm import Arm
from trocar.crtk.clients.console import Console
from trocar.crtk.clients.endoscope import ECM
from trocar.crtk.clients.instrument import PSM
from trocar.crtk.clients.master import MTM
from trocar.crtk.clients.set_up_joints import SUJ
from trocar.crtk.clients.system import System


class Robot:
    """A simulated dVRK under its own controllers.

    Args:
        scene: name or file of a scene, or a `Scene` with a timestep of 1/1500 s. Built in: dvrk, dvrk_si.
        speed: "fast", "real" or simulated per real time, "stepped".
        start: "off" (arms not powered, as after switching on) or "ready" (enabled, homed, tools engaged).
        arms: names of the arms to control; default: all of the scene. Others stay where they are.

    Attributes:
        bus: every topic and service. devices: kind of interface by device name, such as {"PSM1": "PSM"}.
        scene: the simulated truth.
    """

    bus: Bus
    devices: dict[str, str]

    def __init__(self, scene: str = "dvrk", *, speed: str | float = "fast", start: str = "off") -> None:
        raise NotImplementedError

    @property
    def now(self) -> int:
        """The robot's clock [ns], greater than 0."""
        raise NotImplementedError

    @property
    def time(self) -> float:
        """The robot's clock [s]."""
        raise NotImplementedError

    def run(self, seconds: float) -> None:
        """Advance by a simulated time [s]."""
        raise NotImplementedError

    def step(self, cycles: int = 1) -> None:
        """Advance by control cycles of 1/1500 s."""
        raise NotImplementedError

    def sleep(self, seconds: float) -> None:
        """Wait for a time by the robot's clock [s]."""
        raise NotImplementedError

    def wait_for(self, condition: Callable[[], bool], timeout: float) -> bool:
        """Wait until a condition holds; False after `timeout` by the robot's clock [s]."""
        raise NotImplementedError

    def arm(self, name: str) -> Arm:
        """Client of any arm."""
        raise NotImplementedError

    def psm(self, name: str) -> PSM:
        raise NotImplementedError

    def ecm(self, name: str = "ECM") -> ECM:
        raise NotImplementedError

    def mtm(self, name: str) -> MTM:
        raise NotImplementedError

    def suj(self) -> SUJ:
        raise NotImplementedError

    def system(self) -> System:
        raise NotImplementedError

    def console(self) -> Console:
        raise NotImplementedError

    def close(self) -> None:
        """End the thread of a robot in real time."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
