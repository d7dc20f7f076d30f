"""Snapshots of the parts of a robot by the names of their attributes."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, ClassVar

import numpy as np


class Remembering:
    """A part with a state that can be restored: the attributes `MEMORY` of its class and of its bases.

    IN_PLACE: arrays keep their identity, because others hold views of them.
    """

    MEMORY: ClassVar[tuple[str, ...]] = ()
    IN_PLACE: ClassVar[bool] = False

    def remembered(self) -> dict[str, Any]:
        names = (name for kind in type(self).__mro__ for name in vars(kind).get("MEMORY", ()))
        return {name: _copied(getattr(self, name)) for name in names}

    def recall(self, memory: dict[str, Any]) -> None:
        for name, value in memory.items():
            if self.IN_PLACE:
                getattr(self, name)[:] = value
            else:
                setattr(self, name, _copied(value))


def _copied(value: Any) -> Any:
    """A copy of what changes in place; anything else is replaced, never changed."""
    return deepcopy(value) if isinstance(value, np.ndarray | list | np.random.Generator) else value
