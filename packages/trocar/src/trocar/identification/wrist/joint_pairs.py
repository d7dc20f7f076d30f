"""Commanded joints with the joints that a camera or tracker saw."""

from __future__ import annotations

import io
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trocar.errors import TrocarError
from trocar.files import memory, read_whole, write_whole
from trocar.recording.formats import CsvTable, npy_array, npz_arrays
from trocar.spatial import Array

JOINTS = ("yaw", "pitch", "insertion", "roll", "wrist_pitch", "wrist_yaw")
UNITS = ("rad", "rad", "m", "rad", "rad", "rad")
KINDS = ("command", "seen")
PUBLISHED = {"command": "q_des", "seen": "q_act"}  # files of Hwang et al. 2020, NAME.npy or NAME_raw.npy
MIN_ROWS = 50
NOISE_LEVER = 0.02  # [m/rad] noise of an insertion over that of an angle


@dataclass(frozen=True, kw_only=True)
class JointPairs:
    """One motion of a PSM: joints as the motors report them, and as they were seen, row by row.

    Attributes:
        name: of the motion. command, seen: (N, 6) yaw, pitch [rad], insertion [m], roll, wrist pitch, wrist yaw [rad].
    """

    name: str
    command: Array
    seen: Array

    def __post_init__(self) -> None:
        for kind in KINDS:
            value = np.array(getattr(self, kind), dtype=float)
            if value.ndim != 2 or value.shape[1] != len(JOINTS) or not np.isfinite(value).all():
                raise TrocarError(
                    f"{self.name}: '{kind}' must be finite rows of {', '.join(JOINTS)}, got shape {value.shape}"
                )
            object.__setattr__(self, kind, value)
        if len(self.command) != len(self.seen) or len(self.command) < MIN_ROWS:
            raise TrocarError(
                f"{self.name}: needs at least {MIN_ROWS} rows, as many commanded as seen; got {len(self.command)} and "
                f"{len(self.seen)}"
            )

    def with_noise(self, sigma: float, seed: int) -> JointPairs:
        """The motion as a camera sees it: normal noise on the seen joints, `sigma` [rad] and a fiftieth of it [m]."""
        scale = sigma * np.array([1.0 if unit == "rad" else NOISE_LEVER for unit in UNITS])
        noise = np.random.default_rng(seed).normal(size=self.seen.shape)
        return JointPairs(name=self.name, command=self.command, seen=self.seen + scale * noise)

    def save(self, path: Path) -> Path:
        """Write an .npz file that `load` reads."""
        buffer = io.BytesIO()
        np.savez(buffer, command=self.command, seen=self.seen)
        return write_whole(path, buffer.getvalue())

    @classmethod
    def load(cls, path: Path) -> JointPairs:
        """Read an .npz file with `command` and `seen`, a .csv file with columns such as `command_yaw [rad]` and
        `seen_yaw [rad]`, or a folder with q_des.npy and q_act.npy as published by Hwang et al. 2020.
        """
        if path.is_dir():
            return cls(name=path.name, **{kind: _array(_published(path, stem)) for kind, stem in PUBLISHED.items()})
        if not path.is_file():
            raise TrocarError(f"{path} is neither a file (.npz, .csv) nor a folder with q_des.npy and q_act.npy")
        if path.suffix == ".npz":
            return cls(name=path.stem, **_entries(path))
        return cls(name=path.stem, **_columns(path))


def joint_titles(kind: str) -> list[str]:
    """Titles of the columns of commanded or seen joints in a csv file."""
    return [f"{kind}_{joint} [{unit}]" for joint, unit in zip(JOINTS, UNITS, strict=True)]


def _published(folder: Path, stem: str) -> Path:
    names = [f"{lead}{stem}{tail}.npy" for lead in ("", "new_") for tail in ("", "_raw")]
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise TrocarError(f"{folder} has none of {', '.join(names)}")


def _array(path: Path) -> Array:
    try:
        return np.asarray(npy_array(read_whole(path, "array", memory() // 4)), dtype=float)
    except (LookupError, ValueError, TypeError, EOFError) as error:
        raise TrocarError(f"{path} is not an array of numbers: {error}") from None


def _entries(path: Path) -> dict[str, Array]:
    try:
        entries = npz_arrays(read_whole(path, "file of arrays", memory() // 4))
        if missing := [kind for kind in KINDS if kind not in entries]:
            raise TrocarError(f"{path} has no entry {' and '.join(missing)}; it has {', '.join(entries)}")
        return {kind: np.asarray(entries[kind], dtype=float) for kind in KINDS}
    except (zipfile.BadZipFile, zlib.error, LookupError, ValueError, TypeError, EOFError) as error:
        raise TrocarError(f"{path} is not a file of arrays: {error}") from None


def _columns(path: Path) -> dict[str, Array]:
    titles = {kind: joint_titles(kind) for kind in KINDS}
    file = CsvTable(path, ",".join(titles["command"]))
    if missing := [title for kind in KINDS for title in titles[kind] if title not in file.titles]:
        raise TrocarError(f"{path} has no column {', '.join(missing)}")
    table, _ = file.numbers()
    return {kind: table[:, [file.titles.index(title) for title in titles[kind]]] for kind in KINDS}
