"""Episodes of a data set that was loaded: each gives a `Recording` per arm."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import overload

from trocar.errors import TrocarError, shown
from trocar.files import Json
from trocar.recording import Recording
from trocar.spatial import Array

Pictures = Callable[[], Array]  # reads the images of an episode


@dataclass(frozen=True, eq=False)
class LoadedEpisode:
    """One episode.

    Attributes:
        recordings: motion of every arm by name, such as psm1. Rows are frames; efforts are those of the data, or None.
        instruction: the task in words. about: entries of the data set for the episode, such as seed and success.
        pictures: functions that read the images (N, height, width, 3), uint8, by feature.
    """

    recordings: Mapping[str, Recording]
    instruction: str
    about: Json
    pictures: Mapping[str, Pictures] = field(default_factory=dict)

    @property
    def recording(self) -> Recording:
        """The recording of the first arm."""
        return next(iter(self.recordings.values()))

    @property
    def success(self) -> bool | None:
        """True or False; None if the data set does not state it as a truth value, 0 or 1."""
        value = self.about.get("success")
        return bool(value) if isinstance(value, bool | int | float) and value in (0, 1) else None

    def images(self, feature: str) -> Array:
        """Images (N, height, width, 3), uint8, of a feature."""
        if feature not in self.pictures:
            raise TrocarError(
                f"the episode has no pictures {shown(feature)}; it has {', '.join(self.pictures) or 'none'}"
            )
        return self.pictures[feature]()


def split_range(what: str, text: object, count: int) -> slice:
    """The episodes of a split, START:STOP within a number of episodes."""
    match = re.fullmatch(r"(\d{1,9}):(\d{1,9})", text, re.ASCII) if isinstance(text, str) else None
    start, stop = (int(match[1]), int(match[2])) if match else (1, 0)
    if not start <= stop <= count:
        raise TrocarError(f"{what} must be a range such as 0:80 within {count} episodes, got {shown(text)}")
    return slice(start, stop)


class EpisodeSet(Sequence[LoadedEpisode]):
    """The episodes of a data set, each read when it is asked for.

    Attributes:
        path: of the data set. format: its format, such as "LeRobot v3.0". splits: names and ranges of its splits.
    """

    def __init__(
        self, path: Path, format: str, count: int, read: Callable[[int], LoadedEpisode], splits: Mapping[str, str]
    ) -> None:
        if not count:
            raise TrocarError(f"the data set {path} has no episodes")
        self.path, self.format, self.splits = path, format, dict(splits)
        self._count, self._read = count, read

    def __repr__(self) -> str:
        return f"<EpisodeSet: {self._count} episodes of {self.format} in {self.path}>"

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> LoadedEpisode: ...
    @overload
    def __getitem__(self, index: slice) -> list[LoadedEpisode]: ...
    def __getitem__(self, index: int | slice) -> LoadedEpisode | list[LoadedEpisode]:
        if isinstance(index, slice):
            return [self._read(k) for k in range(self._count)[index]]
        try:
            number = range(self._count)[index]
        except IndexError:
            raise IndexError(f"episode {index} of {self._count}") from None
        return self._read(number)

    def __iter__(self) -> Iterator[LoadedEpisode]:
        return (self._read(k) for k in range(self._count))

    def split(self, name: str) -> list[LoadedEpisode]:
        """Episodes of a split, such as "train"."""
        if name not in self.splits:
            raise TrocarError(f"the data set has no split {shown(name)}; it has {', '.join(self.splits)}")
        return self[split_range(f"the split {shown(name)} of {self.path}", self.splits[name], self._count)]
