"""Geometry: the link lengths of one arm, published or measured on your own robot and stored in a file.

    name = "bench PSM"
    arm = "PSM"
    frames = "gondokaryono2019"       # published geometry that defines the links and frames
    parameters = "gondokaryono2019"   # dynamic parameters in the same frames; optional
    source = "where the numbers come from"

    [lengths]                         # every length of the published geometry [m, rad]
    l_back = 0.1502

`trocar calibrate` adds tables of other measured quantities, which are not read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from os.path import isfile
from pathlib import Path
from typing import Any

from trocar.arms.file_fields import MAX_LENGTH, Fields
from trocar.errors import TrocarError, UnknownName, check_known
from trocar.toml_file import read_toml, toml_text

FIELDS = ("name", "arm", "frames", "parameters", "source", "lengths")
MEASURED = ("sigma", "distances", "offsets", "camera")  # tables that `trocar calibrate` adds


@dataclass(frozen=True, kw_only=True)
class Geometry:
    """Link lengths of an arm.

    Attributes:
        name: name of this geometry. arm: name of the arm. frames: published geometry that defines its links and frames.
        lengths: by their name in that geometry [m, rad]. source: origin of the numbers.
        parameters: dynamic parameter set in the same frames; None for kinematics only.
    """

    name: str
    arm: str
    frames: str
    lengths: Mapping[str, Any]
    source: str
    parameters: str | None = None


def is_geometry_file(path: str | PathLike[str]) -> bool:
    """True if a file holds a geometry rather than dynamic parameters."""
    return Path(path).suffix == ".toml" and isfile(path) and "lengths" in read_toml(path, "geometry file")


def read_geometry(path: str | PathLike[str], arm: str, published: Mapping[str, Mapping[str, Any]]) -> Geometry:
    """Read a geometry file of an arm, given its published geometries; every length must be present."""
    table, place = read_toml(path, "geometry file"), fspath(path)
    for key in ("arm", "frames", "source", "lengths"):
        if key not in table:
            raise TrocarError(f"{place} has no field '{key}': it is not a geometry file")
    fields = Fields(table, place)
    fields.check_known((*FIELDS, *MEASURED))
    intended, frames, numbers = fields.text("arm"), fields.text("frames"), fields.table("lengths")
    if intended != arm:
        raise TrocarError(f"{place} holds the geometry of {intended}, not of {arm}")
    if frames not in published:
        raise UnknownName(f"{place}: frames", frames, published)
    base = published[frames]
    names = length_names(base)
    numbers.check_known(names)
    for name in names:
        if name not in numbers:
            raise TrocarError(f"{place}: length '{name}' is missing; {frames} has {base[name]!r}")
    return Geometry(
        name=fields.text("name") if "name" in fields else Path(path).stem,
        arm=arm,
        frames=frames,
        lengths={**base, **{name: numbers.number(name, most=MAX_LENGTH, unit="m or rad") for name in names}},
        source=fields.text("source"),
        parameters=fields.text("parameters") if "parameters" in fields else None,
    )


def length_names(published: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of the numbers of a published geometry."""
    return tuple(name for name, value in published.items() if isinstance(value, int | float))


def to_toml(
    geometry: Geometry, comments: Sequence[str] = (), measured: Mapping[str, Mapping[str, object]] | None = None
) -> str:
    """TOML text that `read_geometry` reads back exactly.

    Args:
        measured: additional tables of numbers and lists (MEASURED), written below the lengths and ignored when read.
    """
    check_known("table of a geometry file", MEASURED, *(measured or {}))
    content: dict[str, Any] = {key: getattr(geometry, key) for key in ("name", "arm", "frames")}
    if geometry.parameters is not None:
        content["parameters"] = geometry.parameters
    content["source"] = geometry.source
    content["lengths"] = {name: float(geometry.lengths[name]) for name in length_names(geometry.lengths)}
    return toml_text({**content, **(measured or {})}, comments)
