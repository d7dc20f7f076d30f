"""All scripted runs by name, and their recording into a folder."""

from __future__ import annotations

import time
import traceback
from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType

import trocar
from tools.scripted_runs import (
    bag_runs,
    fault_runs,
    motion_runs,
    random_runs,
    script_runs,
    state_runs,
    teleoperation_runs,
)
from tools.scripted_runs.recorder import Run, RunRecorder

MODULES = (motion_runs, state_runs, fault_runs, teleoperation_runs, bag_runs, random_runs)
RUNS: Mapping[str, Run] = MappingProxyType(
    {run.__name__: run for module in MODULES for run in module.RUNS} | dict(script_runs.RUNS)
)


def record(folder: Path, only: Collection[str] = ()) -> bool:
    """Record the runs whose name contains one of the texts (default: all runs); True if none of them failed."""
    selected = [name for name in RUNS if not only or any(text in name for text in only)]
    if not selected:
        print(f"no run has {' or '.join(only)} in its name; --list shows the names")
        return False
    folder.mkdir(parents=True, exist_ok=True)
    print("trocar:", trocar.__file__, flush=True)
    failed = [name for name in selected if not _record(folder, name)]
    return not failed


def _record(folder: Path, name: str) -> bool:
    rec, start, passed = RunRecorder(name), time.monotonic(), True
    try:
        RUNS[name](rec)
    except Exception as error:  # recorded as well, so that the other runs go on and a comparison shows it
        traceback.print_exc()
        rec.note("THE RUN FAILED", f"{type(error).__name__}: {error}")
        passed = False
    values = rec.write(folder)
    seconds = time.monotonic() - start
    print(f"{name}: {values} values, {len(rec.events)} events, {len(rec.notes)} notes, {seconds:.1f} s", flush=True)
    return passed
