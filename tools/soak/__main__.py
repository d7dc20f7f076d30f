"""Runs arms for hours of simulated time and looks for trends: `python -m tools.soak [SUBJECT ...] --hours H -o DIR`.

SUBJECT is an arm (PSM, MTML, ...) or a scene (cart_classic, ...). Every arm follows a periodic motion under the dVRK's
PID, with friction. Each period of 10 s gives a row: energy balance, loop gap, distance from the remote centre, clock,
tracking error, memory. The state is kept after every few periods; the same command goes on from there, after a check
that the last period comes out again bit for bit. DIR/soak.html is the report.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tools.soak import periodic_motion
from tools.soak.periodic_motion import PeriodicMotion
from tools.soak.trends import figure, in_words, trends
from trocar.files import write_json
from trocar.report import Report

PERIODIC = {"energy_error": "energy error / work", "loop": "loop gap [m]", "rcm": "RCM [m]", "memory_mb": "memory [MB]"}


def main(arguments: Mapping[str, Any]) -> None:
    folder, report, summary = Path(arguments["output"]), Report("Soak"), {}
    folder.mkdir(parents=True, exist_ok=True)
    for subject in arguments["subject"]:
        soak = PeriodicMotion(subject, folder)
        soak.run(arguments["hours"], arguments["seconds"])
        found = trends(periodic_motion.COLUMNS, soak.rows)
        summary[subject] = {"hours": soak.hours, **found}
        text = f"{subject}, periodic motion with friction: {soak.hours:.2f} h. {in_words(found)}"
        print(text)
        report.paragraphs.append(text)
        drawn = figure(periodic_motion.COLUMNS, soak.rows, soak.hours, PERIODIC)
        report.add_figure(drawn, f"{subject}: every period of {periodic_motion.PERIOD:g} s.")
    report.write_html(folder / "soak.html")
    write_json(folder / "soak.json", summary)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subject", nargs="*", default=["PSM", "MTML", "cart_classic"])
    parser.add_argument("--hours", type=float, default=24.0, help="simulated time in all [h] (default: 24)")
    parser.add_argument("--seconds", type=float, default=np.inf, help="real time for each subject in this run [s]")
    parser.add_argument("-o", "--output", default="build/soak", help="folder (default: build/soak)")
    main(vars(parser.parse_args()))
