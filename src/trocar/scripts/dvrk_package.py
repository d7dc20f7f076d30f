"""A stand-in for the Python package dvrk, releases 2.0 to 2.4: the clients with the values of scripts.

Release 2.4: psm(ral, 'PSM1'); 2.2: the same with `expected_interval`; 2.0: psm('PSM1').
"""

from __future__ import annotations

from typing import Any

from trocar.robot.clients import devices as clients
from trocar.scripts.crtk_package import ScriptDevice, ScriptStates
from trocar.scripts.node import node_of
from trocar.scripts.session import current


class _Named(ScriptDevice):
    """A device in a child of a node."""

    def __init__(self, ral: Any, name: str, timeout: float | None = None) -> None:
        if isinstance(ral, str):  # release 2.0: (name)
            ral, name = node_of(""), ral or name
        self._short_name, self._ral = name, ral.create_child(name)
        super().__init__(current(), self._ral.namespace(), timeout)

    def name(self) -> str:
        return self._short_name

    def ral(self) -> Any:
        return self._ral


class arm(_Named, ScriptStates, clients.ArmClient):
    """An arm by its name."""

    def __init__(
        self, ral: Any = None, arm_name: str = "", connection_timeout: float | None = None, *,
        expected_interval: float | None = None, ros_namespace: str = "",
    ) -> None:  # fmt: skip
        timeout = self.default_timeout if connection_timeout is None else connection_timeout
        if isinstance(ral, str):  # release 2.0: (arm_name, ros_namespace, expected_interval)
            ral, arm_name, ros_namespace = None, ral, arm_name or ros_namespace
        if ral is None:
            ral, timeout = node_of(ros_namespace), max(timeout, 1.0)
        super().__init__(ral, arm_name, timeout)
        self._ral.expect("operating_state", "subscriber")


class psm(arm, clients.PSMClient):
    """A PSM with its jaw."""


class ecm(arm, clients.ECMClient):
    """An ECM."""


class mtm(arm, clients.MTMClient):
    """An MTM with its gripper; `servo_ci` takes a crtk_msgs/CartesianImpedance."""


class suj(_Named, clients.SUJClient):
    """All set-up joints of a cart: ECM, PSM1, PSM2, PSM3.

    Release 2.4.0 of dvrk looks for /PSM1 instead of /SUJ/PSM1; this one uses the robot's names.
    """

    def __init__(self, ral: Any = "", connection_timeout: Any = 1.0) -> None:
        timeout = connection_timeout if isinstance(connection_timeout, int | float) else 1.0
        super().__init__(node_of("") if isinstance(ral, str) else ral, "SUJ", timeout)


class system(_Named, clients.SystemClient):
    """Power, homing and sounds of the whole system."""

    def __init__(self, ral: Any = "", system_namespace: str = "system") -> None:
        super().__init__(ral, system_namespace)


class console(_Named, clients.ConsoleClient):
    """Teleoperation state of the console. In releases before 2.4 it also has the methods of `system`."""

    def __init__(self, ral: Any = "", console_name: str = "console") -> None:
        super().__init__(ral, console_name)
        if not current().tuples:
            whole = clients.SystemClient(current())
            self.power_on, self.power_off, self.home = whole.power_on, whole.power_off, whole.home


class teleop_psm(_Named, clients.TeleopPSMClient):
    """Teleoperation of one pair of arms, such as MTMR_PSM1."""

    def __init__(self, ral: Any, teleop_name: str = "") -> None:
        super().__init__(ral, teleop_name)


MODULE: dict[str, type[Any]] = {kind.__name__: kind for kind in (arm, console, ecm, mtm, psm, suj, system, teleop_psm)}
