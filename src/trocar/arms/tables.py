"""Reading the data files in `arms/data`, and building the parts that several arms have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from trocar.arms.arm import Body, ControllerConstants, Deflection, ExcitationRanges, Gains, Motors, prismatic, revolute
from trocar.arms.geometry_file import Geometry, read_geometry
from trocar.errors import UnknownName
from trocar.spatial import Array, mdh
from trocar.toml_file import read_toml

HALF_PI = np.pi / 2
DATA = Path(__file__).parent / "data"
T = TypeVar("T")


def stem(arm: str) -> str:
    """Name of the data files of an arm; the two masters, which differ in joint limits only, share one."""
    return "mtm" if arm in ("MTML", "MTMR") else arm.lower()


@cache
def read(name: str) -> dict[str, Any]:
    """Contents of `data/NAME.toml`."""
    return read_toml(DATA / f"{name}.toml", "file")


def built(kind: type[T], entry: Mapping[str, Any], **values: Any) -> T:
    """Build a dataclass from the entries of a table that are its fields (lists as tuples) and the values fields."""
    names = {field.name for field in fields(kind)} - set(values)  # type: ignore[arg-type]
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


def geometry(
    arm: str, table: Mapping[str, Any], which: str | PathLike[str] | Geometry | None, default: str
) -> Geometry:
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


def remote_centre_chain(d_insertion: float) -> tuple[Body, ...]:
    """First three rows of the dVRK table of every PSM and ECM: yaw, pitch and insertion through the RCM."""
    return (
        revolute("yaw", None, mdh(alpha=HALF_PI, theta=HALF_PI), {"yaw": 1.0}),
        revolute("pitch", "yaw", mdh(alpha=-HALF_PI, theta=-HALF_PI), {"pitch": 1.0}),
        prismatic("insertion", "pitch", mdh(alpha=HALF_PI, d=d_insertion), {"insertion": 1.0}),
    )
