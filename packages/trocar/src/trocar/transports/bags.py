"""Bags of a simulated robot: its measured states and the commands it gets, written to a file and played back.

    with Robot("dvrk", start="ready") as robot, BagRecorder(robot, "run.bag"):
        ...
    replay(robot, "run.bag")

A bag is a ROS 1 bag (.bag), or a ROS 2 bag, which is a folder (.mcap, .db3). The package rosbags writes them: no
installation of ROS is needed.
"""

from __future__ import annotations

import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from trocar.closing import Closable
from trocar.errors import TrocarError, check_known
from trocar.files import check_writable, scratch_folder
from trocar.recording.bag_file import SUFFIXES
from trocar.robot.interface import Direction, Topic
from trocar.robot.messages import JointState, Message, Pose
from trocar.robot.robot import Robot
from trocar.spatial import Array
from trocar.transports.codec import bag_name, check_rosbags, codec
from trocar.transports.ros_conversion import from_ros
from trocar.transports.rosbag import Bag

STATES = ("measured_js", "setpoint_js", "measured_cp")  # last parts of the states that are recorded
COMMANDS = ("servo_", "move_")  # prefixes of command topics
VERSION: Literal[9] = 9  # of the format of ROS 2 bags: Jazzy's, which Humble reads too


class BagRecorder(Closable):
    """Writes topics of a robot to a bag, until `close`.

    States come at 100 Hz. Without chosen topics, those of `measured_js` are means over the control cycles since the
    last one, stamped with the mean time: a script that sends set-points at 200 Hz makes efforts ripple, and single
    samples would show the ripple as a friction that is not there. Messages are recorded by the robot's clock
    when they are seen, as rosbag does. The bag appears under its name when it is complete.

    Args:
        path: ends in .bag, .mcap or .db3. A .bag that is there is replaced; a folder that is there is an error.
        topics: their names. Default: `measured_js`, `setpoint_js`, `measured_cp` and the motion commands of all arms.

    Attributes:
        count: messages written so far. error: why recording ended, if it did.
    """

    def __init__(self, robot: Robot, path: str | os.PathLike[str], topics: Iterable[str] | None = None) -> None:
        self.path = Path(path)
        known = robot.bus.topics
        names = [name for name in known if _is_recorded(known[name])] if topics is None else list(topics)
        check_known("topic", known, *names)
        check_known("format of a bag", SUFFIXES, self.path.suffix)
        if self.path.suffix == ".bag":
            check_writable(self.path)
        elif self.path.exists():
            raise TrocarError(f"the bag {self.path} exists already: choose another name")
        check_rosbags("writing bags")
        self.path.resolve().parent.mkdir(parents=True, exist_ok=True)
        self._scratch = ExitStack()
        self._folder = self._scratch.enter_context(scratch_folder(".bag-", self.path.resolve().parent))
        self._queue: queue.SimpleQueue[tuple[Topic, int, Message] | None] = queue.SimpleQueue()
        self.count, self.error = 0, ""
        self._robot = robot
        self._thread = threading.Thread(target=self._write, name="trocar-bag", daemon=True)
        self._thread.start()
        whole = [] if topics is not None else names  # chosen topics are samples, as in other recordings of the same run
        arms = {name.partition("/")[0] for name in whole if name.endswith("measured_js")} & {*robot.arms}
        self._means = {arm: _Means(robot.readings(arm)) for arm in sorted(arms)}
        for mean in self._means.values():
            robot.after_cycle.append(mean.add)
        self._subscriptions = [robot.bus.subscribe(name, partial(self._take, known[name])) for name in names]

    def close(self) -> Path:
        """Finish the bag and return its path."""
        for subscription in self._subscriptions:
            subscription.close()
        for mean in self._means.values():
            self._robot.after_cycle.remove(mean.add)
        self._queue.put(None)
        self._thread.join()
        with self._scratch:
            if self.error:
                raise TrocarError(f"the bag {self.path} could not be written: {self.error}")
            os.replace(self._folder / self.path.name, self.path)
        return self.path

    def _take(self, topic: Topic, message: Message) -> None:
        mean = self._means.get(topic.name.partition("/")[0])
        if (
            mean is not None
            and isinstance(message, JointState)
            and topic.name.endswith("measured_js")
            and message.valid
        ):
            message = mean.of(topic.name, message)
        self._queue.put((topic, self._robot.now, message))

    def _write(self) -> None:
        messages = iter(self._queue.get, None)  # ends once: an error while the bag is finished finds it exhausted
        connections: dict[str, Any] = {}
        try:
            ros = codec(1 if self.path.suffix == ".bag" else 2)
            with _writer(self._folder / self.path.name) as writer:  # SQLite is for the thread that opened it
                for topic, time, message in messages:
                    if topic.name not in connections:
                        types = {"msgtype": bag_name(topic.ros), "typestore": ros.store}
                        connections[topic.name] = writer.add_connection(f"/{topic.name}", **types)
                    writer.write(connections[topic.name], time, ros.encode(message, topic.ros))
                    self.count += 1
        except Exception as error:  # a full disk, for instance
            self.error = str(error) or type(error).__name__
            deque(messages, maxlen=0)  # the robot continues


class _Means:
    """Means of what an arm measures over the control cycles between two messages of a topic.

    readings: `Robot.readings` of the arm. Sums run from the start: the topics of arm and jaw have their own periods.
    """

    def __init__(self, readings: Any) -> None:
        self._readings, self._count = readings, 0
        self._sums = np.zeros((3, readings.arm.n))
        self._before: dict[str, tuple[int, Array, int]] = {}  # count, sums and stamp of the last message, by topic

    def add(self) -> None:
        """Take the values of a cycle."""
        readings, sums = self._readings, self._sums
        sums[0] += readings.joints
        sums[1] += readings.joint_velocities
        sums[2] += readings.applied_efforts
        self._count += 1

    def of(self, topic: str, message: JointState) -> JointState:
        """A message with the means since the last one of its topic, and the mean time; noise is that of the message."""
        count, sums, stamp = self._before.get(topic, (self._count, self._sums, 0))
        self._before[topic] = self._count, self._sums.copy(), message.stamp
        if self._count == count or len(message.position) != len(message.effort):
            return message
        part = slice(-len(message.position), None) if "/jaw/" in topic else slice(len(message.position))
        q, dq, tau = ((self._sums - sums) / (self._count - count))[:, part]
        ripple = tau - self._readings.applied_efforts[part]
        return replace(
            message, stamp=(stamp + message.stamp) // 2, position=q, velocity=dq, effort=message.effort + ripple
        )


def replay(robot: Robot, path: str | os.PathLike[str], namespace: str | None = None) -> int:
    """Send the servo commands of a bag to a robot, spaced as they were recorded; returns their number.

    Every arm first moves to its first commanded position. The robot's clock paces the replay: real time, or as fast as
    the simulation goes.

    Args:
        namespace: arm to replay, such as PSM1. Default: every arm of the bag that the robot has.
    """
    with closing(Bag(os.fspath(path))) as bag:
        sent = [
            (entry.timestamp.to_nsec(), topic, from_ros(entry.message, topic.ros, topic.message))
            for entry in bag.read_messages()
            if (topic := _servo_topic(robot, entry.topic.strip("/"), namespace)) is not None
            and entry.message._type == topic.ros
        ]
    if not sent:
        of = f" of {namespace}" if namespace else ""
        raise TrocarError(f"{path}: no servo command{of} that this robot takes; it has {', '.join(robot.arms)}")
    first_messages = {topic.name: message for _, topic, message in reversed(sent)}
    for name in dict.fromkeys(topic.name for _, topic, _ in sent):
        _move_to(robot, name, first_messages[name])
    start, first = robot.now, sent[0][0]
    for time, topic, message in sent:
        wait = start + time - first - robot.now
        if wait > 0:
            robot.sleep(1e-9 * wait)
        robot.bus.publish(topic.name, message)
    return len(sent)


@contextmanager
def bags_of(robot: Robot, record: Path | None, played: Path | None, say: Callable[[str], object]) -> Iterator[None]:
    """Record a robot, and replay a bag to it in a separate thread, while the context lasts. say: prints a line."""

    def play(path: Path) -> None:
        try:
            say(f"replayed {replay(robot, path)} commands of {path}")
        except TrocarError as error:
            say(f"replay: {error}")

    recorder = BagRecorder(robot, record) if record is not None else None
    if played is not None:
        threading.Thread(target=play, args=(played,), name="trocar-replay", daemon=True).start()
    try:
        yield
    finally:
        if recorder is not None:
            say(f"{recorder.close()}: {recorder.count} messages")


def _is_recorded(topic: Topic) -> bool:
    last = topic.name.rpartition("/")[2]
    return last.startswith(COMMANDS) if topic.direction is Direction.command else last in STATES


def _servo_topic(robot: Robot, name: str, namespace: str | None) -> Topic | None:
    """A servo topic of an arm of the robot; None for all others."""
    arm, topic = name.partition("/")[0], robot.bus.topics.get(name)
    replayed = arm in robot.arms and namespace in (None, arm, f"/{arm}") and "/servo_" in name
    return topic if replayed and topic is not None and topic.direction is Direction.command else None


def _move_to(robot: Robot, name: str, message: Message) -> None:
    """Move an arm to where its servo commands begin; efforts and velocities begin anywhere."""
    arm: Any = robot.arm(name.partition("/")[0])
    mover = arm.jaw if name.endswith("/jaw/servo_jp") else arm
    reached = True
    if isinstance(message, JointState) and name.endswith("/servo_jp"):
        reached = mover.move_jp(message.position).wait()
    elif isinstance(message, Pose) and name.endswith("/servo_cp"):
        reached = mover.move_cp(message.T).wait()
    if not reached:
        raise TrocarError(f"{name}: the arm did not reach its first commanded position; is it enabled and homed?")


def _writer(path: Path) -> Any:
    from rosbags import rosbag1, rosbag2

    if path.suffix == ".bag":
        return rosbag1.Writer(path)
    plugin = rosbag2.StoragePlugin.MCAP if path.suffix == ".mcap" else rosbag2.StoragePlugin.SQLITE3
    return rosbag2.Writer(path, version=VERSION, storage_plugin=plugin)
