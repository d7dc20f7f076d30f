"""Learning curves of `tools.worlds.learn`: `python -m tools.worlds.figure FILE.png TITLE CURVE.json ...`.

A curve may have a label, LABEL=CURVE.json. Default: its seed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")
from matplotlib import pyplot as plt

from trocar.spatial import Array

MIN_EPISODES = 200  # of a point of the success rate


def success(rows: list[dict[str, Any]]) -> tuple[Array, Array]:
    """Times [s] and rates of success over at least MIN_EPISODES episodes each."""
    times, rates, episodes, successes = [], [], 0.0, 0.0
    for row in rows:
        episodes, successes = episodes + row["episodes"], successes + row["success"] * row["episodes"]
        if episodes >= MIN_EPISODES:
            times.append(row["s"])
            rates.append(successes / episodes)
            episodes = successes = 0.0
    return np.array(times), np.array(rates)


def main(path: str, title: str, *curves: str) -> None:
    """Draw reward and success during training."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.2), constrained_layout=True)
    for k, curve in enumerate(curves):
        named, _, file = curve.rpartition("=")
        rows = json.loads(Path(file).read_text())
        label = named or Path(file).stem.replace("curve_", "seed ")
        left.plot([row["s"] for row in rows], [row["reward"] for row in rows], color=f"C{k}", label=label)
        right.plot(*success(rows), color=f"C{k}", label=label)
    left.set(xlabel="time of PPO on the GPU [s]", ylabel="reward per control period", title=title)
    right.set(xlabel="time of PPO on the GPU [s]", ylabel="success of episodes with noise", ylim=(-0.02, 1.02))
    left.legend()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])
