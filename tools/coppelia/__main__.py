"""Run the program's tasks against `trocar serve coppelia`, and compare them with the logs of Ferro et al. 2022."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import numpy as np

from tools.coppelia.client import RemoteApiClient
from tools.coppelia.program import Program, ProgramLog
from trocar.demo.torque_control import ARM, START
from trocar.mechanics import load_mechanism
from trocar.spatial import Array
from trocar_reproductions.ferro2022.logs import Log, log_of

CYCLE = 5e-3  # of the original client [s]
BLOCKING_CALLS = 2  # per step
TIMEOUT = 60.0  # of a reply, on a machine with other work [s]
ELSEWHERE = ["--place", "Start=-1.539001,-0.16781,0.714751"]  # in the scene of logs 3, 4 and 8
LOGS = {  # task and options of the server
    1: ("line", ["--no-counterweight"]),
    2: ("line", []),
    3: ("spiral", ["--no-counterweight", *ELSEWHERE]),
    4: ("spiral", ELSEWHERE),
    5: ("excitation", ["--no-counterweight", "--period", "0.005"]),
    6: ("excitation", ["--period", "0.005"]),
    8: ("line", ["--torque", *ELSEWHERE]),
}


@contextmanager
def server(*options: str) -> Iterator[int]:
    """The port of a server in a process of its own."""
    command = [sys.executable, "-m", "trocar", "serve", "coppelia", "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = re.search(r"127\.0\.0\.1:(\d+)", process.stdout.readline())
        assert address is not None
        try:
            yield int(address[1])
        finally:
            process.terminate()  # a job in the background ignores SIGINT
        if process.wait(timeout=20) != 0:
            raise SystemExit(f"the server ended with status {process.returncode}")


def session(
    task: str,
    rows: int,
    options: list[str],
    arms: tuple[str, ...] = ("PSM1",),
    cycle: float = 0.0,
    given: Array | None = None,
) -> tuple[list[ProgramLog], float]:
    """Rows of each arm's program, and the time of the loop [s]."""
    with server(*options, "--arms", ",".join(arms)) as port:
        clients = {arm: RemoteApiClient(port, cycle, TIMEOUT) for arm in arms}
        for client in clients.values():
            client.synchronous()
        with ThreadPoolExecutor(len(arms)) as pool:
            programs = list(pool.map(lambda arm: Program(clients[arm], task, arm=arm, given=given), arms))
            begin = time.perf_counter()
            logs = list(pool.map(lambda program: program.run(rows), programs))
            seconds = time.perf_counter() - begin
        for client in clients.values():
            client.finish()
    return logs, seconds


def tasks(rows: int) -> None:
    """All tasks, velocity and torque control, one and two arms, each twice: in the client's own cycle and without."""
    waves = 0.2 * np.sin(np.outer(np.arange(rows), [0.02, 0.03, 0.01]))
    holding = load_mechanism("PSM").gravity(START)[ARM]
    own = BLOCKING_CALLS * CYCLE * rows
    for task, control, arms in product(
        ("regulation", "line", "spiral", "excitation"), ("velocity", "torque"), (("PSM1",), ("PSM1", "PSM2"))
    ):
        given = (waves + holding if control == "torque" else waves) if task == "excitation" else None
        options = ["--torque"] if control == "torque" else []
        (one, seconds), (two, _) = (session(task, rows, options, arms, cycle, given) for cycle in (CYCLE, 0.0))
        same = all(
            np.array_equal(getattr(a, name), getattr(b, name))
            for a, b in zip(one, two, strict=True)
            for name in ("qmsr", "tauMsr")
        )
        error = 1e3 * np.linalg.norm(one[0].pdes[-1] - one[0].pee[-1])
        last = "" if given is not None else f", last tip error {error:.3f} mm"
        print(
            f"{task}, {control}, {len(arms)} arms: {rows} rows, status 0, same bits: {same}, {seconds:.2f} s, "
            f"{seconds / own:.3f} x the client's own {own:g} s{last}",
            flush=True,
        )


def compare(data: Path) -> None:
    """The table of docs/coppeliasim.md."""
    for number, (task, options) in LOGS.items():
        log = log_of(data, number)
        if not isinstance(log, Log):
            print(f"log {number}: {log}")
            continue
        given = log["qdcmd"][:, ARM] if task == "excitation" else None
        for name in ("ferro2022_scene", "wang2019"):
            (run,), _ = session(task, len(log.t), [*options, "-p", name], given=given)
            print(f"log {number}, {task}, {name}: {agreement(run, log, torque=number == 8)}", flush=True)


def agreement(run: ProgramLog, log: Log, torque: bool) -> str:
    """RMS, mean and correlation of the effort, RMS of the tip."""
    rows = log.settled
    ours, theirs = run.tauMsr[rows], log["tauMsr"][rows][:, ARM]
    error = ours - theirs
    correlation = [np.corrcoef(a, b)[0, 1] for a, b in zip(ours.T, theirs.T, strict=True)]
    tip = 1e3 * np.sqrt(np.mean((run.pee - log["pee"])[slice(None) if torque else rows] ** 2, axis=0))
    values = {"RMS": np.sqrt(np.mean(error**2, axis=0)), "mean": error.mean(axis=0), "correlation": correlation}
    if not run.qdcmd[:, 3:].any() and not torque:
        return ", ".join(f"{name} {_three(x)}" for name, x in values.items())
    return ", ".join(f"{name} {_three(x)}" for name, x in {**values, "tip [mm]": tip}.items())


def _three(values: Array) -> str:
    return " ".join(f"{x:.3f}" for x in values)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tools.coppelia", description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("TROCAR_DATA"), help="folder of the logs")
    parser.add_argument("--rows", type=int, default=1000, help="steps of a task; default: 1000; 0: the logs only")
    arguments = parser.parse_args()
    if arguments.rows:
        tasks(arguments.rows)
    if arguments.data is not None:
        compare(Path(arguments.data))
