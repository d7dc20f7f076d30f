"""The dVRK's interface in ROS 1, by Debian's rospy: one master, one served robot, one client node."""

import hashlib
import importlib.machinery
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from trocar.cli import app
from trocar.crtk import Robot
from trocar.crtk.interface import INTERFACES, Direction
from trocar.errors import TrocarError
from trocar.ros import Bridge
from trocar.ros.packages import DEBIAN, NEEDED

pytestmark = pytest.mark.xdist_group("ros1")
CLIENT = Path(__file__).parent / "ros1_client.py"
SCENE = Path(__file__).parent / "run_scripts" / "psm1.toml"
needs_ros = pytest.mark.skipif(
    importlib.machinery.PathFinder.find_spec("rospy", [DEBIAN]) is None,
    reason=f"needs Debian's ROS 1: apt-get install {NEEDED}",
)

HEADER = "2176decaecbce78abc3b96ef049fabed"  # std_msgs/Header
# Checksums of ROS Noetic. Of crtk_msgs the texts that ROS hashes: the published fields, nested types by their checksum.
KNOWN = {
    "sensor_msgs/JointState": "3066dcd76a6cfaef579bd0f34173e9fd",
    "sensor_msgs/Joy": "5a9ea5f83505693b71e785041e67a8bb",
    "geometry_msgs/PoseStamped": "d3812c3cbc69362b77dc0b19b345f8f5",
    "std_msgs/String": "992ce8a1687cec8c8bd883ec73ca41d1",
    "crtk_msgs/OperatingState": f"{HEADER} header\nstring state\nbool is_homed\nbool is_busy",
    "crtk_msgs/StringStamped": f"{HEADER} header\nstring string",
}


def checksum(text):
    return hashlib.md5(text.encode()).hexdigest() if "\n" in text else text


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """All that one client node finds on a served PSM and does with it."""
    cache = tmp_path_factory.mktemp("cache")
    os.environ["XDG_CACHE_HOME"] = str(cache)
    try:
        with Robot(SCENE, speed="real", start="ready") as robot, Bridge(robot) as bridge:
            (packages,) = (cache / "trocar" / "ros1").iterdir()
            environment = {
                **os.environ,
                "ROS_MASTER_URI": bridge.master,
                "ROS_IP": "127.0.0.1",
                "ROS_LOG_DIR": str(cache / "log"),
                "PYTHONPATH": f"{packages}:{DEBIAN}",
            }
            ran = subprocess.run([sys.executable, CLIENT], env=environment, capture_output=True, text=True, timeout=120)
            assert ran.returncode == 0, ran.stderr
            found = json.loads(ran.stdout.splitlines()[-1])
            found["interface"] = {f"/{name}": (topic.ros, topic.direction) for name, topic in robot.bus.topics.items()}
            found["offered"] = {f"/{service.name}": service.ros for service in bridge.services}
            assert bridge.error == ""
    finally:
        del os.environ["XDG_CACHE_HOME"]
    return found


@needs_ros
def test_every_topic_and_service_of_the_table_is_there_with_its_type_and_checksum(seen):
    published = {name: ros for name, (ros, direction) in seen["interface"].items() if direction != Direction.command}
    commands = {name: ros for name, (ros, direction) in seen["interface"].items() if direction == Direction.command}
    psm = INTERFACES["PSM"]
    assert {f"/PSM1/{topic.name}" for topic in psm.topics} <= published.keys() | commands.keys()
    assert {name: seen["published"][name] for name in published} == published
    assert {name: seen["subscribed"][name] for name in commands} == commands
    assert {name: found[0] for name, found in seen["services"].items() if name in seen["offered"]} == seen["offered"]
    assert {ros: seen["checksums"][ros] for ros in KNOWN} == {ros: checksum(text) for ros, text in KNOWN.items()}


@needs_ros
def test_a_new_subscriber_gets_the_current_sample_and_then_a_stream(seen):
    assert seen["names"] == ["yaw", "pitch", "insertion", "roll", "wrist_pitch", "wrist_yaw"]
    assert all(0 < a < b for a, b in zip(seen["stamps"], seen["stamps"][1:], strict=False))
    assert len(seen["stamps"]) > 5
    assert seen["first_state"] == ["ENABLED", True, False]
    assert seen["jacobian"] == [6, 6, 36]


@needs_ros
def test_a_move_is_carried_out_and_busy_while_it_lasts(seen):
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


@needs_ros
def test_a_missing_master_is_named():
    with (
        Robot(SCENE, speed="stepped", start="ready") as robot,
        pytest.raises(TrocarError, match=r"no ROS master answers at http://127\.0\.0\.1:1"),
    ):
        Bridge(robot, master="http://127.0.0.1:1")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "choose an interface: --ros1"),
        (["--ros1", "--rate", "0"], "--rate must be positive and finite, got 0.0"),
        (["--ros1", "--arms", "PSM9"], "'PSM9' is unknown"),
        (["--ros1", "--host", "nowhere"], "--host is an IP address, got 'nowhere'"),
    ],
)
def test_wrong_options_are_one_line_and_status_2(options, said):
    ran = CliRunner().invoke(app, ["serve", str(SCENE), *options])
    assert ran.exit_code == 2
    (line,) = ran.stderr.splitlines()
    assert line.startswith("error: ")
    assert said in line
