"""Instruments and endoscopes mounted on the insertion carriage, one file each in `data/instruments`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from os import PathLike, fspath
from typing import Any

import numpy as np

from trocar.arms.arm import Body, Joint, revolute, shift
from trocar.arms.file_fields import Fields
from trocar.arms.tables import DATA, HALF_PI
from trocar.errors import TrocarError, UnknownName, check_known
from trocar.spatial import Array, inverse, mdh, pose, rotation
from trocar.toml_file import read_toml

# Trajectory limits of the dVRK's arm class for the four instrument joints [rad/s, rad/s^2].
WRIST_VELOCITY, WRIST_ACCELERATION = np.radians(1080.0), np.radians(720.0)

WRIST_JOINTS = ("roll", "wrist_pitch", "wrist_yaw", "jaw")
WRISTS = ("pitch-yaw", "snake")
OWN_FIELDS = ("source", "assumed")  # fields that `like` does not copy from the other instrument

# Instruments that fit each arm, and their numbering.
GENERATIONS = {
    "PSM": "da Vinci Classic instruments (40xxxx)",
    "PSM_Si": "da Vinci S and Si instruments (42xxxx, 41xxxx)",
    "ECM": "endoscopes",
    "ECM_Si": "endoscopes",
}

# The dVRK's tip frame on the wrist yaw axis: z along the jaws, the jaws turn about -x.
R_YAW_TIP = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 0.0]])


@dataclass(frozen=True, kw_only=True)
class Instrument:
    """A wristed instrument of a PSM.

    Attributes:
        wrist: "pitch-yaw", or "snake": pitch, yaw, yaw, pitch, each axis turning half of its joint.
        d_roll: insertion frame to the (first) wrist pitch axis along the shaft [m].
        a_wrist: distance of neighbouring wrist axes [m].
        coupling: (4, 4), `q = coupling @ q_motor` for roll, wrist_pitch, wrist_yaw, jaw.
        T_wrist_tip: the dVRK's tip in the last wrist frame.
        jaws: False for a single blade; the jaw joint then turns a disc that moves nothing.
        jaw_length: hinge to the end of the jaws or blade [m]. jaw_hinge: the hinge on the tip's z axis [m].
        engage_lower, engage_upper: (4,) the joints are swept between these to engage the discs [rad].
        assumed: fields that are in no source.
    """

    name: str
    wrist: str
    d_roll: float
    a_wrist: float
    joints: tuple[Joint, ...]
    coupling: Array
    T_wrist_tip: Array
    jaws: bool
    jaw_length: float
    jaw_hinge: float
    engage_lower: tuple[float, ...]
    engage_upper: tuple[float, ...]
    source: str
    assumed: tuple[str, ...]

    def chain(self, parent: str, T_parent_insertion: Array) -> tuple[Body, ...]:
        """Roll and wrist bodies below `parent`, which carries the dVRK's insertion frame."""
        a = self.a_wrist
        bodies = [revolute("roll", parent, T_parent_insertion @ mdh(d=self.d_roll), {"roll": 1.0})]
        half_pitch, half_yaw = {"wrist_pitch": 0.5}, {"wrist_yaw": 0.5}
        rows = {
            "pitch-yaw": (
                ("wrist_pitch", mdh(alpha=-HALF_PI, theta=-HALF_PI), {"wrist_pitch": 1.0}),
                ("wrist_yaw", mdh(a=a, alpha=-HALF_PI, theta=-HALF_PI), {"wrist_yaw": 1.0}),
            ),
            "snake": (
                ("wrist_pitch_1", mdh(alpha=-HALF_PI, theta=-HALF_PI), half_pitch),
                ("wrist_yaw_1", mdh(a=a, alpha=-HALF_PI), half_yaw),
                ("wrist_yaw_2", mdh(a=a), half_yaw),
                ("wrist_pitch_2", mdh(a=a, alpha=HALF_PI, theta=HALF_PI), half_pitch),
            ),
        }
        for name, placement, coupling in rows[self.wrist]:
            bodies.append(revolute(name, bodies[-1].name, placement, coupling))
        return tuple(bodies)

    def jaw_bodies(self) -> tuple[Body, ...]:
        """Two fingers at -jaw/2 and +jaw/2 from the last wrist body, the second carried by the first.

        In series, not in parallel, so that an engine can apply the inertia of a rotor that drives both fingers to
        both. For the same reason the idle disc of a blade, which turns with the jaw joint and moves nothing, is at
        the end of the chain.
        """
        T_wrist_hinge = self.T_wrist_tip @ shift(z=self.jaw_hinge) @ inverse(pose(R=R_YAW_TIP))
        if not self.jaws:
            return (revolute("idle_disc", self.last, T_wrist_hinge, {"jaw": 1.0}),)
        return (
            revolute("finger_left", self.last, T_wrist_hinge, {"jaw": -0.5}),
            revolute("finger_right", "finger_left", np.eye(4), {"jaw": 1.0}),
        )

    @property
    def first(self) -> str:
        """The first wrist body, whose axis is at the end of the shaft."""
        return {"pitch-yaw": "wrist_pitch", "snake": "wrist_pitch_1"}[self.wrist]

    @cached_property
    def last(self) -> str:
        """The last wrist body, which carries the tip."""
        return {"pitch-yaw": "wrist_yaw", "snake": "wrist_pitch_2"}[self.wrist]

    @property
    def driven(self) -> dict[str, str]:
        """The body at which a joint is actuated, for bodies whose name differs from the joint's."""
        half = {"wrist_pitch": "wrist_pitch_1", "wrist_yaw": "wrist_yaw_1"} if self.wrist == "snake" else {}
        return {**half, "jaw": "finger_right" if self.jaws else "idle_disc"}

    @property
    def transmissions(self) -> dict[str, str]:
        """Bodies that follow another body through a cable."""
        wrist = {"wrist_pitch_2": "wrist_pitch_1", "wrist_yaw_2": "wrist_yaw_1"} if self.wrist == "snake" else {}
        return wrist | ({"finger_left": "finger_right"} if self.jaws else {})


@dataclass(frozen=True, kw_only=True)
class Endoscope:
    """An endoscope of an ECM: `d_roll` insertion frame to tip [m], `T_roll_tip` view frame in the roll frame."""

    name: str
    d_roll: float
    T_roll_tip: Array
    source: str


def names(arm: str | None = None) -> tuple[str, ...]:
    """Names of the built-in instruments and endoscopes, of all arms or those that fit one."""
    if arm is None:
        return tuple(_files())
    check_known("arm that carries an instrument", GENERATIONS, arm)
    return tuple(name for name in _files() if arm in _arms(_files()[name]))


def load_instrument(key: str | PathLike[str], arm: str) -> Instrument:
    """The instrument of a PSM or PSM_Si: by number ("400006", "420006_GEARED"), by name, or from a file NAME.toml."""
    fields = _fields(key, arm)
    rates = {"velocity": float(WRIST_VELOCITY), "acceleration": float(WRIST_ACCELERATION)}
    engage_lower, engage_upper = fields.span("engage", 4)
    instrument = Instrument(
        name=fields.name,
        wrist=fields.choice("wrist", WRISTS, "pitch-yaw"),
        d_roll=fields.number("d_roll"),
        a_wrist=fields.number("a_wrist", least=0.0),
        joints=tuple(Joint(name=name, kind="revolute", **rates, **fields.limits(name)) for name in WRIST_JOINTS),
        coupling=fields.invertible("coupling", 4),
        T_wrist_tip=pose(R=fields.rotation("tip"), p=fields.vector("tip_position", 3, (0.0, 0.0, 0.0))),
        jaws=fields.flag("jaws", True),
        jaw_length=fields.number("jaw_length", least=0.007),
        jaw_hinge=fields.number("jaw_hinge", 0.0),
        engage_lower=engage_lower,
        engage_upper=engage_upper,
        source=fields.text("source"),
        assumed=fields.words("assumed"),
    )
    fields.check_all_read()
    return instrument


def load_endoscope(key: str | PathLike[str], arm: str) -> Endoscope:
    """The endoscope of an ECM or ECM_Si: "straight", "up", "down", or from a file NAME.toml."""
    fields = _fields(key, arm)
    straight = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    scope = Endoscope(
        name=fields.name,
        d_roll=fields.number("d_roll"),
        T_roll_tip=pose(R=straight @ rotation("x", fields.number("view_pitch"))),
        source=fields.text("source"),
    )
    fields.check_all_read()
    return scope


def _fields(key: str | PathLike[str], arm: str) -> Fields:
    """The file of an instrument that fits the arm, or an error that suggests one."""
    key = fspath(key) if isinstance(key, PathLike) else str(key)
    if key.endswith(".toml"):
        fields = Fields(_complete(read_toml(key, "instrument file"), key, _tables()), key)
    else:
        fields = _files()[_name(key, _files(), f"instrument of {arm}", names(arm))]
    arms = _arms(fields)
    if arm not in arms:
        belongs = " and ".join(dict.fromkeys(GENERATIONS[other] for other in arms))
        digits = re.search(r"\d(\d{3})(_GEARED)?$", fields.name)
        same = [other for other in names(arm) if digits and other.endswith(digits[1])]  # the same last three digits
        raise TrocarError(
            f"{fields.name} is one of the {belongs}, for {' and '.join(arms)}; {arm} takes {GENERATIONS[arm]}"
            + (f". Did you mean {same[0]}?" if same else "")
        )
    return fields


def _arms(fields: Fields) -> tuple[str, ...]:
    return fields.some_of("arms", tuple(GENERATIONS))


def _number(name: str) -> str:
    """Instrument number: the last part of a name, or the whole name if it has no number."""
    match = re.search(r"_(\d{6}(_GEARED)?)$", name)
    return match[1] if match else name


def _name(key: str, known: Iterable[str], what: str, fitting: Iterable[str]) -> str:
    """Name of the instrument with this name or number; `what` and the `fitting` ones are for the error."""
    for name in known:
        if key in (name, _number(name)):
            return name
    raise UnknownName(what, key, sorted(map(_number, fitting)) if key[:1].isdigit() else tuple(fitting))


def _complete(table: Mapping[str, Any], path: str, tables: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """An instrument's table with the fields it omits taken from the instrument that it is `like`.

    A source, and the list of fields that are in no source, are never taken.
    """
    if "like" not in table:
        return dict(table)
    name = _name(str(table["like"]), tables, f"{path}: 'like': instrument", tables)
    if "like" in tables[name]:
        raise TrocarError(f"{path}: 'like' must name an instrument that gives all its fields, {name} does not")
    shared = {field: value for field, value in tables[name].items() if field not in OWN_FIELDS}
    return {**shared, **{field: value for field, value in table.items() if field != "like"}}


@cache
def _tables() -> Mapping[str, Mapping[str, Any]]:
    """The content of every file in `data/instruments`, by name."""
    folder = sorted(DATA.joinpath("instruments").glob("*.toml"))
    return {path.stem: read_toml(path, "instrument file") for path in folder}


@cache
def _files() -> Mapping[str, Fields]:
    """The fields of every built-in instrument, by name."""
    return {name: Fields(_complete(table, name, _tables()), f"{name}.toml") for name, table in _tables().items()}
