"""The benchmark page of the tasks, docs/benchmark.md, from the episodes of `trocar score --table`.

    python -m tools.benchmark_page                       # write the page from docs/benchmark.csv
    python -m tools.benchmark_page a.jsonl b.jsonl       # add the episodes of these files first; later files win
    python -m tools.benchmark_page --drop ForceHold ...  # forget the episodes of tasks that have changed

A test compares the page with docs/benchmark.csv.
"""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from trocar.files import write_whole
from trocar.report.success_rate import clopper_pearson
from trocar_learning.envs import LEVELS, TASKS
from trocar_learning.envs.episode import Episode
from trocar_learning.envs.policies import POLICIES
from trocar_learning.envs.registration import ALL_TASKS
from trocar_learning.envs.scoring import read

DOCS = Path(__file__).parents[1] / "docs"
EPISODES, PAGE, PEERS = DOCS / "benchmark.csv", DOCS / "benchmark.md", Path(__file__).parent / "benchmark_peers.md"
PERIOD = 0.02  # of control [s]
COLUMNS = (*POLICIES, "learned")
# Success rates that the experts should reach on nominal robots [%], and points in three minutes
BARS = dict.fromkeys(("Reach", "Track", "Payload", "FaultAdapt", "CameraCentre", "ForceHold"), 95) | dict.fromkeys(
    ("NeedlePick", "NeedleHandover", "Approach", "Place", "Regrasp"), 90
)
BARS |= dict.fromkeys(("Retract", "Palpate", "Insert", "Pullout"), 80)
POINTS = {"PegTransfer": 8}
# Columns of the table of episodes
LISTED = (
    "task",
    "policy",
    "level",
    "seed",
    "held",
    "first",
    "steps",
    "seconds",
    "peak_force",
    "drops",
    "points",
    "wrist",
)


def load(file: Path) -> list[Episode]:
    """Episodes of a table that `text` wrote."""
    kinds = {
        "held": bool,
        "first": bool,
        "seed": int,
        "steps": int,
        "drops": int,
        "seconds": float,
        "peak_force": float,
        "points": int,
    }

    def value(name: str, entry: str) -> object:
        kind = kinds.get(name, str)
        return entry == "1" if kind is bool else kind(entry)

    with file.open(encoding="utf-8", newline="") as stream:
        rows = [{k: value(k, v) for k, v in row.items() if v or k != "points"} for row in csv.DictReader(stream)]
    return [Episode.read({**row, "time": PERIOD * row["steps"]}) for row in rows]  # type: ignore[operator]


def text(episodes: Iterable[Episode]) -> str:
    """A table of comma-separated values, one episode per line."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, LISTED, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for e in episodes:
        row = e.entries() | {"held": int(e.held), "first": int(e.first)}
        writer.writerow(row | {"seconds": f"{e.seconds:.3f}", "peak_force": f"{e.peak_force:.3f}"})
    return stream.getvalue()


def merged(*groups: Iterable[Episode]) -> list[Episode]:
    """All episodes, sorted; of two of the same task, policy, level, wrist and seed the later one."""
    known = {(e.task, e.level, e.wrist, e.policy, e.seed): e for group in groups for e in group}
    tasks, levels = list(ALL_TASKS), list(LEVELS)

    def order(e: Episode) -> tuple[object, ...]:
        return tasks.index(e.task), levels.index(e.level), e.wrist, COLUMNS.index(column(e)), e.policy, e.seed

    return sorted(known.values(), key=order)


def column(episode: Episode) -> str:
    """Column of an episode; policies from files are learned ones."""
    return episode.policy if episode.policy in POLICIES else COLUMNS[-1]


def page(episodes: Sequence[Episode]) -> str:
    """The page."""
    usual = [e for e in episodes if not e.wrist]
    tasks = [task for task in TASKS if any(e.task == task for e in usual)]
    parts = [INTRODUCTION]
    for level in LEVELS:
        if level not in TITLES or not any(e.level == level for e in usual):
            continue
        parts.append(f"## {TITLES[level]}\n\n{_table(usual, tasks, level)}")
    parts.append(f"## Wrists with cables\n\n{CABLES}\n\n{_wrists(episodes)}")
    parts.append(f"## Cost\n\n{COST}\n\n{_costs(usual, tasks)}")
    parts.append(PEERS.read_text(encoding="utf-8"))
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def _table(episodes: Sequence[Episode], tasks: Sequence[str], level: str) -> str:
    bar = level == "nominal"
    rows: list[tuple[str, ...]] = [("task", *COLUMNS, *(["expert should reach"] if bar else []))]
    rows.append(("---",) * len(rows[0]))
    for task in tasks:
        groups = [[e for e in episodes if (e.task, e.level, column(e)) == (task, level, c)] for c in COLUMNS]
        if any(groups):
            cells = [*map(_rate, groups[:-1]), _learned(groups[-1])]
            goal = f"{BARS[task]} %" if task in BARS else f"{POINTS[task]} points"
            rows.append((f"`{task}`", *cells, *([goal] if bar else [])))
    return _markdown(rows)


def _wrists(episodes: Sequence[Episode]) -> str:
    """A row for each task and policy with episodes behind wrist cables, a column for each robot."""
    rows: list[tuple[str, ...]] = [("task", "policy", "n", *ROBOTS), ("---",) * (3 + len(ROBOTS))]
    cabled = [e for e in episodes if e.wrist or e.level == "real"]
    for task, policy in dict.fromkeys((e.task, e.policy) for e in cabled):
        own = [e for e in episodes if (e.task, e.policy) == (task, policy)]
        seeds = {e.seed for e in cabled if (e.task, e.policy) == (task, policy)}
        cells = [
            _short([e for e in own if (e.level, e.wrist) == robot and e.seed in seeds]) for robot in ROBOTS.values()
        ]
        rows.append((f"`{task}`", f"`{policy}`", str(len(seeds)), *cells))
    return _markdown(rows)


def _short(group: Sequence[Episode]) -> str:
    """Success rate with its interval."""
    if not group:
        return ""
    held = sum(e.held for e in group)
    low, high = clopper_pearson(held, len(group))
    return f"**{100 * held / len(group):.0f} %** ({100 * low:.0f} to {100 * high:.0f})"


def _rate(group: Sequence[Episode]) -> str:
    """Success rate with its interval, the share of episodes in which the condition was met once, and their number."""
    if not group:
        return "not run"
    n, held, first = len(group), sum(e.held for e in group), sum(e.first for e in group)
    low, high = clopper_pearson(held, n)
    points = [e.details["points"] for e in group if "points" in e.details]
    scored = f", {np.mean(points):.1f} points ({min(points)} to {max(points)})" if points else ""
    drops = f", {sum(e.drops for e in group)} drops" if points else ""
    rate = f"**{100 * held / n:.0f} %** ({100 * low:.0f} to {100 * high:.0f})"
    return f"{rate}, first {100 * first / n:.0f} %{scored}{drops}, n = {n}"


def _learned(group: Sequence[Episode]) -> str:
    """Success rates of all learned policies, by file."""
    names = dict.fromkeys(e.policy for e in group)
    return "; ".join(f"`{name}` {_rate([e for e in group if e.policy == name])}" for name in names)


def _costs(episodes: Sequence[Episode], tasks: Sequence[str]) -> str:
    rows: list[tuple[str, ...]] = [
        (
            "task",
            "periods per second",
            "real-time factor",
            "time of a success [s]",
            "peak force, median and largest [N]",
        )
    ]
    rows.append(("---",) * len(rows[0]))
    for task in tasks:
        group = [e for e in episodes if (e.task, e.policy, e.level) == (task, "expert", "nominal")]
        if not group:
            continue
        rate = sum(e.steps for e in group) / sum(e.seconds for e in group)
        times = [PERIOD * e.steps for e in group if e.held]
        forces = [e.peak_force for e in group]
        force = f"{np.median(forces):.2f}, {max(forces):.2f}" if max(forces) > 0.0 else ""
        rows.append(
            (f"`{task}`", f"{rate:.0f}", f"{rate * PERIOD:.1f}", f"{np.median(times):.1f}" if times else "", force)
        )
    return _markdown(rows)


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


# Columns of the table of wrists: level and options of the wrist
COMPENSATED = "compensation=cables"
ROBOTS = {
    "rigid": ("nominal", "wrist=rigid"),
    "cables": ("nominal", "wrist=cables"),
    "cables, compensated": ("nominal", f"wrist=cables, {COMPENSATED}"),
    "drawn": ("nominal", "wrist=drawn"),
    "drawn, compensated": ("nominal", f"wrist=drawn, {COMPENSATED}"),
    "real": ("real", ""),
    "real, compensated": ("real", COMPENSATED),
}
TITLES = {"nominal": "Nominal robots", "1sigma": "1 sigma", "3sigma": "3 sigma"}
INTRODUCTION = """\
# Benchmark of the tasks

With this page you can judge your policy: it has success rates of scripted and learned policies on the
[tasks](tasks.md).

The episodes are in `docs/benchmark.csv`, and `python -m tools.benchmark_page` writes this page from them. To add
episodes, run `trocar score --table TASK -n 100 -o episodes.jsonl` and `python -m tools.benchmark_page episodes.jsonl`.
Seeds start at 0. Which episodes are older than others is in the [history](benchmark_history.md).

**Bold** is the share of episodes in which the condition was held for the required time, with the exact 95 % interval
(Clopper and Pearson); *first* is the share in which it was met at least once, which most published figures count; n is
the number of episodes. `random`: uniform actions. `pid`: fixed gains, no model, no planned orientations. `expert`: a
scripted policy that may use what the simulation knows. `learned`: trained networks, see [learning](learning.md).
Levels: [Randomisation](tasks.md#randomisation).
"""
CABLES = """\
The same seeds on nominal robots with a rigid wrist, with the [wrist cables](wrist.md) `hwang2020`, with cables drawn
for every episode, and at the level `real`; each without compensation and with a controller that compensates
`hwang2020`, which is exact in the third column only. `trocar score --table TASK --expert --level nominal --set
wrist=drawn --set compensation=cables -n 20 -o episodes.jsonl` adds such episodes.

The experts of `Approach`, `Place`, `NeedlePick` and `PegLift` plan from the true poses and then move in open loop.
`Reach` and `Track` command efforts, which no controller compensates; `Track` asks for 0.5 mm, less than a wrist with
cables leaves. The networks of `NeedlePick` observe the measured tip, which shows the compensation as an error: at the
level `real` they oscillate."""
COST = """\
Expert on nominal robots, one thread, by processor time of `step` and policy on a machine with other load; a period is
20 ms."""


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--drop", action="append", default=[], choices=list(TASKS))
    options = parser.parse_args()
    known = [e for e in (load(EPISODES) if EPISODES.exists() else []) if e.task not in options.drop]
    episodes = merged(known, *(read(file) for file in options.files))
    write_whole(EPISODES, text(episodes))
    write_whole(PAGE, page(load(EPISODES)))  # with the rounding of the table
    print(f"{len(episodes)} episodes, {PAGE}")


if __name__ == "__main__":
    main()
