"""The core runs without the modules and functions that only Linux or POSIX have."""

import subprocess
import sys

PROGRAM = """
import os, sys
for name in ("fcntl", "resource", "termios", "pwd", "grp"):
    sys.modules[name] = None
for name in ("getuid", "geteuid", "sysconf", "sched_setscheduler", "sched_getaffinity", "fork"):
    delattr(os, name)
import numpy as np
import trocar as tr
from trocar import file_locks
from trocar.files import memory, scratch_folder
from trocar.sweep.results import locked
from pathlib import Path

assert not file_locks.AVAILABLE
sim = tr.Simulator("PSM")
sim.reset(np.array([0.2, -0.1, 0.12, 0.5, 0.3, -0.2, 0.4]))
recording = tr.simulate(sim, tr.GravityCompensation(sim.mechanism), None, 0.01)
recording.save("run.npz")
recording.save("run.npz")  # replaces a file
assert len(tr.load_recording("run.npz")) == len(recording)
with scratch_folder("trocar-test-") as folder, locked(Path("sweep")):
    assert folder.is_dir()
import trocar.cli, trocar.robot, trocar.control, trocar.identification
print(len(recording), sorted(os.listdir()))
"""


def test_the_core_runs_without_the_modules_of_posix(tmp_path):
    run = subprocess.run([sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout == "10 ['run.npz', 'sweep']\n"
