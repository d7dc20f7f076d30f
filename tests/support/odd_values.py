"""Values for fuzz tests: valid, nearly valid and nonsense, from a seeded generator."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

CAMPAIGN = "TROCAR_FUZZ" in os.environ
SEED = int(os.environ.get("TROCAR_FUZZ_SEED", "0"))
INPUTS: Counter[str] = Counter()  # number of inputs so far, by interface; a campaign prints them at its end
_reported = {"inputs": 0, "cpu": 0.0}  # inputs of tests that have ended, processor time at the last report [s]


def rounds(usual: int) -> int:
    """Number of inputs: the default in the tests, TROCAR_FUZZ times as many in a campaign."""
    return int(os.environ.get("TROCAR_FUZZ", usual))


def add_piece(report: pytest.TestReport, path: Path) -> None:
    """Append inputs, real and processor time and failure of a test that has ended to a file of JSON lines.

    After its set-up, the processor time begins.
    """
    total, cpu = INPUTS.total(), time.process_time()
    if report.when == "setup":
        _reported["cpu"] = cpu
        return
    piece: dict[str, object] = {"test": report.nodeid, "inputs": total - _reported["inputs"], "failed": report.failed}
    piece |= {"seconds": report.duration, "cpu": cpu - _reported["cpu"]}
    _reported.update(inputs=total, cpu=cpu)
    with path.open("a") as file:
        file.write(json.dumps({**piece, "output": report.longreprtext[-3000:]}) + "\n")


NUMBERS = (0, 1, -1, 7, 2**31, 2**63 - 1, -(2**63), 0.0, -0.0, 0.05, 1.5, 1e-320, 1e6, -1e9, 1e154, 1e308, -1e308)
NOT_FINITE = (float("nan"), float("inf"), float("-inf"))
TEXTS = (
    "",
    "PSM",
    "PID (dVRK)",
    "effort alone",
    "impedance",
    "kp",
    "stiffness",
    "SPOON",
    "400006",
    "/etc/passwd",
    "../../etc/hosts.toml",
    "<img src=x onerror=alert(1)>",
    "a" * 5000,
    "\x00",
    "Ünïcode \U0001f916",
    "__class__",
)


def number(rng: np.random.Generator) -> float:
    kind = rng.integers(10)
    if kind == 0:
        return NOT_FINITE[rng.integers(len(NOT_FINITE))]
    if kind < 4:
        return NUMBERS[rng.integers(len(NUMBERS))]
    return float(rng.normal() * 10.0 ** rng.integers(-3, 3))


def text(rng: np.random.Generator) -> str:
    return TEXTS[rng.integers(len(TEXTS))]


def numbers(rng: np.random.Generator, n: int) -> list[float]:
    """n numbers, mostly in an arm's range; sometimes fewer, more or odd ones."""
    kind = rng.integers(6)
    if kind == 0:
        return [number(rng) for _ in range(n)]
    if kind == 1:
        n = int(rng.integers(0, 12))
    return (rng.normal(size=n) * rng.choice([0.05, 0.3, 3.0, 1e3])).tolist()


def nonsense(rng: np.random.Generator, depth: int = 0):
    """Anything that JSON and msgpack can hold."""
    kind = rng.integers(9 if depth < 3 else 6)
    match kind:
        case 0:
            return None
        case 1:
            return bool(rng.integers(2))
        case 2 | 3:
            return number(rng)
        case 4:
            return text(rng)
        case 5:
            return bytes(rng.integers(0, 256, rng.integers(0, 40), dtype=np.uint8))
        case 6:
            return numbers(rng, int(rng.integers(0, 9)))
        case 7:
            return [nonsense(rng, depth + 1) for _ in range(rng.integers(0, 4))]
        case _:
            return {text(rng)[:20]: nonsense(rng, depth + 1) for _ in range(rng.integers(0, 4))}


def python_nonsense(rng: np.random.Generator):
    """Anything that a caller in Python can pass."""
    odd = (np.zeros((2, 2)), np.array("text"), np.float32(3.0), Path("nowhere.toml"), object(), 1j, {1, 2}, max)
    return odd[rng.integers(len(odd))] if rng.integers(5) == 0 else nonsense(rng)
