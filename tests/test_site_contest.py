"""The referee of the page in `site/`, against the rules in Python: on the expert's episode and on random games."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tests.test_site import SITE, install, needs_node, node
from tools.site.__main__ import FOLDER
from tools.site.expert import Game, record
from tools.site.inputs import packed, unpacked
from trocar.batch.worlds.layout import FINGERS
from trocar.simulation.scene import Scene
from trocar.spatial import Array, pose, rotation
from trocar_learning.contest import seeded_setting
from trocar_learning.contest.layouts import LAYOUTS
from trocar_learning.contest.peg_board import HAND, PEGS, board
from trocar_learning.envs.tasks.peg_rules import ending

PERIOD = 0.02
LAYOUT = LAYOUTS["contest"]


def seen(scene: Scene) -> dict[str, Any]:
    """What the page's referee takes of a scene."""
    links: dict[str, dict[str, set[str]]] = {name: {arm: set() for arm in HAND.values()} for name in PEGS}
    for arm in HAND.values():
        for contact in scene.touching(arm):
            if contact.link_and_object is not None and contact.link_and_object[1] in links:
                link, name = contact.link_and_object
                links[name][arm].add(link.name)
    pegs = {}
    for name in PEGS:
        thing = scene.objects[name]
        pegs[name] = {
            "R": thing.pose[:3, :3].ravel().tolist(),
            "p": thing.pose[:3, 3].tolist(),
            "speed": float(np.linalg.norm(thing.twist[:3])),
            "fingers": {arm: sorted(touching) for arm, touching in links[name].items()},
        }
    tips = {arm: scene.T_world_tip(arm)[:3, 3].tolist() for arm in HAND.values()}
    forces = {arm: scene.arms[arm].contact_force() for arm in HAND.values()}
    return {"time": scene.time, "tips": tips, "forces": forces, "pegs": pegs}


def result(game: Game) -> dict[str, Any]:
    """All that the rules have decided."""
    numbers = {name: int(game.value(name)) for name in ("drops", "target", "points")}
    return numbers | {"lastTime": float(game.value("last")), "ended": ending(game.memory)}


class RandomGame:
    """A scene whose pegs and hands jump between places near all limits of the rules; no physics."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        T = np.asarray(seeded_setting(seed % 32).T_world_board)
        self.time, self.arms = 0.0, {arm: SimpleNamespace(contact_force=self._force) for arm in HAND.values()}
        thing = SimpleNamespace(thing=board(T, LAYOUT), pose=T)
        self.objects: dict[str, Any] = {"board": thing}
        for name in PEGS:
            self.objects[name] = SimpleNamespace(pose=np.eye(4), twist=np.zeros(6))
        self.force, self.contacts, self.left = 0.0, list[Any](), dict.fromkeys(PEGS, 0)
        self.touch: dict[str, list[tuple[str, str]]] = {name: [] for name in PEGS}
        self.tips = {arm: rng.normal(size=3) for arm in HAND.values()}
        self.advance()

    def _force(self) -> float:
        return self.force

    def T_world_tip(self, arm: str) -> Array:
        return pose(p=self.tips[arm])

    def T_world_base(self, arm: str) -> Array:
        return np.eye(4)

    def touching(self, arm: str) -> list[Any]:
        return [contact for contact in self.contacts if contact.link_and_object[0].arm == arm]

    def advance(self) -> None:
        """One period: some pegs begin another phase."""
        rng = self.rng
        self.time, self.force = self.time + PERIOD, float(rng.exponential())
        self.tips = {arm: tip + 1e-3 * rng.normal(size=3) for arm, tip in self.tips.items()}
        for name in PEGS:
            if self.left[name] <= 0:
                self.left[name] = int(rng.integers(1, 60))
                self._phase(name)
            self.left[name] -= 1
        self.contacts = [
            SimpleNamespace(link_and_object=(SimpleNamespace(arm=arm, name=link), name))
            for name, links in self.touch.items()
            for arm, link in links
        ]

    def _phase(self, name: str) -> None:
        rng, thing, T = self.rng, self.objects[name], self.objects["board"].pose
        x, y = LAYOUT.posts[rng.choice(LAYOUT.used)]
        x, y = x + rng.normal(scale=2e-3), y + rng.normal(scale=2e-3)
        height = rng.choice([0.0, 1e-3, 3.9e-3, 4.1e-3, 0.05], p=[0.5, 0.2, 0.1, 0.1, 0.1])
        if rng.random() < 0.004:
            x += 0.2
        tilt = Rotation.from_euler("y", rng.choice([0.0, 14.0, 16.0], p=[0.7, 0.2, 0.1]), degrees=True).as_matrix()
        thing.pose = T @ pose(rotation("z", rng.uniform(-3.0, 3.0)) @ tilt, [x, y, height])
        thing.twist = rng.choice([0.0, 2e-3, 4e-3]) * rng.normal(size=6)
        holders = rng.choice([0, 1, 2], p=[0.45, 0.35, 0.2])
        arms = rng.permutation(list(HAND.values()))[:holders]
        links = [sorted(FINGERS)[: int(rng.integers(1, 3))] if rng.random() < 0.3 else sorted(FINGERS) for _ in arms]
        self.touch[name] = [(str(arm), link) for arm, some in zip(arms, links, strict=True) for link in some]


def random_game(seed: int, count: int) -> Iterator[tuple[Scene, dict[str, Any]]]:
    """A game, and what the rules in Python have decided so far."""
    random = RandomGame(seed)
    scene = cast(Scene, random)
    game = Game(scene)
    yield scene, result(game)
    for _ in range(count):
        random.advance()
        game.judge()
        yield scene, result(game)


def of_page(tmp_path: Path, board_pose: Array, states: list[dict[str, Any]]) -> dict[str, Any]:
    """The decisions of the page's referee on recorded states."""
    install()
    module = tmp_path / "referee.mjs"
    command = [str(SITE / "node_modules/.bin/esbuild"), "src/referee.ts", "--format=esm", f"--outfile={module}"]
    subprocess.run([*command, "--log-level=error"], cwd=SITE, check=True)
    script = (
        f"import {{ Referee }} from {json.dumps(module.as_uri())};"
        "import { readFileSync } from 'node:fs';"
        f"const table = JSON.parse(readFileSync({json.dumps(str(FOLDER / 'table.json'))}));"
        "const { board, states } = JSON.parse(readFileSync(0, 'utf8'));"
        "const judge = new Referee(table.contest, board, states[0]);"
        "for (const state of states.slice(1)) judge.update(state);"
        "const { drops, placements, ended, target, points, lastTime } = judge;"
        "console.log(JSON.stringify({ drops, placements, ended, target, points, lastTime }));"
    )
    place = {"R": board_pose[:3, :3].ravel().tolist(), "p": board_pose[:3, 3].tolist()}
    answer = node("--input-type=module", "-e", script, text=json.dumps({"board": place, "states": states}))
    decisions: dict[str, Any] = json.loads(answer)
    return decisions


def assert_same(page: dict[str, Any], python: dict[str, Any]) -> None:
    assert page.pop("lastTime") == pytest.approx(python.pop("lastTime"), abs=1e-9)
    assert {name: page[name] for name in python} == python


@needs_node
def test_the_referee_decides_as_in_python_in_random_games(tmp_path: Path) -> None:
    totals: dict[str, int] = {}
    for seed in range(4):
        game = [(scene, seen(scene), decided) for scene, decided in random_game(seed, 2500)]
        states, (scene, _, decided) = [state for _, state, _ in game], game[-1]
        page = of_page(tmp_path, scene.objects["board"].pose, states)
        for placement in page["placements"]:
            totals[placement["reason"]] = totals.get(placement["reason"], 0) + 1
        totals["drops"] = totals.get("drops", 0) + decided["drops"]
        totals["ended"] = totals.get("ended", 0) + bool(decided["ended"])
        assert_same(page, decided)
    assert len(totals) == 6, totals  # points, three reasons for none, drops and ends
    assert min(totals.values()) > 0, totals


@needs_node
def test_the_referee_decides_as_in_python_on_the_experts_episode(tmp_path: Path) -> None:
    episode = [(game, seen(game.scene)) for game, _, _ in record(9.0)]
    game, states = episode[-1][0], [state for _, state in episode]
    decided = result(game)
    assert decided["points"] == 1
    assert_same(of_page(tmp_path, game.scene.objects["board"].pose, states), decided)


def test_inputs_are_unpacked_as_they_were_packed() -> None:
    rows = np.random.default_rng(0).integers(-20, 21, (300, 14)).tolist()
    assert unpacked(packed(rows), 14) == rows


def test_the_experts_inputs_are_within_the_limits_of_the_hands() -> None:
    contest = json.loads((FOLDER / "table.json").read_text(encoding="utf-8"))["contest"]
    seed, _, text = (FOLDER / "expert.txt").read_text(encoding="utf-8").partition("&inputs=")
    rows = np.abs(unpacked(text, 14))
    assert seed == "seed=0"
    assert len(rows) == round(contest["rules"]["duration"] / contest["input"]["period"])
    limits = np.tile(np.repeat(contest["input"]["most"], (3, 3, 1)), 2)
    assert (rows <= limits).all()
    assert rows.any(axis=0).all()
