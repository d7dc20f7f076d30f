"""Record how long tests take: `python -m tools.durations junit.xml`, from pytest's --junitxml.

Writes tests/durations.json: seconds of each room, and the slow tests. `make quick` leaves the slow ones out, and a
whole run prints the time of each room beside the recorded one. Record on two quiet cores.
"""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from tests.support.markers import DURATIONS, SLOW, by_room
from trocar.files import write_whole


def durations(report: Path) -> list[tuple[str, str, float]]:
    """Path, function and seconds of every test of a report."""
    rows = []
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        path = case.get("classname", "").replace(".", "/") + ".py"
        function = case.get("name", "").partition("[")[0].partition("@")[0]
        rows.append((path, function, float(case.get("time", "0"))))
    return rows


def content(rows: list[tuple[str, str, float]]) -> dict[str, dict[str, float]]:
    """The recorded file."""
    rooms = by_room((path, seconds) for path, _, seconds in rows)
    slow: dict[str, float] = {}
    for path, function, seconds in rows:
        name = f"{Path(path).stem}::{function}"
        if seconds >= SLOW:
            slow[name] = max(slow.get(name, 0.0), round(seconds, 1))
    return {"rooms": {name: round(rooms[name], 1) for name in sorted(rooms)}, "slow": dict(sorted(slow.items()))}


def main() -> None:
    rows = durations(Path(sys.argv[1]))
    write_whole(DURATIONS, json.dumps(content(rows), indent=1) + "\n")
    print(f"{DURATIONS}: {len(rows)} tests, {sum(row[2] for row in rows):.0f} s")
    for path, function, seconds in sorted(rows, key=lambda row: -row[2])[:50]:
        print(f"{seconds:7.2f} s  {path}::{function}")


if __name__ == "__main__":
    main()
