"""State of the arms in a batch, and the meaning of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from trocar.errors import TrocarError


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


Values: TypeAlias = Any  # an array of the backend (NumPy, JAX, GPU), or values that convert to one


class NotFinite(TrocarError):
    """A state is no longer finite. `arm` is the index of the first such arm, None for a single arm."""

    def __init__(self, message: str, arm: int | None) -> None:
        self.arm = arm
        super().__init__(message)


class BatchState:
    """Positions, velocities and friction memory of one arm or of N. Read-only.

    Attributes:
        rows: (R,) or (R, N), each row one scalar of all arms. layout: meaning of the rows.
        integral: integral of a PID controller (n,) or (n, N) [rad s, m s], None before it has run.
    """

    __slots__ = ("integral", "layout", "rows")

    def __init__(self, rows: Any, layout: Layout, integral: Any = None) -> None:
        self.rows, self.layout, self.integral = rows, layout, integral

    @property
    def batch(self) -> tuple[int, ...]:
        """() for one arm, (N,) for N arms."""
        return tuple(self.rows.shape[1:])

    @property
    def q(self) -> Any:
        """Positions (n,) or (n, N) [rad, m]."""
        return self.rows[: self.layout.n]

    @property
    def dq(self) -> Any:
        """Velocities (n,) or (n, N) [rad/s, m/s]."""
        return self.rows[self.layout.n : 2 * self.layout.n]

    @property
    def friction(self) -> Any:
        """Coulomb friction forces (f,) or (f, N) of the last step, on the coordinates with friction [N m, N]."""
        return self._part(2 * self.layout.n, self.layout.friction)

    @property
    def contact(self) -> Any:
        """Contact forces (3 s,) or (3 s, N) of the s surfaces: normal, then along two tangents, each [N]."""
        return self._part(2 * self.layout.n + self.layout.friction, self.layout.contact)

    @property
    def stops(self) -> Any:
        """Forces (n,) or (n, N) of the joint limits in the last step [N m, N]."""
        return self._part(self.layout.rows - self.layout.dahl - self.layout.stops, self.layout.stops)

    @property
    def hysteresis(self) -> Any:
        """States (k,) or (k, N) of the Dahl elements, in [-1, 1]."""
        return self._part(self.layout.rows - self.layout.dahl, self.layout.dahl)

    def _part(self, start: int, count: int) -> Any:
        return self.rows[start : start + count]

    def __repr__(self) -> str:
        arms = f"{self.batch[0]} arms" if self.batch else "one arm"
        return f"<BatchState: {arms}, {self.layout.n} joints>"
