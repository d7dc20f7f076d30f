"""Environments of tasks: Gymnasium's interface, seeds that reproduce bit for bit, actions that are checked."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import trocar_learning.envs
from trocar.errors import TrocarError
from trocar_learning.envs import TaskEnv, make_task
from trocar_learning.envs.actions import MODES
from trocar_learning.envs.contest_trial import drawn_scene
from trocar_learning.envs.registration import ALL_TASKS

SLOW = {"Insert", "Pullout"}  # their experts need more than 5 s; the skills that they use have tests of their own


def run(env: TaskEnv, seed: int, steps: int = 4) -> bytes:
    """Observations and rewards of random actions, as bytes."""
    observation, _ = env.reset(seed=seed)
    actions = np.random.default_rng(seed).uniform(-1, 1, (steps, *env.action_space.shape))
    rows = [observation]
    for action in actions:
        observation, reward, *_ = env.step(action)
        rows.append(np.append(observation, np.float32(reward)))
    return np.concatenate(rows).tobytes()


@pytest.mark.parametrize("task", ALL_TASKS)
def test_gymnasium_finds_no_fault_in_a_task(task):
    env = gymnasium.make(f"trocar/{task}-v0")
    check_env(env.unwrapped, skip_render_check=True)
    assert env.spec.id == f"trocar/{task}-v0"
    names = env.unwrapped.names
    assert (len(names),) == env.observation_space.shape
    assert len(set(names)) == len(names)


def test_gymnasium_finds_no_fault_in_a_goal_conditioned_task():
    env = make_task("Reach", reward="goal", level="3sigma", observation="privileged")
    check_env(env, skip_render_check=True)
    env.reset(seed=1)
    observation, reward, *_ = env.step(env.action_space.sample())
    goals = observation["achieved_goal"], observation["desired_goal"]
    assert env.compute_reward(*goals, {}) == reward
    batch = [np.stack([goal, goal]) for goal in goals]
    assert env.compute_reward(*batch, [{}, {}]).tolist() == [reward, reward]


def test_stable_baselines_finds_no_fault_in_a_task():
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    checker.check_env(make_task("Reach", reward="goal"))


@pytest.mark.parametrize("task", ALL_TASKS)
def test_an_episode_continues_bit_for_bit_after_pickling(task):
    env = make_task(task, level="3sigma")
    env.reset(seed=3)
    action = np.full(env.action_space.shape, -0.2)
    env.step(action)
    other = pickle.loads(pickle.dumps(env))
    for _ in range(2):
        one, two = env.step(action), other.step(action)
        assert one[0].tobytes() == two[0].tobytes()
        assert one[1:] == two[1:]


@pytest.mark.parametrize("mode", MODES)
def test_every_action_mode_continues_after_pickling(mode):
    task = "Track" if mode == "residual_effort" else "Reach"
    env = make_task(task, mode=mode)
    env.reset(seed=3)
    action = np.full(env.action_space.shape, 0.3)
    for _ in range(3):
        env.step(action)
    other = pickle.loads(pickle.dumps(env))
    for _ in range(3):
        one, two = env.step(action), other.step(action)
    assert one[0].tobytes() == two[0].tobytes()
    assert np.isfinite(one[0]).all()


def test_a_seed_reproduces_an_episode_in_a_used_environment_and_in_another_process():
    env = make_task("Track", level="3sigma")
    first, other, again = run(env, 5), run(env, 6), run(env, 5)
    assert first == again != other
    code = "from test_task_envs import *; print(run(make_task('Track', level='3sigma'), 5).hex())"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parent)
    assert ran.stdout.strip() == first.hex(), ran.stderr


def test_an_arm_keeps_its_grip_until_a_delayed_action_arrives():
    env = make_task("Place", level="3sigma")
    env.reset(seed=next(seed for seed in range(9) if env.reset(seed=seed) and env.draw.delay == 2))
    mode = env.modes["PSM"]
    before = mode.q.copy()
    for _ in range(2):
        env.step(np.ones(7))
        np.testing.assert_allclose(mode.q, before, rtol=0.0, atol=1e-12)
    env.step(np.ones(7))
    assert mode.q[6] > before[6]


def test_a_vector_environment_gives_the_results_of_single_ones():
    vector = gymnasium.make_vec("trocar/Reach-v0", num_envs=2, vectorization_mode="vector_entry_point", threads=2)
    single = [make_task("Reach") for _ in range(2)]
    observations, _ = vector.reset(seed=7)
    alone = np.stack([env.reset(seed=7 + k)[0] for k, env in enumerate(single)])
    assert observations.tobytes() == alone.tobytes()
    actions = np.random.default_rng(0).uniform(-1, 1, (3, *vector.action_space.shape)).astype(np.float32)
    for action in actions:
        observations, rewards, *_ = vector.step(action)
        steps = [env.step(one) for env, one in zip(single, action, strict=True)]
        assert observations.tobytes() == np.stack([step[0] for step in steps]).tobytes()
        assert rewards.tolist() == [step[1] for step in steps]
    vector.close()


def test_a_vector_environment_resets_an_episode_that_has_ended():
    vector = gymnasium.make_vec("trocar/FaultAdapt-v0", num_envs=1, vectorization_mode="vector_entry_point")
    vector.reset(seed=1)
    stop = np.append(np.zeros(7), 1.0)[None]  # before any fault, which ends the episode
    assert vector.step(stop)[2].tolist() == [True]
    _, _, terminated, _, info = vector.step(stop)
    assert not terminated[0]
    assert info["time"][0] == 0.0
    vector.close()


@pytest.mark.parametrize(
    "action", [np.full(7, np.nan), np.full(7, np.inf), np.zeros(6), np.zeros((1, 7)), None, "fast", ["a"] * 7]
)
def test_an_improper_action_is_refused(action):
    env = make_task("Reach")
    env.reset(seed=0)
    with pytest.raises(TrocarError, match="action must be 7 finite numbers"):
        env.step(action)


def test_actions_beyond_the_range_are_clipped():
    one, two = make_task("Reach"), make_task("Reach")
    one.reset(seed=0)
    two.reset(seed=0)
    assert one.step(np.full(7, 5.0))[0].tobytes() == two.step(np.ones(7))[0].tobytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "wink"}, "action mode"),
        ({"level": "2sigma"}, "level of randomisation"),
        ({"observation": "smell"}, "observation"),
        ({"reward": "gold"}, "reward"),
        ({"render_mode": "human"}, "render_mode"),
        ({"mode": "residual_effort"}, "no reference"),
    ],
)
def test_an_unknown_option_is_refused(options, message):
    with pytest.raises(TrocarError, match=message):
        make_task("Reach", **options)


def test_a_step_before_reset_is_refused():
    with pytest.raises(gymnasium.error.ResetNeeded):
        make_task("Reach").step(np.zeros(7))


def test_a_task_without_a_goal_refuses_goal_rewards():
    with pytest.raises(TrocarError, match="no goal"):
        make_task("Track", reward="goal")


def test_tasks_are_registered_in_any_order_of_imports():
    code = "import trocar_learning, gymnasium; print(gymnasium.spec('trocar/Reach-v0').id)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout == "trocar/Reach-v0\n", run.stderr


def test_the_package_and_the_command_line_do_not_load_gymnasium():
    code = "import sys, trocar, trocar.cli; print('gymnasium' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


@pytest.mark.parametrize("task", [task for task in ALL_TASKS if task not in SLOW])
def test_the_expert_solves_a_task(task):
    env = gymnasium.make(f"trocar/{task}-v0", level="1sigma")
    observation, info = env.reset(seed=12)
    policy, over = trocar_learning.envs.expert(env), False
    while not (over or info["is_success"]):  # a contest goes on after success
        observation, _, terminated, truncated, info = env.step(policy(observation))
        over = terminated or truncated
    assert info["is_success"]
    assert info["first_success"]


def test_a_seed_gives_the_same_board_in_the_environment_and_in_the_served_competition():
    env = make_task("PegTransfer")
    for seed in (0, 3):
        env.reset(seed=seed)
        served = drawn_scene(seed)
        for name in ("board", "blue", "red"):
            np.testing.assert_array_equal(env.world.scene.objects[name].pose, served.objects[name].pose)


def test_the_expert_places_a_peg_of_the_surrol_variant():
    env = make_task("PegTransfer", variant="surrol")
    observation, info = env.reset(seed=1)
    policy = env.expert()
    while info["points"] == 0 and info["time"] < 12.0:
        observation, _, _, _, info = env.step(policy(observation))
    assert info["points"] == 1
    assert info["drops"] == 0


@pytest.mark.parametrize(
    "code", ["import gymnasium, trocar_learning", "import gymnasium; name = 'trocar_learning:' + name"]
)
def test_an_import_registers_the_tasks(code):
    code = f"name = 'trocar/Reach-v0'; {code}; print(gymnasium.make(name).unwrapped.task.__class__.__name__)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.stdout.strip() == "ReachTask", ran.stderr
