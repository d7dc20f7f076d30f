"""Arms: data of every robot, with sources. Nothing here is computed from them.

`load_arm` returns an `Arm` (its joints, bodies, loops, motors and gains); `ARMS` lists the names. `geometries` and
`published` give the published link lengths, `instruments` the instruments and endoscopes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from trocar.arms import ecm, instruments, mtm, psm
from trocar.arms.arm import (
    Arm,
    Body,
    ControllerConstants,
    Gains,
    Joint,
    Loop,
    Motors,
    closure,
    gravity_vector,
    prismatic,
    revolute,
    shift,
)
from trocar.arms.tables import File, Geometry, read, stem
from trocar.errors import TrocarError, check_known

ARMS: dict[str, Callable[..., Arm]] = {
    "PSM": psm.psm,
    "PSM_Si": psm.psm_si,
    "ECM": ecm.ecm,
    "ECM_Si": ecm.ecm_si,
    "MTML": partial(mtm.mtm, "MTML"),
    "MTMR": partial(mtm.mtm, "MTMR"),
}


def load_arm(name: str, geometry: File | Geometry | None = None, instrument: File | None = None) -> Arm:
    """Load the data of an arm.

    Args:
        name: PSM, PSM_Si, ECM, ECM_Si, MTML or MTMR.
        geometry: published geometry, or a geometry file (NAME.toml, written by `trocar calibrate`). Default: the arm's
            default geometry.
        instrument: number, name or file (NAME.toml) of an instrument (PSM, PSM_Si) or endoscope (ECM, ECM_Si).
        Default: the arm's default one. `arms.instruments.names(arm)` lists them.
    """
    check_known("arm", ARMS, name)
    if instrument is not None and name not in instruments.GENERATIONS:
        raise TrocarError(f"{name} carries no instrument, got instrument={instrument!r}; omit it")
    tool = () if instrument is None else (instrument,)
    try:
        return ARMS[name](geometry, *tool)
    except TrocarError:
        raise
    except (ValueError, ZeroDivisionError) as error:
        # inconsistent lengths in a file, such as a bar shorter than its distance from the insertion axis
        raise TrocarError(f"the lengths of geometry {geometry} do not form a valid {name}: {error}") from None


def geometries(name: str) -> tuple[str, ...]:
    """Published geometries of an arm."""
    return tuple(published(name))


def published(name: str) -> Mapping[str, Mapping[str, Any]]:
    """Numbers of every published geometry of an arm [m, rad]."""
    return read(stem(name))["geometry"]


__all__ = [
    "ARMS",
    "Arm",
    "Body",
    "ControllerConstants",
    "Gains",
    "Geometry",
    "Joint",
    "Loop",
    "Motors",
    "closure",
    "geometries",
    "gravity_vector",
    "instruments",
    "load_arm",
    "prismatic",
    "published",
    "revolute",
    "shift",
]
