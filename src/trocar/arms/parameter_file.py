"""Write a parameter set to a file that `load_parameters` reads back exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, fields
from typing import Any

import numpy as np

from trocar.arms.elastics import KINDS, Elastic
from trocar.arms.parameters import Drive, Inertia, Parameters
from trocar.toml_file import toml_text


def to_toml(parameters: Parameters, comments: Sequence[str] = ()) -> str:
    """TOML text of a set, with comment lines at the top. Numbers read back exactly."""
    content: dict[str, Any] = {key: getattr(parameters, key) for key in ("name", "arm", "geometry", "source")}
    if not parameters.physical:
        content["physical"] = False
    content["bodies"] = {name: _inertia(body) for name, body in parameters.inertias.items()}
    content["drives"] = {drive.name: _drive(drive) for drive in parameters.drives}
    content["elastics"] = {element.name: _elastic(element) for element in parameters.elastics}
    return toml_text({key: value for key, value in content.items() if value or key != "elastics"}, comments)


def _elastic(element: Elastic) -> dict[str, Any]:
    kind = next(kind for kind, cls in KINDS.items() if isinstance(element, cls))
    numbers = {f.name: getattr(element, f.name) for f in fields(element) if f.name not in ("name", "joint")}
    floats = {key: value if isinstance(value, tuple) else float(value) for key, value in numbers.items()}
    return {"kind": kind, "joint": element.joint, **floats}


def _inertia(body: Inertia) -> dict[str, Any]:
    return {"mass": float(body.mass), "com": body.com.tolist(), "inertia": body.I[np.triu_indices(3)].tolist()}


def _drive(drive: Drive) -> dict[str, Any]:
    space, weights = ("motors", drive.motors) if drive.motors else ("joints", drive.joints)
    entry: dict[str, Any] = {space: {name: float(weight) for name, weight in weights.items()}}
    entry |= {term: float(getattr(drive, term)) for term in drive.terms}
    if drive.hysteresis:
        entry["hysteresis"] = [[float(value) for value in astuple(dahl)] for dahl in drive.hysteresis]
    return entry
