"""Episodes at another rate than the control rate."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tests.support.small_episodes import shorten
from trocar.arms import load_arm
from trocar.errors import TrocarError
from trocar_learning.episodes import EpisodeRecipe, load_episodes, record
from trocar_learning.episodes import features as f
from trocar_learning.episodes.demonstration import Demonstration
from trocar_learning.episodes.open_h_rules import film_figures
from trocar_learning.episodes.resampling import resampled

RATE, N = 50, 40


def turning(t):
    """States or commands (N, 16) of a tip that moves at 10 mm/s and turns at 1 rad/s."""
    tip = np.column_stack([0.01 * t, 0 * t, -0.1 + 0 * t, Rotation.from_rotvec(np.outer(t, [0, 0, 1.0])).as_quat()])
    return np.column_stack([tip, 0.2 + t, np.tile(f.ABSENT, (len(t), 1))])


@pytest.fixture(scope="module")
def episode():
    t = np.arange(N) / RATE
    layout = f.layout(["psm1"], [load_arm("PSM").joint_names], 1, 1)
    name, feature = f.picture_feature("left", (8, 8), "mp4", RATE)
    frames = {
        f.STATE: turning(t),
        f.ACTION: turning(t + 1 / RATE),
        f.TASK_STATE: t[:, None],
        f.ENV_ACTION: np.where(np.arange(N) % 2, 1.0, 0.0)[:, None],
        f.REWARD: np.ones((N, 1)),
        f.DONE: (np.arange(N) == N - 1)[:, None],
        f.SUCCESS: (np.arange(N) >= N - 3)[:, None],
    }
    final = {f.STATE: turning(np.array([N / RATE]))[0], f.TASK_STATE: np.array([N / RATE])}
    return Demonstration(RATE, "turn", layout | {name: feature}, frames, final, {})


@pytest.mark.parametrize("fps", [30, 25, 7])
def test_frames_are_at_their_times(episode, fps):
    films = {f"{f.IMAGES}.left": [np.full((8, 8, 3), k) for k in range(N)]}
    changed, pictures = resampled(episode, films, fps)
    count = round(N * fps / RATE)
    t = np.arange(count) / fps
    assert (len(changed), changed.fps) == (count, fps)
    assert changed.frames[f.TASK_STATE][:, 0] == pytest.approx(t)
    np.testing.assert_allclose(changed.frames[f.STATE], turning(t), atol=1e-4)
    ends = np.append(t[:-1] + 1 / fps, N / RATE)
    np.testing.assert_allclose(changed.frames[f.ACTION], turning(np.minimum(ends, N / RATE)), atol=1e-4)
    assert np.linalg.norm(changed.frames[f.STATE][:, 3:7], axis=1) == pytest.approx(1.0)
    assert changed.frames[f.REWARD].sum() == pytest.approx(N)
    assert np.abs(changed.frames[f.ENV_ACTION]).max() <= 1.0
    assert changed.frames[f.DONE][:, 0].tolist() == [False] * (count - 1) + [True]
    assert changed.frames[f.SUCCESS][-1, 0]
    (images,) = pictures.values()
    shown = np.array([image[0, 0, 0] for image in images]) / RATE
    assert np.abs(shown - t).max() <= 0.5 / RATE + 1e-9
    assert changed.features[f"{f.IMAGES}.left"]["info"]["video.fps"] == fps


def test_a_divisor_of_the_control_rate_keeps_every_nth_frame(episode):
    changed, _ = resampled(episode, {}, 25)
    np.testing.assert_allclose(changed.frames[f.STATE], episode.frames[f.STATE][::2], rtol=0, atol=1e-12)
    np.testing.assert_allclose(changed.frames[f.ACTION], episode.frames[f.ACTION][1::2], rtol=0, atol=1e-12)
    assert changed.frames[f.ENV_ACTION] == pytest.approx(np.full((N // 2, 1), 0.5))
    same, _ = resampled(episode, {}, RATE)
    assert same is episode


@pytest.mark.parametrize("format", ["lerobot3", "lerobot2.1"])
def test_a_data_set_states_one_rate(tmp_path, monkeypatch, format):
    shorten(monkeypatch)
    recipe = EpisodeRecipe(task="Reach", count=1, format=format, size=(32, 32), recovery=0.0, fps=30)
    record(recipe, tmp_path / "set", executor="serial")
    info = json.loads((tmp_path / "set/meta/info.json").read_text())
    film = f"{f.IMAGES}.left"
    assert (info["fps"], info["features"][film]["info"]["video.fps"]) == (30, 30)
    figures = film_figures(next((tmp_path / "set/videos").glob("**/*.mp4")))
    assert figures is not None
    assert figures[2:] == (30.0, info["total_frames"])
    modality = json.loads((tmp_path / "set/meta/modality.json").read_text())
    assert modality["video"]["endoscope_left"] == {"original_key": film}
    last = modality["action"]["psm2_gripper"]
    assert info["features"][last["original_key"]]["shape"] == [last["end"]]
    assert "nearest instant" in (tmp_path / "set/meta/README.md").read_text()
    loaded = load_episodes(tmp_path / "set")[0]
    assert np.diff(loaded.recording.t) == pytest.approx(1 / 30)
    assert len(loaded.images(film)) == len(loaded.recording)


def test_rates_that_cannot_be(tmp_path):
    with pytest.raises(TrocarError, match="fps must be"):
        EpisodeRecipe(task="Reach", count=1, fps=60)
    with pytest.raises(TrocarError, match="robomimic replays"):
        EpisodeRecipe(task="Reach", count=1, fps=30, format="robomimic")
