"""`trocar serve ros2` as a process: frames, joints, clock, model and images, read with the decoder of rosbags."""

import io
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image
from transports.test_ros1 import SCENE, rotation_of

from tests.support.waiting import TIMEOUT
from trocar import load_scene
from trocar.appearance.endoscope_camera import BASELINE
from trocar.robot.controller.constants import FREQUENCY
from trocar.robot.interface import Direction
from trocar.simulation.export.links import ROOT
from trocar.spatial import pose
from trocar.transports.camera import CameraSettings
from trocar.transports.scene_topics import CLOCK_TOPIC, DESCRIPTION, JOINT_STATES, TF, TF_STATIC

pytest.importorskip("cyclonedds")

from tests.support.repository import TROCAR
from trocar.transports.codec import bag_name, codec
from trocar.transports.ros2.client import Ros2Client
from trocar.transports.ros2.participant import Participant, taken, topic_qos

pytestmark = pytest.mark.xdist_group("dds")
DOMAIN = 1 + (os.getpid() + 1) % 80  # other test runs on this machine have others
JOINTS = "sensor_msgs/JointState"
TOPICS = {
    topic.name: topic for topic in (TF, TF_STATIC, JOINT_STATES, CLOCK_TOPIC, DESCRIPTION, *CameraSettings("").topics)
}


@pytest.fixture(scope="module")
def heard(tmp_path_factory):
    """Messages by topic that a client gets from a robot at half its speed, and the end of the command."""
    folder, source = tmp_path_factory.mktemp("cache"), str(TROCAR.parent)
    command = [sys.executable, "-m", "trocar", "serve", "ros2", str(SCENE), "--domain", str(DOMAIN)]
    process = subprocess.Popen(
        [*command, "--speed", "0.5", "--images", "5"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "XDG_CACHE_HOME": str(folder), "PYTHONPATH": source},
    )
    try:
        assert f"ROS_DOMAIN_ID={DOMAIN} on lo" in process.stdout.readline()
        found = listen() | {"client": waited()}
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=TIMEOUT) == 0
        assert process.stdout.read().splitlines()[-1] == "stopped"
        return found
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()


def listen():
    """At least two messages of every state, and one of every event."""
    kinds = {name: (topic.ros, topic.direction) for name, topic in TOPICS.items()}
    kinds["PSM1/measured_js"] = JOINTS, Direction.state
    store, found = codec(2).store, defaultdict(list)
    with Participant(DOMAIN) as participant:
        readers = {
            name: participant.reader(f"rt/{name}", ros, topic_qos(ros, end)) for name, (ros, end) in kinds.items()
        }
        deadline = time.monotonic() + TIMEOUT
        while missing := [name for name, (_, end) in kinds.items() if len(found[name]) < 1 + (end is Direction.state)]:
            assert time.monotonic() < deadline, missing
            for name, reader in readers.items():
                kind = bag_name(kinds[name][0])
                found[name] += [store.deserialize_cdr(sample.cdr, kind) for sample in taken(reader)]
            time.sleep(0.005)
    return found


def waited():
    """Time that a client waits for 0.4 s, by its clock and by this machine's, and its clock less this machine's [s]."""
    with Ros2Client(DOMAIN) as client:
        start, begin = client.now, time.monotonic()
        assert not client.wait_for(lambda: False, 0.4)
        return 1e-9 * (client.now - start), time.monotonic() - begin, 1e-9 * (client.now - time.time_ns())


def stamp(part):
    return part.sec * 10**9 + part.nanosec


def test_the_tree_of_frames_leads_from_the_root_link_to_the_tips_and_cameras(heard):
    frames = {one.child_frame_id: one for name in ("tf", "tf_static") for one in heard[name][0].transforms}
    scene = load_scene(SCENE)
    for arm in ("ECM", "MTMR"):
        T, at = np.eye(4), arm
        while at != ROOT:
            p, q = frames[at].transform.translation, frames[at].transform.rotation
            T = pose(rotation_of((q.w, q.x, q.y, q.z)), (p.x, p.y, p.z)) @ T
            at = frames[at].header.frame_id
        np.testing.assert_allclose(T, scene.T_world_tip(arm), atol=5e-3)
    assert frames["PSM1"].header.frame_id == "ECM"
    cameras = {one.child_frame_id for one in heard["tf_static"][0].transforms}
    assert cameras == {"ECM_left_optical", "ECM_right_optical"}
    assert not cameras & {one.child_frame_id for one in heard["tf"][0].transforms}
    left, right = (frames[name].transform.translation.x for name in sorted(cameras))
    assert left - right == pytest.approx(BASELINE)


def test_joint_states_are_the_independent_joints_of_the_description_and_its_meshes_exist(heard):
    robot = ElementTree.fromstring(heard["robot_description"][0].data)
    joints = [joint for joint in robot.findall("joint") if joint.get("type") != "fixed" and joint.find("mimic") is None]
    found = heard["joint_states"][0]
    assert set(found.name) == {joint.get("name") for joint in joints}
    assert len(found.position) == len(found.name)
    meshes = [mesh.get("filename") for mesh in robot.iter("mesh")]
    assert meshes
    assert all(Path(file.removeprefix("file://")).is_file() for file in meshes)


def test_stamps_are_by_the_clock_of_the_robot(heard):
    clock = [stamp(message.clock) for message in heard["clock"]]
    assert sorted(set(clock)) == clock
    for message in (heard["PSM1/measured_js"][0], heard["joint_states"][0], heard["tf"][0].transforms[0]):
        cycles = (stamp(message.header.stamp) - clock[0]) * 1e-9 * FREQUENCY
        assert cycles == pytest.approx(round(cycles), abs=1e-3)


def test_a_client_goes_by_the_clock_of_the_robot(heard):
    simulated, real, ahead = heard["client"]
    assert simulated >= 0.4
    assert real > 0.6  # 0.8 s, less a delay of at most 0.1 s that the robot catches up
    assert ahead < -0.5  # the robot has been running at half speed


def test_stereo_images_come_raw_and_compressed_with_the_parameters_of_their_cameras(heard):
    for eye, aside in (("left", 0.0), ("right", BASELINE)):
        raw, packed, info = (
            heard[f"stereo/{eye}/{n}"][0] for n in ("image_raw", "image_raw/compressed", "camera_info")
        )
        assert (raw.width, raw.height, raw.encoding, raw.step) == (640, 480, "rgb8", 3 * 640)
        assert raw.header.frame_id == info.header.frame_id == f"ECM_{eye}_optical"
        pixels = np.reshape(raw.data, (480, 640, 3))
        assert len(np.unique(pixels)) > 10
        with Image.open(io.BytesIO(packed.data.tobytes())) as picture:
            assert (picture.format, picture.size) == ("JPEG", (640, 480))
        assert info.p[3] == pytest.approx(-info.k[0] * aside)
