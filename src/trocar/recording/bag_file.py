"""Recordings from ROS 1 and ROS 2 bags that hold the dVRK's `measured_js` (sensor_msgs/JointState)."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import Any

from trocar.arms import Arm
from trocar.errors import TrocarError, check_known
from trocar.recording.joint_states import JointStates, Row, recording_of
from trocar.recording.recording import Recording

SUFFIXES = (".bag", ".db3", ".mcap")
TOPIC = "measured_js"
JAW_TOPIC = f"jaw/{TOPIC}"


def is_bag(path: Path) -> bool:
    """A ROS 1 bag, a ROS 2 bag's folder, or its data file."""
    return path.suffix in SUFFIXES or os.path.isfile(path / "metadata.yaml")


def opened_bag(path: Path) -> Any:
    """An open reader of a bag: a .bag file, the folder of a ROS 2 bag, or its data file with or without that folder."""
    try:
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_typestore
    except ImportError:
        raise TrocarError(f"{path}: reading bags needs the package rosbags: pip install 'trocar[bags]'") from None
    in_folder = path.suffix in (".db3", ".mcap") and path.is_file() and (path.parent / "metadata.yaml").is_file()
    try:
        bag = AnyReader([path.parent if in_folder else path], default_typestore=get_typestore(Stores.ROS2_HUMBLE))
        bag.open()
    except MemoryError:
        raise _too_large(path) from None
    except Exception as error:  # the parser may raise any exception on damaged input
        raise TrocarError(f"{path}: not a readable bag: {error}") from None
    return bag


def read_bag(path: Path, arm: Arm, namespace: str | None = None) -> Recording:
    """The joint states of one arm. Joints are matched by name, or by position if the bag names none of them.

    Args:
        namespace: namespace of the arm, such as PSM1; required if the bag holds several.
    """
    with closing(opened_bag(path)) as reader:
        topics = {c.topic.strip("/"): c for c in reader.connections if c.topic.split("/")[-1] == TOPIC}
        arms = {topic.removesuffix(TOPIC).strip("/") for topic in topics if not f"/{topic}".endswith(f"/{JAW_TOPIC}")}
        if not arms:
            raise TrocarError(f"{path}: no topic ends in {TOPIC}; topics: {', '.join(sorted(reader.topics))}")
        if namespace is None and len(arms) > 1:
            raise TrocarError(f"{path}: several arms ({', '.join(sorted(arms))}); choose one by its namespace")
        chosen = next(iter(arms)) if namespace is None else namespace.strip("/")
        check_known("namespace of an arm in the bag", sorted(arms), chosen)
        try:
            rows = _rows(reader, arm, f"{chosen}/{TOPIC}".strip("/"), f"{chosen}/{JAW_TOPIC}".strip("/"))
        except MemoryError:
            raise _too_large(path) from None
        except Exception as error:  # the parser again: messages are read only now
            raise TrocarError(f"{path}: {error}") from None
    if not rows:
        raise TrocarError(f"{path}: the topic {chosen}/{TOPIC} has no messages")
    return recording_of(rows, arm, {"file": path.name, "arm": arm.name, "topic": f"{chosen}/{TOPIC}"})


def _rows(reader: Any, arm: Arm, topic: str, jaw: str) -> list[Row]:
    connections = [c for c in reader.connections if c.topic.strip("/") in (topic, jaw)]
    has_jaw = any(c.topic.strip("/") == jaw and c.msgcount for c in connections)
    states, rows = JointStates(arm, has_jaw), []
    for connection, recorded, raw in reader.messages(connections=connections):
        message = reader.deserialize(raw, connection.msgtype)
        sent = message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec
        stamp, values = sent if sent > 0 else recorded, (message.position, message.velocity, message.effort)
        if connection.topic.strip("/") == jaw:
            rows += states.add_jaw(stamp, *values)
        else:
            rows += states.add(stamp, message.name, *values)
    return rows + states.rest()


def _too_large(path: Path) -> TrocarError:
    return TrocarError(f"{path}: the bag is damaged, or needs more memory than allowed; use a shorter bag")
