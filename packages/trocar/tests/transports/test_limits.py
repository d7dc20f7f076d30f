"""Limits of queues in ROS 1 and ROS 2 that no ordinary client reaches, without a network."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.crtk_robot import started
from trocar.robot.interface import Direction, Service, Topic
from trocar.robot.messages import JointState, OperatingState, String
from trocar.transports import topic_bridge
from trocar.transports.codec import Decoder, codec


class UnopenedBridge(topic_bridge.TopicBridge):
    """A bridge without its node: nothing takes messages out of its queue."""

    def close(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize("version", [1, 2])
def test_warnings_that_nobody_sends_are_dropped_and_states_are_not(version: int) -> None:
    robot = started("PSM")
    bridge = UnopenedBridge(robot, version)
    for k in range(topic_bridge.MAX_TEXTS + 50):
        bridge._enqueue("PSM/warning", String(value=str(k)))
    assert bridge._outgoing.qsize() == topic_bridge.MAX_TEXTS
    warned: list[str] = []
    robot.bus.subscribe("PSM/warning", lambda message: warned.append(message.value))
    bridge._warn("PSM/servo_jp", "a reason")
    assert warned == []
    bridge._enqueue("PSM/operating_state", OperatingState(state="ENABLED", is_homed=True, is_busy=False))
    assert bridge._outgoing.qsize() == topic_bridge.MAX_TEXTS + 1
    bridge._outgoing.get()
    bridge._outgoing.get()
    bridge._warn("PSM/servo_jp", "a reason")
    assert warned == ["PSM: servo_jp refused: a reason"]


def test_calls_beyond_the_queue_of_a_service_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cyclonedds", reason="pip install 'trocar[ros2]'")
    from trocar.transports.ros2 import node

    waiting: list[tuple[Any, Any]] = []
    pool: Any = SimpleNamespace(submit=lambda function, sample: waiting.append((function, sample)))
    participant: Any = SimpleNamespace(service_end=lambda *_: (None, None))
    server = node.ServiceServer(participant, Service("PSM/operating_state", "std_srvs/Trigger"), 0, print, pool)
    monkeypatch.setattr(node, "taken", lambda _: [SimpleNamespace(cdr=b"no request")] * 100)
    server.handle()
    assert len(waiting) == node.MAX_CALLS == 64
    server.handle()
    assert len(waiting) == node.MAX_CALLS
    function, sample = waiting.pop()
    function(sample)  # a call that is answered, or cannot be, makes room for the next one
    server.handle()
    assert len(waiting) == node.MAX_CALLS


class UnopenedNode:
    """The parts of a ROS 2 node that count commands, with a clock that stands still."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from trocar.transports.ros2 import node

        self.now, self.sent, self.refused = 100.0, Counter[str](), list[str]()
        monkeypatch.setattr(node, "time", SimpleNamespace(monotonic=lambda: self.now))
        self.node: Any = object.__new__(node.Ros2Node)
        link = SimpleNamespace(command=lambda batch: self.sent.update(name for name, _ in batch))
        link.refuse = lambda name, error: self.refused.append(f"{name}: {error}")
        self.node._link, self.node._incoming, self.node._lost = link, [], []
        self.node._counts, self.node._window, self.node._forwarded = Counter(), self.now, 0


def test_commands_beyond_8000_a_second_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cyclonedds", reason="pip install 'trocar[ros2]'")
    rig = UnopenedNode(monkeypatch)

    def handled(count: int) -> float:
        rig.node._incoming += [("PSM/servo_jp", JointState())] * count
        rig.node._handle([])
        return float(rig.node._excess())

    assert handled(799) == 0.0
    assert handled(1) == pytest.approx(0.1)  # no event is handled before the end of the window
    rig.now += 0.1
    assert handled(799) == 0.0
    rig.now += 0.1
    assert handled(799) == 0.0
    assert rig.sent["PSM/servo_jp"] == 799 + 1 + 799 + 799


def test_warnings_about_invalid_samples_are_limited_per_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cyclonedds", reason="pip install 'trocar[ros2]'")
    from trocar.transports.ros2 import node

    rig = UnopenedNode(monkeypatch)
    monkeypatch.setattr(node, "taken", lambda _: [SimpleNamespace(cdr=b"no sample")] * 100)
    for name in ("PSM/move_jp", "ECM/move_jp"):
        topic = Topic(name, JointState, Direction.command, "sensor_msgs/JointState")
        rig.node._take(topic, None, Decoder(topic, codec(2)))
    assert [line.partition(":")[0] for line in rig.refused] == ["PSM/move_jp"] * 2 + ["ECM/move_jp"] * 2
    rig.now += 0.1  # the next window: 20 a second
    assert rig.node._excess() == 0.0
    rig.node._take(topic, None, Decoder(topic, codec(2)))
    assert len(rig.refused) == 6


def test_a_reader_of_commands_keeps_100_of_them() -> None:
    pytest.importorskip("cyclonedds", reason="pip install 'trocar[ros2]'")
    from cyclonedds.qos import Policy

    from trocar.transports.ros2.participant import topic_qos

    assert Policy.History.KeepLast(100) in topic_qos("sensor_msgs/JointState", Direction.command)
