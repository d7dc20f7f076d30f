"""Loading a mechanism: a built-in arm by name or a custom one, in the geometry of its parameter set."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from trocar.arms import ARMS, Arm, Geometry, geometries, load_arm, published
from trocar.arms.added_mass import with_added_mass
from trocar.arms.endoscopes import with_endoscope
from trocar.arms.geometry_file import is_geometry_file, read_geometry
from trocar.arms.parameters import SETS, Parameters, load_parameters
from trocar.errors import TrocarError, UnknownName, check_known, check_type
from trocar.mechanics.mechanism import Mechanism


def load_mechanism(
    arm: str | Arm,
    parameters: str | Path | Parameters | None = None,
    *,
    counterweight: bool = True,
    instrument: str | Path | None = None,
    gravity: ArrayLike | None = None,
    mounting: float | None = None,
    rotor_inertia: float | None = None,
    endoscope: str | float | None = None,
    added_mass: float = 0.0,
) -> Mechanism:
    """Load the equations of motion of an arm.

    Args:
        arm: PSM, PSM_Si, ECM, ECM_Si, MTML or MTMR, or a custom `Arm`.
        parameters: parameter set, its name, or the path of a parameter file; it defines the geometry. Default: the
            arm's best set. A custom arm without a set, and a published geometry without dynamic parameters, have
            kinematics only. A geometry file (written by `trocar calibrate`) gives the link lengths, with the
            parameters that it names.
        counterweight: False removes only the mass and inertia of the counterweight (arms that have one).
        instrument: number, name or file (NAME.toml) of the instrument or endoscope. Default: the arm's default.
        gravity: vector [m/s^2] in base axes, or `mounting`: pitch of the base about x [rad].
        rotor_inertia: overrides the inertia of the instrument motors, referred to the discs [kg m^2].
        endoscope: endoscope of an ECM, by type (ECM: SD, HD, custom, none; ECM_Si: HD) or mass [kg]. Default: that
            of the set (ECM: SD). `instrument` selects its viewing direction.
        added_mass: mass of the instrument relative to that of the set, heavier (+) or lighter (-) [kg].
    """
    facts, found = load_set(arm, parameters, instrument, rotor_inertia, endoscope, added_mass)
    return Mechanism(facts, found, counterweight=counterweight, gravity=gravity, mounting=mounting)


def load_set(
    arm: str | Arm,
    parameters: str | Path | Parameters | None = None,
    instrument: str | Path | None = None,
    rotor_inertia: float | None = None,
    endoscope: str | float | None = None,
    added_mass: float = 0.0,
) -> tuple[Arm, Parameters | None]:
    """An arm in the geometry of a parameter set, and that set (None if there is only a geometry)."""
    if not isinstance(arm, Arm):
        check_known("arm", ARMS, arm)
    if parameters is not None:
        allowed = "a parameter set, its name, or the path of a parameter file"
        check_type("parameters", parameters, (str, Path, Parameters), allowed)
    if instrument is not None:
        check_type("instrument", instrument, (str, int, Path), "a number such as '400006', a name, or a file NAME.toml")
    if isinstance(arm, Arm):
        facts, found = arm, None if parameters is None else load_parameters(arm.name, parameters)
        if instrument is not None:
            raise TrocarError(f"{arm.name} is given as an Arm, with its instrument; omit instrument={instrument!r}")
        if found is not None and found.geometry != arm.geometry:
            raise TrocarError(
                f"the parameter set '{found.name}' is for geometry '{found.geometry}', the arm has '{arm.geometry}'"
            )
    else:
        geometry, found = _geometry_and_set(arm, parameters)
        facts = load_arm(arm, geometry, instrument)
    if rotor_inertia is not None:
        found = _with_rotors(found, facts.name, rotor_inertia)
    if endoscope is not None:
        found = with_endoscope(found, facts, endoscope)
    if added_mass:
        found = with_added_mass(found, facts, added_mass)
    if found is not None:
        _check_bodies(facts, found)
    return facts, found


def _geometry_and_set(
    name: str, parameters: str | Path | Parameters | None
) -> tuple[str | Path | Geometry | None, Parameters | None]:
    """Geometry and parameter set of a built-in arm."""
    check_known("arm", ARMS, name)
    sets, shapes = SETS.get(name, ()), geometries(name)
    if isinstance(parameters, str | Path):
        if str(parameters) in shapes and str(parameters) not in sets:
            return str(parameters), None
        if is_geometry_file(parameters):
            geometry = read_geometry(parameters, name, published(name))
            found = None if geometry.parameters is None else load_parameters(name, geometry.parameters)
            if found is not None and found.geometry != geometry.frames:
                raise TrocarError(
                    f"{parameters}: the parameter set '{found.name}' is for the frames of {found.geometry}, "
                    f"the lengths are of {geometry.frames}; omit 'parameters', or give a set in these frames"
                )
            return geometry, found
        if str(parameters) not in sets and Path(parameters).suffix != ".toml":
            raise UnknownName(f"parameter set of {name}", parameters, dict.fromkeys((*sets, *shapes)))
    if parameters is None and not sets:
        return None, None
    found = load_parameters(name, parameters)
    # a user's set gives the path of its geometry file relative to its own folder
    beside = Path(found.path).parent / found.geometry
    return beside if beside.suffix == ".toml" else found.geometry, found


def _check_bodies(arm: Arm, parameters: Parameters) -> None:
    missing = sorted(set(parameters.inertias) - {body.name for body in arm.bodies})
    if missing:
        raise TrocarError(
            f"parameter set '{parameters.name}' of {arm.name} has inertias of {', '.join(missing)}, which {arm.name} "
            f"with {arm.instrument} lacks; its bodies are {', '.join(body.name for body in arm.bodies)}"
        )


def _with_rotors(parameters: Parameters | None, arm: str, Im: float) -> Parameters:
    if parameters is None or not any("Im" in d.terms and d.motors for d in parameters.drives):
        raise TrocarError(f"this parameter set of {arm} has no rotors on motors; omit rotor_inertia")
    if not (np.isfinite(Im) and Im > 0):
        raise TrocarError(f"rotor_inertia must be positive [kg m^2], got {Im!r}")
    drives = tuple(replace(d, Im=float(Im)) if "Im" in d.terms and d.motors else d for d in parameters.drives)
    return replace(parameters, drives=drives)
