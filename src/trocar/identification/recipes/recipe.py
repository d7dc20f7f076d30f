"""Recipes: the structure of an arm's model, and the filters and weights by which it is identified.

A recipe is a TOML table. Those of the PSM and the MTMs are `arms/data/recipe_ARM.toml`, chosen by cross-validation on a
published recording. Other arms get a general one (`general_recipe.py`). `trocar identify --search` writes a new one.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from trocar.arms import ARMS, Arm, load_arm
from trocar.arms.elastics import elastic
from trocar.arms.parameters import DRIVE_TERMS, Dahl, Drive, Parameters, load_parameters
from trocar.arms.tables import read, stem
from trocar.errors import TrocarError, check_known
from trocar.identification.consistency import Prior, prior
from trocar.identification.recipes.general import general_table, prior_of_set
from trocar.mechanics import Mechanism
from trocar.mechanics.inertia import from_pseudo_inertia, standard
from trocar.toml_file import read_toml

RECIPES = ("PSM", "MTML", "MTMR")  # arms with a recipe of their own
WEIGHTS = ("prior", "friction", "other")
FILTERS = ("effort", "motion", "trim", "delay", "slower_than")
DRIVE_KEYS = ("joints", "motors", "terms", "hysteresis", "slope", "least_Im", "held")


@dataclass(frozen=True, kw_only=True)
class Weights:
    """Strength of each penalty, relative to the sum over the joints of the squared relative error.

    Attributes:
        prior: of links. friction: of friction elements and viscous terms. other: of biases, constant forces, springs
            and rotors.
        held: factors on the last two, such as `pitch.K2` or `disc_3.hysteresis` (all elements of that drive).
    """

    prior: float
    friction: float
    other: float
    held: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Model structure, filters and weights by which one arm is identified.

    Attributes:
        name: origin, in words. arm: the arm to identify, in the geometry of the template.
        columns, rate: names and samples per second [Hz] of a table without header; None for the published layout.
        effort_cutoff, motion_cutoffs: of the zero-phase filters [Hz]. trim: cut at both ends [s].
        delay: time by which recorded efforts are taken to be late [s].
        slower_than: rows are not fitted (but judged) where any column is slower than this fraction of its top speed.
        weights: of the penalties. least_rotors: smallest rotor inertia by drive [kg m^2].
        priors: prior knowledge of each link.
        template: the structure of the model as a parameter set: link inertias are the prior's, numbers of drives are
            placeholders, and every column of its regressor is to be identified.
    """

    name: str
    arm: Arm
    effort_cutoff: float
    motion_cutoffs: tuple[float, ...]
    trim: float
    weights: Weights
    least_rotors: Mapping[str, float]
    priors: Mapping[str, Prior]
    template: Parameters
    delay: float = 0.0
    slower_than: float = 0.0
    columns: tuple[str, ...] | None = None
    rate: float | None = None

    def mechanism(self) -> Mechanism:
        """The equations of the template."""
        return Mechanism(self.arm, self.template)


def load_recipe(
    arm: str | Arm, path: str | Path | None = None, parameters: str | Path | Parameters | None = None
) -> Recipe:
    """The recipe of an arm, or one from a file.

    parameters: known set of an arm of your own: gives the drives of its general recipe and the prior of its links.
    """
    if isinstance(arm, Arm):
        if path is not None or parameters is None:
            raise TrocarError(f"{arm.name} is given as an Arm: it has a general recipe, for which give its parameters")
        known = load_parameters(arm.name, parameters)
        return _recipe(arm, general_table(arm, known), prior_of_set(known), f"general recipe for {arm.name}")
    return recipe_of(arm, recipe_table(arm, path), path)


def recipe_table(arm: str, path: str | Path | None = None) -> dict[str, Any]:
    """The recipe of an arm, or one from a file, as its table."""
    check_known("arm", ARMS, arm)
    if path is None:
        if arm in RECIPES:
            return deepcopy(read(f"recipe_{stem(arm)}"))
        known = load_parameters(arm)
        return general_table(load_arm(arm, known.geometry), known)
    return read_toml(path, "recipe")


def recipe_of(arm: str, table: Mapping[str, Any], path: str | Path | None = None) -> Recipe:
    """The recipe that a table describes, from a file or built in. Errors name the key that is wrong."""
    built_in = f"recipe_{stem(arm)}.toml" if arm in RECIPES else f"general recipe for {arm}"
    where = built_in if path is None else str(path)
    try:
        intended = table.get("arm", arm)
        if stem(intended) != stem(arm):
            raise TrocarError(f"{where} is a recipe for {intended}, not for {arm}")
        given = "prior" in table
        priors = prior_of_set(load_parameters(arm, table["prior"])) if given else prior(arm)
        return _recipe(load_arm(arm, table["geometry"]), table, priors, where)
    except KeyError as error:
        raise TrocarError(f"{where} has no field {error}; compare arms/data/recipe_psm.toml") from None
    except (TypeError, ValueError, AttributeError) as error:
        if isinstance(error, TrocarError):
            raise
        raise TrocarError(f"{where} is not a recipe: {error}; compare arms/data/recipe_psm.toml") from None


def _recipe(robot: Arm, table: Mapping[str, Any], priors: Mapping[str, Prior], where: str) -> Recipe:
    filters, drives = table["filters"], table["drives"]
    check_known(f"{where}: [filters]: field", FILTERS, *filters)
    for drive, entry in drives.items():
        check_known(f"{where}: [drives.{drive}]: field", DRIVE_KEYS, *entry)
        check_known(f"{where}: [drives.{drive}]: term", DRIVE_TERMS, *entry["terms"])
    if len(filters["motion"]) != robot.n:
        raise TrocarError(f"{where}: [filters] motion needs {robot.n} cut-offs, got {len(filters['motion'])}")
    held = {
        f"{drive}.{term}": _factor(entry, term, f"{where}: [drives.{drive}]")
        for drive, entry in drives.items()
        for term in entry.get("held", {})
    }
    check_known(f"{where}: [weights]: field", WEIGHTS, *table["weights"])
    weights = Weights(held=held, **{key: float(value) for key, value in table["weights"].items()})
    if min(weights.prior, weights.friction, weights.other) <= 0:
        raise TrocarError(f"{where}: [weights] must be positive: without them the estimate is not unique")
    return Recipe(
        name=where,
        arm=robot,
        columns=tuple(table["columns"]) if "columns" in table else None,
        rate=float(table["rate"]) if "rate" in table else None,
        effort_cutoff=float(filters["effort"]),
        motion_cutoffs=tuple(float(f) for f in filters["motion"]),
        trim=float(filters["trim"]),
        delay=float(filters.get("delay", 0.0)),
        slower_than=float(filters.get("slower_than", 0.0)),
        weights=weights,
        least_rotors={name: float(entry["least_Im"]) for name, entry in drives.items() if "least_Im" in entry},
        priors=priors,
        template=Parameters(
            name="identified",
            arm=robot.name,
            geometry=table["geometry"],
            source="template",
            inertias={name: standard(from_pseudo_inertia(entry.P)) for name, entry in priors.items()},
            drives=tuple(_drive(name, entry, table["deltas"]) for name, entry in drives.items()),
            elastics=tuple(elastic(name, e, f"elastics.{name}") for name, e in table.get("elastics", {}).items()),
            path="",
        ),
    )


def _factor(entry: Mapping[str, Any], term: str, where: str) -> float:
    """Factor on the weight of a term of a drive."""
    known = (*entry["terms"], *(("hysteresis",) if "hysteresis" in entry else ()))
    check_known(f"{where}: held term", known, term)
    factor = float(entry["held"][term])
    if not (np.isfinite(factor) and factor > 0):
        raise TrocarError(f"{where}: held: the factor of {term} must be positive, got {factor:g}")
    return factor


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
