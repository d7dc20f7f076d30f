"""Data sets of episodes, field by field: LeRobot v3.0 and v2.1 with stereo films, robomimic, npz."""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import shutil
import signal
import time
from importlib import import_module

import h5py
import numpy as np
import pyarrow.parquet as parquet
import pytest

import trocar as tr
from tests.support.small_episodes import contents, shorten, staged, written
from trocar.errors import TrocarError
from trocar.spatial import pose, quaternion, rotation
from trocar_learning.episodes import EpisodeRecipe, broken_rules, films, load_episodes, record, recording_run, staging
from trocar_learning.episodes import features as f
from trocar_learning.episodes.splits import ordered

pytestmark = pytest.mark.xdist_group("data_sets")  # one worker: fixtures are built once
COUNT, SIZE = 10, (48, 32)
EYES = (f"{f.IMAGES}.left", f"{f.IMAGES}.right")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        shorten(patch)
        recipe = EpisodeRecipe(task="Reach", count=COUNT, level="1sigma", recovery=0.2, size=SIZE)
        yield staged(tmp_path_factory.mktemp("staged"), recipe)


@pytest.fixture(scope="module")
def sets(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sets")
    return {format: written(data, folder / format, format) for format in ("lerobot3", "lerobot2.1", "npz")}


@pytest.fixture(scope="module")
def rows(data):
    """Rows of the staged episodes in the order of the data set."""
    return [episode for _, episode in data.episodes()]


def flat(table, name):
    return np.array(table[name].to_pylist())


def check_rows(table, episode, number, first, tool=f.TOOL):
    n = len(episode)
    assert table.num_rows == n
    for name, values in episode.frames.items():
        np.testing.assert_array_equal(flat(table, name).reshape(values.shape), values)
    assert flat(table, "timestamp") == pytest.approx(np.arange(n) / 50, abs=1e-6)
    assert flat(table, "frame_index").tolist() == list(range(n))
    assert flat(table, "index").tolist() == list(range(first, first + n))
    assert set(flat(table, "episode_index")) == {number}
    assert set(flat(table, "task_index")) == {0}
    assert set(table[f.INSTRUCTION].to_pylist()) == {episode.instruction}
    assert set(table[f"{tool}.psm1"].to_pylist()) == {"LARGE_NEEDLE_DRIVER_400006"}


def check_info(folder, rows, version):
    info = json.loads((folder / "meta" / "info.json").read_text())
    assert info["codebase_version"] == version
    assert (info["robot_type"], info["fps"], info["total_tasks"], info["chunks_size"]) == ("dvrk", 50, 1, 1000)
    assert info["total_episodes"] == COUNT
    assert info["total_frames"] == sum(map(len, rows))
    features = info["features"]
    assert features["observation.state"]["names"] == [
        f"psm{k}_{part}" for k in (1, 2) for part in (*(f"pose.{axis}" for axis in f.POSE), "jaw")
    ]
    assert features["action"]["names"] == [
        f"psm{k}_{part}" for k in (1, 2) for part in (*(f"sp.{axis}" for axis in f.POSE), "jaw_sp")
    ]
    assert {features[name]["dtype"] for name in EYES} == {"video"}
    assert features[EYES[0]]["shape"] == [32, 48, 3]
    for name in ("observation.state", "action"):
        assert features[name]["shape"] == [16]
    for name in ("observation.position", "observation.velocity", "observation.effort"):
        assert features[name]["shape"] == [7]
    assert features["observation.meta.force_torque"]["names"] == ["fx", "fy", "fz", "tx", "ty", "tz"]
    ranges = [tuple(map(int, text.split(":"))) for text in info["splits"].values()]
    assert list(info["splits"])[:3] == ["train", "val", "test"]
    assert [a for a, _ in ranges] == [0, *(b for _, b in ranges[:-1])]
    assert ranges[-1][1] == COUNT
    return info


def test_lerobot21_has_every_field(sets, rows, data):
    folder, first = sets["lerobot2.1"], 0
    info = check_info(folder, rows, "v2.1")
    assert info["data_path"] == "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
    assert (info["total_videos"], info["total_chunks"]) == (2 * COUNT, 1)
    lines = {
        name: [json.loads(line) for line in (folder / "meta" / f"{name}.jsonl").read_text().splitlines()]
        for name in ("episodes", "episodes_stats", "tasks")
    }
    assert lines["tasks"] == [{"task_index": 0, "task": rows[0].instruction}]
    for number, episode in enumerate(rows):
        name = f"episode_{number:06d}"
        check_rows(parquet.read_table(folder / f"data/chunk-000/{name}.parquet"), episode, number, first)
        entry = lines["episodes"][number]
        assert (entry["episode_index"], entry["tasks"], entry["length"]) == (
            number,
            [episode.instruction],
            len(episode),
        )
        assert (entry["seed"], entry["success"]) == (episode.about["seed"], episode.about["success"])
        assert entry["parameters"]["PSM"].startswith("name =")
        assert data.split_of(number) == entry["split"]
        figures = lines["episodes_stats"][number]["stats"]
        state = episode.frames["observation.state"].astype(float)
        assert figures["observation.state"]["mean"] == pytest.approx(state.mean(axis=0))
        assert figures["observation.state"]["std"] == pytest.approx(state.std(axis=0))
        assert np.shape(figures[EYES[0]]["mean"]) == (3, 1, 1)
        assert figures["action"]["count"] == [len(episode)]
        for eye in EYES:
            images = films.decoded(folder / f"videos/chunk-000/{eye}/{name}.mp4", (32, 48), 0.0, len(episode))
            mean = images.mean(axis=(0, 1, 2)) / 255
            assert mean == pytest.approx(np.ravel(episode.about["pixels"][eye]["mean"]), abs=0.03)
        first += len(episode)


def test_lerobot3_has_every_field(sets, rows):
    folder, first = sets["lerobot3"], 0
    info = check_info(folder, rows, "v3.0")
    texts = {name for name, feature in info["features"].items() if feature["dtype"] == "string"}
    assert not any(name.startswith("observation") for name in texts)  # lerobot-train would take them for numbers
    assert info["data_path"] == "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
    assert (info["data_files_size_in_mb"], info["video_files_size_in_mb"]) == (100, 200)
    table = parquet.read_table(folder / "data/chunk-000/file-000.parquet")
    episodes = parquet.read_table(folder / "meta/episodes/chunk-000/file-000.parquet").to_pylist()
    tasks = parquet.read_table(folder / "meta/tasks.parquet").to_pandas()
    assert tasks.index.tolist() == [rows[0].instruction]
    assert tasks["task_index"].tolist() == [0]
    stats = json.loads((folder / "meta/stats.json").read_text())
    every = np.concatenate([episode.frames["action"] for episode in rows]).astype(float)
    assert stats["action"]["mean"] == pytest.approx(every.mean(axis=0))
    assert stats["action"]["std"] == pytest.approx(every.std(axis=0), abs=1e-12)
    assert stats["action"]["max"] == pytest.approx(every.max(axis=0))
    assert set(stats["action"]) == {"min", "max", "mean", "std", "count", "q01", "q10", "q50", "q90", "q99"}
    ends = dict.fromkeys(EYES, 0.0)
    for number, (episode, entry) in enumerate(zip(rows, episodes, strict=True)):
        n = len(episode)
        check_rows(table.slice(first, n), episode, number, first, tool="meta.tool")
        assert (entry["episode_index"], entry["tasks"], entry["length"]) == (number, [episode.instruction], n)
        assert (entry["dataset_from_index"], entry["dataset_to_index"]) == (first, first + n)
        assert entry["data/chunk_index"] == entry["data/file_index"] == entry["meta/episodes/file_index"] == 0
        assert entry["trocar/seed"] == episode.about["seed"]
        assert len(entry["stats/observation.state/q50"]) == 16
        for eye in EYES:
            assert entry[f"videos/{eye}/from_timestamp"] == pytest.approx(ends[eye])
            ends[eye] = entry[f"videos/{eye}/to_timestamp"]
            assert ends[eye] == pytest.approx(entry[f"videos/{eye}/from_timestamp"] + n / 50)
        first += n


def test_joined_films_show_the_same_images_as_single_ones(sets):
    three, two = load_episodes(sets["lerobot3"]), load_episodes(sets["lerobot2.1"])
    for number in (0, 7, COUNT - 1):
        np.testing.assert_array_equal(three[number].images(EYES[1]), two[number].images(EYES[1]))


def test_films_are_joined_in_a_folder_with_any_name(tmp_path):
    folder = tmp_path / "it's \\ mine"
    folder.mkdir()
    shades = (40, 200)
    for k, shade in enumerate(shades):
        (folder / f"{k}.mp4").write_bytes(films.film([np.full((16, 16, 3), shade, np.uint8)] * 2, 50))
    (tmp_path / "joined.mp4").write_bytes(films.joined([folder / "0.mp4", folder / "1.mp4"]))
    images = films.decoded(tmp_path / "joined.mp4", (16, 16), 0.0, 4)
    np.testing.assert_allclose(images.mean(axis=(1, 2, 3)), np.repeat(shades, 2), atol=6)


def test_the_two_eyes_differ_and_show_the_instrument(sets):
    episode = load_episodes(sets["lerobot3"])[0]
    left, right = (episode.images(eye).astype(int) for eye in EYES)
    assert np.abs(left - right).mean() > 0.5
    assert left.std() > 10


def test_modality_json_covers_the_state_of_groot_h(sets):
    content = json.loads((sets["lerobot2.1"] / "meta/modality.json").read_text())
    slices = {name: (part["start"], part["end"]) for name, part in content["state"].items()}
    assert slices == {"psm1_pose": (0, 7), "psm1_gripper": (7, 8), "psm2_pose": (8, 15), "psm2_gripper": (15, 16)}
    assert list(content["action"]) == list(content["state"])
    assert content["video"]["endoscope_left"] == {"original_key": EYES[0]}
    assert content["annotation"] == {"human.task_description": {"original_key": "task_index"}}


def test_the_state_is_the_forward_kinematics_of_the_joints(rows):
    mechanism = tr.load_mechanism("PSM")
    for episode in rows[:3]:
        for q, state in zip(episode.frames[f.POSITION], episode.frames[f.STATE], strict=True):
            T = mechanism.forward_kinematics(q.astype(float))
            assert state[:3] == pytest.approx(T[:3, 3], abs=1e-6)
            assert abs(state[3:7] @ quaternion(T[:3, :3])[[1, 2, 3, 0]]) == pytest.approx(1.0, abs=1e-6)
            assert state[7] == pytest.approx(q[6])
            assert state[8:].tolist() == [0, 0, 0, 0, 0, 0, 1, 0]


def test_the_quaternion_of_a_turning_tip_does_not_jump():
    near = None
    for angle in np.linspace(0.0, 4 * np.pi, 60):
        numbers = f.pose_numbers(pose(rotation("y", angle), [0.1, 0.2, 0.3]), near)
        w, x, y, z = quaternion(rotation("y", angle))
        assert abs(numbers[3:] @ [x, y, z, w]) == pytest.approx(1.0)
        assert near is None or numbers[3:] @ near[3:] > 0.99
        near = numbers


def test_only_resolution_is_below_the_rules_of_open_h(sets):
    for format in ("lerobot3", "lerobot2.1"):
        broken = broken_rules(sets[format])
        assert {(v.level, v.rule) for v in broken} <= {("warning", "resolution"), ("warning", "films")}


def test_large_pictures_break_no_rule_of_open_h(tmp_path, monkeypatch):
    shorten(monkeypatch)
    for format in ("lerobot2.1", "lerobot3"):
        recipe = EpisodeRecipe(task="Reach", count=1, format=format, size=(640, 480))
        record(recipe, tmp_path / format, executor="serial")
        assert broken_rules(tmp_path / format) == []


def test_npz_and_png_pictures(sets, data, rows, tmp_path, monkeypatch):
    loaded = load_episodes(sets["npz"])
    assert len(loaded) == COUNT
    np.testing.assert_array_equal(loaded[3].recording.q, rows[3].frames[f.POSITION].astype(float))
    shorten(monkeypatch)
    recipe = EpisodeRecipe(task="Reach", count=1, format="lerobot3", size=(32, 32), pictures="png", recovery=0.0)
    record(recipe, tmp_path / "png", executor="serial")
    images = load_episodes(tmp_path / "png")[0].images(EYES[0])
    assert images.shape[1:] == (32, 32, 3)
    assert json.loads((tmp_path / "png/meta/info.json").read_text())["features"][EYES[0]]["dtype"] == "image"


def test_robomimic_files_of_one_recipe_are_equal_at_any_time(data, tmp_path):
    """HDF5 can store the time at which an object was created, in whole seconds."""
    first = written(data, tmp_path / "first", "robomimic") / "demonstrations.hdf5"
    time.sleep(1.1)
    second = written(data, tmp_path / "second", "robomimic") / "demonstrations.hdf5"
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("format", ["lerobot3", "lerobot2.1", "npz", "robomimic"])
def test_a_full_disk_is_one_error_and_leaves_no_half_written_file(format, data, sets, tmp_path):
    """Also of HDF5, whose library ends the process if a write fails while it closes a file."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    try:
        with pytest.raises(OSError, match=r"File too large: '.*'$"):
            written(data, tmp_path / "full", format)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    whole = sets.get(format)
    for path in (tmp_path / "full").rglob("*"):
        if path.is_file():
            assert whole is not None
            assert path.read_bytes() == (whole / path.relative_to(tmp_path / "full")).read_bytes()


def test_robomimic_layout(data, rows, tmp_path):
    folder = written(data, tmp_path / "robomimic", "robomimic")
    with h5py.File(folder / "demonstrations.hdf5") as file:
        assert file["data"].attrs["total"] == sum(map(len, rows))
        env = json.loads(file["data"].attrs["env_args"])
        assert (env["env_name"], env["env_type"], env["env_kwargs"]) == (
            "trocar/Reach-v0",
            2,
            {"level": "1sigma", "mode": "joint_effort"},
        )
        for number, episode in enumerate(rows):
            demo = file[f"data/demo_{number}"]
            assert demo.attrs["num_samples"] == len(episode)
            np.testing.assert_array_equal(demo["actions"], episode.frames[f.ENV_ACTION])
            assert np.abs(demo["actions"]).max() <= 1.0
            assert demo["rewards"].shape == demo["dones"].shape == (len(episode),)
            assert demo["dones"][-1] == 1
            np.testing.assert_array_equal(demo["obs/position"][1:], demo["next_obs/position"][:-1])
            np.testing.assert_array_equal(demo["next_obs/effort"][-1], episode.final[f.EFFORT])
        masks = [name.decode() for mask in file["mask"].values() for name in mask[()]]
    assert sorted(masks) == sorted(f"demo_{k}" for k in range(COUNT))
    assert load_episodes(folder)[2].about["seed"] == rows[2].about["seed"]


def record_until_killed(recipe, folder, module, name, calls):
    """Record short episodes in this process, which is killed at the given call of a function."""
    shorten(pytest.MonkeyPatch())
    left, original = [calls], getattr(import_module(module), name)

    def dying(*arguments):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*arguments)

    setattr(import_module(module), name, dying)
    record(recipe, folder, executor="serial")


def test_a_recording_that_is_killed_three_times_gives_the_same_files(tmp_path, monkeypatch):
    shorten(monkeypatch)
    recipe = EpisodeRecipe(task="Reach", count=4, recovery=0.3, size=(32, 32))
    record(recipe, tmp_path / "whole", executor="serial")
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(
        ["trocar_learning.episodes", "trocar_learning.envs.tasks.reach", "h5py", "pyarrow.parquet"]
    )

    for dying_module, name, calls in (
        (staging, "npz_bytes", 2),
        (staging, "npz_bytes", 2),
        (recording_run, "write_json", 1),
    ):
        arguments = recipe, tmp_path / "killed", dying_module.__name__, name, calls
        child = processes.Process(target=record_until_killed, args=arguments)
        child.start()
        child.join()
        assert child.exitcode == -signal.SIGKILL
        if name == "npz_bytes":
            with pytest.raises(TrocarError, match="unfinished recording"):
                load_episodes(tmp_path / "killed")
    assert record(recipe, tmp_path / "killed", executor="serial") is True
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")
    assert record(recipe, tmp_path / "killed", executor="serial") is False


def test_nothing_is_overwritten(tmp_path, monkeypatch):
    shorten(monkeypatch)
    recipe = EpisodeRecipe(task="Reach", count=1, format="npz", recovery=0.0)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(TrocarError, match=r"is not empty.*notes\.txt"):
        record(recipe, tmp_path / "mine", executor="serial")
    record(recipe, tmp_path / "set", executor="serial")
    before = contents(tmp_path / "set")
    with pytest.raises(TrocarError, match="seed is 0, not 5"):
        record(
            EpisodeRecipe(task="Reach", count=1, format="npz", recovery=0.0, seed=5),
            tmp_path / "set",
            executor="serial",
        )
    assert contents(tmp_path / "set") == before
    staging.Staging(tmp_path / "old").begin(recipe)
    begun = tmp_path / "old" / ".recording" / "recipe.json"
    begun.write_text(begun.read_text().replace(tr.__version__, "0.0.1"))
    with pytest.raises(TrocarError, match=r"was begun with trocar 0\.0\.1"):
        record(recipe, tmp_path / "old", executor="serial")
    begun.write_text("{")
    with pytest.raises(TrocarError, match=r"recipe\.json"):
        record(recipe, tmp_path / "old", executor="serial")
    staging.Staging(tmp_path / "half").begin(recipe)
    half = tmp_path / "half" / ".recording" / "episodes" / "000000.npz"
    half.parent.mkdir()
    half.write_bytes(b"PK\x03\x04 half of a file")
    with pytest.raises(TrocarError, match=r"000000\.npz: .* damaged .* remove it to record the episode again"):
        record(recipe, tmp_path / "half", executor="serial")
    assert half.read_bytes().endswith(b"half of a file")
    with pytest.raises(TrocarError, match="workers must be"):
        record(recipe, tmp_path / "unborn", workers=0)
    assert not (tmp_path / "unborn").exists()
    (tmp_path / "file").write_text("")
    (tmp_path / "dangling").symlink_to(tmp_path / "gone")
    for place in ("file", "dangling"):
        with pytest.raises(TrocarError, match="needs a folder"):
            record(recipe, tmp_path / place, executor="serial")


@pytest.mark.parametrize(
    ("share", "recoveries"), [(0.0, []), (0.25, [3, 7]), (0.5, [1, 3, 5, 7]), (1.0, list(range(8)))]
)
def test_recoveries_are_spread_over_the_episodes(share, recoveries):
    recipe = EpisodeRecipe(task="Reach", count=8, recovery=share)
    assert [index for index in range(8) if recipe.is_recovery(index)] == recoveries


def test_demonstrations_are_split_by_80_10_and_10_percent_and_followed_by_recoveries_and_failures():
    groups = ["failure", *["demonstration"] * 21, "recovery", "demonstration", "recovery"]
    order, splits = ordered([staging.Outcome(index, group, 1) for index, group in enumerate(groups)])
    assert {split.name: str(split) for split in splits} == {
        "train": "0:18",
        "val": "18:20",
        "test": "20:22",
        "recovery": "22:24",
        "failure": "24:25",
    }
    assert [outcome.index for outcome in order] == [*range(1, 22), 23, 22, 24, 0]


def test_removing_a_linked_staging_folder_keeps_the_files_it_points_to(tmp_path):
    thesis = tmp_path / "thesis" / "recipe.json"
    thesis.parent.mkdir()
    thesis.write_text("mine")
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / staging.STAGING).symlink_to(thesis.parent)
    staging.Staging(tmp_path / "set").remove()
    assert thesis.read_text() == "mine"
    assert not list((tmp_path / "set").iterdir())


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"task": "Rech"}, "Did you mean 'Reach'"),
        ({"format": "rlds"}, "format 'rlds' is unknown"),
        ({"count": 0}, "count must be"),
        ({"count": 10**400}, "count must be"),
        ({"recovery": 10**400}, "recovery must be"),
        ({"recovery": 2.0}, "recovery must be"),
        ({"size": (31, 32)}, "from 16 to 4096 pixels and even"),
        ({"size": (0, 32)}, "from 16 to 4096 pixels and even"),
        ({"size": 32}, r"size must be \(width, height\)"),
        ({"size": (32, 32), "format": "npz"}, "pictures='png'"),
    ],
)
def test_wrong_recipes_are_refused(values, message):
    with pytest.raises(TrocarError, match=message):
        EpisodeRecipe(**{"task": "Reach", "count": 1} | values)


BROKEN = {
    "videos": lambda d: shutil.rmtree(d / "videos"),
    "chunk": lambda d: (d / "data/chunk-000").rename(d / "data/part-0"),
    "episodes_stats": lambda d: (d / "meta/episodes_stats.jsonl").unlink(),
    "readme": lambda d: (d / "meta/README.md").unlink(),
    "synchron": lambda d: (d / "meta/README.md").write_text("nothing"),
    "json": lambda d: (d / "meta/info.json").write_text("{"),
    "fps": lambda d: change(d, lambda info: info.update(fps=10)),
    "robot": lambda d: change(d, lambda info: info.pop("robot_type")),
    "splits": lambda d: change(d, lambda info: info.pop("splits")),
    "split": lambda d: change(d, lambda info: info["splits"].pop("val")),
    "action": lambda d: change(d, lambda info: info["features"].pop("action")),
    "images": lambda d: change(d, lambda info: [info["features"].pop(eye) for eye in EYES]),
    "film": lambda d: min(d.glob("videos/**/*.mp4")).write_bytes(b"no film"),
    "no episodes": lambda d: (d / "meta/episodes.jsonl").write_text(""),
    "no task": lambda d: (d / "meta/episodes.jsonl").write_text('{"episode_index": 0}\n'),
    "bad episodes": lambda d: (d / "meta/episodes.jsonl").write_text("{\n"),
    "rows": lambda d: [path.write_bytes(b"PAR1") for path in d.glob("data/chunk-*/*.parquet")],
}
LEVELS = {"fps": "warning", "robot": "warning", "splits": "warning", "split": "warning", "images": "warning"}
LEVELS |= {"no task": "warning", "synchron": "warning"}


def change(folder, edit):
    path = folder / "meta" / "info.json"
    info = json.loads(path.read_text())
    edit(info)
    path.write_text(json.dumps(info))


@pytest.mark.parametrize("name", BROKEN)
def test_every_broken_rule_of_open_h_is_reported(name, sets, tmp_path):
    folder = shutil.copytree(sets["lerobot2.1"], tmp_path / "set")
    before = broken_rules(folder)
    BROKEN[name](folder)
    new = [broken for broken in broken_rules(folder) if broken not in before]
    assert LEVELS.get(name, "error") in {broken.level for broken in new}
