"""Run one benchmark: `python -m tools.bench NAME [--rounds N] [--json FILE]`.

NAME is a module of this folder with `figures(rounds, progress)`, which returns a flat dictionary of named figures.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

from trocar.commands.terminal import progress_bar, show_table
from trocar.files import check_writable, write_json

NAMES = ("dds", "gpu", "ros1", "surgery", "sweep", "tasks", "teleop")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.bench", description=__doc__.partition("\n")[0])
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--rounds", type=int, default=3, help="repetitions; the median is reported")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    check_writable(options.json)
    with progress_bar(f"bench {options.name}") as progress:
        figures = import_module(f"tools.bench.{options.name}").figures(options.rounds, progress)
    if options.json is not None:
        write_json(options.json, figures)
    show_table(f"bench {options.name}", ("figure", "median"), [(name, f"{x:.4g}") for name, x in figures.items()])


if __name__ == "__main__":
    main()
