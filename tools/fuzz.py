"""Runs every fuzz test up to a number of inputs, in pieces: `python -m tools.fuzz --rounds 200000 -o build/fuzz`.

A piece is one test with one seed. DIR/fuzz.json has inputs, seconds and failures of every test; the same command
continues there. A failure is listed with its seed, and the test is not continued.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from trocar.files import write_json

ROOT = Path(__file__).parents[1]
PIECE_SECONDS = 60.0  # of a piece after the first one
FIRST_ROUNDS, MAX_FACTOR = 300, 20.0  # of the first piece, and between two pieces
TIMEOUT = 3600.0  # of a piece [s]
COUNT = re.compile(r"^ +(\d+)  \S", re.MULTILINE)  # of a door, at the end of a campaign


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200_000, help="inputs per test (default: 200000)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the first piece (default: the time)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="real time limit of this run")
    parser.add_argument("--only", default="", help="tests whose names contain this text")
    parser.add_argument("-o", "--output", type=Path, default=Path("build/fuzz"), help="folder (default: build/fuzz)")
    chosen = parser.parse_args()
    chosen.output.mkdir(parents=True, exist_ok=True)
    path, end = chosen.output / "fuzz.json", time.monotonic() + chosen.seconds
    results: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    tests = [test for test in fuzz_tests() if chosen.only in test]
    for _ in itertools.count():  # one piece of each test in turn, so that a run that ends early has tried all of them
        waiting = [test for test in tests if unfinished(results.get(test), chosen.rounds)]
        if not waiting:
            break
        for test in waiting:
            if time.monotonic() > end:
                return
            result = results.setdefault(test, {"seed": chosen.seed, "pieces": 0, "inputs": 0, "seconds": 0.0})
            run_piece(test, result, chosen.rounds)
            write_json(path, results)
            print(
                f"{result['inputs']:8d} {result['seconds']:7.0f} s  {result.get('failure', 'passed')}  {test}",
                flush=True,
            )


def fuzz_tests() -> list[str]:
    """Names of all fuzz tests, one for every door."""
    files = [str(file.relative_to(ROOT)) for file in sorted(ROOT.glob("tests/**/test_*fuzz.py"))]
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *files]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if "::" in line]


def unfinished(result: dict[str, Any] | None, rounds: int) -> bool:
    """True unless a test has had its inputs, has failed, or has none to count."""
    if result is None or not result["pieces"]:
        return True
    return 0 < result["inputs"] < rounds and "failure" not in result


def run_piece(test: str, result: dict[str, Any], rounds: int) -> None:
    """Run one test with the next seed; its result is updated."""
    seed, before = result["seed"] + result["pieces"], result.get("piece", FIRST_ROUNDS)
    factor = min(PIECE_SECONDS / max(result.get("piece_seconds", PIECE_SECONDS), 1e-3), MAX_FACTOR)
    piece = min(max(int(before * factor), 1), max(rounds - result["inputs"], FIRST_ROUNDS))
    environment = {**os.environ, "TROCAR_FUZZ": str(piece), "TROCAR_FUZZ_SEED": str(seed)}
    began = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test]
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=TIMEOUT)
        status, output = done.returncode, done.stdout
    except subprocess.TimeoutExpired:
        status, output = -1, f"no end after {TIMEOUT:g} s"
    seconds = time.monotonic() - began
    result["inputs"] += sum(map(int, COUNT.findall(output)))
    result["pieces"] += 1
    result["seconds"] += seconds
    result["piece"], result["piece_seconds"] = piece, seconds
    if status:
        result["failure"] = f"TROCAR_FUZZ={piece} TROCAR_FUZZ_SEED={seed}"
        result["output"] = output[-3000:]


if __name__ == "__main__":
    main()
