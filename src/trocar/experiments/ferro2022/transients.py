"""J3 transients of Ferro et al. 2022, Section IV-C: their torque control on this engine, compared with their logs."""

from __future__ import annotations

from typing import Any

import numpy as np

from trocar.experiments.experiment import Context
from trocar.experiments.ferro2022 import figures, logs, program, runs
from trocar.experiments.ferro2022.logs import ARM, TABLE, Log
from trocar.experiments.ferro2022.program import ProgramRun
from trocar.experiments.ferro2022.replay import agreement
from trocar.mechanics import Mechanism, load_mechanism
from trocar.report import Claim, Report
from trocar.spatial import Array

ROWS = slice(1, 21)  # the first 0.2 s, while their J3 oscillates; no command precedes the first row
GAINS = {  # gains of the program, x y z of the scene [1/s^2, 1/s]
    "regulation": (np.full(3, 100.0), np.full(3, 20.0)),
    "rectilinear": (runs.KP_CODE, runs.KD_CODE),
    "spiral": (runs.KP_CODE, runs.KD_CODE),
}
RUN = "program against log {session} ({task})"
CORRELATION, SIZE, TIP, LINEAR = (
    f"{RUN}/{what}" for what in ("{row}", "J3 {row}", "tip {row}", "distance from the linear error")
)


def claims(context: Context, report: Report, mechanism: Mechanism) -> list[Claim]:
    """Compare the program, with its timing and the mirrored counterweight, with its logs."""
    claims = []
    without = load_mechanism("PSM", counterweight=False)
    for session, task in logs.TORQUE_CONTROL.items():
        log = logs.log_of(context.data, session)
        fields: dict[str, Any] = {"session": session, "task": task, "first": _first_rows(context)}
        if isinstance(log, str):
            for entry in (CORRELATION, SIZE, TIP, LINEAR):
                claims += TABLE.claims(entry, None, missing=log, **fields)
            continue
        mirrored, rigid = (
            program.torque_run(mechanism, log, *GAINS[task], transmission=way) for way in ("mirrored", "rigid")
        )
        claims += _claims(log, mirrored, rigid, without, fields)
        target = log["pdes"] - log["pee"]
        ours, theirs = (_distance(log, error, task) for error in (mirrored.error, target[: len(mirrored.error)]))
        claims.append(TABLE.claim(LINEAR, ours, published=theirs, tolerance=0.1 * theirs, **fields))
        report.add_figure(
            figures.discrepancy(log, mirrored, rigid),
            f"Log {session} ({task}): J3, commanded minus model, and tip error; their log and program on our engine.",
        )
    return claims


def _claims(
    log: Log, mirrored: ProgramRun, rigid: ProgramRun, without: Mechanism, fields: dict[str, Any]
) -> list[Claim]:
    model = log["tauModel"][:, ARM]
    theirs = [(x - model)[ROWS] for x in (log["tauCmd"][:, ARM], log.simulated())]
    ours = [(x - mirrored.model)[ROWS] for x in (mirrored.command, mirrored.engine)]
    stiff = (rigid.command - rigid.model)[ROWS]
    signals = [agreement(*pair) for pair in zip(ours, theirs, strict=True)]
    peaks, their_peaks = ([_peak(x) for x in which] for which in (ours, theirs))
    # before the first command only the motor holds the tool: the counterweight's force has not reached it
    held = float(without.gravity(mirrored.q[0])[2] - mirrored.model[0, 2])
    tip = agreement(mirrored.error, (log["pdes"] - log["pee"])[: len(mirrored.error)])
    return [
        *TABLE.claims(
            CORRELATION,
            [signal.correlation[2] for signal in signals],
            rms=[float(signal.rms[2]) for signal in signals],
            rigid=float(agreement(stiff, theirs[0]).correlation[2]),
            **fields,
        ),
        *TABLE.claims(
            SIZE,
            [*peaks, abs(held)],
            published=[*their_peaks, float(abs((log.simulated() - model)[0, 2]))],
            rigid=_peak(stiff),
            model=_peak(model[ROWS]),
            ours_model=_peak(mirrored.model[ROWS]),
            **fields,
        ),
        *TABLE.claims(TIP, tip.correlation, rms=list(1e3 * tip.rms), **fields),
    ]


def _distance(log: Log, error: Array, task: str) -> float:
    """Largest distance of a tip error (N, 3) from the linear solution with the same initial values [m]."""
    begin = (log["pdes"][1] - log["pdes"][0]) / program.PERIOD
    ideal = runs.ideal_error(log.t[: len(error)], error[0], begin, *GAINS[task])
    return float(np.linalg.norm(error - ideal, axis=1).max())


def _peak(efforts: Array) -> float:
    """Largest force on joint 3 [N]."""
    return float(np.abs(efforts[:, 2]).max())


def _first_rows(context: Context) -> str:
    """Effort of their insertion in the first row of the logs with counterweight [N]."""
    read_logs = [logs.log_of(context.data, session) for session in (2, 4, *logs.TORQUE_CONTROL)]
    return ", ".join(f"{log.simulated()[0, 2]:.2f}" for log in read_logs if isinstance(log, Log))
