"""Markers of tests by path and name, and the time that each room takes.

`slow` tests are those that took at least 0.2 s when their durations were recorded (tools/durations.py).
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import PurePosixPath

from tests.support.repository import ROOT

DURATIONS = ROOT / "tests" / "durations.json"
SLOW = 0.2  # [s]
MARKERS = {
    "net": "talks to other processes over sockets",
    "browser": "drives a browser",
    "fuzz": "random inputs",
    "gpu": "needs an NVIDIA GPU, or Warp",
    "slow": f"took at least {SLOW:g} s when it was recorded",
}
# Files of each marker, by name; tests of a group of xdist have its marker, too.
FILES = {
    "net": r"test_(ros1|ros_link|dds|coppelia_(server|zmq|robot)|webxr|contest_client|serve_coppelia|policy_servers"
    r"|lerobot_robot|soak)",
    "browser": r"test_\w*_browser",
    "fuzz": r"test_\w*(fuzz|floods)",
    "gpu": r"test_batch_cuda",
}
GROUPS = {"ros1": "net", "dds": "net", "browser": "browser"}


def room(path: str) -> str:
    """Package and folder of a test's file: packages/trocar/tests/robot/test_bus.py is trocar/robot."""
    parts = PurePosixPath(path).parts
    if parts[0] != "packages":
        return "repository"
    return "/".join([parts[1], *parts[3:-1]])


def markers(path: str, function: str, groups: Iterable[str]) -> set[str]:
    """Markers of a test: of its file, of its groups of xdist, and `slow` by its recorded duration [s]."""
    name = PurePosixPath(path).stem
    chosen = {marker for marker, pattern in FILES.items() if re.match(pattern, name)}
    chosen |= {GROUPS[group] for group in groups if group in GROUPS}
    if recorded()["slow"].get(f"{name}::{function}", 0.0) >= SLOW:
        chosen.add("slow")
    return chosen


@cache
def recorded() -> dict[str, dict[str, float]]:
    """Recorded seconds: `rooms`, in all, and `slow`, the slowest run of each slow test."""
    content: dict[str, dict[str, float]] = json.loads(DURATIONS.read_text("utf-8"))
    return content


def budget_lines(seconds: dict[str, float]) -> list[str]:
    """A line per room with its time, the recorded one and their ratio, the slowest room first."""
    known = recorded()["rooms"]
    rows = sorted(seconds.items(), key=lambda row: -row[1])
    total = sum(seconds.values()), sum(known.get(name, 0.0) for name, _ in rows)
    lines = [f"{name:34s} {spent:7.1f} s  {known.get(name, 0.0):7.1f} s" for name, spent in rows]
    return [f"{'room':34s} {'now':>9s}  {'recorded':>9s}", *lines, f"{'all':34s} {total[0]:7.1f} s  {total[1]:7.1f} s"]


def by_room(durations: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Seconds of each room, from paths of test files and seconds."""
    sums: dict[str, float] = defaultdict(float)
    for path, seconds in durations:
        sums[room(path)] += seconds
    return dict(sums)
