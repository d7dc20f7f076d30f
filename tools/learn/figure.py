"""Learning curves of all runs as one figure, from a JSON file that is kept next to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from trocar.files import write_json
from trocar.plots import panels, save, style

TITLES = {
    "reach": ("Reach, joint efforts: SAC", "success on 60 other seeds", 1.0),
    "track": ("Track, residual efforts at 3 sigma: SAC", "RMS error on 10 other seeds [mm]", -1.0),
    "needle_pick": ("NeedlePick: cloning the expert", "success on 10 other seeds", 1.0),
}


def collect(folder: Path) -> dict[str, dict[str, Any]]:
    """Curves by name and seed of the finished runs in a folder: steps, processor time [s] and score."""
    curves: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.glob("*-*.jsonl")):
        name, _, seed = path.stem.rpartition("-")
        if name in TITLES and path.with_suffix(".npz").exists():
            rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            columns = ("steps", "cpu_s", "score")
            curves.setdefault(name, {})[seed] = {key: [round(row[key], 4) for row in rows] for key in columns}
    return curves


@style()
def draw(folder: Path, target: Path) -> None:
    """Write target.json, with the curves of the runs in a folder and older ones of other names, and target.png."""
    kept = target.with_suffix(".json")
    curves = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    for name, seeds in collect(folder).items():
        curves.setdefault(name, {}).update(seeds)
    write_json(kept, curves)
    names = [name for name in TITLES if name in curves]
    figure, axes = panels((3.2 * len(names), 2.8), 1, len(names), squeeze=False)
    for ax, name in zip(axes[0], names, strict=True):
        title, label, sign = TITLES[name]
        for seed, curve in sorted(curves[name].items()):
            values = [sign * score for score in curve["score"]]
            ax.plot([t / 60.0 for t in curve["cpu_s"]], values, "o-", ms=3, label=f"seed {seed}")
        ax.set(title=title, xlabel="processor time [min]", ylabel=label)
        ax.set_xlim(left=0.0)
        ax.set_ylim(bottom=0.0)
        ax.legend()
    save(figure, target.with_suffix(".png"))
