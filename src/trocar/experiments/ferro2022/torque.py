"""Fig. 7 and 8 of Ferro et al. 2022: feedback linearisation makes the tip's error that of a linear system."""

from __future__ import annotations

from typing import Any

import numpy as np

from trocar.control.trajectories import CartesianPath
from trocar.experiments.experiment import Context
from trocar.experiments.ferro2022 import figures, logs, program, runs
from trocar.experiments.ferro2022.logs import ARM, TABLE
from trocar.experiments.ferro2022.replay import agreement
from trocar.mechanics import Mechanism, load_mechanism
from trocar.report import Claim, Report
from trocar.spatial import Array

DURATION = 2.0  # [s]
TRANSIENT = 0.2  # [s]: their J3 oscillates this long
KP_REGULATION, KD_REGULATION = np.full(3, 100.0), np.full(3, 20.0)  # of the program's regulation [1/s^2, 1/s]
LIMITED = "fig 7 rectilinear"  # also run with the motors' limits
LINE = 8  # log of the line


def claims(context: Context, report: Report, mechanism: Mechanism) -> list[Claim]:
    """The gains of the text on every path, those of the program on the line of its log, and the whole pose."""
    code, text = (runs.spiral(mechanism, shape) for shape in (runs.SPIRAL_OF_CODE, runs.SPIRAL_OF_TEXT))
    logged = runs.rectilinear(mechanism, runs.TORQUE_LENGTH, step=runs.CENTRE)
    of_text, of_code = (runs.KP_TORQUE, runs.KD_TORQUE), (runs.KP_CODE, runs.KD_CODE)
    duration = 0.6 if context.quick else DURATION
    found: list[Claim] = []
    for name, path, gains in (
        (LIMITED, runs.rectilinear(mechanism), of_text),
        ("fig 7 line and gains of the code", logged, of_code),
        ("fig 8 spiral of the code", code, of_text),
        ("fig 8 spiral of the text", text, of_text),
        ("regulation", runs.regulation(mechanism), of_text),
    ):
        rigid = runs.torque_run(mechanism, path, duration, *gains)
        found += _transient(name, rigid)
        log = logs.log_of(context.data, LINE) if gains is of_code else None
        if log is not None:
            found.append(_theirs(name, log, path, rigid))
        if name.startswith("fig"):
            report.add_figure(
                figures.transient(rigid, log if isinstance(log, logs.Log) else None),
                f"{name.capitalize()}: torque control, {_gains(*gains)}: tip error and efforts.",
            )
        if name == LIMITED:
            report.paragraphs.append(_limits(mechanism, path, duration, rigid))
        figures.film(context, report, name, rigid.recording.t, rigid.recording.q, path)
    found += _program(context, report, mechanism)
    return found + _pose(context, report, mechanism, {"code": code, "text": text})


def _transient(name: str, rigid: runs.Transient) -> list[Claim]:
    step = 1e3 * float(np.linalg.norm(rigid.error[0]))
    return [
        TABLE.claim("{run}/distance from the linear error", rigid.deviation, run=name, step=step),
        TABLE.claim("{run}/J3 discrepancy, rigid transmission", float(np.abs(rigid.mismatch[:, 2]).max()), run=name),
    ]


def _program(context: Context, report: Report, mechanism: Mechanism) -> list[Claim]:
    """The program under torque control with its clocks and the mirrored counterweight, beside its logs."""
    found = []
    for session, task in logs.TORQUE_CONTROL.items():
        log = logs.log_of(context.data, session)
        fields: dict[str, Any] = {"session": session, "task": task}
        entries = [f"program beside log {{session}} ({{task}})/{what}" for what in ("{row}", "J3 {row}", "tip {row}")]
        if isinstance(log, str):
            for entry in entries:
                found += TABLE.claims(entry, None, missing=log, **fields)
            continue
        regulation = task == "regulation"
        gains = (KP_REGULATION, KD_REGULATION) if regulation else (runs.KP_CODE, runs.KD_CODE)
        mirrored, rigid = (
            program.torque_run(mechanism, log, *gains, transmission=way) for way in ("mirrored", "rigid")
        )
        n = round(TRANSIENT / program.PERIOD) + 1
        theirs = {
            "command": (log["tauCmd"] - log["tauModel"])[:n, ARM],
            "engine": log.simulated()[:n] - log["tauModel"][:n, ARM],
        }
        ours = {"command": (mirrored.command - mirrored.model)[:n], "engine": (mirrored.engine - mirrored.model)[:n]}
        signals = [agreement(ours[key][1:], theirs[key][1:]) for key in ours]
        stiff = (rigid.command - rigid.model)[:n]
        found += TABLE.claims(
            entries[0],
            [signal.correlation[2] for signal in signals],
            rms=[float(signal.rms[2]) for signal in signals],
            rigid=float(agreement(stiff[1:], theirs["command"][1:]).correlation[2]),
            **fields,
        )
        peaks = [[float(np.abs(x[key][1:, 2]).max()) for key in ours] for x in (ours, theirs)]
        # before the first command the tool hangs on its motor alone: the counterweight's force has not reached it
        held = load_mechanism("PSM", counterweight=False).gravity(mirrored.q[0])[2] - mirrored.model[0, 2]
        published = [*peaks[1], float(abs(theirs["engine"][0, 2]))]
        found += TABLE.claims(
            entries[1],
            [*peaks[0], abs(held)],
            published=published,
            rigid=float(np.abs(stiff[1:, 2]).max()),
            first=_first_rows(context),
            model=[float(np.abs(log["tauModel"][1:n, 2]).max())] * 3,
            ours_model=[float(np.abs(mirrored.model[1:n, 2]).max())] * 3,
            **fields,
        )
        tip = agreement(mirrored.error, (log["pdes"] - log["pee"])[: len(mirrored.error)])
        found += TABLE.claims(entries[2], tip.correlation, rms=list(1e3 * tip.rms), **fields)
        report.add_figure(
            figures.discrepancy(log, mirrored, rigid),
            f"Log {session} ({task}): J3, commanded less model, and tip error; theirs and the program on this engine.",
        )
    return found


def _first_rows(context: Context) -> str:
    """Effort of their insertion in the first row of the logs with counterweight [N]."""
    found = [logs.log_of(context.data, session) for session in (2, 4, *logs.TORQUE_CONTROL)]
    return ", ".join(f"{log.simulated()[0, 2]:.2f}" for log in found if isinstance(log, logs.Log))


def _theirs(name: str, log: logs.Log | str, path: CartesianPath, ours: runs.Transient) -> Claim:
    """Distance from the linear error in their log, and ours on the same line with the same gains."""
    entry = "{run}/distance from the linear error, theirs"
    if isinstance(log, str):
        return TABLE.claim(entry, None, run=name, published=0.0, missing=log)
    error = (log["pdes"] - log["pee"]) @ runs.R_WORLD_BASE
    ideal = runs.ideal_error(log.t, error[0], path(0.0).twist[:3], runs.KP_CODE, runs.KD_CODE)
    theirs = float(np.linalg.norm(error - ideal, axis=1).max())
    return TABLE.claim(entry, ours.deviation, run=name, published=theirs)


def _limits(mechanism: Mechanism, path: CartesianPath, duration: float, free: runs.Transient) -> str:
    limited = runs.torque_run(mechanism, path, duration, motor_limits=True)
    peak = np.abs(runs.engine_torque(free.recording)).max(axis=0)
    return (
        f"Torque control asks for {peak[0]:.0f} N m, {peak[1]:.0f} N m and {peak[2]:.0f} N at the jump onto "
        "the line: saturation is off above. With the motors' limits the tip is up to "
        f"{1e3 * limited.deviation:.0f} mm from the linear error and "
        f"{1e3 * np.linalg.norm(limited.error[-1]):.2g} mm from the path after "
        f"{duration:g} s. The text's spiral asks for more than the motors have throughout."
    )


def _pose(context: Context, report: Report, mechanism: Mechanism, paths: dict[str, CartesianPath]) -> list[Claim]:
    """Position and orientation by torque, wrist and all: beyond the paper, which has no wrist under torque control."""
    found = []
    for which, path in paths.items():
        recording = runs.pose_run(mechanism, path, DURATION, accuracy="exact")
        errors = runs.pose_errors(mechanism, recording, path)[recording.t >= logs.SETTLED]
        both = [float(np.sqrt((errors[:, k : k + 3] ** 2).sum(1).mean())) for k in (0, 3)]
        found += TABLE.claims("pose by torque, spiral of the {which}/{row}", both, which=which)
        name = f"pose by torque, spiral of the {which}"
        figures.film(context, report, name, recording.t, recording.q, path)
    return found


def _gains(kp: float | Array, kd: float | Array) -> str:
    first, second = (" ".join(f"{x:g}" for x in np.atleast_1d(gain)) for gain in (kp, kd))
    return f"Kp {first}, Kd {second}"
