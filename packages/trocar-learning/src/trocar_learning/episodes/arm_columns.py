"""Recordings of arms from the columns of a data set: joints of trocar's own, the dVRK's topics, or tip poses."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from trocar.arms import Arm, load_arm
from trocar.errors import TrocarError, shown
from trocar.files import Json
from trocar.recording import Recording
from trocar.spatial import Array, Values
from trocar_learning.episodes import features as f

KINDS = {"psm": "PSM", "ecm": "ECM", "mtml": "MTML", "mtmr": "MTMR"}
TIP_JOINTS, TIP_UNITS = ("tip_x", "tip_y", "tip_z", "jaw"), ("m", "m", "m", "rad")
_LABEL = re.compile(r"(psm\d+|ecm\d*|mtml\d*|mtmr\d*)_", re.IGNORECASE)
_TOPIC = re.compile(r"(?:ros\.)?([A-Za-z]+\d*)\.(jaw\.)?(measured_js|setpoint_js)")
_FIELD = re.compile(r"(position|velocity|effort)\.(\d+)")

Columns = Mapping[str, Array]  # (N, k) by feature
Channels = dict[str, Values]  # of the recording of an arm, by name
Names = Mapping[str, Sequence[str]]  # of the k numbers


def recordings(t: Array, columns: Columns, names: Names, provenance: Json) -> dict[str, Recording]:
    """Recordings by arm from the columns of an episode; the first reader that finds arms is used.

    Args:
        t: times (N,) [s]. names: of the numbers of every feature. provenance: of all recordings.
    """
    for reader in (_of_joints, _of_topics, _of_plain_joints, _of_tips):
        if arms := reader(columns, names):
            return {label: arm_recording(label, t, channels, dict(provenance)) for label, channels in arms.items()}
    raise TrocarError(
        f"the data set has no motion that is understood: neither {f.POSITION}, topics such as PSM1/measured_js, nor "
        f"tip poses such as psm1_pose.position.x in {f.STATE}; its features are {shown(list(columns))}"
    )


def kind_of(label: str) -> str:
    """Kind of arm of a label such as psm1 or PSM2."""
    return next((kind for start, kind in KINDS.items() if label.lower().startswith(start)), "")


@cache
def _arm(kind: str) -> Arm:
    """The arm of a kind, which is loaded once: an episode may have few rows."""
    return load_arm(kind)


def arm_recording(label: str, t: Array, channels: Channels, provenance: Json) -> Recording:
    q = channels.pop("q")
    tip = "joints" in channels
    arm = None if tip else _arm(kind_of(label))
    names = TIP_JOINTS if arm is None else arm.joint_names
    units = TIP_UNITS if arm is None else arm.joint_units
    if not tip:
        provenance["arm"] = kind_of(label)
    channels.pop("joints", None)
    dq = channels.pop("dq", None)
    if dq is None:
        dq = np.gradient(q, t, axis=0) if len(t) > 1 else np.zeros_like(q)
    tau, commands = channels.pop("tau", None), channels.pop("commands", {})
    return Recording(
        t=t, q=q, dq=dq, tau=tau, joints=names, joint_units=units, commands=commands, extra=channels,
        provenance={**provenance, "label": label},
    )  # fmt: skip


def _of_joints(columns: Columns, names: Names) -> dict[str, Channels]:
    """Joints with trocar's names: psm1_yaw, ..."""
    arms: dict[str, Channels] = {}
    if f.POSITION not in columns:
        return arms
    labels = dict.fromkeys(match[1] for name in names.get(f.POSITION, ()) if (match := _LABEL.match(name)))
    for label in labels:
        arm = _arm(kind_of(label))
        wanted = [f"{label}_{joint}" for joint in arm.joint_names]
        channels: Channels = {}
        for channel, feature in (("q", f.POSITION), ("dq", f.VELOCITY), ("tau", f.EFFORT)):
            if feature in columns:
                channels[channel] = _picked(columns[feature], names.get(feature, ()), wanted, feature)
        wrenches = {"tip_wrench": f.TIP_WRENCH, "trocar_wrench": f.TROCAR_WRENCH}
        for channel, feature in wrenches.items():
            if feature in columns:
                several = len(labels) > 1
                own = [f"{label}_{axis}" if several else axis for axis in f.WRENCH]
                channels[channel] = _picked(columns[feature], names.get(feature, ()), own, feature)
        arms[label] = channels
    return arms


def _of_topics(columns: Columns, names: Names) -> dict[str, Channels]:
    """Topics of the dVRK as features: ros.PSM1.measured_js with fields position.0, ..."""
    parts: dict[str, dict[tuple[str, str], Array]] = {}
    for feature, values in columns.items():
        match = _TOPIC.fullmatch(feature.strip("/").replace("/", "."))
        if match is None or not kind_of(match[1]):
            continue
        label = match[1].lower()
        fields: dict[str, list[tuple[int, Array]]] = {}
        for k, name in enumerate(names.get(feature, ())):
            if numbered_field := _FIELD.fullmatch(name):
                fields.setdefault(numbered_field[1], []).append((int(numbered_field[2]), values[:, k]))
        for quantity, numbered in fields.items():
            ordered = np.stack([column for _, column in sorted(numbered, key=lambda pair: pair[0])], axis=1)
            parts.setdefault(label, {})[f"{match[2] or ''}{match[3]}", quantity] = ordered
    arms = {}
    for label, topics in parts.items():
        if ("measured_js", "position") in topics:
            arms[label] = _of_arm_topics(label, topics)
    return arms


def _of_arm_topics(label: str, topics: Mapping[tuple[str, str], Array]) -> Channels:
    arm = _arm(kind_of(label))
    channels: Channels = {}
    for channel, quantity in (("q", "position"), ("dq", "velocity"), ("tau", "effort")):
        value = topics.get(("measured_js", quantity))
        if value is None:
            continue
        jaw = topics.get(("jaw.measured_js", quantity))
        channels[channel] = _with_jaw(label, arm, value, jaw)
    command = topics.get(("setpoint_js", "position"))
    if command is not None:
        channels["commands"] = {"q": _with_jaw(label, arm, command, topics.get(("jaw.setpoint_js", "position")))}
    return channels


def _with_jaw(label: str, arm: Arm, value: Array, jaw: Array | None) -> Array:
    """Joints of an arm (N, n); the dVRK publishes the jaw of a PSM in a topic of its own."""
    if value.shape[1] == arm.n - 1 and arm.joint_names[-1] == "jaw":
        value = np.column_stack([value, np.zeros(len(value)) if jaw is None else jaw[:, 0]])
    if value.shape[1] != arm.n:
        raise TrocarError(f"{label} has {value.shape[1]} joints in the data; {arm.name} has {arm.n}")
    return value


def _of_plain_joints(columns: Columns, names: Names) -> dict[str, Channels]:
    """The seven joints of a PSM in observation.state, as jhu-dvrk's export template names them: joint_0, ..., jaw."""
    own = list(names.get(f.STATE, ()))
    if f.STATE not in columns or own != [*(f"joint_{k}" for k in range(6)), "jaw"]:
        return {}
    channels: Channels = {"q": columns[f.STATE]}
    if f.ACTION in columns and list(names.get(f.ACTION, ())) == own:
        channels["commands"] = {"q": columns[f.ACTION]}
    return {"psm1": channels}


def _of_tips(columns: Columns, names: Names) -> dict[str, Channels]:
    """Tip poses of Open-H: psm1_pose.position.x, ..., psm1_jaw."""
    if f.STATE not in columns:
        return {}
    own, arms = list(names.get(f.STATE, ())), {}
    for label in dict.fromkeys(match[1] for name in own if (match := _LABEL.match(name))):
        wanted = [f"{label}_pose.{axis}" for axis in f.POSE]
        if not set(wanted) <= set(own):
            continue
        poses = _picked(columns[f.STATE], own, wanted, f.STATE)
        jaws = _picked(columns[f.STATE], own, [f"{label}_jaw"], f.STATE) if f"{label}_jaw" in own else None
        if (poses[:, :3] == 0.0).all():  # an arm that the data set does not have
            continue
        arms[label] = tip_channels(poses[:, :3], poses[:, 3:], jaws)
    return arms


def tip_channels(position: Array, orientation: Array, jaw: Array | None) -> Channels:
    """Channels of a recording of a tip: position (N, 3), quaternion (N, 4) as x, y, z, w, and jaw (N, 1)."""
    jaw = np.zeros((len(position), 1)) if jaw is None else jaw
    return {"q": np.column_stack([position, jaw]), "joints": TIP_JOINTS, "tip_orientation": orientation}


def _picked(values: Array, names: Sequence[str], wanted: Sequence[str], feature: str) -> Array:
    missing = [name for name in wanted if name not in names]
    if missing or len(names) != values.shape[1]:
        raise TrocarError(
            f"{feature} has {values.shape[1]} numbers named {shown(list(names))}; missing: {shown(missing)}"
        )
    return values[:, [list(names).index(name) for name in wanted]]
