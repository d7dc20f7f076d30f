"""Number fields that apply together, on Enter or with a button."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import viser
from numpy.typing import ArrayLike

from trocar.spatial import Array


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
