"""Sliders in a folder, one for every named value."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import viser
from numpy.typing import ArrayLike

from trocar.arms.arm import LimitedJoint


class Sliders:
    """A replaceable set of sliders; `changed` is called when one is moved. Attributes: handles: sliders by name."""

    def __init__(self, gui: viser.GuiApi, folder: viser.GuiFolderHandle, changed: Callable[[Any], None]) -> None:
        self._gui, self._folder, self._changed = gui, folder, changed
        self.handles: dict[str, Any] = {}

    def make(self, ranges: Iterable[tuple[str, str, tuple[float, float], float, float]]) -> None:
        """Replace the sliders: name, unit, limits (widened to hold the value), step and value of each."""
        for handle in self.handles.values():
            handle.remove()
        made: dict[str, Any] = {}
        with self._folder:
            for name, unit, (low, high), step, value in ranges:
                label = f"{name} [{unit}]" if unit else name
                handle = self._gui.add_slider(label, min(low, value), max(high, value), step, value)
                handle.on_update(self._changed)
                made[name] = handle
        self.handles = made

    @property
    def values(self) -> dict[str, float]:
        """Values by name."""
        return {name: handle.value for name, handle in self.handles.items()}

    def show(self, values: ArrayLike) -> None:
        """Move the sliders to these values, clipped to their limits."""
        for handle, value in zip(self.handles.values(), np.asarray(values), strict=True):
            handle.value = float(np.clip(value, handle.min, handle.max))

    def limit(self, ranges: Iterable[tuple[float, float]]) -> None:
        """Change the limits of all sliders."""
        for handle, limits in zip(self.handles.values(), ranges, strict=True):
            handle.min, handle.max = limits


def inside(joint: LimitedJoint) -> tuple[float, float]:
    """Limits of a joint [rad, m], rounded inwards to short numbers."""
    return float(np.ceil(joint.lower * 1000) / 1000), float(np.floor(joint.upper * 1000) / 1000)
