"""Benchmarks of sweeps: two workers against one, and the overhead of a sweep over bare calls, in one run."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from trocar.errors import TrocarError
from trocar.sweep import run
from trocar.sweep.packages import optional

ROOT = Path(__file__).parents[2]
STEPS = 20_000  # per item of the speed-up, about 5 ms in generated code
ITEMS = 2000  # about 10 s on one core
LIGHT = 20_000  # items for the overhead
MANY = 100_000  # rows for the memory

_MEMORY = """
import json, re, sys, time
import trocar as tr
from trocar.sweep import Results
from tools.bench.sweep import light

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) / 1e3

folder, rows = sys.argv[1], int(sys.argv[2])
tr.sweep.run(light, {"x": [float(x) for x in range(1000)]}, folder + "/few")
sum(len(batch) for batch in Results(folder + "/few").batches())
few, begin = peak(), time.perf_counter()
results = tr.sweep.run(light, {"x": [float(x) for x in range(rows)]}, folder + "/many")
written, begin = time.perf_counter() - begin, time.perf_counter()
total = sum(batch["y"].to_numpy().sum() for batch in results.batches())
assert len(results) == rows and total > 0
print(json.dumps([written, time.perf_counter() - begin, peak() - few]))
"""


def heavy(push: float) -> dict[str, float]:
    """Simulate a pushed PSM; takes some milliseconds."""
    from trocar import batch

    arms = _arms.setdefault("arms", batch.load("PSM"))
    home = np.array(arms.mechanism.arm.home)
    tau = arms.mechanism.gravity(home) + push * np.array([1.0, 0, 0, 0, 0, 0, 0])
    end, _ = arms.rollout(arms.state(home), tau, 1e-4, STEPS, log=False)
    return {"yaw": float(end.q[0])}


_arms: dict[str, Any] = {}


def light(x: float) -> dict[str, float]:
    """Almost no work."""
    return {"y": x * x, "z": x + 1.0}


def figures(rounds: int = 3, progress: Callable[[float], None] | None = None) -> dict[str, float]:
    """Medians over the rounds; calls of a round are interleaved, ratios are computed within a round.

    sweep_two_workers_speedup: whole sweeps of 2,000 simulations of 5 ms in processes, including start-up.
    bare_call_us, sweep_EXECUTOR_overhead_us: an almost empty call in a loop, and the overhead of a sweep per row
    (including files, excluding start-up: from sweeps of two lengths).
    sweep_100k_...: writing and reading 100,000 rows, and the growth of the peak memory over a sweep of 1,000 rows.
    """
    if rounds < 1:
        raise TrocarError(f"rounds must be 1 or more, got {rounds}")
    for package in ("pyarrow", "cloudpickle"):
        optional(package)
    tell = progress or (lambda fraction: None)
    samples: dict[str, list[float]] = {}

    def note(name: str, value: float) -> None:
        samples.setdefault(name, []).append(value)

    place = Path(tempfile.mkdtemp(prefix="trocar-bench-"))
    try:
        heavy(0.0)  # compiles and caches
        for k in range(rounds):
            one = _seconds(heavy, ITEMS, place, "processes", 1)
            two = _seconds(heavy, ITEMS, place, "processes", 2)
            note("sweep_one_worker_s", one)
            note("sweep_two_workers_s", two)
            note("sweep_two_workers_speedup", one / two)
            bare = _bare(LIGHT)
            note("bare_call_us", 1e6 * bare)
            for executor in ("serial", "processes"):
                slope = (_seconds(light, LIGHT, place, executor) - _seconds(light, LIGHT // 4, place, executor)) / (
                    LIGHT - LIGHT // 4
                )
                note(f"sweep_{executor}_overhead_us", 1e6 * (slope - bare))
            command = [sys.executable, "-c", _MEMORY, str(place / "memory"), str(MANY)]
            output = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
            shutil.rmtree(place / "memory")
            for name, value in zip(("write_s", "read_s", "memory_growth_mb"), json.loads(output), strict=True):
                note(f"sweep_100k_rows_{name}", value)
            tell((k + 1) / rounds)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return {name: float(np.median(values)) for name, values in samples.items()}


def _seconds(function: Callable[..., Any], rows: int, place: Path, executor: str, workers: int | None = None) -> float:
    """Time of a whole sweep [s]."""
    folder = place / "sweep"
    name = "push" if function is heavy else "x"
    begin = time.perf_counter()
    run(function, {name: np.linspace(0.0, 0.1, rows)}, folder, executor=executor, workers=workers)
    seconds = time.perf_counter() - begin
    shutil.rmtree(folder)
    return seconds


def _bare(rows: int) -> float:
    """Time of a bare call [s]."""
    values = np.linspace(0.0, 0.1, rows).tolist()
    begin = time.perf_counter()
    for x in values:
        light(x=x)
    return (time.perf_counter() - begin) / rows
