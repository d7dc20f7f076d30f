"""Files of commanded joints and seen marker poses: npz and csv, with the names that other programs use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from trocar.errors import TrocarError, shown
from trocar.identification.wrist.joint_pairs import JOINTS
from trocar.identification.wrist.pose_pairs import SCALES, PosePairs, pairs_of
from trocar.mechanics import Mechanism
from trocar.recording.formats import CsvTable
from trocar.spatial import Array

# Names of joints and poses, the preferred ones first. The encoders (measured) are on the motors.
COMMANDS = ("command", "commanded", "measured", "encoder", "setpoint", "desired", "joints", "joint", "q", "")
ROBOT = {*COMMANDS[:-1], "measured_cp", "setpoint_cp", "goal", "error", "actual"}  # no poses of a tracker
POSES = ("seen", "seen_pose", "marker", "marker_measured_cp", "tracker", "camera", "pose")
ZERO = 0.05  # length of a quaternion below which its marker was not seen; deviation from 1 that is allowed otherwise
_TITLE = re.compile(r"(?P<name>.*?)\s*(?:\[(?P<unit>[^\]]*)\])?")
_JOINT = re.compile(
    rf"(?:(?P<group>.*?)[_. ])?(?:(?:joint|jp|js|q|j)[_. ]?)?(?P<joint>{'|'.join(JOINTS)}|[1-6])", re.IGNORECASE
)
_AXIS = re.compile(
    r"(?:(?P<group>.*?)[_. ])??(?:(?P<kind>position|pos|translation|p|t|orientation|quaternion|quat|q|rotvec|r)[_. ]?)?"
    r"(?P<axis>[wxyz])",
    re.IGNORECASE,
)
_ENTRY = re.compile(r"(?:(?P<group>.*?)[_. ])??r(?:ot|otation)?[_. ]?(?P<axis>[0-3][_. ]?[0-3])", re.IGNORECASE)
_KINDS = {"o": "q", "q": "q", "r": "r"}  # first letter of a kind: quaternion, rotation vector; others: position
_FORMS = {"q": "qw qx qy qz", "r": "rx ry rz", "R": "R11 R12 R13 R21 R22 R23 R31 R32 R33"}
EXAMPLE = "measured_q1 ... measured_q6, marker_x, marker_y, marker_z, marker_qw, marker_qx, marker_qy, marker_qz"


def from_csv(file: CsvTable, path: Path, mechanism: Mechanism) -> PosePairs:
    """Pose pairs of a table with columns such as `EXAMPLE`; also rotation vectors rx ry rz and matrices r11 ... r33."""
    names = [_TITLE.fullmatch(title) for title in file.titles]
    units = {match["name"]: match["unit"] for match in names if match}
    places = {match["name"]: i for i, match in enumerate(names) if match}
    joints = _joint_columns(path, places)
    group, form, columns = _pose_columns(path, places)
    table, _ = file.numbers(empty=np.nan)
    known = np.isfinite(table[:, [places[name] for name in joints]]).all(1)
    table = table[known]
    notes = [f"{path.name}: joints are those of the columns {joints[0]} to {joints[-1]}"]
    notes.append(f"{path.name}: poses are those of {group or 'the columns x, y, z'}, orientation {_FORMS[form]}")
    if (~known).any():
        notes.append(f"{path.name}: {(~known).sum()} rows without joints are left out")
    command = table[:, [places[name] for name in joints]]
    command, more = _si(path.name, command, [units[name] for name in joints])
    stated = {units[name] for name in columns[:3]}
    if not stated <= {None, "", *SCALES} or len(stated) > 1:
        raise TrocarError(f"{path}: positions must be in m or mm, got {', '.join(map(str, stated))}")
    values = table[:, [places[name] for name in columns]]
    rotations = {_FORMS[form]: _rotations(path.name, values[:, 3:], form)}
    unit = stated.pop() or None
    return pairs_of(path.stem, command, values[:, :3], rotations, unit, mechanism, (*notes, *more))


def from_arrays(entries: Mapping[str, Array], path: Path, mechanism: Mechanism) -> PosePairs:
    """Pose pairs of arrays: joints (N, 6) as `command`, poses as `seen_pose` (N, 4, 4), (N, 7) or (N, 6), or position
    and quaternion, rotation vector or matrix apart. Other names: see `COMMANDS` and `POSES`.
    """
    joints = _entry(entries, COMMANDS[:-1], ("", "_jp", "_js", "_q"))
    whole = _entry(entries, POSES, ("", "_pose", "_cp"))
    if joints is None or (whole is None and _entry(entries, (*POSES, ""), ("_position", "position")) is None):
        raise TrocarError(
            f"{path} has no entry seen, nor poses such as seen_pose or position and quaternion, beside command; it has "
            f"{shown(', '.join(entries))}"
        )
    command = np.asarray(entries[joints], dtype=float)
    if command.ndim != 2 or command.shape[1] not in (6, 7):
        raise TrocarError(f"{path}: {joints} must be rows of {', '.join(JOINTS)}, got shape {command.shape}")
    command, notes = _si(path.name, command[:, :6], [None] * 6)
    position, rotations = (
        _parts(path, whole, entries[whole], len(command)) if whole else _apart(path, entries, len(command))
    )
    first = f"{path.name}: joints are those of {joints}"
    return pairs_of(path.stem, command, position, rotations, None, mechanism, (first, *notes))


def _joint_columns(path: Path, titles: Iterable[str]) -> list[str]:
    groups: dict[str, dict[int, str]] = {}
    for title in titles:
        if match := _JOINT.fullmatch(title):
            joint = match["joint"].lower()
            k = int(joint) - 1 if joint.isdigit() else JOINTS.index(joint)
            groups.setdefault((match["group"] or "").lower(), {})[k] = title
    whole = {group: [columns[k] for k in range(6)] for group, columns in groups.items() if len(columns) == 6}
    chosen = next((group for group in COMMANDS if group in whole), None)
    if chosen is None:
        raise TrocarError(f"{path} has no columns of six joints beside poses; expected columns such as {EXAMPLE}")
    return whole[chosen]


def _pose_columns(path: Path, titles: Iterable[str]) -> tuple[str, str, list[str]]:
    """Name of the marker, form of its orientation, and its columns: position, then orientation."""
    groups: dict[str, dict[str, str]] = {}
    for title in titles:
        if match := _AXIS.fullmatch(title):
            kind = _KINDS.get((match["kind"] or "p")[0].lower(), "p")
            groups.setdefault((match["group"] or "").lower(), {})[kind + match["axis"].lower()] = title
        elif match := _ENTRY.fullmatch(title):
            groups.setdefault((match["group"] or "").lower(), {})["R" + re.sub(r"\D", "", match["axis"])] = title
    whole: dict[str, tuple[str, list[str]]] = {}
    for group, columns in groups.items():
        if "R00" in columns:  # counted from zero
            columns |= {f"R{i + 1}{j + 1}": columns.pop(f"R{i}{j}", "") for i in (2, 1, 0) for j in (2, 1, 0)}
        for form, parts in _FORMS.items():
            names = [columns.get(part, "") for part in ("px", "py", "pz", *parts.split())]
            if all(names) and group not in ROBOT:
                whole.setdefault(group, (form, names))
    chosen = next((group for group in POSES if group in whole), None)
    if chosen is None and len(whole) == 1:
        chosen = next(iter(whole))
    if chosen is None:
        several = f"has several poses ({', '.join(whole)})" if whole else "has no columns of a marker's pose"
        raise TrocarError(f"{path} {several}; expected columns such as {EXAMPLE}")
    return chosen, *whole[chosen]


def _si(name: str, command: Array, units: Sequence[str | None]) -> tuple[Array, tuple[str, ...]]:
    """Joints in rad and m; units that the file does not state follow from the size of the numbers, and are noted."""
    known = {None: None, "": None, "rad": 1.0, "m": 1.0, "mm": 1e-3, "deg": np.pi / 180.0}
    if unknown := [unit for unit in units if unit not in known]:
        raise TrocarError(f"{name}: joints must be in rad, deg, m or mm, got {', '.join(map(str, unknown))}")
    largest, notes = np.abs(command).max(0), []
    angles = [0, 1, 3, 4, 5]
    degrees = largest[[0, 1, 4, 5]].max() > 2.0 * np.pi
    scales = [known[unit] for unit in units]
    if degrees and all(scales[k] is None for k in angles):
        notes.append(f"{name}: angles are taken as degrees: they reach {largest[angles].max():.0f}")
    if scales[2] is None and largest[2] > 1.0:
        notes.append(f"{name}: the insertion is taken as mm: it reaches {largest[2]:.0f}")
    guessed = [np.pi / 180.0 if degrees else 1.0] * 6
    guessed[2] = 1e-3 if largest[2] > 1.0 else 1.0
    factor = [guess if scale is None else scale for guess, scale in zip(guessed, scales, strict=True)]
    return command * factor, tuple(notes)


def _entry(entries: Mapping[str, Array], names: Iterable[str], tails: Iterable[str]) -> str | None:
    return next((name + tail for name in names for tail in tails if name + tail in entries), None)


def _apart(path: Path, entries: Mapping[str, Array], rows: int) -> tuple[Array, dict[str, Array]]:
    position = _entry(entries, (*POSES, ""), ("_position", "position"))
    for tail in ("quaternion", "quaternion_wxyz", "quaternion_xyzw", "rotation", "rotvec"):
        if position and (name := _entry(entries, (*POSES, ""), (f"_{tail}", tail))) is not None:
            return _parts(path, name, entries[name], rows, np.asarray(entries[position], dtype=float))
    raise TrocarError(f"{path} has positions but no quaternion, rotation (N, 3, 3) or rotvec (N, 3)")


def _parts(
    path: Path, name: str, value: Array, rows: int, position: Array | None = None
) -> tuple[Array, dict[str, Array]]:
    """Position (N, 3) and rotations (N, 3, 3) by convention, of an array of poses or of orientations."""
    value = np.asarray(value, dtype=float)
    if value.ndim == 3 and value.shape[:2] == (4, 4) and value.shape[2] == rows != 4:
        value = np.moveaxis(value, -1, 0)
    if position is None:
        flat = value[:, :3].reshape(len(value), -1) if value.shape[1:] == (4, 4) else value.reshape(len(value), -1)
        if flat.shape[1] in (12, 16):
            matrix = flat[:, :12].reshape(-1, 3, 4)
            return matrix[:, :, 3], {"matrix": _rotations(path.name, matrix[:, :, :3].reshape(-1, 9), "R")}
        position, value = flat[:, :3], flat[:, 3:]
    form = {3: "r", 4: "q", 9: "R"}.get(value.reshape(len(value), -1).shape[1])
    if form is None or position.shape != (rows, 3) or len(value) != rows:
        raise TrocarError(
            f"{path}: {name} must hold {rows} poses, 4 x 4 or a position with a quaternion, rotation vector or matrix; "
            f"got shape {value.shape}"
        )
    flat = value.reshape(rows, -1)
    orders = {"wxyz": [0, 1, 2, 3], "xyzw": [3, 0, 1, 2]} if form == "q" else {_FORMS[form]: slice(None)}
    named = {order: columns for order, columns in orders.items() if name.endswith(order)} or orders
    return position, {order: _rotations(path.name, flat[:, columns], form) for order, columns in named.items()}


def _rotations(name: str, values: Array, form: str) -> Array:
    """Rotation matrices (N, 3, 3) of quaternions wxyz, rotation vectors or matrices; NaN where not seen."""
    known = np.isfinite(values).all(1)
    if form == "q":
        length = np.linalg.norm(values, axis=1)
        known &= length > ZERO
        if (np.abs(length[known] - 1.0) > ZERO).any():
            row = int(np.flatnonzero(known & (np.abs(length - 1.0) > ZERO))[0])
            raise TrocarError(f"{name}: the quaternion of row {row} has length {length[row]:.3g} instead of 1")
    R = np.full((len(values), 3, 3), np.nan)
    if form == "q":
        R[known] = Rotation.from_quat(values[known][:, [1, 2, 3, 0]]).as_matrix()
    elif form == "r":
        R[known] = Rotation.from_rotvec(values[known]).as_matrix()
    else:
        M = values[known].reshape(-1, 3, 3)
        off = np.abs(M @ np.swapaxes(M, -1, -2) - np.eye(3)).max((-1, -2), initial=0.0)
        if (off > ZERO).any() or (np.linalg.det(M) < 0.0).any():
            raise TrocarError(f"{name}: row {np.flatnonzero(known)[off.argmax()]} has no rotation matrix")
        R[known] = Rotation.from_matrix(M).as_matrix()  # exactly orthonormal, whatever the digits of the file
    return R
