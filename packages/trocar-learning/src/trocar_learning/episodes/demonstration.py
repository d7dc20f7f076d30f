"""One recorded episode in memory, and the file in which it waits until its data set is written."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from trocar.errors import TrocarError
from trocar.files import Json, memory, read_whole
from trocar.recording.formats import npz_arrays
from trocar.spatial import Array

FRAMES, FINAL, PICTURES, ABOUT = "frames/", "final/", "pictures/", "about"


@dataclass(frozen=True, eq=False)
class Demonstration:
    """One episode: observations, actions and outcome of N control periods.

    Attributes:
        fps: frames per second. instruction: the task in words.
        features: type, shape and names of every array, as in LeRobot's info.json.
        frames: arrays (N, ...) by feature; observations are taken before the action of the same row.
        final: observations after the last action, by feature.
        about: seed, outcome and drawn robot; JSON-compatible values.
        pictures: PNG files of every frame, by feature; empty if pictures are films or absent.
    """

    fps: int
    instruction: str
    features: Mapping[str, Json]
    frames: Mapping[str, Array]
    final: Mapping[str, Array]
    about: Json
    pictures: Mapping[str, list[bytes]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.frames["action"])

    @property
    def group(self) -> str:
        """Part of the data set: "demonstration", "recovery" or "failure"."""
        return str(self.about["kind"]) if self.about.get("success", True) else "failure"


def npz_bytes(demonstration: Demonstration) -> bytes:
    """Content of an .npz file; the same episode always gives the same bytes."""
    arrays: Json = {FRAMES + name: value for name, value in demonstration.frames.items()}
    arrays |= {FINAL + name: value for name, value in demonstration.final.items()}
    for name, files in demonstration.pictures.items():
        arrays[PICTURES + name] = np.frombuffer(b"".join(files), dtype=np.uint8)
        arrays[PICTURES + name + "/ends"] = np.cumsum([len(file) for file in files])
    about = {name: getattr(demonstration, name) for name in ("fps", "instruction", "features", "about")}
    buffer = io.BytesIO()
    np.savez(buffer, about=np.array(json.dumps(about, allow_nan=False)), **arrays)
    return buffer.getvalue()


def check_description(fps: Any, instruction: Any, features: Any, about: Any) -> None:
    """Raise a ValueError unless the parts of a description have their types."""
    named = isinstance(features, Mapping) and all(
        isinstance(feature, Mapping) and _is_names(feature.get("names")) for feature in features.values()
    )
    if not (named and isinstance(about, Mapping) and isinstance(instruction, str)):
        raise ValueError("its description has parts of other types")
    if not (isinstance(fps, int | float) and 0 < fps < 1e6):
        raise ValueError("its rate is not positive")


def _is_names(names: Any) -> bool:
    return names is None or (isinstance(names, list) and all(isinstance(name, str) for name in names))


def read_npz(path: Path) -> Demonstration:
    """An episode from a file of `npz_bytes`; damaged ones raise a TrocarError."""
    content = read_whole(path, "episode", memory() // 4)
    try:
        arrays = npz_arrays(content)
        about = json.loads(str(arrays.pop(ABOUT)))
        parts: dict[str, Json] = {prefix: {} for prefix in (FRAMES, FINAL, PICTURES)}
        for name, value in arrays.items():
            prefix, _, rest = name.partition("/")
            parts[prefix + "/"][rest] = value
        pictures = {}
        for name, ends in parts[PICTURES].items():
            if name.endswith("/ends"):
                data = parts[PICTURES][name.removesuffix("/ends")].tobytes()
                starts = [0, *ends.tolist()]
                pictures[name.removesuffix("/ends")] = [data[a:b] for a, b in pairwise(starts)]
        frames = parts[FRAMES]
        lengths = {len(value) for value in (*frames.values(), *pictures.values())}
        if len(lengths) != 1 or "action" not in frames or 0 in lengths:
            raise ValueError(f"its arrays have {sorted(lengths)} rows")
        fields = {name: about[name] for name in ("fps", "instruction", "features", "about")}
        check_description(**fields)
        return Demonstration(**fields, frames=frames, final=parts[FINAL], pictures=pictures)
    except Exception as error:  # any exception of the zip, npy and JSON readers
        raise TrocarError(f"{path}: not an episode of trocar, or a damaged one: {error}") from None
