"""Recordings of teleoperation: bags and npz files of one run hold the same motion of masters and PSMs."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import trocar as tr
from trocar.cli import app
from trocar.robot import Robot
from trocar.spatial import Array
from trocar.teleoperation.devices import (
    DeviceConsole,
    DeviceSample,
    MotionLog,
    Scripted,
    pair_topics,
    training_scene,
)
from trocar.teleoperation.devices.device import OPEN
from trocar.transports.bags import BagRecorder
from trocar.transports.rosbag import Bag

pytestmark = pytest.mark.xdist_group("teleop_recording")  # one worker: fixtures are built once
pytest.importorskip("rosbags", reason="pip install 'trocar[bags]'")

FORMATS = (".bag", ".mcap", ".db3")
ARMS = {"PSM1": "MTMR", "PSM2": "MTML"}
DELAY = 0.03  # [s]


def hand(t: float, speed: float) -> DeviceSample:
    """Pinch, then move sideways and turn."""
    twist = np.array([speed, 0.01, 0.0, 0.0, 0.0, 0.3]) if t > 0.3 else np.zeros(6)
    return DeviceSample(twist, gripper=OPEN * (t > 0.1))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run of two pairs in every format."""
    folder = tmp_path_factory.mktemp("runs")
    robot = Robot(training_scene(tuple(ARMS), "none"), start="ready", speed="stepped")
    devices = {"PSM1": Scripted(lambda t: hand(t, 0.05)), "PSM2": Scripted(lambda t: hand(t, -0.03))}
    console = DeviceConsole(robot, devices, scale=0.5, delay=DELAY)
    assert console.masters == ARMS
    robot.every(5e-3, lambda t: console.poll())
    topics = pair_topics(robot, [(master, psm) for psm, master in ARMS.items()])
    robot.run(0.05)
    recorders = [BagRecorder(robot, folder / "new" / f"run{suffix}", topics) for suffix in FORMATS]
    log = MotionLog(robot, console)
    console.start()
    robot.run(0.8)
    assert all(pair.state.following for pair in console.pairs.values())
    for recorder in recorders:
        recorder.close()
    written = log.save_as(folder / "new" / "run.npz")
    assert [path.name for path in written] == ["run-PSM1.npz", "run-PSM2.npz"]
    return folder / "new"


def messages(path: Path, topic: str) -> tuple[Array, list[object]]:
    """Stamps from the first one on [s] and messages of a topic of a bag."""
    with Bag(str(path)) as bag:
        contents = [entry.message for entry in bag.read_messages(topic)]
    stamps = np.array([message.header.stamp.to_nsec() for message in contents])
    return 1e-9 * (stamps - stamps[0]), contents


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("psm", ARMS)
def test_a_bag_holds_the_motion_of_the_npz_file(folder: Path, psm: str, suffix: str) -> None:
    bag, table = folder / f"run{suffix}", tr.load_recording(folder / f"run-{psm}.npz")
    recording = tr.load_recording(bag, "PSM", namespace=psm)
    assert len(recording) > 75
    np.testing.assert_allclose(recording.t, table.t, atol=1e-9)
    for channel in ("q", "dq", "tau"):  # the first sample greets a new subscriber, and its noise is its own
        np.testing.assert_array_equal(getattr(recording, channel)[1:], getattr(table, channel)[1:])
    assert np.ptp(recording.q[:, 0]) > 0.01


@pytest.mark.parametrize("psm", ARMS)
def test_masters_and_set_points_are_recorded(folder: Path, psm: str) -> None:
    bag, table = folder / "run.mcap", tr.load_recording(folder / f"run-{psm}.npz")
    for topic, channel in (("measured_cp", "hand"), ("setpoint_cp", "received")):
        t, contents = messages(bag, f"/{ARMS[psm]}/{topic}")
        assert len(t) == len(table)
        p = np.array([[x.pose.position.x, x.pose.position.y, x.pose.position.z] for x in contents])
        np.testing.assert_array_equal(p, table.extra[f"{channel}_position"])
    _, grippers = messages(bag, f"/{ARMS[psm]}/gripper/measured_js")
    np.testing.assert_array_equal([x.position[0] for x in grippers], table.extra["gripper"])
    _, goals = messages(bag, f"/{psm}/setpoint_js")
    np.testing.assert_array_equal([x.position for x in goals], table.commands["q"][:, :6])
    # what reaches the robot is the hand, later
    sent, received = table.extra["hand_position"][:, 0], table.extra["received_position"][:, 0]
    np.testing.assert_allclose(np.interp(table.t[20:] - DELAY, table.t, sent), received[20:], atol=2e-4)
    # and the tip's goal moves by the scale
    speed = np.linalg.norm(np.diff(table.commands["tip_position"][-20:], axis=0), axis=1).sum()
    assert speed == pytest.approx(
        0.5 * np.linalg.norm(np.diff(table.extra["hand_position"][-20:], axis=0), axis=1).sum(), rel=0.02
    )


def test_a_bag_has_only_the_topics_of_the_pairs_and_the_endoscope(folder: Path) -> None:
    with Bag(str(folder / "run.db3")) as bag:
        topics = {entry.topic for entry in bag.read_messages()}
    assert {topic.split("/")[1] for topic in topics} == {"PSM1", "PSM2", "MTMR", "MTML", "ECM"}
    assert "/PSM1/jaw/setpoint_js" in topics
    assert "/PSM1/servo_cs" not in topics


@pytest.mark.parametrize("suffix", [".npz", ".bag"])
def test_the_command_records(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"run{suffix}"
    command = ["teleop", "--master", "scripted", "--no-page", "--duration", "0.6", "--record", str(file)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert str(file) in re.sub(r"\s", "", result.output)
    recording = tr.load_recording(file, "PSM", **({"namespace": "PSM1"} if suffix == ".bag" else {}))
    assert len(recording) > 10
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
