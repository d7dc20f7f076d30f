"""PegTransfer as many worlds: its rules judge as in the single environment."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.support.peg_trial import PegTrial
from tests.support.repository import SUPPORT
from trocar.spatial import pose, quaternion, rotation
from trocar_learning.contest.peg_board import PEGS
from trocar_learning.envs import make_task
from trocar_learning.envs.tasks.peg_rules import REST
from trocar_learning.envs.world import RATE
from trocar_learning.envs.worlds import Episodes, TaskWorlds

ARMS = ("PSM1", "PSM2")
HANDOVER = SUPPORT / "worlds" / "peg_handover.npz"


class RandomPlay:
    """A peg that is gripped, handed over, let go in the air or put onto posts, at random."""

    def __init__(self, rng: np.random.Generator, T_board: Any, posts: Any, used: list[int]) -> None:
        self.rng, self.T_board, self.posts, self.used = rng, T_board, posts, used
        self.left = 0

    def step(self) -> tuple[Any, float, dict[str, set[str]]]:
        """Pose (4, 4), speed [m/s] and links that touch the peg, by arm."""
        if self.left == 0:
            self.left = int(self.rng.integers(3, 45))
            self.state = self._next()
        self.left -= 1
        return self.state

    def _next(self) -> tuple[Any, float, dict[str, set[str]]]:
        rng = self.rng
        what = rng.choice(["grip", "both", "fall", "rest", "push", "outside"], p=[0.2, 0.2, 0.12, 0.42, 0.05, 0.01])
        x, y = self.posts[rng.choice(self.used)] + rng.normal(0.0, 1.8e-3, 2)
        height = rng.uniform(0.02, 0.05) if what in ("grip", "both", "fall") else rng.uniform(0.0, 4.3e-3)
        place = [0.2, 0.0, height] if what == "outside" else [x, y, height]
        tilt = rng.choice([0.1, 0.4], p=[0.9, 0.1])  # the larger one is more than a placed peg may have
        T = self.T_board @ pose(rotation("z", rng.uniform(-3.0, 3.0)) @ rotation("x", tilt), place)
        hands = {"grip": [str(rng.choice(ARMS))], "both": list(ARMS)}.get(str(what), [])
        links: dict[str, set[str]] = {arm: {"finger_left", "finger_right"} for arm in hands}
        if what == "push":
            links = {str(rng.choice(ARMS)): {str(rng.choice(["finger_left", "yaw"]))}}
        return T, float(rng.choice([1e-3, 1e-2], p=[0.8, 0.2])), links


def bits(links: dict[str, set[str]]) -> list[int]:
    """Parts of both arms that touch a peg, as the worlds report them."""
    values = {"finger_left": 1, "finger_right": 2, "yaw": 4}
    return [sum(values[link] for link in links.get(arm, ())) for arm in ARMS]


def test_worlds_are_judged_as_single_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Points, their times, drops, sides and ends of random games without physics."""
    seeds = (0, 1, 2, 3)
    episodes = Episodes.drawn("PegTransfer", seeds)
    worlds = TaskWorlds(episodes, len(seeds), backend="threads")
    layout, engine = episodes.layout, worlds.batch.worlds
    trials, games = [], []
    for seed in seeds:
        env = make_task("PegTransfer")
        env.reset(seed=seed)
        trials.append(PegTrial(env.world.scene))
        T_board, board = trials[-1].scene.objects["board"].pose, trials[-1].rules.layout
        rng = np.random.default_rng(seed)
        games.append([RandomPlay(rng, T_board, board.posts, list(board.used)) for _ in PEGS])
    touched = np.zeros((len(seeds), len(layout.arms), len(layout.objects)), dtype=np.int32)
    monkeypatch.setattr(engine, "touch", lambda: touched)
    monkeypatch.setattr(engine, "step", lambda cycles: None)
    for k in range(1, 500):
        for w, trial in enumerate(trials):
            scene = trial.scene
            scene.data.time = k / RATE
            for name, game in zip(PEGS, games[w], strict=True):
                T, speed, links = game.step()
                placed = layout.objects[name]
                scene.objects[name].pose = T
                scene.data.qvel[placed.v] = speed
                engine.qpos[w, placed.q : placed.q + 7] = [*T[:3, 3], *quaternion(T[:3, :3])]
                engine.qvel[w, placed.v : placed.v + 6] = [speed, 0.0, 0.0, 0.0, 0.0, 0.0]
                touched[w, :, list(layout.objects).index(name)] = bits(links)
                trial.parts |= {(arm, name): value for arm, value in zip(ARMS, bits(links), strict=True)}
            trial.judge()
        _, _, terminated, _, info = worlds.step(np.zeros((len(seeds), worlds.size)))
        scores = [trial.score("points", "drops", "target") for trial in trials]
        counts = np.stack([info["points"], info["drops"], worlds.memory["target"]], -1)
        assert counts.tolist() == [list(score) for score in scores]
        assert np.allclose(info["last_point"], [trial.value("last") for trial in trials])
        assert terminated.tolist() == [trial.value("out") > 0 for trial in trials]
    points, drops, targets = zip(*scores, strict=True)
    assert sum(points) >= 4
    assert sum(drops) >= 4
    assert any(trial.value("out") for trial in trials)
    assert min(targets) < 0 or max(points) > len(PEGS)


def test_a_recorded_handover_gives_its_point_in_a_world() -> None:
    """From a state of the single environment in which both arms hold a peg, by the actions of its expert."""
    recorded = np.load(HANDOVER)
    start = {name: recorded[name][None] for name in ("qpos", "qvel", "commanded")}
    episodes = replace(Episodes.drawn("PegTransfer", [int(recorded["seed"])]), **start)
    worlds = TaskWorlds(episodes, 1, backend="threads")
    rewards = []
    for action in recorded["actions"]:
        _, reward, terminated, _, info = worlds.step(action[None])
        assert not info["diverged"][0]
        rewards.append(reward[0])
    assert rewards[-1] == 1.0
    assert sum(rewards) == 1.0
    assert info["points"][0] == 1
    assert not terminated[0]
    assert info["drops"][0] == 0
    assert info["last_point"][0] == pytest.approx((len(rewards) / RATE) - REST, abs=1e-9)


def test_a_reset_clears_the_score_of_the_masked_worlds_alone() -> None:
    worlds = TaskWorlds(Episodes.drawn("PegTransfer", (0, 1)), 2, backend="threads")
    fresh = dict(worlds.memory)
    odd = {name: ~values if values.dtype == bool else values + 3 for name, values in fresh.items()}
    worlds.memory.update(odd)
    worlds.reset(np.array([True, False]))  # two episodes: world 0 starts its first one again
    for name, values in worlds.memory.items():
        assert values.tolist() == [fresh[name][0], odd[name][1]], name
