"""LeRobot v2.1, the format of Open-H: a Parquet file and films per episode."""

from __future__ import annotations

from collections.abc import Mapping

from trocar.files import Json, read_whole, write_whole
from trocar_learning.episodes import lerobot_tables as tables
from trocar_learning.episodes.data_set import CHUNK, DataSet
from trocar_learning.episodes.films import MAX_FILM
from trocar_learning.episodes.open_h import write_metadata

VERSION = "v2.1"
DATA = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
VIDEO = "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"


def write(data: DataSet) -> None:
    """Write all files; info.json is the last."""
    folder, first, films, fps, instruction = data.folder, 0, 0, 0, ""
    features: Mapping[str, Json] = {}
    described, figures = [], []
    for number, episode in data.episodes():
        place = {"episode_chunk": number // CHUNK, "episode_index": number}
        columns = tables.numbers(episode, number, first)
        write_whole(folder / DATA.format(**place), tables.parquet(tables.table(episode, columns)))
        for name, feature in episode.features.items():
            if feature["dtype"] == "video":
                film = read_whole(data.film(number, name), "film", MAX_FILM)
                write_whole(folder / VIDEO.format(video_key=name, **place), film)
                films += 1
        entry = {"episode_index": number, "tasks": [episode.instruction], "length": len(episode)}
        described.append(entry | data.description(number, episode) | {"parameters": episode.about["parameters"]})
        statistics = tables.episode_statistics(episode, columns, quantiles=False)
        figures.append({"episode_index": number, "stats": statistics})
        first, fps, features, instruction = first + len(episode), episode.fps, episode.features, episode.instruction
    meta = folder / "meta"
    write_whole(meta / "tasks.jsonl", tables.json_lines([{"task_index": 0, "task": instruction}]))
    write_whole(meta / "episodes.jsonl", tables.json_lines(described))
    write_whole(meta / "episodes_stats.jsonl", tables.json_lines(figures))
    write_metadata(data, features, fps, instruction)
    chunks = (len(data.outcomes) - 1) // CHUNK + 1
    more = {"fps": fps, "data_path": DATA, "video_path": VIDEO if films else None}
    more |= {"total_videos": films, "total_chunks": chunks}
    stored = {name: dict(feature) for name, feature in features.items()} | tables.DEFAULTS
    write_whole(meta / "info.json", tables.json_text(tables.info(data, stored, VERSION, **more)))
