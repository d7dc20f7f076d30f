"""Runs arms for hours of simulated time and looks for trends: `python -m tools.soak [SUBJECT ...] --hours H -o DIR`.

SUBJECT is an arm (PSM, MTML, ...) or a scene (cart_classic, ...). Every arm follows a periodic motion under the dVRK's
PID, with friction. Each period of 10 s gives a row: energy balance, loop gap, distance from the remote centre, clock,
tracking error, memory. The state is saved every few periods. The same command resumes from there, after checking that
the last period is reproduced bit for bit.

Arms also swing freely, without friction and in exact mode (--free), and the first of them is shown by a live page with
a browser connected (--page). A robot served in ROS 2 gets random commands from clients that leave and come (--ros2);
it must stay alive, home and move on request, and must not grow.

DIR/soak.html is the report, DIR/soak.json has its figures.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tools.soak.free_motion import FreeMotion
from tools.soak.periodic_motion import PeriodicMotion
from tools.soak.trends import figure, in_words, trends
from trocar.arms import ARMS
from trocar.files import write_json
from trocar.report import Report

if TYPE_CHECKING:
    from tools.soak.live_page import LivePage
    from tools.soak.served_ros2 import ServedRos2


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subject", nargs="*", default=["PSM", "MTML", "cart_classic"])
    parser.add_argument("--hours", type=float, default=24.0, help="simulated time in all [h] (default: 24)")
    parser.add_argument("--free", type=float, default=1.0, help="simulated free motion of each arm [h] (default: 1)")
    parser.add_argument("--page", type=float, default=60.0, help="real time of the live page [s] (default: 60)")
    parser.add_argument("--ros2", type=float, default=0.0, help="real time of a robot in ROS 2 [min] (default: 0)")
    parser.add_argument("--seed", type=int, default=0, help="of the commands in ROS 2 (default: 0)")
    parser.add_argument("--seconds", type=float, default=np.inf, help="real time limit of each subject in this run")
    parser.add_argument("-o", "--output", type=Path, default="build/soak", help="folder (default: build/soak)")
    chosen = parser.parse_args(given)
    arms = [subject for subject in chosen.subject if subject in ARMS]
    chosen.output.mkdir(parents=True, exist_ok=True)
    results = _Results(chosen.output)
    if chosen.page and arms:
        from tools.soak.live_page import LivePage  # needs viser

        page = LivePage(arms[0])
        page.run(chosen.page)
        results.add("page", page)
    if chosen.ros2:
        from tools.soak.served_ros2 import ServedRos2  # needs cyclonedds

        served = ServedRos2(chosen.output, chosen.seed, min(60.0, 10.0 * chosen.ros2))
        served.run(60.0 * chosen.ros2)
        results.add("ros2", served)
        print(f"seed {chosen.seed}: {dict(served.counts)}")
        if problems := served.verdict():
            raise SystemExit("\n".join(problems))
    for kind, subjects, hours in (("free", arms, chosen.free), ("periodic", chosen.subject, chosen.hours)):
        for subject in subjects if hours else ():
            soak = FreeMotion(subject, chosen.output) if kind == "free" else PeriodicMotion(subject, chosen.output)
            soak.run(hours, chosen.seconds)
            results.add(kind, soak)


class _Results:
    """Report and figures, written again after every part."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._report = folder, Report("Soak")
        self._summary: dict[str, dict[str, object]] = {}

    def add(self, kind: str, soak: FreeMotion | PeriodicMotion | LivePage | ServedRos2) -> None:
        found = trends(soak.columns, soak.rows)
        text = f"{soak.subject}, {soak.about}: {soak.hours:.3g} h. {in_words(found)}"
        print(text, flush=True)
        self._report.paragraphs.append(text)
        drawn = figure(soak.columns, soak.rows, soak.hours, soak.shown)
        self._report.add_figure(drawn, f"{soak.subject}, {soak.about}.")
        self._summary.setdefault(kind, {})[soak.subject] = {"hours": soak.hours, **found}
        self._report.write_html(self._folder / "soak.html")
        write_json(self._folder / "soak.json", self._summary)


if __name__ == "__main__":
    main()
