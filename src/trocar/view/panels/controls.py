"""Groups of controls: sliders of named values, and number fields that apply together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import viser
from numpy.typing import ArrayLike

from trocar.arms.arm import LimitedJoint
from trocar.spatial import Array

STEPS = {"rad": 0.001, "m": 0.0001}  # of sliders of joints, by unit


class Sliders:
    """A replaceable set of sliders; `changed` is called when one is moved. Attributes: handles: sliders by name."""

    def __init__(self, gui: viser.GuiApi, folder: viser.GuiFolderHandle, changed: Callable[[Any], None]) -> None:
        self._gui, self._folder, self._changed = gui, folder, changed
        self.handles: dict[str, Any] = {}

    def make(self, ranges: Iterable[tuple[str, str, tuple[float, float], float, float]]) -> None:
        """Replace the sliders: name, unit, limits (widened to hold the value), step and value of each."""
        for handle in self.handles.values():
            handle.remove()
        handles: dict[str, Any] = {}
        with self._folder:
            for name, unit, (low, high), step, value in ranges:
                label = f"{name} [{unit}]" if unit else name
                handle = self._gui.add_slider(label, min(low, value), max(high, value), step, value)
                handle.on_update(self._changed)
                handles[name] = handle
        self.handles = handles

    @property
    def values(self) -> Array:
        """Values (k,), in order."""
        return np.array([handle.value for handle in self.handles.values()], dtype=float)

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


class Entry:
    """Number fields. Half-typed numbers have no effect.

    The fields have no limits; `apply` refuses values out of range. A field that stopped at a limit would apply a
    different number from the one that was typed.

    Args:
        labels: labels of the fields. step: step of their arrows; the fields show as many decimals as it has.
        button: label and icon of the button. apply: called on Enter in a field, or when the button is pressed.

    Attributes:
        form: the form. fields: its fields, in order. button: its button.
    """

    def __init__(
        self,
        gui: viser.GuiApi,
        labels: Sequence[str],
        step: float,
        button: tuple[str, viser.IconName],
        apply: Callable[[Any], None],
    ) -> None:
        self._lock = threading.Lock()
        with gui.add_form(None) as self.form:
            self.fields: list[Any] = [
                gui.add_number(label, 0.0, step=step, hint="press Enter to apply") for label in labels
            ]
            self.button = gui.add_button(button[0], icon=button[1])
        self.form.on_submit(apply)
        self.button.on_click(apply)

    @property
    def values(self) -> Array:
        """The numbers in the fields."""
        with self._lock:
            return np.array([field.value for field in self.fields])

    def show(self, values: ArrayLike) -> None:
        """Put numbers into the fields, even if a browser shows others that it has not sent.

        viser's browser side sends at most one message in 50 ms: a key pressed just before Enter may get lost.
        """
        with self._lock:
            for field, value in zip(self.fields, np.asarray(values, dtype=float).tolist(), strict=True):
                field.value = value + 1.0  # an equal value would not be sent
                field.value = value
