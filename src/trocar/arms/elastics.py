"""Elastic elements that are not proportional to a joint: cable torques and springs on levers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from trocar.errors import TrocarError, UnknownName


@dataclass(frozen=True, kw_only=True)
class CableTorque:
    """Effort of cables on a joint as a polynomial of its position [N m], highest power first, times `amplitude`.

    Beyond `lower` and `upper`, the range it was measured in [rad], the effort stays what it is there.
    """

    name: str
    joint: str
    coefficients: tuple[float, ...]
    lower: float
    upper: float
    amplitude: float = 1.0


@dataclass(frozen=True, kw_only=True)
class LeverSpring:
    """A coil spring between a lever on a joint and a fixed point.

    With theta = pi + offset - q its length is l = sqrt(r^2 + h^2 - 2 r h cos(theta)), its energy
    amplitude / 2 (l - rest)^2.

    Attributes:
        amplitude: stiffness [N/m]. r: lever [m]. h: joint axis to the fixed point [m]. rest: free length [m].
        offset: [rad].
    """

    name: str
    joint: str
    amplitude: float
    r: float
    h: float
    rest: float
    offset: float


Elastic = CableTorque | LeverSpring
KINDS: dict[str, type[CableTorque] | type[LeverSpring]] = {"cable": CableTorque, "lever": LeverSpring}


def elastic(name: str, entry: Mapping[str, Any], where: str) -> Elastic:
    """An element from its table in a parameter file; errors name the field."""
    fields = dict(entry)
    kind = fields.pop("kind", None)
    if not (isinstance(kind, str) and kind in KINDS):
        raise UnknownName(f"{where}: kind", kind, KINDS)
    for field, value in fields.items():
        if field == "joint":
            fine, wanted = isinstance(value, str), "the name of a joint"
        elif field == "coefficients":
            fine, wanted = isinstance(value, list) and bool(value) and all(map(_is_number, value)), "a list of numbers"
        else:
            fine, wanted = _is_number(value), "a finite number"
        if not fine:
            raise TrocarError(f"{where}: '{field}' must be {wanted}, got {value!r}")
    if "coefficients" in fields:
        fields["coefficients"] = tuple(map(float, fields["coefficients"]))
    try:
        return KINDS[kind](name=name, **fields)
    except TypeError as error:
        raise TrocarError(f"{where}: {str(error).split('__init__() ')[-1]}") from None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
