"""An episode of a data set replayed in the simulator: its motion followed by the twin, and compared with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from trocar.errors import check_known
from trocar.recording import Recording
from trocar.robot.settings import ArmSettings
from trocar.robot.track import Track, difference, resimulated
from trocar.spatial import Array
from trocar_learning.envs.levels import NOMINAL
from trocar_learning.episodes.arm_columns import TIP_JOINTS, kind_of
from trocar_learning.episodes.completion import with_effort, with_joints
from trocar_learning.episodes.loaded import LoadedEpisode

MEASURED, PREDICTED = "efforts of the data", "efforts predicted by the model, for the data has none"


@dataclass(frozen=True, eq=False)
class EpisodeReplay:
    """A recorded motion and the twin's motion along it.

    Attributes:
        recording: of the data, with joints and efforts. twin: simulated recording. effort: origin of the efforts.
        rms: root mean square (n,) of the difference by channel: q [rad, m], dq, tau [N m, N].
    """

    recording: Recording
    twin: Recording
    effort: str
    rms: Mapping[str, Array]


def completed(episode: LoadedEpisode, arm: str | None = None, parameters: str | None = None) -> tuple[Recording, str]:
    """The recording of an arm with joints and efforts, and the origin of the efforts.

    Args:
        arm: such as psm1. Default: the first. parameters: set that predicts efforts. Default: see `twin_parameters`.
    """
    names = list(episode.recordings)
    label = names[0] if arm is None else arm.lower()
    check_known("arm of the episode", names, label)
    recording = episode.recordings[label]
    if recording.joints == TIP_JOINTS:
        recording = with_joints(recording, kind_of(label) or "PSM")
    origin = PREDICTED if recording.tau is None else MEASURED
    return with_effort(recording, parameters or twin_parameters(episode, recording)), origin


def twin_parameters(episode: LoadedEpisode, recording: Recording) -> str | None:
    """Parameter set of the twin: that of trocar's tasks for their own data, otherwise None, the arm's best set."""
    kind = recording.provenance.get("arm")
    return NOMINAL.get(str(kind)) if "level" in episode.about and episode.about["level"] != "recorded" else None


def replay(
    episode: LoadedEpisode,
    arm: str | None = None,
    *,
    parameters: str | None = None,
    progress: Callable[[float], None] | None = None,
) -> EpisodeReplay:
    """Let the simulated arm follow the motion of an episode, and compare it with the data.

    The arm moves freely: contact forces of the episode appear as a difference of efforts. See `resimulated`.

    Args:
        arm: such as psm1. Default: the first. parameters: set of the twin. Default: see `twin_parameters`.
    """
    recording, origin = completed(episode, arm, parameters)
    chosen = parameters or twin_parameters(episode, recording)
    settings = ArmSettings(arm=str(recording.provenance["arm"]), parameters=chosen)
    track = Track(recording, "data", settings)
    twin = resimulated(track, settings, progress)
    return EpisodeReplay(recording, twin.recording, origin, difference(track, twin))
