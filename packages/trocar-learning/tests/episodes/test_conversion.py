"""Recordings as data sets, and the LeRobot robot over the dVRK's topics."""

from __future__ import annotations

import importlib
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import trocar as tr
import trocar_learning as tl
from tests.support.repository import ROOT
from tests.support.small_episodes import shorten
from trocar.cli import app
from trocar.errors import TrocarError
from trocar_learning.episodes import EpisodeRecipe, broken_rules, convert, record
from trocar_learning.episodes import features as f
from trocar_learning.episodes.conversion import demonstration
from trocar_learning.episodes.demonstration import npz_bytes
from trocar_learning.episodes.staging import Staging

ARM = tr.load_arm("PSM")


def motion(seconds=0.5, rate=200.0, shift=0.0):
    t = np.arange(0, seconds, 1 / rate)
    q = np.array([0.1, -0.1, 0.15, 0.2, 0.1, -0.1, 0.4]) + 0.05 * np.sin(3 * t + shift)[:, None]
    dq, tau = np.gradient(q, t, axis=0), 0.1 * q
    names = {"joints": ARM.joint_names, "joint_units": ARM.joint_units, "provenance": {"arm": "PSM"}}
    return tr.Recording(t=t, q=q, dq=dq, tau=tau, commands={"q": q + 0.01}, **names)


@pytest.mark.parametrize("format", ["lerobot3", "lerobot2.1", "npz"])
def test_recordings_come_back_from_a_data_set(tmp_path, format):
    one, two = motion(), motion(shift=1.0)
    convert(
        [{"psm1": one, "psm2": two}, {"psm1": two, "psm2": one}], tmp_path / "set", "tie a knot", format=format, fps=50
    )
    episodes = tl.load_episodes(tmp_path / "set")
    assert len(episodes) == 2
    assert episodes[0].instruction == "tie a knot"
    assert episodes[0].success is None  # nobody measured it
    assert "success" not in episodes[0].about
    loaded = episodes[0].recordings["psm2"]
    np.testing.assert_allclose(loaded.q, two.q[::4], atol=1e-6)
    np.testing.assert_allclose(loaded.tau, two.tau[::4], atol=1e-6)
    if format != "npz":
        rules = {(broken.level, broken.rule) for broken in broken_rules(tmp_path / "set")}
        assert rules == {("error", "folders"), ("warning", "images")}  # no films
        readme = (tmp_path / "set" / "meta" / "README.md").read_text()
        assert "Success was not measured" in readme
        assert "simulat" not in readme.lower().replace("digital simulation", "").replace("physical simulation", "")
    with pytest.raises(TrocarError, match="is not empty"):
        convert([{"psm1": one}], tmp_path / "set", "again")


def test_a_failed_or_killed_conversion_leaves_the_folder_usable(tmp_path):
    with pytest.raises(TrocarError, match=r"episode 1: the recordings have .* less than 2 frames"):
        convert([{"psm1": motion()}, {"psm1": motion(seconds=0.01)}], tmp_path / "set", "go")
    assert not list((tmp_path / "set").iterdir())
    staged = tmp_path / "set" / ".recording" / "episodes" / "000007.npz"
    staged.parent.mkdir(parents=True)
    staged.write_bytes(b"of a killed conversion")
    convert([{"psm1": motion()}], tmp_path / "set", "go", format="npz")
    assert sorted(path.name for path in (tmp_path / "set").iterdir()) == ["episode_000000.npz", "trocar.json"]
    Staging(tmp_path / "begun").begin(EpisodeRecipe(task="Reach", count=1))
    with pytest.raises(TrocarError, match="is not empty"):
        convert([{"psm1": motion()}], tmp_path / "begun", "go")


def test_a_new_recording_does_not_use_the_episodes_of_a_killed_conversion(tmp_path, monkeypatch):
    shorten(monkeypatch)
    staged = Staging(tmp_path / "set").episode_file(0)
    staged.parent.mkdir(parents=True)
    staged.write_bytes(npz_bytes(demonstration({"psm1": motion()}, "tie a knot", 30)))
    record(EpisodeRecipe(task="Reach", count=1, format="npz", recovery=0.0), tmp_path / "set", executor="serial")
    (episode,) = tl.load_episodes(tmp_path / "set")
    assert episode.about["policy"] == "expert"
    assert episode.instruction != "tie a knot"


@pytest.mark.parametrize("format", ["lerobot3", "lerobot2.1", "npz"])
@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"psm1": replace(motion(), tau=None)}, r"episode 1: observation\.effort is missing"),
        ({"psm1": motion(), "psm2": motion()}, r"episode 1: observation\.meta\.tool\.psm2 is not in episode 0"),
    ],
)
def test_all_episodes_of_a_data_set_have_the_same_features(tmp_path, format, other, message):
    with pytest.raises(TrocarError, match=message):
        convert([{"psm1": motion()}, other], tmp_path / "set", "go", format=format)
    assert not list((tmp_path / "set").iterdir())


@pytest.mark.parametrize(
    ("episodes", "message"),
    [
        ([{}], "episode 0: it has no recording"),
        ([{"psm1": 5}], "psm1 must be a Recording"),
        ([5], "an episode must be a dictionary"),
        (5, "episodes must be a list"),
        (
            [{"psm1": replace(motion(), t=np.append(motion().t[:-1], 1.7e9))}],
            r"episode of 1\.7e\+09 s needs .* time stamps",
        ),
    ],
)
def test_episodes_that_cannot_be_converted_are_named(tmp_path, episodes, message):
    with pytest.raises(TrocarError, match=message):
        convert(episodes, tmp_path / "set", "go")


@pytest.mark.parametrize(
    ("arms", "message"),
    [
        (("PSM1", "PSM2"), "--arm selects arms in a bag"),
        (("PSM1",), "--arm selects arms in a bag"),
        (("A", "B", "C"), "one or two"),
        (("A", "A"), "different PSMs"),
    ],
)
def test_a_recording_of_one_arm_is_not_taken_for_two(tmp_path, arms, message):
    file = motion().save(tmp_path / "one.npz")
    options = [word for arm in arms for word in ("--arm", arm)]
    command = ["convert", str(file), "-o", str(tmp_path / "set"), "--instruction", "go", *options]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 2
    assert message in result.output
    assert not (tmp_path / "set").exists()


def test_several_arms_are_taken_from_bags_only(tmp_path):
    files = [str(tmp_path / "one.bag"), str(motion().save(tmp_path / "one.npz"))]
    options = ["--arm", "PSM1", "--arm", "PSM2", "-o", str(tmp_path / "set"), "--instruction", "go"]
    result = CliRunner().invoke(app, ["convert", *files, *options])
    assert result.exit_code == 2
    assert "one.npz holds one arm: several --arm are for bags" in result.output


def test_actions_are_the_commanded_tips(tmp_path):
    recording = motion()
    episode = demonstration({"psm1": recording}, "reach", 50)
    T = tr.load_mechanism("PSM").forward_kinematics(recording.commands["q"][::4])
    np.testing.assert_allclose(episode.frames[f.ACTION][:, :3], T[:, :3, 3], atol=1e-6)
    assert f.TIP_WRENCH not in episode.frames
    with pytest.raises(TrocarError, match="in common"):
        demonstration({"psm1": recording, "psm2": motion(0.01)}, "reach", 50)


class Bus:
    """Topics of two arms that follow commands at once."""

    def __init__(self):
        from trocar.robot.messages import JointState, Pose

        self.published, T = {}, np.eye(4)
        T[:3, 3] = [0.0, 0.0, -0.1]
        joints = JointState(stamp=1, position=np.zeros(6), velocity=np.zeros(6), effort=np.zeros(6))
        self.messages = {}
        for arm in ("PSM1", "PSM2"):
            jaw = JointState(stamp=1, position=np.array([0.3]))
            self.messages |= {f"{arm}/measured_cp": Pose(stamp=1, T=T), f"{arm}/jaw/measured_js": jaw}
            self.messages[f"{arm}/measured_js"] = joints

    def read(self, topic):
        return self.messages.get(topic)

    def publish(self, topic, message):
        self.published[topic] = message


def test_without_commands_the_action_is_the_next_measured_tip():
    recording = replace(motion(), commands={})
    episode = demonstration({"psm1": recording}, "reach", 50)
    state, action = episode.frames[f.STATE], episode.frames[f.ACTION]
    np.testing.assert_allclose(action[:-1, :8], state[1:, :8], atol=1e-6)
    assert np.abs(action[:-1, :3] - state[:-1, :3]).max() > 1e-4


def test_the_lerobot_robot_reads_and_commands_topics(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "packages" / "lerobot-robot-dvrk" / "lerobot_robot_dvrk"))
    topics = importlib.import_module("arm_topics").ArmTopics(bus := Bus(), ["PSM1", "PSM2"], 0.01, 0.2)
    observed = topics.observation()
    assert list(observed)[:16] == f.state_names(["psm1", "psm2"], "pose")
    assert topics.action_names(topics.arms) == f.state_names(["psm1", "psm2"], "sp")
    assert (observed["psm2_pose.position.z"], observed["psm1_jaw"]) == (-0.1, 0.3)
    action = dict.fromkeys(topics.action_names(topics.arms), 0.0)
    action |= {"psm1_sp.orientation.w": 1.0, "psm2_sp.orientation.w": 1.0, "psm1_jaw_sp": 0.5}
    sent = topics.send(action)  # the origin is 100 mm away: shortened to 10 mm
    assert sent["psm1_sp.position.z"] == pytest.approx(-0.09)
    np.testing.assert_allclose(bus.published["PSM1/servo_cp"].T[:3, 3], [0, 0, -0.09])
    assert bus.published["PSM1/jaw/servo_jp"].position == pytest.approx([0.5])
    turned = action | {"psm1_sp.orientation.x": 1.0, "psm1_sp.orientation.w": 0.0}  # half a turn about x
    sent = topics.send(turned)
    assert [sent[f"psm1_sp.orientation.{axis}"] for axis in "xw"] == pytest.approx([np.sin(0.1), np.cos(0.1)])
    bus.published.clear()
    for wrong, message in (
        ({"psm1_jaw_sp": np.nan}, "finite numbers; psm1_jaw_sp is nan"),
        ({"psm2_jaw_sp": 30.0}, "the jaw of PSM2 must be from -3.2 to 3.2 rad, got 30"),
        ({"psm1_sp.orientation.w": 0.0}, "the orientation of PSM1 must be a unit quaternion"),
        ({"psm2_sp.orientation.w": 0.0}, "the orientation of PSM2 must be a unit quaternion"),
    ):
        with pytest.raises(TrocarError, match=message):
            topics.send(action | wrong)
    with pytest.raises(TrocarError, match=r"needs 16 numbers; missing: psm1_sp\.position\.x"):
        topics.send({name: action[name] for name in list(action)[1:]})
    assert not bus.published  # no arm moves if the action of another is wrong
    del bus.messages["PSM2/measured_cp"]
    with pytest.raises(TrocarError, match="PSM2/measured_cp"):
        topics.observation()
