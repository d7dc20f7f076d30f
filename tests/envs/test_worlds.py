"""Many worlds of a task: the numbers of its single environment, resets by mask, and the adapter of gymnasium.vector."""

from __future__ import annotations

import numpy as np
import pytest

from trocar.batch.worlds.wrist_arrays import nearest_joints, tip_poses
from trocar.envs import make_task
from trocar.envs.policy_features import grip_features
from trocar.envs.worlds import Episodes, TaskWorlds
from trocar.envs.worlds.vector_worlds import WorldsVectorEnv
from trocar.errors import TrocarError
from trocar.spatial import pose_error

SEEDS = (5, 6)


@pytest.fixture(scope="module")
def picking() -> Episodes:
    return Episodes.drawn("NeedlePick", (*SEEDS, 7))


@pytest.mark.parametrize("task", ["Reach", "NeedlePick", "NeedleHandover"])
def test_worlds_have_the_numbers_of_the_single_environment(task: str) -> None:
    """Observations, rewards and success of random actions, in double precision."""
    worlds = TaskWorlds(Episodes.drawn(task, SEEDS), 2, backend="threads")
    envs = [make_task(task) for _ in SEEDS]
    expected = [env.reset(seed=seed)[0] for env, seed in zip(envs, SEEDS, strict=True)]
    assert np.allclose(worlds.reset(), expected, rtol=0.0, atol=1e-6)
    rng = np.random.default_rng(0)
    for _ in range(6):
        actions = rng.uniform(-1.0, 1.0, (2, worlds.size))
        steps = [env.step(action) for env, action in zip(envs, actions, strict=True)]
        observation, reward, terminated, truncated, info = worlds.step(actions)
        assert np.allclose(observation, [step[0] for step in steps], rtol=1e-4, atol=1e-5)
        assert np.allclose(reward, [step[1] for step in steps], rtol=0.0, atol=1e-6)
        assert terminated.tolist() == [step[2] for step in steps]
        assert not truncated.any()
        assert not info["diverged"].any()


def test_the_expert_of_a_single_environment_succeeds_in_a_world(picking: Episodes) -> None:
    worlds, env = TaskWorlds(picking, 1, backend="threads"), make_task("NeedlePick")
    seen, _ = env.reset(seed=SEEDS[0])
    expert, over = env.expert(), False
    while not over:
        action = expert(seen)
        seen, _, over, _, _ = env.step(action)
        _, _, terminated, _, info = worlds.step(action[None])
    assert env.task.held_now
    assert worlds.held("PSM", "needle")[0]
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


def test_vector_env_of_gymnasium(picking: Episodes) -> None:
    env = WorldsVectorEnv(TaskWorlds(picking, 2, backend="threads"))
    observation, _ = env.reset()
    assert env.observation_space.contains(observation)
    env.worlds.elapsed[0] = picking.periods - 1
    observation, reward, terminated, truncated, infos = env.step(env.action_space.sample())
    assert truncated.tolist() == [True, False]
    assert not terminated.any()
    assert (reward < 0.0).all()
    assert infos["_final_obs"].tolist() == [True, False]
    assert np.abs(infos["final_obs"][0] - observation[0]).max() > 1e-3
    with pytest.raises(TrocarError, match=r"\(2, 7\)"):
        env.step(np.zeros((3, 7)))
    with pytest.raises(TrocarError, match="drawn already"):
        env.reset(seed=1)


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


def test_grip_features_lead_to_the_grip() -> None:
    """The way and the rotation of the features are those to the grip of NeedlePick's own expert."""
    env = make_task("NeedlePick")
    for seed in SEEDS:
        observation, _ = env.reset(seed=seed)
        features = grip_features(env)
        way, spin = features.error(np.asarray(observation, dtype=float)[None])  # type: ignore[attr-defined]
        error = pose_error(env.task.grip(env.world), env.world.T_world_measured("PSM"))
        angle = np.linalg.norm(error[3:])
        assert np.allclose(way[0], error[:3], rtol=0.0, atol=1e-6)
        assert np.allclose(spin[0], error[3:] * np.sin(angle) / angle, rtol=0.0, atol=1e-6)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Episodes.drawn("Palpate", [0]), "Known: Reach"),
        (lambda: Episodes.drawn("Reach", []), "at least one seed"),
    ],
)
def test_bad_episodes_are_refused(call: object, words: str) -> None:
    with pytest.raises(TrocarError, match=words):
        call()  # type: ignore[operator]
