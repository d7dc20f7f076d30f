"""Run of bags: recorded, loaded and replayed."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from tools.scripted_runs.recorder import RunRecorder
from tools.scripted_runs.robots import dvrk
from trocar import load_recording
from trocar.transports.bags import BagRecorder, replay

# Not the recorder's default, which changes with the interface.
TOPICS = (
    "PSM1/measured_js",
    "PSM1/setpoint_js",
    "PSM1/measured_cp",
    "PSM1/servo_jp",
    "PSM1/servo_cp",
    "PSM1/jaw/measured_js",
    "PSM1/jaw/servo_jp",
    "MTMR/measured_js",
    "MTMR/setpoint_js",
    "MTMR/servo_jp",
    "MTMR/body/servo_cf",
)


def bags_recorded_and_replayed(rec: RunRecorder) -> None:
    begin = np.array([0.1, 0.1, 0.12, 0.0, 0.1, 0.1])
    end = begin + [0.1, -0.05, 0.01, 0.2, 0.1, -0.1]
    with tempfile.TemporaryDirectory() as folder:
        robot = dvrk(rec, "masters.toml", start="ready")
        recorders = [BagRecorder(robot, Path(folder) / f"run{suffix}", TOPICS) for suffix in (".bag", ".mcap", ".db3")]
        psm, mtm = robot.psm("PSM1"), robot.mtm("MTMR")
        rec.note("moved", [psm.move_jp(begin).wait(), mtm.move_jp([0.1, 0.2, -0.1, 0.1, 0.3, 0.1, 0.2]).wait()])
        m0 = mtm.setpoint_jp()[0]
        for k, s in enumerate(np.linspace(0, 1, 100)):
            psm.servo_jp(begin + s * (end - begin))
            psm.jaw.servo_jp(0.2 + 0.3 * s)
            if k % 2:
                mtm.servo_jp(m0 + 0.2 * s)
            robot.sleep(0.005)
        T = psm.setpoint_cp()[0]
        for k in range(60):
            goal = T.copy()
            goal[0, 3] += 1e-4 * k
            psm.servo_cp(goal)
            robot.sleep(0.005)
        mtm.body.servo_cf([0.1, 0.0, 0.2, 0.0, 0.0, 0.0])
        robot.sleep(0.2)
        for recorder in recorders:
            recorder.close()
        rec.note("counts", [recorder.count for recorder in recorders])
        for suffix in (".bag", ".mcap", ".db3"):
            for arm, namespace in (("PSM", "/PSM1"), ("MTMR", "/MTMR")):
                recording = load_recording(Path(folder) / f"run{suffix}", arm, namespace=namespace)
                columns = [recording.t, recording.q, recording.dq, recording.tau]
                rec.note(f"recording {suffix} {namespace}", columns)
        for suffix in (".bag", ".mcap"):
            again = dvrk(rec, "masters.toml", start="ready")
            rec.note(f"replayed {suffix}", replay(again, Path(folder) / f"run{suffix}"))
            again.sleep(0.2)
            rec.note_arms(again)
        only = dvrk(rec, "masters.toml", start="ready")
        rec.note("replayed PSM1", replay(only, Path(folder) / "run.db3", "PSM1"))
        rec.attempt("no such arm", lambda: replay(only, Path(folder) / "run.bag", "PSM2"))
        rec.note_arms(only)


RUNS = (bags_recorded_and_replayed,)
