"""A data set that is about to be written: staged episodes in their final order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from trocar.files import Json
from trocar_learning.episodes.demonstration import Demonstration
from trocar_learning.episodes.recipe import EpisodeRecipe
from trocar_learning.episodes.splits import Split
from trocar_learning.episodes.staging import Outcome, Staging

CHUNK = 1000  # episodes or files in one folder
# Entries of an episode's description that data sets store as columns.
COLUMNS: tuple[str, ...] = (
    "seed",
    "success",
    "first_success",
    "kind",
    "policy",
    "level",
    "mode",
    "peak_force",
    "drops",
    "delay",
)
COLUMNS += ("wrist_friction", "sensor_seed")


@dataclass(frozen=True)
class DataSet:
    """Episodes of a recipe in the order of the data set.

    Attributes:
        folder: of the data set. outcomes: of all episodes. splits: their ranges.
    """

    recipe: EpisodeRecipe
    staging: Staging
    folder: Path
    outcomes: Sequence[Outcome]
    splits: Sequence[Split]

    def episodes(self) -> Iterator[tuple[int, Demonstration]]:
        """Number of every episode in the data set, and the episode."""
        for number, outcome in enumerate(self.outcomes):
            yield number, self.staging.episode(outcome.index)

    def film(self, number: int, feature: str) -> Path:
        """The film of an episode."""
        return self.staging.film_file(self.outcomes[number].index, feature)

    @property
    def frames(self) -> int:
        """Number of frames of all episodes."""
        return sum(outcome.frames for outcome in self.outcomes)

    def split_of(self, number: int) -> str:
        """Name of the split of an episode."""
        return next(split.name for split in self.splits if split.start <= number < split.stop)

    def description(self, number: int, episode: Demonstration) -> Json:
        """Outcome and drawn robot of an episode as single values; a recording of a robot has neither."""
        known = {name: episode.about[name] for name in COLUMNS if name in episode.about}
        return known | {"split": self.split_of(number)}
