"""Every package and extra runs its first command without the others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repository import ROOT
from tests.support.waiting import TIMEOUT

LIBRARY = """
import tempfile
from trocar import batch
batch.load("PSM", backend="c")
"""
ENVIRONMENT = "import gymnasium, trocar_learning.envs; gymnasium.make('trocar/Reach-v0').reset(seed=0)"
SYMBOLIC = "import trocar.batch.symbolic"
ENDING = {
    "trocar": ["sim", "PSM", "-d", "0.02", "-o", "sim"],
    "trocar alone, in C": ["-c", LIBRARY],
    "trocar[symbolic]": ["-c", SYMBOLIC],
    "trocar[sweep]": ["sweep", "gravity", "-n", "2", "-o", "sweep"],
    "trocar-learning": ["score", "Reach", "--expert"],
    "trocar-learning alone, in Gymnasium": ["-c", ENVIRONMENT],
}
SERVING = {
    "trocar[view]": ["view", "PSM", "--no-browser", "--port", "0"],
    "trocar[view] alone, teleoperated": ["teleop", "--master", "keyboard"],
    "trocar[vr],trocar[view]": ["teleop", "--master", "phone"],
    "trocar[ros2]": ["serve", "ros2", "psm"],
    "trocar-reproductions": ["serve", "coppelia", "--port", "0"],
    "trocar-reproductions[zmq]": ["serve", "coppelia", "--port", "0", "--zmq", "0"],
    "trocar-reproductions,trocar[view]": ["serve", "coppelia", "--port", "0", "--view"],
}


def started(requirements: str, command: list[str], folder: Path) -> subprocess.Popen[str]:
    """The command in a process, with the distributions of some requirements only."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(folder), "PYTHONUNBUFFERED": "1"}
    words = [sys.executable, "-m", "tests.support.installed", requirements.partition(" alone")[0], *command]
    pipe = subprocess.PIPE
    return subprocess.Popen(words, cwd=folder, env=environment, stdout=pipe, stderr=subprocess.STDOUT, text=True)


@pytest.mark.parametrize("requirements", ENDING)
def test_a_first_command_ends_well_without_other_packages(requirements: str, tmp_path: Path) -> None:
    with started(requirements, ENDING[requirements], tmp_path) as process:
        output, _ = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 0, output


@pytest.mark.parametrize("requirements", SERVING)
def test_a_server_starts_without_other_packages(requirements: str, tmp_path: Path) -> None:
    if "ros2" in requirements:
        pytest.importorskip("cyclonedds")
    with started(requirements, SERVING[requirements], tmp_path) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        while lines[-1] and not any(word in lines[-1] for word in ("http", "serving")):
            lines.append(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=TIMEOUT)
    output = "".join(lines) + rest
    if SERVING[requirements][0] in ("view", "teleop"):
        assert lines[0].endswith(" ...\n"), "the first line says what the command does"
    assert process.returncode in (0, 130), output
    assert "http" in output or "serving" in output
    assert "is not installed" not in output
