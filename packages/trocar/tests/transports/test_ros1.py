"""The dVRK's interface in ROS 1 with Debian's rospy: one master, one served robot, separate client nodes."""

import base64
import dataclasses
import hashlib
import io
import json
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from multiprocessing import Pipe
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from tests.support.repository import SUPPORT, TROCAR
from tests.support.ros1_endpoints import DEVICES, SUJ
from tests.support.waiting import until
from trocar.appearance.endoscope_camera import BASELINE
from trocar.cli import app
from trocar.errors import TrocarError
from trocar.robot import Robot
from trocar.robot import messages as m
from trocar.robot.interface import INTERFACES, PEDALS, Direction
from trocar.spatial import pose, quaternion
from trocar.transports import camera
from trocar.transports.camera import CameraSettings
from trocar.transports.ros1.bridge import Ros1Bridge
from trocar.transports.ros1.client import Ros1Client
from trocar.transports.ros1.debian import DEBIAN, missing
from trocar.transports.scene_topics import write_description

pytestmark = pytest.mark.xdist_group("ros1")
HERE = SUPPORT
SCENE = HERE / "ros1_scene.toml"
ONE_ARM = HERE / "run_scripts" / "psm1.toml"
needs_ros = pytest.mark.skipif(bool(missing()), reason=missing())

# Checksums of ROS Noetic's own packages, as its message documentation gives them.
KNOWN = {
    "sensor_msgs/JointState": "3066dcd76a6cfaef579bd0f34173e9fd",
    "sensor_msgs/Joy": "5a9ea5f83505693b71e785041e67a8bb",
    "sensor_msgs/Image": "060021388200f6f0f447d0fcd9c64743",
    "sensor_msgs/CompressedImage": "8f7a12909da2c9d3332d540a0977563f",
    "sensor_msgs/CameraInfo": "c9a58c1b0b154e0e6da7578cb991d214",
    "geometry_msgs/PoseStamped": "d3812c3cbc69362b77dc0b19b345f8f5",
    "geometry_msgs/TwistStamped": "98d34b0043a2093cf9d9345ab6eef12e",
    "geometry_msgs/WrenchStamped": "d78d3cb249ce23087ade7e7d0c40cfa7",
    "geometry_msgs/Quaternion": "a779879fadf0160734f906b8c19c7004",
    "geometry_msgs/QuaternionStamped": "e57f1e547e0e1fd13504588ffc8334e2",
    "std_msgs/Float64MultiArray": "4b7d974086d4060e7db4613a7e6c3ba4",
    "std_msgs/Bool": "8b94c1b53db61fb6aed406028ad6332a",
    "std_msgs/Float64": "fdb28210bfa9d7c91146260178d9a584",
    "std_msgs/String": "992ce8a1687cec8c8bd883ec73ca41d1",
    "std_msgs/Empty": "d41d8cd98f00b204e9800998ecf8427e",
    "tf2_msgs/TFMessage": "94810edda583a504dfda3829e70d7eec",
}
# Published definitions: collaborative-robotics/crtk_msgs 5fa848c, a7f6375; jhu-cisst/cisst-ros cf678e1.
PUBLISHED = {
    "crtk_msgs/OperatingState": "Header header\nstring state\nbool is_homed\nbool is_busy",
    "crtk_msgs/StringStamped": "Header header\nstring string",
    "crtk_msgs/CartesianState": "std_msgs/Header header\ngeometry_msgs/Pose pose\nstd_msgs/Bool pose_is_valid\n"
    "geometry_msgs/Twist twist\nstd_msgs/Bool twist_is_valid\n"
    "geometry_msgs/Wrench wrench\nstd_msgs/Bool wrench_is_valid",
    "crtk_msgs/CartesianImpedanceHalfPlaneGains": "geometry_msgs/Vector3 p\ngeometry_msgs/Vector3 d\n"
    "geometry_msgs/Vector3 bias\ngeometry_msgs/Vector3 deadband",
    "crtk_msgs/CartesianImpedance": "Header header\n# vf pos & ori\ngeometry_msgs/Quaternion  force_orientation\n"
    "geometry_msgs/Vector3     force_position\ngeometry_msgs/Quaternion  torque_orientation\n"
    + "".join(
        f"crtk_msgs/CartesianImpedanceHalfPlaneGains {part}_{side}\n"
        for part in ("position", "orientation")
        for side in ("positive", "negative")
    ),
    "cisst_msgs/IntervalStatistics": "std_msgs/Header header\nfloat64 period_avg\nfloat64 period_std_dev\n"
    "float64 period_min\nfloat64 period_max\nfloat64 compute_time_avg\nfloat64 compute_time_std_dev\n"
    "float64 compute_time_min\nfloat64 compute_time_max\nint64 number_of_samples\nint64 number_of_overruns\n"
    "float64 statistics_interval\nint64 user_data",
}
PUBLISHED_SERVICES = {
    "crtk_msgs/QueryForwardKinematics": (
        "float64[] jp\ngeometry_msgs/Pose cp",
        "geometry_msgs/Pose cp\nbool result\nstring message",
    ),
    "crtk_msgs/QueryInverseKinematics": (
        "geometry_msgs/Pose cp\nfloat64[] jp",
        "float64[] jp\nbool result\nstring message",
    ),
    "crtk_msgs/TriggerOperatingState": ("", "crtk_msgs/OperatingState operating_state"),
    "cisst_msgs/ConvertFloat64Array": ("float64[] input", "float64[] output"),
    "std_srvs/Trigger": ("", "bool success\nstring message"),
}
POSE = "e45d45a5a1ce597b249e23fb30fc871f"  # geometry_msgs/Pose


def checksums(definitions):
    """Checksums of messages by rosbags, a second implementation of them."""
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    store = get_typestore(Stores.ROS1_NOETIC)
    types = {}
    for name, text in definitions.items():
        types |= get_types_from_msg(text.replace("\nHeader ", "\nstd_msgs/Header "), name.replace("/", "/msg/"))
    store.register({name: fields for name, fields in types.items() if name not in store.fielddefs})
    return {name: store.generate_msgdef(name.replace("/", "/msg/"), ros_version=1)[1] for name in definitions}


class Served:
    """A robot served in ROS, and clients with Debian's and with generated packages."""

    def __init__(self, robot, bridge, packages):
        self.robot, self.bridge = robot, bridge
        self.environment = {
            **os.environ,
            "ROS_MASTER_URI": bridge.master,
            "ROS_IP": "127.0.0.1",
            "ROS_LOG_DIR": str(packages / "log"),
            "PYTHONPATH": f"{packages}:{DEBIAN}",
        }

    def client(self, name):
        return [sys.executable, HERE / name]

    def run(self, name):
        """The JSON output of a client."""
        ran = subprocess.run(self.client(name), env=self.environment, capture_output=True, text=True, timeout=120)
        assert ran.returncode == 0, ran.stderr[-3000:]
        return json.loads(ran.stdout.splitlines()[-1])


def add_pair(robot, name):
    """Add a teleoperation pair to the bus if the robot has none."""
    if f"{name}/scale" in robot.bus.topics:
        return
    interface = INTERFACES["TELEOP_PSM"]
    commands = {t.name: lambda _: None for t in interface.topics if t.direction is Direction.command}
    robot.bus.add(name, interface, states={"alignment_offset": lambda: m.Rotation(R=np.eye(3))}, commands=commands)
    robot.bus.publish(f"{name}/scale", m.Float(value=0.2))
    robot.devices[name] = "TELEOP_PSM"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    cache = tmp_path_factory.mktemp("cache")
    os.environ["XDG_CACHE_HOME"] = str(cache)
    try:
        with Robot(SCENE, speed="real", start="ready") as robot:
            add_pair(robot, "MTMR_PSM1")
            description = write_description(robot.scene, cache / "meshes")
            images = CameraSettings(str(SCENE), rate=5.0, size=(64, 48))
            with Ros1Bridge(robot, description=description, camera=images, hold_when_lost=True) as bridge:
                (packages,) = (cache / "trocar" / "ros1").iterdir()
                yield Served(robot, bridge, packages)
                assert bridge.error == ""
    finally:
        del os.environ["XDG_CACHE_HOME"]


@pytest.fixture(scope="module")
def seen(served):
    """Observations and actions of one client node on a served robot."""
    found = served.run("ros1_client.py")
    found["interface"] = {f"/{topic.name}": (topic.ros, topic.direction) for topic in served.bridge.topics}
    found["offered"] = {f"/{service.name}": service.ros for service in served.bridge.services}
    return found


@needs_ros
def test_every_topic_and_service_of_the_table_is_there_with_its_type(seen):
    published = {name: ros for name, (ros, direction) in seen["interface"].items() if direction != Direction.command}
    commands = {name: ros for name, (ros, direction) in seen["interface"].items() if direction == Direction.command}
    for device, kind in {
        "PSM1": "PSM",
        "ECM": "ECM",
        "MTMR": "MTM",
        "SUJ/PSM1": "SUJ_ARM",
        "console": "CONSOLE",
    }.items():
        assert {f"/{device}/{topic.name}" for topic in INTERFACES[kind].topics} <= published.keys() | commands.keys()
    assert {f"/{prefix}/{pedal}" for prefix in ("console", "footpedals") for pedal in PEDALS} <= published.keys()
    assert {name: seen["published"][name] for name in published} == published
    assert {name: seen["subscribed"][name] for name in commands} == commands
    assert {name: found[0] for name, found in seen["services"].items() if name in seen["offered"]} == seen["offered"]


@needs_ros
def test_checksums_are_those_of_the_published_definitions(seen):
    generated = {name: text for name, text in PUBLISHED.items() if not name.endswith("HalfPlaneGains")}
    wanted = KNOWN | {name: md5 for name, md5 in checksums(PUBLISHED).items() if name in generated}
    assert {ros: seen["checksums"][ros] for ros in wanted} == wanted
    assert set(seen["checksums"]) <= wanted.keys() | {"rosgraph_msgs/Log"}

    def text(part):  # which ROS hashes: nested types by their checksum
        state = wanted["crtk_msgs/OperatingState"]
        return part.replace("geometry_msgs/Pose ", f"{POSE} ").replace("crtk_msgs/OperatingState ", f"{state} ")

    assert dict(seen["services"].values()) == {
        name: hashlib.md5((text(request) + text(response)).encode()).hexdigest()
        for name, (request, response) in PUBLISHED_SERVICES.items()
    }


@needs_ros
def test_clients_of_all_devices_find_every_peer_and_a_sample_of_every_topic(seen):
    devices = {*DEVICES, *(f"{arm} of suj" for arm in SUJ)}
    assert seen["unconnected"] == {device: [] for device in devices}
    assert seen["silent"] == {device: [] for device in devices}
    assert {device: seen["endpoints"][device] for device in DEVICES} == {
        d: number for d, (_, number) in DEVICES.items()
    }


@needs_ros
def test_a_new_subscriber_gets_the_current_sample_and_then_a_stream(seen):
    assert seen["names"] == ["yaw", "pitch", "insertion", "roll", "wrist_pitch", "wrist_yaw"]
    assert all(0 < a < b for a, b in zip(seen["stamps"], seen["stamps"][1:], strict=False))
    assert len(seen["stamps"]) > 5
    assert seen["first_state"] == ["ENABLED", True, False]
    assert seen["jacobian"] == [6, 6, 36]


@needs_ros
def test_a_move_is_executed_and_busy_until_it_ends(seen):
    assert seen["busy"] == [True, False]
    first, second = seen["state_stamps"]
    assert seen["commanded"] < first < second  # crtk ignores older ones
    np.testing.assert_allclose(seen["reached"], seen["goal"], atol=0.02)
    np.testing.assert_allclose(seen["setpoint_at_idle"], seen["goal"], atol=1e-6)


@needs_ros
def test_services_answer_as_the_robot_does(seen):
    assert seen["forward"] == [True, ""]
    np.testing.assert_allclose(seen["forward_position"], seen["local_position"], atol=1e-3)
    assert seen["inverse"][:2] == [True, ""]
    assert seen["too_many"][0] is False
    assert "too many joints" in seen["too_many"][1]
    assert seen["trigger"] == ["ENABLED", True]
    assert seen["version"] == [True, "1.1.0"]


@needs_ros
def test_invalid_commands_are_refused_with_a_warning_and_change_nothing(seen):
    assert len(seen["warnings"]) == 3, seen["warnings"]
    assert seen["moved_by_invalid"] < 1e-6


# -- scene -------------------------------------------------------------------------------------------------------------


@needs_ros
def test_the_tree_of_frames_leads_from_the_root_link_to_the_simulated_tips(served, seen):
    frames = {child: (parent, values) for child, (parent, *values) in seen["frames"].items()}
    assert frames["PSM1"][0] == "ECM"
    assert frames["ECM"][0] == "Cart"
    assert frames["MTMR"][0] == "HRSV"
    scene = served.robot.scene
    for arm in ("ECM", "MTMR"):  # PSM1 has moved since
        T, at = np.eye(4), arm
        while at != "base_link":
            at, (x, y, z, *wxyz) = frames[at]
            T = pose(rotation_of(wxyz), (x, y, z)) @ T
        np.testing.assert_allclose(T, scene.T_world_tip(arm), atol=2e-3)
    np.testing.assert_allclose(frames["PSM1_base"][1][:3], scene.T_world_base("PSM1")[:3, 3], atol=1e-9)
    left, right = (np.array(frames[f"ECM_{eye}_optical"][1][:3]) for eye in ("left", "right"))
    assert np.linalg.norm(left - right) == pytest.approx(BASELINE)


def rotation_of(wxyz):
    w, *v = wxyz
    cross = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    R = np.eye(3) + 2 * w * cross + 2 * cross @ cross
    assert abs(quaternion(R) @ np.array(wxyz)) == pytest.approx(1.0)
    return R


@needs_ros
def test_joint_states_are_the_independent_joints_of_the_description_and_its_meshes_exist(seen):
    robot = ElementTree.fromstring(seen["description"])
    joints = robot.findall("joint")
    free = {joint.get("name") for joint in joints if joint.get("type") != "fixed" and joint.find("mimic") is None}
    assert set(seen["joints"]) == free
    meshes = [mesh.get("filename") for mesh in robot.iter("mesh")]
    assert meshes
    assert all(Path(file.removeprefix("file://")).is_file() for file in meshes)
    assert not [element.tag for element in robot.iter() if element.tag.startswith("{")]  # no namespaces: no xacro


@needs_ros
def test_stereo_images_come_raw_and_compressed_with_the_parameters_of_their_cameras(seen):
    assert seen["image"] == [64, 48, "rgb8", 3 * 64, 3 * 64 * 48, "ECM_left_optical"]
    assert seen["colours"] > 10
    with Image.open(io.BytesIO(base64.b64decode(seen["jpeg"]))) as picture:
        assert (picture.format, picture.size) == ("JPEG", (64, 48))
    width, height, K, left, right, frame = seen["camera"]
    assert (width, height, frame) == (64, 48, "ECM_left_optical")
    assert K[0] == pytest.approx(32 / np.tan(np.radians(30)))
    assert left[3] == 0.0
    assert right[3] == pytest.approx(-K[0] * BASELINE)


# -- rough clients -----------------------------------------------------------------------------------------------------


@needs_ros
def test_silent_broken_oversized_and_flooding_clients_are_survived(served, seen):
    found = served.run("ros1_rough_client.py")
    for moment in ("beside_silent", "after_connections", "after_spoilt", "after_flood"):
        assert found[moment] == "ENABLED"
    assert found["garbage_closed"]
    assert found["endless_header_closed"]
    assert found["large_request"] == 413
    assert found["moved"] < 1e-6


@needs_ros
def test_an_arm_in_effort_control_holds_when_its_client_is_killed(served, seen):
    arm = served.robot.controllers["PSM1"]
    client = subprocess.Popen(served.client("ros1_lost_client.py"), env=served.environment)
    try:
        until(lambda: arm.mode == "effort", "effort control")
    finally:
        client.kill()
        client.wait()
    until(lambda: arm.mode == "position", "position control")
    assert arm.states.state == "ENABLED"


@needs_ros
def test_topics_without_readers_are_not_sampled(served, seen, monkeypatch):
    reports, counted = served.robot.controllers["ECM"].reports, []
    jacobians = reports.jacobians
    monkeypatch.setattr(reports, "jacobians", lambda: counted.append(time.monotonic()) or jacobians())
    reports.states()["body/jacobian"]()
    assert len(counted) == 1  # a sample is counted
    until(lambda: time.monotonic() - counted[-1] > 0.5, "end of the samples")  # the client has gone


@needs_ros
def test_a_client_closes_states_that_nobody_reads_and_opens_them_again(served, monkeypatch):
    monkeypatch.setattr("trocar.transports.remote_bus.UNUSED", 0.3)
    topic, sampled = "ECM/measured_cv", served.bridge._sampler.read
    with Ros1Client(served.bridge.master) as client:
        heard = []
        subscription = client.subscribe("ECM/measured_js", heard.append)
        first = until(lambda: client.read(topic), "a sample")
        assert topic in sampled
        until(lambda: topic not in sampled, "end of the reader")
        assert "ECM/measured_js" in sampled  # it has a subscriber
        assert until(lambda: client.read(topic), "a new sample").stamp > first.stamp
        subscription.close()


@needs_ros
def test_the_first_command_of_a_topic_is_sent_when_publish_returns(served):
    heard = []
    subscription = served.robot.bus.subscribe("ECM/trajectory_j/set_ratio", heard.append)
    with Ros1Client(served.bridge.master) as client:
        client.publish("ECM/trajectory_j/set_ratio", m.Float(value=0.5))
        assert client._connected == {"ECM/trajectory_j/set_ratio": True}
        until(lambda: heard, "the command")
        unread = dataclasses.replace(client.topics["ECM/hold"], name="nobody/hold")
        client.topics = {**client.topics, "nobody/hold": unread}
        with pytest.raises(TrocarError, match="no node reads nobody/hold"):
            client.publish("nobody/hold", m.Empty())
    subscription.close()


def test_a_camera_that_cannot_render_reports_the_reason(monkeypatch):
    monkeypatch.setattr(camera.os, "nice", lambda *_: None)
    (ours, theirs), (shown, drawn) = Pipe(), Pipe(duplex=False)
    with ours, theirs, shown, drawn:
        camera.run(theirs, drawn, CameraSettings("nowhere"), 1)
        assert "nowhere" in ours.recv().reason


@needs_ros
def test_publisher_sockets_send_without_delay_regardless_of_the_subscriber(served):
    """Runs in a separate process, because it changes rospy."""
    script = (
        f"import sys; sys.path.insert(0, {str(TROCAR.parent)!r})\n"
        "import socket\nfrom trocar.transports.ros1.rospy_internals import limit\nlimit()\n"
        "import rospy.impl.tcpros_pubsub as pubsub\nsock = socket.socket()\n"
        "pubsub._configure_pub_socket(sock, False)\n"
        "print(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))"
    )
    ran = subprocess.run([sys.executable, "-c", script], env=served.environment, capture_output=True, text=True)
    assert ran.stdout.strip() == "1", ran.stderr


# -- command -----------------------------------------------------------------------------------------------------------


@needs_ros
def test_a_missing_master_is_named():
    with (
        Robot(ONE_ARM, speed="stepped", start="ready") as robot,
        pytest.raises(TrocarError, match=r"no ROS master answers at http://127\.0\.0\.1:1"),
    ):
        Ros1Bridge(robot, master="http://127.0.0.1:1")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--rate", "0"], "--rate must be positive and finite, got 0.0"),
        (["--speed", "-1"], "--speed must be positive and finite, got -1.0"),
        (["--images", "nan"], "--images must be positive and finite, got nan"),
        (["--arms", "PSM9"], "'PSM9' is unknown"),
        (["--host", "nowhere"], "--host must be an IP address, got 'nowhere'"),
        (["--images", "5"], "--images requires an ECM"),
    ],
)
def test_wrong_options_give_one_line_and_status_2(options, said):
    ran = CliRunner().invoke(app, ["serve", "ros1", str(ONE_ARM), *options])
    assert ran.exit_code == 2
    (line,) = ran.stderr.splitlines()
    assert line.startswith("error: ")
    assert said in line
