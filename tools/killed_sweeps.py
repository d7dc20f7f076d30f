"""Kills sweeps repeatedly and checks that their rows equal those of an undisturbed sweep.

    python -m tools.killed_sweeps [--rows 1000] [--kills 3] [--executors serial processes ray]

Every simulation is a PSM in the MuJoCo engine, pushed at random. The process that runs the sweep gets SIGKILL `kills`
times, each time after another share of the rows; then it is resumed to the end. "ray" is a cluster of two local nodes,
one of which is killed in the middle of the last run. Prints a line for each executor; exit status 1 if a row differs.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from trocar.sweep import Results
from trocar.sweep.executors import LOCAL_RAY

ROOT = Path(__file__).parents[1]
STUDY = '''"""A PSM pushed at random."""
from functools import cache
import numpy as np
import trocar as tr

STEPS = {steps}

@cache
def simulator():
    return tr.Simulator("PSM")

def table(rows, seed):
    return {{"push": np.random.default_rng(seed).uniform(-1.0, 1.0, rows)}}

def run(push, seed):
    sim, noise = simulator(), np.random.default_rng(seed)
    sim.reset(sim.arm.home)
    for _ in range(STEPS):
        sim.step(push * noise.normal(size=7))
    return {{"q": sim.q, "tip": sim.tip_pose()[:3, 3], "moved": float(np.abs(sim.dq).max())}}
'''


def write_study(folder: Path, steps: int = 30) -> Path:
    """The file of the study. steps: number of steps of one simulation."""
    path = folder / "pushed.py"
    path.write_text(STUDY.format(steps=steps))
    return path


def start(study: Path, folder: Path, rows: int, *options: str, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """A process that starts or resumes the sweep."""
    resumed = ["--resume"] if (folder / "rows").exists() and os.listdir(folder / "rows") else []
    command = [sys.executable, "-m", "trocar", "sweep", str(study), "-o", str(folder), "-n", str(rows), *options]
    return subprocess.Popen(
        [*command, *resumed], env={**os.environ, **environment}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def rows_done(folder: Path) -> int:
    """Number of finished rows, from the names of their files."""
    names = [path.stem.split("-") for path in (folder / "rows").glob("part-*.parquet")]
    return sum(int(stop) - int(start) for _, start, stop in names)


def killed(study: Path, folder: Path, rows: int, kills: int, *options: str, environment: dict[str, str]) -> list[int]:
    """Run the sweep, kill it `kills` times, and leave it unfinished; returns the finished rows at each kill."""
    done = []
    for k in range(kills):
        process = start(study, folder, rows, *options, environment=environment)
        wait_for_rows(folder, (k + 1) * rows // (kills + 2), process)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        if process.stderr is not None:
            process.stderr.close()
        done.append(len(Results(folder)))
    return done


def wait_for_rows(folder: Path, rows: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until this many rows are finished, while the process runs."""
    before = rows_done(folder)
    while rows_done(folder) < max(rows, before + 1):
        if process.poll() is not None:
            raise SystemExit(f"the sweep was over before it was killed: {_last(process.stderr)}")
        time.sleep(0.005)


def finish(process: subprocess.Popen[bytes]) -> None:
    """Wait for a sweep to end successfully."""
    _, errors = process.communicate()
    if process.returncode:
        raise SystemExit(f"the sweep failed: {errors.decode()[-500:]}")


def _last(stream: IO[bytes] | None) -> str:
    return "" if stream is None else stream.read().decode()[-500:]


@contextmanager
def two_nodes() -> Iterator[tuple[str, dict[str, str], Any]]:
    """A Ray cluster of two local nodes: its address, its environment, and a function that kills one of them."""
    environment = {**LOCAL_RAY, "PYTHONPATH": os.pathsep.join(sys.path)}
    cluster = subprocess.Popen(
        [sys.executable, str(ROOT / "tests" / "support" / "ray_nodes.py")],
        env={**os.environ, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert cluster.stdin is not None
    assert cluster.stdout is not None
    try:
        address = cluster.stdout.readline().strip()

        def lose() -> None:
            assert cluster.stdin is not None
            assert cluster.stdout is not None
            cluster.stdin.write("lose\n")
            cluster.stdin.flush()
            cluster.stdout.readline()

        yield address, environment, lose
    finally:
        cluster.stdin.close()
        cluster.wait()
        cluster.stdout.close()


def compared(study: Path, place: Path, executor: str, rows: int, kills: int) -> str:
    """Run a sweep that is killed, and compare its rows with those in `place / "whole"`."""
    folder = place / executor
    begin = time.monotonic()
    options: tuple[str, ...]
    if executor == "ray":
        with two_nodes() as (address, environment, lose):
            options = ("--executor", "ray", "--address", address)
            done = killed(study, folder, rows, kills, *options, environment=environment)
            process = start(study, folder, rows, *options, environment=environment)
            wait_for_rows(folder, 0, process)
            lose()
            finish(process)
    else:
        options = ("--executor", executor)
        done = killed(study, folder, rows, kills, *options, environment={})
        finish(start(study, folder, rows, *options, environment={}))
    same = Results(folder).table().equals(Results(place / "whole").table())
    seconds = time.monotonic() - begin
    return f"{executor}: {'same rows' if same else 'DIFFERENT ROWS'}; {done} rows done when killed; {seconds:.0f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--steps", type=int, default=60, help="steps of one simulation")
    parser.add_argument("--executors", nargs="+", default=["serial", "processes", "ray"])
    options = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="killed-sweeps-"))
    try:
        study = write_study(place, options.steps)
        finish(start(study, place / "whole", options.rows, "--executor", "serial", environment={}))
        print(f"{options.rows} simulations without kills", flush=True)
        lines = []
        for executor in options.executors:
            lines.append(compared(study, place, executor, options.rows, options.kills))
            print(lines[-1], flush=True)
    finally:
        shutil.rmtree(place)
    if any("DIFFERENT" in line for line in lines):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
