"""Recipes: the structure of an arm's model, and the filters and weights of its identification.

A recipe is a TOML table. Those of the PSM and the MTMs are `arms/data/recipe_ARM.toml`, chosen by cross-validation on a
published recording. `trocar identify --search` writes a new one.

Other arms get a general one: the drives of the arm's parameter set, with the friction terms of the set (on the Si arms
they depend on load and depth) and a row of Dahl elements. At rest, Coulomb friction is unknown within a band: a joint
is not fitted while it hardly moves. Links are regularised towards those of the set. A constant effort is a force K0 if
the set has one and no bias, otherwise a bias Fo of the measured effort: a recording cannot distinguish the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from trocar.arms import ARMS, Arm, load_arm
from trocar.arms.file_fields import Fields
from trocar.arms.mirroring import reversed_joints
from trocar.arms.parameters import DRIVE_TERMS, Dahl, Drive, Parameters, drive_coordinate, elastic, load_parameters
from trocar.arms.tables import DATA, read, stem
from trocar.errors import TrocarError, check_known, shown
from trocar.identification.consistency import Prior, prior
from trocar.mechanics import Mechanism
from trocar.mechanics.inertia import barycentric, from_pseudo_inertia, pseudo_inertia, standard
from trocar.toml_file import read_toml

RECIPES = tuple(arm for arm in ARMS if (DATA / f"recipe_{stem(arm)}.toml").exists())  # arms with a built-in recipe
FIELDS = ("arm", "geometry", "prior", "columns", "rate", "filters", "weights", "deltas", "drives", "elastics")
WEIGHTS = ("prior", "friction", "other")
FILTERS = ("effort", "motion", "trim", "delay", "slower_than")
DRIVE_KEYS = ("joints", "motors", "terms", "hysteresis", "slope", "least_Im", "held")
RADIUS = 0.02  # minimum thickness of a link, so that its prior can change in all directions [m]
MIN_ROTOR = 1e-6  # [kg m^2, kg]
BY_STATE = ("Fx", "mu")  # terms of friction that depends on position or load
DELTAS = {  # deltas of the Dahl elements [rad, m], three per decade
    "rad": [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1],
    "m": [0.00002, 0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002],
}


@dataclass(frozen=True, kw_only=True)
class Weights:
    """Strength of each penalty, relative to the sum over the joints of the squared relative error.

    Attributes:
        prior: for links. friction: for friction elements and viscous terms. other: for biases, constant forces,
            springs and rotors.
        held: factors on the last two, such as `pitch.K2` or `disc_3.hysteresis` (all elements of that drive).
    """

    prior: float
    friction: float
    other: float
    held: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Model structure, filters and weights for the identification of one arm.

    Attributes:
        name: origin of the recipe. arm: the arm to identify, in the geometry of the template.
        columns, rate: names and samples per second [Hz] of a table without header; None for the published layout.
        effort_cutoff, motion_cutoffs: of the zero-phase filters [Hz]. trim: time cut off at both ends [s].
        delay: assumed delay of recorded efforts [s].
        slower_than: while a column is slower than this fraction of its top speed, it is scored but not fitted.
        weights: of the penalties. least_rotors: smallest rotor inertia by drive [kg m^2].
        priors: prior knowledge of each link.
        template: the structure of the model as a parameter set: link inertias are those of the prior, numbers of drives
            are placeholders, and every column of its regressor is identified.
        gravity: (3,) in base axes while the arm is recorded [m/s^2]; None: that of the arm's usual mounting.
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
    gravity: tuple[float, ...] | None = None

    def mechanism(self, parameters: Parameters | None = None) -> Mechanism:
        """The equations of the recorded arm with these parameters. Default: those of the template."""
        return Mechanism(self.arm, parameters or self.template, gravity=self.gravity)


def load_recipe(
    arm: str | Arm, path: str | Path | None = None, parameters: str | Path | Parameters | None = None
) -> Recipe:
    """Load the recipe of an arm, or one from a file.

    parameters: known set of a custom arm, which gives the drives of its general recipe and the prior of its links.
    """
    if isinstance(arm, Arm):
        if path is not None or parameters is None:
            raise TrocarError(f"{arm.name} is a custom Arm, which needs a general recipe: give its parameters")
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
    fields = Fields(table, where)
    intended = fields.text("arm") if "arm" in fields else arm
    if stem(intended) != stem(arm):
        raise TrocarError(f"{where} is a recipe for {intended}, not for {arm}")
    priors = prior_of_set(load_parameters(arm, fields.text("prior"))) if "prior" in fields else prior(arm)
    recipe = _recipe(load_arm(arm, fields.text("geometry")), table, priors, where)
    # springs and cables are those of the arm that the recipe names; the priors are already those of `arm`
    turned = reversed_joints(arm, intended)
    elastics = tuple(e.reversed() if e.joint in turned else e for e in recipe.template.elastics)
    return replace(recipe, template=replace(recipe.template, elastics=elastics))


def _recipe(robot: Arm, table: Mapping[str, Any], priors: Mapping[str, Prior], where: str) -> Recipe:
    fields = Fields(table, where)
    fields.check_known(FIELDS)
    filters, weights, deltas = fields.table("filters"), fields.table("weights"), fields.table("deltas")
    filters.check_known(FILTERS)
    weights.check_known(WEIGHTS)
    spectra = {name: deltas.numbers(name) for name in deltas}
    drives = {name: _drive(name, entry, spectra) for name, entry in fields.tables("drives").items()}
    if not drives:
        raise fields.error("needs at least one drive, [drives.NAME]; compare arms/data/recipe_psm.toml")
    motion = filters.numbers("motion")
    if len(motion) != robot.n or min(motion) <= 0:
        raise filters.error(f"motion needs {robot.n} positive cut-offs [Hz], got {shown(motion)}")
    entries = fields.tables("drives")
    return Recipe(
        name=where,
        arm=robot,
        columns=fields.words("columns") if "columns" in fields else None,
        rate=fields.positive("rate", unit="Hz") if "rate" in fields else None,
        effort_cutoff=filters.positive("effort", unit="Hz"),
        motion_cutoffs=motion,
        trim=filters.number("trim", least=0.0, unit="s"),
        delay=filters.number("delay", 0.0, most=10.0, unit="s"),
        slower_than=filters.number("slower_than", 0.0, least=0.0, most=1.0),
        weights=Weights(
            held={key: factor for name, entry in entries.items() for key, factor in _held(name, entry).items()},
            **{key: weights.positive(key) for key in WEIGHTS},  # without them the estimate is not unique
        ),
        least_rotors={
            name: entry.number("least_Im", least=0.0) for name, entry in entries.items() if "least_Im" in entry
        },
        priors=priors,
        template=Parameters(
            name="identified",
            arm=robot.name,
            geometry=fields.text("geometry"),
            source="template",
            inertias={name: standard(from_pseudo_inertia(entry.P)) for name, entry in priors.items()},
            drives=tuple(drives.values()),
            elastics=tuple(elastic(name, entry) for name, entry in fields.tables("elastics").items()),
            path="",
        ),
    )


def _held(drive: str, entry: Fields) -> dict[str, float]:
    """Factors on the weights of terms of a drive, by `drive.term`."""
    if "held" not in entry:
        return {}
    factors, terms = entry.table("held"), entry.words("terms")
    check_known(f"{entry.path}: held term", (*terms, "hysteresis") if "hysteresis" in entry else terms, *factors)
    return {f"{drive}.{term}": factors.positive(term) for term in factors}


def _drive(name: str, entry: Fields, spectra: Mapping[str, tuple[float, ...]]) -> Drive:
    """A drive with placeholder numbers; a slope of 1 marks elements with position-dependent friction."""
    entry.check_known(DRIVE_KEYS)
    terms = entry.words("terms")
    check_known(f"{entry.path}: term", DRIVE_TERMS, *terms)
    if len(set(terms)) < len(terms):
        raise entry.error(f"'terms' names a term twice: {', '.join(terms)}")
    spectrum = spectra[entry.choice("hysteresis", tuple(spectra), "")] if "hysteresis" in entry else ()
    sloping = entry.numbers("slope") if "slope" in entry else ()
    if any(delta not in spectrum for delta in sloping):
        raise entry.error(f"'slope' must list deltas from {shown(spectrum)}, got {shown(sloping)}")
    try:
        coordinate: dict[str, Any] = {**drive_coordinate(entry)}
        elements = tuple(Dahl(delta, 0.0, float(delta in sloping)) for delta in spectrum)
        return Drive(name=name, terms=terms, hysteresis=elements, **coordinate)
    except TrocarError as error:
        raise entry.error(str(error)) from None


# -- general recipe ----------------------------------------------------------------------------------------------------


def general_table(robot: Arm, known: Parameters) -> dict[str, Any]:
    """The general recipe as a table, for any arm with parameters."""
    return {
        "arm": robot.name,
        "geometry": known.geometry,
        "prior": known.name,
        "filters": {"effort": 17.0, "motion": [17.0] * robot.n, "trim": 1.0, "slower_than": 0.05},
        "weights": {"prior": 4e-4, "friction": 1e-3, "other": 2e-4},
        "deltas": DELTAS,
        "drives": _drives(known, robot),
    }


def prior_of_set(known: Parameters) -> dict[str, Prior]:
    """Priors from the links of a parameter set, thickened by RADIUS; masses and centres of mass are not limited."""
    priors = {}
    for name, body in known.inertias.items():
        P = pseudo_inertia(barycentric(body))
        P[:3, :3] += body.mass * RADIUS**2 * np.eye(3)
        priors[name] = Prior(P, np.inf)
    return priors


def _drives(known: Parameters, robot: Arm) -> dict[str, Any]:
    """One entry for each direction of the set's drives, and one for each joint that has none."""
    covered = {name for drive in known.drives for name, weight in drive.joints.items() if weight}
    alone = [Drive(name=name, joints={name: 1.0}) for name in robot.joint_names if name not in covered]
    entries: dict[str, Any] = {}
    directions: dict[str, np.ndarray] = {}
    for drive in (*known.drives, *alone):
        row = drive.row(robot)
        direction = row / np.linalg.norm(row)
        same = [name for name, other in directions.items() if abs(other @ direction) > 1 - 1e-9]
        if same:  # two friction terms along one coordinate cannot be distinguished
            entry = entries[same[0]]
            more = [term for term in ("Im", "K", *BY_STATE) if term in drive.terms and term not in entry["terms"]]
            entry["terms"] += more
        else:
            directions[drive.name] = direction
            entry = entries[drive.name] = _entry(drive, robot)
        if "Im" in entry["terms"]:
            entry["least_Im"] = MIN_ROTOR
    return entries


def _entry(drive: Drive, robot: Arm) -> dict[str, Any]:
    space, weights = ("motors", drive.motors) if drive.motors else ("joints", drive.joints)
    rotor_only = set(drive.terms) == {"Im"} and not drive.hysteresis
    if rotor_only:
        return {space: dict(weights), "terms": ["Im"]}
    has_constant = not {"Fo", "K0"}.isdisjoint(drive.terms) or (space == "joints" and len(weights) == 1)
    constant = ["K0" if "K0" in drive.terms and "Fo" not in drive.terms else "Fo"] if has_constant else []
    own = [term for term in ("Im", "Fc", "K", *BY_STATE) if term in drive.terms]
    terms = [*own, "Fv", *constant]
    units = {joint.name: joint.unit for joint in robot.joints}
    return {space: dict(weights), "terms": terms, "hysteresis": units.get(next(iter(weights)), "rad")}
