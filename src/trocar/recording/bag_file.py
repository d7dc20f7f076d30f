"""Recordings from ROS 1 and ROS 2 bags that hold the dVRK's `measured_js` (sensor_msgs/JointState).

A PSM publishes its jaw apart, as `jaw/measured_js`: it is interpolated to the times of the arm.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from trocar.arms import Arm
from trocar.errors import TrocarError, check_known
from trocar.recording.recording import Recording
from trocar.spatial import Array

SUFFIXES = (".bag", ".db3", ".mcap")
TOPIC = "measured_js"


def is_bag(path: Path) -> bool:
    """A ROS 1 bag, a ROS 2 bag's folder, or its data file."""
    return path.suffix in SUFFIXES or os.path.isfile(path / "metadata.yaml")


def read_bag(path: Path, arm: Arm, namespace: str | None = None) -> Recording:
    """The joint states of one arm; joints of the bag are matched by name, or by place if it names none of them.

    Args:
        namespace: of the arm, such as PSM1; needed if the bag holds several.
    """
    try:
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_typestore
    except ImportError:
        raise TrocarError(f"{path}: reading bags needs the package rosbags: pip install 'trocar[bags]'") from None
    folder = path.parent if path.suffix in (".db3", ".mcap") else path
    bag = AnyReader([folder], default_typestore=get_typestore(Stores.ROS2_HUMBLE))
    try:
        bag.open()
    except Exception as error:  # whatever its parser stumbles upon: other exceptions than its own too
        raise TrocarError(f"{path}: not a bag that can be read: {error}") from None
    with closing(bag) as reader:
        topics = {c.topic: c for c in reader.connections if c.topic.split("/")[-1] == TOPIC}
        arms = {topic.strip("/").removesuffix(TOPIC).strip("/") for topic in topics if "/jaw/" not in topic}
        if not arms:
            raise TrocarError(f"{path}: no topic ends in {TOPIC}; topics: {', '.join(sorted(reader.topics))}")
        if namespace is None and len(arms) > 1:
            raise TrocarError(f"{path}: several arms ({', '.join(sorted(arms))}); say which (--namespace)")
        chosen = next(iter(arms)) if namespace is None else namespace.strip("/")
        check_known("namespace of an arm in the bag", sorted(arms), chosen)
        try:
            states = _states(reader, topics, f"{chosen}/{TOPIC}")
            jaw = _states(reader, topics, f"{chosen}/jaw/{TOPIC}")
        except Exception as error:  # the parser's again: messages are read only now
            raise TrocarError(f"{path}: {error}") from None
    if states is None:
        raise TrocarError(f"{path}: the topic {chosen}/{TOPIC} holds no message")
    names, t, q, dq, tau = states
    if jaw is not None:
        q, dq, tau = (
            np.column_stack([x, np.interp(t, jaw[1], y[:, 0])]) for x, y in ((q, jaw[2]), (dq, jaw[3]), (tau, jaw[4]))
        )
        names = [*names, "jaw"]
    order = _order(path, names, arm.joint_names)
    return Recording(
        t=t - t[0],
        q=q[:, order],
        dq=dq[:, order],
        tau=tau[:, order],
        joints=arm.joint_names,
        joint_units=arm.joint_units,
        provenance={"file": path.name, "arm": arm.name, "topic": f"{chosen}/{TOPIC}"},
    )


def _states(reader: Any, topics: dict[str, Any], topic: str) -> tuple[list[str], Array, Array, Array, Array] | None:
    """Names, times (N,), position, velocity and effort (N, k) of a topic; None if it is not there."""
    connections = [c for name, c in topics.items() if name.strip("/") == topic]
    t, rows, names = [], [], []
    for connection, stamp, raw in reader.messages(connections=connections) if connections else ():
        message = reader.deserialize(raw, connection.msgtype)
        if not len(message.position) == len(message.velocity) == len(message.effort):
            raise TrocarError(f"{topic}: a message has no position, velocity and effort of every joint")
        sent = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
        t.append(sent if sent > 0 else 1e-9 * stamp)
        rows.append([message.position, message.velocity, message.effort])
        names = list(message.name)
    if not rows:
        return None
    times, table = np.array(t), np.array(rows)
    later = np.concatenate([[True], np.diff(times) > 0])  # messages sent twice
    return names, times[later], *table[later].transpose(1, 0, 2)


def _order(path: Path, names: list[str], joints: Sequence[str]) -> list[int]:
    plain = [name.split("/")[-1] for name in names]
    found = {name: i for i, name in enumerate(plain)} | {name.removeprefix("outer_"): i for i, name in enumerate(plain)}
    if all(joint in found for joint in joints):
        return [found[joint] for joint in joints]
    if len(names) == len(joints):
        return list(range(len(joints)))
    raise TrocarError(f"{path}: joints {', '.join(names)}; the arm has {', '.join(joints)}")
