"""LeRobot v3.0: many episodes per Parquet file and per film."""

from __future__ import annotations

from typing import Any

import pyarrow

from trocar.files import Json, write_whole
from trocar_learning.episodes import features as f
from trocar_learning.episodes import lerobot_tables as tables
from trocar_learning.episodes.data_set import CHUNK, DataSet
from trocar_learning.episodes.films import joined
from trocar_learning.episodes.open_h import write_metadata
from trocar_learning.episodes.statistics import QUANTILES, Statistics, combined

VERSION = "v3.0"
FILE = "chunk-{chunk_index:03d}/file-{file_index:03d}"
DATA = f"data/{FILE}.parquet"
VIDEO = f"videos/{{video_key}}/{FILE}.mp4"
EPISODES = f"meta/episodes/{FILE}.parquet"
DATA_SIZE, VIDEO_SIZE = 100, 200  # of a file [MB]; the next one begins above it
FIGURES = ("min", "max", "mean", "std", "count", *QUANTILES)


def write(data: DataSet) -> None:
    """Write all files; info.json is the last."""
    writer = _Files(data)
    for number, episode in data.episodes():
        writer.add(number, episode)
    writer.finish()


class _Files:
    """Rows collected for the files that are next."""

    def __init__(self, data: DataSet) -> None:
        self.data, self.first = data, 0
        self._tables: list[Any] = []
        self._data_files = 0
        self._films: dict[str, list[Any]] = {}  # parts of the next film, by feature
        self._film_files: dict[str, int] = {}
        self._described: list[Json] = []
        self._figures: list[Statistics] = []

    def add(self, number: int, episode: Any) -> None:
        columns = tables.numbers(episode, number, self.first)
        rows = tables.table(episode, columns)
        rows = rows.rename_columns([_trainable(name) for name in rows.column_names])
        if self._tables and sum(part.nbytes for part in self._tables) + rows.nbytes > DATA_SIZE * 2**20:
            self._write_data()
        self._tables.append(rows)
        described: Json = {"episode_index": number, "tasks": [episode.instruction], "length": len(episode)}
        described |= _indices("data", self._data_files)
        described |= {"dataset_from_index": self.first, "dataset_to_index": self.first + len(episode)}
        for name, feature in episode.features.items():
            if feature["dtype"] == "video":
                described |= self._add_film(number, name, len(episode) / episode.fps)
        described |= _indices("meta/episodes", 0)
        own = self.data.description(number, episode) | {"parameters": tables.json_text(episode.about["parameters"])}
        self._described.append(described | {f"trocar/{name}": value for name, value in own.items()})
        self._figures.append(tables.episode_statistics(episode, columns, quantiles=True))
        self.first += len(episode)
        self.episode = episode

    def _add_film(self, number: int, name: str, duration: float) -> Json:
        part, parts = self.data.film(number, name), self._films.setdefault(name, [])
        size = part.stat().st_size
        if parts and sum(other.stat().st_size for other, _ in parts) + size > VIDEO_SIZE * 2**20:
            self._write_film(name)
            parts = self._films.setdefault(name, [])
        start = sum(seconds for _, seconds in parts)
        parts.append((part, duration))
        place = _indices(f"videos/{name}", self._film_files.get(name, 0))
        return place | {f"videos/{name}/from_timestamp": start, f"videos/{name}/to_timestamp": start + duration}

    def _write_data(self) -> None:
        whole = pyarrow.concat_tables(self._tables)
        write_whole(self.data.folder / DATA.format(**_place(self._data_files)), tables.parquet(whole))
        self._tables, self._data_files = [], self._data_files + 1

    def _write_film(self, name: str) -> None:
        count = self._film_files.get(name, 0)
        parts = [part for part, _ in self._films.pop(name)]
        write_whole(self.data.folder / VIDEO.format(video_key=name, **_place(count)), joined(parts))
        self._film_files[name] = count + 1

    def finish(self) -> None:
        self._write_data()
        for name in tuple(self._films):
            self._write_film(name)
        data, episode, meta = self.data, self.episode, self.data.folder / "meta"
        columns: Json = {name: [row[name] for row in self._described] for name in self._described[0]}
        for feature in self._figures[0]:
            for figure in FIGURES:
                values = [figures[feature][figure] for figures in self._figures]
                columns[f"stats/{feature}/{figure}"] = values
        write_whole(data.folder / EPISODES.format(**_place(0)), tables.parquet(pyarrow.table(columns)))
        tasks = pyarrow.table({"task_index": [0], "task": [episode.instruction]})
        write_whole(meta / "tasks.parquet", tables.parquet(tasks.replace_schema_metadata({"pandas": PANDAS})))
        write_whole(meta / "stats.json", tables.json_text(combined(self._figures)))
        write_metadata(data, episode.features, episode.fps, episode.instruction)
        more: Json = {"data_files_size_in_mb": DATA_SIZE, "video_files_size_in_mb": VIDEO_SIZE}
        more |= {"fps": episode.fps, "data_path": DATA, "video_path": VIDEO if self._film_files else None}
        stored = {_trainable(name): feature for name, feature in tables.stored_features(episode).items()}
        content = tables.info(data, stored, VERSION, **more)
        write_whole(meta / "info.json", tables.json_text(content))


def _trainable(name: str) -> str:
    """Name of a feature: lerobot's trainer takes whatever is named an observation for numbers, tools too."""
    return name.removeprefix("observation.") if f.is_text(name) else name


def _place(count: int) -> dict[str, int]:
    return {"chunk_index": count // CHUNK, "file_index": count % CHUNK}


def _indices(prefix: str, count: int) -> dict[str, int]:
    return {f"{prefix}/{name}": value for name, value in _place(count).items()}


# The index of the table in pandas is the text of the task.
PANDAS = (
    '{"index_columns": ["task"], "column_indexes": [{"name": null, "field_name": null, "pandas_type": "unicode", '
    '"numpy_type": "object", "metadata": {"encoding": "UTF-8"}}], "columns": [{"name": "task_index", "field_name": '
    '"task_index", "pandas_type": "int64", "numpy_type": "int64", "metadata": null}, {"name": "task", "field_name": '
    '"task", "pandas_type": "unicode", "numpy_type": "object", "metadata": null}], "creator": {"library": "trocar", '
    '"version": "1"}, "pandas_version": "2.0.0"}'
)
