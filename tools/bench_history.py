"""Append the ratios of a benchmark to a history, draw it, and name what got slower: `make bench-history`.

`python -m tools.bench_history FIGURES.json [-o FOLDER]` takes a file of `trocar bench --json`. The history is
FOLDER/bench.jsonl, a line per run with time, commit and ratios; its figure is FOLDER/bench.svg. Default of FOLDER:
$TROCAR_BENCH_HISTORY, or trocar in the user's folder of states. A ratio that is 10 % above the median of the runs
before, at most the last ten, ends the command with status 1.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from trocar.files import write_whole
from trocar.plots import panels, save, style

ROOT = Path(__file__).parents[1]
SLOWER = 1.1
COMPARED = 10  # runs


def default_folder() -> Path:
    states = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(os.environ.get("TROCAR_BENCH_HISTORY") or Path(states) / "trocar")


def ratios(figures: Mapping[str, float]) -> dict[str, float]:
    """The ratios of a file of figures."""
    return {name: x for name, x in figures.items() if "_over_" in name and not name.endswith("_spread")}


def slower(history: Sequence[Mapping[str, Any]]) -> dict[str, tuple[float, float]]:
    """Ratios of the last run that are above those before, by name: now and before."""
    *before, last = [run["ratios"] for run in history]
    found = {}
    for name, now in last.items():
        earlier = [run[name] for run in before[-COMPARED:] if name in run]
        if earlier and now > SLOWER * np.median(earlier):
            found[name] = now, float(np.median(earlier))
    return found


@style()
def draw(history: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw every ratio over the runs, relative to its median."""
    names = sorted(history[-1]["ratios"])
    figure, axes = panels((8.0, 0.32 * len(names) + 1.2))
    for k, name in enumerate(names):
        values = np.array([run["ratios"].get(name, np.nan) for run in history])
        axes.plot(values / np.nanmedian(values) - 1.0 + 0.2 * k, label=f"{name}  {values[-1]:.3g}")
    axes.set(xlabel="run", yticks=[], title="ratios, each relative to its median; 0.2 between two lines")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), reverse=True)
    save(figure, path)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.bench_history", description=__doc__)
    parser.add_argument("figures", type=Path, help="file of trocar bench --json")
    parser.add_argument("-o", "--output", type=Path, default=default_folder(), help="folder of the history")
    options = parser.parse_args(arguments)
    file = options.output / "bench.jsonl"
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout
    own = ratios(json.loads(options.figures.read_text()))
    run = {"time": datetime.now(UTC).isoformat(timespec="seconds"), "commit": commit.strip(), "ratios": own}
    lines = [*(file.read_text().splitlines() if file.exists() else ()), json.dumps(run)]
    write_whole(file, "".join(f"{line}\n" for line in lines))
    history = [json.loads(line) for line in lines]
    draw(history, options.output / "bench.svg")
    print(f"{len(history)} runs in {file}, drawn in {file.with_suffix('.svg')}")
    for name, (now, before) in (found := slower(history)).items():
        print(f"slower: {name} is {now:.3g}, {100 * (now / before - 1):.0f} % above {before:.3g} before")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
