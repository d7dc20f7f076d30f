"""A device that measures a pose, like `crtk.measured_cp`."""

from __future__ import annotations

from typing import Any

from trocar.scripts.crtk.features import utils


class measured_cp:
    """The pose in a node's namespace."""

    def __init__(self, ral: Any, expected_interval: float = 0.01) -> None:
        self._ral = ral
        self._utils = utils(self, ral, expected_interval)
        self._utils.add_measured_cp()

    def ral(self) -> Any:
        return self._ral
