"""Many worlds of a task: the numbers of its single environment, resets by mask, and the adapter of gymnasium.vector."""

from __future__ import annotations

import os

import jax
import numpy as np
import pytest

from trocar.batch.worlds.wrist_arrays import nearest_joints, tip_poses
from trocar.errors import TrocarError
from trocar.spatial import pose_error
from trocar_learning.envs import make_task
from trocar_learning.envs.policy_features import FEATURES
from trocar_learning.envs.registration import batched_tasks
from trocar_learning.envs.tasks import track
from trocar_learning.envs.worlds import Episodes, TaskWorlds

pytestmark = pytest.mark.xdist_group("worlds")  # one worker: fixtures are built once
SEEDS = (5, 6)
COMPILES = "Warp compiles the kernels of a scene for minutes; TROCAR_WARP_TESTS=1 or make gpu runs them"
needs_warp = pytest.mark.skipif(not os.environ.get("TROCAR_WARP_TESTS"), reason=COMPILES)


@pytest.fixture(scope="module")
def picking() -> Episodes:
    return Episodes.drawn("NeedlePick", (*SEEDS, 7))


@pytest.mark.parametrize("level", ["nominal", "3sigma"])
@pytest.mark.parametrize("task", batched_tasks())
def test_worlds_have_the_numbers_of_the_single_environment(task: str, level: str) -> None:
    """Observations, rewards and success of random actions, in double precision."""
    worlds = TaskWorlds(Episodes.drawn(task, SEEDS, level=level), 2, backend="threads")
    envs = [make_task(task, level=level) for _ in SEEDS]
    expected = [env.reset(seed=seed)[0] for env, seed in zip(envs, SEEDS, strict=True)]
    assert np.allclose(worlds.reset(), expected, rtol=0.0, atol=1e-6)
    rng = np.random.default_rng(0)
    for _ in range(6):
        actions = rng.uniform(-1.0, 1.0, (2, worlds.size))
        steps = [env.step(action) for env, action in zip(envs, actions, strict=True)]
        observation, reward, terminated, truncated, info = worlds.step(actions)
        # jaws that hold a needle from the start on amplify rounding: rates of joints
        loose = 30.0 if task == "Place" else 1.0
        assert np.allclose(observation, [step[0] for step in steps], rtol=1e-4, atol=1e-5 * loose)
        # Track's reward is a square of millimetres: tips of the loops and of the joints are 2e-9 m apart
        rtol = 2e-5 if task == "Track" else 0.0
        assert np.allclose(reward, [step[1] for step in steps], rtol=rtol, atol=1e-6 * loose)
        assert terminated.tolist() == [step[2] for step in steps]
        assert not truncated.any()
        assert not info["diverged"].any()


@pytest.mark.parametrize(("task", "thing"), [("NeedlePick", "needle"), ("PegLift", "blue")])
def test_the_expert_of_a_single_environment_succeeds_in_a_world(task: str, thing: str) -> None:
    worlds, env = TaskWorlds(Episodes.drawn(task, SEEDS[:1]), 1, backend="threads"), make_task(task)
    seen, _ = env.reset(seed=SEEDS[0])
    expert, over = env.expert(), False
    while not over:
        action = expert(seen)
        seen, _, over, _, _ = env.step(action)
        _, _, terminated, _, info = worlds.step(action[None])
    assert env.world.value("held")
    assert worlds.held("PSM", thing)[0]
    assert terminated[0]
    assert info["is_success"][0]


def test_a_masked_reset_starts_the_next_episode(picking: Episodes) -> None:
    worlds = TaskWorlds(picking, 2, backend="threads")
    first = worlds.reset()
    moved = worlds.step(np.full((2, 7), 0.5))[0]
    after = worlds.reset(np.array([True, False]))
    assert worlds.episode.tolist() == [2, 1]
    assert worlds.elapsed.tolist() == [0, 1]
    assert np.array_equal(after[1], moved[1])
    assert np.allclose(after[0, 35:38], picking.numbers["goal"][2])
    assert np.allclose(worlds.batch.commanded["PSM"][0], picking.commanded[2])
    assert np.array_equal(worlds.reset(), first)


def test_the_next_episode_of_a_level_has_its_own_robot() -> None:
    """After a masked reset, a world goes on as the single environment of its next seed, delay included."""
    episodes = Episodes.drawn("Track", (4, 5, 6, 7), level="3sigma")
    assert episodes.robots is not None
    assert episodes.robots.delay.tolist() == [2, 0, 1, 2]
    worlds, env = TaskWorlds(episodes, 2, backend="threads"), make_task("Track", level="3sigma")
    worlds.step(np.full((2, 7), 0.2))
    worlds.reset(np.array([False, True]))
    env.reset(seed=7)
    for action in np.random.default_rng(1).uniform(-0.5, 0.5, (5, 7)):
        observation, reward, *_ = worlds.step(np.array([action, action]))
        expected, expected_reward, *_ = env.step(action)
        assert np.allclose(observation[1], expected, rtol=1e-4, atol=1e-5)
        assert reward[1] == pytest.approx(expected_reward, rel=2e-5, abs=1e-6)


def test_tracking_is_judged_over_the_end_of_an_episode(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error of the tip over the last 0.2 s of a shortened episode: that of the single environment."""
    monkeypatch.setattr(track.TrackTask, "duration", 0.4)
    monkeypatch.setattr(track, "JUDGED", 0.2)
    worlds, env = TaskWorlds(Episodes.drawn("Track", [3]), 1, backend="threads"), make_task("Track")
    env.reset(seed=3)
    for _ in range(worlds.task.periods):
        env.step(np.zeros(7))
        *_, terminated, truncated, info = worlds.step(np.zeros((1, 7)))
    assert worlds.task.rms(worlds)[0] == pytest.approx(env.task.rms(env.world)[0], rel=1e-4)
    assert worlds.memory["count"][0] == env.world.value("count") == 10
    assert truncated[0]
    assert bool(info["is_success"][0]) == bool(terminated[0]) == bool(env.task.solved(env.world)[0])
    first = worlds.task.rms(worlds)[0]
    worlds.reset(np.array([True]))  # the same episode again
    for _ in range(worlds.task.periods):
        worlds.step(np.zeros((1, 7)))
    assert worlds.memory["count"][0] == 10
    assert worlds.task.rms(worlds)[0] == first


@needs_warp
def test_random_lengths_of_rsl_rl_leave_the_time_of_the_task() -> None:
    """Random lengths of the first episodes, which rsl_rl sets, end them at different times."""
    pytest.importorskip("tensordict", reason="tensordict of rsl_rl is not installed")
    pytest.importorskip("rsl_rl", reason="rsl_rl is not installed (extra `learn`)")
    import torch

    from trocar_learning.envs.worlds.rsl_worlds import RslWorlds

    worlds = TaskWorlds(Episodes.drawn("Track", (*SEEDS, 7)), 2, backend="warp", device="cpu")
    with pytest.raises(TrocarError, match="periods must be"):
        RslWorlds(worlds, periods=0)
    env = RslWorlds(worlds, periods=4)
    env.episode_length_buf = torch.tensor([2, 0], device=env.device)
    zeros, dones = torch.zeros(2, 7, device=env.device), []
    for _ in range(4):
        _, _, done, extras = env.step(zeros)
        dones.append(done.tolist())
        assert extras["time_outs"].tolist() == [bool(x) for x in done.tolist()]
    assert dones == [[0, 0], [1, 0], [0, 0], [0, 1]]
    assert worlds.elapsed.tolist() == env.episode_length_buf.tolist() == [2, 0]
    assert env.ended == [2, 0, 0]


def test_rsl_rl_needs_worlds_with_tensors(picking: Episodes) -> None:
    pytest.importorskip("tensordict", reason="tensordict of rsl_rl is not installed")
    pytest.importorskip("rsl_rl", reason="rsl_rl is not installed (extra `learn`)")
    from trocar_learning.envs.worlds.rsl_worlds import RslWorlds

    with pytest.raises(TrocarError, match="backend='warp'"):
        RslWorlds(TaskWorlds(picking, 2, backend="threads"))


def test_jax_shares_observations_and_actions() -> None:
    """A policy in JAX: observations go there by DLPack, and actions come back without a copy."""
    worlds = TaskWorlds(Episodes.drawn("Reach", [0, 1]), 2, backend="threads")
    observation = worlds.reset().astype(np.float32)
    seen = jax.dlpack.from_dlpack(observation)  # copied unless NumPy has aligned it as JAX does
    action = jax.jit(lambda x: jax.numpy.tanh(x[:, : worlds.size]))(seen)
    back = np.from_dlpack(action)
    assert back.ctypes.data == action.unsafe_buffer_pointer()
    moved = worlds.step(back)[0]
    assert np.allclose(moved[:, 21:28], np.asarray(action), rtol=0.0, atol=1e-7)


@needs_warp
@pytest.mark.parametrize("level", ["nominal", "3sigma"])
def test_warp_has_the_numbers_of_threads(level: str) -> None:
    """Track in float32, with tensors of torch that JAX shares, on the GPU or on Warp's processor device."""
    import torch
    import warp

    device = "cuda:0" if warp.is_cuda_available() else "cpu"
    episodes = Episodes.drawn("Track", (*SEEDS, 7), level=level)
    on_threads = TaskWorlds(episodes, 2, backend="threads")
    on_warp = TaskWorlds(episodes, 2, backend="warp", device=device)
    rng = np.random.default_rng(0)
    for _ in range(3):
        actions = rng.uniform(-0.5, 0.5, (2, 7)).astype(np.float32)
        expected, reward, *_ = on_threads.step(actions.astype(float))
        observation, warp_reward, *_ = on_warp.step(torch.from_dlpack(jax.numpy.asarray(actions)).to(device))
        numbers = on_warp.numpy(observation)
        assert np.allclose(numbers[:, :7], expected[:, :7], rtol=0.0, atol=2e-5)  # an encoder may be one count apart
        assert np.allclose(numbers[:, 14:], expected[:, 14:], rtol=1e-3, atol=5e-3)
        assert np.allclose(on_warp.numpy(warp_reward), reward, rtol=0.0, atol=5e-3)
    bad = torch.zeros(2, 7, device=device)
    bad[1] = torch.nan
    *_, terminated, _, info = on_warp.step(bad)
    assert info["diverged"].tolist() == terminated.tolist() == [False, True]
    on_warp.reset(terminated)
    assert torch.isfinite(on_warp.step(torch.zeros(2, 7, dtype=torch.float64, device=device))[0]).all()
    for call, words in (
        (lambda: on_warp.step(np.zeros((2, 7))), "actions must be a tensor"),
        (lambda: on_warp.step(bad[:1]), r"actions must have shape \(2, 7\)"),
        (lambda: on_warp.reset(bad[:, 0]), "mask must be a tensor of booleans"),
    ):
        with pytest.raises(TrocarError, match=words):
            call()
    if device == "cpu":
        assert jax.dlpack.from_dlpack(observation).unsafe_buffer_pointer() == observation.data_ptr()


def test_inverse_kinematics_of_many_tips(picking: Episodes) -> None:
    arm = picking.layout.arms["PSM"]
    assert arm.wrist is not None
    rng = np.random.default_rng(1)
    q = rng.uniform([-0.8, -0.6, 0.06, -1.5, -0.8, -0.8], [0.8, 0.6, 0.2, 1.5, 0.8, 0.8], (50, 6))
    T = tip_poses(np, arm.wrist, arm.T_world_base, q)
    solved, exists = nearest_joints(arm, T, q + rng.uniform(-0.02, 0.02, q.shape))
    assert exists.all()
    assert np.allclose(solved, q, rtol=0.0, atol=1e-9)
    env = make_task("NeedlePick")
    env.reset(seed=0)
    mechanism = env.world.scene.arms["PSM"].mechanism
    expected = mechanism.forward_kinematics(np.column_stack([q, np.zeros(50)]))
    assert np.allclose(T, arm.T_world_base @ expected, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("name", ["needle_grip", "peg_grip"])
def test_grip_features_lead_to_the_grip(name: str) -> None:
    """The way and the rotation of the features are those to the grip of the task's own expert."""
    task, *_, features_of = FEATURES[name]
    env = make_task(task)
    for seed in SEEDS:
        observation, _ = env.reset(seed=seed)
        features = features_of(env)
        way, spin = features.error(np.asarray(observation, dtype=float)[None])
        error = pose_error(env.task.grip(env.world), env.world.T_world_measured("PSM"))
        angle = np.linalg.norm(error[3:])
        assert np.allclose(way[0], error[:3], rtol=0.0, atol=1e-6)
        assert np.allclose(spin[0], error[3:] * np.sin(angle) / angle, rtol=0.0, atol=1e-6)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Episodes.drawn("Palpate", [0]), "Many worlds run Reach"),
        (lambda: Episodes.drawn("Reach", []), "at least one seed"),
        (lambda: Episodes.drawn("Reach", [1.5]), "seed must be a whole number"),
        (lambda: Episodes.drawn("Reach", ["a"]), "seed must be a whole number"),
        (lambda: Episodes.drawn("Reach", 3.5), "seed must be a whole number"),
        (lambda: Episodes.drawn("Reach", [0], level="2sigma"), "level of randomisation"),
        (lambda: TaskWorlds("Reach", 2, backend="threads"), "episodes must be Episodes"),
    ],
)
def test_bad_episodes_are_refused(call: object, words: str) -> None:
    with pytest.raises(TrocarError, match=words):
        call()


@pytest.mark.parametrize("n", [0, -1, 2.5, "a", None])
def test_a_bad_number_of_worlds_is_refused(picking: Episodes, n: object) -> None:
    with pytest.raises(TrocarError, match="n must be a whole number"):
        TaskWorlds(picking, n, backend="threads")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda w: w.step(np.full((2, 7), np.nan)), r"finite, got \[nan, .* for environment 0"),
        (lambda w: w.step(np.zeros((1, 7))), r"actions must have shape \(2, 7\), got \(1, 7\)"),
        (lambda w: w.step(np.zeros(7)), r"actions must have shape \(2, 7\), got \(7,\)"),
        (lambda w: w.step(None), "actions must be an array of numbers"),
        (lambda w: w.reset(np.array([1, 0])), "mask must be booleans"),
        (lambda w: w.reset(np.array([True])), "mask must be booleans"),
        (lambda w: w.reset(0.5), "mask must be booleans"),
    ],
)
def test_bad_actions_and_masks_are_refused(picking: Episodes, call: object, words: str) -> None:
    worlds = TaskWorlds(picking, 2, backend="threads")
    with pytest.raises(TrocarError, match=words):
        call(worlds)
    assert worlds.elapsed.tolist() == [0, 0]
    assert worlds.episode.tolist() == [0, 1]
