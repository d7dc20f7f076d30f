"""Markers: poses of marked links over time from a motion-capture system, with the joint values.

The file is CSV with a header of names and units. Other columns are rejected; comment lines begin with #:

    t [s], q_yaw [rad], q_pitch [rad], q_insertion [m], end_x [m], end_y [m], end_z [m], end_qw, end_qx, end_qy, end_qz

with seven such columns for every marked link: position ([m] or [mm]) and unit quaternion of its rigid body of markers
in the frame of the cameras. Cells of a body are empty (or nan) in rows where it was not seen.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import scipy

from trocar.errors import TrocarError
from trocar.files import write_whole
from trocar.recording.formats import CsvTable
from trocar.spatial import Array, quaternion

POSITION, ORIENTATION = ("x", "y", "z"), ("qw", "qx", "qy", "qz")
MAX_DISTANCE = 1e3  # [m] from the cameras
UNIT_NORM = 1e-2  # largest deviation of a quaternion's length from 1
_TITLE = re.compile(r"(?P<name>[A-Za-z][\w.-]*?)\s*(\[(?P<unit>[^\]]*)\])?")
_UNITS: dict[str, tuple[str | None, ...]] = {
    "t": ("s",),
    "q_.*": ("rad", "m", "mm"),
    ".*_[xyz]": ("m", "mm"),
    ".*_q[wxyz]": (None, "", "1", "-"),
}
_SCALES = {"m": 1.0, "mm": 1e-3}


@dataclass(frozen=True, kw_only=True, eq=False)
class Markers:
    """Marked links in the camera frame. Arrays are read-only.

    Attributes:
        t: (N,) times, increasing [s]. q: (N, n) joint values [rad, m]. joints: their names.
        poses: (N, 4, 4) pose of every body of markers in the camera frame, by the link's name; NaN where not seen.
        lines: (N,) line of each row in the file it was read from; row numbers otherwise.
        source: the file, or the origin of the data.
    """

    t: Array
    q: Array
    joints: Sequence[str]
    poses: Mapping[str, Array]
    lines: Array | None = None
    source: str = "markers"

    def __post_init__(self) -> None:
        t, q = np.array(self.t, dtype=float), np.array(self.q, dtype=float)
        N = t.size
        if t.shape != (N,) or N == 0 or q.shape != (N, len(self.joints)):
            raise TrocarError(f"{self.source}: t {t.shape} and q {q.shape} do not fit {len(self.joints)} joints")
        if not np.isfinite(q).all() or not (np.diff(t) > 0).all():
            raise TrocarError(f"{self.source}: joint values must be finite and times must increase")
        poses = {body: np.array(T, dtype=float) for body, T in self.poses.items()}
        for body, T in poses.items():
            if T.shape != (N, 4, 4):
                raise TrocarError(f"{self.source}: poses of '{body}' must have shape ({N}, 4, 4), got {T.shape}")
        lines = np.arange(N) if self.lines is None else np.array(self.lines, dtype=int)
        for array in (t, q, lines, *poses.values()):
            array.setflags(write=False)
        fields = {"t": t, "q": q, "joints": tuple(self.joints), "lines": lines, "poses": MappingProxyType(poses)}
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        """Number of rows N."""
        return len(self.t)

    def joint(self, name: str) -> Array:
        """Values (N,) of a joint [rad, m]."""
        if name not in self.joints:
            raise TrocarError(f"{self.source}: the values of joint '{name}' are missing (column 'q_{name}')")
        return self.q[:, list(self.joints).index(name)]

    def seen(self, *bodies: str) -> Array:
        """Mask (N,) of rows in which all these bodies are seen."""
        visible = [np.isfinite(self.poses[body]).all((-1, -2)) for body in bodies]
        return np.logical_and.reduce(visible) if visible else np.ones(len(self), dtype=bool)

    def longest_gap(self, body: str) -> float:
        """Longest time for which a body is not seen [s]."""
        times = self.t[self.seen(body)]
        return float(np.diff(np.concatenate([self.t[:1], times, self.t[-1:]])).max())

    def renamed(self, names: Mapping[str, str]) -> Markers:
        """A copy with renamed bodies: old name -> new name."""
        return replace(self, poses={names.get(body, body): T for body, T in self.poses.items()})

    def without(self, rows: Array) -> Markers:
        """A copy without the rows of a mask (N,)."""
        poses = {body: T[~rows] for body, T in self.poses.items()}
        return replace(self, t=self.t[~rows], q=self.q[~rows], poses=poses, lines=np.asarray(self.lines)[~rows])

    def save(self, path: str | os.PathLike[str], joint_units: Sequence[str]) -> Path:
        """Write a CSV file atomically; every number reads back exactly. joint_units: rad or m for each joint."""
        if len(joint_units) != len(self.joints) or not set(joint_units) <= {"rad", "m"}:
            raise TrocarError(f"joint_units must be rad or m for each of {', '.join(self.joints)}, got {joint_units!r}")
        titles = ["t [s]", *(f"q_{name} [{unit}]" for name, unit in zip(self.joints, joint_units, strict=True))]
        columns = [self.t[:, None], self.q]
        for body, T in self.poses.items():
            titles += [*(f"{body}_{axis} [m]" for axis in POSITION), *(f"{body}_{part}" for part in ORIENTATION)]
            seen, numbers = self.seen(body), np.full((len(self), 7), np.nan)
            numbers[seen] = np.concatenate([T[seen, :3, 3], quaternion(T[seen, :3, :3])], axis=1)
            columns.append(numbers)
        _columns(titles, f"{path}, not written")  # reject names that could not be read back
        rows = np.concatenate(columns, axis=1).tolist()
        lines = [",".join("" if value != value else repr(value) for value in row) for row in rows]
        return write_whole(path, "\n".join([",".join(titles), *lines]) + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Markers:
        """Read a CSV file in the format of the module docstring."""
        path = Path(path)
        file = CsvTable(path, "t [s],q_pitch [rad],back_x [m],...")
        columns, scales = _columns(file.titles, file.place)
        numbers, lines = file.numbers(empty=np.nan)
        table = numbers * scales
        joints = [name.removeprefix("q_") for name in columns if name.startswith("q_")]
        t, q = table[:, columns["t"]], table[:, [columns[f"q_{joint}"] for joint in joints]]
        for name, values in (("t", t[:, None]), ("joint", q)):
            for row in np.flatnonzero(~np.isfinite(values).all(1)):
                cell = f"{path}, line {lines[row]}: a {name} value"
                raise TrocarError(f"{cell} is missing; only marker cells may be empty")
        for row in np.flatnonzero(np.diff(t) <= 0):
            raise TrocarError(f"{path}, line {lines[row + 1]}: the time does not increase")
        bodies = dict.fromkeys(name.rsplit("_", 1)[0] for name in columns if name != "t" and not name.startswith("q_"))
        poses = {body: _poses(body, table, columns, lines, path) for body in bodies}
        return cls(t=t, q=q, joints=joints, poses=poses, lines=np.array(lines), source=str(path))


def _columns(titles: list[str], place: str) -> tuple[dict[str, int], Array]:
    """Column of every name, and factors that convert the columns to SI units."""
    columns: dict[str, int] = {}
    scales = np.ones(len(titles))
    for i, title in enumerate(titles):
        match = _TITLE.fullmatch(title)
        if match is None or match["name"] in columns:
            raise TrocarError(f"{place}: column {title!r} {'occurs twice' if match else 'has no name'}")
        name, unit = match["name"], match["unit"]
        columns[name] = i
        allowed = next((units for pattern, units in _UNITS.items() if re.fullmatch(pattern, name)), None)
        if allowed is None:
            names = "t, q_JOINT, LINK_x ... LINK_z, LINK_qw ... LINK_qz"
            raise TrocarError(f"{place}: column {title!r} is not one of {names}")
        if unit not in allowed:
            units = ", ".join(f"[{u}]" for u in allowed if u) if allowed[0] else "none"
            raise TrocarError(f"{place}: column {title!r} needs its unit: {units}")
        scales[i] = _SCALES.get(unit or "", 1.0)
    if "t" not in columns:
        raise TrocarError(f"{place}: the column 't [s]' is missing")
    return columns, scales


def _poses(body: str, table: Array, columns: dict[str, int], lines: list[int], path: Path) -> Array:
    """Poses (N, 4, 4), NaN where a cell of the body is empty."""
    missing = [f"{body}_{part}" for part in (*POSITION, *ORIENTATION) if f"{body}_{part}" not in columns]
    if missing:
        raise TrocarError(f"{path}: the pose of '{body}' lacks the column '{missing[0]}'")
    p = table[:, [columns[f"{body}_{axis}"] for axis in POSITION]]
    wxyz = table[:, [columns[f"{body}_{part}"] for part in ORIENTATION]]
    seen = np.isfinite(p).all(1) & np.isfinite(wxyz).all(1)
    for row in np.flatnonzero(seen & (np.abs(p) > MAX_DISTANCE).any(1)):
        away = f"'{body}' is more than {MAX_DISTANCE:g} m away"
        raise TrocarError(f"{path}, line {lines[row]}: {away}; is its unit right?")
    with np.errstate(over="ignore"):  # entries far too large for a unit quaternion
        norm = np.linalg.norm(wxyz, axis=1)
    for row in np.flatnonzero(seen & (np.abs(norm - 1.0) > UNIT_NORM)):
        raise TrocarError(
            f"{path}, line {lines[row]}: the quaternion of '{body}' has length {norm[row]:.4g}, not 1 "
            "(order w, x, y, z; leave cells empty where the body is not seen)"
        )
    T = np.full((len(table), 4, 4), np.nan)
    T[seen] = np.eye(4)
    if seen.any():
        T[seen, :3, :3] = scipy.spatial.transform.Rotation.from_quat(wxyz[seen], scalar_first=True).as_matrix()
    T[seen, :3, 3] = p[seen]
    return T
