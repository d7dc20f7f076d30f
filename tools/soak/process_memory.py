"""Resources of processes, as Linux reports them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple


class Usage(NamedTuple):
    """Resident memory [MB], open files and threads of one or more processes."""

    memory: float
    files: int
    threads: int


def process_memory() -> float:
    """Resident memory of this process [MB]."""
    return _memory("self")


def process_tree(pid: int) -> list[int]:
    """A process and all its descendants; empty if it has ended."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        children = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return []
    return [pid, *(each for child in children for each in process_tree(child))]


def usage(pids: list[int]) -> Usage:
    """Sum over processes, which must run."""
    folders = [Path(f"/proc/{pid}") for pid in pids]
    counts = [sum(len(list((folder / part).iterdir())) for folder in folders) for part in ("fd", "task")]
    return Usage(sum(_memory(str(pid)) for pid in pids), *counts)


def _memory(pid: str) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
