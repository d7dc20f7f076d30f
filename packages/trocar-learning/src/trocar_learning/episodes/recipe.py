"""The recipe of a data set: everything that decides its content."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import trocar
from trocar import checks
from trocar.errors import TrocarError, check_known
from trocar.files import Json
from trocar_learning.envs.levels import LEVELS
from trocar_learning.envs.policies import POLICIES
from trocar_learning.envs.registration import ALL_TASKS
from trocar_learning.envs.world import RATE
from trocar_learning.episodes.outside import check_policy, fingerprint

FORMATS = ("lerobot3", "lerobot2.1", "robomimic", "npz")
PICTURES = ("mp4", "png")
PERSON = "person"  # the policy of episodes that somebody teleoperates
LEROBOT = ("lerobot3", "lerobot2.1")
MAX_EPISODES = 1_000_000
MIN_SIDE = 16  # of a picture [pixels]


@dataclass(frozen=True, kw_only=True)
class EpisodeRecipe:
    """Recipe of a data set. Equal recipes give equal files, bit for bit, on one machine.

    Attributes:
        task: name of the task. count: episodes. seed: of the first episode; the others follow.
        policy: expert, pid or random; person for episodes of teleoperation; or a policy from outside: a file, a folder
            of LeRobot, or the address of a server, which is asked `fps` times a second. level: of randomisation.
        recovery: share of episodes that begin after a disturbance, 0 to 1.
        format: lerobot3, lerobot2.1, robomimic or npz.
        size: width and height of the stereo pictures [pixels]; None for none. pictures: mp4 or png.
        fingerprint: part of the checksum of a policy from a file or folder, computed here.
        fps: frames per second, at most the control rate of 50 Hz; see `trocar_learning.episodes.resampling`.
    """

    task: str
    count: int
    seed: int = 0
    policy: str = "expert"
    level: str = "nominal"
    recovery: float = 0.1
    format: str = "lerobot3"
    size: tuple[int, int] | None = None
    pictures: str = "mp4"
    fps: int = RATE
    fingerprint: str = ""

    def __post_init__(self) -> None:
        check_known("task", ALL_TASKS, self.task)
        if checks.text("policy", self.policy) not in (*POLICIES, PERSON):
            self._check_outside()
        check_known("level of randomisation", LEVELS, self.level)
        check_known("format", FORMATS, self.format)
        check_known("kind of pictures", PICTURES, self.pictures)
        checks.count("count", self.count, 1, MAX_EPISODES)
        checks.count("seed", self.seed, 0, 2**31)
        checks.number("recovery", self.recovery, 0.0, 1.0)
        checks.count("fps", self.fps, 1, RATE)
        if self.format == "robomimic" and self.fps != RATE:
            raise TrocarError(f"robomimic replays the actions of the environment, at {RATE} per second; leave out fps")
        if self.size is not None:
            object.__setattr__(self, "size", checks.picture_size("size", self.size, MIN_SIDE, even=True))
            if self.format not in LEROBOT and self.pictures == "mp4":
                raise TrocarError(f"the format {self.format} stores single pictures; use pictures='png'")

    def _check_outside(self) -> None:
        try:
            check_policy(self.policy)
        except TrocarError as error:
            if not set("/.:\\") & set(self.policy):  # a misspelt name
                check_known("policy", POLICIES, self.policy)
            raise error from None
        if not self.fingerprint:
            object.__setattr__(self, "fingerprint", fingerprint(self.policy))

    @property
    def policy_name(self) -> str:
        """Name of the policy without its folder."""
        return Path(self.policy).name if self.fingerprint else self.policy

    def is_recovery(self, index: int) -> bool:
        """True if the episode with this index, counted from 0, begins after a disturbance."""
        return int((index + 1) * self.recovery) > int(index * self.recovery)

    def content(self) -> Json:
        """The recipe with the version of trocar, as JSON-compatible values."""
        values = asdict(self)
        return {"trocar": trocar.__version__} | values | {"size": None if self.size is None else list(self.size)}


def usual_pictures(format: str) -> str:
    """The kind of pictures of a format: films if it stores them, otherwise single pictures."""
    return "mp4" if format in LEROBOT else "png"


def read_recipe(content: Any, place: str) -> tuple[EpisodeRecipe, str]:
    """Recipe and version of trocar from the content of a file at `place`."""
    if not isinstance(content, Mapping):
        raise TrocarError(f"{place} holds no recipe of trocar record")
    names = {entry.name for entry in fields(EpisodeRecipe)}
    if set(content) != names | {"trocar"} or not isinstance(content["trocar"], str):
        raise TrocarError(f"{place} holds no recipe of this version of trocar record")
    try:
        return EpisodeRecipe(**{name: content[name] for name in names}), content["trocar"]
    except (TrocarError, TypeError, ValueError) as error:
        raise TrocarError(f"{place}: {error}") from None
