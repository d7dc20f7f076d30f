"""A client of the peg transfer, in process and over ROS 2, and its score of clients that end, die or do nothing."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from typer.testing import CliRunner

import trocar as tr
from tests.support.repository import ROOT
from trocar.cli import app
from trocar.errors import TrocarError
from trocar.transports.topic_bridge import TopicBridge
from trocar_learning.commands import contest
from trocar_learning.contest.peg_board import PEG_HEIGHT, PIXELS, T_camera_world
from trocar_learning.envs.contest_trial import ContestTrial, drawn_scene

CLIENT = ROOT / "examples" / "clients" / "peg_transfer.py"
SIZE = "320x200"
DOMAIN = 1 + (os.getpid() + 2) % 80
ARM = ("measured_cp", "servo_cp", "move_cp", "measured_js", "servo_jp", "move_jp")
JAW = ("jaw/measured_js", "jaw/servo_jp", "jaw/move_jp")
TOPICS = {
    *(f"{arm}/{topic}" for arm in ("PSM1", "PSM2") for topic in (*ARM, *JAW)),
    *(f"stereo/{eye}/{topic}" for eye in ("left", "right") for topic in ("image_raw", "camera_info")),
}


def ignored(share: float) -> None:
    pass


def check_output(text: str, seed: int) -> None:
    """The client has found the blue peg and moved over it."""
    found = re.search(r"blue peg at \[(.*)\] mm", text)
    assert found, text
    seen = 1e-3 * np.array([float(number) for number in found[1].split(",")])
    middle = drawn_scene(seed).objects["blue"].pose @ [0.0, 0.0, PEG_HEIGHT / 2, 1.0]
    np.testing.assert_allclose(seen, (T_camera_world() @ middle)[:3], atol=6e-3)  # the mean of what is visible
    assert float(re.search(r"PSM2 is ([\d.]+) mm", text)[1]) < 2.0


@pytest.fixture
def contest_robot():
    with tr.Robot(drawn_scene(0), speed="fast", start="ready") as robot, ContestTrial(robot) as trial:
        yield robot, trial


def test_the_served_topics_are_those_of_the_competition(contest_robot):
    robot, trial = contest_robot
    camera = contest.contest_camera(robot.scene, contest.IMAGE_RATE, PIXELS)
    bridge = TopicBridge(robot, 2, offered=trial.topics, camera=camera)
    assert {topic.name for topic in bridge.topics} == TOPICS
    assert bridge.services == ()
    assert (camera.size, camera.rate, camera.baseline) == ((1280, 800), 30.0, 0.02)
    lens = camera.lens
    angles = [2 * np.degrees(np.arctan2(side / 2, f)) for side, f in ((1280, lens.fx), (800, lens.fy))]
    assert angles == pytest.approx([80.0, 55.0], abs=0.5)


def test_poses_are_relative_to_the_left_camera_and_servo_cp_takes_them(contest_robot):
    robot, trial = contest_robot
    robot.sleep(0.05)
    arm = robot.psm("PSM1")
    T = arm.measured_cp()[0]
    np.testing.assert_allclose(T, T_camera_world() @ robot.scene.T_world_tip("PSM1"), atol=2e-4)
    assert robot.bus.read("PSM1/measured_cp").frame_id == contest.contest_camera(robot.scene, 1.0, None).arm + (
        "_left_optical"
    )
    assert not trial.begun
    for k in range(1, 21):
        goal = T.copy()
        goal[2, 3] += k * 0.5e-3  # away from the camera
        arm.servo_cp(goal)
        robot.sleep(0.01)
    robot.sleep(0.3)
    moved = T_camera_world() @ robot.scene.T_world_tip("PSM1") - T
    np.testing.assert_allclose(moved[:3, 3], [0.0, 0.0, 0.01], atol=1e-3)
    assert trial.begun
    assert trial.path["PSM1"] == pytest.approx(0.01, abs=2e-3)


def test_a_client_finds_a_peg_in_process():
    arguments = ["run", "--scene", "peg_transfer", "--seed", "3", "--speed", "fast", "--image-size", SIZE, str(CLIENT)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    check_output(result.output, 3)
    assert re.search(r"trocar run: 0 points, .* path 0 \+ \d+ mm", result.output)


@pytest.mark.xdist_group("dds")
def test_the_same_client_finds_it_over_ros2_and_is_refereed(capfd, monkeypatch, tmp_path):
    pytest.importorskip("cyclonedds")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), str(ROOT)]))
    client = tmp_path / "client.py"
    client.write_text(CLIENT.read_text().replace("STEP = 0.6e-3", "STEP = 2.4e-3"))  # in a quarter of the time
    assert client.read_text() != CLIENT.read_text()
    command = f"{sys.executable} -m tests.support.remote_script {client}"
    trial = contest.client_trial(command, 3, DOMAIN, {"pictures": (320, 200)}, ignored)
    check_output(capfd.readouterr().out, 3)
    assert trial.ended == "the client ended"
    assert (trial.details["points"], trial.drops, trial.held) == (0, 0, False)
    assert 0.02 < trial.path < 0.3


def test_images_of_an_ecm_alone_show_the_served_scene(monkeypatch):
    pytest.importorskip("cyclonedds")
    served = []

    def bridge(robot, *, camera, **_):
        served.append((robot.scene, camera))
        raise TrocarError("served")

    monkeypatch.setattr("trocar.transports.ros2.bridge.Ros2Bridge", bridge)
    result = CliRunner().invoke(app, ["serve", "ros2", "ECM", "--images", "5", "-p", "ECM=gondokaryono2019"])
    assert result.stderr == "error: served\n"
    ((scene, camera),) = served
    assert camera.scene is scene  # not another one of this name, with other parameters
    assert camera.arm == "ECM"


@pytest.mark.parametrize("options", [["--seed", "3"], ["--image-size", "64x64"]])
def test_options_of_the_peg_transfer_are_not_ignored_by_other_scenes(options, tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import rospy")
    result = CliRunner().invoke(app, ["run", "--api", "2.4", *options, str(script)])
    assert result.exit_code == 2
    assert f"error: {options[0]} " in result.stderr
    assert "with dvrk" in result.stderr or "dvrk has none" in result.stderr


class _Unserved:
    """A bridge that serves nobody."""

    running, error = True, ""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def __enter__(self) -> _Unserved:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("raise SystemExit(3)", "ended with status 3 after 0.0 s"),
        ("", "ended without a motion"),
        ("import time; time.sleep(60)", "sent no motion within"),
    ],
)
def test_a_client_that_dies_or_does_nothing_is_one_line(monkeypatch, program, reason):
    monkeypatch.setattr("trocar.transports.ros2.bridge.Ros2Bridge", _Unserved)
    monkeypatch.setattr(contest, "BEGIN_TIMEOUT", 0.5 if "sleep" in program else 60.0)
    with pytest.raises(TrocarError, match=reason):
        contest.client_trial(f"{sys.executable} -c '{program}'", 0, DOMAIN, {"pictures": None}, ignored)


def test_processes_that_a_client_leaves_behind_end_with_the_trial(monkeypatch, tmp_path):
    monkeypatch.setattr("trocar.transports.ros2.bridge.Ros2Bridge", _Unserved)
    monkeypatch.setattr(contest, "END_TIMEOUT", 0.5)
    left = tmp_path / "left"
    # a shell without a terminal lets its background processes ignore SIGINT
    command = f"sh -c 'while :; do echo >> {left}; sleep 0.02; done & until [ -s {left} ]; do sleep 0.02; done'"
    with pytest.raises(TrocarError, match="ended without a motion"):
        contest.client_trial(command, 0, DOMAIN, {"pictures": None}, ignored)
    size = left.stat().st_size
    time.sleep(0.2)
    assert left.stat().st_size == size


def test_ctrl_c_during_a_trial_is_one_line_and_ends_the_client(tmp_path):
    begun = tmp_path / "begun"
    client = f"sh -c 'echo $$ > {begun}; exec sleep 600'"
    command = [sys.executable, "-m", "trocar", "score", "PegTransfer", "--client", client, "-s", "pictures=none"]
    environment = {**os.environ, "ROS_DOMAIN_ID": str(DOMAIN)}
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, start_new_session=True, env=environment
    ) as process:
        while not (begun.exists() and begun.read_text()):
            assert process.poll() is None
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        _, errors = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert errors.splitlines()[-1].startswith("interrupted")
    with pytest.raises(ProcessLookupError):
        os.kill(int(begun.read_text()), 0)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["PegTransfer", "--client", "no-such-program x"], "does not exist or cannot be executed"),
        (["PegTransfer", "--client", "python3 'x"], "is incomplete: No closing quotation"),
        (["PegTransfer", "--client", " "], "--client needs a command"),
        (["Reach", "--client", "true"], "task of a client 'Reach' is unknown"),
        (["PegTransfer", "--client", "true", "--level", "1sigma"], "level of a client '1sigma' is unknown"),
        (["PegTransfer", "--client", "true", "--video"], "--video films policies"),
    ],
)
def test_bad_commands_of_clients_are_one_line(arguments, reason):
    result = CliRunner().invoke(app, ["score", *arguments])
    assert result.exit_code == 2
    assert reason in result.output
    assert result.output.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["contest", "--seed", "-1"], "--seed must be at least 0"),
        (["contest", "--image-size", "0x9999999999"], "--image-size must be WIDTHxHEIGHT"),
    ],
)
def test_bad_options_of_the_served_peg_transfer_are_one_line(arguments, reason):
    pytest.importorskip("cyclonedds")
    result = CliRunner().invoke(app, ["serve", *arguments])
    assert result.exit_code == 2
    assert reason in result.output
    assert result.output.count("\n") == 1


def test_a_person_who_plays_the_peg_transfer_gets_a_score() -> None:
    arguments = ["--task", "peg_transfer", "--seed", "2", "--master", "scripted", "--no-page", "--duration", "2.5"]
    result = CliRunner().invoke(app, ["teleop", *arguments])
    assert result.exit_code == 0, result.output
    found = re.search(r"Score: 0 points, .* 0 drops, path (\d+) \+ (\d+) mm", result.output)
    assert found, result.output
    first, second = map(int, found.groups())
    assert sorted([first > 2, second > 2]) == [False, True]  # the script draws a circle with PSM1
