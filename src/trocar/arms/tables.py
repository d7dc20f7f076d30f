"""Reading the number files in `arms/data`, and the parts that several arms build from them the same way."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from os import PathLike, fspath
from typing import Any

import numpy as np

from trocar.arms.arm import Body, Deflection, ExcitationRanges, Gains, Joint, Motors, prismatic, revolute
from trocar.arms.geometry_file import Geometry, read_geometry
from trocar.errors import UnknownName
from trocar.spatial import Array, mdh

HALF_PI = np.pi / 2


def stem(arm: str) -> str:
    """Name of the data files of an arm; the masters, which differ in their joint limits only, share theirs."""
    return "mtm" if arm in ("MTML", "MTMR") else arm.lower()


@cache
def read(name: str) -> dict[str, Any]:
    """Contents of `data/NAME.toml`."""
    text = files("trocar.arms").joinpath("data", f"{name}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def joint(entry: Mapping[str, Any]) -> Joint:
    keys = ("name", "kind", "lower", "upper", "effort", "velocity", "acceleration")
    return Joint(**{key: entry[key] for key in keys})


def motors(table: Mapping[str, Any], coupling: Array) -> Motors:
    coupling.setflags(write=False)
    return Motors(
        names=tuple(table["names"]),
        gear=tuple(table["gear"]),
        torque_constant=tuple(table["torque_constant"]),
        current=tuple(table["current"]),
        encoder_counts=tuple(table.get("encoder_counts", ())),
        coupling=coupling,
    )


def gains(table: Mapping[str, Any]) -> Gains:
    return Gains(kp=tuple(table["kp"]), ki=tuple(table["ki"]), kd=tuple(table["kd"]))


def excitation(table: Mapping[str, Any]) -> ExcitationRanges:
    entry = table["excitation"]
    joints, motors = ({name: tuple(row) for name, row in entry.get(kind, {}).items()} for kind in ("joints", "motors"))
    chosen = {key: entry[key] for key in ("frequency",) if key in entry}
    redundant = tuple(entry.get("redundant_links", ()))
    return ExcitationRanges(joints=joints, motors=motors, redundant_links=redundant, **chosen)


def deflections(table: Mapping[str, Any]) -> dict[str, Deflection]:
    """Of the elastic drives, by joint; none where the file has none."""
    return {
        name: Deflection(compliance=tuple(entry["compliance"]), offset=tuple(entry["offset"]))
        for name, entry in table.get("deflections", {}).items()
        if isinstance(entry, dict)
    }


def brakes(table: Mapping[str, Any]) -> tuple[str, ...]:
    """Joints with a brake; none where the file names none."""
    return tuple(table.get("brakes", {}).get("joints", ()))


def geometry(
    arm: str, table: Mapping[str, Any], which: str | PathLike[str] | Geometry | None, default: str
) -> Geometry:
    """A geometry of an arm: a published one by its name, one from a file (NAME.toml), or as it is."""
    if isinstance(which, Geometry):
        return which
    name, published = default if which is None else fspath(which), table["geometry"]
    if name in published:
        numbers = published[name]
        return Geometry(name=name, arm=arm, frames=name, lengths=numbers, source=numbers["source"])
    if name.endswith(".toml"):
        return read_geometry(name, arm, published)
    raise UnknownName(f"geometry of {arm}", name, (*published, "a path ending in .toml"))


def sources(table: Mapping[str, Any], shape: Geometry) -> dict[str, str]:
    found = {key: table[key]["source"] for key in ("serial", "arm", "motors", "gains")}
    found["joints"] = table["joints"][0]["source"]
    found["geometry"] = shape.source
    return found


def remote_centre_chain(d_insertion: float) -> tuple[Body, ...]:
    """First three rows of the dVRK table of every PSM and ECM: yaw, pitch and insertion through the RCM."""
    return (
        revolute("yaw", None, mdh(alpha=HALF_PI, theta=HALF_PI), {"yaw": 1.0}),
        revolute("pitch", "yaw", mdh(alpha=-HALF_PI, theta=-HALF_PI), {"pitch": 1.0}),
        prismatic("insertion", "pitch", mdh(alpha=HALF_PI, d=d_insertion), {"insertion": 1.0}),
    )
