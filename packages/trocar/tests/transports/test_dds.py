"""The dVRK's interface in ROS 2: a served robot in a separate process, a client in this process."""

import copy
import itertools
import json
import multiprocessing
import os
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.support.waiting import until
from trocar.cli import app
from trocar.errors import TrocarError
from trocar.recording import filtered
from trocar.robot import Robot
from trocar.robot import messages as m
from trocar.robot.interface import Direction, Topic
from trocar.transports.ros2.domain import check_installed, configuration

pytest.importorskip("cyclonedds")

from cyclonedds.builtin import BuiltinDataReader, BuiltinTopicDcpsPublication, BuiltinTopicDcpsSubscription
from cyclonedds.idl import make_idl_struct
from cyclonedds.qos import Policy

from tests.support.repository import SUPPORT
from tools.bench import dds
from trocar.robot.settings import ArmSettings
from trocar.robot.shadow import Shadow
from trocar.transports.codec import codec
from trocar.transports.ros2.bridge import Ros2Bridge
from trocar.transports.ros2.client import Ros2Client
from trocar.transports.ros2.cyclonedds_internals import delete
from trocar.transports.ros2.domain import domain_sockets
from trocar.transports.ros2.node import DISCOVERY, DISCOVERY_TYPE, user_data
from trocar.transports.ros2.participant import Participant, discovery_qos, sample_class, taken, topic_qos
from trocar.transports.scene_topics import DESCRIPTION, JOINT_STATES, TF, TF_STATIC
from trocar.transports.shadow import follow

pytestmark = pytest.mark.xdist_group("dds")
SCENE = str(SUPPORT / "run_scripts" / "psm1.toml")
DOMAIN = 1 + os.getpid() % 80  # differs between test runs on this machine
JOINTS = "sensor_msgs/JointState"
SCENE_TOPICS = (TF, JOINT_STATES, TF_STATIC, DESCRIPTION)


@pytest.fixture(scope="module")
def robot():
    with (
        Robot(SCENE, speed="real", start="ready") as robot,
        Ros2Bridge(robot, domain=DOMAIN, hold_when_lost=True, description="<robot/>") as bridge,
    ):
        assert bridge.topics == (*robot.bus.topics.values(), *SCENE_TOPICS)  # and no clock
        yield robot
        assert bridge.error == ""
        assert bridge.running


@pytest.fixture(scope="module")
def client(robot):
    with Ros2Client(DOMAIN) as client:
        yield client


@pytest.fixture
def participant(robot):
    with Participant(DOMAIN) as participant:
        yield participant


def test_every_topic_and_service_of_the_bus_is_there_with_its_type_and_durability(robot, client):
    scene = {topic.name: topic for topic in (JOINT_STATES, DESCRIPTION)}  # of types that the interface has
    assert dict(client.topics) == {**robot.bus.topics, **scene}
    assert set(client.services) == set(robot.bus.services)
    assert client.services["PSM1/inverse_kinematics"] == "crtk_msgs/QueryInverseKinematics"
    assert client.devices == robot.devices


def test_endpoints_have_the_names_types_and_hashes_of_ros_2(participant):
    found = {}
    wanted = {
        "rt/PSM1/measured_js": "sensor_msgs::msg::dds_::JointState_",
        "rt/PSM1/servo_jp": "sensor_msgs::msg::dds_::JointState_",
        "rt/PSM1/operating_state": "crtk_msgs::msg::dds_::OperatingState_",
        "rq/PSM1/forward_kinematicsRequest": "crtk_msgs::srv::dds_::QueryForwardKinematics_Request_",
        "rr/PSM1/forward_kinematicsReply": "crtk_msgs::srv::dds_::QueryForwardKinematics_Response_",
    }
    kinds = (BuiltinTopicDcpsPublication, BuiltinTopicDcpsSubscription)
    readers = [BuiltinDataReader(participant.entity, kind) for kind in kinds]

    def all_found():
        for reader in readers:
            for sample in reader.read(1000):
                if sample.topic_name in wanted and "clientid" not in user_data(sample):
                    found.setdefault(sample.topic_name, sample)
        return len(found) == len(wanted)

    until(all_found, "endpoints of the robot")
    assert {name: sample.type_name for name, sample in found.items()} == wanted
    assert user_data(found["rt/PSM1/measured_js"])["typehash"] == codec(2).type_hash(JOINTS)
    request, reply = found["rq/PSM1/forward_kinematicsRequest"], found["rr/PSM1/forward_kinematicsReply"]
    assert user_data(request)["serviceid"] == user_data(reply)["serviceid"]
    assert found["rt/PSM1/operating_state"].qos[Policy.Durability] is Policy.Durability.TransientLocal
    assert found["rt/PSM1/operating_state"].qos[Policy.History] == Policy.History.KeepLast(100)
    assert found["rt/PSM1/measured_js"].qos[Policy.Durability] is Policy.Durability.Volatile


def test_threads_that_need_a_sample_class_at_once_get_the_same_one(monkeypatch):
    def slow(*arguments, **options):
        time.sleep(0.05)  # for the other threads
        return make_idl_struct(*arguments, **options)

    monkeypatch.setattr("trocar.transports.ros2.participant.make_idl_struct", slow)
    store = copy.copy(codec(2).store)  # no class of this store exists yet
    with ThreadPoolExecutor(4) as pool:
        classes = set(pool.map(lambda _: sample_class("std_msgs/String", store), range(4)))
    assert len(classes) == 1


def test_the_node_is_announced_with_all_of_its_endpoints(robot, participant):
    reader = participant.reader(DISCOVERY, DISCOVERY_TYPE, discovery_qos(100))
    infos = until(lambda: [codec(2).message_in(s.cdr, DISCOVERY_TYPE) for s in taken(reader)], "ros_discovery_info")
    (node,) = (node for info in infos for node in info.node_entities_info_seq if node.node_name == "dvrk")
    assert node.node_namespace == "/"
    commands = [topic for topic in robot.bus.topics.values() if topic.direction is Direction.command]
    services = len(robot.bus.services)
    assert len(node.reader_gid_seq) == len(commands) + services
    assert len(node.writer_gid_seq) == len(robot.bus.topics) + len(SCENE_TOPICS) - len(commands) + services
    (info,) = (info for info in infos if any(node is each for each in info.node_entities_info_seq))
    prefix = bytes(info.gid.data)[:12]
    assert {bytes(gid.data)[:12] for gid in node.reader_gid_seq + node.writer_gid_seq} == {prefix}


def test_a_new_reader_gets_samples_with_stamps_that_increase(client):
    heard = []
    subscription = client.subscribe("PSM1/measured_js", heard.append)
    until(lambda: len(heard) > 10, "a stream of measured_js")
    subscription.close()
    assert heard[0].name == ("yaw", "pitch", "insertion", "roll", "wrist_pitch", "wrist_yaw")
    assert all(0 < a.stamp < b.stamp for a, b in itertools.pairwise(heard))
    assert abs(heard[-1].stamp - time.time_ns()) < 10e9
    assert client.read("PSM1/body/jacobian").values.shape == (6, 6)


def test_a_volatile_reader_gets_the_operating_state_again_and_again(participant):
    name = "crtk_msgs/OperatingState"
    reader = participant.reader("rt/PSM1/operating_state", name, topic_qos(name, Direction.state))
    heard = []
    until(lambda: heard.extend(taken(reader)) or len(heard) >= 2, "two operating states")
    topic = Topic("PSM1/operating_state", m.OperatingState, Direction.state, name)
    states = [codec(2).decode(sample.cdr, topic) for sample in heard]
    assert {state.state for state in states} == {"ENABLED"}
    assert states[0].stamp < states[1].stamp


def test_a_move_is_executed_and_busy_until_it_ends(client):
    goal = np.array(client.read("PSM1/setpoint_js").position)
    goal[[0, 2]] += [0.05, 0.01]
    states, commanded = [], time.time_ns()
    heard = client.subscribe("PSM1/operating_state", states.append)

    def new():
        return [(state.is_busy, state.stamp) for state in states if state.stamp > commanded]

    client.publish("PSM1/move_jp", m.JointState(position=goal))
    until(lambda: {busy for busy, _ in new()} == {True, False}, "busy and idle")
    setpoint = client.read("PSM1/setpoint_js").position  # sent before the state
    heard.close()
    assert new()[0][0]
    assert not new()[-1][0]
    np.testing.assert_allclose(setpoint, goal, atol=1e-9)
    np.testing.assert_allclose(client.read("PSM1/measured_js").position, goal, atol=0.02)


def test_services_answer_as_the_robot_does(client):
    q = client.read("PSM1/setpoint_js").position
    forward = client.call("PSM1/local/forward_kinematics", q)
    assert (forward.result, forward.message) == (True, "")
    np.testing.assert_allclose(forward.value, client.read("PSM1/local/setpoint_cp").T, atol=1e-6)
    inverse = client.call("PSM1/inverse_kinematics", q, client.read("PSM1/setpoint_cp").T)
    assert inverse.result
    np.testing.assert_allclose(inverse.value, q, atol=1e-6)
    too_many = client.call("PSM1/forward_kinematics", np.zeros(9))
    assert (too_many.result, too_many.message) == (False, "too many joints")
    assert client.call("PSM1/operating_state").state == "ENABLED"
    assert client.call("PSM1/crtk_version") == "1.1.0"


def test_invalid_commands_are_refused_with_a_warning_and_change_nothing(client):
    warnings = []
    heard = client.subscribe("PSM1/warning", lambda message: warnings.append(message.value))
    time.sleep(0.3)  # what was said before
    del warnings[:]
    before = client.read("PSM1/setpoint_js").position
    T, R = np.eye(4), np.eye(4)
    T[0, 3] = R[0, 0] = np.nan
    wrong = {
        "move_cp": m.Pose(T=R),
        "move_jp": m.JointState(position=np.full(6, np.nan)),
        "servo_jp": m.JointState(position=np.zeros(1)),
        "servo_cp": m.Pose(T=T),
        "servo_jr": m.JointState(position=np.zeros(3000)),  # longer than any command
    }
    for count, (topic, message) in enumerate(wrong.items(), 1):
        client.publish(f"PSM1/{topic}", message)
        until(lambda count=count: len(warnings) >= count, f"a warning about {topic}")
    heard.close()
    refused = time.time_ns()
    until(lambda: client.read("PSM1/setpoint_js").stamp > refused, "a new setpoint")
    np.testing.assert_allclose(client.read("PSM1/setpoint_js").position, before, atol=1e-6)


def test_the_last_of_a_flood_of_commands_counts(client):
    q = np.array(client.read("PSM1/setpoint_js").position)
    for k in range(3000):
        client.publish("PSM1/servo_jp", m.JointState(position=q + [1e-6 * k, 0, 0, 0, 0, 0]))
    goal = q + [1e-6 * 2999, 0, 0, 0, 0, 0]
    until(lambda: np.allclose(client.read("PSM1/setpoint_js").position, goal, atol=1e-12), "the last command")


def test_states_go_on_during_a_flood_of_commands(robot, client):
    q = np.array(client.read("PSM1/setpoint_js").position)
    times = []
    heard = client.subscribe("PSM1/measured_js", lambda message: times.append(message.stamp))
    before, begin = robot.pace.cycles, time.time_ns()

    def flooded():
        for topic in ("servo_jp", "jaw/servo_jp"):
            size = 6 if topic == "servo_jp" else 1
            client.publish(f"PSM1/{topic}", m.JointState(position=q[:size]))
        return len([t for t in times if t > begin]) > 30 and robot.pace.cycles - before > 500

    until(flooded, "states and cycles while commands arrive", pause=0.0)
    heard.close()
    assert (np.diff(times) > 0).all()


def test_a_client_closes_states_that_nobody_reads_and_opens_them_again(robot, monkeypatch):
    monkeypatch.setattr("trocar.transports.remote_bus.UNUSED", 0.3)
    sampled, reports = [], robot.controllers["PSM1"].reports
    twist = reports.twist
    monkeypatch.setattr(reports, "twist", lambda *a: sampled.append(time.monotonic()) or twist(*a))
    with Ros2Client(DOMAIN) as client:
        heard = []
        subscription = client.subscribe("PSM1/measured_js", heard.append)
        first = until(lambda: client.read("PSM1/measured_cv"), "a sample")
        assert sampled
        until(lambda: time.monotonic() > sampled[-1] + 0.5, "the end of the samples")
        count = len(heard)
        until(lambda: len(heard) > count, "samples of a topic with a subscriber")
        assert until(lambda: client.read("PSM1/measured_cv"), "a new sample").stamp > first.stamp
        subscription.close()


def test_the_first_command_of_a_topic_has_arrived_when_publish_returns(robot):
    """Otherwise DDS can take a tenth of a second, and a command of another topic overtakes it."""
    with Ros2Client(DOMAIN) as client:
        for topic in (f"PSM1/trajectory_j/set_ratio{part}" for part in ("", "_v", "_a")):
            client.publish(topic, m.Float(value=0.5))
            assert client._participant.acknowledged(client._writers[topic], 0.0)


def test_a_command_that_no_node_reads_is_an_error_every_time(monkeypatch):
    monkeypatch.setattr("trocar.transports.ros2.client.FIRST_TIMEOUT", 0.1)
    with Ros2Client(DOMAIN) as client:
        client.topics = {"nobody/hold": Topic("nobody/hold", m.Empty, Direction.command, "std_msgs/Empty")}
        for _ in range(2):
            with pytest.raises(TrocarError, match="no node reads nobody/hold"):
                client.publish("nobody/hold", m.Empty())


def test_a_robot_that_stands_still_takes_commands_and_answers():
    domain = 81 + DOMAIN % 20
    with (
        Robot(SCENE, speed="stepped", start="ready") as robot,
        Ros2Bridge(robot, domain=domain) as bridge,
        Ros2Client(domain) as client,
    ):
        heard = []
        robot.bus.subscribe("PSM1/trajectory_j/set_ratio", heard.append)
        client.publish("PSM1/trajectory_j/set_ratio", m.Float(value=0.5))
        assert until(lambda: heard, "the command")[0].value == 0.5
        assert client.call("PSM1/crtk_version") == "1.1.0"
        assert bridge.error == ""


def test_a_second_robot_in_the_domain_names_the_first_and_refuses(robot, client):
    with Robot(SCENE, speed="stepped") as second:
        message = f"the node '/dvrk' in ROS domain {DOMAIN} publishes /PSM1/.* already; stop it, or use another domain"
        with pytest.raises(TrocarError, match=message):
            Ros2Bridge(second, domain=DOMAIN)
        assert client.read("PSM1/measured_js").valid


def test_an_arm_holds_after_its_client_disconnects(robot, participant):
    writer = participant.writer("rt/PSM1/servo_jf", JOINTS, topic_qos(JOINTS, Direction.command))
    until(writer.get_matched_subscriptions, "the robot")
    writer.write(sample_class(JOINTS)(codec(2).encode(m.JointState(effort=np.zeros(6)), JOINTS)))
    until(lambda: robot.controllers["PSM1"].mode == "effort", "effort mode")
    delete(writer)
    until(lambda: robot.controllers["PSM1"].mode == "position", "the arm to hold")


def test_garbage_in_the_ports_of_the_node_is_survived(client):
    rng = np.random.default_rng(0)
    first = 7400 + 250 * DOMAIN + 10
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for port in range(first, first + 8):
            for _ in range(30):
                head = b"RTPS" if rng.integers(2) else b""
                sender.sendto(
                    head + bytes(rng.integers(0, 256, rng.integers(0, 900), dtype=np.uint8)), ("127.0.0.1", port)
                )
    begin = time.time_ns()
    until(lambda: client.read("PSM1/measured_js").stamp > begin, "samples afterwards")
    assert client.call("PSM1/crtk_version") == "1.1.0"


def test_crtk_check_passes_over_ros_2(robot, tmp_path):
    file = tmp_path / "results.json"
    ran = CliRunner().invoke(app, ["crtk-check", "--ros2", "--domain", str(DOMAIN), "--json", str(file)])
    results = json.loads(file.read_text())["results"]
    assert {result["check"]: result["reason"] for result in results if result["status"] == "failed"} == {}
    assert ran.exit_code == 0
    assert {"topics", "services", "latching", "forward"} <= {r["check"] for r in results if r["status"] == "passed"}


def several(trips):
    """Measured trips if there are more than five; a busy machine may need another attempt."""
    return trips if len(trips.round_trips) > 5 else None


def test_the_bench_finds_commands_again_in_the_states_of_the_robot_and_of_the_echo(robot):
    pipe, other = multiprocessing.Pipe()
    echoing = threading.Thread(target=dds.echo, args=(other, DOMAIN, 1))
    echoing.start()
    pipe.recv()
    for lines in (dds.echo_lines(1), dds.arm_lines(robot, ["PSM1"])):
        trips = until(lambda lines=lines: several(dds.measured(DOMAIN, lines, 50.0, 0.5)), "round trips")
        found = dds._part_figures("part", trips, 50.0)
        assert 0 < found["part_us"] <= found["part_p99_us"]
        assert 0 <= found["part_late_percent"] <= 100
    pipe.close()
    echoing.join()


def test_a_domain_without_a_robot_is_reported():
    ran = CliRunner().invoke(app, ["crtk-check", "--ros2", "--domain", "99"])
    assert ran.exit_code == 2
    assert "no device was found in domain 99 on lo" in ran.stderr


def test_sockets_receive_from_this_machine_only_by_default(participant):
    found = [s.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, 16).strip(b"\0") for s in domain_sockets(DOMAIN)]
    assert len(found) >= 2
    assert set(found) == {b"lo"}


def test_the_node_is_not_announced_to_other_machines_by_default():
    assert 'name="lo"' in configuration("lo")
    assert 'address="127.0.0.1"' in configuration("127.0.0.1")
    assert "Peer" not in configuration("192.0.2.9")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--domain", "102"], "a ROS domain must be a number from 0 to 101, got 102"),
        (["--interface", 'lo"/>'], "'lo\"/>' is unknown"),
        (["--distro", "foxy"], "'foxy' is unknown"),
        (["--arms", "PSM9"], "'PSM9' is unknown"),
        (["--images", "5"], "--images requires an ECM"),
    ],
)
def test_wrong_options_give_one_line_and_status_2(options, said):
    ran = CliRunner().invoke(app, ["serve", "ros2", SCENE, *options])
    assert ran.exit_code == 2
    (line,) = ran.stderr.splitlines()
    assert line.startswith("error: ")
    assert said in line


def test_a_wrong_domain_of_the_environment_is_named(monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", "seven")
    ran = CliRunner().invoke(app, ["serve", "ros2", SCENE])
    assert "ROS_DOMAIN_ID must be a number from 0 to 101, got 'seven'" in ran.stderr


def test_missing_packages_are_named_with_the_way_to_get_them(monkeypatch):
    monkeypatch.setattr("trocar.transports.ros2.domain.find_spec", lambda name: None)
    with pytest.raises(TrocarError, match=r"cyclonedds: pip install 'trocar\[ros2\]'"):
        check_installed()


def endpoints(observer, kind):
    """Participants and the topics that they write or read."""
    found = [s for s in BuiltinDataReader(observer.entity, kind).read(10000) if s.sample_info.valid_data]
    return {(str(s.participant_key), s.topic_name) for s in found if not s.topic_name.startswith("DCPS")}


def test_a_twin_of_a_served_arm_has_the_residual_of_effort_along_and_writes_no_topic(robot, participant):
    until(lambda: endpoints(participant, BuiltinTopicDcpsPublication), "writers of the robot")
    shadow = Shadow(ArmSettings(arm="PSM"), "PSM1/measured_js")
    readers = {name for name, _ in endpoints(participant, BuiltinTopicDcpsSubscription)}
    with Ros2Client(DOMAIN) as watching:
        follow(shadow, watching, "PSM1")
        until(lambda: len(shadow) > 50, "joint states")
        read = [one for one in endpoints(participant, BuiltinTopicDcpsSubscription) if one[0] not in readers]
        assert {topic for _, topic in read} == {"rt/PSM1/measured_js", "rt/PSM1/jaw/measured_js"}
        twin = {name for name, _ in read}
        assert [topic for name, topic in endpoints(participant, BuiltinTopicDcpsPublication) if name in twin] == []
    assert not shadow.messages
    received = shadow.recording()
    smooth = filtered(received, causal=True)
    predicted = shadow.description.mechanism().effort_along(smooth)
    np.testing.assert_allclose(received.extra["residual_tau"], smooth.tau - predicted, rtol=0, atol=1e-9)
