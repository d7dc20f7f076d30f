"""Reading LeRobot data sets: v2.0, v2.1 and v3.0, of trocar, Open-H or jhu-dvrk.

File names are built from numbers by the rules of the format, never from templates of the data set, and every file must
lie in its folder.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
from pyarrow import parquet

from trocar.errors import TrocarError, shown
from trocar.files import Json, check_memory, check_regular, read_json, read_whole
from trocar.spatial import Array
from trocar_learning.episodes import lerobot3, lerobot21
from trocar_learning.episodes.arm_columns import recordings
from trocar_learning.episodes.films import decoded
from trocar_learning.episodes.loaded import EpisodeSet, LoadedEpisode
from trocar_learning.episodes.picture_files import image

VERSIONS = {"v2.0": "2", "v2.1": "2", "v3.0": "3"}
MAX_LINES = 2**28  # size of a file of JSON lines [bytes]
MAX_SIDE = 2**16  # height, width or channels of a film
_NAME = re.compile(r"[A-Za-z0-9_.\-/]{1,200}")


@dataclass(frozen=True)
class Info:
    """Content of info.json.

    Attributes:
        fps: frames per second. features: by name. chunk: episodes per folder.
    """

    version: str
    fps: float
    features: Mapping[str, Json]
    splits: Mapping[str, str]
    chunk: int


def load_lerobot(folder: Path) -> EpisodeSet:
    """The episodes of a folder with meta/info.json."""
    info = read_info(folder)
    episodes = _episodes3(folder) if VERSIONS[info.version] == "3" else _episodes2(folder)
    tables: dict[Path, Any] = {}  # the last table that was read

    def read(number: int) -> LoadedEpisode:
        return _episode(folder, info, episodes[number], tables)

    return EpisodeSet(folder, f"LeRobot {info.version}", len(episodes), read, info.splits)


def read_info(folder: Path) -> Info:
    """Content of info.json, checked."""
    path = _inside(folder, "meta/info.json")
    content = read_json(path, "info.json")
    if not isinstance(content, Mapping):
        raise TrocarError(f"{path} is no description of a LeRobot data set")
    version = content.get("codebase_version")
    if not isinstance(version, str) or version not in VERSIONS:
        raise TrocarError(f"{path}: codebase_version is {shown(version)}; readable are {', '.join(VERSIONS)}")
    fps, features, splits = content.get("fps"), content.get("features"), content.get("splits") or {}
    if not (isinstance(fps, int | float) and not isinstance(fps, bool) and 1e-6 <= fps < 1e6):
        raise TrocarError(f"{path}: fps must be a number of 1e-6 to 1e6, got {shown(fps)}")
    if not (isinstance(features, Mapping) and features):
        raise TrocarError(f"{path}: features must be a dictionary, got {shown(features)}")
    for name, feature in features.items():
        _check_name(path, name)
        if not isinstance(feature, Mapping) or not isinstance(feature.get("dtype"), str):
            raise TrocarError(f"{path}: the feature {shown(name)} has no dtype")
    if not (isinstance(splits, Mapping) and all(isinstance(x, str) for x in splits.values())):
        raise TrocarError(f"{path}: splits must be ranges such as 0:80, got {shown(splits)}")
    chunk = content.get("chunks_size", lerobot21.CHUNK)
    if not (isinstance(chunk, int) and chunk > 0):
        raise TrocarError(f"{path}: chunks_size must be a positive number, got {shown(chunk)}")
    return Info(version, float(fps), features, splits, chunk)


def _check_name(path: Path, name: object) -> None:
    if not (isinstance(name, str) and _NAME.fullmatch(name)) or ".." in name.split("/"):
        raise TrocarError(f"{path}: {shown(name)} is no name of a feature")


def _episodes2(folder: Path) -> list[Json]:
    path = _inside(folder, "meta/episodes.jsonl")
    content, rows = read_whole(path, "list of episodes", MAX_LINES), []
    try:
        for line in content.decode("utf-8").splitlines():
            row = json.loads(line)
            if not isinstance(row, dict):
                raise ValueError(f"{shown(row)} is no episode")
            rows.append(row)
    except (ValueError, RecursionError) as error:
        raise TrocarError(f"{path}: {error}") from None
    return [_checked(path, number, row) for number, row in enumerate(rows)]


def _episodes3(folder: Path) -> list[Json]:
    files = sorted((folder / "meta" / "episodes").glob("chunk-*/file-*.parquet"))
    if not files:
        raise TrocarError(f"{folder / 'meta' / 'episodes'} has no list of episodes")
    rows: list[Json] = []
    for path in files:
        rows += _table(_inside(folder, str(path.relative_to(folder))), omitted="stats/").to_pylist()
    return [_checked(files[0], number, row) for number, row in enumerate(rows)]


def _checked(path: Path, number: int, row: Json) -> Json:
    index, length = row.get("episode_index"), row.get("length")
    if type(index) is not int or index != number or not (type(length) is int and 0 < length < 2**31):
        raise TrocarError(
            f"{path}, row {number + 1}: episode_index must be {number} and length a positive whole number, got "
            f"{shown(index)} and {shown(length)}"
        )
    return row


def _episode(folder: Path, info: Info, row: Json, tables: dict[Path, Any]) -> LoadedEpisode:
    number, length = row["episode_index"], row["length"]
    if VERSIONS[info.version] == "3":
        place = {name: _count(row, f"data/{name}") for name in ("chunk_index", "file_index")}
        path = _inside(folder, lerobot3.DATA.format(**place))
    else:
        place = {"episode_chunk": number // info.chunk, "episode_index": number}
        path = _inside(folder, lerobot21.DATA.format(**place))
    if path not in tables:
        tables.clear()
        tables[path] = _table(path)
    table = tables[path]
    if "episode_index" not in table.column_names:
        raise TrocarError(f"{path} has no column 'episode_index'")
    mask = table["episode_index"].to_numpy(zero_copy_only=False) == number
    rows = table.filter(pyarrow.array(mask))
    if rows.num_rows != length:
        raise TrocarError(f"{path} has {rows.num_rows} frames of episode {number}; the list of episodes has {length}")
    columns, names = _columns(path, rows, info.features)
    t = _times(path, rows, info.fps, length)
    about = {name.removeprefix("trocar/"): value for name, value in row.items() if _is_plain(name, value)}
    tasks = row.get("tasks")
    instruction = tasks[0] if isinstance(tasks, list) and tasks and isinstance(tasks[0], str) else ""
    provenance = {"file": path.name, "data": f"LeRobot {info.version}", "episode": number}
    arms = recordings(t, columns, names, provenance)
    return LoadedEpisode(arms, instruction, about, _pictures(folder, info, row, rows))


def _is_plain(name: str, value: Any) -> bool:
    return not name.startswith(("stats/", "videos/", "data/", "meta/")) and not isinstance(value, list)


def _times(path: Path, rows: Any, fps: float, length: int) -> Array:
    """Times [s] of the frames: those of the data, exact multiples of the period where they agree with it."""
    regular = np.arange(length) / fps
    if "timestamp" not in rows.column_names:
        return regular
    t = np.asarray(rows["timestamp"].to_numpy(zero_copy_only=False), dtype=float)
    return regular if np.allclose(t - t[0], regular, atol=1e-3 / fps) else t


def _columns(path: Path, rows: Any, features: Mapping[str, Json]) -> tuple[dict[str, Array], dict[str, list[str]]]:
    """Numbers (N, k) of all float features, and their names."""
    columns, names = {}, {}
    for name, feature in features.items():
        if not feature["dtype"].startswith("float") or name == "timestamp" or name not in rows.column_names:
            continue
        try:
            values = np.array(rows[name].to_pylist(), dtype=float)
        except (ValueError, TypeError):
            raise TrocarError(f"{path}: the column {shown(name)} does not hold numbers of one size") from None
        if values.ndim > 2:
            continue
        columns[name] = values.reshape(len(values), -1)
        names[name] = _names(feature.get("names"), columns[name].shape[1])
    return columns, names


def _names(named: Any, count: int) -> list[str]:
    """Names of numbers: a list, or a dictionary with one list such as {"axes": [...]}."""
    if isinstance(named, Mapping) and len(named) == 1:
        (named,) = named.values()
    if isinstance(named, list) and len(named) == count and all(isinstance(name, str) for name in named):
        return list(named)
    return [str(k) for k in range(count)]


def _pictures(folder: Path, info: Info, row: Json, rows: Any) -> Json:
    pictures: Json = {}
    for name, feature in info.features.items():
        if feature["dtype"] == "video":
            pictures[name] = partial(_film_images, folder, info, dict(row), name)
        elif feature["dtype"] == "image" and name in rows.column_names:
            pictures[name] = partial(_file_images, rows[name])
    return pictures


def _file_images(column: Any) -> Array:
    files: list[Any] = [entry.get("bytes") if isinstance(entry, dict) else None for entry in column.to_pylist()]
    if not all(isinstance(file, bytes) for file in files):
        raise TrocarError("the pictures of the episode are not stored in its Parquet file")
    return np.array([image(file) for file in files])


def _film_images(folder: Path, info: Info, row: Json, name: str) -> Array:
    number, shape = row["episode_index"], info.features[name].get("shape")
    if not (isinstance(shape, list) and len(shape) == 3 and all(_is_side(side) for side in shape)):
        raise TrocarError(f"the film {shown(name)} has no shape of height, width and channels: {shown(shape)}")
    height, width = (shape[1], shape[2]) if shape[0] == 3 and shape[2] != 3 else (shape[0], shape[1])
    check_memory(3.0 * height * width * row["length"], f"the film of episode {number}", "Read a shorter episode")
    if VERSIONS[info.version] == "3":
        place = {key: _count(row, f"videos/{name}/{key}") for key in ("chunk_index", "file_index")}
        path, start = _inside(folder, lerobot3.VIDEO.format(video_key=name, **place)), _start(row, name)
    else:
        place = {"episode_chunk": number // info.chunk, "episode_index": number}
        path, start = _inside(folder, lerobot21.VIDEO.format(video_key=name, **place)), 0.0
    if not path.is_file():
        raise TrocarError(f"the film {path} does not exist")
    return decoded(path, (height, width), start, row["length"])


def _is_side(side: Any) -> bool:
    return type(side) is int and 0 < side <= MAX_SIDE


def _count(row: Json, name: str) -> int:
    value = row.get(name)
    if not (isinstance(value, int) and 0 <= value < 10**6):
        raise TrocarError(f"the list of episodes has no valid {name}: {shown(value)}")
    return value


def _start(row: Json, name: str) -> float:
    value = row.get(f"videos/{name}/from_timestamp")
    if not (isinstance(value, int | float) and 0 <= value < 1e9):
        raise TrocarError(f"the list of episodes has no valid from_timestamp of {shown(name)}: {shown(value)}")
    return float(value)


def _inside(folder: Path, name: str) -> Path:
    """A file of the data set; an error if a link leads out of the folder."""
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise TrocarError(f"{path} lies outside of the data set; copy the files instead of linking them")
    return path


def _table(path: Path, omitted: str | None = None) -> Any:
    """A Parquet file without the columns whose names begin with `omitted`; an error if it is damaged or too large."""
    check_regular(path, "table")
    try:
        with parquet.ParquetFile(path) as file:
            groups = (file.metadata.row_group(k) for k in range(file.metadata.num_row_groups))
            check_memory(4.0 * sum(max(group.total_byte_size, 0) for group in groups), f"reading {path}", "Split it")
            if omitted is None:
                return file.read()
            return file.read(columns=[name for name in file.schema_arrow.names if not name.startswith(omitted)])
    except TrocarError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError, UnicodeDecodeError) as error:
        reason = str(error).partition("\n")[0]
        raise TrocarError(f"{path} is missing, damaged or incomplete: {reason}") from None
