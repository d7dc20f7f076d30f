"""Reading episodes of robomimic's HDF5 files. Sizes, links and data in other files are checked before reading.

The HDF5 library itself can crash, loop or fill the memory on a damaged file: open only files of people you trust.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from trocar.errors import TrocarError
from trocar.files import Json, check_memory, check_regular
from trocar.spatial import Array
from trocar_learning.episodes.arm_columns import recordings
from trocar_learning.episodes.demonstration import check_description
from trocar_learning.episodes.loaded import EpisodeSet, LoadedEpisode

TEXTS = "about", "features", "instruction"  # attributes of an episode
COPIES = 4  # of the arrays of an episode while it is read
_DEMO = re.compile(r"demo_(\d+)")


def load_robomimic(path: Path, splits: dict[str, str]) -> EpisodeSet:
    """Episodes of an HDF5 file of robomimic with joint positions in obs/position and their names, as trocar writes."""
    check_regular(path, "HDF5 file")
    with _opened(path) as data:
        numbers = sorted(int(match[1]) for name in data if (match := _DEMO.fullmatch(name)))
    return EpisodeSet(path, "robomimic", len(numbers), lambda k: _demo(path, numbers[k]), splits)


def _demo(path: Path, number: int) -> LoadedEpisode:
    about, values = _read(path, number)
    place, fps = f"{path}, demo_{number}", about["fps"]
    try:
        described, features = (json.loads(about.get(name, "{}")) for name in ("about", "features"))
        instruction = about.get("instruction", "")
        check_description(fps, instruction, features, described)
    except (ValueError, RecursionError) as error:
        raise TrocarError(f"{place}: {str(error)[:200]}") from None
    columns = {f"observation.{name}": column for name, column in values.items()}
    names = {name: list(entry.get("names") or ()) for name, entry in features.items()}
    lengths = {len(values) for values in columns.values()}
    if len(lengths) != 1:
        raise TrocarError(f"{place}: its observations have {sorted(lengths)} rows")
    arms = recordings(np.arange(lengths.pop()) / fps, columns, names, {"file": path.name, "data": "robomimic"})
    pictures = {name: partial(_pictures, path, number, name) for name in about["pictures"]}
    return LoadedEpisode(arms, instruction, described, pictures)


def _read(path: Path, number: int) -> tuple[Json, dict[str, Array]]:
    """Attributes of an episode and names of its pictures, and its other observations (N, k) by name."""
    with _opened(path) as data:
        group = _member(data, f"demo_{number}", h5py.Group)
        observed = _member(group, "obs", h5py.Group)
        values = {name: _member(observed, name, h5py.Dataset) for name in observed}
        numbers = {name: value for name, value in values.items() if value.ndim in (1, 2, 3) and value.dtype.kind == "f"}
        _check_size(f"{path}, demo_{number}", 8.0 * sum(value.size for value in numbers.values()))
        about: Json = {key: _text(group.attrs[key]) for key in TEXTS if key in group.attrs}
        about["fps"] = float(group.attrs.get("fps", 20.0))
        about["pictures"] = [name for name, value in values.items() if value.ndim == 4]
        columns = {name: np.asarray(value, dtype=float).reshape(len(value), -1) for name, value in numbers.items()}
        return about, columns


def _pictures(path: Path, number: int, name: str) -> Array:
    """The images (N, height, width, channels) of an episode."""
    with _opened(path) as data:
        group = _member(data, f"demo_{number}", h5py.Group)
        images = _member(_member(group, "obs", h5py.Group), name, h5py.Dataset)
        _check_size(f"{path}, demo_{number}", float(images.size) * images.dtype.itemsize)
        return np.asarray(images, dtype=np.uint8)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """The group `data` of a file; any exception while it is read becomes an error that names the file."""
    try:
        with h5py.File(path, "r") as file:
            yield _member(file, "data", h5py.Group)
    except TrocarError:
        raise
    except Exception as error:  # of the HDF5 library, of any kind
        reason = str(error)[:200] or type(error).__name__
        raise TrocarError(f"{path} is no HDF5 file of robomimic, or a damaged one: {reason}") from None


def _member(group: Any, name: str, kind: type) -> Any:
    """A group or data set in a group; neither a link nor data in other files."""
    if name not in group:
        raise ValueError(f"{group.name} has no {name!r} as robomimic's files have")
    if not isinstance(group.get(name, getlink=True), h5py.HardLink):
        raise ValueError(f"{group.name}/{name} is a link to another place")
    entry = group[name]
    if not isinstance(entry, kind):
        raise ValueError(f"{group.name}/{name} is no {kind.__name__.lower()}")
    if isinstance(entry, h5py.Dataset) and (entry.external or entry.is_virtual):
        raise ValueError(f"{group.name}/{name} has its data in other files")
    return entry


def _check_size(what: str, size: float) -> None:
    check_memory(COPIES * size, what, "Read a shorter episode")


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
