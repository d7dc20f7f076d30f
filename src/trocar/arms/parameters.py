"""Dynamic parameters of an arm: link inertias and drives, read from files that say where they come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from trocar.arms.arm import Arm
from trocar.arms.elastics import Elastic, elastic
from trocar.arms.file_fields import Fields
from trocar.arms.tables import DATA, stem
from trocar.errors import TrocarError, UnknownName
from trocar.spatial import Array
from trocar.toml_file import read_toml

DRIVE_TERMS = ("Im", "Fv", "Fc", "Fo", "K0", "K", "K2", "Fx", "mu")

# The best set of each arm, and what else it has; all are files in data/parameters.
SETS: dict[str, tuple[str, ...]] = {
    "PSM": ("wang2019", "wang2019_refit", "wang2019_published", "gondokaryono2019"),
    "ECM": ("gondokaryono2019",),
    "MTML": ("wang2019", "wang2019_refit", "wang2019_published"),
    "MTMR": ("wang2019", "wang2019_refit", "wang2019_published"),
    "PSM_Si": ("zhou2025", "zhou2025_measured", "saw"),
    "ECM_Si": ("saw",),
}


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

    z is in [-1, 1] and follows the path, whatever the speed: z+ = d + (z - d) exp(-|ds| / delta), d = sign(ds).
    After a reversal the effort needs a few delta to turn round, as that of cables does.

    Attributes:
        delta: distance over which z turns [rad, m]. F: effort in steady sliding [N m, N].
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
    of this form. The effort that a robot reports differs from the effort that acts by the bias `a Fo`.

    Attributes:
        joints, motors: weights of s by joint name or by actuator name (one of the two).
        Im: inertia [kg m^2, kg]. Fv: viscous friction [N m s/rad, N s/m]. Fc: Coulomb friction [N m, N].
        Fo: bias of the measured effort [N m, N]. It is not a force and moves nothing.
        K0: constant force [N m, N], K: stiffness [N m/rad, N/m]; of a potential, so they are part of gravity.
        K2: quadratic position effort [N m/rad^2, N/m^2]; of a potential, like K. Fx: Coulomb friction per position
            [N m/rad, N/m].
        mu: Coulomb friction per load [1]. The load g_s is the effort of all potentials (weight, springs, cables) along
            s: what the transmission carries at rest. It is defined for a drive on one joint or one motor.
        hysteresis: friction with memory, elements in parallel.
        terms: which of the scalar terms the model has; the regressor has a column for each.
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
        for kind, given, known in (
            ("joint", self.joints, arm.joint_names),
            ("motor", self.motors, arm.motors.names if self.motors else ()),
        ):
            if unknown := [name for name in given if name not in known]:
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


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """A parameter set. It is tied to the arm and the geometry it was identified or drawn in.

    Attributes:
        inertias: by body name; bodies left out have none. drives: in file order.
        elastics: springs and cables that are not linear in a joint.
        source: where the numbers come from. path: the file, empty if there is none.
    """

    name: str = "own"
    arm: str
    geometry: str = "own"
    source: str = "given in Python"
    inertias: Mapping[str, Inertia]
    drives: tuple[Drive, ...] = ()
    path: str = ""
    elastics: tuple[Elastic, ...] = ()


def load_parameters(arm: str, name: str | Path | Parameters | None = None) -> Parameters:
    """A parameter set by name, from a file by its path, or as it is. Default: the arm's best set."""
    if isinstance(name, Parameters):
        if stem(name.arm) != stem(arm):
            raise TrocarError(f"the parameter set '{name.name}' is of {name.arm}, not of {arm}")
        return replace(name, arm=arm)
    known = SETS.get(arm, ())
    if name is None:
        if not known:
            raise TrocarError(f"{arm} has no dynamic parameters yet: its kinematics work, its dynamics do not")
        name = known[0]
    if str(name) in known:
        return _named(arm, str(name))
    path = Path(name)
    if path.suffix == ".toml":
        found = _read(path)
        if stem(found.arm) != stem(arm):
            raise TrocarError(f"{path} holds parameters of {found.arm}, not of {arm}")
        return replace(found, arm=arm)
    raise UnknownName(f"parameter set of {arm}", str(name), (*known, "a path ending in .toml"))


@cache
def _named(arm: str, name: str) -> Parameters:
    file = DATA / "parameters" / f"{stem(arm)}_{name}.toml"
    return replace(_read(file), arm=arm, path=file.name)


def _read(file: Path) -> Parameters:
    table, path = read_toml(file, "parameter file"), str(file)
    for key in ("bodies", "drives"):
        if key not in table:
            raise TrocarError(f"{path} has no field '{key}'")
    head = Fields(table, path)
    return Parameters(
        **{key: head.text(key) for key in ("name", "arm", "geometry", "source")},
        inertias={body: _inertia(entry, f"{path}: bodies.{body}") for body, entry in _tables(table, "bodies", path)},
        drives=tuple(_drive(name, entry, f"{path}: drives.{name}") for name, entry in _tables(table, "drives", path)),
        path=path,
        elastics=tuple(
            elastic(name, entry, f"{path}: elastics.{name}") for name, entry in _tables(table, "elastics", path)
        ),
    )


def _tables(table: Mapping[str, Any], key: str, where: str) -> list[tuple[str, dict[str, Any]]]:
    """Names and content of the tables [key.name]; none where there is no `key`."""
    entries = table.get(key, {})
    if not isinstance(entries, dict):
        raise TrocarError(f"{where}: '{key}' must hold tables [{key}.NAME], got {entries!r}")
    for name, entry in entries.items():
        if not isinstance(entry, dict):
            raise TrocarError(f"{where}: {key}.{name} must be a table [{key}.{name}], got {entry!r}")
    return list(entries.items())


def _inertia(entry: Mapping[str, Any], where: str) -> Inertia:
    fields = Fields(entry, where)
    xx, xy, xz, yy, yz, zz = fields.vector("inertia", 6)
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return Inertia(mass=fields.number("mass"), com=fields.vector("com", 3), I=I)


def _drive(name: str, entry: Mapping[str, Any], where: str) -> Drive:
    known = (*DRIVE_TERMS, "hysteresis", "joints", "motors")
    unknown = set(entry) - set(known)
    if unknown:
        raise UnknownName(f"{where}: field", sorted(unknown)[0], known)
    if ("joints" in entry) == ("motors" in entry):
        raise TrocarError(f"{where} needs either 'joints' or 'motors' with the weights of its coordinate")
    for key in ("joints", "motors"):
        weights = entry.get(key, {})
        if not isinstance(weights, dict):
            raise TrocarError(f"{where}: '{key}' must hold weights by name, such as {{ yaw = 1.0 }}, got {weights!r}")
        for part in weights:
            Fields(weights, f"{where}.{key}").number(part)
    terms = tuple(t for t in DRIVE_TERMS if t in entry)
    values = {t: Fields(entry, where).number(t) for t in terms}
    try:
        return Drive(
            name=name,
            joints=entry.get("joints", {}),
            motors=entry.get("motors", {}),
            terms=terms,
            hysteresis=_hysteresis(entry.get("hysteresis", [])),
            **values,
        )
    except TrocarError as error:
        raise TrocarError(f"{where}: {error}") from None


def _hysteresis(rows: Any) -> tuple[Dahl, ...]:
    fine = isinstance(rows, list) and all(
        isinstance(row, list) and len(row) in (2, 3) and all(type(v) in (int, float) for v in row) for row in rows
    )
    if not fine:
        raise TrocarError(f"'hysteresis' must be a list of [delta, F] or [delta, F, slope], got {rows!r}")
    return tuple(Dahl(*map(float, row)) for row in rows)
