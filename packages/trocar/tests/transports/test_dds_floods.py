"""Malformed and flooding DDS: a served robot in a separate process stays alive, quiet and of the same size."""

import contextlib
import os
import socket
import struct
import time

import numpy as np
import pytest

pytest.importorskip("cyclonedds")

from cyclonedds.core import DDSException

from tests.support.repository import SUPPORT
from tests.support.ros_samples import damaged, random_message
from tests.support.waiting import TIMEOUT
from tools.soak.process_memory import process_tree, usage
from tools.soak.served_ros2 import served
from trocar.robot import messages as m
from trocar.robot.interface import Direction
from trocar.transports.codec import codec
from trocar.transports.ros2.client import Ros2Client
from trocar.transports.ros2.domain import FIRST_PORT, PORTS
from trocar.transports.ros2.participant import Participant, sample_class, topic_qos

pytestmark = pytest.mark.xdist_group("dds")
SCENE = SUPPORT / "run_scripts" / "psm1.toml"
DOMAIN = 81 + os.getpid() % 18  # of no other test: a domain joined before announces itself to fewer ports
DISCOVERY_PORT = FIRST_PORT + PORTS * DOMAIN + 10  # of the first participant; every other port belongs to the next one
JOINTS, HEADER = "sensor_msgs/JointState", b"RTPS\x02\x05\x01\x10"  # protocol 2.5, cyclonedds
MAX_GROWTH = 60.0  # [MB]; one flood of the tests would be hundreds if its packets were kept
PACKETS = 5000


@pytest.fixture(scope="module")
def announcement():
    """The packet with which a participant announces itself, as seen at an unused port of the domain."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", DISCOVERY_PORT + 2 * 25))
        listener.settimeout(TIMEOUT)
        with Participant(DOMAIN):
            packet = listener.recv(65536)
    assert packet.startswith(b"RTPS")
    return packet


@pytest.fixture(scope="module")
def robot(announcement, tmp_path_factory):
    """A served robot with a client, and the output of the command."""
    log = tmp_path_factory.mktemp("served") / "log"
    with served(SCENE, DOMAIN, log) as server, Ros2Client(DOMAIN) as client:
        yield server, client, log
    assert server.returncode == 0


@pytest.fixture(autouse=True)
def unharmed(robot):
    """After every attack the same processes answer, send states, have hardly grown and have printed nothing."""
    server, client, log = robot
    processes = process_tree(server.pid)
    client.call("PSM1/crtk_version")
    before = usage(processes)
    yield
    begin = time.time_ns()
    assert client.call("PSM1/crtk_version") == "1.1.0"
    assert client.wait_for(lambda: client.read("PSM1/measured_js").stamp >= begin, TIMEOUT), "no new joint states"
    assert process_tree(server.pid) == processes
    after = usage(processes)
    assert after.memory < before.memory + MAX_GROWTH
    assert after.files <= before.files + 2
    assert after.threads <= before.threads + 2
    assert len(log.read_text().splitlines()) == 1  # its address


def send(packets):
    """Send packets to the ports of the first two participants, no faster than their buffers are emptied."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for count, packet in enumerate(packets):
            for port in (DISCOVERY_PORT, DISCOVERY_PORT + 1, DISCOVERY_PORT + 2, DISCOVERY_PORT + 3):
                sender.sendto(packet, ("127.0.0.1", port))
            if count % 100 == 0:
                time.sleep(0.005)


def test_a_flood_of_malformed_packets_is_survived_in_silence():
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 0x20, PACKETS, dtype=np.uint8)
    send(HEADER + rng.bytes(12) + bytes([kind, rng.integers(4)]) + rng.bytes(rng.integers(0, 200)) for kind in kinds)


def test_damaged_announcements_are_survived(announcement):
    rng = np.random.default_rng(1)
    send(HEADER + damaged(announcement[8:], rng) for _ in range(PACKETS))


def test_a_flood_of_announced_participants_is_survived(announcement):
    rng, prefix = np.random.default_rng(2), announcement[8:20]
    send(announcement.replace(prefix, rng.bytes(12)) for _ in range(1000))


def test_samples_with_invalid_content_are_refused(robot):
    _, client, _ = robot
    rng, ros = np.random.default_rng(3), codec(2)
    commands = {name: topic for name, topic in client.topics.items() if topic.direction is Direction.command}
    names = sorted(name for name in commands if name.startswith("PSM1/") and "emulate" not in name)
    topics = [commands[names[k]] for k in rng.permutation(len(names))[:8]]
    with Participant(DOMAIN) as participant:
        for topic in topics:
            writer = participant.topic_writer(topic)
            for _ in range(20):
                sample = damaged(ros.bytes_of(random_message(topic.ros, rng, ros), topic.ros), rng)
                with contextlib.suppress(DDSException):  # cyclonedds itself refuses to send it
                    writer.write(sample_class(topic.ros)(sample))
    home_again(client)  # damage leaves some commands valid, and a few of them end in a fault of the arm


def home_again(client):
    """Set ratios of trajectories and operating state as before."""

    def homed():
        state = client.read("PSM1/operating_state")  # None until the first sample has come
        return state is not None and state.is_homed

    deadline = time.monotonic() + TIMEOUT
    while not homed():  # damaged commands may arrive after the first attempt
        assert time.monotonic() < deadline, "the arm does not home"
        for ratio in ("set_ratio_v", "set_ratio_a"):
            client.publish(f"PSM1/trajectory_j/{ratio}", m.Float(value=1.0))
        client.publish("PSM1/state_command", m.String(value="home"))
        client.wait_for(homed, TIMEOUT)


def test_a_stamp_that_no_message_can_have_is_refused_with_a_warning(robot):
    _, client, _ = robot
    warnings = []
    heard = client.subscribe("PSM1/warning", lambda message: warnings.append(message.value))
    with Participant(DOMAIN) as participant:
        writer = participant.writer("rt/PSM1/servo_jp", JOINTS, topic_qos(JOINTS, Direction.command))
        deadline = time.monotonic() + TIMEOUT
        while not any("nanoseconds" in warning for warning in warnings):
            assert time.monotonic() < deadline, warnings
            sample = bytearray(codec(2).encode(m.JointState(position=np.zeros(6)), JOINTS))
            sample[4:12] = struct.pack("<iI", 2**31 - 1, 2**32 - 1)
            writer.write(sample_class(JOINTS)(bytes(sample)))
            time.sleep(0.05)
    heard.close()
