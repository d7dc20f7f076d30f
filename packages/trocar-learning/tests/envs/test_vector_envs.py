"""Vector environments of tasks, single ones or worlds: Gymnasium's interface, seeds, ends of episodes."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import threading
import time
import warnings
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.wrappers.vector import DictInfoToList, RecordEpisodeStatistics

from tests.support.waiting import TIMEOUT
from trocar.errors import TrocarError
from trocar_learning.envs.registration import batched_tasks
from trocar_learning.envs.vector_env import ThreadedVectorEnv
from trocar_learning.envs.worlds import Episodes, TaskWorlds
from trocar_learning.envs.worlds.vector_worlds import WorldsVectorEnv

BACKENDS = ("environments", "threads")


@pytest.fixture(scope="module", params=BACKENDS)
def reaching(request: pytest.FixtureRequest) -> Iterator[VectorEnv]:
    env = gymnasium.make_vec("trocar/Reach-v0", num_envs=2, backend=request.param)
    env.reset(seed=0)
    yield env
    env.close()


@pytest.mark.parametrize("task", batched_tasks())
def test_make_vec_steps_worlds_with_the_episodes_of_single_environments(task: str) -> None:
    name = f"trocar/{task}-v0"
    worlds = gymnasium.make_vec(name, num_envs=2, backend="threads", episodes=4)
    single = gymnasium.make_vec(name, num_envs=2)
    assert worlds.single_observation_space == single.single_observation_space
    assert worlds.action_space == single.action_space
    assert worlds.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    assert single.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    action = np.random.default_rng(0).uniform(-0.2, 0.2, worlds.action_space.shape).astype(np.float32)
    for seed in (5, 6):
        observation, _ = worlds.reset(seed=seed)
        assert worlds.observation_space.contains(observation)
        assert np.allclose(observation, single.reset(seed=seed)[0], rtol=0.0, atol=1e-6)
        ours, theirs = worlds.step(action), single.step(action)
        if task == "Reach":  # contacts amplify rounding; `test_worlds` compares the numbers of every task
            assert np.allclose(ours[0], theirs[0], rtol=1e-5, atol=1e-6)
            assert np.allclose(ours[1], theirs[1], rtol=1e-6)
        assert ours[1].dtype == theirs[1].dtype
        assert [part.tolist() for part in ours[2:4]] == [part.tolist() for part in theirs[2:4]]
        assert ours[4]["is_success"].tolist() == theirs[4]["is_success"].tolist()
    single.close()


def test_worlds_go_on_with_the_next_seeds_and_start_again_with_the_same_seed() -> None:
    """Four episodes of two worlds: a reset without a seed takes the next two; the first seed again is bit exact."""
    worlds = gymnasium.make_vec("trocar/NeedlePick-v0", num_envs=2, backend="threads", episodes=4)
    action = np.full((2, 7), 0.3)

    def played() -> list[Any]:
        return [worlds.reset(seed=8)[0], *(worlds.step(action)[0] for _ in range(3))]

    first = played()
    goals = worlds.unwrapped.worlds.episodes.numbers["goal"]
    for rows in ([2, 3], [0, 1], [2, 3]):
        assert np.allclose(worlds.reset()[0][:, 35:], goals[rows], atol=1e-6)
        worlds.step(action)
    again = played()
    assert np.array_equal(first, again)
    worlds.reset(seed=9)
    assert np.array_equal(first, played())


def test_an_episode_of_a_world_that_ends_is_reported_in_its_step() -> None:
    worlds = TaskWorlds(Episodes.drawn("NeedlePick", (5, 6, 7)), 2, backend="threads")
    env = WorldsVectorEnv(worlds)
    env.reset()
    assert "final_obs" not in env.step(np.zeros((2, 7)))[4]
    worlds.elapsed[0] = worlds.task.periods - 1
    observation, reward, terminated, truncated, infos = env.step(np.full((2, 7), 0.5))
    assert truncated.tolist() == [True, False]
    assert not terminated.any()
    assert (reward < 0.0).all()
    assert infos["_final_obs"].tolist() == infos["_final_info"].tolist() == [True, False]
    assert np.array_equal(infos["final_obs"][0, 21:28], np.full(7, 0.5, dtype=np.float32))  # its last action
    assert not observation[0, 21:28].any()  # of the next episode
    assert np.allclose(observation[0, 35:], worlds.episodes.numbers["goal"][2], atol=1e-6)
    assert np.array_equal(infos["final_obs"][1], observation[1])
    assert infos["final_info"]["is_success"].tolist() == [False, False]
    assert infos["final_info"]["_is_success"].tolist() == [True, False]


def test_info_of_worlds_has_the_figures_of_the_task() -> None:
    env = gymnasium.make_vec("trocar/PegTransfer-v0", num_envs=1, backend="threads", episodes=1)
    env.reset(seed=0)
    *_, info = env.step(np.zeros((1, 14)))
    assert {name: values.tolist() for name, values in info.items()} == {
        "is_success": [False],
        "solved": [False],
        "diverged": [False],
        "points": [0],
        "drops": [0],
        "last_point": [0.0],
    }


@pytest.mark.parametrize("backend", BACKENDS)
def test_wrappers_of_gymnasium_count_episodes(backend: str) -> None:
    """Length and return of episodes of 150 periods, as training loops read them."""
    inner = gymnasium.make_vec("trocar/Reach-v0", num_envs=2, backend=backend)
    env = DictInfoToList(RecordEpisodeStatistics(inner))
    env.reset(seed=0)
    total = np.zeros(2)
    for _ in range(150):
        _, reward, _, truncated, infos = env.step(np.zeros((2, 7)))
        total += reward
    assert truncated.all()
    assert [info["episode"]["l"] for info in infos] == [150, 150]
    assert np.allclose([info["episode"]["r"] for info in infos], total)
    last = [info["final_info"] if backend == "threads" else info for info in infos]
    assert [bool(info["is_success"]) for info in last] == [False, False]
    env.close()


def played(env: VectorEnv) -> list[Any]:
    """Observations of a reset and two steps."""
    return [env.reset(seed=3)[0], *(env.step(np.full((2, 7), 0.2))[0] for _ in range(2))]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_environments_go_on_in_a_forked_process(reaching: VectorEnv) -> None:
    """Threads of the parent are missing in its children."""
    expected = played(reaching)
    reader, writer = multiprocessing.Pipe(duplex=False)

    def child() -> None:
        try:
            writer.send(played(reaching))
        except TrocarError as error:
            writer.send(str(error))

    with warnings.catch_warnings():
        for kind in (DeprecationWarning, RuntimeWarning):  # of Python and of JAX, about forks with threads
            warnings.simplefilter("ignore", kind)
        process = multiprocessing.get_context("fork").Process(target=child)
        process.start()
    try:
        assert reader.poll(TIMEOUT)
        result = reader.recv()
    finally:
        process.kill()
        process.join()
    if isinstance(reaching.unwrapped, ThreadedVectorEnv):
        assert np.array_equal(result, expected)
    else:
        assert "make it in the process" in result
    assert np.array_equal(played(reaching), expected)


def test_a_pickled_vector_environment_goes_on() -> None:
    env = gymnasium.make_vec("trocar/Reach-v0", num_envs=2)
    expected = played(env)
    action = np.full((2, 7), -0.3)
    copied = pickle.loads(pickle.dumps(env.unwrapped))
    assert np.array_equal(copied.step(action)[0], env.step(action)[0])
    assert np.array_equal(played(copied), expected)
    for one in (env, copied):
        one.close()


def test_an_environment_that_diverges_ends_its_episode_and_the_others_go_on() -> None:
    env = gymnasium.make_vec("trocar/Reach-v0", num_envs=2)
    single = gymnasium.make("trocar/Reach-v0")
    action = np.full((2, 7), 0.2)
    last, _ = env.reset(seed=0)
    single.reset(seed=0)
    env.unwrapped.envs[1].world.scene.data.qvel[:] = 1e8
    observation, reward, terminated, truncated, infos = env.step(action)
    assert truncated.tolist() == infos["_error"].tolist() == [False, True]
    assert not terminated.any()
    assert "diverged" in infos["error"][1]
    assert reward[1] == 0.0
    assert np.array_equal(observation[1], last[1])
    assert np.array_equal(observation[0], single.step(action[0])[0])
    observation, _, _, truncated, infos = env.step(action)  # the next episode of one, the next step of the other
    assert not truncated.any()
    assert "error" not in infos
    assert np.array_equal(observation[0], single.step(action[0])[0])
    env.close()
    single.close()


def test_an_error_of_one_environment_waits_for_the_steps_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    env = gymnasium.make_vec("trocar/Reach-v0", num_envs=2)
    env.reset(seed=0)
    first, second = env.unwrapped.envs
    stepped = threading.Event()

    def late(action: Any) -> Any:
        time.sleep(0.2)
        stepped.set()
        return first, 0.0, False, False, {}

    def failing(action: Any) -> Any:
        raise OSError("no memory")

    monkeypatch.setattr(second, "step", late)
    monkeypatch.setattr(first, "step", failing)
    with pytest.raises(OSError, match="no memory"):
        env.step(np.zeros((2, 7)))
    assert stepped.is_set()
    env.close()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"backend": "fast"}, "backend of several environments"),
        ({"backend": "threads", "episodes": 1}, "episodes must be"),
        ({"backend": "threads", "level": "2sigma"}, "level of randomisation"),
        ({"backend": "threads", "threads": 0}, "threads must be"),
        ({"backend": "threads", "device": "cpu"}, "belongs to backend='warp'"),
        ({"backend": "threads", "mode": "joint_target"}, "worlds have no mode, only level"),
        ({"backend": "threads", "render_mode": "rgb_array"}, "worlds have no render_mode"),
        ({"backend": "threads", "fields": {}}, "worlds have no fields"),
        ({"num_envs": 0, "backend": "threads"}, "num_envs must be"),
        ({"num_envs": 0}, "num_envs must be"),
        ({"threads": 0}, "threads must be"),
        ({"level": "2sigma"}, "level of randomisation"),
    ],
)
def test_bad_options_of_make_vec_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(TrocarError, match=words):
        gymnasium.make_vec("trocar/Reach-v0", **{"num_envs": 2, **options})


def test_tasks_without_worlds_are_named() -> None:
    with pytest.raises(TrocarError, match="Palpate needs scenes of its own"):
        gymnasium.make_vec("trocar/Palpate-v0", num_envs=2, backend="threads")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda env: env.step(np.full((2, 7), np.nan)), "actions must be finite, got .* for environment 0"),
        (lambda env: env.step(np.zeros((3, 7))), r"actions must have shape \(2, 7\), got \(3, 7\)"),
        (lambda env: env.step(np.zeros(7)), r"actions must have shape \(2, 7\), got \(7,\)"),
        (lambda env: env.step(None), "actions must be an array of numbers"),
        (lambda env: env.step([["a"] * 7] * 2), "actions must be an array of numbers"),
        (lambda env: env.reset(seed=3.5), "seed must be"),
        (lambda env: env.reset(seed="ab"), "seed must be"),
        (lambda env: env.reset(seed=[1, 2, 3]), "seed must be"),
        (lambda env: env.reset(seed=-1), "seed must be"),
        (lambda env: env.reset(options={"speed": 2}), "option"),
    ],
)
def test_bad_actions_seeds_and_options_are_refused(reaching: VectorEnv, call: Any, words: str) -> None:
    with pytest.raises(TrocarError, match=words):
        call(reaching)


def test_a_refused_action_steps_no_environment(reaching: VectorEnv) -> None:
    """An action that only the last environment would refuse leaves the others as they are."""
    action = np.full((2, 7), 0.1)
    reaching.reset(seed=0)
    expected = reaching.step(action)[0]
    reaching.reset(seed=0)
    bad = action.copy()
    bad[1, 3] = np.inf
    with pytest.raises(TrocarError, match="for environment 1"):
        reaching.step(bad)
    assert np.array_equal(reaching.step(action)[0], expected)


def test_seeds_of_numpy_are_seeds(reaching: VectorEnv) -> None:
    assert np.array_equal(reaching.reset(seed=np.int64(4))[0], reaching.reset(seed=4)[0])


def test_reset_options_of_environments_reach_them() -> None:
    env = gymnasium.make_vec("trocar/Reach-v0", num_envs=1)
    nominal, drawn = (env.reset(seed=0, options={"level": level})[0] for level in ("nominal", "3sigma"))
    assert not np.array_equal(nominal, drawn)
    env.close()
    worlds = gymnasium.make_vec("trocar/Reach-v0", num_envs=1, backend="threads", episodes=1)
    with pytest.raises(TrocarError, match="choose the level when they are made"):
        worlds.reset(seed=0, options={"level": "3sigma"})


@pytest.mark.parametrize("backend", BACKENDS)
def test_steps_need_a_reset_and_an_open_environment(backend: str) -> None:
    env = gymnasium.make_vec("trocar/Reach-v0", num_envs=1, backend=backend)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.zeros((1, 7)))
    env.reset(seed=0)
    env.close()
    env.close()
    for call in (lambda: env.step(np.zeros((1, 7))), lambda: env.reset(seed=0)):
        with pytest.raises(gymnasium.error.ClosedEnvironmentError):
            call()


def test_a_vector_environment_renders_and_closes_its_environments(monkeypatch: pytest.MonkeyPatch) -> None:
    env = gymnasium.make_vec("trocar/Reach-v0", num_envs=2, render_mode="rgb_array")
    env.reset(seed=0)
    frames = env.render()
    assert [(frame.shape, frame.dtype) for frame in frames] == 2 * [((400, 640, 3), np.uint8)]
    assert np.array_equal(frames[1], env.unwrapped.envs[1].picture())
    assert not np.array_equal(*frames)
    closed = []
    for one in env.unwrapped.envs:
        monkeypatch.setattr(one, "close", lambda one=one: closed.append(one))
    env.close()
    assert closed == env.unwrapped.envs
