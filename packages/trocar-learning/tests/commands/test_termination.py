"""SIGTERM ends a command as Ctrl-C does: with all its processes, and with what it has."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.support.waiting import TIMEOUT, until


def children(pid: int) -> list[int]:
    """Processes that descend from one."""
    found = [
        int(text) for task in Path(f"/proc/{pid}/task").iterdir() for text in (task / "children").read_text().split()
    ]
    return found + [each for child in found for each in children(child)]


def test_sigterm_ends_a_recording_with_its_workers(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "trocar",
        "record",
        "Reach",
        "-n",
        "2000",
        "--workers",
        "2",
        "-o",
        str(tmp_path / "x"),
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        until(lambda: len(children(process.pid)) >= 2, "the workers")
        process.send_signal(signal.SIGTERM)
        error = process.communicate(timeout=TIMEOUT)[1]
        assert process.returncode == 130, error
        assert "interrupted" in error

        def gone() -> bool:
            try:
                os.killpg(process.pid, 0)
            except ProcessLookupError:
                return True
            return False

        until(gone, "the end of all its processes")
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
