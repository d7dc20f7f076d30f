"""Command line of the scripted runs; see the package."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import tools.scripted_runs

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.scripted_runs",
        description=tools.scripted_runs.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("-o", dest="output", metavar="DIR", type=Path, help="record into this folder")
    action.add_argument("--compare", metavar=("DIR_A", "DIR_B"), nargs=2, type=Path, help="compare two folders")
    action.add_argument("--list", action="store_true", help="list the names of the runs")
    parser.add_argument("--only", metavar="TEXT", action="append", help="record runs with this text; can be repeated")
    options = parser.parse_args()
    for variable in THREADS:  # read when numpy is imported; sums depend on the number of threads
        os.environ.setdefault(variable, "1")
    from tools.scripted_runs import catalogue, comparison

    if options.list:
        print("\n".join(catalogue.RUNS))
        return 0
    if options.compare:
        return 0 if comparison.compare(*options.compare) else 1
    return 0 if catalogue.record(options.output, options.only or ()) else 1


if __name__ == "__main__":
    sys.exit(main())
