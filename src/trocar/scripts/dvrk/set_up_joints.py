"""The set-up joints: `dvrk.suj`."""

from __future__ import annotations

from typing import Any

from trocar.scripts.crtk.features import utils
from trocar.scripts.crtk.node import node_of
from trocar.scripts.dvrk.any_arm import Part


class _Local(Part):
    """Pose in the base of the cart."""

    def __init__(self, ral: Any, connection_timeout: float) -> None:
        super().__init__(ral, "local", connection_timeout)
        self._utils.add_measured_cp()


class _SetUpArm:
    """The set-up joints of one arm; `move_jp` places them at once, and returns a handle without a motion."""

    def __init__(self, ral: Any, arm_name: str, connection_timeout: float) -> None:
        self._arm_name, self._ral = arm_name, ral.create_child(arm_name)
        self._utils = utils(self, self._ral, connection_timeout)
        for feature in ("operating_state", "measured_js", "measured_cp", "move_jp"):
            getattr(self._utils, f"add_{feature}")()
        self.local = _Local(self._ral, connection_timeout)

    def name(self) -> str:
        return self._arm_name

    def ral(self) -> Any:
        return self._ral


class suj:
    """All set-up joints of a cart: ECM, PSM1, PSM2, PSM3.

    Release 2.4.0 of dvrk looks for /PSM1 instead of /SUJ/PSM1; this one uses the robot's names.
    """

    def __init__(self, ral: Any = "", connection_timeout: float = 1.0) -> None:
        node = node_of("") if isinstance(ral, str) else ral
        timeout = connection_timeout if isinstance(connection_timeout, int | float) else 1.0
        self._ral = node.create_child("SUJ")
        self.ECM, self.PSM1, self.PSM2, self.PSM3 = (
            _SetUpArm(self._ral, name, timeout) for name in ("ECM", "PSM1", "PSM2", "PSM3")
        )

    def ral(self) -> Any:
        return self._ral

    def check_connections(self, timeout: float = 5.0) -> None:
        self._ral.check_connections(timeout)
