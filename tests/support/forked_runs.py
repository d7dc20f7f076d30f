"""Scripts in forks of one interpreter that has loaded trocar: each runs alone, none loads the libraries again."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
import traceback
from pathlib import Path

LOADED = ("matplotlib.pyplot", "mujoco", "pinocchio", "scipy.optimize", "trocar.robot", "trocar.simulation")


class ForkingInterpreter:
    """A Python with `-W error` that runs scripts as `python script.py` does, in a copy of itself for each."""

    def __init__(self, environment: dict[str, str]) -> None:
        command = [sys.executable, "-W", "error", __file__]
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, script: Path, folder: Path) -> subprocess.CompletedProcess[str]:
        """Run a script in a folder; its status, output and errors."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        streams = [folder.with_name(folder.name + end) for end in (".out", ".err")]
        print(json.dumps([str(x) for x in (script, folder, *streams)]), file=self._process.stdin, flush=True)
        status = int(self._process.stdout.readline())
        return subprocess.CompletedProcess([str(script)], status, *(stream.read_text() for stream in streams))

    def close(self) -> None:
        """Wait for the end of the interpreter."""
        self._process.communicate()


def _run(script: str, folder: str, output: str, errors: str) -> None:
    """Run a script in this process, which is a copy, and leave with its status."""
    for path, stream in ((output, 1), (errors, 2)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), stream)
    os.chdir(folder)
    sys.argv, sys.path[0], status = [script], os.path.dirname(script), 0
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def main() -> None:
    """Load the libraries, then run a script for every line of the input and answer with its status."""
    for name in LOADED:
        __import__(name)
    for line in sys.stdin:
        if (child := os.fork()) == 0:
            _run(*json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
