"""Data sets of others, written here by their published rules: jhu-dvrk, Open-H, JIGSAWS; and hostile ones."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace

import numpy as np
import pyarrow
import pyarrow.parquet as parquet
import pytest

import trocar as tr
import trocar_learning as tl
from tests.support.small_episodes import shorten
from trocar.errors import TrocarError
from trocar.spatial import inverse, pose, quaternion, rotation
from trocar_learning.episodes import EpisodeRecipe, record, with_effort, with_joints

N = 30
t = np.arange(N) / 30
ARM = tr.load_arm("PSM")
Q = np.array(ARM.home) * 0 + [0.1, -0.1, 0.15, 0.2, 0.1, -0.1, 0.4] + 0.1 * np.sin(t)[:, None] * [1, 1, 0.1, 1, 1, 1, 1]


def v3(folder, columns, names, fps=30, extra=()):
    """A LeRobot v3.0 data set of one episode, as jhu-dvrk's exporter writes it: no statistics, no films."""
    features = {
        name: {"dtype": "float32", "shape": [values.shape[1]], "names": {"axes": names[name]}}
        for name, values in columns.items()
    }
    features |= {
        name: {"dtype": "int64", "shape": [1], "names": None} for name in ("index", "frame_index", "episode_index")
    }
    features |= {"timestamp": {"dtype": "float32", "shape": [1], "names": None}}
    n = len(next(iter(columns.values())))
    rows = {name: values.tolist() for name, values in columns.items()}
    rows |= {
        "index": np.arange(n),
        "frame_index": np.arange(n),
        "episode_index": np.zeros(n, int),
        "timestamp": np.arange(n) / fps,
    }
    for place in ("data/chunk-000", "meta/episodes/chunk-000"):
        (folder / place).mkdir(parents=True)
    parquet.write_table(pyarrow.table(rows), folder / "data/chunk-000/file-000.parquet")
    episode = {
        "episode_index": [0],
        "tasks": [["teleoperation"]],
        "length": [n],
        "data/chunk_index": [0],
        "data/file_index": [0],
    }
    episode |= {"dataset_from_index": [0], "dataset_to_index": [n], **dict(extra)}
    parquet.write_table(pyarrow.table(episode), folder / "meta/episodes/chunk-000/file-000.parquet")
    info = {
        "codebase_version": "v3.0",
        "robot_type": "dVRK",
        "fps": fps,
        "splits": {"train": "0:1"},
        "features": features,
    }
    (folder / "meta/info.json").write_text(json.dumps(info))
    return folder


def topics(count=6):
    """Columns of measured_js as the exporter infers them: fields in alphabetical order."""
    fields = sorted(f"{kind}.{k}" for kind in ("position", "velocity", "effort") for k in range(count))
    values = {"position": Q, "velocity": np.gradient(Q, t, axis=0), "effort": 0.01 * Q}
    table = np.stack([values[name.partition(".")[0]][:, int(name.rpartition(".")[2])] for name in fields], axis=1)
    return table, fields


@pytest.mark.parametrize("feature", ["ros.PSM1.measured_js", "/PSM1/measured_js"])
def test_topics_of_the_dvrk_become_recordings(tmp_path, feature):
    table, fields = topics()
    jaw = feature.replace("measured_js", "jaw.measured_js" if "ros" in feature else "jaw/measured_js")
    folder = v3(tmp_path / "set", {feature: table, jaw: Q[:, 6:]}, {feature: fields, jaw: ["position.0"]})
    episodes = tl.load_episodes(folder)
    recording = episodes[0].recordings["psm1"]
    assert (len(episodes), episodes.format, episodes[0].instruction) == (1, "LeRobot v3.0", "teleoperation")
    assert recording.joints == ARM.joint_names
    np.testing.assert_allclose(recording.q, Q, atol=1e-7)
    np.testing.assert_allclose(recording.tau[:, :6], 0.01 * Q[:, :6], atol=1e-7)
    recording.save(tmp_path / "motion.npz")
    assert tr.load_recording(tmp_path / "motion.npz").provenance["arm"] == "PSM"


def test_the_export_template_of_jhu_and_efforts_that_it_lacks(tmp_path):
    axes = [*(f"joint_{k}" for k in range(6)), "jaw"]
    columns = {"observation.state": Q, "action": Q + 0.01}
    recording = tl.load_episodes(v3(tmp_path / "set", columns, dict.fromkeys(columns, axes)))[0].recording
    np.testing.assert_allclose(recording.commands["q"], Q + 0.01, atol=1e-7)
    assert recording.tau is None
    predicted = with_effort(recording)
    mechanism = tr.load_mechanism("PSM")
    ddq = np.gradient(predicted.dq, predicted.t, axis=0)
    expected = mechanism.inverse_dynamics(predicted.q, predicted.dq, ddq, friction=True)
    np.testing.assert_allclose(predicted.tau, expected)
    assert predicted.provenance["effort"].startswith("predicted by")
    assert with_effort(predicted) is predicted


def test_tip_poses_of_open_h_become_joints(tmp_path):
    mechanism, T_world_base = tr.load_mechanism("PSM"), pose(rotation("z", 0.3), [0.1, 0.0, 0.2])
    T = T_world_base @ mechanism.forward_kinematics(Q)
    turns = np.array([quaternion(one)[[1, 2, 3, 0]] for one in T[:, :3, :3]])
    absent = np.tile([0, 0, 0, 0, 0, 0, 1, 0], (N, 1))
    state = np.column_stack([T[:, :3, 3], turns, Q[:, 6], absent])
    axes = [f"position.{a}" for a in "xyz"] + [f"orientation.{a}" for a in "xyzw"]
    names = [f"psm{k}_{part}" for k in (1, 2) for part in (*(f"pose.{axis}" for axis in axes), "jaw")]
    episode = tl.load_episodes(v3(tmp_path / "set", {"observation.state": state}, {"observation.state": names}))[0]
    assert list(episode.recordings) == ["psm1"]
    tip = episode.recording
    assert tip.joints == ("tip_x", "tip_y", "tip_z", "jaw")
    joints = with_joints(tip, "PSM", inverse(T_world_base))
    np.testing.assert_allclose(joints.q, Q, atol=1e-6)
    np.testing.assert_allclose(joints.dq, np.gradient(Q, t, axis=0), atol=1e-4)
    with pytest.raises(TrocarError, match="cannot reach the pose; give T_base_data"):
        with_joints(tip, "PSM", pose(p=[1.0, 0.0, 0.0]))
    with pytest.raises(TrocarError, match="with_joints first"):
        with_effort(tip)


def test_an_arm_that_stays_in_a_plane_is_not_absent(tmp_path):
    arm = np.column_stack([np.zeros(N), 0.01 * t, 0.1 + t, np.tile([0, 0, 0, 1], (N, 1)), 0.0 * t])
    axes = [f"position.{a}" for a in "xyz"] + [f"orientation.{a}" for a in "xyzw"]
    names = [f"psm2_{part}" for part in (*(f"pose.{axis}" for axis in axes), "jaw")]
    episode = tl.load_episodes(v3(tmp_path / "set", {"observation.state": arm}, {"observation.state": names}))[0]
    np.testing.assert_allclose(episode.recordings["psm2"].q[:, 1], 0.01 * t, atol=1e-6)


def test_kinematics_of_jigsaws(tmp_path):
    table = np.zeros((N, 76))
    for k in range(4):
        table[:, 19 * k : 19 * k + 3] = 0.01 * (k + 1) * np.sin(t)[:, None]
        table[:, 19 * k + 3 : 19 * k + 12] = rotation("x", 0.1 * k).ravel()
        table[:, 19 * k + 18] = 0.1 * k
    table[1, 41:50] = (rotation("x", 1.0) @ np.diag([1.0, 1.0, -0.01])).ravel()  # damaged: the nearest is a rotation
    (tmp_path / "kinematics").mkdir()
    np.savetxt(tmp_path / "kinematics/Suturing_B001.txt", table, fmt="%.6f")
    (tmp_path / "readme.txt").write_text("not a trial")
    episodes = tl.load_episodes(tmp_path)
    assert (len(episodes), episodes.format, episodes[0].instruction) == (1, "JIGSAWS", "Suturing")
    assert list(episodes[0].recordings) == ["mtml", "mtmr", "psm1", "psm2"]
    turned = episodes[0].recordings["psm1"].extra["tip_orientation"][1]
    assert turned == pytest.approx([np.sin(0.5), 0, 0, np.cos(0.5)], abs=1e-5)
    psm2 = episodes[0].recordings["psm2"]
    np.testing.assert_allclose(psm2.q[:, :3], table[:, 57:60], atol=1e-6)
    assert psm2.q[0, 3] == pytest.approx(0.3)
    assert psm2.extra["tip_orientation"][0] == pytest.approx([np.sin(0.15), 0, 0, np.cos(0.15)], abs=1e-5)


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        shorten(patch)
        folder = tmp_path_factory.mktemp("own") / "set"
        record(EpisodeRecipe(task="Reach", count=2, recovery=0.0), folder, executor="serial")
    return folder


def change(folder, edit):
    path = folder / "meta/info.json"
    info = json.loads(path.read_text())
    edit(info)
    path.write_text(json.dumps(info))


def link(folder, name="data/chunk-000/file-000.parquet"):
    path = folder / name
    shutil.move(path, folder.parent / "outside.parquet")
    os.symlink(folder.parent / "outside.parquet", path)


HOSTILE = {
    "another version": (lambda d: change(d, lambda i: i.update(codebase_version="v9.0")), "readable are v2.0"),
    "version no text": (lambda d: change(d, lambda i: i.update(codebase_version={"a": [1]})), "readable are v2.0"),
    "no features": (lambda d: change(d, lambda i: i.update(features=[])), "features must be"),
    "no rate": (lambda d: change(d, lambda i: i.update(fps=0)), "fps must be"),
    "a rate that overflows": (lambda d: change(d, lambda i: i.update(fps=5e-324)), "fps must be"),
    "name that climbs": (
        lambda d: change(d, lambda i: i["features"].update({"../../x": {"dtype": "video"}})),
        "no name",
    ),
    "template that climbs": (lambda d: change(d, lambda i: i.update(data_path="../{x.__class__}")), None),
    "half a table": (lambda d: cut(d / "data/chunk-000/file-000.parquet"), "damaged or incomplete"),
    "no table": (lambda d: (d / "data/chunk-000/file-000.parquet").unlink(), "missing, damaged"),
    "no list": (lambda d: shutil.rmtree(d / "meta/episodes"), "has no list of episodes"),
    "a link out": (link, "lies outside"),
    "a link out of the list": (lambda d: link(d, "meta/episodes/chunk-000/file-000.parquet"), "lies outside"),
    "a link out of the description": (lambda d: link(d, "meta/info.json"), "lies outside"),
    "no JSON": (lambda d: (d / "meta/info.json").write_text("{"), "not valid JSON"),
}
LINES = {
    "an index that is no whole number": ('{"episode_index": 0.0, "length": 3}', "row 1: episode_index must be 0"),
    "an index that is no number": ('{"episode_index": false, "length": 3}', "row 1: episode_index must be 0"),
    "a length that is no number": ('{"episode_index": 0, "length": true}', "got 0 and True"),
    "a length without end": ('{"episode_index": 0, "length": 1%s}' % ("0" * 400), "row 1: episode_index must be 0"),
    "no episode": ("", "has no episodes"),
    "another row": ("[]", r"jsonl: \[\] is no episode"),
    "no file": (None, r"^the list of episodes .*jsonl cannot be read"),
}


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_and_half_written_data_sets(kind, own, tmp_path):
    folder = shutil.copytree(own, tmp_path / "set")
    damage, message = HOSTILE[kind]
    damage(folder)
    if message is None:
        assert len(tl.load_episodes(folder)[1].recording) > 0
    else:
        with pytest.raises(TrocarError, match=message):
            tl.load_episodes(folder)[0]


@pytest.mark.parametrize("kind", LINES)
def test_lists_of_episodes_that_cannot_be(kind, own, tmp_path):
    folder = shutil.copytree(own, tmp_path / "set")
    change(folder, lambda info: info.update(codebase_version="v2.1"))
    line, message = LINES[kind]
    if line is not None:
        (folder / "meta/episodes.jsonl").write_text(line and line + "\n")
    with pytest.raises(TrocarError, match=message):
        tl.load_episodes(folder)[0]


@pytest.mark.parametrize("shape", [None, [4, 4], [10**400, 4, 3], [True, 4, 3], [0, 4, 3]])
def test_a_film_without_its_size_is_refused(own, tmp_path, shape):
    folder = shutil.copytree(own, tmp_path / "set")
    change(folder, lambda info: info["features"].update(film={"dtype": "video", "shape": shape}))
    with pytest.raises(TrocarError, match="no shape of height, width and channels"):
        tl.load_episodes(folder)[0].images("film")


@pytest.mark.parametrize(
    ("stated", "success"),
    [(True, True), (False, False), (1, True), (0.0, False), ("false", None), ("true", None), ({}, None), (2, None)],
)
def test_success_is_a_truth_value_or_not_stated(own, stated, success):
    episode = tl.load_episodes(own)[0]
    assert replace(episode, about={"success": stated}).success is success


@pytest.mark.parametrize("start", [None, -1.0, float("nan")])
def test_a_film_without_its_start_is_refused(own, tmp_path, start):
    folder = shutil.copytree(own, tmp_path / "set")
    change(folder, lambda info: info["features"].update(film={"dtype": "video", "shape": [4, 4, 3]}))
    path = folder / "meta/episodes/chunk-000/file-000.parquet"
    table = parquet.read_table(path)
    for name, value in {"chunk_index": 0, "file_index": 0, "from_timestamp": start}.items():
        if value is not None:
            table = table.append_column(f"videos/film/{name}", pyarrow.array([value] * len(table)))
    parquet.write_table(table, path)
    with pytest.raises(TrocarError, match="no valid from_timestamp of 'film'"):
        tl.load_episodes(folder)[0].images("film")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_among_text_files_does_not_block(tmp_path):
    os.mkfifo(tmp_path / "trial.txt")
    writer = os.open(tmp_path / "trial.txt", os.O_RDWR)
    os.write(writer, b"0 " * 76 + b"\n")  # a reader gets this line, and would wait for the next
    try:
        with pytest.raises(TrocarError, match="holds no episodes"):
            tl.load_episodes(tmp_path)
    finally:
        os.close(writer)


def test_folders_without_episodes(tmp_path):
    (tmp_path / "empty").mkdir()
    for place in (tmp_path / "nowhere", tmp_path / "empty", tmp_path / "a\0b"):
        with pytest.raises(TrocarError, match=r"does not exist|holds no episodes"):
            tl.load_episodes(place)


def test_episodes_of_a_split_and_by_index(own):
    episodes = tl.load_episodes(own)
    seeds = [episode.about["seed"] for name in episodes.splits for episode in episodes.split(name)]
    assert seeds == [episode.about["seed"] for episode in episodes]
    assert sorted(seeds) == [0, 1]
    assert len(episodes[-1].recording) == len(list(episodes)[1].recording)
    with pytest.raises(IndexError):
        episodes[2]
    with pytest.raises(TrocarError, match="no split 'mine'"):
        episodes.split("mine")


@pytest.mark.parametrize("text", ["a:b", "1:0", "-1:1", "0:3", "0", "0:1:2", "٠:١", "0:1_0", ""])
def test_a_split_is_a_range_within_the_episodes(own, tmp_path, text):
    folder = shutil.copytree(own, tmp_path / "set")
    change(folder, lambda info: info["splits"].update(train=text))
    with pytest.raises(TrocarError, match=r"^the split 'train' of .* must be a range such as 0:80 within 2 episodes"):
        tl.load_episodes(folder).split("train")
