"""Number fields that apply together, on Enter or with a button."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import viser
from numpy.typing import ArrayLike

from trocar.spatial import Array

Field = tuple[ArrayLike, float, str]  # three numbers, their step, and a hint


class Entry:
    """Fields of three numbers each; half-typed numbers have no effect.

    The fields have no limits of their own: `apply` refuses what is out of range. A field that stopped at a limit would
    apply another number than the one that was typed.

    Args:
        fields: by label. button: its label and icon. apply: called on Enter in a field, or with the button.

    Attributes:
        form: of the fields. fields: by label. button: of the form.
    """

    def __init__(
        self,
        gui: viser.GuiApi,
        fields: Mapping[str, Field],
        button: tuple[str, viser.IconName],
        apply: Callable[[Any], None],
    ) -> None:
        self._lock = threading.Lock()
        with gui.add_form(None) as self.form:
            self.fields: dict[str, Any] = {}
            for label, (value, step, hint) in fields.items():
                self.fields[label] = gui.add_vector3(label, _three(value), step=step, hint=f"{hint}; Enter applies it")
            self.button = gui.add_button(button[0], icon=button[1])
        self.form.on_submit(apply)
        self.button.on_click(apply)

    def show(self, label: str, value: ArrayLike) -> None:
        """Put numbers into a field, even where a browser shows others that it has not sent.

        viser's browser side sends at most one message in 50 ms: a key just before Enter may get lost.
        """
        field = self.fields[label]
        x, y, z = _three(value)
        with self._lock:
            field.value = (x, y, z + 1.0)  # an equal value would not be sent
            field.value = (x, y, z)

    def value(self, label: str) -> Array:
        """The numbers (3,) of a field."""
        with self._lock:
            return np.array(self.fields[label].value)


def _three(value: ArrayLike) -> tuple[float, float, float]:
    x, y, z = np.asarray(value, dtype=float).tolist()
    return x, y, z
