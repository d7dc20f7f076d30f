"""Reading episodes of robomimic's HDF5 files, .npz files of trocar, and JIGSAWS."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from trocar.episodes.arm_columns import arm_recording, recordings, tip_channels
from trocar.episodes.demonstration import Demonstration, check_description, read_npz
from trocar.episodes.loaded import EpisodeSet, LoadedEpisode
from trocar.episodes.picture_files import image
from trocar.errors import TrocarError
from trocar.files import check_memory, check_regular, memory, read_json, read_whole
from trocar.spatial import Array, quaternion
from trocar.sweep.table import optional

JIGSAWS_COLUMNS, JIGSAWS_RATE = 76, 30.0  # Gao et al. 2014 [Hz]
# First column of every manipulator: position 3, rotation 9, velocity 3, angular velocity 3, gripper 1.
JIGSAWS_ARMS = {"mtml": 0, "mtmr": 19, "psm1": 38, "psm2": 57}
_DEMO = re.compile(r"demo_(\d+)")


def load_npz(folder: Path) -> EpisodeSet:
    """Episodes of a folder with episode_000000.npz, ..."""
    files = sorted(folder.glob("episode_*.npz"))
    return EpisodeSet(
        folder, "npz", len(files), lambda k: _of_demonstration(read_npz(files[k]), files[k]), _splits(folder)
    )


def _splits(folder: Path) -> dict[str, str]:
    path = folder / "trocar.json"
    content = read_json(path, "description") if path.is_file() else {}
    splits = content.get("splits") if isinstance(content, Mapping) else {}
    return {str(name): str(text) for name, text in splits.items()} if isinstance(splits, Mapping) else {}


def _of_demonstration(episode: Demonstration, path: Path) -> LoadedEpisode:
    columns = {name: np.asarray(value, dtype=float) for name, value in episode.frames.items()}
    names = {name: list(episode.features.get(name, {}).get("names") or ()) for name in columns}
    t = np.arange(len(episode)) / episode.fps
    arms = recordings(t, columns, names, {"file": path.name, "data": "trocar npz"})
    pictures = {name: partial(_images, files) for name, files in episode.pictures.items()}
    return LoadedEpisode(arms, episode.instruction, episode.about, pictures)


def _images(files: list[bytes]) -> Array:
    return np.array([image(file) for file in files])


def load_robomimic(path: Path) -> EpisodeSet:
    """Episodes of an HDF5 file of robomimic with joint positions in obs/position and their names, as trocar writes."""
    check_regular(path, "HDF5 file")
    with _opened(path) as file:
        if "data" not in file or not isinstance(file["data"], optional("h5py").Group):
            raise TrocarError(f"{path} has no group 'data' as robomimic's files have")
        numbers = sorted(int(match[1]) for name in file["data"] if (match := _DEMO.fullmatch(name)))
    return EpisodeSet(path, "robomimic", len(numbers), lambda k: _demo(path, numbers[k]), _splits(path.parent))


def _opened(path: Path) -> Any:
    try:
        return optional("h5py").File(path, "r")
    except OSError as error:
        raise TrocarError(f"{path} is no HDF5 file, or a damaged one: {error}") from None


def _demo(path: Path, number: int) -> LoadedEpisode:
    h5py, place = optional("h5py"), f"{path}, demo_{number}"
    with _opened(path) as file:
        try:
            group = file[f"data/demo_{number}"]
            observed, columns, pictures = group["obs"], {}, {}
            for name in observed:
                part = observed.get(name, getlink=True)
                if not isinstance(part, h5py.HardLink):
                    raise TrocarError(f"{place}: obs/{name} is a link to another place")
                values = observed[name]
                check_memory(4.0 * values.size * values.dtype.itemsize, f"reading {place}", "Read a shorter episode")
                if values.ndim == 4:
                    pictures[name] = partial(_stored_images, path, f"data/demo_{number}/obs/{name}")
                elif values.dtype.kind == "f":
                    columns[f"observation.{name}"] = np.asarray(values, dtype=float).reshape(len(values), -1)
            described = {name: json.loads(group.attrs[name]) for name in ("about", "features") if name in group.attrs}
            fps = float(group.attrs.get("fps", 20.0))
            instruction = str(group.attrs.get("instruction", ""))
            check_description(fps, instruction, described.get("features", {}), described.get("about", {}))
        except TrocarError:
            raise
        except Exception as error:  # any exception of the HDF5 and JSON readers
            raise TrocarError(f"{place}: {str(error)[:200]}") from None
    names = {name: list(entry.get("names") or ()) for name, entry in described.get("features", {}).items()}
    lengths = {len(values) for values in columns.values()}
    if len(lengths) != 1 or not 0 < fps < 1e6:
        raise TrocarError(f"{place}: its observations have {sorted(lengths)} rows at {fps:g} per second")
    arms = recordings(np.arange(lengths.pop()) / fps, columns, names, {"file": path.name, "data": "robomimic"})
    return LoadedEpisode(arms, instruction, described.get("about", {}), pictures)


def _stored_images(path: Path, name: str) -> Array:
    with _opened(path) as file:
        return np.asarray(file[name], dtype=np.uint8)


def load_jigsaws(files: list[Path], folder: Path) -> EpisodeSet:
    """Episodes of kinematics files of JIGSAWS; tips of two masters (mtml, mtmr) and two instruments (psm1, psm2)."""
    return EpisodeSet(folder, "JIGSAWS", len(files), lambda k: _trial(files[k]), {})


def is_jigsaws(path: Path) -> bool:
    """True if the first line of a text file has as many numbers as one of JIGSAWS."""
    try:
        with open(path, "rb") as stream:
            return len(np.array(stream.readline(10_000).split(), dtype=float)) == JIGSAWS_COLUMNS
    except (OSError, ValueError):
        return False


def _trial(path: Path) -> LoadedEpisode:
    try:
        text = read_whole(path, "kinematics file", memory() // 16).decode("ascii")
        table = np.loadtxt(text.splitlines(), ndmin=2, comments=None)
    except (ValueError, UnicodeDecodeError) as error:
        raise TrocarError(f"{path} is not a table of numbers: {error}") from None
    if table.shape[1] != JIGSAWS_COLUMNS or not np.isfinite(table).all():
        raise TrocarError(
            f"{path}: a kinematics file of JIGSAWS has {JIGSAWS_COLUMNS} finite columns, got {table.shape}"
        )
    t, arms = np.arange(len(table)) / JIGSAWS_RATE, {}
    for label, first in JIGSAWS_ARMS.items():
        R = _nearest_rotations(table[:, first + 3 : first + 12].reshape(-1, 3, 3))
        turns = np.array([quaternion(one)[[1, 2, 3, 0]] for one in R])
        channels = tip_channels(table[:, first : first + 3], turns, table[:, first + 18 : first + 19])
        velocity = table[:, first + 12 : first + 15]
        gripper = np.gradient(channels["q"][:, 3], t) if len(t) > 1 else np.zeros(len(t))
        channels["dq"] = np.column_stack([velocity, gripper])
        arms[label] = arm_recording(label, t, channels, {"file": path.name, "data": "JIGSAWS"})
    task = path.stem.rpartition("_")[0] or path.stem
    return LoadedEpisode(arms, task.replace("_", " "), {"trial": path.stem})


def _nearest_rotations(R: Array) -> Array:
    """Rotations (N, 3, 3) nearest to matrices that were rounded in a text file."""
    U, _, V = np.linalg.svd(R)
    U[..., -1] *= np.linalg.det(U @ V)[:, None]
    return np.asarray(U @ V)
