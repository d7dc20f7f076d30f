"""The interface of executors, and the serial executor."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Self

from trocar.errors import TrocarError, check_known, shown
from trocar.sweep.evaluation import Chunk, Evaluated, Job, evaluate

EXECUTORS = ("serial", "processes", "ray")
MOST_WORKERS = 4096


@dataclass(frozen=True)
class Lost:
    """A chunk whose worker ended before it returned a result."""

    reason: str


Outcome = Evaluated | Lost


class Executor(ABC):
    """Runs chunks, at most `capacity` at a time, so the queue is bounded.

    Attributes:
        workers: number of chunks that run at the same time. capacity: largest number of unfinished chunks.
    """

    workers: int = 1
    capacity: int = 1

    def __init__(self, job: Job) -> None:
        self.job = job

    @abstractmethod
    def submit(self, chunk: Chunk) -> None:
        """Start a chunk."""

    @abstractmethod
    def finished(self) -> list[tuple[Chunk, Outcome]]:
        """Wait until a chunk is finished; return all finished ones."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @abstractmethod
    def stop(self) -> None:
        """Stop immediately, even with chunks in progress."""


class Serial(Executor):
    """Runs chunks one after the other in this process."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._next: list[Chunk] = []

    def submit(self, chunk: Chunk) -> None:
        self._next.append(chunk)

    def finished(self) -> list[tuple[Chunk, Outcome]]:
        chunk = self._next.pop()
        return [(chunk, evaluate(self.job, chunk))]

    def stop(self) -> None:
        self._next.clear()


def load_executor(name: str, job: Job, workers: int | None, address: str | None) -> Executor:
    """An executor by name. workers: default one per core available to this process (Ray: of the cluster)."""
    check_known("executor", EXECUTORS, name)
    if workers is not None and (not isinstance(workers, int) or not 1 <= workers <= MOST_WORKERS):
        raise TrocarError(f"workers must be an integer from 1 to {MOST_WORKERS}, got {shown(workers)}")
    if address is not None and name != "ray":
        raise TrocarError(f"address is the address of a Ray cluster; use executor='ray', not {name!r}")
    if name == "serial":
        if workers not in (None, 1):
            raise TrocarError(f"the serial executor has one worker, got workers={workers}; use processes or ray")
        return Serial(job)
    if name == "processes":
        from trocar.sweep.executors.processes import Processes

        return Processes(job, workers or cores())
    from trocar.sweep.executors.ray_cluster import RayCluster

    return RayCluster(job, workers, address)


def cores() -> int:
    """Number of cores available to this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
