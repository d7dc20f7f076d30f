"""Fig. 2 and 3 of Ferro et al. 2022: the tip under kinematic control, engine off.

The printed RMS are those of logs 2 and 4 over the whole 10 s, including the jump onto the path.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trocar.experiments.experiment import Context
from trocar.experiments.ferro2022 import figures, logs, runs
from trocar.experiments.ferro2022.logs import TABLE
from trocar.experiments.ferro2022.replay import agreement
from trocar.mechanics import Mechanism
from trocar.report import Claim, Report
from trocar.spatial import Array

FINE = 4.0  # duration simulated with steps of 1 ms [s]


def claims(context: Context, report: Report, mechanism: Mechanism) -> list[Claim]:
    """Compare the program's runs with the printed numbers and the logs, and report the tip error on the path."""
    cases = (
        ("fig 2", "rectilinear", 2, lambda T: runs.rectilinear(mechanism, runs.LENGTH * T / runs.DURATION, T)),
        ("fig 3", "spiral of the code", 4, lambda T: runs.spiral(mechanism, runs.SPIRAL_OF_CODE, T)),
        ("fig 3", "spiral of the text", None, lambda T: runs.spiral(mechanism, runs.SPIRAL_OF_TEXT, T)),
    )
    claims, curves = [], []
    for figure, shape, session, path in cases:
        name = f"{figure} {shape}"
        whole = runs.rectilinear(mechanism) if session == 2 else path(runs.DURATION)
        t, q, errors = runs.kinematic_run(mechanism, whole, program=True)
        curves.append((name, t, errors))
        if session is None:
            claims.append(TABLE.claim(f"{name}/position z", None, found=logs.rms(errors)[2]))
        else:
            claims += _against_the_log(name, logs.log_of(context.data, session), session, mechanism, errors)
        fine, _, settled = runs.kinematic_run(mechanism, path(FINE), 1e-3)
        coarse, _, at_10_ms = runs.kinematic_run(mechanism, path(FINE))
        claims += TABLE.claims(
            f"{figure} {{path}}, 1 ms/{{row}}, settled",
            largest(settled[fine >= logs.SETTLED]),
            path=shape,
            coarse=largest(at_10_ms[coarse >= logs.SETTLED]),
        )
        figures.film(context, report, name, t, q, path(runs.DURATION))
    report.add_figure(figures.kinematic(curves), "Fig. 2, 3: tip error under the program's kinematic control.")
    return claims


def largest(errors: Array) -> list[float]:
    """RMS of pose errors (N, 6) along the worst axis: position [m], orientation [rad]."""
    each = logs.rms(errors)
    return [float(each[:3].max()), float(each[3:].max())]


def _against_the_log(name: str, log: logs.Log | str, session: int, mechanism: Mechanism, errors: Array) -> list[Claim]:
    """Claims: the printed RMS from the program and from our kinematics on the logged joints; errors against the log."""
    claims = TABLE.claims(f"{name}/{{row}}", logs.rms(errors))
    kinematics, tracks = f"{name}, our kinematics on the logged joints/{{row}}", "{run} against log {session}/{row}"
    fields: dict[str, Any] = {"run": name, "session": session}
    if isinstance(log, str):
        claims += TABLE.claims(kinematics, None, missing=log)
        return claims + TABLE.claims(tracks, None, missing=log, **fields)
    ours = runs.errors_of_joints(mechanism, log["qmsr"], log["pdes"] - log["pee"][0])
    claims += TABLE.claims(kinematics, logs.rms(ours))
    compared = agreement(errors, log.tip_errors())
    # joint speed between consecutive rows, minus the command of the row before
    off = logs.rms(np.diff(log["qmsr"][1:], axis=0) / np.diff(log.t[1:])[:, None] - log["qdcmd"][:-2])
    fields |= {"rms": list(compared.rms), "lag": off[0], "other": off[1]}
    return claims + TABLE.claims(tracks, compared.correlation, **fields)
