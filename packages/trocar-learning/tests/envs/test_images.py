"""Images of tasks: Gymnasium's interface, what they show, and that they change nothing else."""

from __future__ import annotations

import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from trocar.errors import TrocarError
from trocar_learning.contest.peg_board import PEG_HEIGHT, T_camera_world
from trocar_learning.envs import make_task
from trocar_learning.envs.levels import lighting

ALL = ("stereo", "depth", "segmentation")
SIZE = (96, 60)


def test_gymnasium_finds_no_fault_in_images():
    env = make_task("Reach", images=ALL, image_size=SIZE, level="1sigma")
    check_env(env, skip_render_check=True)
    assert set(env.observation_space.spaces) == {"state", "left", "right", "depth", "segmentation"}
    env.close()


def test_gymnasium_finds_no_fault_in_rendering():
    check_env(gymnasium.make("trocar/Reach-v0", render_mode="rgb_array").unwrapped)


def test_the_state_is_the_same_with_and_without_images_and_images_repeat():
    with_images, without = make_task("PegTransfer", images=ALL, image_size=SIZE, level="3sigma"), None
    runs = []
    for _ in range(2):
        observed, _ = with_images.reset(seed=5)
        rows = [observed, *(with_images.step(np.full(14, 0.5))[0] for _ in range(2))]
        runs.append(rows)
    without = make_task("PegTransfer", level="3sigma")
    states = [without.reset(seed=5)[0], *(without.step(np.full(14, 0.5))[0] for _ in range(2))]
    for first, second, state in zip(*runs, states, strict=True):
        assert first["state"].tobytes() == second["state"].tobytes() == state.tobytes()
        for name in ("left", "right", "depth", "segmentation"):
            assert first[name].tobytes() == second[name].tobytes()
    # the image of the second observation shows the state of the first: nothing has moved yet
    assert runs[0][1]["left"].tobytes() == runs[0][0]["left"].tobytes()
    assert runs[0][2]["left"].tobytes() != runs[0][0]["left"].tobytes()
    again = pickle.loads(pickle.dumps(with_images))
    one, other = with_images.step(np.zeros(14))[0], again.step(np.zeros(14))[0]
    assert all(one[name].tobytes() == other[name].tobytes() for name in one)


def test_depth_and_segmentation_show_the_pegs_where_they_are():
    env = make_task("PegTransfer", images=("depth", "segmentation"), image_size=(320, 200))
    observed, _ = env.reset(seed=2)
    lens = 160.0 / np.tan(np.radians(40.0))  # 80 degrees over 320 pixels
    for name in ("blue", "red"):
        x, y, z, _ = T_camera_world() @ env.world.scene.objects[name].pose @ [0.0, 0.0, PEG_HEIGHT, 1.0]
        v, u = np.nonzero(observed["segmentation"] == env.labels.index(name))
        assert abs(u.mean() - (159.5 + lens * x / z)) < 12
        assert abs(v.mean() - (99.5 + lens * y / z)) < 14
        assert observed["depth"][v, u].mean() == pytest.approx(z, abs=8e-3)
    env.close()


def test_images_come_at_their_rate():
    env = make_task("Reach", images="stereo", image_size=SIZE, image_rate=12.5)
    observed, _ = env.reset(seed=0)
    lefts = [observed["left"], *(env.step(np.ones(7))[0]["left"] for _ in range(9))]
    new = [k for k in range(1, 10) if lefts[k].tobytes() != lefts[k - 1].tobytes()]
    assert new == [5, 9]  # of the states at 0.08 s and 0.16 s; the first ones are the same
    env.close()


def test_light_is_drawn_at_a_level_and_leaves_the_generator_alone():
    rng, same = np.random.default_rng(1), np.random.default_rng(1)
    assert lighting(0.0, rng) is None
    drawn = lighting(3.0, rng)
    assert drawn == lighting(3.0, same)
    assert drawn != lighting(3.0, np.random.default_rng(2))
    assert rng.random() == np.random.default_rng(1).random()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"images": "smell"}, "kind of image 'smell' is unknown"),
        ({"images": 5}, "images must be"),
        ({"images": "stereo", "image_size": (0, 5)}, "image_size must be"),
        ({"images": "stereo", "image_size": "big"}, "image_size must be"),
        ({"images": "stereo", "image_rate": 0}, "image_rate must be positive"),
        ({"variant": "surrol"}, "Reach has no variants"),
    ],
)
def test_an_unknown_option_of_images_is_refused(options, message):
    with pytest.raises(TrocarError, match=message):
        make_task("Reach", **options)
