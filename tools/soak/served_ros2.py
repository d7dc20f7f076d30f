"""A robot served in ROS 2 in real time, while rough clients leave and come."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from tools.soak import rough_clients
from tools.soak.process_memory import process_tree, usage
from trocar.errors import TrocarError
from trocar.robot import messages as m
from trocar.transports.ros2.client import Ros2Client

SCENE = """timestep = 6.666666666666667e-4
[arms.PSM1]
arm = "PSM"
q = [0.0, 0.0, 0.12, 0.0, 0.0, 0.0, 0.5]
[arms.ECM]
arm = "ECM"
position = [1.5, 0.0, 0.0]
[arms.MTMR]
arm = "MTMR"
position = [3.0, 0.5, 0.6]
"""
ARMS = ("PSM1", "ECM", "MTMR")
THREADS, STATE_RATE = 4, 100.0  # clients at once; rate of states [Hz]
STEADY_TOPIC = "MTMR_PSM1/alignment_offset"  # a state that no event sends in between
START_TIMEOUT, ANSWER_TIMEOUT, END_TIMEOUT = 300.0, 300.0, 120.0  # [s]; a busy machine takes its time
# Whatever the clients have done to the instrument and to teleoperation is undone before the last motions.
SWITCHES = {"console/teleop/enable": False, "PSM1/emulate_adapter_present": True, "PSM1/emulate_tool_present": True}
# Growth is judged by a straight line through the rows after the first sixth of the run, in which Python and cyclonedds
# fill their caches.
WARM_UP = 1 / 6
MAX_MEMORY_GROWTH = 0.03  # of the mean
MAX_COUNT_GROWTH = 2.0  # open files, threads
MAX_LOG_RATE = 1.0  # of the command's output [kB/s]


class ServedRos2:
    """`trocar serve ros2` in a separate process, four threads of rough clients, and one that is killed in every row.

    Attributes:
        rows: one for every interval; see `columns`. rate: simulated over real time, by the number of states received.
            log_kb: output of the command so far [kB]. actions: commands, calls and packets sent so far.
        counts: actions by kind.
    """

    columns: ClassVar[tuple[str, ...]] = (
        *("real_time", "rate", "memory_mb", "files", "threads", "processes", "log_kb", "visits", "actions"),
    )
    shown: ClassVar[Mapping[str, str]] = {
        "rate": "simulated / real time",
        "memory_mb": "memory [MB]",
        "files": "open files",
        "threads": "threads",
    }
    about = "served in ROS 2, four threads of random commands"

    def __init__(self, folder: Path, seed: int = 0, interval: float = 60.0) -> None:
        self.subject = ", ".join(ARMS)
        self.rows: list[tuple[float, ...]] = []
        self.hours, self.counts, self._problems = 0.0, Counter[str](), list[str]()
        self._folder, self._seed, self._interval = folder, seed, interval
        self._domain = 1 + (os.getpid() + 30) % 80  # of no test

    def run(self, seconds: float) -> None:
        """Serve for this many seconds of real time, then ask every arm to move and stop the command.

        On a busy machine it takes longer, until as many visits have ended as there are threads of clients.
        """
        scene, log = self._folder / "ros2.toml", self._folder / "ros2.log"
        scene.write_text(SCENE)
        with served(scene, self._domain, log) as server, Ros2Client(self._domain) as client:
            self._look(server, client, log, seconds)
            self._ask(client)
        if server.returncode != 0:
            self._problems.append(f"the command ended with status {server.returncode} after Ctrl-C")

    def _look(self, server: subprocess.Popen[bytes], client: Ros2Client, log: Path, seconds: float) -> None:
        processes, states = process_tree(server.pid), Counter[str]()
        client.subscribe(STEADY_TOPIC, lambda _: states.update(("states",)))
        began = last = time.monotonic()
        before = states.total()
        rng = np.random.default_rng(self._seed)
        with Clients(self._domain, rng, THREADS) as clients:
            while last < began + seconds or self.counts["visits"] < THREADS:
                if last > began + seconds + START_TIMEOUT:
                    raise SystemExit(f"{self.counts['visits']} visits of clients ended within {last - began:.0f} s")
                time.sleep(0.5 * self._interval)
                with Clients(self._domain, rng, 1):  # that are killed in the middle
                    time.sleep(0.5 * self._interval)
                now, count = time.monotonic(), states.total()
                self.counts.update(clients.counts())
                if process_tree(server.pid) != processes:
                    raise SystemExit(f"processes of the command ended after {now - began:.0f} s: {_tail(log)}")
                used = usage(processes)
                row = now - began, (count - before) / STATE_RATE / (now - last), *used, len(processes)
                actions = self.counts.total() - self.counts["visits"] - self.counts["crashes"]
                self.rows.append((*row, log.stat().st_size / 1e3, self.counts["visits"], actions))
                figures = zip(self.columns, self.rows[-1], strict=True)
                print(" ".join(f"{name} {value:.4g}" for name, value in figures), flush=True)
                last, before, self.hours = now, count, (now - began) / 3600

    def _ask(self, client: Ros2Client) -> None:
        """Every arm must answer, home and move after all this."""
        for name, value in SWITCHES.items():
            client.publish(name, m.Bool(value=value))
        client.publish("MTMR/unlock_orientation", m.Empty())
        for arm in ARMS:
            try:
                if client.call(f"{arm}/crtk_version") != "1.1.0":
                    self._problems.append(f"{arm} answers with another version")
                self._move(client, arm)
            except (TrocarError, TimeoutError) as error:
                self._problems.append(f"{arm}: {error}")

    def _move(self, client: Ros2Client, arm: str) -> None:
        def state() -> Any:
            return client.call(f"{arm}/operating_state")

        for command, reached in (
            ("disable", lambda: state().state == "DISABLED"),
            ("enable", lambda: state().state == "ENABLED" and not state().is_busy),
            ("home", lambda: state().is_homed and not state().is_busy),
        ):
            client.publish(f"{arm}/state_command", m.String(value=command))
            _wait(reached, ANSWER_TIMEOUT, f"{command}: still {state()}")
        client.publish(f"{arm}/use_gravity_compensation", m.Bool(value=True))
        for ratio in ("", "_v", "_a"):
            client.publish(f"{arm}/trajectory_j/set_ratio{ratio}", m.Float(value=1.0))
        goal = np.array(client.read(f"{arm}/setpoint_js").position)  # type: ignore[union-attr]
        goal[0] += 0.05 if goal[0] < 0 else -0.05
        client.publish(f"{arm}/move_jp", m.JointState(position=goal))

        def close() -> bool:
            return bool(np.abs(client.read(f"{arm}/measured_js").position - goal).max() < 0.03)  # type: ignore[union-attr]

        _wait(close, ANSWER_TIMEOUT, f"does not reach {goal}")

    def verdict(self) -> list[str]:
        """All that is wrong: no line if the robot is alive, moves on request and nothing grows."""
        rows = np.array(self.rows)
        visited = np.append(np.flatnonzero(rows[:, self.columns.index("visits")]), len(rows))[0]
        settled = rows[max(visited, int(WARM_UP * len(rows))) :]
        problems = list(self._problems)
        if not len(settled):
            return [*problems, "no client came and left"]
        for name, allowed in (
            ("memory_mb", MAX_MEMORY_GROWTH * settled[:, self.columns.index("memory_mb")].mean()),
            ("files", MAX_COUNT_GROWTH),
            ("threads", MAX_COUNT_GROWTH),
        ):
            column = settled[:, self.columns.index(name)]
            growth = np.polyfit(np.linspace(0.0, 1.0, len(column)), column, 1)[0] if len(column) > 2 else 0.0
            if growth > allowed:
                problems.append(f"{name} grows by {growth:.3g} from {column[0]:.4g}; allowed: {allowed:.3g}")
        if rows[-1, self.columns.index("log_kb")] > MAX_LOG_RATE * rows[-1, 0]:
            problems.append(f"the command printed {rows[-1, self.columns.index('log_kb')]:.0f} kB")
        return problems


@contextlib.contextmanager
def _heeding_ctrl_c() -> Iterator[None]:
    """A shell starts programs in the background with SIGINT ignored, which a command would inherit.

    Popen's preexec_fn would fork this process, of which JAX and other libraries with threads warn.
    """
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if ignored:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        if ignored:
            signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextlib.contextmanager
def served(scene: Path, domain: int, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """`trocar serve ros2` in a separate process, with its output in a file; stopped by Ctrl-C."""
    command = [sys.executable, "-m", "trocar", "serve", "ros2", str(scene), "--domain", str(domain)]
    with log.open("wb") as output, _heeding_ctrl_c():
        server = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
    try:
        _wait(lambda: b"serving" in log.read_bytes() or server.poll() is not None, START_TIMEOUT)
        yield server
        server.send_signal(signal.SIGINT)
        server.wait(END_TIMEOUT)
    finally:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


class Clients:
    """Threads of rough clients in a separate process, which is killed at the end and started again if it crashes."""

    def __init__(self, domain: int, rng: np.random.Generator, number: int) -> None:
        self._arguments, self._rng = (domain, number), rng

    def __enter__(self) -> Clients:
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.join()

    def _start(self) -> None:
        domain, number = self._arguments
        spawning = multiprocessing.get_context("spawn")
        self._pipe, other = spawning.Pipe(duplex=False)
        arguments = domain, int(self._rng.integers(2**32)), number, rough_clients.VISIT, other
        self._process = spawning.Process(target=rough_clients.rough_threads, args=arguments, daemon=True)
        self._process.start()
        other.close()

    def counts(self) -> Counter[str]:
        """Actions of visits that have ended since the last call, by kind, and crashes of the clients."""
        counts = Counter[str]()
        with contextlib.suppress(EOFError, OSError):
            while self._pipe.poll():
                counts.update(self._pipe.recv())
        if not self._process.is_alive():
            counts["crashes"] += 1
            self._start()
        return counts


def _wait(condition: Callable[[], bool], timeout: float, what: str = "no answer") -> None:
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.1)


def _tail(log: Path) -> str:
    return log.read_text(errors="replace")[-2000:]
