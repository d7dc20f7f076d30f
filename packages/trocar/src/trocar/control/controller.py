"""The interface of a controller: a callable `(state, setpoint) -> effort`, with a period and a reset."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from trocar import checks
from trocar.errors import TrocarError, check_type
from trocar.mechanics import Mechanism
from trocar.spatial import Array


class State(NamedTuple):
    """The measured state: time [s], positions (n,) [rad, m] and velocities (n,) [rad/s, m/s]."""

    t: float
    q: Array
    dq: Array


@dataclass(frozen=True, slots=True)
class Setpoint:
    """The reference at one time: positions, velocities and accelerations (n,) [rad, m, and per s, s^2].

    Omitted velocities and accelerations are zero.
    """

    q: Array
    dq: Array = None  # type: ignore[assignment]
    ddq: Array = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        for name in ("dq", "ddq"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, np.zeros_like(self.q, dtype=float))


class Controller(ABC):
    """Effort (n,) [N m, N] from a state and a setpoint. Controllers add: `JointPID(arm) + GravityCompensation(mech)`.

    The setpoint is a `Setpoint` for controllers in the joints, a `TipMotion` for tip controllers.

    Attributes:
        period: time between two calls [s], during which the effort is held; None for a controller without a
            fixed period, which is called at every step.
    """

    period: float | None = None

    @abstractmethod
    def __call__(self, state: State, setpoint: Any) -> Array: ...

    def reset(self) -> None:  # noqa: B027 - most controllers have no memory
        """Clear the controller's memory before a new run."""

    def __add__(self, other: Controller) -> Sum:
        return Sum(self, other) if isinstance(other, Controller) else NotImplemented

    def __repr__(self) -> str:
        """Name and public settings, as stored in a recording."""
        settings = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        texts = [f"{k}={v.tolist() if isinstance(v, np.ndarray) else v!r}" for k, v in settings.items()]
        return f"{type(self).__name__}({', '.join(texts)})"


class Sum(Controller):
    """Sum of the efforts of several controllers that run at the same period.

    A controller without a fixed period uses that of the others.
    """

    def __init__(self, *parts: Controller) -> None:
        self._parts: tuple[Controller, ...] = tuple(
            p for part in parts for p in (part._parts if isinstance(part, Sum) else (part,))
        )
        periods = {part.period for part in self._parts if part.period is not None}
        if len(periods) > 1:
            listed = ", ".join(f"{type(p).__name__} {p.period:.6g} s" for p in self._parts if p.period)
            raise TrocarError(f"controllers with different periods cannot be added: {listed}")
        self.period = periods.pop() if periods else None

    def __call__(self, state: State, setpoint: Any) -> Array:
        first, *others = (part(state, setpoint) for part in self._parts)
        return sum(others, start=np.array(first, dtype=float))

    def reset(self) -> None:
        for part in self._parts:
            part.reset()

    def __repr__(self) -> str:
        return " + ".join(map(repr, self._parts))


def checked_mechanism(mechanism: Mechanism) -> Mechanism:
    """Check that the value is a mechanism; the error explains how to load one."""
    check_type("mechanism", mechanism, Mechanism, "a Mechanism, such as tr.load_mechanism('PSM')")
    return mechanism


def checked_period(period: float | None) -> float | None:
    """A period [s], or None for a controller that is called at every step."""
    return None if period is None else checks.positive("period", period)
