"""Episodes of an unfinished recording, each in its own file below `.recording`; what is there is not computed again.

DIR/.recording/recipe.json
DIR/.recording/sweep/                      rows of the sweep that records the episodes
DIR/.recording/episodes/000012.npz         an episode; with films 000012.left.mp4 and 000012.right.mp4
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from trocar import sweep
from trocar.errors import TrocarError
from trocar.files import Json, read_json, write_json, write_whole
from trocar.sweep.running import Progress
from trocar.sweep.study import Study
from trocar_learning.envs.episode import PolicyOf
from trocar_learning.envs.policies import POLICIES, environment_options, load_policy, own_task
from trocar_learning.envs.registration import make_task
from trocar_learning.envs.task_env import TaskEnv
from trocar_learning.episodes.demonstration import Demonstration, npz_bytes, read_npz
from trocar_learning.episodes.evaluation import DrivenPolicy, Driving, driven_env
from trocar_learning.episodes.features import IMAGES
from trocar_learning.episodes.films import film, sampled_pixels
from trocar_learning.episodes.outside import is_file, open_policy
from trocar_learning.episodes.recipe import EpisodeRecipe, read_recipe
from trocar_learning.episodes.resampling import Films, resampled
from trocar_learning.episodes.rollout import rollout
from trocar_learning.episodes.statistics import of_pixels

STAGING = ".recording"


@dataclass(frozen=True)
class Outcome:
    """Result of one staged episode: index in the recipe, part of the data set, and number of frames."""

    index: int
    group: str
    frames: int


class Staging:
    """The folder of the unfinished recording of a data set."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / STAGING

    @property
    def recipe_file(self) -> Path:
        return self.folder / "recipe.json"

    def exists(self) -> bool:
        """True if a recording was begun here."""
        return self.recipe_file.is_file()

    def recipe(self) -> tuple[EpisodeRecipe, str]:
        """Recipe of the recording, and the version of trocar that began it."""
        return read_recipe(read_json(self.recipe_file, "recipe"), str(self.recipe_file))

    def begin(self, recipe: EpisodeRecipe) -> None:
        """Create the folder."""
        write_json(self.recipe_file, recipe.content())

    def episode_file(self, index: int) -> Path:
        return self.folder / "episodes" / f"{index:06d}.npz"

    def film_file(self, index: int, feature: str) -> Path:
        return self.folder / "episodes" / f"{index:06d}.{feature.removeprefix(IMAGES + '.')}.mp4"

    def episode(self, index: int) -> Demonstration:
        """A staged episode."""
        try:
            return read_npz(self.episode_file(index))
        except TrocarError as error:
            raise TrocarError(f"{error}; remove it to record the episode again") from None

    def record(
        self, recipe: EpisodeRecipe, executor: str, workers: int | None, progress: Callable[[Progress], None] | None
    ) -> list[Outcome]:
        """Record the missing episodes; returns the outcomes of all, in order."""
        content, place = recipe.content(), str(self.folder.parent)
        study = Study(f"record {recipe.task}", load_row(content, place), "", loader=partial(load_row, content, place))
        place_of_rows = self.folder / "sweep"
        begun = (place_of_rows / "manifest.json").exists()
        options: Any = {"executor": executor, "workers": workers, "resume": begun, "progress": progress}
        results = sweep.run(study, {"index": list(range(recipe.count))}, place_of_rows, **options)
        if errors := results.errors:
            shutil.rmtree(place_of_rows)  # episodes that are there are kept; the others are tried again
            row, error = errors[0]
            raise TrocarError(f"{len(errors)} of {recipe.count} episodes failed; the first, episode {row}: {error}")
        columns = (results[name].tolist() for name in ("index", "group", "frames"))
        return [Outcome(*row) for row in zip(*columns, strict=True)]

    def remove(self) -> None:
        """Remove the folder; the recipe first, so that a partly removed one is not mistaken for a recording.

        If the folder is a symbolic link, only the link is removed, never the files it points to.
        """
        if self.folder.is_symlink():
            self.folder.unlink()
            return
        self.recipe_file.unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)


def load_row(content: Json, place: str) -> Callable[[int], Json]:
    """The function that records one episode of a recipe below the folder `place`, unless it is there."""
    recipe, _ = read_recipe(content, "the recipe")
    staging, player = Staging(Path(place)), cache(partial(player_of, recipe))

    def run(index: int) -> Json:
        if not staging.episode_file(index).exists():
            _record(recipe, staging, *player(), index)
        episode = staging.episode(index)
        return {"group": episode.group, "frames": len(episode)}

    return run


def player_of(recipe: EpisodeRecipe) -> tuple[TaskEnv, str | PolicyOf]:
    """Environment and policy of a recipe."""
    if recipe.policy in POLICIES:
        return make_task(recipe.task, level=recipe.level), recipe.policy
    if is_file(recipe.policy):
        policy = load_policy(Path(recipe.policy))
        if own_task(policy) not in (None, recipe.task):
            raise TrocarError(f"the policy {recipe.policy} is one of the task {own_task(policy)}, not {recipe.task}")
        return make_task(recipe.task, level=recipe.level, **environment_options(policy)), policy
    env = driven_env(recipe.task, recipe.level)
    return env, DrivenPolicy(open_policy(recipe.policy), Driving(rate=float(recipe.fps)), recipe.policy_name)


def _record(recipe: EpisodeRecipe, staging: Staging, env: TaskEnv, policy: str | PolicyOf, index: int) -> None:
    disturbed, pictures = recipe.is_recovery(index), {"size": recipe.size, "pictures": recipe.pictures}
    stage(recipe, staging, index, *rollout(env, policy, recipe.seed + index, disturbed=disturbed, **pictures))  # type: ignore[arg-type]


def stage(recipe: EpisodeRecipe, staging: Staging, index: int, recorded: Demonstration, images: Films) -> None:
    """Write an episode and its films, at the rate of the recipe, to the files of its index."""
    episode, films = resampled(recorded, images, recipe.fps)
    about = dict(episode.about) | {"policy": recipe.policy_name}
    about["pixels"] = {name: of_pixels(sampled_pixels(shots), len(shots)) for name, shots in films.items()}
    about["pixels"] |= {name: _of_files(files) for name, files in episode.pictures.items()}
    for name, shots in films.items():
        write_whole(staging.film_file(index, name), film(shots, episode.fps))
    # the last file of an episode: where it is, the films are
    write_whole(staging.episode_file(index), npz_bytes(replace(episode, about=about)))


def _of_files(files: list[bytes]) -> Json:
    from trocar_learning.episodes.picture_files import image

    return of_pixels(sampled_pixels([image(file) for file in files]), len(files))
