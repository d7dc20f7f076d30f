"""Recordings from ROS 1 and ROS 2 bags that hold the dVRK's joint states (sensor_msgs/JointState).

A force sensor beside the robot (geometry_msgs/WrenchStamped) can be read as a channel of the same recording.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from trocar.arms import Arm, load_arm
from trocar.errors import TrocarError, check_known
from trocar.files import scratch_folder
from trocar.recording.joint_states import JointStates, Row, recording_of
from trocar.recording.recording import Recording

SUFFIXES = (".bag", ".db3", ".mcap")
# Topics of an arm and of its jaw: CRTK's names, and those of the dVRK before it (until version 1.7).
TOPICS = {"measured_js": "jaw/measured_js", "state_joint_current": "state_jaw_current"}
WRENCH = "geometry_msgs/msg/WrenchStamped"
SENSOR = "sensor_force"  # channel of a force sensor, (N, 3) [N] in the axes of the sensor
# Last parts of topics that the dVRK computes from its motors, now and before CRTK; they are no sensors.
COMPUTED = ("measured_cf", "setpoint_cf", "servo_cf", "wrench_body_current", "set_wrench_body", "set_wrench_spatial")
SET_UP = "/SUJ/"  # namespace of set-up joints
MEMORY = 2**30  # memory limit of `read_bag_apart`, in addition to that of the program itself [bytes]
TIMEOUT = 60.0  # of `read_bag_apart` [s]
REFUSED = 3  # exit status
TOO_LARGE = "the bag is damaged, or needs more memory than allowed; use a shorter bag"


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
        raise TrocarError(f"{path}: {TOO_LARGE}") from None
    except Exception as error:  # the parser may raise any exception on damaged input
        raise TrocarError(f"{path}: not a readable bag: {error}") from None
    return bag


def read_bag(path: Path, arm: Arm, namespace: str | None = None, sensor: str | None = None) -> Recording:
    """The joint states of one arm. Joints are matched by name, or by position if the bag names none of them.

    Args:
        namespace: namespace of the arm, such as PSM1; required if the bag holds several arms of this kind.
        sensor: topic of a force sensor; its force becomes the channel `sensor_force` (N, 3) [N], interpolated to the
            rows. Rows before its first and after its last message are dropped.
    """
    with closing(opened_bag(path)) as reader:
        names = {c.topic.strip("/") for c in reader.connections}
        jaws = {name for name in names if any(f"/{name}".endswith(f"/{jaw}") for jaw in TOPICS.values())}
        # namespace -> topic; CRTK's name if a bag has both
        arms = {
            name.rpartition("/")[0]: topic
            for topic in reversed(TOPICS)
            for name in names - jaws
            if name.rpartition("/")[2] == topic
        }
        if not arms:
            known = " or ".join(TOPICS)
            raise TrocarError(f"{path}: no topic ends in {known}; topics: {', '.join(sorted(reader.topics))}")
        possible = candidates(set(arms), arm)
        if namespace is None and len(possible) > 1:
            raise TrocarError(f"{path}: several arms ({', '.join(possible)}); choose one by its namespace")
        chosen = possible[0] if namespace is None else namespace.strip("/")
        check_known("namespace of an arm in the bag", sorted(arms), chosen)
        topic, jaw = (f"{chosen}/{name}".strip("/") for name in (arms[chosen], TOPICS[arms[chosen]]))
        try:
            rows = _rows(reader, arm, topic, jaw)
            forces = [] if sensor is None else _forces(reader, sensor)
        except MemoryError:
            raise TrocarError(f"{path}: {TOO_LARGE}") from None
        except Exception as error:  # the parser again: messages are read only now
            raise TrocarError(f"{path}: {error}") from None
    if not rows:
        raise TrocarError(f"{path}: the topic {topic} has no messages")
    recording = recording_of(rows, arm, {"file": path.name, "arm": arm.name, "topic": topic})
    return recording if sensor is None else _with_sensor(recording, path, sensor, rows[0].stamp, forces)


def sensor_topics(path: Path) -> list[str]:
    """Topics of force sensors in a bag, without those that the dVRK computes from its motors."""
    with closing(opened_bag(path)) as reader:
        names = {c.topic.strip("/") for c in reader.connections if c.msgtype == WRENCH}
    return sorted(name for name in names if name.rpartition("/")[2] not in COMPUTED)


def candidates(namespaces: set[str], arm: Arm) -> list[str]:
    """Namespaces that may be those of an arm: not a gripper or set-up joints, and of its name if some are."""
    own = sorted(name for name in namespaces if not any(name.startswith(f"{other}/") for other in namespaces))
    own = [name for name in own if not f"/{name}".startswith(SET_UP)] or own
    kind = arm.name.partition("_")[0]
    return [name for name in own if name.rpartition("/")[2].rstrip("0123456789") == kind] or own


def _rows(reader: Any, arm: Arm, topic: str, jaw: str) -> list[Row]:
    connections = [c for c in reader.connections if c.topic.strip("/") in (topic, jaw)]
    has_jaw = any(c.topic.strip("/") == jaw and c.msgcount for c in connections)
    states, rows = JointStates(arm, has_jaw), []
    for connection, recorded, raw in reader.messages(connections=connections):
        message = reader.deserialize(raw, connection.msgtype)
        stamp, values = _stamp(message, recorded), (message.position, message.velocity, message.effort)
        if connection.topic.strip("/") == jaw:
            rows += states.add_jaw(stamp, *values)
        else:
            rows += states.add(stamp, message.name, *values)
    return rows + states.rest()


def _forces(reader: Any, topic: str) -> list[tuple[int, float, float, float]]:
    """Stamp [ns] and force [N] of every message of a sensor that is newer than the previous one."""
    connections = [c for c in reader.connections if c.topic.strip("/") == topic.strip("/") and c.msgtype == WRENCH]
    if not connections:
        raise TrocarError(f"no topic {topic} of type geometry_msgs/WrenchStamped")
    forces: list[tuple[int, float, float, float]] = []
    for connection, recorded, raw in reader.messages(connections=connections):
        message = reader.deserialize(raw, connection.msgtype)
        stamp, force = _stamp(message, recorded), message.wrench.force
        if not forces or stamp > forces[-1][0]:
            forces.append((stamp, force.x, force.y, force.z))
    return forces


def _stamp(message: Any, recorded: int) -> int:
    """Time of a message [ns]: that of its header, or that at which it was recorded if the header has none."""
    sent = int(message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec)
    return sent if sent > 0 else recorded


def _with_sensor(
    recording: Recording, path: Path, topic: str, start: int, forces: Iterable[tuple[int, float, float, float]]
) -> Recording:
    """The rows that a sensor covers, with its force. start: stamp of the recording's first row [ns]."""
    stamps, *columns = np.array(list(forces), dtype=object).reshape(-1, 4).T
    t, force = 1e-9 * (stamps - start).astype(float), np.array(columns, dtype=float)
    if len(t) < 2 or not ((recording.t >= t[0]) & (recording.t <= t[-1])).any():
        raise TrocarError(
            f"{path}: {topic} has no forces during the motion; are the clocks of robot and sensor the same?"
        )
    if not np.isfinite(force).all():
        raise TrocarError(f"{path}: {topic} contains a force that is not finite")
    covered = recording.between(float(t[0]), float(t[-1]))
    channel = np.column_stack([np.interp(covered.t, t, column) for column in force])
    return replace(covered, extra={SENSOR: channel}, extra_units={SENSOR: "N"})


def read_bag_apart(path: Path, arm: str) -> Recording:
    """The recording of one arm in an untrusted bag, such as an upload, read in a process with limited memory and time.

    A small compressed bag can unpack to more than the machine's memory, and the bag parser has no limits.
    """
    with scratch_folder("trocar-bag-") as folder:
        output = folder / "recording.npz"
        program = "import sys; from trocar.recording.bag_file import main; sys.exit(main(*sys.argv[1:]))"
        command = [sys.executable, "-c", program, str(path), arm, str(output), str(MEMORY)]
        source = os.fspath(Path(__file__).parents[2])  # this package, wherever it was imported from
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])}
        try:
            ran = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, env=environment)
        except subprocess.TimeoutExpired:
            raise TrocarError(f"{path}: reading the bag takes more than {TIMEOUT:.0f} s; use a shorter bag") from None
        if ran.returncode == 0:
            return Recording.load(output)
        reason = ran.stdout.strip() if ran.returncode == REFUSED else ""
        raise TrocarError(reason or f"{path}: reading the bag failed; it may use {MEMORY >> 20} MiB of memory")


def main(path: str, arm: str, output: str, memory: str) -> int:
    """Main function of the process of `read_bag_apart`: writes the recording and returns the exit status."""
    try:
        import resource

        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except (ModuleNotFoundError, OSError):
        print(
            f"{path}: this system cannot limit the memory of a reader; open the bag by its path instead of uploading it"
        )
        return REFUSED
    resource.setrlimit(resource.RLIMIT_AS, (used + int(memory), used + int(memory)))
    try:
        read_bag(Path(path), load_arm(arm)).save(output)
    except TrocarError as error:
        print(error)
        return REFUSED
    return 0
