"""The endoscope manipulator: `dvrk.ecm`."""

from __future__ import annotations

from typing import Any

from trocar.scripts.dvrk.any_arm import arm


class ecm(arm):
    """An ECM."""

    def __init__(self, ral: Any = None, arm_name: str = "", connection_timeout: float = 5.0, **earlier: Any) -> None:
        super().__init__(ral, arm_name, connection_timeout, **earlier)

    def insert_jp(self, depth: float) -> Any:
        """Move the insertion joint to a depth [m]."""
        return self._insert(depth)
