"""Fig. 6 of Ferro et al. 2022: the engine along what the real robot did, against the torque that was measured."""

from __future__ import annotations

from trocar.experiments import ferro2022_figures as figures
from trocar.experiments import ferro2022_logs as logs
from trocar.experiments import ferro2022_recipe as recipe
from trocar.experiments import ferro2022_runs as runs
from trocar.experiments.experiment import Context
from trocar.mechanics import Mechanism
from trocar.report import Claim, Report
from trocar.spatial import Array

SOURCE = "Section IV-B"
CASES = (  # name, session of their log, friction, counterweight
    ("no counterweight, friction off", 5, False, False),
    ("with counterweight, friction off", 6, False, True),
    ("with counterweight, friction on", 6, True, True),
)
# Bounds of ours: to the real robot with friction on; engine less model; by the paper's recipe [N m, N m, N].
REAL, AGREED, BY_RECIPE = (0.07, 0.13, 0.17), (1e-4,) * 3, (0.05,) * 3


def claims(context: Context, report: Report, mechanism: Mechanism) -> list[Claim]:
    """The engine against the real robot, and against the model, along the excitation trajectory."""
    measured = logs.excitation_of(context.data)
    found, shown = [], []
    for name, session, friction, counterweight in CASES:
        errors = None
        if isinstance(measured, logs.Excitation):
            recording = runs.replay(measured, friction=friction, counterweight=counterweight)
            rows = recording.t >= logs.SETTLED
            errors = logs.rms((runs.engine_torque(recording) - measured.tau[: len(rows)])[rows])
            shown.append((name, recording, runs.model_torque(mechanism, recording)))
        found += _against_robot(name, session, friction, counterweight, errors, measured)
        if friction:
            note = "the recording repeats the motion the parameters were identified on: a best case"
            found += _bounded(f"{name}, bound", errors, REAL, note, measured)
    own, recipes = None, None
    if isinstance(measured, logs.Excitation):
        own, recipes = runs.torque_errors(mechanism, shown[1][1]), recipe.excitation_errors(mechanism, measured)
        report.add_figure(
            figures.excitation(measured, shown),
            "Fig. 6: the real robot's excitation trajectory replayed: simulated, model (no friction) and measured.",
        )
        figures.film(context, report, "fig 6 excitation", shown[-1][1].t, shown[-1][1].q)
    note = "engine less model on the engine's own motion, counterweight in both, friction off"
    found += _bounded("engine against model", own, AGREED, note, measured)
    note = "commanded velocity, low-passed differences, control and physics 5 ms, torque of the period before"
    return found + _bounded("their recipe", recipes, BY_RECIPE, note, measured)


def _against_robot(
    name: str,
    session: int,
    friction: bool,
    counterweight: bool,
    errors: Array | None,
    measured: logs.Excitation | str,
) -> list[Claim]:
    found = []
    for j, number in enumerate(logs.printed(session)):
        note = "engine along the measured motion less measured torque, unfiltered"
        if j == 2 and counterweight and not friction:
            note += "; the real insertion has 0.6 N of friction, which is off here as in the paper"
        exact = j == 2 and not counterweight
        found.append(
            logs.claim(
                f"fig 6 excitation, {name}/J{j + 1}",
                number,
                None if errors is None else float(errors[j]),
                logs.UNITS[j],
                "equal" if exact else "at_most",
                logs.last_digit(logs.PRINTED[session][2][j]) if exact else 0.0,
                SOURCE,
                measured if isinstance(measured, str) else note,
            )
        )
    return found


def _bounded(
    name: str, errors: Array | None, bounds: tuple[float, ...], note: str, measured: logs.Excitation | str
) -> list[Claim]:
    return [
        logs.claim(
            f"fig 6 excitation, {name}/J{j + 1}",
            0.0,
            None if errors is None else float(errors[j]),
            logs.UNITS[j],
            "at_most",
            bound,
            SOURCE,
            measured if isinstance(measured, str) else f"{note}; the bound is ours",
        )
        for j, bound in enumerate(bounds)
    ]
