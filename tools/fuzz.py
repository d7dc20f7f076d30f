"""Runs every fuzz test up to a number of inputs, in pieces: `python -m tools.fuzz --rounds 200000 -o build/fuzz`.

A door is one fuzz test, an interface is a file of them. With --per-interface the inputs are those of an interface and
are divided evenly between its doors.

A piece is one test with one seed; pieces of an interface with the same number of inputs share a process. The first ones
measure how fast the doors are. DIR/fuzz.json has inputs, seconds and failures of every test; the same command continues
there and prints tables of doors and interfaces at its end. A failure is listed with its seed, and the test is not
continued.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from trocar.files import write_json

ROOT = Path(__file__).parents[1]
FIRST_ROUNDS, MAX_FACTOR = 300, 50.0  # inputs of the first piece; growth from one piece to the next
TIMEOUT = 3600.0  # of a process [s]
MEMORY = Path("/dev/shm")  # files of the tests are here where it exists: a disk is slower than the readers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200_000, help="inputs per test (default: 200000)")
    parser.add_argument(
        "--per-interface", action="store_true", help="divide --rounds between the doors of an interface"
    )
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the first piece (default: the time)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="real time limit of this run")
    parser.add_argument("--piece", type=float, default=60.0, help="real time of a piece after the first [s] (60)")
    parser.add_argument("--only", nargs="+", default=[""], help="tests whose names contain one of these texts")
    parser.add_argument("-o", "--output", type=Path, default=Path("build/fuzz"), help="folder (default: build/fuzz)")
    chosen = parser.parse_args()
    chosen.output.mkdir(parents=True, exist_ok=True)
    path = chosen.output / "fuzz.json"
    campaign = Campaign(path, chosen.seed, chosen.rounds, chosen.piece, per_interface=chosen.per_interface)
    tests = [test for test in fuzz_tests() if any(text in test for text in chosen.only)]
    campaign.run(tests, time.monotonic() + chosen.seconds)
    print(campaign.table(), campaign.interface_table(), sep="\n\n")


def fuzz_tests() -> list[str]:
    """Names of all fuzz tests, one for every door."""
    files = [
        str(file.relative_to(ROOT))
        for file in sorted([*ROOT.glob("tests/test_*fuzz.py"), *ROOT.glob("packages/*/tests/**/test_*fuzz.py")])
    ]
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *files]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if "::" in line]


def interface(test: str) -> str:
    """File of a test, which has all doors of one interface."""
    return test.partition("::")[0]


class Campaign:
    """Results of all tests, kept in a file.

    Args:
        path: of the results. seed: of the first piece. rounds: inputs per test. piece: real time of a piece [s].
        per_interface: rounds are the inputs of all doors of an interface together.

    Attributes:
        results: by test: seed of the first piece, number of pieces, inputs, real time and processor time of its process
            [s], and the failure, if any.
    """

    def __init__(self, path: Path, seed: int, rounds: int, piece: float = 60.0, *, per_interface: bool = False) -> None:
        self._path, self._seed, self._rounds, self._piece = path, seed, rounds, piece
        self._per_interface = per_interface
        self.results: dict[str, dict[str, Any]] = json.loads(path.read_text()) if path.exists() else {}

    def run(self, tests: list[str], end: float = float("inf")) -> None:
        """Run pieces of these tests until all have their inputs, or until a time of the monotonic clock [s]."""
        # one piece of each test in turn, so that a run that ends early has tried all of them
        while waiting := [test for test in tests if self.unfinished(test)]:
            for (_, rounds, seed), doors in itertools.groupby(waiting, self._next_piece):
                if time.monotonic() > end:
                    return
                self._run_pieces(list(doors), rounds, seed)

    def unfinished(self, test: str) -> bool:
        """True unless a test has had its inputs, has failed, or has none to count."""
        result = self.results.get(test)
        if result is None or not result["pieces"]:
            return True
        return 0 < result["inputs"] < self.goal(test) and "failure" not in result

    def goal(self, test: str) -> int:
        """Inputs that a test should have."""
        if not self._per_interface:
            return self._rounds
        doors = [door for door in self._doors() if interface(door) == interface(test)]
        return math.ceil(self._rounds / max(len(doors), 1))

    def table(self) -> str:
        """Inputs, real time, inputs per second of processor time and failure of every test, the slowest first."""
        tests = sorted(self._doors(), key=self._rate)
        return "\n".join(["  inputs seconds inputs/s of a processor", *map(self._line, tests)])

    def interface_table(self) -> str:
        """Inputs, real time, number of doors and of failures of every interface."""
        lines = ["  inputs seconds doors failures"]
        for name in sorted({interface(door) for door in self._doors()}):
            results = [self.results[door] for door in self._doors() if interface(door) == name]
            inputs, seconds = (sum(result[figure] for result in results) for figure in ("inputs", "seconds"))
            failures = sum("failure" in result for result in results)
            lines.append(f"{inputs:8d} {seconds:7.0f} {len(results):5d} {failures:8d}  {name}")
        return "\n".join(lines)

    def _doors(self) -> list[str]:
        """Tests that have had inputs or failed; the others check something else."""
        return [test for test, result in self.results.items() if result["inputs"] or "failure" in result]

    def _line(self, test: str) -> str:
        result = self.results[test]
        outcome = result.get("failure", "passed")
        return f"{result['inputs']:8d} {result['seconds']:7.0f} {self._rate(test):8.0f}  {outcome}  {test}"

    def _rate(self, test: str) -> float:
        result = self.results[test]
        return float(result["inputs"] / max(result["cpu"], 1e-3))

    def _next_piece(self, test: str) -> tuple[str, int, int]:
        """Interface, inputs and seed of the next piece of a test; tests with the same ones can share a process."""
        result = self.results.get(test, {"seed": self._seed, "pieces": 0, "inputs": 0})
        rounds, seed = FIRST_ROUNDS, result["seed"] + result["pieces"]
        if result["inputs"]:
            last = result["last"]
            wanted = last["rounds"] * min(self._piece / max(last["seconds"], 1e-3), MAX_FACTOR)
            left = (self.goal(test) - result["inputs"]) * last["rounds"] / max(last["inputs"], 1)
            rounds = max(int(min(wanted, left + 1)), 1)
        return interface(test), rounds, seed

    def _run_pieces(self, tests: list[str], rounds: int, seed: int) -> None:
        pieces, status, output = run_tests(tests, rounds, seed)
        # a test that was skipped has no piece; so has the one that killed the process, and those after it come again
        empty = {"inputs": 0, "seconds": 0.0, "cpu": 0.0, "failed": status != 0, "output": output[-3000:]}
        for test in tests:
            self._add(test, pieces.get(test, empty), rounds, seed)
            print(self._line(test), flush=True)
            if test not in pieces:
                break

    def _add(self, test: str, piece: dict[str, Any], rounds: int, seed: int) -> None:
        result = self.results.setdefault(test, {"seed": seed, "pieces": 0, "inputs": 0, "seconds": 0.0, "cpu": 0.0})
        result["pieces"] += 1
        for figure in ("inputs", "seconds", "cpu"):
            result[figure] += piece[figure]
        result["last"] = {"rounds": rounds, "inputs": piece["inputs"], "seconds": piece["seconds"]}
        if piece["failed"]:
            result["failure"] = f"TROCAR_FUZZ={rounds} TROCAR_FUZZ_SEED={seed}"
            result["output"] = piece["output"]
        write_json(self._path, self.results)


def run_tests(tests: list[str], rounds: int, seed: int) -> tuple[dict[str, dict[str, Any]], int, str]:
    """Run tests in one process: their pieces by name, its exit status (-1: stopped after the time-out) and output.

    A piece has inputs, seconds, cpu, failed and output, as conftest.py writes them after each test.
    """
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None, prefix="fuzz-") as folder:
        report = Path(folder) / "report.jsonl"
        settings = {"TROCAR_FUZZ": str(rounds), "TROCAR_FUZZ_SEED": str(seed), "TROCAR_FUZZ_REPORT": str(report)}
        settings["TMPDIR"] = folder
        options: dict[str, Any] = {"cwd": ROOT, "env": {**os.environ, **settings}, "timeout": TIMEOUT}
        try:
            done = subprocess.run(command, capture_output=True, text=True, **options)
            status, output = done.returncode, done.stdout
        except subprocess.TimeoutExpired:
            status, output = -1, f"no end after {TIMEOUT:g} s"
        lines = report.read_text().splitlines() if report.exists() else []
    return {piece["test"]: piece for piece in map(json.loads, lines)}, status, output


if __name__ == "__main__":
    main()
