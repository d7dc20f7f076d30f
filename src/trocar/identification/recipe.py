"""Recipes: what the model of an arm has and how it is identified, read from `arms/data/recipe_ARM.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trocar.arms import Arm, load_arm
from trocar.arms.elastics import elastic
from trocar.arms.parameters import Dahl, Drive, Parameters
from trocar.arms.tables import read
from trocar.errors import TrocarError, UnknownName
from trocar.identification.consistency import prior
from trocar.mechanics import Mechanism
from trocar.mechanics.inertia import from_pseudo_inertia, standard
from trocar.spatial import Array

RECIPES = {"PSM": "psm", "MTML": "mtm", "MTMR": "mtm"}


@dataclass(frozen=True, kw_only=True)
class Weights:
    """Strength of each penalty, relative to the sum over the joints of the squared relative error."""

    prior: float
    friction: float
    other: float


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How one arm is identified.

    Attributes:
        columns: joints or motors of a table without header. rate: its samples per second [Hz].
        effort_cutoff, motion_cutoffs: of the zero-phase filters [Hz]. trim: cut at both ends [s].
        delay: time by which recorded efforts are taken to be late [s].
        weights: of the penalties. least_rotors: smallest rotor inertia by drive [kg m^2].
        template: the structure of the model as a parameter set: link inertias are the prior's, numbers of drives are
            placeholders, and every column of its regressor is to be identified.
    """

    arm: str
    columns: tuple[str, ...]
    rate: float
    effort_cutoff: float
    motion_cutoffs: tuple[float, ...]
    trim: float
    weights: Weights
    least_rotors: Mapping[str, float]
    template: Parameters
    delay: float = 0.0

    def mechanism(self) -> Mechanism:
        """The equations of the template."""
        return Mechanism(load_arm(self.arm, self.template.geometry), self.template)


def load_recipe(arm: str) -> Recipe:
    """The recipe of an arm."""
    if arm not in RECIPES:
        raise UnknownName("arm with an identification recipe", arm, RECIPES)
    table = read(f"recipe_{RECIPES[arm]}")
    filters = table["filters"]
    return Recipe(
        arm=arm,
        columns=tuple(table["columns"]),
        rate=table["rate"],
        effort_cutoff=filters["effort"],
        motion_cutoffs=tuple(filters["motion"]),
        trim=filters["trim"],
        weights=Weights(**table["weights"]),
        least_rotors={name: entry["least_Im"] for name, entry in table["drives"].items() if "least_Im" in entry},
        template=Parameters(
            name="identified",
            arm=arm,
            geometry=table["geometry"],
            source="template",
            inertias={
                name: standard(from_pseudo_inertia(entry.P)) for name, entry in prior(RECIPES[arm].upper()).items()
            },
            drives=tuple(_drive(name, entry, table["deltas"]) for name, entry in table["drives"].items()),
            elastics=tuple(elastic(name, e, f"elastics.{name}") for name, e in table.get("elastics", {}).items()),
            path="",
        ),
    )


def joint_from_columns(arm: Arm, columns: tuple[str, ...]) -> Array:
    """T (n, n): q = T q_columns of columns that are each a joint or a motor of the arm; efforts are T.T @ tau."""
    inverse = np.linalg.inv(arm.motors.coupling)
    rows = []
    for name in columns:
        if name in arm.joint_names:
            rows.append(np.eye(arm.n)[arm.joint_names.index(name)])
        elif name in arm.motors.names:
            rows.append(inverse[arm.motors.names.index(name)])
        else:
            raise UnknownName(f"joint or motor of {arm.name}", name, (*arm.joint_names, *arm.motors.names))
    column_from_joint = np.array(rows)
    if len(rows) != arm.n or abs(np.linalg.det(column_from_joint)) < 1e-9:
        raise TrocarError(f"{', '.join(columns)} do not determine the {arm.n} joints of {arm.name}")
    return np.linalg.inv(column_from_joint)


def _drive(name: str, entry: Mapping[str, Any], deltas: Mapping[str, list[float]]) -> Drive:
    """A drive whose numbers are placeholders; a slope of one marks the elements that have one."""
    sloping = entry.get("slope", ())
    spectrum = deltas[entry["hysteresis"]] if "hysteresis" in entry else []
    return Drive(
        name=name,
        joints=entry.get("joints", {}),
        motors=entry.get("motors", {}),
        terms=tuple(entry["terms"]),
        hysteresis=tuple(Dahl(delta, 0.0, float(delta in sloping)) for delta in spectrum),
    )
