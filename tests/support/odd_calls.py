"""Odd arguments for calls in Python, and the checks of their results and errors."""

from __future__ import annotations

from typing import Any

import numpy as np

import trocar as tr
from tests.support.odd_values import number, numbers, python_nonsense, text
from trocar.errors import TrocarError

LONGEST = 600  # characters of a message


class Caller:
    """Makes arguments: mostly valid for an arm, often nearly valid, sometimes nonsense."""

    def __init__(self, rng: np.random.Generator, arm: tr.Arm) -> None:
        self.rng, self.arm = rng, arm

    def state(self) -> Any:
        """Joint values, in one of the shapes and types that people pass."""
        rng, n = self.rng, self.arm.n
        kind = rng.integers(12)
        if kind == 0:
            return python_nonsense(rng)
        if kind == 1:
            return numbers(rng, n)
        if kind == 2:
            return rng.uniform(self.arm.lower, self.arm.upper, (*rng.integers(0, 4, rng.integers(1, 3)), n))
        inside = rng.uniform(self.arm.lower, self.arm.upper)
        if kind == 3:
            inside[rng.integers(n)] = number(rng)
        if kind == 4:
            return inside.astype(rng.choice(["f2", "f4", "f8", "i4", "i8", "O", "c16", "U8", "?", "g"]))
        if kind == 5:
            return np.ma.array(inside, mask=rng.integers(0, 2, n))
        if kind == 6:
            return np.asfortranarray(np.tile(inside, (3, 2)))[:, ::2][:, :n]
        if kind == 7:
            return inside.tolist()
        return inside

    def like(self, state: Any) -> Any:
        """Rates for a state, mostly of the same shape."""
        if isinstance(state, np.ndarray) and state.dtype == float and self.rng.integers(6):
            return self.rng.normal(size=state.shape)
        return self.state()

    def pose(self) -> Any:
        rng, kind = self.rng, self.rng.integers(6)
        if kind == 0:
            return python_nonsense(rng)
        T = np.eye(4)
        T[:3, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        T[:3, 3] = rng.normal(size=3) * rng.choice([0.05, 0.2, 5.0])
        if kind == 1:
            T[tuple(rng.integers(4, size=2))] = number(rng)
        return np.tile(T, (int(rng.integers(0, 3)), 1, 1)) if kind == 2 else T

    def odd(self) -> Any:
        """Anything except functions: errors raised by a caller's own function are not trocar's."""
        value = python_nonsense(self.rng)
        return None if callable(value) else value

    def value(self) -> Any:
        return number(self.rng) if self.rng.integers(3) else self.odd()

    def word(self) -> Any:
        return text(self.rng) if self.rng.integers(3) else self.odd()


def finite(result: Any) -> None:
    """Every array and number of a result is finite and real."""
    if isinstance(result, dict):
        result = tuple(result.values())
    if isinstance(result, list | tuple):
        for part in result:
            finite(part)
    elif isinstance(result, np.ndarray) and result.dtype.kind in "fc":
        assert result.dtype.kind == "f"
        assert np.isfinite(result).all(), result
    elif isinstance(result, float):
        assert np.isfinite(result)


def check_line(error: TrocarError) -> None:
    """An error is one line that a person can read."""
    message = str(error)
    assert 0 < len(message) <= LONGEST, message
    assert "\n" not in message, message
