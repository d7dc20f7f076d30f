"""Train the learned policies of examples/policies and draw their learning curves.

    make learn                                        # all, two seeds each; finished runs are kept
    python -m tools.learn reach --seeds 0             # one run
    python -m tools.learn --score                     # score the policies of examples/policies

A run writes FOLDER/NAME-SEED.npz (policy) and .jsonl (learning curve). Interrupted runs of SAC and the recording of the
expert's episodes continue; cloning, which takes a minute, starts again. Needs pip install 'trocar-learning[learn]'.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from tools.learn import clone, figure, reach, scores, track
from tools.learn.reinforce import train
from trocar_learning.envs.network_policy import NetworkPolicy

ROOT = Path(__file__).parents[2]
Run = Callable[[int, Path, Path], NetworkPolicy]  # seed, folder, curve
RUNS: dict[str, Run] = {
    "reach": lambda seed, folder, curve: train(reach.RECIPE, seed, curve),
    "track": lambda seed, folder, curve: train(track.RECIPE, seed, curve),
    "needle_pick": lambda seed, folder, curve: clone.train(clone.data_set(folder / "needle_pick"), seed, curve),
}


def main() -> None:
    """Parse the options and train what is missing."""
    parser = argparse.ArgumentParser(prog="python -m tools.learn", description="Train the learned policies.")
    parser.add_argument("names", nargs="*", choices=[*RUNS, []], help="default: all")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1])
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "build" / "learn")
    parser.add_argument("--score", action="store_true", help="score examples/policies on seeds not trained on")
    options = parser.parse_args()
    if options.score:
        scores.write(ROOT / "examples" / "policies", options.names or list(RUNS))
        return
    options.output.mkdir(parents=True, exist_ok=True)
    for name in options.names or list(RUNS):
        for seed in options.seeds:
            path = options.output / f"{name}-{seed}.npz"
            if path.exists():
                print(f"{path} exists; remove it to train again")
                continue
            RUNS[name](seed, options.output, path.with_suffix(".jsonl")).save(path)
    figure.draw(options.output, ROOT / "docs" / "images" / "learning_curves")


if __name__ == "__main__":
    main()
