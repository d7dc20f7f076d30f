"""The truth of served controller boards as topics of ROS 2."""

from __future__ import annotations

import os
import threading
import time

import numpy as np
import pytest

pytest.importorskip("cyclonedds")

from tests.support.board_rig import BoardRig
from tests.support.waiting import TIMEOUT
from trocar.robot.interface import Direction, Topic
from trocar.robot.messages import JointState, Pose, Wrench
from trocar.transports.codec import codec
from trocar.transports.fpga.bedside import Bedside
from trocar.transports.fpga.server import BoardServer
from trocar.transports.fpga.truth_topics import NAMES, TYPES, TruthTopics
from trocar.transports.ros2.participant import Participant, taken

pytestmark = pytest.mark.xdist_group("dds")

DOMAIN = 1 + os.getpid() % 80  # differs between test runs on this machine


def test_true_joints_tips_and_contacts_are_published_next_to_the_server():
    rig = BoardRig("MTMR", "PSM1")
    server = BoardServer(rig.controller, Bedside(rig.plant), port=0, bedside_port=0)
    done = threading.Event()
    thread = threading.Thread(target=server.serve, args=(lambda: not done.is_set(),))
    thread.start()
    joints = {name: tuple(joint.name for joint in arm.arm.joints) for name, arm in rig.scene.arms.items()}
    topics = [Topic(f"/truth/PSM1/{NAMES[kind]}", kind, Direction.state, ros) for kind, ros in TYPES.items()]
    topics.append(Topic("/truth/MTMR/measured_js", JointState, Direction.state, TYPES[JointState]))
    received = {}
    try:
        with (
            Participant(DOMAIN) as listener,
            TruthTopics(server.bedside_address, joints, ["PSM1"], DOMAIN, "lo") as truth,
        ):
            readers = {topic.name: (topic, listener.topic_reader(topic)) for topic in topics}
            deadline = time.monotonic() + TIMEOUT
            while len(received) < len(topics):
                assert time.monotonic() < deadline, sorted(received)
                assert truth.publish()
                for name, (topic, reader) in readers.items():
                    for sample in taken(reader):
                        received[name] = codec(2).decode(sample.cdr, topic)
                time.sleep(0.01)
    finally:
        done.set()
        thread.join()
        server.close()
    psm = rig.scene.arms["PSM1"]
    np.testing.assert_allclose(received["/truth/PSM1/measured_js"].position, psm.q, atol=1e-12)
    assert received["/truth/PSM1/measured_js"].name == joints["PSM1"]
    np.testing.assert_allclose(received["/truth/MTMR/measured_js"].position, rig.scene.arms["MTMR"].q, atol=1e-12)
    np.testing.assert_allclose(received["/truth/PSM1/measured_cp"].T, psm.tip_pose(), atol=1e-9)
    np.testing.assert_allclose(received["/truth/PSM1/measured_cf"].vector, psm.contact_wrench(), atol=1e-12)
    assert received["/truth/PSM1/measured_cf"].frame_id == "PSM1_base"
    assert all(isinstance(received[topic.name], (JointState, Pose, Wrench)) for topic in topics)


def test_a_server_that_does_not_answer_publishes_nothing(monkeypatch):
    monkeypatch.setattr("trocar.transports.fpga.truth_topics.TIMEOUT", 0.05)
    with TruthTopics(("127.0.0.1", 9), {"PSM1": ("a",)}, ["PSM1"], DOMAIN, "lo") as truth:
        assert not truth.publish()
