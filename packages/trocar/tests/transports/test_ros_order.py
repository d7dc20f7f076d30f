"""Order in which the nodes of ROS 1 and ROS 2 offer their endpoints: services, topics, operating states."""

from __future__ import annotations

import multiprocessing
import sys
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

from trocar.robot import Robot
from trocar.transports.topic_bridge import TopicBridge


@pytest.fixture
def bridge():
    return TopicBridge(Robot("psm", speed="stepped"), 1)


def order_of(bridge):
    """Expected names: services, then topics, then operating states."""
    names = [topic.name for topic in bridge.topics]
    states = [name for name in names if name.endswith("operating_state")]
    assert states
    return [service.name for service in bridge.services], [name for name in names if name not in states], states


def check_order(created, bridge):
    services, topics, states = order_of(bridge)
    assert sorted(created[: len(services)]) == sorted(services)
    assert sorted(created[len(services) : len(services) + len(topics)]) == sorted(topics)
    assert sorted(created[-len(states) :]) == sorted(states)
    assert len(created) == len(services) + len(topics) + len(states)


def test_a_ros1_node_offers_operating_states_last(bridge, monkeypatch):
    node = pytest.importorskip("trocar.transports.ros1.node")
    created = []

    def record(name, *_arguments, **_options):
        created.append(name.removeprefix("/"))
        return MagicMock()

    rospy = SimpleNamespace(
        init_node=lambda *_, **__: None,
        set_param=lambda *_: None,
        on_shutdown=lambda _: None,
        is_shutdown=lambda: True,
        Publisher=record,
        Subscriber=record,
        Service=record,
    )
    monkeypatch.setitem(sys.modules, "rospy", rospy)
    monkeypatch.setenv("ROS_MASTER_URI", "http://127.0.0.1:1")
    for name in ("use_master", "check_name", "generate_packages", "wire_class", "service_class", "Decoder"):
        monkeypatch.setattr(node, name, MagicMock())
    monkeypatch.setattr(node.threading, "Thread", MagicMock())
    pipe, other = multiprocessing.Pipe()
    with pipe, other:
        node.Ros1Node(
            pipe,
            False,
            topics=bridge.topics,
            services=bridge.services,
            images=None,
            address="127.0.0.1",
            master="",
            parameters={},
        )
    check_order(created, bridge)


def test_a_ros2_node_offers_operating_states_last(bridge, monkeypatch):
    pytest.importorskip("cyclonedds")
    from trocar.transports.ros2 import node

    created = []

    def record(name):
        created.append(name)
        return MagicMock(), MagicMock()

    participant = MagicMock()
    participant.topic_writer.side_effect = participant.topic_reader.side_effect = lambda topic: record(topic.name)[0]
    participant.service_end.side_effect = lambda name, *_: record(name)
    monkeypatch.setattr(node, "Participant", lambda *_: participant)
    for name in ("check_alone", "announce", "sample_class", "Decoder"):
        monkeypatch.setattr(node, name, MagicMock())
    pipe, other = multiprocessing.Pipe()
    with pipe, other:
        node.Ros2Node(
            pipe,
            False,
            topics=bridge.topics,
            services=bridge.services,
            images=None,
            domain=0,
            interface="lo",
            distro="jazzy",
            hold_when_lost=False,
        )
    check_order(created, bridge)
