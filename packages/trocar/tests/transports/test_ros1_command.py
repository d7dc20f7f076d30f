"""`trocar serve ros1` in a separate process: checked over ROS by `trocar crtk-check --ros1`, ended by Ctrl-C."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from urllib.parse import urlparse

import pytest
from transports.test_ros1 import ONE_ARM, needs_ros
from typer.testing import CliRunner

from tests.support.repository import TROCAR
from tests.support.waiting import TIMEOUT, until
from tools.bench import ros1
from trocar.cli import app
from trocar.errors import TrocarError
from trocar.recording import load_recording
from trocar.robot.interface import INTERFACES, Direction
from trocar.transports.remote_bus import devices, topics_of_nodes
from trocar.transports.ros1 import debian
from trocar.transports.ros1.client import Ros1Client

pytestmark = pytest.mark.xdist_group("ros1")
SPEED = "0.4"  # slow enough for a busy machine: the checks wait by the robot's clock


def environment(folder):
    source = str(TROCAR.parent)
    return {**os.environ, "XDG_CACHE_HOME": str(folder), "ROS_LOG_DIR": str(folder / "log"), "PYTHONPATH": source}


@pytest.fixture(scope="module")
def serving(tmp_path_factory):
    """A served PSM in a separate session with its own master; URI of the master, and process."""
    folder = tmp_path_factory.mktemp("serve")
    command = [sys.executable, "-m", "trocar", "serve", "ros1", str(ONE_ARM), "--master", "own", "--speed", SPEED]
    bag = folder / "run.bag"
    process = subprocess.Popen(
        [*command, "--record", str(bag), "--view"],
        stdout=subprocess.PIPE,
        text=True,
        env=environment(folder),
        start_new_session=True,
    )
    try:
        line = process.stdout.readline()
        assert process.stdout.readline().startswith("page: http://127.0.0.1:")
        yield re.search(r"ROS_MASTER_URI=(\S+);", line)[1], process, bag
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()


@needs_ros
def test_a_robot_served_slower_than_real_time_passes_the_checks_over_ros(serving, tmp_path):
    results = tmp_path / "results.json"
    command = ["crtk-check", "--ros1", "--master", serving[0], "--allow-motion"]
    command += ["--arms", "PSM1", "--json", str(results)]
    ran = CliRunner().invoke(app, command)
    found = {result["check"]: result for result in json.loads(results.read_text())["results"]}
    assert not [(name, result["reason"]) for name, result in found.items() if result["status"] == "failed"]
    assert ran.exit_code == 0, ran.output
    assert found["topics"]["arm"] == "PSM1"
    assert {"topics", "services", "latching", "rates", "move_busy", "wrong_content"} <= {
        name for name, result in found.items() if result["status"] == "passed"
    }


@needs_ros
def test_time_is_that_of_the_clock_topic(serving):
    with Ros1Client(serving[0]) as client:
        assert client.devices == {"PSM1": "PSM", "system": "SYSTEM", "console": "CONSOLE", "footpedals": "FOOT_PEDALS"}
        stamp = until(lambda: client.read("PSM1/measured_js"), "a sample").stamp
        start = client.now
        assert not client.wait_for(lambda: False, 0.05)
        assert client.now >= start + 50_000_000
        assert abs(stamp - start) < 10 * 10**9  # the same clock


def left(group):
    """True if a process of a group is left; a child that was just ended is gone a moment later."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@needs_ros
def test_ctrl_c_ends_the_command_its_node_and_its_master(serving):
    uri, process, bag = serving
    process.send_signal(signal.SIGINT)
    assert process.wait(TIMEOUT) == 0
    *_, stopped, recorded = process.stdout.read().splitlines()
    assert stopped == "stopped"
    assert re.fullmatch(rf"{re.escape(str(bag))}: \d+ messages", recorded)
    assert len(load_recording(bag, "PSM")) > 10
    address = urlparse(uri)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((address.hostname, address.port), timeout=5)
    until(lambda: not left(process.pid), "the end of all processes of the session")


def test_topics_of_other_nodes_get_the_directions_of_the_table():
    joints, state = "sensor_msgs/JointState", "crtk_msgs/OperatingState"
    published = {"A/setpoint_js": joints, "A/operating_state": state, "A/servo_jp": joints, "A/odd": "odd_msgs/Odd"}
    topics = topics_of_nodes(published, {"A/servo_jp": joints, "A/setpoint_js": joints, "A/own": joints})
    assert {name: str(topic.direction) for name, topic in topics.items()} == {
        "A/setpoint_js": "state",
        "A/operating_state": "event",
        "A/servo_jp": "command",  # another client sends to it too
        "A/own": "command",
    }
    assert devices(topics) == {}


def test_devices_in_ros_are_known_by_their_topics():
    kinds = {"PSM1": "PSM", "MTML": "MTM", "cam/ECM": "ECM", "X": "ARM", "SUJ": "SUJ", "SUJ/PSM1": "SUJ_ARM"}
    kinds |= {"system": "SYSTEM", "console": "CONSOLE", "footpedals": "FOOT_PEDALS", "MTML_PSM2": "TELEOP_PSM"}
    listed = [(f"{name}/{topic.name}", topic) for name, kind in kinds.items() for topic in INTERFACES[kind].topics]
    commands = {name: topic.ros for name, topic in listed if topic.direction is Direction.command}
    published = {name: topic.ros for name, topic in listed if topic.direction is not Direction.command}
    topics = topics_of_nodes(published, commands)
    assert devices(topics) == kinds
    assert {name: (found.message, found.direction) for name, found in topics.items()} == {
        name: (topic.message, topic.direction) for name, topic in listed
    }


@needs_ros
def test_bench_compares_delays_of_the_robot_with_those_of_an_echo():
    found = ros1.figures(rounds=1, seconds=0.4, scene=ONE_ARM, arms=("PSM1",))
    for case, back in (("robot", "sample"), ("echo", "return")):
        for what in ("command", back):
            assert 0.0 < found[f"ros1_{case}_{what}_median_ms"] <= found[f"ros1_{case}_{what}_p99_ms"]
        assert 0.0 <= found[f"ros1_{case}_late_commands_percent"] <= 100.0
    late = found["ros1_robot_late_commands_percent"] - found["ros1_echo_late_commands_percent"]
    assert found["ros1_late_commands_above_echo_percentage_points"] == pytest.approx(late)


def test_bench_without_ros_names_the_missing_packages(monkeypatch):
    monkeypatch.setattr(debian, "DEBIAN", "/nowhere")
    with pytest.raises(TrocarError, match="ROS 1 is missing; apt-get install python3-rospy"):
        ros1.figures(rounds=1)
