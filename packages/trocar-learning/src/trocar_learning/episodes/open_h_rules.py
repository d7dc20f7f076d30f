"""The rules of Open-H's validator (scripts/validation/validate_formatting.py of open-h/open-h-embodiment) as code.

The validator needs lerobot 0.3.3 and OpenCV; these rules need pyarrow and ffmpeg. They hold for LeRobot v2.1; for v3.0
the places of the files differ, the rules are the same. `level` is that of the validator.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import parquet

from trocar.appearance.films import ffmpeg
from trocar.errors import TrocarError
from trocar.files import Json, read_json, read_whole

MIN_FPS, MIN_SIDE = 20, 480
FEATURES, SPLITS = ("action", "observation.state"), ("train", "val", "test")
METADATA = {
    "v2.1": ("info.json", "episodes_stats.jsonl", "tasks.jsonl", "episodes.jsonl", "README.md"),
    "v3.0": ("info.json", "stats.json", "tasks.parquet", "episodes", "README.md"),
}
ROWS = {"v2.1": "data/chunk-*/episode_*.parquet", "v3.0": "data/chunk-*/file-*.parquet"}
COLUMNS = ("episode_index", "frame_index", "timestamp")
FILMS_OPENED = 3
MAX_LINES = 2**28  # size of a file of JSON lines [bytes]


@dataclass(frozen=True)
class BrokenRule:
    """A broken rule: "error" (required by Open-H) or "warning" (recommended)."""

    level: str
    rule: str
    text: str


def broken_rules(folder: str | Path) -> list[BrokenRule]:
    """Broken rules of a LeRobot data set, in the order of the validator; none for a folder that is ready for Open-H."""
    place = Path(folder)
    if not os.path.isdir(place):
        raise TrocarError(f"{place} is no folder of a data set")
    info = _info(place)
    return [broken for rule in RULES for broken in rule(place, info)]


Rule = Callable[[Path, Json], Iterator[BrokenRule]]


def _info(place: Path) -> Json:
    path = place / "meta" / "info.json"
    if not path.is_file():
        return {}
    try:
        content = read_json(path, "info.json")
    except TrocarError:
        return {}
    return content if isinstance(content, dict) else {}


def _version(info: Json) -> str:
    return "v3.0" if info.get("codebase_version") == "v3.0" else "v2.1"


def _folders(place: Path, info: Json) -> Iterator[BrokenRule]:
    for name in ("videos", "meta", "data"):
        if not (place / name).is_dir():
            yield BrokenRule("error", "folders", f"the folder '{name}' is missing")
    if (place / "data").is_dir():
        if not any((place / "data").glob("chunk-*")):
            yield BrokenRule("error", "folders", "data has no folder chunk-000")
        elif not any(place.glob(ROWS[_version(info)])):
            yield BrokenRule("error", "folders", "data has no Parquet file of an episode")


def _metadata(place: Path, info: Json) -> Iterator[BrokenRule]:
    if (place / "meta").is_dir():
        for name in METADATA[_version(info)]:
            if not (place / "meta" / name).exists():
                yield BrokenRule("error", "metadata", f"meta/{name} is missing")


def _description(place: Path, info: Json) -> Iterator[BrokenRule]:
    path = place / "meta" / "info.json"
    if not path.is_file():
        return
    if not info:
        yield BrokenRule("error", "info", "info.json is not valid JSON")
        return
    fps = info.get("fps")
    if isinstance(fps, int | float) and fps < MIN_FPS:
        yield BrokenRule("warning", "fps", f"{fps} frames per second; Open-H recommends {MIN_FPS} or more")
    if "robot_type" not in info:
        yield BrokenRule("warning", "robot_type", "info.json names no robot_type")
    splits = info.get("splits")
    if splits is None:
        yield BrokenRule("warning", "splits", "info.json defines no splits")
    missing = [name for name in SPLITS if name not in splits] if isinstance(splits, Mapping) else []
    for name in missing:
        yield BrokenRule("warning", "splits", f"the split '{name}' is not defined")
    features = info.get("features")
    if isinstance(features, dict):
        yield from _features(features)


def _features(features: Mapping[str, Json]) -> Iterator[BrokenRule]:
    for name in FEATURES:
        if name not in features:
            yield BrokenRule("error", "features", f"the feature '{name}' is missing")
    images = [name for name in features if name.startswith("observation.images.")]
    if not images:
        yield BrokenRule("warning", "images", "no feature begins with observation.images.")
    for name in images:
        shape: Any = features[name].get("shape", ()) if isinstance(features[name], dict) else ()
        if len(shape) >= 2 and (shape[0] < MIN_SIDE or shape[1] < MIN_SIDE):
            text = f"{name} has {shape[0]} x {shape[1]} pixels; Open-H recommends {MIN_SIDE} or more"
            yield BrokenRule("warning", "resolution", text)


def _films(place: Path, info: Json) -> Iterator[BrokenRule]:
    if not (place / "videos").is_dir():
        return
    films = sorted((place / "videos").glob("**/*.mp4"))
    if not films:
        yield BrokenRule("warning", "films", "the folder 'videos' has no .mp4 file")
    for path in films[:FILMS_OPENED]:
        figures = film_figures(path)
        if figures is None:
            yield BrokenRule("error", "films", f"{path.name} cannot be opened")
            continue
        _, height, fps, frames = figures
        if fps < MIN_FPS:
            yield BrokenRule("warning", "films", f"{path.name} has {fps:g} frames per second, less than {MIN_FPS}")
        if height < MIN_SIDE:
            yield BrokenRule("warning", "films", f"{path.name} is {height} pixels high, less than {MIN_SIDE}")
        if not frames:
            yield BrokenRule("error", "films", f"{path.name} has no frames")


def film_figures(path: Path) -> tuple[int, int, float, int] | None:
    """Width, height, frames per second and count of frames of a film; None if it cannot be opened."""
    command = [ffmpeg(), "-i", str(path), "-map", "0:v:0", "-c", "copy", "-f", "null", "-"]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    text = result.stderr.decode(errors="replace")
    stream = re.search(r"Video: .*? (\d+)x(\d+)[ ,].*?([\d.]+) fps", text)
    frames = re.findall(r"frame=\s*(\d+)", text)
    if result.returncode or stream is None or not frames:
        return None
    return int(stream[1]), int(stream[2]), float(stream[3]), int(frames[-1])


def _episodes(place: Path, info: Json) -> Iterator[BrokenRule]:
    try:
        tasks, count = _tasks(place, _version(info))
    except (TrocarError, ValueError, OSError, KeyError, AttributeError, TypeError) as error:
        yield BrokenRule("error", "episodes", f"the list of episodes cannot be read: {error}")
        return
    if count == 0:
        yield BrokenRule("error", "episodes", "the list of episodes is empty")
    elif count is not None and not tasks:
        yield BrokenRule("warning", "episodes", "the episodes have no description of their task")


def _tasks(place: Path, version: str) -> tuple[set[str], int | None]:
    """Descriptions of tasks, and the count of episodes; None if there is no list of them."""
    if version == "v3.0":
        files = sorted(place.glob("meta/episodes/chunk-*/file-*.parquet"))
        if not files:
            return set(), None
        rows = [row for path in files for row in parquet.read_table(path, columns=["tasks"]).to_pylist()]
    else:
        path = place / "meta" / "episodes.jsonl"
        if not path.is_file():
            return set(), None
        rows = [json.loads(line) for line in read_whole(path, "list of episodes", MAX_LINES).decode().splitlines()]
    tasks: set[str] = set()
    for row in rows:
        named = row.get("tasks", row.get("task", ()))
        tasks |= set(named) if isinstance(named, list) else {named} if named else set()
    return tasks, len(rows)


def _synchronisation(place: Path, info: Json) -> Iterator[BrokenRule]:
    path = place / "meta" / "README.md"
    if path.is_file():
        text = read_whole(path, "README.md").decode(errors="replace").lower()
        if "synchron" not in text and "timestamp" not in text:
            yield BrokenRule("warning", "synchronisation", "README.md does not describe the synchronisation")


def _columns(place: Path, info: Json) -> Iterator[BrokenRule]:
    for path in sorted(place.glob(ROWS[_version(info)]))[:1]:
        try:
            names = parquet.read_schema(path).names
        except (pyarrow.ArrowException, OSError) as error:
            yield BrokenRule("error", "rows", f"{path.name} cannot be read: {error}")
            continue
        for name in COLUMNS:
            if name not in names:
                yield BrokenRule("warning", "rows", f"{path.name} has no column '{name}'")


RULES: tuple[Rule, ...] = (_folders, _metadata, _description, _films, _episodes, _synchronisation, _columns)
