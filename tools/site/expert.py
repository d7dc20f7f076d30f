"""Record the scripted expert of the peg transfer as inputs of the page's hands.

    python -m tools.site.expert [--seconds 180]

The script sees the simulation that its own inputs move. The page replays the inputs without seeing anything.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from tools.site.contest_run import ContestRun, Hand
from tools.site.inputs import packed
from trocar.files import write_whole
from trocar.simulation.scene import Scene
from trocar.spatial import Array
from trocar_learning.contest import contest_scene, seeded_setting
from trocar_learning.contest.peg_board import layout_of
from trocar_learning.envs.tasks.peg_rules import DURATION, PegRules, ending
from trocar_learning.envs.tasks.transfer_script import TransferScript
from trocar_learning.envs.world import World

SITE = Path(__file__).parents[2] / "site"
SEED = 0


class Game(World):
    """A scene and what the rules have decided of it."""

    cycle = 0

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene, {})
        self.rules = PegRules(layout_of(scene))
        self.begin(self.rules.start(self), scene.time)

    def judge(self) -> None:
        """Judge the current state."""
        self.forget()
        self.rules.judge(self)


def towards(hand: Hand, T: Array, opening: float, units: dict[str, float], most: list[int]) -> list[int]:
    """The input that brings a hand nearest to a pose and an opening."""
    way = (T[:3, 3] - hand.T[:3, 3]) / units["way"]
    turn = Rotation.from_matrix(T[:3, :3] @ hand.R.T).as_rotvec() / units["turn"]
    jaw = (opening - hand.opening) / units["jaw"]
    limits = np.repeat(most, (3, 3, 1))
    counts: list[int] = np.clip(np.rint([*way, *turn, jaw]), -limits, limits).astype(int).tolist()
    return counts


def record(seconds: float = DURATION, seed: int = SEED) -> Iterator[tuple[Game, ContestRun, list[int]]]:
    """Play; yields the game at the start without an input, then after every input, and the input."""
    table = json.loads((SITE / "src/generated/table.json").read_text(encoding="utf-8"))
    units = table["contest"]["input"]
    scene = contest_scene(seeded_setting(seed))
    game = Game(scene)
    run = ContestRun(scene.model, scene.data, table, encoders=False, step=scene.engine.advance)
    script = TransferScript(game, game.rules, units["period"])
    steps = script.play()
    yield game, run, []
    for _ in range(round(seconds / units["period"])):
        next(steps)
        inputs = {
            name: towards(hand, script.T[name], script.opening[name], units, units["most"])
            for name, hand in run.hands.items()
        }
        run.advance(inputs)
        game.judge()
        yield game, run, [count for name in run.hands for count in inputs[name]]
        if ending(game.memory):
            return


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=DURATION)
    parser.add_argument("-o", "--output", type=Path, default=SITE / "src/generated/expert.txt")
    options = parser.parse_args()
    rows, points = [], -1
    for game, _, row in record(options.seconds):
        rows += [row] if row else []
        if game.value("points") != points:
            points = int(game.value("points"))
            print(f"{game.time:.2f} s: {points} points, {game.value('drops')} drops", flush=True)
    text = f"seed={SEED}&inputs={packed(rows)}"
    write_whole(options.output, text.encode())
    print(f"{len(rows)} inputs, {len(text)} characters")


if __name__ == "__main__":
    main()
