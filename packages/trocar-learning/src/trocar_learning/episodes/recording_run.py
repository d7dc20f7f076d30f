"""Recording a data set: episodes are staged one by one, then all files of the format are written."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import trocar
from trocar.errors import TrocarError, shown
from trocar.files import check_writable, read_json, write_json
from trocar.sweep.executors import check_executor
from trocar.sweep.results import locked
from trocar.sweep.running import Progress
from trocar_learning.episodes import lerobot3, lerobot21, npz_folder, robomimic
from trocar_learning.episodes.data_set import DataSet
from trocar_learning.episodes.recipe import LEROBOT, PERSON, EpisodeRecipe, read_recipe
from trocar_learning.episodes.splits import ordered
from trocar_learning.episodes.staging import STAGING, Outcome, Staging

WRITERS = {
    "lerobot3": lerobot3.write,
    "lerobot2.1": lerobot21.write,
    "robomimic": robomimic.write,
    "npz": npz_folder.write,
}
DONE = "trocar.json"  # written last: recipe, splits and counts of a complete data set


def done_file(folder: Path, format: str) -> Path:
    """The file that marks a data set as complete."""
    return folder / "meta" / DONE if format in LEROBOT else folder / DONE


def record(
    recipe: EpisodeRecipe,
    folder: str | Path,
    *,
    executor: str = "processes",
    workers: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> bool:
    """Record the data set of a recipe in a new or empty folder, or continue an interrupted recording of it.

    Existing files are never overwritten: a folder with anything else is refused, and a complete data set of the same
    recipe stays as it is. Returns False in that case, otherwise True.

    Args:
        executor: "processes" or "serial". workers: processes. Default: one per core.
        progress: called after every few episodes.
    """
    if recipe.policy == PERSON:
        raise TrocarError("episodes of a person are recorded by trocar teleop record TASK")
    check_executor(executor, workers, None)
    place = checked_folder(recipe, folder)
    with locked(place):
        if (staging := begun(recipe, place)) is None:
            return False
        write_data_set(recipe, staging, place, staging.record(recipe, executor, workers, progress))
    return True


def checked_folder(recipe: EpisodeRecipe, folder: str | Path) -> Path:
    """The folder of a data set; an error if it cannot be written, or a package that writes the format is missing."""
    place = Path(folder)
    if "\0" in str(place) or (os.path.lexists(place) and not place.is_dir()):
        raise TrocarError(f"the data set needs a folder, got {shown(str(place))}")
    check_writable(place / DONE)
    return place


def begun(recipe: EpisodeRecipe, place: Path) -> Staging | None:
    """The new or interrupted recording of a recipe in a locked folder; None if the data set is complete."""
    staging = Staging(place)
    if (done := _complete(place)) is not None:
        _check_same(place, recipe, *done)
        staging.remove()
        return None
    if staging.exists():
        _check_same(place, recipe, *staging.recipe())
    elif strange := sorted(path.name for path in place.iterdir() if path.name != STAGING):
        raise TrocarError(
            f"{place} is not empty and has no recording of trocar (it has {shown(strange[0])}); use another folder"
        )
    else:
        staging.remove()  # episodes that a killed conversion left are not those of this recipe
        staging.begin(recipe)
    return staging


def write_data_set(recipe: EpisodeRecipe, staging: Staging, place: Path, outcomes: Sequence[Outcome]) -> None:
    """Write all files of staged episodes, and remove what was staged."""
    order, splits = ordered(outcomes)
    data = DataSet(recipe, staging, place, order, splits)
    WRITERS[recipe.format](data)
    finish = {"recipe": recipe.content(), "splits": {split.name: str(split) for split in splits}}
    write_json(done_file(place, recipe.format), finish | {"frames": data.frames})
    staging.remove()


def _complete(place: Path) -> tuple[EpisodeRecipe, str] | None:
    """Recipe and version of a complete data set; None if there is none."""
    for path in (place / "meta" / DONE, place / DONE):
        if path.is_file():
            content = read_json(path, "description")
            return read_recipe(content.get("recipe") if isinstance(content, dict) else None, str(path))
    return None


def completed_count(place: Path) -> int:
    """Number of episodes of a complete data set."""
    done = _complete(place)
    return 0 if done is None else done[0].count


def _check_same(place: Path, recipe: EpisodeRecipe, there: EpisodeRecipe, version: str) -> None:
    if version != trocar.__version__:
        raise TrocarError(f"{place} was begun with trocar {version}, not {trocar.__version__}; use another folder")
    old, new = there.content(), recipe.content()
    for name, value in old.items():
        if name == "count" and recipe.policy == PERSON:
            continue  # a person may stop earlier, or go on
        if new[name] != value:
            change = f"{name} is {shown(value)}, not {shown(new[name])}"
            raise TrocarError(f"{place} holds another recording: {change}. Use another folder; nothing was changed")
