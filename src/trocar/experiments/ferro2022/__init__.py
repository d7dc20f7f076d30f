"""Ferro et al. 2022: a dynamic simulator of the PSM, Section IV and Table I, beside this one.

Their simulator: CoppeliaSim with ODE, parameters of Wang et al. 2019, friction off. Errors count from 0.5 s on.
"""

from __future__ import annotations

from trocar.control.trajectories import CartesianPath
from trocar.experiments.experiment import Context, Experiment
from trocar.experiments.ferro2022 import excitation, features, figures, logs, recipe, runs, torque
from trocar.experiments.ferro2022.logs import TABLE
from trocar.mechanics import Mechanism, load_mechanism
from trocar.recording import Recording
from trocar.report import Claim, Report
from trocar.spatial import Array

FINE = 4.0  # time simulated at 1 ms with the engine off [s]
# Timestep and time that a command is held [s]
CLOCKS = {"1 ms": (1e-3, 1e-3), "control 10 ms, physics 5 ms": (5e-3, 1e-2)}


def run(context: Context) -> Report:
    """Figures 2 to 8 and Table I."""
    report = Report("Ferro et al. 2022: dynamic simulation of the PSM")
    mechanism, without = load_mechanism("PSM"), load_mechanism("PSM", counterweight=False)
    context.progress("authors' logs")
    report.add_claims(logs.claims(context.data, mechanism, without))
    context.progress("Fig. 2, 3: kinematic control, engine off")
    report.add_claims(_kinematic(context, report, mechanism))
    report.add_claims(_velocity(context, report, mechanism))
    context.progress("Fig. 6: the real robot's excitation trajectory")
    report.add_claims(excitation.claims(context, report, mechanism))
    context.progress("Fig. 7, 8: torque control")
    report.add_claims(torque.claims(context, report, mechanism))
    context.progress("Table I")
    report.add_claims(features.claims())
    report.paragraphs[:0] = [
        "RMS errors on joints 1 to 3 (yaw, pitch, insertion), t >= 0.5 s. The printed numbers follow from the authors' "
        "logs; in Fig. 6 they are against the real robot's torque, elsewhere against the model. Text and published "
        "program differ in line, spiral and gains; each run says which it takes.",
        f"Queries of M, c and g together: {features.query_time(mechanism):.0f} us from Python (paper: 6-7 us, C++). "
        "Timings depend on the machine and are not judged.",
    ]
    return report


def _kinematic(context: Context, report: Report, mechanism: Mechanism) -> list[Claim]:
    """Tracking with joint velocities integrated at 10 ms, whose RMS is that of the jump onto the path, and at 1 ms."""
    cases = (
        ("fig 2", "rectilinear", lambda T: runs.rectilinear(mechanism, runs.LENGTH * T / runs.DURATION, T)),
        ("fig 3", "spiral of the code", lambda T: runs.spiral(mechanism, runs.SPIRAL_OF_CODE, T)),
        ("fig 3", "spiral of the text", lambda T: runs.spiral(mechanism, runs.SPIRAL_OF_TEXT, T)),
    )
    found, curves = [], []
    for figure, shape, path in cases:
        name = f"{figure} {shape}"
        t, q, errors = runs.kinematic_run(mechanism, path(runs.DURATION))
        curves.append((name, t, errors))
        ours = logs.rms(errors)
        if shape == "spiral of the text":
            found.append(TABLE.claim(f"{name}/position z", None, found=ours[2]))
        else:
            found += TABLE.claims(f"{name}/{{row}}", ours)
        fine, _, settled = runs.kinematic_run(mechanism, path(FINE), 1e-3)
        found += TABLE.claims(
            f"{figure} {{path}}, 1 ms/{{row}}, settled",
            _largest(settled[fine >= logs.SETTLED]),
            path=shape,
            coarse=_largest(errors[t >= logs.SETTLED]),
        )
        figures.film(context, report, name, t, q, path(runs.DURATION))
    report.add_figure(figures.kinematic(curves), "Fig. 2, 3: tip error under kinematic control at 10 ms, engine off.")
    return found


def _largest(errors: Array) -> list[float]:
    """RMS of pose errors (N, 6) on the largest axis: position [m], orientation [rad]."""
    each = logs.rms(errors)
    return [float(each[:3].max()), float(each[3:].max())]


def _velocity(context: Context, report: Report, mechanism: Mechanism) -> list[Claim]:
    """Torque of the engine against the model along paths, with and without counterweight in the engine."""
    cases = (
        ("fig 4", "rectilinear", runs.rectilinear(mechanism), (2, 1)),
        ("fig 4", "rectilinear of the text", runs.rectilinear(mechanism, runs.LENGTH), (2, 1)),
        ("fig 5", "spiral of the code", runs.spiral(mechanism, runs.SPIRAL_OF_CODE), (4, 3)),
        ("fig 5", "spiral of the text", runs.spiral(mechanism, runs.SPIRAL_OF_TEXT), (4, 3)),
    )
    found: list[Claim] = []
    for figure, shape, path, sessions in cases[::2] if context.quick else cases:
        name, of_text = f"{figure} {shape}", shape.endswith("text")
        left_out = "1 ms" if context.quick else "control 10 ms, physics 5 ms" if of_text else ""
        clocks = {clock: steps for clock, steps in CLOCKS.items() if clock != left_out}
        made = {}
        for clock, (timestep, hold) in clocks.items():
            context.progress(f"{name}, {clock}")
            for counterweight in (True, False):
                recording = runs.velocity_run(
                    mechanism, path, counterweight=counterweight, timestep=timestep, hold=hold
                )
                made[clock, counterweight] = recording
                entry = f"{figure} {{path}}, {{clock}}, with" if counterweight else f"{name}, {{clock}}, no"
                errors = runs.torque_errors(mechanism, recording)
                found += TABLE.claims(f"{entry} counterweight/{{row}}", errors, path=shape, clock=clock)
        if not context.quick:
            found += _engine_claims(mechanism, figure, shape, made["1 ms", True], path)
        found += _recipe_claims(name, recipe.compared(mechanism, path))
        shown = [made[next(iter(clocks)), counterweight] for counterweight in (True, False)]
        theirs = [logs.log_of(context.data, session) for session in sessions]
        report.add_figure(
            figures.torques(
                [(r, runs.model_torque(mechanism, r)) for r in shown],
                [log if isinstance(log, logs.Log) and not of_text else None for log in theirs],
            ),
            f"{name.capitalize()}: engine and model, and their engine where logged; with (top) and without (bottom) "
            "counterweight in the engine, the model always with it.",
        )
        if not of_text:
            figures.film(context, report, name, shown[0].t, shown[0].q, path)
    return found


def _engine_claims(
    mechanism: Mechanism, figure: str, shape: str, recording: Recording, path: CartesianPath
) -> list[Claim]:
    """Engine and model agree, and the tip follows with the engine on."""
    worst = runs.torque_errors(mechanism, recording).max()
    found = [TABLE.claim("{run}, 1 ms/engine against model", worst, run=f"{figure} {shape}")]
    if shape != "spiral of the text":  # the loops of the joints lag behind that one by 0.2 mm
        errors = runs.pose_errors(mechanism, recording, path)[recording.t >= logs.SETTLED]
        found += TABLE.claims(f"{figure} {{path}}, 1 ms/tip {{row}}", _largest(errors), path=shape)
    return found


def _recipe_claims(name: str, errors: recipe.Compared) -> list[Claim]:
    """Engine and model as the paper compares them."""
    entry = f"{name}, their recipe/{{row}}"
    listed = {key: " ".join(f"{x:.2g}" for x in getattr(errors, key)) for key in ("unfiltered", "own_motion")}
    return TABLE.claims(
        entry if entry in TABLE.entries else "{run}, their recipe/{row}", errors.recipe, run=name, **listed
    )


EXPERIMENT = Experiment(name="ferro2022", title="Dynamic simulation of the PSM (Ferro et al. 2022)", run=run)
