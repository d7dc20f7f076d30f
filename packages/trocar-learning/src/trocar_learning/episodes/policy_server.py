"""A policy at an address: asks GR00T's inference service for actions of the dVRK."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from trocar import checks
from trocar.errors import TrocarError, shown
from trocar.files import Json
from trocar.spatial import Array, pose
from trocar.transports.zmtp import PeerError, Requester
from trocar_learning.envs.episode import PolicyFailure
from trocar_learning.episodes import features as f
from trocar_learning.episodes.policy_messages import MAX_MESSAGE, answer_error, packed, unpacked

MAX_DISTANCE, MAX_JAW, MAX_STEPS = 2.0, 3.2, 10_000  # of a commanded tip [m], jaw [rad], actions of one answer
ANSWER_TIMEOUT = 15.0  # for one answer [s]
TIMEOUTS = 1e-3, 3600.0  # shortest and longest time for one answer [s]
_ADDRESS = re.compile(r"(?:tcp://)?([A-Za-z0-9_.\-]+|\[[0-9a-fA-F:]+\]):(\d{1,5})")


@dataclass(frozen=True)
class Needs:
    """Inputs of a policy: names of films, states and text, and the frames of its history (0 and before)."""

    videos: tuple[str, ...] = ()
    video_frames: tuple[int, ...] = (0,)
    states: tuple[str, ...] = ("psm1_pose", "psm1_gripper", "psm2_pose", "psm2_gripper")
    language: str = "annotation.human.task_description"


@dataclass(frozen=True)
class TipGoal:
    """A commanded tip: pose (4, 4) in the world, and opening of the jaws [rad]."""

    T: Array
    jaw: float


@dataclass(frozen=True, eq=False)
class PolicyFrame:
    """The input of a policy.

    Attributes:
        state: 16 numbers of Open-H. features: observations by the names of a data set, without pictures.
        images: (height, width, 3), uint8, of every film that it needs, one per frame of the history.
        instruction: the task in words.
    """

    state: Array
    features: Mapping[str, Array]
    images: Mapping[str, Sequence[Array]]
    instruction: str


def is_address(text: str) -> bool:
    """True for HOST:PORT and tcp://HOST:PORT."""
    match = _ADDRESS.fullmatch(text)
    return match is not None and 0 < int(match[2]) < 65536


class PolicyServer:
    """A connection to a policy server.

    Args:
        address: HOST:PORT or tcp://HOST:PORT. timeout: for one answer [s]. token: sent with every request.
    """

    def __init__(self, address: str, timeout: float = ANSWER_TIMEOUT, token: str | None = None) -> None:
        match = _ADDRESS.fullmatch(address)
        if match is None or not is_address(address):
            raise TrocarError(f"a policy server is at HOST:PORT, such as 127.0.0.1:5555, got {shown(address)}")
        self.address, self._token = f"tcp://{match[1]}:{match[2]}", token
        self.timeout = checks.number("timeout", timeout, *TIMEOUTS, "s")
        self._requester = Requester(match[1].strip("[]"), int(match[2]), MAX_MESSAGE)

    def __enter__(self) -> PolicyServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connection; an answer that is still on its way is dropped."""
        self._requester.close()

    def call(self, endpoint: str, data: Any = None, *, with_data: bool = True) -> Any:
        """The answer of an endpoint; raises PolicyFailure if there is none in time, or it is an error."""
        request = {"endpoint": endpoint} | ({"data": data} if with_data else {})
        if self._token is not None:
            request["api_token"] = self._token
        try:
            first, *others = self._requester.ask(packed(request), self.timeout)
        except TimeoutError:
            raise PolicyFailure(
                f"the policy server at {self.address} did not answer within {self.timeout:g} s"
            ) from None
        except (PeerError, OSError) as error:
            raise PolicyFailure(f"the policy server at {self.address} failed: {error}") from None
        if others:
            self.close()
            raise PolicyFailure(f"the policy server answered in {1 + len(others)} parts, not in one")
        answer = unpacked(first)
        if (reported := answer_error(answer)) is not None:
            raise PolicyFailure(f"the policy server reports: {reported}")
        return answer

    def needs(self) -> Needs:
        """Inputs of the policy, from its modality configuration; the default if it has none."""
        answer = self.call("get_modality_config", with_data=False)
        if not isinstance(answer, dict) or not answer:
            return Needs()
        default = Needs()
        videos, frames = _modality(answer, "video", ()), _frames(answer, "video")
        language = _modality(answer, "language", (default.language,))
        return Needs(videos, frames, _modality(answer, "state", default.states), language[0])

    def reset(self) -> None:
        """Tell the policy that an episode begins."""
        self.call("reset", {"options": None})

    def goals(self, needs: Needs, frame: PolicyFrame, arms: Sequence[str]) -> list[dict[str, TipGoal]]:
        """Commanded tips by arm for a frame, one dictionary per action of the answer."""
        return self.actions(observation(needs, frame.state, frame.images, frame.instruction), arms)

    def actions(self, observation: Json, arms: Sequence[str]) -> list[dict[str, TipGoal]]:
        """Commanded tips by arm for an observation of the service, one dictionary per action of the answer."""
        answer = self.call("get_action", {"observation": dict(observation), "options": None})
        if isinstance(answer, list | tuple) and answer:  # action and information, since GR00T N1.6
            answer = answer[0]
        if not isinstance(answer, dict):
            raise PolicyFailure(f"the policy server answered {shown(answer)}, not actions by name")
        return goals(answer, arms)


def _modality(answer: Json, name: str, default: tuple[str, ...]) -> tuple[str, ...]:
    entry = answer.get(name)
    keys = entry.get("modality_keys") if isinstance(entry, Mapping) else None
    if keys is None:
        return default
    if not (isinstance(keys, list) and keys and all(isinstance(key, str) for key in keys)):
        raise PolicyFailure(f"the modality configuration of the policy has no names of {name}: {shown(keys)}")
    return tuple(keys)


def _frames(answer: Json, name: str) -> tuple[int, ...]:
    entry = answer.get(name)
    frames = entry.get("delta_indices", [0]) if isinstance(entry, Mapping) else [0]
    if not (isinstance(frames, list) and 0 < len(frames) <= 64 and all(_is_past(k) for k in frames)):
        raise PolicyFailure(f"the policy wants the frames {shown(frames)}; possible are 0 and up to 1000 before")
    return tuple(frames)


def _is_past(k: Any) -> bool:
    return isinstance(k, int) and not isinstance(k, bool) and -1000 <= k <= 0


def goals(answer: Json, arms: Sequence[str]) -> list[dict[str, TipGoal]]:
    """Commanded tips from the arrays of an answer: psm1_pose (B, T, 7 or 9) and psm1_gripper (B, T, 1)."""
    by_arm = {}
    for arm in arms:
        poses, jaws = _numbers(answer, f"{arm}_pose"), _numbers(answer, f"{arm}_gripper")
        if poses.shape[-1] not in (7, 9) or jaws.shape[-1] != 1 or len(poses) != len(jaws):
            shapes = f"{poses.shape} and {jaws.shape}"
            raise PolicyFailure(f"{arm}_pose and {arm}_gripper must have 7 or 9 and 1 numbers per action, got {shapes}")
        by_arm[arm] = [TipGoal(_pose(row), float(jaw[0])) for row, jaw in zip(poses, jaws, strict=True)]
    lengths = {len(rows) for rows in by_arm.values()}
    if len(lengths) != 1 or not 0 < min(lengths) <= MAX_STEPS:
        raise PolicyFailure(f"the policy answered {sorted(lengths)} actions for {', '.join(arms)}")
    return [{arm: rows[k] for arm, rows in by_arm.items()} for k in range(lengths.pop())]


def _numbers(answer: Json, name: str) -> Array:
    value = answer.get(name, answer.get(f"action.{name}"))
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f" or value.ndim not in (2, 3) or not value.size:
        held = f"{value.dtype} of shape {value.shape}" if isinstance(value, np.ndarray) else shown(value)
        raise PolicyFailure(f"the policy must answer {name} as floats of shape (1, T, k) or (T, k), got {held}")
    rows = value[0] if value.ndim == 3 else value
    limit = MAX_JAW if name.endswith("gripper") else MAX_DISTANCE
    if not (np.isfinite(rows).all() and (np.abs(rows) <= limit).all()):
        raise PolicyFailure(f"the policy answered numbers in {name} that are not finite or beyond {limit:g}")
    return rows.astype(float)


def _pose(row: Array) -> Array:
    """Pose (4, 4) from a position and a quaternion (x, y, z, w), or the first two columns of a rotation."""
    if len(row) == 7:
        if np.linalg.norm(row[3:]) < 0.5:
            raise PolicyFailure(f"the policy answered {shown(row[3:].tolist())}, which is no unit quaternion")
        return pose(Rotation.from_quat(row[3:]).as_matrix(), row[:3])
    x, y = row[3:6], row[6:9]
    x = x / max(float(np.linalg.norm(x)), 1e-9)
    y = y - (x @ y) * x
    if not (np.linalg.norm(row[3:6]) > 0.1 and np.linalg.norm(y) > 0.1):
        raise PolicyFailure(f"the policy answered {shown(row[3:].tolist())}, which is no rotation")
    y = y / np.linalg.norm(y)
    return pose(np.stack([x, y, np.cross(x, y)], axis=1), row[:3])


def observation(needs: Needs, state: Array, images: Mapping[str, Sequence[Array]], instruction: str) -> Json:
    """The observation of a request.

    Args:
        state: 16 numbers of Open-H. images: of every film, one per frame of the history.
    """
    parts = {
        "psm1_pose": state[0:7],
        "psm1_gripper": state[7:8],
        "psm2_pose": state[8:15],
        "psm2_gripper": state[15:16],
    }
    unknown = [name for name in needs.states if name not in parts]
    if unknown:
        raise PolicyFailure(f"the policy needs the state {shown(unknown)}; there are {', '.join(parts)}")
    return {
        "video": {name: np.stack(list(images[name]))[None] for name in needs.videos},
        "state": {name: parts[name].astype(np.float32)[None, None] for name in needs.states},
        "language": {needs.language: [[instruction]]},
    }


FILMS = {f"endoscope_{eye}": f"{f.IMAGES}.{eye}" for eye in ("left", "right")}
