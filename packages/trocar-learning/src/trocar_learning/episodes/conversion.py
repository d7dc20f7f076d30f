"""Recordings of a robot or of a person as a data set: from bags to LeRobot.

A file is one episode. Wrenches, rewards and success are not measured on a robot, so the data set does not have them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import trocar
from trocar import checks
from trocar.errors import TrocarError, check_known, check_type, shown
from trocar.files import Json, check_memory, check_writable, write_json, write_whole
from trocar.mechanics import Mechanism, load_mechanism
from trocar.recording import Recording
from trocar.spatial import Array
from trocar.sweep.results import locked
from trocar_learning.episodes import features as f
from trocar_learning.episodes.data_set import DataSet
from trocar_learning.episodes.demonstration import Demonstration, npz_bytes
from trocar_learning.episodes.recipe import FORMATS
from trocar_learning.episodes.recording_run import WRITERS, done_file
from trocar_learning.episodes.splits import ordered
from trocar_learning.episodes.staging import STAGING, Outcome, Staging

MIN_FRAMES = 2
NUMBERS = 200  # of one frame while it is converted: poses, joints and tables


@dataclass(frozen=True, kw_only=True)
class Conversion:
    """Recipe of a data set made from recordings; the fields are those of `EpisodeRecipe` that writers read."""

    task: str
    count: int
    format: str
    seed: int = 0
    policy: str = "person"
    level: str = "recorded"
    size: tuple[int, int] | None = None
    fps: int = 30

    @property
    def policy_name(self) -> str:
        return self.policy

    def content(self) -> Json:
        return {"trocar": trocar.__version__} | asdict(self)


def convert(
    episodes: Sequence[Mapping[str, Recording]],
    folder: str | Path,
    instruction: str,
    *,
    format: str = "lerobot3",
    fps: int = 30,
) -> None:
    """Write recordings as a data set in a new or empty folder.

    Args:
        episodes: for every episode the recordings of its PSMs by name, such as {"psm1": ...}. They are resampled over
            the time that all have. All episodes have the same arms, and efforts either in all or in none.
        instruction: the task in words.
        format: lerobot3, lerobot2.1 or npz. fps: frames per second.
    """
    check_known("format of converted recordings", [name for name in FORMATS if name != "robomimic"], format)
    checks.count("fps", fps, 1, 1000)
    place = Path(folder)
    check_writable(place / "meta" / "info.json")
    check_type("episodes", episodes, Sequence, "a list of dictionaries of recordings by arm")
    if not episodes or not checks.text("instruction", instruction).strip():
        raise TrocarError("a data set needs at least one episode and an instruction")
    with locked(place):
        staging = Staging(place)
        left = STAGING if not staging.exists() else ""  # of a conversion that was killed
        if strange := sorted(path.name for path in place.iterdir() if path.name != left):
            raise TrocarError(f"{place} is not empty (it has {shown(strange[0])}); use another folder")
        staging.remove()
        try:
            order, splits = ordered(_staged(staging, episodes, instruction, fps))
            recipe: Any = Conversion(task="recording", count=len(order), format=format, fps=fps)
            WRITERS[format](DataSet(recipe, staging, place, order, splits))
            described = {"recipe": recipe.content(), "splits": {s.name: str(s) for s in splits}}
            write_json(done_file(place, format), described)
        finally:
            staging.remove()


def _staged(staging: Staging, episodes: Sequence[Mapping[str, Recording]], instruction: str, fps: int) -> list[Outcome]:
    """Outcomes of all episodes, each of which is written to its own file."""
    outcomes: list[Outcome] = []
    first: set[str] = set()
    for index, recordings in enumerate(episodes):
        try:
            episode = demonstration(recordings, instruction, fps)
        except TrocarError as error:
            raise TrocarError(f"episode {index}: {error}") from None
        first = first or set(episode.features)
        if differing := sorted(first ^ set(episode.features)):
            where = "missing" if differing[0] in first else "not in episode 0"
            raise TrocarError(
                f"episode {index}: {differing[0]} is {where}; the episodes of a data set have the same features"
            )
        write_whole(staging.episode_file(index), npz_bytes(episode))
        outcomes.append(Outcome(index, "demonstration", len(episode)))
    return outcomes


def demonstration(recordings: Mapping[str, Recording], instruction: str, fps: int) -> Demonstration:
    """An episode from the recordings of PSMs by name (psm1, psm2)."""
    check_type("an episode", recordings, Mapping, "a dictionary of recordings by arm")
    check_known("arm of a data set", ("psm1", "psm2"), *recordings)
    if not recordings:
        raise TrocarError("it has no recording")
    for arm, recording in recordings.items():
        check_type(arm, recording, Recording, "a Recording (tr.load_recording)")
    arms = sorted(recordings)
    start = max(recording.t[0] for recording in recordings.values())
    end = min(recording.t[-1] for recording in recordings.values())
    check_memory(8.0 * NUMBERS * (end - start) * fps, f"an episode of {end - start:.3g} s", "Check its time stamps")
    t = np.arange(start, end, 1.0 / fps)
    if len(t) < MIN_FRAMES:
        raise TrocarError(f"the recordings have {max(end - start, 0.0):.3g} s in common, less than {MIN_FRAMES} frames")
    mechanisms, parts = {}, {}
    for arm in arms:
        recording = recordings[arm]
        mechanisms[arm] = load_mechanism(str(recording.provenance.get("arm", "PSM")))
        recording.check_joints(mechanisms[arm].arm)
        parts[arm] = {name: _at(t, recording, name) for name in ("q", "dq", "tau", "command")}
    layout = f.layout(arms, [mechanisms[arm].arm.joint_names for arm in arms], 0, 0)
    has_effort = all(parts[arm]["tau"] is not None for arm in arms)
    stored = [f.STATE, f.ACTION, f.POSITION, f.VELOCITY, *([f.EFFORT] if has_effort else [])]
    frames = {
        f.STATE: _tips(arms, mechanisms, parts, "q"),
        f.ACTION: _tips(arms, mechanisms, parts, "command"),
        f.POSITION: np.concatenate([parts[arm]["q"] for arm in arms], axis=1),
        f.VELOCITY: np.concatenate([parts[arm]["dq"] for arm in arms], axis=1),
    }
    if has_effort:
        frames[f.EFFORT] = np.concatenate([parts[arm]["tau"] for arm in arms], axis=1)
    kept = {name: layout[name] for name in layout if name in stored or f.is_text(name)}
    for name in (f.STATE, f.ACTION):
        kept[name] = kept[name] | {"info": {"units": "m, unit quaternion, rad", "frame": "base of each arm"}}
    numbers = {name: frames[name].astype(np.float32) for name in stored}
    # neither success nor a drawn robot: nobody measured them
    about: Json = {"parameters": {}, "pixels": {}, "kind": "demonstration", "policy": "person"}
    about |= {"level": "recorded", "mode": "recorded"}
    tools = {arm: recordings[arm].provenance.get("instrument", mechanisms[arm].arm.instrument) for arm in arms}
    about["tools"] = {f"{f.TOOL}.{arm}": str(tool) for arm, tool in tools.items()}
    final = {name: values[-1] for name, values in numbers.items() if name.startswith("observation")}
    return Demonstration(fps, instruction, kept, numbers, final, about)


def _at(t: Array, recording: Recording, name: str) -> Any:
    """A channel (N, n) at times t; the command is the commanded position, or the position of the next frame."""
    values: Any
    if name == "command":
        commanded = recording.commands.get("q")
        values, shift = (recording.q, t[1] - t[0]) if commanded is None else (commanded, 0.0)
    else:
        values, shift = getattr(recording, name), 0.0
    if values is None:
        return None
    return np.stack([np.interp(t + shift, recording.t, column) for column in values.T], axis=1)


def _tips(arms: Sequence[str], mechanisms: Mapping[str, Mechanism], parts: Mapping[str, Json], name: str) -> Array:
    """States (N, 16) of joint positions."""
    poses = [mechanisms[arm].forward_kinematics(parts[arm][name]) for arm in arms]
    rows = []
    near: list[Any] = [None] * len(arms)
    for k in range(len(poses[0])):
        numbers = []
        for i, arm in enumerate(arms):
            near[i] = f.pose_numbers(poses[i][k], near[i])
            numbers.append(np.append(near[i], parts[arm][name][k, -1]))
        rows.append(f.assembled(arms, numbers))
    return np.array(rows)
