"""Short episodes of the task Reach for tests of data sets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from trocar.envs.tasks import reach
from trocar.episodes import EpisodeRecipe
from trocar.episodes.data_set import DataSet
from trocar.episodes.recording_run import WRITERS
from trocar.episodes.splits import ordered
from trocar.episodes.staging import Staging


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
