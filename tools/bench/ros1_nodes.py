"""Processes that measure delays over ROS 1: a client that sends at a fixed rate, and an echo."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from trocar.robot.interface import INTERFACES, Direction
from trocar.spatial import Array
from trocar.transports.link import LOOPBACK, receive, send
from trocar.transports.ros1.debian import use_master
from trocar.transports.ros1.rospy_types import wire_class

RATE = 250.0  # commands on every topic [Hz]
LINES = 4  # pairs of topics of the echo
JOINTS = "sensor_msgs/JointState"
SWING, FREQUENCY = 0.01, 0.5  # motion of the first joint about its setpoint [rad, Hz]
CONNECTION_TIMEOUT = 10.0  # of the discovery of all peers [s]


@dataclass(frozen=True)
class Task:
    """Commands to publish for a time [s], and topics to read meanwhile."""

    commands: tuple[str, ...]
    states: tuple[str, ...]
    seconds: float
    positions: tuple[Array, ...]


def node(name: str, master: str) -> tuple[Any, Any]:
    """rospy, as a node of this process, and ROS's own class of joint states."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    use_master(master, LOOPBACK)
    import rospy
    from sensor_msgs.msg import JointState

    rospy.init_node(name, argv=[name], disable_signals=True)
    return rospy, JointState


def echo(pipe: Connection, master: str) -> None:
    """Return every message; on request, report the delays since the last request [ns]."""
    rospy, kind = node("echo", master)
    arrived: list[int] = []

    def back(message: Any, publisher: Any) -> None:
        arrived.append(time.time_ns() - message.header.stamp.to_nsec())
        publisher.publish(message)

    for k in range(LINES):
        publisher = rospy.Publisher(f"/echo_{k}/back", kind, queue_size=100, tcp_nodelay=True)
        rospy.Subscriber(f"/echo_{k}/there", kind, back, publisher, queue_size=100, tcp_nodelay=True)
    send(pipe, None)
    while True:
        receive(pipe)
        count = len(arrived)
        send(pipe, arrived[:count])
        del arrived[:count]


def client(pipe: Connection, master: str) -> None:
    """Execute tasks and return the delays of the received messages [ns]; for an arm, the time to connect [s]."""
    rospy, kind = node("client", master)
    send(pipe, None)
    while True:
        task = receive(pipe)
        send(pipe, _connect(rospy, task) if isinstance(task, str) else _stream(rospy, kind, task))


def _connect(rospy: Any, arm: str) -> float:
    """Time until all topics of a PSM have a peer [s]."""
    topics = [(f"/{arm}/{topic.name}", wire_class(topic.ros), topic.direction) for topic in INTERFACES["PSM"].topics]
    start, ends = time.perf_counter(), []
    for name, kind, direction in topics:
        command = direction is Direction.command
        ends.append(rospy.Publisher(name, kind, queue_size=10) if command else rospy.Subscriber(name, kind))
    _wait_for_peers(ends)
    elapsed = time.perf_counter() - start
    for end in ends:
        end.unregister()
    return elapsed


def _wait_for_peers(ends: list[Any]) -> None:
    deadline = time.perf_counter() + CONNECTION_TIMEOUT
    while not all(end.get_num_connections() for end in ends):
        if time.perf_counter() > deadline:
            raise TimeoutError("no peer")
        time.sleep(0.001)


def _stream(rospy: Any, kind: Any, task: Task) -> list[int]:
    """Publish at the rate for some time; returns the delays of the messages received meanwhile [ns]."""
    arrived: list[int] = []

    def note(message: Any) -> None:
        arrived.append(time.time_ns() - message.header.stamp.to_nsec())

    readers = [rospy.Subscriber(f"/{name}", kind, note, queue_size=100, tcp_nodelay=True) for name in task.states]
    writers = [rospy.Publisher(f"/{name}", kind, queue_size=100, tcp_nodelay=True) for name in task.commands]
    _wait_for_peers(readers + writers)
    time.sleep(0.2)
    del arrived[:]
    messages = [kind(position=position.tolist()) for position in task.positions]
    start = time.time_ns()
    for k in range(round(task.seconds * RATE)):
        due = start + round(k * 1e9 / RATE)
        time.sleep(max(due - time.time_ns(), 0) * 1e-9)
        swing = SWING * np.sin(2.0 * np.pi * FREQUENCY * k / RATE)
        for writer, message, position in zip(writers, messages, task.positions, strict=True):
            message.header.stamp.secs, message.header.stamp.nsecs = divmod(due, 10**9)
            message.position[0] = float(position[0] + swing)
            writer.publish(message)
    time.sleep(0.2)
    for end in (*readers, *writers):
        end.unregister()
    return list(arrived)
