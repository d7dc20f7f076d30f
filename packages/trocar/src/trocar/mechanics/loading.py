"""Loading a mechanism: a built-in arm by name or a custom one, in the geometry of its parameter set."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Self, TypeVar

from numpy.typing import ArrayLike

from trocar import checks
from trocar.arms import ARMS, Arm, Geometry, geometries, load_arm, published
from trocar.arms.loads import with_added_mass, with_endoscope
from trocar.arms.parameters import SETS, Parameters, load_parameters, set_names
from trocar.arms.tables import is_geometry_file, read_geometry
from trocar.errors import TrocarError, UnknownName, check_known, check_type
from trocar.mechanics.mechanism import Mechanism

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class ArmOptions:
    """Options of an arm, declared once for `load_mechanism`, `Scene`, `Simulator` and `trocar.batch.load`.

    Attributes:
        parameters: parameter set, its name, or the path of a parameter file; it defines the geometry. Default: the
            arm's best set. A custom arm without a set, and a published geometry without dynamic parameters, have
            kinematics only. A geometry file (written by `trocar calibrate`) gives the link lengths, with the
            parameters that it names.
        counterweight: False removes only the mass and inertia of the counterweight (arms that have one).
        instrument: number, name or file (NAME.toml) of the instrument or endoscope. Default: the arm's default.
        rotor_inertia: overrides the inertia of the instrument motors, referred to the discs [kg m^2].
        endoscope: endoscope of an ECM, by type (ECM: SD, HD, custom, none; ECM_Si: HD) or mass [kg]. Default: that
            of the set (ECM: SD). `instrument` selects its viewing direction.
        added_mass: mass of the instrument relative to that of the set, heavier (+) or lighter (-) [kg].
    """

    parameters: str | Path | Parameters | None = None
    counterweight: bool = True
    instrument: str | Path | None = None
    rotor_inertia: float | None = None
    endoscope: str | float | None = None
    added_mass: float = 0.0

    @classmethod
    def of(cls, **options: Any) -> Self:
        """Options by name; an unknown name raises an error that lists the known ones."""
        check_known("option of an arm", [field.name for field in fields(cls)], *options)
        return cls(**options)

    def mechanism(self, arm: str | Arm, gravity: ArrayLike | None = None, mounting: float | None = None) -> Mechanism:
        """The equations of a named or custom arm with these options; see `load_mechanism`."""
        if not isinstance(arm, Arm):
            check_known("arm", ARMS, arm)
        if self.parameters is not None:
            allowed = "a parameter set, its name, or the path of a parameter file"
            check_type("parameters", self.parameters, (str, Path, Parameters), allowed)
        if self.instrument is not None:
            allowed = "a number such as '400006', a name, or a file NAME.toml"
            check_type("instrument", self.instrument, (str, int, Path), allowed)
        facts, parameters = self._custom(arm) if isinstance(arm, Arm) else self._built_in(arm)
        if self.rotor_inertia is not None:
            parameters = _with_rotors(parameters, facts.name, self.rotor_inertia)
        if self.endoscope is not None:
            parameters = with_endoscope(parameters, facts, self.endoscope)
        if not (checks.is_number(self.added_mass) and self.added_mass == 0):
            parameters = with_added_mass(parameters, facts, self.added_mass)
        bodies = [body.name for body in facts.bodies]
        if parameters is not None and (missing := sorted(set(parameters.inertias) - set(bodies))):
            raise TrocarError(
                f"parameter set '{parameters.name}' of {facts.name} has inertias of {', '.join(missing)}, which "
                f"{facts.name} with {facts.instrument} lacks; its bodies are {', '.join(bodies)}"
            )
        return Mechanism(facts, parameters, counterweight=self.counterweight, gravity=gravity, mounting=mounting)

    def _built_in(self, name: str) -> tuple[Arm, Parameters | None]:
        geometry, parameters = _geometry_and_set(name, self.parameters)
        return load_arm(name, geometry, self.instrument), parameters

    def _custom(self, arm: Arm) -> tuple[Arm, Parameters | None]:
        parameters = None if self.parameters is None else load_parameters(arm.name, self.parameters)
        if self.instrument is not None:
            raise TrocarError(
                f"{arm.name} is given as an Arm, with its instrument; omit instrument={self.instrument!r}"
            )
        if parameters is not None and parameters.geometry != arm.geometry:
            raise TrocarError(
                f"the parameter set '{parameters.name}' is for geometry '{parameters.geometry}', "
                f"the arm has '{arm.geometry}'"
            )
        return arm, parameters


def takes(options: type[ArmOptions], *omitted: str) -> Callable[[F], F]:
    """Decorator: replaces `**options` in the signature that `help` shows by the fields of a class of options."""

    def decorated(function: F) -> F:
        signature = inspect.signature(function)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        more = [
            inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type)
            for field in fields(options)
            if field.name not in (*signature.parameters, *omitted)
        ]
        function.__signature__ = signature.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
        return function

    return decorated


@takes(ArmOptions)
def load_mechanism(
    arm: str | Arm,
    parameters: str | Path | Parameters | None = None,
    *,
    gravity: ArrayLike | None = None,
    mounting: float | None = None,
    **options: Any,
) -> Mechanism:
    """Load the equations of motion of an arm.

    Args:
        arm: PSM, PSM_Si, ECM, ECM_Si, MTML or MTMR, or a custom `Arm`.
        parameters: parameter set, its name, or a file. Default: the arm's best set.
        gravity: vector [m/s^2] in base axes, or `mounting`: pitch of the base about x [rad].
        options: counterweight, instrument, rotor_inertia, endoscope, added_mass; see `ArmOptions`.
    """
    return ArmOptions.of(parameters=parameters, **options).mechanism(arm, gravity, mounting)


def _geometry_and_set(
    name: str, parameters: str | Path | Parameters | None
) -> tuple[str | Path | Geometry | None, Parameters | None]:
    """Geometry and parameter set of a built-in arm."""
    sets, shapes = SETS.get(name, ()), geometries(name)
    if isinstance(parameters, str | Path):
        if str(parameters) in shapes and str(parameters) not in sets:
            return str(parameters), None
        if is_geometry_file(parameters):
            geometry = read_geometry(parameters, name, published(name))
            named = None if geometry.parameters is None else load_parameters(name, geometry.parameters)
            if named is not None and named.geometry != geometry.frames:
                raise TrocarError(
                    f"{parameters}: the parameter set '{named.name}' is for the frames of {named.geometry}, "
                    f"the lengths are of {geometry.frames}; omit 'parameters', or give a set in these frames"
                )
            return geometry, named
        if Path(parameters).suffix != ".toml" and str(parameters) not in sets:
            known = set_names(name)
            if str(parameters) not in known:
                raise UnknownName(f"parameter set of {name}", parameters, dict.fromkeys((*known, *shapes)))
    if parameters is None and not sets:
        return None, None
    loaded = load_parameters(name, parameters)
    # a user's set gives the path of its geometry file relative to its own folder
    beside = Path(loaded.path).parent / loaded.geometry
    return beside if beside.suffix == ".toml" else loaded.geometry, loaded


def _with_rotors(parameters: Parameters | None, arm: str, Im: float) -> Parameters:
    if parameters is None or not any("Im" in d.terms and d.motors for d in parameters.drives):
        raise TrocarError(f"this parameter set of {arm} has no rotors on motors; omit rotor_inertia")
    Im = checks.positive("rotor_inertia", Im, "kg m^2")
    drives = tuple(replace(d, Im=Im) if "Im" in d.terms and d.motors else d for d in parameters.drives)
    return replace(parameters, drives=drives)
