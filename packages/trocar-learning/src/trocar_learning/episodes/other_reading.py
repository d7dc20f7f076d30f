"""Reading episodes of .npz files of trocar and of JIGSAWS."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np

from trocar.errors import TrocarError
from trocar.files import check_regular, memory, read_json, read_whole
from trocar.spatial import Array, quaternion
from trocar_learning.episodes.arm_columns import arm_recording, recordings, tip_channels
from trocar_learning.episodes.demonstration import Demonstration, read_npz
from trocar_learning.episodes.loaded import EpisodeSet, LoadedEpisode
from trocar_learning.episodes.picture_files import image

JIGSAWS_COLUMNS, JIGSAWS_RATE = 76, 30.0  # Gao et al. 2014 [Hz]
# First column of every manipulator: position 3, rotation 9, velocity 3, angular velocity 3, gripper 1.
JIGSAWS_ARMS = {"mtml": 0, "mtmr": 19, "psm1": 38, "psm2": 57}


def load_npz(folder: Path) -> EpisodeSet:
    """Episodes of a folder with episode_000000.npz, ..."""
    files = sorted(folder.glob("episode_*.npz"))
    return EpisodeSet(
        folder, "npz", len(files), lambda k: _of_demonstration(read_npz(files[k]), files[k]), set_splits(folder)
    )


def set_splits(folder: Path) -> dict[str, str]:
    """Names and ranges of the splits of a data set with a description of trocar."""
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


def load_jigsaws(files: list[Path], folder: Path) -> EpisodeSet:
    """Episodes of kinematics files of JIGSAWS; tips of two masters (mtml, mtmr) and two instruments (psm1, psm2)."""
    return EpisodeSet(folder, "JIGSAWS", len(files), lambda k: _trial(files[k]), {})


def is_jigsaws(path: Path) -> bool:
    """True if the first line of a text file has as many numbers as one of JIGSAWS."""
    try:
        check_regular(path, "kinematics file")
        with open(path, "rb") as stream:
            return len(np.array(stream.readline(10_000).split(), dtype=float)) == JIGSAWS_COLUMNS
    except (OSError, ValueError):  # also a TrocarError: a pipe, which would block
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
