"""Features of a frame with the names of Open-H: type, shape, names, units and frames of every array.

Open-H's state and action have 16 numbers: pose and jaw of PSM1, then of PSM2. A task with one PSM fills the second half
with an absent arm: zeros and the identity quaternion.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from trocar.arms import Arm
from trocar.files import Json
from trocar.spatial import Array, quaternion

STATE, ACTION = "observation.state", "action"
POSITION, VELOCITY, EFFORT = "observation.position", "observation.velocity", "observation.effort"
TIP_WRENCH, TROCAR_WRENCH = "observation.meta.force_torque", "observation.meta.trocar_wrench"
CONTACT = "observation.meta.contact_force"
TASK_STATE = "observation.environment_state"
ENV_ACTION = "environment.action"
REWARD, DONE, SUCCESS = "next.reward", "next.done", "next.success"
TOOL, INSTRUCTION = "observation.meta.tool", "instruction.text"
IMAGES = "observation.images.endoscope"
POSE = ("position.x", "position.y", "position.z", "orientation.x", "orientation.y", "orientation.z", "orientation.w")
WRENCH = ("fx", "fy", "fz", "tx", "ty", "tz")
ABSENT = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0])  # pose and jaw of an arm that the task does not have
Features = dict[str, Json]


def labels(arms: Iterable[Arm]) -> tuple[str, ...]:
    """Names of arms in the features: psm1, psm2, ... and ecm."""
    names, psms = [], 0
    for arm in arms:
        psms += arm.role == "PSM"
        names.append(f"psm{psms}" if arm.role == "PSM" else arm.role.lower())
    return tuple(names)


def state_names(arms: Sequence[str], part: str) -> list[str]:
    """Names of the numbers of a state ("pose") or an action ("sp"), in Open-H's order."""
    suffix = "" if part == "pose" else "_sp"
    psms = any(arm.startswith("psm") for arm in arms)
    names = []
    for arm in ("psm1", "psm2") if psms else arms:
        names += [f"{arm}_{part}.{axis}" for axis in POSE]
        names += [f"{arm}_jaw{suffix}"] if arm.startswith("psm") else []
    return names


def layout(arms: Sequence[str], joints: Sequence[Sequence[str]], task_state: int, action: int) -> Features:
    """Features of frames without pictures.

    Args:
        arms: names as `labels` gives them. joints: names of the joints of every arm.
        task_state, action: count of numbers of the task and of an action of the environment.
    """
    joint_names = [f"{arm}_{joint}" for arm, own in zip(arms, joints, strict=True) for joint in own]
    wrench = [f"{arm}_{axis}" if len(arms) > 1 else axis for arm in arms for axis in WRENCH]
    features = {
        STATE: _numbers(state_names(arms, "pose"), "m, unit quaternion, rad", frame="world", what="measured tip"),
        ACTION: _numbers(state_names(arms, "sp"), "m, unit quaternion, rad", frame="world", what="commanded tip"),
        POSITION: _numbers(joint_names, "rad, m"),
        VELOCITY: _numbers(joint_names, "rad/s, m/s"),
        EFFORT: _numbers(joint_names, "N m, N", what="mean of the last control period"),
        TIP_WRENCH: _numbers(wrench, "N, N m", frame="base axes, moment about the tip", what="true contact wrench"),
        TROCAR_WRENCH: _numbers(
            wrench, "N, N m", frame="base axes, moment about the remote centre", what="true wrench of the cannula guide"
        ),
        CONTACT: _numbers([f"{arm}_contact" for arm in arms], "N", what="magnitude of the true contact force"),
        TASK_STATE: _numbers([f"task_{k}" for k in range(task_state)], "SI"),
        ENV_ACTION: _numbers([f"action_{k}" for k in range(action)], "-1 to 1"),
        REWARD: _numbers(["reward"], ""),
        DONE: {"dtype": "bool", "shape": [1], "names": None},
        SUCCESS: {"dtype": "bool", "shape": [1], "names": None},
    }
    for name, size in ((TASK_STATE, task_state), (ENV_ACTION, action)):
        if not size:
            del features[name]
    for arm in arms:
        features[f"{TOOL}.{arm}"] = {"dtype": "string", "shape": [1], "names": None}
    features[INSTRUCTION] = {"dtype": "string", "shape": [1], "names": None}
    return features


def _numbers(names: list[str], units: str, **info: str) -> Json:
    return {"dtype": "float32", "shape": [len(names)], "names": names, "info": {"units": units, **info}}


def picture_feature(eye: str, size: tuple[int, int], kind: str, fps: int) -> tuple[str, Json]:
    """Name and description of the pictures of one eye; `size`: width and height [pixels]; `kind`: mp4 or png."""
    width, height = size
    feature: Json = {"dtype": "video" if kind == "mp4" else "image", "shape": [height, width, 3]}
    feature["names"] = ["height", "width", "channels"]
    if kind == "mp4":
        film = {"height": height, "width": width, "codec": "h264", "pix_fmt": "yuv420p", "is_depth_map": False}
        film |= {"fps": fps, "channels": 3}
        feature["info"] = {f"video.{name}": value for name, value in film.items()} | {"has_audio": False}
    return f"{IMAGES}.{eye}", feature


def pose_numbers(T: Array, near: Array | None = None) -> Array:
    """Position and quaternion (x, y, z, w) of a pose (4, 4), (7,); the quaternion's sign is that nearest `near`."""
    w, x, y, z = quaternion(T[:3, :3])
    turn = np.array([x, y, z, w])
    if near is not None and turn @ near[3:7] < 0.0:
        turn = -turn
    return np.concatenate([T[:3, 3], turn])


def assembled(arms: Sequence[str], parts: Sequence[Array]) -> Array:
    """A state or action from the numbers of every arm: pose (7,), and jaw of a PSM."""
    if not any(arm.startswith("psm") for arm in arms):
        return np.concatenate(parts)
    by_arm = dict(zip(arms, parts, strict=True))
    return np.concatenate([by_arm.get(arm, ABSENT) for arm in ("psm1", "psm2")])


def is_text(name: str) -> bool:
    """True for features of text, which are the same in all frames of an episode."""
    return name == INSTRUCTION or name.startswith(f"{TOOL}.")
