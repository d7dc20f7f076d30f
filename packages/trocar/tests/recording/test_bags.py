"""Bags: written by a simulated robot in three formats, replayed, and read alike by every command."""

import errno
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from transports.test_ros1 import ONE_ARM
from typer.testing import CliRunner

import trocar as tr
from tests.support.joint_state_bags import BEFORE_CRTK, motion, write_bag
from trocar.cli import app
from trocar.errors import TrocarError
from trocar.files import scratch_folder
from trocar.recording.bag_file import candidates, sensor_topics
from trocar.robot import Robot
from trocar.robot import messages as m
from trocar.robot.settings import ArmSettings
from trocar.robot.track import Track
from trocar.transports.bags import BagRecorder, bags_of, replay
from trocar.transports.rosbag import Bag

pytestmark = pytest.mark.xdist_group("bags")  # one worker: fixtures are built once
FORMATS = (".bag", ".mcap", ".db3")
BEGIN = np.array([0.1, 0.1, 0.12, 0.0, 0.1, 0.1])
END = BEGIN + [0.1, -0.05, 0.01, 0.2, 0.1, -0.1]


def drive(robot):
    """Servo an arm for half a second, with its jaw."""
    arm = robot.psm("PSM1")
    arm.move_jp(BEGIN).wait()
    for s in np.linspace(0, 1, 100):
        robot.bus.publish("PSM1/servo_jp", m.JointState(position=BEGIN + s * (END - BEGIN)))
        robot.bus.publish("PSM1/jaw/servo_jp", m.JointState(position=np.array([0.2 + 0.3 * s])))
        robot.sleep(0.005)
    robot.sleep(0.2)


def test_bags_from_before_crtk_give_the_same_recording(tmp_path):
    """Names of the dVRK until 1.7, as in the force data set of Chua, Jarc and Okamura (2021)."""
    states = motion(rows=50)
    now = tr.load_recording(write_bag(tmp_path / "now.bag", *states), arm="PSM")
    old = write_bag(tmp_path / "old.bag", *states, names=("dvrk/PSM2",), topics=BEFORE_CRTK)
    before = tr.load_recording(old, arm="PSM")
    for name in ("t", "q", "dq", "tau"):
        np.testing.assert_array_equal(getattr(before, name), getattr(now, name))


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_force_sensor_is_a_channel_of_the_recording(tmp_path, suffix):
    """Interpolated to the rows; topics that the dVRK computes from its motors are no sensors."""
    states = motion(rows=50)
    force = np.column_stack([np.arange(50.0), np.ones(50), -np.arange(50.0)])
    wrenches = {"force_sensor": force, "dvrk/PSM2/wrench_body_current": force, "PSM2/body/measured_cf": force}
    bag = write_bag(tmp_path / f"old{suffix}", *states, names=("dvrk/PSM2",), topics=BEFORE_CRTK, sensors=wrenches)
    assert sensor_topics(bag) == ["force_sensor"]
    recording = tr.load_recording(bag, "PSM", sensor="/force_sensor")
    np.testing.assert_allclose(recording.extra["sensor_force"], force, atol=1e-6)
    assert recording.extra_units["sensor_force"] == "N"
    np.testing.assert_array_equal(recording.q, tr.load_recording(bag, "PSM").q)
    with pytest.raises(TrocarError, match="no topic wind of type geometry_msgs/WrenchStamped"):
        tr.load_recording(bag, "PSM", sensor="wind")
    with pytest.raises(TrocarError, match="is not a bag"):
        tr.load_recording(recording.save(tmp_path / "run.npz"), sensor="force_sensor")


def test_a_sensor_with_another_clock_is_refused(tmp_path):
    stamps, *states = motion(rows=50)
    late = stamps + 3600 * 10**9
    bag = write_bag(tmp_path / "a.bag", stamps, *states, sensors={"force": np.ones((50, 3))}, sensor_stamps=late)
    with pytest.raises(TrocarError, match="are the clocks of robot and sensor the same"):
        tr.load_recording(bag, "PSM", sensor="force")
    half = write_bag(
        tmp_path / "b.bag", stamps, *states, sensors={"force": np.ones((50, 3))}, sensor_stamps=stamps + 10**8
    )
    assert 20 < len(tr.load_recording(half, "PSM", sensor="force")) < 35


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Bags of one run in every format."""
    folder = tmp_path_factory.mktemp("bags")
    with Robot(ONE_ARM, start="ready") as robot:
        recorders = [BagRecorder(robot, folder / f"run{suffix}") for suffix in FORMATS]
        drive(robot)
        for recorder in recorders:
            recorder.close()
        assert len({recorder.count for recorder in recorders}) == 1
    assert sorted(os.listdir(folder)) == sorted(f"run{suffix}" for suffix in FORMATS)
    return folder


def test_every_format_holds_the_same_messages(folder):
    contents = []
    for suffix in FORMATS:
        with Bag(str(folder / f"run{suffix}")) as bag:
            found = [(x.topic, x.timestamp.to_nsec(), x.message) for x in bag.read_messages()]
        # a new subscriber gets its own first samples
        contents.append([one for one in found if one[1] > found[0][1]])
    first, *others = contents
    topics = {topic for topic, _, _ in first}
    assert {"/PSM1/measured_js", "/PSM1/jaw/measured_js", "/PSM1/servo_jp", "/PSM1/jaw/servo_jp"} <= topics
    assert "/PSM1/operating_state" not in topics
    for other in others:
        assert sorted(map(repr, other)) == sorted(map(repr, first))
    positions = [message.position for topic, _, message in first if topic == "/PSM1/servo_jp"]
    np.testing.assert_array_equal(positions, [BEGIN + s * (END - BEGIN) for s in np.linspace(0, 1, 100)])


def test_the_recordings_of_all_formats_are_equal(folder):
    first, *others = (tr.load_recording(folder / f"run{suffix}", "PSM") for suffix in FORMATS)
    assert len(first) > 60
    for other in others:
        np.testing.assert_array_equal(other.t, first.t)
        np.testing.assert_array_equal(other.q[1:], first.q[1:])
    np.testing.assert_allclose(first.q[-1], [*END, 0.5], atol=0.02)


@pytest.mark.parametrize("suffix", [".bag", ".mcap"])
def test_a_replayed_bag_moves_a_robot_as_it_was_moved(folder, suffix):
    recorded = tr.load_recording(folder / f"run{suffix}", "PSM")
    with Robot(ONE_ARM, start="ready") as robot:
        assert replay(robot, folder / f"run{suffix}") == 200
        robot.sleep(0.2)
        end = robot.psm("PSM1").measured_jp()[0]
        np.testing.assert_allclose(end, recorded.q[-1, :6], atol=2e-4)
        with pytest.raises(TrocarError, match="no servo command of PSM2"):
            replay(robot, folder / f"run{suffix}", "PSM2")


def test_a_bag_that_cannot_be_written_is_an_error_and_leaves_nothing(tmp_path):
    with Robot(ONE_ARM) as robot:
        with pytest.raises(TrocarError, match=r"\.bag, \.db3, \.mcap"):
            BagRecorder(robot, tmp_path / "run.csv")
        (tmp_path / "run.mcap").mkdir()
        with pytest.raises(TrocarError, match="exists already"):
            BagRecorder(robot, tmp_path / "run.mcap")
    assert os.listdir(tmp_path) == ["run.mcap"]


# -- readers -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def two_arms(tmp_path_factory):
    return write_bag(tmp_path_factory.mktemp("two") / "two.mcap", *motion(40), names=("PSM1", "PSM2"))


def test_an_arm_is_found_among_grippers_set_up_joints_and_other_arms():
    names = {"PSM1", "PSM2", "ECM", "MTML", "MTML/gripper", "SUJ/PSM1", "SUJ/ECM"}
    assert candidates(names, tr.load_arm("ECM")) == ["ECM"]
    assert candidates(names, tr.load_arm("MTML")) == ["MTML"]
    assert candidates(names, tr.load_arm("PSM")) == ["PSM1", "PSM2"]
    assert candidates({"left", "left/gripper"}, tr.load_arm("PSM")) == ["left"]


def test_every_command_reads_one_arm_of_a_bag_of_two(two_arms, tmp_path):
    commands = {
        "compare": ["compare", two_arms, two_arms, "--arm", "PSM"],
        "identify": ["identify", two_arms, "--arm", "PSM"],
        "render": ["render", two_arms, "--arm", "PSM", "-o", tmp_path / "end.png", "--size", "64x48"],
    }
    for name, command in commands.items():
        refused = CliRunner().invoke(app, [str(part) for part in command])
        assert refused.exit_code == 2
        assert "several arms (PSM1, PSM2)" in re.sub(r"\s+", " ", refused.output)
        ran = CliRunner().invoke(app, [str(part) for part in (*command, "--namespace", "/PSM2")])
        if name == "identify":  # it has read the arm
            assert "the recording is too short: 0.19" in ran.output
        else:
            assert ran.exit_code == 0, ran.output
    assert (tmp_path / "end.png").stat().st_size > 100
    assert Track.load(two_arms, ArmSettings(arm="PSM"), "PSM1").recording.provenance["topic"] == "PSM1/measured_js"


def test_incompatible_options_are_refused():
    for command, reason in (
        (["view", "PSM", "--namespace", "PSM1"], "--namespace selects an arm in a bag"),
        (["serve", "ros1", "--replay", "nowhere.bag"], "the bag does not exist"),
    ):
        refused = CliRunner().invoke(app, command)
        assert refused.exit_code == 2
        assert reason in re.sub(r"\s+", " ", refused.output)


def test_an_uploaded_bag_is_the_recording_of_the_file(folder):
    (data,) = (folder / "run.mcap").glob("*.mcap")
    uploaded = Track.from_bytes("mine.mcap", data.read_bytes(), ArmSettings(arm="PSM"))
    np.testing.assert_array_equal(uploaded.recording.q, tr.load_recording(folder / "run.mcap", "PSM").q)
    assert uploaded.name == "mine.mcap"


def test_an_uploaded_bag_that_unpacks_to_more_than_the_limit_is_refused(tmp_path, monkeypatch):
    from rosbags.rosbag1 import Writer
    from rosbags.typesys import Stores, get_typestore

    store, path = get_typestore(Stores.ROS1_NOETIC), tmp_path / "bomb.bag"
    writer = Writer(path)
    writer.set_compression(Writer.CompressionFormat.LZ4)
    with writer:
        topic = writer.add_connection("/PSM1/measured_js", "sensor_msgs/msg/JointState", typestore=store)
        writer.write(topic, 1, bytes(2**28))
    assert path.stat().st_size < 2**22
    monkeypatch.setattr("trocar.recording.bag_file.MEMORY", 2**27)
    with pytest.raises(TrocarError, match=r"mine\.bag: .* memory"):
        Track.from_bytes("mine.bag", path.read_bytes(), ArmSettings(arm="PSM"))


def test_recording_and_replaying_while_serving_are_reported(folder, tmp_path):
    said = []
    with Robot(ONE_ARM, speed=20.0, start="ready") as robot:
        with bags_of(robot, tmp_path / "again.mcap", folder / "run.bag", said.append):
            assert robot.wait_for(lambda: bool(said), 60.0)
        with bags_of(robot, None, tmp_path / "nowhere.bag", said.append):
            assert robot.wait_for(lambda: len(said) == 3, 60.0)
    assert said[0] == f"replayed 200 commands of {folder / 'run.bag'}"
    assert re.fullmatch(r".*again\.mcap: \d+ messages", said[1])
    assert said[2].startswith("replay: ")
    with Bag(str(tmp_path / "again.mcap")) as bag:
        assert len(list(bag.read_messages("/PSM1/servo_jp"))) == 100


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_disk_that_is_full_when_a_bag_is_finished_is_one_error(suffix, tmp_path, monkeypatch):
    from rosbags import rosbag1, rosbag2

    def no_space(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for module in (rosbag1, rosbag2):
        monkeypatch.setattr(module.Writer, "close", no_space)
    with Robot(ONE_ARM, start="ready") as robot:
        recorder = BagRecorder(robot, tmp_path / f"run{suffix}")
        robot.sleep(0.05)
        with ThreadPoolExecutor() as pool:
            closed = pool.submit(recorder.close)
            with pytest.raises(TrocarError, match=r"could not be written: .*No space left on device"):
                closed.result(20.0)
    assert os.listdir(tmp_path) == []


def test_the_unfinished_bag_of_a_killed_process_is_removed_by_the_next(tmp_path):
    script = (
        "import os, signal, sys; from pathlib import Path; from trocar.files import scratch_folder\n"
        "with scratch_folder('.bag-', Path(sys.argv[1])) as folder:\n"
        "    (folder / 'run.bag').write_bytes(b'half'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", script, tmp_path], check=False)
    assert len(os.listdir(tmp_path)) == 1
    with scratch_folder(".bag-", tmp_path) as running, Robot(ONE_ARM, start="ready") as robot:
        with BagRecorder(robot, tmp_path / "run.bag"):
            robot.sleep(0.02)
        assert sorted(os.listdir(tmp_path)) == sorted([running.name, "run.bag"])
