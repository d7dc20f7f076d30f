"""Executor with processes on this machine. A process that dies is replaced and its chunk reported as lost."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from multiprocessing.connection import Connection, wait

from trocar.errors import TrocarError
from trocar.sweep.evaluation import Chunk, Evaluated, Job
from trocar.sweep.executors.executor import Executor, Lost, Outcome
from trocar.sweep.executors.worker import READY

# One thread per worker: otherwise linear algebra starts one thread per core in every worker.
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


class Worker:
    """A process of `trocar.sweep.executors.worker` and the connection to it.

    It is a separate program: multiprocessing would run the user's script again.
    """

    def __init__(self, job: Job) -> None:
        ours, theirs = socket.socketpair()
        environment = dict.fromkeys(THREADS, "1") | os.environ
        environment["PYTHONPATH"] = os.pathsep.join(path or os.getcwd() for path in sys.path)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "trocar.sweep.executors.worker", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.PIPE,  # never written; it closes when this process ends, and then the worker ends
            stdout=sys.stderr.fileno() if _has_descriptor() else None,
            env=environment,
            start_new_session=True,  # only this process handles Ctrl-C
        )
        theirs.close()
        self.connection = Connection(ours.detach())
        self.chunk: Chunk | None = None
        self._ready = False
        with suppress(OSError):  # it ended at once: `outcome` reports it
            self.connection.send(job)

    def begin(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self.connection.send(chunk)

    def outcome(self) -> Outcome | None:
        """The result of the chunk after a message has arrived; None if the message is not a result."""
        try:
            found = self.connection.recv()
        except (EOFError, OSError):
            status = self.process.wait()
            if status > 0 and not self._ready:
                raise TrocarError(f"worker processes cannot start: {sys.executable} {ended(status)}") from None
            return Lost(f"worker process {ended(status)}")
        if found == READY:
            self._ready = True
            return None
        if isinstance(found, Exception):
            raise found
        assert isinstance(found, Evaluated)
        return found

    def end(self) -> None:
        self.connection.close()
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.kill()
        self.process.wait()


class Processes(Executor):
    """A pool of processes."""

    def __init__(self, job: Job, workers: int) -> None:
        super().__init__(job)
        self.workers = self.capacity = workers
        self._pool: list[Worker] = []

    def submit(self, chunk: Chunk) -> None:
        idle = next((worker for worker in self._pool if worker.chunk is None), None)
        if idle is None:
            self._pool.append(idle := Worker(self.job))
        with suppress(OSError):  # it died while idle or starting: `finished` reports the chunk as lost
            idle.begin(chunk)

    def finished(self) -> list[tuple[Chunk, Outcome]]:
        busy = {worker.connection: worker for worker in self._pool if worker.chunk is not None}
        found: list[tuple[Chunk, Outcome]] = []
        for connection in wait(list(busy)):
            worker = busy[connection]  # type: ignore[index]
            outcome = worker.outcome()
            if outcome is None:
                continue
            assert worker.chunk is not None
            found.append((worker.chunk, outcome))
            worker.chunk = None
            if isinstance(outcome, Lost):
                worker.end()
                self._pool.remove(worker)
        return found

    def stop(self) -> None:
        for worker in self._pool:
            worker.end()
        self._pool.clear()


def ended(status: int) -> str:
    """A description of an exit status."""
    if status < 0:
        return f"was killed by {signal.Signals(-status).name}"
    return f"exited with status {status}"


def _has_descriptor() -> bool:
    try:
        sys.stderr.fileno()
    except (AttributeError, OSError, ValueError):  # in a notebook or a test
        return False
    return True
