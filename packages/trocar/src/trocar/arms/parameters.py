"""Dynamic parameters of an arm: link inertias, drives and elastic elements, in files that name their source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from trocar.arms.arm import Arm
from trocar.arms.file_fields import MAX_LENGTH, MAX_MASS, MIN_MASS, Fields
from trocar.arms.mirroring import mirror_image
from trocar.arms.tables import DATA, stem
from trocar.errors import TrocarError, UnknownName
from trocar.plugins import names, plugin
from trocar.spatial import Array
from trocar.toml_file import read_toml, toml_text

DRIVE_TERMS = ("Im", "Fv", "Fc", "Fo", "K0", "K", "K2", "Fx", "mu")
# Required of a physical drive; mu is never negative, K, K2 and Fx may have either sign.
NOT_NEGATIVE = ("Im", "Fv", "Fc")
# Fields of a parameter file; the last three are added by `trocar identify`.
FILE_FIELDS = (
    *("name", "arm", "geometry", "source", "physical", "bodies", "drives", "elastics"),
    *("provenance", "residuals", "covariance"),
)

# Parameter sets of each arm, the best one first; all are files in data/parameters. Other packages add sets.
SETS: dict[str, tuple[str, ...]] = {
    "PSM": ("wang2019", "wang2019_refit", "wang2019_published", "gondokaryono2019"),
    "ECM": ("gondokaryono2019",),
    "MTML": ("wang2019", "wang2019_refit", "wang2019_published"),
    "MTMR": ("wang2019", "wang2019_refit", "wang2019_published"),
    "PSM_Si": ("zhou2025", "zhou2025_measured", "saw"),
    "ECM_Si": ("saw",),
}

PLUGINS = "trocar.parameters"  # entry points of sets that other packages add


@dataclass(frozen=True, kw_only=True)
class Inertia:
    """Mass [kg], centre of mass `com` [m] and inertia `I` about it [kg m^2] of a body, in its link frame."""

    mass: float
    com: Array
    I: Array

    def __post_init__(self) -> None:
        self.com.setflags(write=False)
        self.I.setflags(write=False)


@dataclass(frozen=True)
class Dahl:
    """Friction with memory, after Dahl: effort (F + slope s) z along a drive's coordinate s.

    z is in [-1, 1] and depends on the path but not on the speed: z+ = d + (z - d) exp(-|ds| / delta), d = sign(ds).
    After a reversal the effort needs a few delta to change sign, like the friction of cables.

    Attributes:
        delta: distance over which z changes [rad, m]. F: effort in steady sliding [N m, N].
        slope: its change with position [N m/rad, N/m].
    """

    delta: float
    F: float
    slope: float = 0.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.delta) and self.delta > 0):
            raise TrocarError(f"delta of a Dahl element must be positive [rad, m], got {self.delta!r}")
        if not (np.isfinite(self.F) and self.F >= 0):
            raise TrocarError(f"F of a Dahl element must not be negative [N m, N], got {self.F!r}")
        if not np.isfinite(self.slope):
            raise TrocarError(f"slope of a Dahl element must be a finite number [N m/rad, N/m], got {self.slope!r}")


@dataclass(frozen=True, kw_only=True)
class Drive:
    """A scalar coordinate s = a.q with its own inertia, friction and stiffness.

    It adds `a (Im s'' + Fv s' + (Fc + Fx s + mu |g_s|) sign(s') + K0 + K s + K2 s^2)` and the efforts of its Dahl
    elements to the joint efforts. Rotors, joint friction, cable stiffness and the coupled friction of a wrist are all
    of this form. The effort that a robot reports differs from the acting effort by the bias `a Fo`.

    Attributes:
        joints, motors: weights of s by joint name or by actuator name (one of the two).
        Im: inertia [kg m^2, kg]. Fv: viscous friction [N m s/rad, N s/m]. Fc: Coulomb friction [N m, N].
        Fo: bias of the measured effort [N m, N]. It is not a force and moves nothing.
        K0: constant force [N m, N], K: stiffness [N m/rad, N/m]; both derive from a potential and count as gravity.
        K2: quadratic position effort [N m/rad^2, N/m^2], a potential term like K. Fx: Coulomb friction per position
            [N m/rad, N/m].
        mu: Coulomb friction per load [1]. The load g_s is the effort along s that the transmission carries at rest:
            all potentials (weight, springs, cables), less applied wrenches and contacts. It is defined for a drive on
            one joint or one motor.
        hysteresis: Dahl elements in parallel.
        terms: scalar terms in the model; the regressor has a column for each.
    """

    name: str
    joints: Mapping[str, float] = field(default_factory=dict)
    motors: Mapping[str, float] = field(default_factory=dict)
    Im: float = 0.0
    Fv: float = 0.0
    Fc: float = 0.0
    Fo: float = 0.0
    K0: float = 0.0
    K: float = 0.0
    K2: float = 0.0
    Fx: float = 0.0
    mu: float = 0.0
    hysteresis: tuple[Dahl, ...] = ()
    terms: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not (np.isfinite(self.mu) and self.mu >= 0):
            raise TrocarError(f"mu of drive '{self.name}' must not be negative, got {self.mu!r}")
        if (self.mu or "mu" in self.terms) and len(self.joints) + len(self.motors) != 1:
            raise TrocarError(f"drive '{self.name}' has mu: its load is defined on one joint or one motor only")

    def row(self, arm: Arm) -> Array:
        """a (n,): weights of s in the joints q."""
        for kind, weights, known in (
            ("joint", self.joints, arm.joint_names),
            ("motor", self.motors, arm.motors.names if self.motors else ()),
        ):
            if unknown := [name for name in weights if name not in known]:
                raise UnknownName(f"drive '{self.name}': {kind} of {arm.name}", unknown[0], known)
        a = np.array([self.joints.get(name, 0.0) for name in arm.joint_names])
        if self.motors:
            motor_row = np.array([self.motors.get(name, 0.0) for name in arm.motors.names])
            a = a + motor_row @ np.linalg.inv(arm.motors.coupling)
        return a

    def load_row(self, arm: Arm) -> Array:
        """(n,): weights of the joint efforts in the effort along s, of a drive on one joint or motor."""
        (name, weight), *_ = (self.joints or self.motors).items()
        if self.motors:
            row = arm.motors.coupling[:, arm.motors.names.index(name)]
        else:
            row = np.array([float(joint == name) for joint in arm.joint_names])
        return np.asarray(row / weight)

    def reversed(self) -> Drive:
        """The same drive where s counts the other way. The bias Fo stays: it belongs to the amplifier of the motor."""
        hysteresis = tuple(replace(dahl, slope=0.0 - dahl.slope) for dahl in self.hysteresis)
        return replace(self, K0=0.0 - self.K0, K2=0.0 - self.K2, Fx=0.0 - self.Fx, hysteresis=hysteresis)


@dataclass(frozen=True, kw_only=True)
class CableTorque:
    """Effort of cables on a joint as a polynomial of its position [N m], highest power first, times `amplitude`.

    Outside the measured range `lower` to `upper` [rad], the effort is that at the nearest end of the range.
    """

    name: str
    joint: str
    coefficients: tuple[float, ...]
    lower: float
    upper: float
    amplitude: float = 1.0

    def reversed(self) -> CableTorque:
        """The same cable on a joint q that counts the other way: effort -f(-q)."""
        degree = len(self.coefficients) - 1
        odd = tuple(c if (degree - k) % 2 else 0.0 - c for k, c in enumerate(self.coefficients))
        return replace(self, coefficients=odd, lower=-self.upper, upper=-self.lower)


@dataclass(frozen=True, kw_only=True)
class LeverSpring:
    """A coil spring between a lever on a joint and a fixed point.

    With theta = pi + offset - q its length is l = sqrt(r^2 + h^2 - 2 r h cos(theta)), its energy
    amplitude / 2 (l - rest)^2.

    Attributes:
        amplitude: stiffness [N/m]. r: lever [m]. h: joint axis to the fixed point [m]. rest: free length [m].
        offset: [rad].
    """

    name: str
    joint: str
    amplitude: float
    r: float
    h: float
    rest: float
    offset: float

    def reversed(self) -> LeverSpring:
        """The same spring on a joint that counts the other way."""
        return replace(self, offset=0.0 - self.offset)


Elastic = CableTorque | LeverSpring
ELASTICS: dict[str, type[CableTorque] | type[LeverSpring]] = {"cable": CableTorque, "lever": LeverSpring}


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """A parameter set, tied to the arm and the geometry in which it was identified or designed.

    Attributes:
        arm: arm that the numbers describe. `load_parameters` turns a set of one master into that of the other.
        inertias: by body name; omitted bodies have no inertia. drives: in file order.
        elastics: springs and cables that are not linear in a joint.
        source: origin of the numbers. path: the file, empty if there is none.
        physical: False for a set that was published with negative rotor inertias or friction, or with links that are
            not physical. Such a set predicts efforts but cannot be simulated.
        motion_cutoffs: cut-offs with which its recording was filtered, by actuator [Hz]; empty if unknown.
    """

    name: str = "own"
    arm: str
    geometry: str = "own"
    source: str = "given in Python"
    inertias: Mapping[str, Inertia]
    drives: tuple[Drive, ...] = ()
    path: str = ""
    elastics: tuple[Elastic, ...] = ()
    physical: bool = True
    motion_cutoffs: tuple[float, ...] = ()

    def check_drives(self) -> None:
        """Raise an error that names the first drive with a negative inertia or friction."""
        for drive in self.drives:
            for term in NOT_NEGATIVE:
                if getattr(drive, term) < 0:
                    raise TrocarError(
                        f"drives.{drive.name}: '{term}' must not be negative, got {getattr(drive, term):g}"
                    )


def set_names(arm: str) -> tuple[str, ...]:
    """Names of the parameter sets of an arm, the best one first, then those of other packages."""
    added = (name for name in names(PLUGINS) if stem(_read(plugin(PLUGINS, name)).arm) == stem(arm))
    return (*SETS.get(arm, ()), *added)


def load_parameters(arm: str, name: str | Path | Parameters | None = None) -> Parameters:
    """Load a parameter set by name or file path. Default: the arm's best set.

    A set of one master becomes that of the other by `mirror_image`; any other set is returned unchanged.
    """
    if isinstance(name, Parameters):
        if stem(name.arm) != stem(arm):
            raise TrocarError(f"the parameter set '{name.name}' is for {name.arm}, not for {arm}")
        return mirror_image(name, arm)
    known = SETS.get(arm, ())
    if name is None:
        if not known:
            raise TrocarError(f"{arm} has no dynamic parameters yet: only its kinematics are available")
        name = known[0]
    if str(name) in known:
        return _named(arm, str(name))
    path = plugin(PLUGINS, str(name)) if str(name) in names(PLUGINS) else Path(name)
    if path.suffix == ".toml":
        parameters = _read(path)
        if stem(parameters.arm) != stem(arm):
            raise TrocarError(f"{path} holds parameters of {parameters.arm}, not of {arm}")
        return mirror_image(parameters, arm)
    raise UnknownName(f"parameter set of {arm}", str(name), (*set_names(arm), "a path ending in .toml"))


@cache
def _named(arm: str, name: str) -> Parameters:
    file = DATA / "parameters" / f"{stem(arm)}_{name}.toml"
    return mirror_image(replace(_read(file), path=file.name), arm)


def _read(file: Path) -> Parameters:
    path = str(file)
    head = Fields(read_toml(file, "parameter file"), path)
    head.check_known(FILE_FIELDS)
    for key in ("bodies", "drives"):
        if key not in head:
            raise TrocarError(f"{path} has no field '{key}'")
    parameters = Parameters(
        **{key: head.text(key) for key in ("name", "arm", "geometry", "source")},
        physical=head.flag("physical", True),
        inertias={body: _inertia(fields) for body, fields in head.tables("bodies").items()},
        drives=tuple(_drive(name, fields) for name, fields in head.tables("drives").items()),
        path=path,
        elastics=tuple(elastic(name, entry) for name, entry in head.tables("elastics").items()),
        motion_cutoffs=_motion_cutoffs(head),
    )
    if parameters.physical:
        try:
            parameters.check_drives()
        except TrocarError as error:
            raise TrocarError(f"{path}: {error}; a published set with such values must set physical = false") from None
    return parameters


def _motion_cutoffs(head: Fields) -> tuple[float, ...]:
    provenance = head.table("provenance") if "provenance" in head else Fields({}, head.path)
    cutoffs = provenance.numbers("filter_motion_hz") if "filter_motion_hz" in provenance else ()
    if not all(cutoff > 0 for cutoff in cutoffs):
        raise provenance.error(f"'filter_motion_hz' must be positive [Hz], got {list(cutoffs)}")
    return cutoffs


def _inertia(fields: Fields) -> Inertia:
    xx, xy, xz, yy, yz, zz = fields.vector("inertia", 6, unit="kg m^2")
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    mass = fields.number("mass", least=MIN_MASS, most=MAX_MASS, unit="kg")  # omit bodies without mass
    com = fields.vector("com", 3, most=MAX_LENGTH, unit="m")
    fields.check_all_read()
    return Inertia(mass=mass, com=com, I=I)


def _drive(name: str, fields: Fields) -> Drive:
    fields.check_known((*DRIVE_TERMS, "hysteresis", "joints", "motors"))
    terms = tuple(t for t in DRIVE_TERMS if t in fields)
    values: dict[str, Any] = {**drive_coordinate(fields), **{t: fields.number(t) for t in terms}}
    rows = fields.rows("hysteresis", (2, 3), "[delta, F] or [delta, F, slope]")
    try:
        return Drive(name=name, terms=terms, hysteresis=tuple(Dahl(*row) for row in rows), **values)
    except TrocarError as error:
        raise fields.error(str(error)) from None


def drive_coordinate(fields: Fields) -> dict[str, dict[str, float]]:
    """Weights of a drive's coordinate as its file gives them: {"joints": weights} or {"motors": weights} by name."""
    if ("joints" in fields) == ("motors" in fields):
        raise fields.error("needs 'joints' or 'motors' with the weights of its coordinate")
    space = "joints" if "joints" in fields else "motors"
    weights = fields.numbers_by_name(space, "weights by name, such as { yaw = 1.0 }")
    if not any(weights.values()):
        raise fields.error(f"'{space}' needs at least one weight that is not 0")
    return {space: weights}


def elastic(name: str, entry: Fields) -> Elastic:
    """An element from its table in a parameter file; errors name the field."""
    cls = ELASTICS[entry.choice("kind", tuple(ELASTICS), "")]
    values: dict[str, Any] = {"joint": entry.text("joint")}
    if cls is CableTorque:
        values |= {"coefficients": entry.numbers("coefficients"), "amplitude": entry.number("amplitude", 1.0)}
        values |= {key: entry.number(key) for key in ("lower", "upper")}
    else:
        values |= {key: entry.positive(key, most=MAX_LENGTH, unit="m") for key in ("r", "h")}
        values |= {key: entry.number(key) for key in ("amplitude", "rest", "offset")}
    entry.check_all_read()
    if cls is CableTorque and values["lower"] > values["upper"]:
        raise entry.error(f"has lower {values['lower']:g} > upper {values['upper']:g}")
    return cls(name=name, **values)


def to_toml(parameters: Parameters, comments: Sequence[str] = ()) -> str:
    """TOML text of a set, with comment lines at the top. Numbers read back exactly."""
    content: dict[str, Any] = {key: getattr(parameters, key) for key in ("name", "arm", "geometry", "source")}
    if not parameters.physical:
        content["physical"] = False
    content["bodies"] = {
        name: {"mass": float(body.mass), "com": body.com.tolist(), "inertia": body.I[np.triu_indices(3)].tolist()}
        for name, body in parameters.inertias.items()
    }
    content["drives"] = {drive.name: _drive_entry(drive) for drive in parameters.drives}
    content["elastics"] = {element.name: _elastic_entry(element) for element in parameters.elastics}
    return toml_text({key: value for key, value in content.items() if value or key != "elastics"}, comments)


def _elastic_entry(element: Elastic) -> dict[str, Any]:
    kind = next(kind for kind, cls in ELASTICS.items() if isinstance(element, cls))
    numbers = {f.name: getattr(element, f.name) for f in fields(element) if f.name not in ("name", "joint")}
    floats = {key: value if isinstance(value, tuple) else float(value) for key, value in numbers.items()}
    return {"kind": kind, "joint": element.joint, **floats}


def _drive_entry(drive: Drive) -> dict[str, Any]:
    space, weights = ("motors", drive.motors) if drive.motors else ("joints", drive.joints)
    entry: dict[str, Any] = {space: {name: float(weight) for name, weight in weights.items()}}
    entry |= {term: float(getattr(drive, term)) for term in drive.terms}
    if drive.hysteresis:
        entry["hysteresis"] = [[float(value) for value in astuple(dahl)] for dahl in drive.hysteresis]
    return entry
