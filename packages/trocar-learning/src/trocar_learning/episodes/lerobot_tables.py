"""Tables and descriptions that LeRobot v3.0 and v2.1 share."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet

from trocar.files import Json
from trocar.spatial import Array
from trocar_learning.episodes import features as f
from trocar_learning.episodes.data_set import CHUNK, DataSet
from trocar_learning.episodes.demonstration import Demonstration
from trocar_learning.episodes.statistics import Statistics, of_episode

ROBOT = "dvrk"
INDICES = ("frame_index", "episode_index", "index", "task_index")
DEFAULTS = {"timestamp": {"dtype": "float32", "shape": [1], "names": None}}
DEFAULTS |= {name: {"dtype": "int64", "shape": [1], "names": None} for name in INDICES}


def stored_features(episode: Demonstration) -> dict[str, Json]:
    """Features of info.json, with LeRobot's own at the end."""
    return {name: dict(feature) for name, feature in episode.features.items()} | DEFAULTS


def numbers(episode: Demonstration, number: int, first: int) -> dict[str, Array]:
    """All numeric columns (N, ...) of an episode; `number`: of the episode; `first`: index of its first frame."""
    n = len(episode)
    rows = np.arange(n)
    columns = {name: episode.frames[name] for name in episode.features if name in episode.frames}
    columns["timestamp"] = (rows / episode.fps).astype(np.float32)[:, None]
    values = (rows, np.full(n, number), first + rows, np.zeros(n, dtype=np.int64))
    return columns | {name: value.astype(np.int64)[:, None] for name, value in zip(INDICES, values, strict=True)}


def episode_statistics(episode: Demonstration, columns: Mapping[str, Array], quantiles: bool) -> Statistics:
    """Figures of numbers and pictures of an episode."""
    figures = of_episode(columns, quantiles)
    for name, pixels in episode.about["pixels"].items():
        figures[name] = {figure: x for figure, x in pixels.items() if quantiles or not figure.startswith("q")}
    return figures


def table(episode: Demonstration, columns: Mapping[str, Array]) -> Any:
    """Rows of an episode as a pyarrow table: numbers, texts and PNG files."""
    n = len(episode)
    fields = {}
    for name, feature in stored_features(episode).items():
        if feature["dtype"] == "string":
            text = episode.instruction if name == f.INSTRUCTION else episode.about["tools"][name]
            fields[name] = pyarrow.array([text] * n)
        elif feature["dtype"] == "image":
            paths = [f"frame-{k:06d}.png" for k in range(n)]
            files = pyarrow.array(episode.pictures[name], type=pyarrow.binary())
            fields[name] = pyarrow.StructArray.from_arrays([files, pyarrow.array(paths)], names=["bytes", "path"])
        elif feature["dtype"] != "video":
            values = columns[name]
            flat = pyarrow.array(values.reshape(-1))
            width = values.shape[1]
            fields[name] = flat if width == 1 else pyarrow.FixedSizeListArray.from_arrays(flat, width)
    return pyarrow.table(fields)


def parquet(content: Any) -> bytes:
    """Content of a Parquet file of a pyarrow table."""
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(content, buffer)
    return buffer.getvalue()


def info(data: DataSet, features: Mapping[str, Json], version: str, **more: Any) -> Json:
    """Content of info.json."""
    return {
        "codebase_version": version,
        "robot_type": ROBOT,
        "total_episodes": len(data.outcomes),
        "total_frames": data.frames,
        "total_tasks": 1,
        "chunks_size": CHUNK,
        "splits": {split.name: str(split) for split in data.splits},
        "tolerance_s": 1e-4,
        "features": dict(features),
    } | more


def json_text(content: Any) -> str:
    """JSON on several lines."""
    return json.dumps(content, indent=4, ensure_ascii=False, allow_nan=False) + "\n"


def json_lines(rows: list[Any]) -> str:
    """JSON lines."""
    return "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
