"""Checks of command arguments, made before anything changes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trocar.errors import TrocarError, check_known
from trocar.runtime.controllers import CONTROLLERS
from trocar.runtime.settings import CHANGES
from trocar.spatial import Array, checked_pose

LARGEST = 1e12  # products of larger numbers overflow
FARTHEST = 10.0  # largest distance from the base along an axis, beyond the reach of any arm [m]


def vector(name: str, value: ArrayLike, n: int | None = None) -> Array:
    """A copy of n numbers in SI units (default: any number of them), finite and of reasonable size."""
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise TrocarError(f"{name} must be {'a list of' if n is None else n} numbers, got {value!r}") from None
    if array.ndim != 1 or (n is not None and len(array) != n):
        raise TrocarError(f"{name} must have shape ({'n' if n is None else n},), got {array.shape}")
    if not np.isfinite(array).all():
        raise TrocarError(f"{name} must be finite, got {array.tolist()}")
    if (np.abs(array) > LARGEST).any():
        raise TrocarError(f"{name} must be within {LARGEST:g} of zero, got {array.tolist()}")
    return array


def tip_pose(value: ArrayLike) -> Array:
    """A copy of one rigid pose (4, 4)."""
    try:
        T = np.array(checked_pose(value))
    except TrocarError as error:
        raise TrocarError(f"T: {error}") from None
    if T.shape != (4, 4):
        raise TrocarError(f"T must be one pose (4, 4), got shape {T.shape}")
    if np.abs(T[:3, 3]).max() > FARTHEST:
        raise TrocarError(f"T must be within {FARTHEST:g} m of the base, got {T[:3, 3].tolist()}")
    return T


def number(name: str, value: float, low: float, high: float) -> float:
    """A finite number in [low, high]."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = math.nan
    if not low <= found <= high:  # false for NaN
        raise TrocarError(f"{name} must be a number from {low:g} to {high:g}, got {value!r}")
    return found


def count(name: str, value: int) -> int:
    """An integer of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise TrocarError(f"{name} must be an integer of at least 1, got {value!r}")
    return int(value)


def named_numbers(what: str, given: Mapping[str, float]) -> dict[str, float]:
    """A dictionary of numbers."""
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise TrocarError(f"{what} must be numbers by name, got {given!r}")
    return {name: number(name, value, -1e6, 1e6) for name, value in given.items()}


def text(name: str, value: str) -> str:
    """A string."""
    if not isinstance(value, str):
        raise TrocarError(f"{name} must be a text, got {value!r}")
    return value


def gains(controller: str, given: Mapping[str, float] | None) -> dict[str, float]:
    """Gains of a controller by name, each within its range."""
    check_known("controller", CONTROLLERS, controller)
    known, checked = CONTROLLERS[controller].gains, named_numbers("gains", {} if given is None else given)
    for name in checked:
        if not known:
            raise TrocarError(f"{controller!r} has no gains, got {name!r}")
        check_known(f"gain of {controller}", known, name)
    return {name: number(name, value, known[name].least, known[name].most) for name, value in checked.items()}


def instrument(value: object) -> str | PathLike[str]:
    """An instrument by name, or its file as a `Path`: a string from outside never opens a file."""
    if isinstance(value, PathLike) or (isinstance(value, str) and not value.endswith(".toml")):
        return value
    raise TrocarError(f"instrument must be a name, or the Path of a file, got {value!r}")


def changes(given: Mapping[str, Any]) -> dict[str, Any]:
    """Changes of the simulation by name; see `Settings.changed`."""
    check_known("setting", CHANGES, *given)
    checked = dict(given)
    for key in ("counterweight", "friction"):
        if not isinstance(checked.get(key, True), bool | np.bool_):
            raise TrocarError(f"{key} must be True or False, got {checked[key]!r}")
    if "instrument" in checked:
        instrument(checked["instrument"])
    if "gravity" in checked:
        checked["gravity"] = vector("gravity", checked["gravity"], 3)
    if "set_up" in checked:
        # the cart checks their number when the command is executed
        checked["set_up"] = vector("set_up", checked["set_up"])
    return checked
