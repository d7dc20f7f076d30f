"""Elastic elements that are not proportional to a joint: cable torques and springs on levers."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from typing import Any

from trocar.arms.file_fields import MAX_LENGTH, Fields


@dataclass(frozen=True, kw_only=True)
class CableTorque:
    """Effort of cables on a joint as a polynomial of its position [N m], highest power first, times `amplitude`.

    Outside the measured range `lower` to `upper` [rad], the effort is that at the nearest end of the range.
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


def elastic(name: str, entry: Fields) -> Elastic:
    """An element from its table in a parameter file; errors name the field."""
    cls = KINDS[entry.choice("kind", tuple(KINDS), "")]
    values: dict[str, Any] = {}
    for field in fields(cls):
        if field.name == "joint":
            values["joint"] = entry.text("joint")
        elif field.name == "coefficients":
            values["coefficients"] = entry.numbers("coefficients")
        elif field.name in ("r", "h"):
            values[field.name] = entry.positive(field.name, most=MAX_LENGTH, unit="m")
        elif field.name != "name":
            default = () if field.default is MISSING else (field.default,)
            values[field.name] = entry.number(field.name, *default)
    entry.check_all_read()
    if cls is CableTorque and values["lower"] > values["upper"]:
        raise entry.error(f"has lower {values['lower']:g} > upper {values['upper']:g}")
    return cls(name=name, **values)
