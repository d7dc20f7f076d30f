"""Recording: one type for measured and simulated motion.

Row k holds q and dq at t_k, with tau and ddq of the step that starts at t_k.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from trocar import checks
from trocar.arms import Arm, load_arm
from trocar.errors import TrocarError, check_known, check_type, shown
from trocar.files import write_whole
from trocar.recording.formats import csv_text, npz_bytes, read_csv, read_npz, without_repeats
from trocar.recording.motor_columns import JOINT_COLUMN, NAME, SPACES, TIP_COMMANDS, UNITS, joint_from_columns
from trocar.spatial import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".npz", ".csv")


class InvalidRecording(TrocarError):
    """Arrays that do not form a valid recording. `row` is the offending row, None if there is no single one."""

    def __init__(self, message: str, row: int | None = None) -> None:
        self.row = row
        super().__init__(message if row is None else f"row {row}: {message}")


@dataclass(frozen=True, kw_only=True, eq=False)
class Recording:
    """Motion and efforts of one arm over time. Arrays are copied and read-only.

    Attributes:
        t: (N,) times, strictly increasing [s].
        q, dq: (N, n) positions and velocities at t [rad, m; rad/s, m/s].
        ddq, tau: (N, n) acceleration and effort of the step that starts at t [rad/s^2, m/s^2; N m, N]; or None.
        joints: n names. joint_units: unit of each position, "rad" or "m"; the other units follow.
        space: "joints", or "motors" if a column is the position of an actuator; `in_joints` converts.
        commands: (N, n) commanded channels, named q, dq, ddq or tau; or tip_position (N, 3) [m].
        extra: other channels (N,) or (N, k) by name. extra_units: their units; omitted channels have none.
        provenance: origin of the recording (arm, parameters, controller, ...); JSON-compatible values.
    """

    t: Array
    q: Array
    dq: Array
    ddq: Array | None = None
    tau: Array | None = None
    joints: Sequence[str]
    joint_units: Sequence[str]
    space: str = "joints"
    commands: Mapping[str, Array] = field(default_factory=dict)
    extra: Mapping[str, Array] = field(default_factory=dict)
    extra_units: Mapping[str, str] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("joints", "joint_units"):
            value = getattr(self, name)
            if not isinstance(value, list | tuple):
                raise InvalidRecording(f"{name} must be a list of strings, got {shown(value)}")
            object.__setattr__(self, name, tuple(value))
        for name in ("commands", "extra", "extra_units", "provenance"):
            check_type(name, getattr(self, name), Mapping, "a mapping by name")
        self._check_names()
        t = _frozen("t", self.t)
        if t.ndim != 1 or t.size == 0:
            raise InvalidRecording(f"t must have shape (N,) with N >= 1, got {t.shape}")
        _check_finite("t", t, ())
        late = np.flatnonzero(t[1:] <= t[:-1])
        if late.size:
            k = int(late[0]) + 1
            raise InvalidRecording(f"t = {t[k]} s does not come after {t[k - 1]} s; times must increase", k)
        object.__setattr__(self, "t", t)
        for name in UNITS:
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, self._channel(name, value, self.joints))
            elif name in ("q", "dq"):
                raise InvalidRecording(f"{name} is missing; only ddq and tau may be None")
        commands = {
            name: self._channel(f"command_{name}", v, TIP_COMMANDS[name][0] if name in TIP_COMMANDS else self.joints)
            for name, v in self.commands.items()
        }
        extra = {name: self._extra_channel(name, v) for name, v in self.extra.items()}
        extra_units = {name: self.extra_units.get(name, "") for name in extra}
        fields: dict[str, dict[str, Any]] = {"commands": commands, "extra": extra, "extra_units": extra_units}
        for name, value in (fields | {"provenance": _plain(self.provenance)}).items():
            object.__setattr__(self, name, MappingProxyType(value))

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joints)

    def __len__(self) -> int:
        """Number of rows N."""
        return len(self.t)

    def __repr__(self) -> str:
        arm = self.provenance.get("arm", "arm not named")
        return f"<Recording: {arm}, {len(self)} rows, {self.t[0]:g} to {self.t[-1]:g} s>"

    def between(self, t0: float, t1: float) -> Recording:
        """The rows with t0 <= t <= t1 [s]."""
        rows = (self.t >= t0) & (self.t <= t1)
        if not rows.any():
            raise InvalidRecording(f"no row between {t0} and {t1} s; the recording has {self.t[0]} to {self.t[-1]} s")
        extra = {name: value[rows] for name, value in self.extra.items()}
        return replace(self, t=self.t[rows], **self._changed(lambda _, value: value[rows]), extra=extra)

    def check_joints(self, arm: Arm) -> None:
        """Raise an error unless the columns are the joints of the arm, in its order."""
        if self.space != "joints":
            columns = f"motor columns ({', '.join(self.joints)})"
            raise TrocarError(f"the recording is in {columns}; convert it with recording.in_joints({arm.name!r})")
        if self.joints != arm.joint_names:
            columns, joints = ", ".join(self.joints), ", ".join(arm.joint_names)
            raise TrocarError(f"the recording has the joints {columns}; {arm.name} has {joints}")

    def in_joints(self, arm: str | Arm) -> Recording:
        """Convert a recording in motor columns to the joints of the arm, motion and efforts alike.

        Commands are converted too. A column may be a motor or a joint; together they must determine every joint.
        """
        arm = load_arm(arm) if isinstance(arm, str) else arm
        if self.space == "joints":
            raise TrocarError(f"the recording is in joints already: {', '.join(self.joints)}")
        T = joint_from_columns(arm, self.joints)
        matrix = {"q": T.T, "dq": T.T, "ddq": T.T, "tau": np.linalg.inv(T)}
        changed = self._changed(lambda name, value: value @ matrix[name] if name in matrix else value)
        return replace(self, **changed, joints=arm.joint_names, joint_units=arm.joint_units, space="joints")

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write to PATH.npz or PATH.csv atomically; both formats store every number exactly."""
        return write_whole(path, npz_bytes(self) if check_suffix(path) == ".npz" else csv_text(self))

    def plot(self, title: str = "", other: Recording | None = None) -> Figure:
        """Figure of q, dq and tau, one column per joint; dashed: the reference, or `other` aligned at its first row.

        A matplotlib figure: `trocar.plots.save(recording.plot(), "recording.png")`; a notebook displays it directly.
        """
        from trocar.recording.figure import recording_figure  # imported here: matplotlib is needed for plotting only

        return recording_figure(self, title, other)

    def __reduce__(self) -> tuple[Any, ...]:
        values = {own.name: getattr(self, own.name) for own in fields(self)}
        plain: dict[str, Any] = {n: dict(x) if isinstance(x, Mapping) else x for n, x in values.items()}
        return partial(type(self), **plain), ()

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, drop_repeats: bool = False) -> Recording:
        """Read a file written by `save`, or a CSV file with the same column names and units.

        drop_repeats: drop rows with the time of the row before, as a reader writes that is faster than the robot;
            their number is `provenance["dropped_rows"]`. Default: such rows are an error.
        """
        path = Path(path)
        fields, lines = (read_npz(path), []) if check_suffix(path) == ".npz" else read_csv(path)
        if drop_repeats:
            fields, lines = without_repeats(fields, lines)
        try:
            return cls(**fields)
        except InvalidRecording as error:
            place = f"{path}, line {lines[error.row]}" if lines and error.row is not None else str(path)
            raise InvalidRecording(f"{place}: {error}") from None
        except TrocarError as error:
            raise TrocarError(f"{path}: {error}") from None

    def _changed(self, change: Callable[[str, Array], Array]) -> dict[str, Any]:
        """The joint channels that are present and the commands, after a change of each."""
        channels = {name: change(name, x) for name in UNITS if (x := getattr(self, name)) is not None}
        return {**channels, "commands": {name: change(name, x) for name, x in self.commands.items()}}

    def _channel(self, name: str, value: object, columns: Sequence[str]) -> Array:
        array = _frozen(name, value)
        if array.shape != (self.t.size, len(columns)):
            what = "rows x joints" if columns is self.joints else f"rows x {', '.join(columns)}"
            raise InvalidRecording(f"{name} must have shape ({self.t.size}, {len(columns)}), {what}, got {array.shape}")
        _check_finite(name, array, columns)
        return array

    def _extra_channel(self, name: str, value: object) -> Array:
        array = _frozen(name, value)
        if array.ndim not in (1, 2) or array.shape[0] != self.t.size or array.size == 0:
            raise InvalidRecording(f"{name} must have shape ({self.t.size},) or ({self.t.size}, k), got {array.shape}")
        if array.ndim == 1 and (name == "t" or JOINT_COLUMN.fullmatch(name)):
            raise InvalidRecording(f"the channel name {shown(name)} would be read as a joint channel; choose another")
        _check_finite(name, array, ())
        return array

    def _check_names(self) -> None:
        if not self.joints or len({str(name) for name in self.joints}) != self.n:
            raise InvalidRecording(f"joints must be one or more different names, got {shown(self.joints)}")
        if len(self.joint_units) != self.n:
            raise InvalidRecording(f"{len(self.joint_units)} joint_units for {self.n} joints")
        check_known("space of a recording", SPACES, self.space)
        check_known("unit of a joint position", UNITS["q"], *self.joint_units)
        check_known("command", (*UNITS, *TIP_COMMANDS), *self.commands)
        check_known("extra_units: channel", self.extra, *self.extra_units)
        for unit in self.extra_units.values():
            if not isinstance(unit, str) or re.search(r"[\[\],\n\r]", unit):
                raise InvalidRecording(f"the unit {shown(unit)} holds a bracket, a comma or a line break")
        for name in (*self.joints, *self.extra):
            if not (isinstance(name, str) and NAME.fullmatch(name)):
                raise InvalidRecording(f"the name {shown(name)} must be a letter, then letters, digits, _ . or -")


def differences(a: Recording, b: Recording) -> tuple[Array, dict[str, Array]]:
    """Times (M,) from the first row [s], and b - a (M, n) of every channel (q, dq, tau) that both have.

    The rows are those of a within the duration of b; b is interpolated. Both recordings begin at time 0.
    """
    if a.space != b.space or a.joints != b.joints:
        one, other = (f"{each.space} {', '.join(each.joints)}" for each in (a, b))
        raise TrocarError(f"nothing to compare: one recording has {one}, the other {other}")
    t, there = a.t - a.t[0], b.t - b.t[0]
    rows = t <= there[-1]
    changes = {}
    for channel in ("q", "dq", "tau"):
        x, y = getattr(a, channel), getattr(b, channel)
        if x is not None and y is not None:
            changes[channel] = np.stack([np.interp(t[rows], there, column) for column in y.T], axis=1) - x[rows]
    return t[rows], changes


def check_suffix(path: str | os.PathLike[str]) -> str:
    """The suffix of a recording's file; an error if there is no such format."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise TrocarError(f"{path}: the file name of a recording must end in {' or '.join(SUFFIXES)}")
    return suffix


def _frozen(name: str, value: object) -> Array:
    if isinstance(value, np.ndarray) and value.dtype == bool:
        value = value.astype(float)  # a channel of flags
    try:
        array = checks.real_array(name, value).copy()
    except TrocarError as error:
        raise InvalidRecording(str(error)) from None
    array.setflags(write=False)
    return array


def _check_finite(name: str, array: Array, joints: Sequence[str]) -> None:
    finite = np.isfinite(array)
    if not finite.all():
        index = tuple(int(i) for i in np.argwhere(~finite)[0])
        where = "" if len(index) == 1 else f" of {joints[index[1]]}" if joints else f"[{index[1]}]"
        raise InvalidRecording(f"{name}{where} is {array[index]}", index[0])


def _plain(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """The mapping as it is read back from a file: tuples become lists."""
    for key in provenance:
        if not isinstance(key, str) or not re.fullmatch(r"\w[^:\n\r]*", key):
            raise InvalidRecording(f"the provenance key {shown(key)} must be one line of text without a colon")
    try:
        return dict(json.loads(json.dumps(dict(provenance), allow_nan=False)))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRecording(f"provenance is not JSON-compatible: {error}") from None
