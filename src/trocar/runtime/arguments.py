"""Checks on the arguments of commands, made before anything changes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trocar.errors import TrocarError, check_known
from trocar.runtime.controllers import CONTROLLERS
from trocar.runtime.settings import CHANGES
from trocar.spatial import Array, checked_pose


def vector(name: str, value: ArrayLike, n: int) -> Array:
    """A copy of n finite numbers."""
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise TrocarError(f"{name} must be {n} numbers, got {value!r}") from None
    if array.shape != (n,):
        raise TrocarError(f"{name} must have shape ({n},), got {array.shape}")
    if not np.isfinite(array).all():
        raise TrocarError(f"{name} must be finite, got {array.tolist()}")
    return array


def tip_pose(value: ArrayLike) -> Array:
    """A copy of one rigid pose (4, 4)."""
    try:
        T = np.array(checked_pose(value))
    except TrocarError as error:
        raise TrocarError(f"T: {error}") from None
    if T.shape != (4, 4):
        raise TrocarError(f"T must be one pose (4, 4), got shape {T.shape}")
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
    """A whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise TrocarError(f"{name} must be a whole number of at least 1, got {value!r}")
    return int(value)


def gains(controller: str, given: Mapping[str, float] | None) -> dict[str, float]:
    """Gains of a controller by name, each within its range."""
    check_known("controller", CONTROLLERS, controller)
    known = CONTROLLERS[controller].gains
    for name in given or {}:
        if not known:
            raise TrocarError(f"{controller!r} has no gains, got {name!r}")
        check_known(f"gain of {controller}", known, name)
    return {name: number(name, value, known[name].least, known[name].most) for name, value in (given or {}).items()}


def changes(given: Mapping[str, Any]) -> dict[str, Any]:
    """Changes of what is simulated, by name: see `Settings.changed`."""
    check_known("setting", CHANGES, *given)
    checked = dict(given)
    for key in ("counterweight", "friction"):
        if not isinstance(checked.get(key, True), bool | np.bool_):
            raise TrocarError(f"{key} must be True or False, got {checked[key]!r}")
    if "gravity" in checked:
        checked["gravity"] = vector("gravity", checked["gravity"], 3)
    if "set_up" in checked:
        checked["set_up"] = vector("set_up", checked["set_up"], np.size(checked["set_up"]))
    return checked
