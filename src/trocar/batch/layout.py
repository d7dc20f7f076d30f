"""Rows of a state."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Layout:
    """Numbers of rows, in this order: q and dq (n each), Coulomb friction forces, contact forces, stop forces,
    states of Dahl elements, memory of a controller.
    """

    n: int
    friction: int
    contact: int
    stops: int
    dahl: int
    control: int = 0

    @property
    def rows(self) -> int:
        """Number of rows of a state, without those of a controller."""
        return 2 * self.n + self.friction + self.contact + self.stops + self.dahl
