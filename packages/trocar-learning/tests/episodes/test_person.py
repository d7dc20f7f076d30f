"""Episodes of a person as a data set: a keyboard that a script presses, interruptions, other recipes."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import trocar as tr
from tests.support.small_episodes import contents, shorten
from trocar.cli import app
from trocar.errors import TrocarError
from trocar.spatial import inverse
from trocar.teleoperation.devices import DEVICES, DeviceConsole, Keyboard
from trocar.teleoperation.devices.device import DeviceKind, DeviceSample, PassiveDevice
from trocar.teleoperation.devices.page_devices import MOTIONS
from trocar_learning.envs.live_task import LiveTask
from trocar_learning.envs.registration import make_task
from trocar_learning.episodes import EpisodeRecipe, broken_rules, load_episodes, record
from trocar_learning.episodes import features as f
from trocar_learning.episodes.demonstration import read_npz
from trocar_learning.episodes.person import PersonSession
from trocar_learning.episodes.staging import Staging

pytestmark = pytest.mark.xdist_group("person")  # one worker: fixtures are built once
SEED = 3


def steered(keyboard, task):
    """Hold the keys that move the tip towards the goal of Reach, as the person sees it."""
    world = task.env.world
    readings = task.robot.readings("PSM")
    T_display_world = readings.T_reference_base @ inverse(world.T_world_base["PSM"])
    goal = (T_display_world @ np.append(task.env.world.value("goal"), 1.0))[:3]
    way = goal - readings.measured_pose()[:3, 3]
    keyboard.hold({key for key, (_, twist) in MOTIONS.items() if twist[:3] @ way > 1e-3 * np.abs(twist[:3]).max()})


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """A data set of one episode of Reach with stereo pictures, played with the keyboard in stepped time."""
    folder = tmp_path_factory.mktemp("person")
    recipe = EpisodeRecipe(task="Reach", count=1, policy="person", seed=SEED, recovery=0.0, format="npz")
    with LiveTask("Reach", limit=20.0, speed="stepped") as task, PersonSession(recipe, folder / "set") as session:
        keyboard, rows = Keyboard(), []
        console = DeviceConsole(task.robot, {"PSM": keyboard}, scale=0.5)
        task.begin(SEED, lambda env: rows.append(session.rows(env)) or rows[0])
        task.robot.every(0.02, lambda _: steered(keyboard, task))
        task.robot.every(5e-3, lambda _: console.poll())
        console.start()
        task.robot.run(0.3)
        for _ in range(2):  # close the gripper and open it
            keyboard.press("G")
            task.robot.run(0.1)
        for _ in range(60):
            task.robot.run(0.2)
            if task.info is not None:
                break
        result = session.add(task, rows[0])
        assert session.finish()
    return folder / "set", result


def test_a_person_with_a_keyboard_solves_a_task(played):
    folder, result = played
    assert result.group == "demonstration"
    episode = load_episodes(folder)[0]
    assert episode.success is True
    assert (episode.about["policy"], episode.about["seed"], episode.about["mode"]) == ("person", SEED, "tip_increment")
    assert len(episode.recording) == result.frames


def test_frames_of_a_person_are_those_of_the_environment(played):
    """The same actions in the environment lead along the same path; wrong times, frames or units would not."""
    folder, _ = played
    frames = read_npz(folder / "episode_000000.npz").frames
    env = make_task("Reach", mode="tip_increment")
    env.reset(seed=SEED)
    env.task.duration = 20.0
    q, tau, info = [], [], {}
    for action in frames[f.ENV_ACTION]:
        q.append(env.world.arms["PSM"].q.copy())
        tau.append(env.mean_effort("PSM"))
        _, _, over, _, info = env.step(action)
        if over:
            break
    assert info["is_success"]
    assert len(frames[f.ACTION]) - len(q) <= 1
    np.testing.assert_allclose(frames[f.POSITION][: len(q), :3], np.array(q)[:, :3], atol=2e-3)
    off = np.abs(frames[f.EFFORT][2 : len(q), :3] - np.array(tau)[2:, :3]).mean(axis=0)
    assert (off < 0.15 * np.abs(tau).mean(axis=0)[:3]).all()
    T = tr.load_mechanism("PSM").forward_kinematics(frames[f.POSITION].astype(float))
    np.testing.assert_allclose(frames[f.STATE][:, :3], T[:, :3, 3], atol=1e-6)
    assert np.linalg.norm(frames[f.ACTION][:, :3] - frames[f.STATE][:, :3], axis=1).max() < 0.01  # follows its command


class Script(PassiveDevice):
    """Pinches, moves, and after the first episode of a run presses Ctrl-C if `interrupts`."""

    name, help, begin, interrupts = "script", "", "wait", False

    def __init__(self):
        self.begun = None

    def read(self, t):
        self.begun = t if self.begun is None else self.begun
        s = t - self.begun
        if s > 1.2 and self.interrupts:
            raise KeyboardInterrupt
        gripper = 0.0 if s % 0.8 < 0.3 else 1.0
        return DeviceSample(np.array([0.01 * (s % 0.8 > 0.5), 0, 0, 0, 0, 0]), gripper=gripper)


def test_the_command_records_continues_and_overwrites_nothing(tmp_path, monkeypatch):
    shorten(monkeypatch)
    monkeypatch.setitem(DEVICES, "script", DeviceKind(lambda index: Script()))
    folder = tmp_path / "demos"

    def run(count, *options):
        command = ["teleop", "record", "Reach", "--master", "script", "--no-page", "-o", str(folder)]
        return CliRunner().invoke(app, [*command, "-n", str(count), "--duration", "5", *options])

    monkeypatch.setattr(Script, "interrupts", True)
    result = run(500, "--stereo", "32x32", "--fps", "25")
    assert result.exit_code == 0, result.output
    assert "episodes are kept" in result.output
    kept = len(list((folder / ".recording" / "episodes").glob("*.npz")))
    assert kept >= 1
    before = contents(folder)
    refused = run(500, "--seed", "7", "--stereo", "32x32", "--fps", "25")
    assert refused.exit_code == 2
    assert "seed is 0, not 7" in refused.output
    assert contents(folder) == before
    monkeypatch.setattr(Script, "interrupts", False)
    result = run(kept + 1, "--stereo", "32x32", "--fps", "25")
    assert result.exit_code == 0, result.output
    assert f"Written: {folder}" in result.output.replace("\n", "")
    episodes = load_episodes(folder)
    assert [episode.about["seed"] for episode in episodes] == list(range(kept + 1))
    assert not (folder / ".recording").exists()
    assert {broken.level for broken in broken_rules(folder)} <= {"warning"}
    assert json.loads((folder / "meta/info.json").read_text())["fps"] == 25
    assert episodes[0].images(f"{f.IMAGES}.left").shape == (len(episodes[0].recording), 32, 32, 3)
    before = contents(folder)
    assert "holds this data set already" in run(kept + 1, "--stereo", "32x32", "--fps", "25").output
    assert f"is complete with {kept + 1} episodes" in run(kept + 5, "--stereo", "32x32", "--fps", "25").output
    assert contents(folder) == before


def test_episodes_of_a_person_are_not_dropped_by_a_smaller_count(tmp_path):
    recipe = EpisodeRecipe(task="Reach", count=3, policy="person", recovery=0.0)
    staging = Staging(tmp_path)
    staging.begin(recipe)
    staging.episode_file(0).parent.mkdir()
    for k in range(2):
        staging.episode_file(k).touch()
    before = contents(tmp_path)
    with pytest.raises(TrocarError, match="has 2 episodes already"):
        PersonSession(replace(recipe, count=1), tmp_path)
    assert contents(tmp_path) == before
    with PersonSession(replace(recipe, count=2), tmp_path) as session:  # unlocked again
        assert session.recorded == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["FaultAdapt"], "cannot be teleoperated"),
        (["Reach", "--fps", "60"], "fps must be"),
        (["Reach", "--seed", "-1"], "--seed must be at least 0"),
        (["Reach", "--duration", "0"], "--duration must be positive"),
        (["CameraCentre"], "cannot be teleoperated"),
        (["reech"], "Did you mean 'Reach'"),
        (["practice"], "task 'practice' is unknown"),
    ],
)
def test_recordings_that_cannot_be(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(
        app, ["teleop", "record", "--master", "scripted", "--no-page", "-o", "demos", *arguments]
    )
    assert result.exit_code == 2, result.output
    assert message in result.output
    with pytest.raises(TrocarError, match="recorded by trocar teleop"):
        record(EpisodeRecipe(task="Reach", count=1, policy="person"), tmp_path / "set")
