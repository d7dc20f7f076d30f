"""Runs of scripts written for several releases of the dVRK's Python packages, in process and by `trocar run`."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tools.scripted_runs.recorder import Run, RunRecorder
from tools.scripted_runs.robots import SCRIPTS, dvrk, press, scene_path
from trocar.scripts.launcher import run_script
from trocar.scripts.script_api import judge
from trocar.scripts.session import Session

TIMEOUT = 600.0  # of one command [s]


@dataclass(frozen=True)
class ScriptCase:
    """Scene, start and release of the interface for one script, its arguments and the lines for `input()`."""

    scene: str
    start: str
    api: str
    arguments: tuple[str, ...] = ()
    answers: str = ""


CASES: Mapping[str, ScriptCase] = {
    "api_1": ScriptCase("psm1.toml", "off", "1", ("--x", "y")),
    "api_2_0": ScriptCase("psm1.toml", "off", "2.0", answers="1\n"),
    "api_2_2": ScriptCase("dvrk", "ready", "2.2"),
    "api_2_4": ScriptCase("psm1.toml", "off", "2.4", ("-a", "PSM1")),
    "master_1": ScriptCase("masters.toml", "ready", "1"),
    "master_2_0": ScriptCase("masters.toml", "ready", "2.0"),
    "master_2_2": ScriptCase("masters.toml", "ready", "2.2"),
    "master_2_4": ScriptCase("masters.toml", "ready", "2.4"),
}

# Callbacks, threads and PyKDL in one script that prints all digits.
NUMBERS = """
import threading, time
import crtk, dvrk, numpy, PyKDL, rospy
from sensor_msgs.msg import JointState

ral = crtk.ral("numbers")
psm, mtm = dvrk.psm(ral, "PSM1"), dvrk.mtm(ral, "MTMR")
seen = []
ral.subscriber("PSM1/measured_js", JointState, lambda m: seen.append((m.header.stamp.to_sec(), m.position[0])))
ral.check_connections()
q, _ = psm.setpoint_jp()
def other():
    for k in range(20):
        mtm.servo_jp(mtm.setpoint_jp()[0] + 1e-3)
        time.sleep(0.02)
thread = threading.Thread(target=other)
thread.start()
for step in (0.1, -0.05):
    q[1] += step
    print(psm.move_jp(q).wait(), repr(psm.measured_js()), flush=True)
thread.join()
goal = PyKDL.Frame(psm.setpoint_cp()[0])
goal.p += PyKDL.Vector(0.0, 0.005, 0.0)
goal.M = goal.M * PyKDL.Rotation.RotX(0.2)
print(psm.move_cp(goal).wait(), psm.measured_cp()[0], repr(mtm.measured_js()))
print(len(seen), seen[::20])
"""


def _outcome(session: Session, script: Path, arguments: Sequence[str], answers: str) -> tuple[int, str, str]:
    """Exit status, output and errors of a script; closes the session."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = run_script(session, script, arguments, io.StringIO(answers))
        finally:
            session.close()
    return status, out.getvalue(), err.getvalue()


def script_run(name: str, rec: RunRecorder) -> None:
    """A script in process, with the clutch pedal pressed from 2.0 s to 2.5 s."""
    case, script = CASES[name], SCRIPTS / f"{name}.py"
    robot = dvrk(rec, case.scene, start=case.start)
    rec.note("judge", [str(part).replace(str(SCRIPTS), "") for part in judge(script)])
    session = Session(robot, case.api, fast=True)
    for after, button in ((2.0, 1), (2.5, 0)):
        session.at(session.now + round(after * 1e9), partial(press, robot, "clutch", button))
    outcome = _outcome(session, script, case.arguments, case.answers)
    for label, value in zip(("status", "stdout", "stderr"), outcome, strict=True):
        rec.note(label, value)
    rec.note_arms(robot)


def scripts_by_command_line(rec: RunRecorder) -> None:
    for name, case in CASES.items():
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as lines:
            lines.write(case.answers)
            lines.flush()
            options = ["--speed", "fast", "--scene", scene_path(case.scene), "--start", case.start]
            options += ["--pedal", "clutch@2+0.5", "--input", lines.name]
            done = subprocess.run(
                [sys.executable, "-c", "from trocar.cli import app; app()", "run", *options]
                + [str(SCRIPTS / f"{name}.py"), *case.arguments],
                capture_output=True,
                text=True,
                timeout=TIMEOUT,
                env={**os.environ, "COLUMNS": "120", "TERM": "dumb"},
            )
        rec.note(name, [done.returncode, done.stdout, done.stderr.replace(str(SCRIPTS), "")])


def script_that_prints_numbers(rec: RunRecorder) -> None:
    robot = dvrk(rec, "masters.toml", start="ready")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "numbers.py"
        path.write_text(NUMBERS)
        status, out, err = _outcome(Session(robot, "2.4", fast=True), path, (), "")
        rec.note("status", [status, out, err.replace(folder, "")])
    rec.note_arms(robot)


RUNS: Mapping[str, Run] = {
    **{f"script_{name}": partial(script_run, name) for name in CASES},
    "scripts_by_command_line": scripts_by_command_line,
    "script_that_prints_numbers": script_that_prints_numbers,
}
