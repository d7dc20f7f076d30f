"""Checks of input: each returns the value in its own type, or raises an error that names it and what is allowed.

The first argument is the name of the value in the message. One set of limits serves all rooms: numbers beyond them are
finite, but have a wrong unit or exponent, or overflow in the equations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trocar.errors import TrocarError, shown

Array = NDArray[Any]

MAX_STATE = 1e60  # position, velocity, acceleration or effort in an equation: products of five do not overflow
MAX_SECONDS = 1e30  # a duration or period [s]: squares and cubes of more overflow
MIN_SECONDS = 1e-30  # time between two samples [s]: velocities over a shorter one overflow
MAX_COMMAND = 1e9  # a commanded value in SI units, far beyond any arm
MAX_FIELD = 1e6  # a number in a file of an arm or a scene, or a seed, in SI units
MAX_PIXELS = 4096  # of a side of a picture
MAX_DISTANCE = 10.0  # a point from the base along an axis, beyond the reach of any arm [m]


def number(name: str, value: Any, low: float = -MAX_COMMAND, high: float = MAX_COMMAND, unit: str = "") -> float:
    """A finite number in [low, high]."""
    try:
        result = float(value)
    except (TypeError, ValueError, OverflowError):  # the last: a whole number beyond 1e308
        result = math.nan
    if not low <= result <= high:  # false for NaN
        raise TrocarError(f"{name} must be a number from {low:g} to {high:g}{_in(unit)}, got {shown(value)}")
    return result


def is_number(value: object) -> bool:
    """True for a real number of Python or NumPy; a boolean is none."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def positive(name: str, value: Any, unit: str = "s") -> float:
    """A positive and finite number; `unit` is for the message."""
    if not (is_number(value) and 0 < value < MAX_SECONDS):
        raise TrocarError(f"{name} must be positive and finite{_in(unit)}, got {shown(value)}")
    return float(value)


def count(name: str, value: Any, low: int = 1, high: int | None = None, unit: str = "") -> int:
    """A whole number of at least `low` and, if given, at most `high`; a float such as 3.0 is accepted."""
    whole = is_number(value) and -math.inf < value < math.inf and value == int(value)
    if not (whole and value >= low and (high is None or value <= high)):
        allowed = f"{low} or more" if high is None else f"{low} to {high}"
        raise TrocarError(f"{name} must be a whole number{unit and f' of {unit}'}, {allowed}, got {shown(value)}")
    return int(value)


def real_array(name: str, value: object, shape: str = "") -> Array:
    """`value` as an array of floats; text, complex, masked or missing values raise an error."""
    try:
        raw = np.asarray(value)
    except ValueError:
        raise TrocarError(f"{name} must be an array of numbers{shape}: its rows differ in length") from None
    if raw.dtype.kind not in "fiu":
        held = "text" if raw.dtype.kind in "US" else raw.dtype.name
        raise TrocarError(f"{name} must be an array of numbers{shape}, it holds {held}")
    if np.ma.is_masked(value):
        raise TrocarError(f"{name} must be an array of numbers{shape}, some of its values are masked")
    return raw.astype(float, copy=False)


def numbers(name: str, value: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Numbers of shape `(..., *shape)`; they may be infinite or NaN."""
    required = f"(..., {', '.join(map(str, shape))})"
    array = real_array(name, value, f" of shape {required}")
    if array.shape[-len(shape) :] != shape:
        raise TrocarError(f"{name} must have shape {required}, got {array.shape}")
    return array


def finite(name: str, value: object, shape: tuple[int, ...], allowed: str) -> Array:
    """Finite numbers of a shape; `allowed` describes them: "gravity must be three finite numbers [m/s^2], got ..."."""
    try:
        array = real_array(name, value)
    except TrocarError:
        array = np.array(np.nan)
    if array.shape != shape or not np.isfinite(array).all():
        raise TrocarError(f"{name} must be {allowed}, got {shown(value)}")
    return array


def three_numbers(name: str, value: ArrayLike, meaning: str) -> Array:
    """A vector (3,) of finite numbers; `meaning` gives frame and unit."""
    return finite(name, value, (3,), f"three finite numbers {meaning}")


def lengths(name: str, value: ArrayLike, shape: tuple[int, ...] = (3,)) -> Array:
    """Positive lengths [m]: three, or one with shape ()."""
    allowed = "three positive lengths [m]" if shape else "positive and finite [m]"
    array = finite(name, value, shape, allowed)
    if not (array > 0).all():
        raise TrocarError(f"{name} must be {allowed}, got {shown(value)}")
    return array


def vector(name: str, value: ArrayLike, n: int | None = None) -> Array:
    """A copy of n numbers in SI units (default: any number of them), finite and within MAX_COMMAND."""
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        size = "a list of" if n is None else n
        raise TrocarError(f"{name} must be {size} numbers, got {shown(value)}") from None
    if array.ndim != 1 or (n is not None and len(array) != n):
        raise TrocarError(f"{name} must have shape ({'n' if n is None else n},), got {array.shape}")
    if not np.isfinite(array).all():
        raise TrocarError(f"{name} must be finite, got {shown(array.tolist())}")
    if (np.abs(array) > MAX_COMMAND).any():
        raise TrocarError(f"{name} must be within {MAX_COMMAND:g} of zero, got {shown(array.tolist())}")
    return array


def gains(name: str, values: ArrayLike, n: int | None = None) -> Array:
    """Gains as a read-only array of finite numbers >= 0: one for all joints, or one each."""
    array = real_array(name, values).copy()
    if array.ndim > 1 or (n is not None and array.ndim == 1 and array.size != n):
        shape = "(n,)" if n is None else f"({n},)"
        raise TrocarError(f"{name} must be one number or an array {shape}, got shape {array.shape}")
    if not ((array >= 0) & (array < MAX_STATE)).all():
        raise TrocarError(f"{name} must be finite and not negative (below {MAX_STATE:g}), got {array.tolist()}")
    array.setflags(write=False)
    return array


def attributes(thing: object, of: str, *, positive: Sequence[str] = (), not_negative: Sequence[str] = ()) -> None:
    """Check that these attributes of a value type are finite numbers of the right sign."""
    for name in (*positive, *not_negative):
        value = getattr(thing, name)
        if not np.isfinite(value) or value < 0 or (value == 0 and name in positive):
            allowed = "positive" if name in positive else "finite and not negative"
            raise TrocarError(f"{name} of {of} must be {allowed}, got {value!r}")


def picture_size(name: str, value: Any, low: int = 1, even: bool = False) -> tuple[int, int]:
    """Width and height of a picture [pixels], each of `low` to MAX_PIXELS and, for films, even."""
    sides = tuple(value) if isinstance(value, list | tuple | np.ndarray) else ()
    if not (
        len(sides) == 2
        and all(is_number(side) and low <= side <= MAX_PIXELS and side == int(side) for side in sides)
        and not (even and any(side % 2 for side in sides))
    ):
        allowed = f"from {low} to {MAX_PIXELS} pixels{' and even' * even}"
        raise TrocarError(f"{name} must be (width, height), each {allowed}, got {shown(value)}")
    return int(sides[0]), int(sides[1])


def flag(name: str, value: object) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TrocarError(f"{name} must be True or False, got {shown(value)}")
    return bool(value)


def text(name: str, value: object) -> str:
    """A string."""
    if not isinstance(value, str):
        raise TrocarError(f"{name} must be a text, got {shown(value)}")
    return value


def _in(unit: str) -> str:
    return f" [{unit}]" if unit else ""
