"""robomimic's HDF5 layout: actions of the environment, observations by name, masks of the splits."""

from __future__ import annotations

import io
import json
import os
from typing import Any

import h5py
import numpy as np

from trocar.files import Json
from trocar_learning.episodes import features as f
from trocar_learning.episodes.data_set import DataSet
from trocar_learning.episodes.demonstration import Demonstration
from trocar_learning.episodes.picture_files import image

FILE = "demonstrations.hdf5"
GYM = 2  # robomimic's number of Gymnasium environments
MASKS = {"train": "train", "val": "valid", "test": "test", "recovery": "recovery", "failure": "failure"}


def write(data: DataSet) -> None:
    """Write the file: next to the staged episodes, then in its place."""
    unfinished = data.staging.folder / FILE
    with open(unfinished, "w+b", buffering=0) as stream:
        kept = _KeptErrors(stream)
        _write_file(kept, data)
        kept.check()
    os.replace(unfinished, data.folder / FILE)


class _KeptErrors:
    """A file for HDF5, whose library crashes if it cannot write, as on a full disk: errors wait for `check`."""

    def __init__(self, stream: io.FileIO) -> None:
        self._stream = stream
        self._error: OSError | None = None
        self.read, self.readinto, self.seek, self.tell = stream.read, stream.readinto, stream.seek, stream.tell

    def write(self, content: bytes) -> int:
        rest = memoryview(content)
        try:
            while rest:
                rest = rest[self._stream.write(rest) :]
        except OSError as error:
            self._error = self._error or error
        return len(content)

    def truncate(self, size: int) -> int:
        try:
            self._stream.truncate(size)
        except OSError as error:
            self._error = self._error or error
        return size

    def flush(self) -> None:
        """Nothing waits to be written."""

    def check(self) -> None:
        """Raise the first error."""
        if self._error is not None:
            raise OSError(self._error.errno, self._error.strerror, self._stream.name)


def _write_file(kept: _KeptErrors, data: DataSet) -> None:
    recipe = data.recipe
    with h5py.File(kept, "w", libver="latest") as file:
        group = file.create_group("data")
        # no model_file: robomimic asks robosuite's environments for it only
        kwargs = {"level": recipe.level, "mode": data.staging.episode(data.outcomes[0].index).about["mode"]}
        env = {"env_name": f"trocar/{recipe.task}-v0", "env_type": GYM, "env_kwargs": kwargs}
        group.attrs["env_args"] = json.dumps(env)
        group.attrs["total"] = data.frames
        for number, episode in data.episodes():
            _write_episode(group.create_group(f"demo_{number}"), episode, data.description(number, episode))
            file.flush()
            kept.check()
        masks = file.create_group("mask")  # a group that a path creates by itself has the time of its creation
        for split in data.splits:
            names = [f"demo_{number}".encode() for number in range(split.start, split.stop)]
            masks.create_dataset(MASKS[split.name], data=np.array(names, dtype="S12"))


def _write_episode(group: Any, episode: Demonstration, description: Json) -> None:
    frames = episode.frames
    group.attrs["num_samples"] = len(episode)
    group.attrs["fps"], group.attrs["instruction"] = episode.fps, episode.instruction
    group.attrs["about"] = json.dumps(dict(episode.about) | description)
    group.attrs["features"] = json.dumps(episode.features)
    group["actions"] = frames[f.ENV_ACTION]
    group["rewards"] = frames[f.REWARD][:, 0]
    group["dones"] = frames[f.DONE][:, 0].astype(np.int64)
    group["successes"] = frames[f.SUCCESS][:, 0].astype(np.int64)
    group["commands"] = frames[f.ACTION]
    group["states"] = np.concatenate([frames[f.POSITION], frames[f.VELOCITY]], axis=1)
    now, later = group.create_group("obs"), group.create_group("next_obs")
    for name, value in episode.final.items():
        key = name.removeprefix("observation.")
        now[key] = frames[name]
        later[key] = np.concatenate([frames[name][1:], value[None]])
    for name, files in episode.pictures.items():
        key, images = name.removeprefix("observation.images."), np.array([image(file) for file in files])
        options = {"compression": "gzip", "chunks": (1, *images.shape[1:])}
        now.create_dataset(key, data=images, **options)
