"""Other devices: `dvrk.system`, `dvrk.console`, `dvrk.teleop_psm`."""

from __future__ import annotations

from typing import Any

from trocar.robot.clients.console import Console
from trocar.robot.clients.system import System
from trocar.robot.clients.teleoperation import TeleopPSM
from trocar.scripts.crtk.node import node_of
from trocar.scripts.session import current


class _Named:
    """A device in a node's namespace."""

    def __init__(self, ral: Any, name: str) -> None:
        if isinstance(ral, str):  # release 2.0: (name)
            ral, name = node_of(""), ral or name
        self._name, self._ral = name, ral.create_child(name)

    def name(self) -> str:
        return self._name

    def ral(self) -> Any:
        return self._ral

    def check_connections(self, timeout: float = 5.0) -> None:
        self._ral.check_connections(timeout)


class system(_Named):
    """Power, homing and sounds of the whole system."""

    def __init__(self, ral: Any = "", system_namespace: str = "system") -> None:
        super().__init__(ral, system_namespace)
        client = System(current(), self._ral.namespace())
        self.power_on, self.power_off, self.home = client.power_on, client.power_off, client.home
        self.set_volume, self.beep, self.string_to_speech = client.set_volume, client.beep, client.string_to_speech


class console(_Named):
    """Teleoperation state of the console. In releases before 2.4 it also has the methods of `system`."""

    def __init__(self, ral: Any = "", console_name: str = "console") -> None:
        super().__init__(ral, console_name)
        client = Console(current(), self._ral.namespace())
        self.teleop_start, self.teleop_stop = client.teleop_start, client.teleop_stop
        self.teleop_set_scale, self.teleop_get_scale = client.teleop_set_scale, client.teleop_get_scale
        self.teleop_select, self.teleop_unselect = client.teleop_select, client.teleop_unselect
        self.teleop_is_selected = client.teleop_is_selected
        if not current().tuples:
            whole = System(current())
            self.power_on, self.power_off, self.home = whole.power_on, whole.power_off, whole.home


class teleop_psm(_Named):
    """Teleoperation of one pair of arms, such as MTMR_PSM1."""

    def __init__(self, ral: Any, teleop_name: str = "") -> None:
        super().__init__(ral, teleop_name)
        client = TeleopPSM(current(), self._ral.namespace())
        self.set_scale, self.get_scale = client.set_scale, client.get_scale
        self.enable, self.disable = client.enable, client.disable
