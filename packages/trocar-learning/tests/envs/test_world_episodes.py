"""Episodes of worlds: resets that leave nothing of the last one, success, failure, divergence and truncation."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from trocar_learning.envs.registration import batched_tasks
from trocar_learning.envs.tasks import needle_handover
from trocar_learning.envs.world import RATE
from trocar_learning.envs.worlds import Episodes, TaskWorlds
from trocar_learning.envs.worlds.task_worlds import DIVERGED_REWARD

STEPS = 4


def played(worlds: TaskWorlds, world: int) -> list[list[Any]]:
    """Observations, rewards, ends and figures of a world along random actions."""
    rng, rows = np.random.default_rng(3), []
    for _ in range(STEPS):
        observation, *rest, info = worlds.step(rng.uniform(-0.5, 0.5, (worlds.n, worlds.size)))
        rows.append([*observation[world].tolist(), *(x[world] for x in (*rest, *info.values()))])
    return rows


@pytest.mark.parametrize(
    ("task", "level"),
    [*((task, "nominal") for task in batched_tasks()), ("Track", "3sigma"), ("NeedleHandover", "3sigma")],
)
def test_a_world_keeps_nothing_of_its_last_episode(task: str, level: str) -> None:
    """Bit for bit, after an episode of full actions and after one that diverged; the other world goes on."""
    episodes = Episodes.drawn(task, (4, 5, 6, 7), level=level)
    one = np.array([True, False])
    fresh = TaskWorlds(episodes, 2, backend="threads")
    start = fresh.reset(one)
    expected = played(fresh, 0)
    used = TaskWorlds(episodes, 2, backend="threads")
    for broken in (False, True):
        used.reset()
        for _ in range(STEPS):
            used.step(np.ones((2, used.size)))
        if broken:
            used.batch.worlds.qpos[0, 0] = np.nan
        before = used.step(-np.ones((2, used.size)))[0]
        after = used.reset(one)
        assert np.array_equal(after[0], start[0])
        assert np.array_equal(after[1], before[1])
        assert played(used, 0) == expected


@pytest.mark.parametrize(("task", "fixed"), [("NeedlePick", "tray"), ("PegTransfer", "board"), ("NeedleHandover", "")])
def test_the_next_episode_has_its_own_fixed_objects_and_fields(task: str, fixed: str) -> None:
    """Places of fixed objects and values of the model, such as the friction of the needle, of the current episodes."""
    episodes = Episodes.drawn(task, (4, 5, 6))
    worlds = TaskWorlds(episodes, 2, backend="threads")
    worlds.reset(np.array([False, True]))  # world 1 goes on with episode (1 + 2) modulo 3
    worlds.reset(np.array([True, False]))
    engine, rows = worlds.batch.worlds, [2, 0]
    assert worlds.episode.tolist() == rows
    assert bool(episodes.places) == bool(fixed)
    for name, poses in episodes.places.items():
        body = episodes.layout.objects[name].body
        assert np.ptp(poses, axis=0).max() > 1e-3
        assert np.array_equal(engine.field("body_pos")[:, body], poses[rows, :3])
        assert np.array_equal(engine.field("body_quat")[:, body], poses[rows, 3:])
    assert bool(episodes.fields) == (not fixed)
    for name, values in episodes.fields.items():
        own = engine.field(name)
        assert np.array_equal(own, values[rows].reshape(own.shape)), name


def test_pickled_episodes_play_as_the_drawn_ones() -> None:
    """With computed torque, whose generated code was loaded before, and with robots of their own."""
    drawn = Episodes.drawn("Track", (4, 5), level="3sigma")
    expected = played(TaskWorlds(drawn, 2, backend="threads"), 1)
    travelled = pickle.loads(pickle.dumps(drawn))
    assert played(TaskWorlds(travelled, 2, backend="threads"), 1) == expected


@pytest.mark.parametrize("task", batched_tasks())
def test_a_world_that_diverges_is_terminated_without_success(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    worlds = TaskWorlds(Episodes.drawn(task, (4, 5)), 2, backend="threads")
    monkeypatch.setattr(type(worlds.task), "solved", lambda self, worlds: np.ones(2, dtype=bool))
    worlds.batch.worlds.qpos[1, 0] = np.nan
    observation, reward, terminated, _, info = worlds.step(np.zeros((2, worlds.size)))
    assert info["diverged"].tolist() == [False, True]
    assert info["solved"].tolist() == [True, False]
    assert terminated[1]
    assert reward[1] == DIVERGED_REWARD
    assert np.isfinite(observation).all()
    assert np.isfinite(reward).all()


def test_success_needs_the_condition_for_its_time_within_one_episode(monkeypatch: pytest.MonkeyPatch) -> None:
    worlds = TaskWorlds(Episodes.drawn("Reach", (0, 1)), 2, backend="threads")
    monkeypatch.setattr(type(worlds.task), "solved", lambda self, worlds: np.ones(2, dtype=bool))
    held, zeros = round(worlds.task.held * RATE), np.zeros((2, worlds.size))
    assert held == 25  # 0.5 s
    for _ in range(held - 1):
        assert not worlds.step(zeros)[4]["is_success"].any()
    worlds.reset(np.array([True, False]))
    _, _, terminated, _, info = worlds.step(zeros)
    assert terminated.tolist() == info["is_success"].tolist() == [False, True]
    for _ in range(held - 1):
        _, _, terminated, _, info = worlds.step(zeros)
    assert terminated.tolist() == info["is_success"].tolist() == [True, True]


def test_an_episode_is_truncated_after_its_last_period() -> None:
    worlds = TaskWorlds(Episodes.drawn("Reach", [0]), 1, backend="threads")
    worlds.elapsed[:] = worlds.task.periods - 2
    assert [bool(worlds.step(np.zeros((1, 7)))[3][0]) for _ in range(2)] == [False, True]


LEFT, RIGHT, OTHER = 1, 2, 4  # bits of fingers and other parts that touch an object


@pytest.mark.parametrize(
    ("task", "touched", "solved"),
    [
        ("NeedlePick", {"PSM": LEFT | RIGHT}, True),
        ("NeedlePick", {"PSM": LEFT | RIGHT | OTHER}, True),
        ("NeedlePick", {"PSM": LEFT | OTHER}, False),
        ("NeedlePick", {"PSM": 0}, False),
        ("PegLift", {"PSM": LEFT | RIGHT}, True),
        ("PegLift", {"PSM": RIGHT}, False),
        ("NeedleHandover", {"PSM2": LEFT | RIGHT}, True),
        ("NeedleHandover", {"PSM2": LEFT | RIGHT, "PSM1": OTHER}, False),
        ("NeedleHandover", {"PSM2": LEFT}, False),
        ("NeedleHandover", {"PSM1": LEFT | RIGHT}, False),
    ],
)
def test_an_object_at_its_goal_counts_in_the_right_jaws(
    task: str, touched: dict[str, int], solved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Contacts without physics; the object is at its goal, then just beyond the tolerance."""
    worlds = TaskWorlds(Episodes.drawn(task, [0]), 1, backend="threads")
    kind, layout, engine = worlds.task, worlds.episodes.layout, worlds.batch.worlds
    name = "needle" if task == "NeedleHandover" else kind.thing
    parts = np.zeros((1, len(layout.arms), len(layout.objects)), dtype=np.int32)
    for arm, bits in touched.items():
        parts[0, list(layout.arms).index(arm), list(layout.objects).index(name)] = bits
    monkeypatch.setattr(engine, "touch", lambda: parts)
    monkeypatch.setattr(engine, "step", lambda cycles: None)
    first = layout.objects[name].q
    for away, expected in ((0.99, solved), (1.01, False)):
        goal = worlds.episodes.numbers["goal"][0] + [0.0, away * kind.goal_tolerance, 0.0]
        engine.qpos[0, first : first + 3] = goal
        assert worlds.step(np.zeros((1, worlds.size)))[4]["solved"].tolist() == [expected]


def test_a_handover_ends_when_the_needle_has_fallen(monkeypatch: pytest.MonkeyPatch) -> None:
    worlds = TaskWorlds(Episodes.drawn("NeedleHandover", [0, 1]), 2, backend="threads")
    engine, row = worlds.batch.worlds, worlds.episodes.layout.objects["needle"].q + 2
    monkeypatch.setattr(engine, "step", lambda cycles: None)
    low = needle_handover.MEETING[2] - 0.1
    engine.qpos[:, row] = [low - 1e-6, low + 1e-6]
    _, _, terminated, _, info = worlds.step(np.zeros((2, worlds.size)))
    assert terminated.tolist() == [True, False]
    assert not info["is_success"].any()
