"""Short episodes of the task Reach for tests of data sets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from trocar.arms import load_arm
from trocar.files import write_whole
from trocar_learning.envs.tasks import reach
from trocar_learning.episodes import EpisodeRecipe, features
from trocar_learning.episodes.data_set import COLUMNS, DataSet
from trocar_learning.episodes.demonstration import Demonstration, npz_bytes
from trocar_learning.episodes.recording_run import WRITERS
from trocar_learning.episodes.splits import ordered
from trocar_learning.episodes.staging import Outcome, Staging


def shorten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make episodes of Reach two to six frames long: start and goal are near each other, success holds for 40 ms."""
    narrow = np.array([0.01, 0.01, 0.002, 0.0, 0.0, 0.0, 0.0])
    middle = (reach.LOWER + reach.UPPER) / 2
    monkeypatch.setattr(reach, "LOWER", middle - narrow)
    monkeypatch.setattr(reach, "UPPER", middle + narrow)
    monkeypatch.setattr(reach.ReachTask, "held", 0.04)
    monkeypatch.setattr(reach.ReachTask, "duration", 0.12)


def staged(folder: Path, recipe: EpisodeRecipe) -> DataSet:
    """A data set whose episodes are staged but not written."""
    staging = Staging(folder)
    staging.begin(recipe)
    order, splits = ordered(staging.record(recipe, "serial", None, None))
    return DataSet(recipe, staging, folder, order, splits)


def written(data: DataSet, folder: Path, format: str) -> Path:
    """The data set in a format, in another folder than its staged episodes."""
    folder.mkdir()
    WRITERS[format](DataSet(data.recipe, data.staging, folder, data.outcomes, data.splits))
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """Bytes of all files below a folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def drawn_data_set(folder: Path, format: str, count: int = 2) -> Path:
    """A data set of random numbers in a format, without a simulation."""
    random, arm = np.random.default_rng(0), load_arm("PSM")
    layout = features.layout(["psm1"], [arm.joint_names], 3, 7)
    staging = Staging(folder.with_name(f"{folder.name}-staged"))
    outcomes = [Outcome(k, "demonstration", 3) for k in range(count)]
    for outcome in outcomes:
        frames = {
            name: random.normal(size=(3, *feature["shape"])).astype(feature["dtype"])
            for name, feature in layout.items()
            if feature["dtype"] != "string"
        }
        final = {name: values[0] for name, values in frames.items() if name.startswith("observation")}
        about = dict.fromkeys(COLUMNS, 0) | {"success": True, "kind": "demonstration", "parameters": {}, "pixels": {}}
        about["tools"] = {"observation.meta.tool.psm1": "LARGE_NEEDLE_DRIVER_400006"}
        episode = Demonstration(50, "draw", layout, frames, final, about)
        write_whole(staging.episode_file(outcome.index), npz_bytes(episode))
    order, splits = ordered(outcomes)
    recipe = EpisodeRecipe(task="Reach", count=count, format=format)
    folder.mkdir(parents=True)
    WRITERS[format](DataSet(recipe, staging, folder, order, splits))
    return folder
