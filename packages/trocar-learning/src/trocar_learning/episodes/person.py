"""Episodes that a person teleoperates, as a data set: staged one by one, written when all are there."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from trocar.closing import Closable
from trocar.errors import TrocarError
from trocar.sweep.results import locked
from trocar_learning.envs.episode import Episode
from trocar_learning.envs.live_task import LiveTask
from trocar_learning.envs.task_env import TaskEnv
from trocar_learning.episodes.recipe import PERSON, EpisodeRecipe
from trocar_learning.episodes.recording_run import begun, checked_folder, completed_count, write_data_set
from trocar_learning.episodes.rollout import FrameLog, outcome
from trocar_learning.episodes.staging import Outcome, stage


class PersonSession(Closable):
    """The recording of episodes in a folder, which stays locked until `close`.

    Episode k has the seed `recipe.seed + k`. A folder with episodes of the same recipe continues; another `count` than
    before is allowed, so that a person can stop earlier or go on.

    Attributes:
        recipe: of the data set. complete: the folder has held the whole data set before; nothing is recorded.
    """

    def __init__(self, recipe: EpisodeRecipe, folder: str | Path) -> None:
        if recipe.policy != PERSON:
            raise TrocarError(f"the policy of these episodes is {PERSON!r}, got {recipe.policy!r}")
        self.recipe, self.folder = recipe, checked_folder(recipe, folder)
        with ExitStack() as opened:
            opened.enter_context(locked(self.folder))
            self._staging = begun(recipe, self.folder)
            self.complete = self._staging is None
            self._check_count()
            if self._staging is not None:
                self._staging.begin(recipe)  # the count may be another one
            self._opened = opened.pop_all()

    def _check_count(self) -> None:
        """Raise an error if the folder has more episodes than are asked for, or is complete with fewer."""
        there = self.recorded if self._staging is not None else completed_count(self.folder)
        if self.complete and there != self.recipe.count:
            raise TrocarError(f"{self.folder} is complete with {there} episodes; use another folder for more or fewer")
        if there > self.recipe.count:
            raise TrocarError(f"{self.folder} has {there} episodes already; give at least this count to keep them all")

    @property
    def recorded(self) -> int:
        """Episodes that are there."""
        if self._staging is None:
            return self.recipe.count
        done = 0
        while self._staging.episode_file(done).exists():
            done += 1
        return done

    def rows(self, env: TaskEnv) -> FrameLog:
        """The receiver of an episode's frames, for `LiveTask.begin`."""
        return FrameLog(env, self.recipe.size, self.recipe.pictures)

    def add(self, task: LiveTask, rows: FrameLog) -> Outcome:
        """Draw the pictures of a finished episode and stage it."""
        if self._staging is None or task.info is None:
            raise TrocarError("the episode has not ended, or the data set is complete")
        index = self.recorded
        about = {"policy": PERSON, "seed": self.recipe.seed + index, "kind": "demonstration"}
        rows.draw_pictures()
        episode = rows.finished(about | outcome(task.env, Episode.of(self.recipe.seed + index, task.info)))
        stage(self.recipe, self._staging, index, episode, rows.films())
        return self._outcome(index)

    def _outcome(self, index: int) -> Outcome:
        assert self._staging is not None
        episode = self._staging.episode(index)
        return Outcome(index, episode.group, len(episode))

    def finish(self) -> bool:
        """Write the data set if all its episodes are there; False if some are missing."""
        if self._staging is None or self.recorded < self.recipe.count:
            return self.complete
        outcomes = [self._outcome(index) for index in range(self.recipe.count)]
        write_data_set(self.recipe, self._staging, self.folder, outcomes)
        return True

    def close(self) -> None:
        """Unlock the folder."""
        self._opened.close()
