"""Joint positions of an arm and poses of a tracker in one ROS 1 or ROS 2 bag, with their times."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from trocar.arms import Arm
from trocar.errors import TrocarError, check_known
from trocar.recording.bag_file import TOO_LARGE, TOPICS, candidates, opened_bag
from trocar.spatial import Array

POSE_TYPES = ("geometry_msgs/msg/PoseStamped", "geometry_msgs/msg/TransformStamped")


class JointsAndPoses(NamedTuple):
    """Positions q (N, k) [rad, m] at t_q (N,) [s], and position and quaternion xyzw (M, 7) at t_pose (M,) [s].

    The unit of the positions of poses is that of the tracker.
    """

    t_q: Array
    q: Array
    t_pose: Array
    poses: Array
    topics: tuple[str, str]


def read_joints_and_poses(
    path: Path, arm: Arm, joints: Sequence[str], namespace: str | None = None, topic: str | None = None
) -> JointsAndPoses:
    """The joints `joints` of one arm (measured_js), and the poses of a PoseStamped or TransformStamped topic.

    Args:
        namespace: arm, such as PSM1; required if the bag holds several of this kind.
        topic: of the poses. Default: the only one outside the arms' namespaces.
    """
    with closing(opened_bag(path)) as reader:
        names = {c.topic.strip("/"): c.msgtype for c in reader.connections}
        states = {name.rpartition("/")[0]: name for name in names if name.rpartition("/")[2] in TOPICS}
        arms = candidates(set(states), arm) if states else []
        if namespace is None and len(arms) != 1:
            raise TrocarError(f"{path}: choose an arm by its namespace; the bag has {', '.join(arms) or 'none'}")
        chosen = arms[0] if namespace is None else namespace.strip("/")
        check_known("namespace of an arm in the bag", sorted(states), chosen)
        poses = sorted(name for name, kind in names.items() if kind in POSE_TYPES)
        outside = [name for name in poses if not any(name.startswith(f"{arm_name}/") for arm_name in states)]
        if topic is None and len(outside) != 1:
            topics = ", ".join(outside or poses) or "none"
            raise TrocarError(f"{path}: choose the topic of the marker's poses by its name; the bag has {topics}")
        seen = outside[0] if topic is None else topic.strip("/")
        check_known("topic of poses in the bag", poses, seen)
        try:
            rows = _rows(reader, states[chosen], seen, joints)
        except MemoryError:
            raise TrocarError(f"{path}: {TOO_LARGE}") from None
        except Exception as error:  # the parser may raise any exception on damaged input
            raise TrocarError(f"{path}: {error}") from None
    for name, (times, _) in zip((states[chosen], seen), rows, strict=True):
        if not times:
            raise TrocarError(f"{path}: the topic {name} has no messages")
    (t_q, q), (t_pose, T) = ((np.array(times), np.array(values, dtype=float)) for times, values in rows)
    return JointsAndPoses(t_q, q, t_pose, T, (states[chosen], seen))


def _rows(reader: Any, state: str, seen: str, joints: Sequence[str]) -> list[tuple[list[float], list[list[float]]]]:
    rows: list[tuple[list[float], list[list[float]]]] = [([], []), ([], [])]
    connections = [c for c in reader.connections if c.topic.strip("/") in (state, seen)]
    for connection, recorded, raw in reader.messages(connections=connections):
        message = reader.deserialize(raw, connection.msgtype)
        sent = message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec
        of_arm = connection.topic.strip("/") == state
        times, values = rows[0 if of_arm else 1]
        times.append(1e-9 * (sent if sent > 0 else recorded))
        values.append(_positions(message, joints) if of_arm else _pose(message))
    return rows


def _positions(message: Any, joints: Sequence[str]) -> list[float]:
    names = [name.split("/")[-1].removeprefix("outer_") for name in message.name]
    if all(joint in names for joint in joints):
        return [float(message.position[names.index(joint)]) for joint in joints]
    if len(message.position) < len(joints) or any(joint in names for joint in joints):
        raise TrocarError(f"a joint state has {', '.join(names) or 'no names'} instead of {', '.join(joints)}")
    return [float(value) for value in message.position[: len(joints)]]


def _pose(message: Any) -> list[float]:
    if hasattr(message, "transform"):
        p, o = message.transform.translation, message.transform.rotation
    else:
        p, o = message.pose.position, message.pose.orientation
    return [p.x, p.y, p.z, o.x, o.y, o.z, o.w]
