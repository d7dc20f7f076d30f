"""A patient side manipulator: `dvrk.psm`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from trocar.robot.messages import Bool
from trocar.scripts.dvrk.any_arm import Part, arm

CLOSED, OPEN = math.radians(-20.0), math.radians(60.0)


class _Jaw(Part):
    """The jaw: one joint. Its motions share the busy state of the arm."""

    def __init__(self, ral: Any, connection_timeout: float, psm: Any) -> None:
        super().__init__(ral, "jaw", connection_timeout, psm)
        for feature in ("measured_js", "setpoint_js", "servo_jp", "move_jp", "servo_jf"):
            getattr(self._utils, f"add_{feature}")()

    def close(self) -> Any:
        """Close beyond contact, to -20 deg, so that the jaw grips."""
        return self.move_jp(np.array([CLOSED]))

    def open(self, angle: float = OPEN) -> Any:
        """Open to an angle [rad]."""
        return self.move_jp(np.array([angle]))


class psm(arm):
    """A PSM with its jaw."""

    def __init__(self, ral: Any = None, arm_name: str = "", connection_timeout: float = 5.0, **earlier: Any) -> None:
        super().__init__(ral, arm_name, connection_timeout, **earlier)
        self.jaw = _Jaw(self._ral, connection_timeout, self)

    def insert_jp(self, depth: float) -> Any:
        """Move the insertion joint to a depth [m]."""
        return self._insert(depth)

    def set_tool_present(self, tool_present: bool) -> None:
        """Emulate the insertion or removal of the instrument."""
        self._device.send("emulate_tool_present", Bool(value=bool(tool_present)))
