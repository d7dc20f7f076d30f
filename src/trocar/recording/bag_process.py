"""Reading untrusted bags, such as uploads, in a separate process with limits on memory and time.

A small compressed bag can unpack to more than the machine's memory, and the bag parser has no limits.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from trocar.arms import load_arm
from trocar.errors import TrocarError
from trocar.recording.bag_file import read_bag
from trocar.recording.recording import Recording

MEMORY = 2**30  # memory limit, in addition to that of the program itself [bytes]
SECONDS = 60.0
REFUSED = 3  # exit status


def read_bag_apart(path: Path, arm: str) -> Recording:
    """The recording of one arm in a bag, like `read_bag`."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "recording.npz"
        command = [sys.executable, "-m", "trocar.recording.bag_process", str(path), arm, str(output), str(MEMORY)]
        source = os.fspath(Path(__file__).parents[2])  # this package, wherever it was imported from
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])}
        try:
            ran = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=environment)
        except subprocess.TimeoutExpired:
            raise TrocarError(f"{path}: reading the bag takes more than {SECONDS:.0f} s; use a shorter bag") from None
        if ran.returncode == 0:
            return Recording.load(output)
        reason = ran.stdout.strip() if ran.returncode == REFUSED else ""
        raise TrocarError(reason or f"{path}: reading the bag failed; it may use {MEMORY >> 20} MiB of memory")


def main(path: str, arm: str, output: str, memory: str) -> int:
    """Read a bag and write its recording; returns the exit status."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + int(memory), used + int(memory)))
    try:
        read_bag(Path(path), load_arm(arm)).save(output)
    except TrocarError as error:
        print(error)
        return REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
