"""Data files of the arms: the tables in `arms/data`, parts that several arms share, and geometries.

A geometry is the link lengths of one arm, published or measured on your own robot and stored in a file:

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
from dataclasses import dataclass, fields
from functools import cache
from os import PathLike, fspath
from os.path import isfile
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from trocar.arms.arm import Body, ControllerConstants, Deflection, ExcitationRanges, Gains, Motors, prismatic, revolute
from trocar.arms.file_fields import MAX_LENGTH, Fields
from trocar.errors import TrocarError, UnknownName, check_known
from trocar.spatial import Array, mdh
from trocar.toml_file import read_toml, toml_text

HALF_PI = np.pi / 2
DATA = Path(__file__).parent / "data"
T = TypeVar("T")
File = str | PathLike[str]  # name or path
GEOMETRY_FIELDS = ("name", "arm", "frames", "parameters", "source", "lengths")
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


def stem(arm: str) -> str:
    """Name of the data files of an arm; the two masters share one."""
    return "mtm" if arm in ("MTML", "MTMR") else arm.lower()


@cache
def read(name: str) -> dict[str, Any]:
    """Contents of `data/NAME.toml`."""
    return read_toml(DATA / f"{name}.toml", "file")


def built(kind: type[T], entry: Mapping[str, Any], **values: Any) -> T:
    """Build a dataclass from the entries of a table that are its fields (lists as tuples) and the values fields."""
    names = {field.name for field in fields(cast(Any, kind))} - set(values)
    return kind(**{name: _tuples(value) for name, value in entry.items() if name in names}, **values)


def shared_facts(name: str, table: Mapping[str, Any], shape: Geometry, coupling: Array) -> dict[str, Any]:
    """Fields of an `Arm` that are read from the file in the same way for every arm."""
    coupling.setflags(write=False)
    bends = {name: entry for name, entry in table.get("deflections", {}).items() if isinstance(entry, dict)}
    sources = {key: table[key]["source"] for key in ("serial", "arm", "motors", "gains", "controller")}
    return {
        "name": name,
        "geometry": shape.name,
        "brakes": tuple(table.get("brakes", {}).get("joints", ())),
        "home": tuple(table["arm"]["home"]),
        "mounting": table["arm"].get("mounting", 0.0),
        "generation": table["arm"].get("generation", "Classic"),
        "motors": built(Motors, table["motors"], coupling=coupling),
        "gains": built(Gains, table["gains"]),
        "controller": built(ControllerConstants, table["controller"]),
        "excitation": built(ExcitationRanges, table.get("excitation", {})),
        "deflections": {name: built(Deflection, entry) for name, entry in bends.items()},
        "sources": {**sources, "joints": table["joints"][0]["source"], "geometry": shape.source},
    }


def _tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _tuples(part) for key, part in value.items()}
    return tuple(value) if isinstance(value, list) else value


def geometry(arm: str, table: Mapping[str, Any], which: File | Geometry | None, default: str) -> Geometry:
    """Geometry of an arm: a published one by name, one from a file (NAME.toml), or a `Geometry` unchanged."""
    if isinstance(which, Geometry):
        return which
    name, published = default if which is None else fspath(which), table["geometry"]
    if name in published:
        numbers = published[name]
        return Geometry(name=name, arm=arm, frames=name, lengths=numbers, source=numbers["source"])
    if name.endswith(".toml"):
        return read_geometry(name, arm, published)
    raise UnknownName(f"geometry of {arm}", name, (*published, "a path ending in .toml"))


def is_geometry_file(path: File) -> bool:
    """True if a file holds a geometry rather than dynamic parameters."""
    return Path(path).suffix == ".toml" and isfile(path) and "lengths" in read_toml(path, "geometry file")


def read_geometry(path: File, arm: str, published: Mapping[str, Mapping[str, Any]]) -> Geometry:
    """Read a geometry file of an arm, given its published geometries; every length must be present."""
    table, place = read_toml(path, "geometry file"), fspath(path)
    for key in ("arm", "frames", "source", "lengths"):
        if key not in table:
            raise TrocarError(f"{place} has no field '{key}': it is not a geometry file")
    entry = Fields(table, place)
    entry.check_known((*GEOMETRY_FIELDS, *MEASURED))
    intended, frames, numbers = entry.text("arm"), entry.text("frames"), entry.table("lengths")
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
        name=entry.text("name") if "name" in entry else Path(path).stem,
        arm=arm,
        frames=frames,
        lengths={**base, **{name: numbers.number(name, most=MAX_LENGTH, unit="m or rad") for name in names}},
        source=entry.text("source"),
        parameters=entry.text("parameters") if "parameters" in entry else None,
    )


def length_names(published: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of the numbers of a published geometry."""
    return tuple(name for name, value in published.items() if isinstance(value, int | float))


def geometry_toml(
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


def remote_centre_chain(d_insertion: float) -> tuple[Body, ...]:
    """First three rows of the dVRK table of every PSM and ECM: yaw, pitch and insertion through the RCM."""
    return (
        revolute("yaw", None, mdh(alpha=HALF_PI, theta=HALF_PI), {"yaw": 1.0}),
        revolute("pitch", "yaw", mdh(alpha=-HALF_PI, theta=-HALF_PI), {"pitch": 1.0}),
        prismatic("insertion", "pitch", mdh(alpha=HALF_PI, d=d_insertion), {"insertion": 1.0}),
    )
