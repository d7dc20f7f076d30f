"""robomimic's HDF5 layout: actions of the environment, observations by name, masks of the splits."""

from __future__ import annotations

import json
import os
from typing import Any

import h5py
import numpy as np

from trocar_learning.episodes import features as f
from trocar_learning.episodes.data_set import DataSet
from trocar_learning.episodes.demonstration import Demonstration
from trocar_learning.episodes.picture_files import image

FILE = "demonstrations.hdf5"
GYM = 2  # robomimic's number of Gymnasium environments
MASKS = {"train": "train", "val": "valid", "test": "test", "recovery": "recovery", "failure": "failure"}


def write(data: DataSet) -> None:
    """Write the file: next to the staged episodes, then in its place."""
    recipe, unfinished = data.recipe, data.staging.folder / FILE
    with h5py.File(unfinished, "w", libver="latest") as file:
        group = file.create_group("data")
        # no model_file: robomimic asks robosuite's environments for it only
        kwargs = {"level": recipe.level, "mode": data.staging.episode(data.outcomes[0].index).about["mode"]}
        env = {"env_name": f"trocar/{recipe.task}-v0", "env_type": GYM, "env_kwargs": kwargs}
        group.attrs["env_args"] = json.dumps(env)
        group.attrs["total"] = data.frames
        for number, episode in data.episodes():
            _write_episode(group.create_group(f"demo_{number}"), episode, data.description(number, episode))
        masks = file.create_group("mask")  # a group that a path creates by itself has the time of its creation
        for split in data.splits:
            names = [f"demo_{number}".encode() for number in range(split.start, split.stop)]
            masks.create_dataset(MASKS[split.name], data=np.array(names, dtype="S12"))
    os.replace(unfinished, data.folder / FILE)


def _write_episode(group: Any, episode: Demonstration, description: dict[str, Any]) -> None:
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
