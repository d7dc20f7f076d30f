"""Kills recordings of a data set repeatedly and checks that their files equal those of an undisturbed one.

    python -m tools.killed_recordings [--episodes 12] [--kills 3] [--workers 2] [--stereo 160x120] [--format lerobot3]

`trocar record` runs with several processes and stereo films. All of them get SIGKILL `kills` times, each time after
another share of the episodes; then the same command runs to the end. Exit status 1 if a file differs.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TIMEOUT = 3600.0  # for one more episode [s]


def command(options: argparse.Namespace, folder: Path) -> list[str]:
    """The command that records, or continues."""
    count = ["-n", str(options.episodes), "--workers", str(options.workers), "--recovery", "0.3"]
    return [
        *(sys.executable, "-m", "trocar", "record", "Reach", *count),
        *("--stereo", options.stereo, "--format", options.format, "-o", str(folder)),
    ]


def staged(folder: Path) -> int:
    """Episodes that are there."""
    return len(list((folder / ".recording" / "episodes").glob("*.npz")))


def kill_after(options: argparse.Namespace, folder: Path, episodes: int) -> int:
    """Start the command and kill it and its processes when some episodes are there; their number then."""
    run = subprocess.Popen(command(options, folder), stdout=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + TIMEOUT
    while staged(folder) < episodes:
        if run.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"the recording ended by itself, with status {run.returncode}")
        time.sleep(0.01)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    return staged(folder)


def checksums(folder: Path) -> dict[str, str]:
    """Checksums of all files below a folder."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=12)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--stereo", default="160x120")
    parser.add_argument("--format", default="lerobot3")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        whole, killed = Path(scratch, "whole"), Path(scratch, "killed")
        subprocess.run(command(options, whole), stdout=subprocess.DEVNULL, check=True)
        for k in range(options.kills):
            share = (k + 1) * options.episodes // (options.kills + 1)
            print(f"killed with {kill_after(options, killed, share)} of {options.episodes} episodes", flush=True)
        subprocess.run(command(options, killed), stdout=subprocess.DEVNULL, check=True)
        a, b = checksums(whole), checksums(killed)
    different = sorted(name for name in a.keys() | b.keys() if a.get(name) != b.get(name))
    print(f"{len(a)} files, {len(different)} differ{': ' + ', '.join(different[:5]) if different else ''}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
