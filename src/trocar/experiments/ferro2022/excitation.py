"""Fig. 6 of Ferro et al. 2022: the engine follows the real robot's motion, compared with the measured torque."""

from __future__ import annotations

import numpy as np

from trocar.experiments.experiment import Context
from trocar.experiments.ferro2022 import figures, logs, runs
from trocar.experiments.ferro2022.logs import TABLE
from trocar.mechanics import Mechanism
from trocar.report import Claim, Report
from trocar.spatial import Array

CASES = (  # name, friction, counterweight
    ("no counterweight, friction off", False, False),
    ("with counterweight, friction off", False, True),
    ("with counterweight, friction on", True, True),
)


def claims(context: Context, report: Report, mechanism: Mechanism) -> list[Claim]:
    """Compare the engine with the real robot and with the model along the excitation trajectory."""
    measured = logs.measured_motion(context.data)
    missing = measured if isinstance(measured, str) else ""

    cause = _cause(context)

    def three(name: str, errors: Array | None) -> list[Claim]:
        return TABLE.claims(f"fig 6 excitation, {name}/{{row}}", errors, missing=missing, **cause)

    claims, plotted = [], []
    for name, friction, counterweight in CASES:
        errors = None
        if not isinstance(measured, str):
            recording = runs.replay(measured, friction=friction, counterweight=counterweight)
            rows = recording.t >= logs.SETTLED
            # the robot's efforts contain the bias that was identified together with friction
            torque = np.asarray(recording.tau)[:, logs.ARM] if friction else runs.engine_torque(recording)
            errors = logs.rms((torque - measured.tau[: len(rows)])[rows])
            plotted.append((name, recording, runs.model_torque(mechanism, recording)))
        claims += three(name, errors)
        if friction:
            claims += three(f"{name}, bound", errors)
    own = None
    if not isinstance(measured, str):
        own = runs.torque_errors(mechanism, plotted[1][1])
        report.add_figure(
            figures.excitation(measured, plotted),
            "Fig. 6: the real robot's excitation trajectory replayed: simulated, model (no friction) and measured.",
        )
        figures.film(context, report, "fig 6 excitation", plotted[-1][1].t, plotted[-1][1].q)
    return claims + three("engine against model", own)


def _cause(context: Context) -> dict[str, str]:
    """Log 6, J3: RMS error of the equations against the real robot, and its correlation with their engine's error."""
    log = logs.log_of(context.data, 6)
    if isinstance(log, str):
        return {"equations": "(no log)", "shared": "(no log)"}
    real, model = (log[column][log.settled, 2] for column in ("tauCmd", "tauModel"))
    shared = np.corrcoef(log.simulated()[log.settled, 2] - model, real - model)[0, 1]
    return {"equations": f"{logs.rms(model - real):.3f}", "shared": f"{shared:.2f}"}
