"""Fig. 7 and 8 of Ferro et al. 2022: feedback linearisation makes the tip's error that of a linear system."""

from __future__ import annotations

import numpy as np

from trocar.control.trajectories import CartesianPath
from trocar.experiments import ferro2022_figures as figures
from trocar.experiments import ferro2022_logs as logs
from trocar.experiments import ferro2022_runs as runs
from trocar.experiments.experiment import Context
from trocar.mechanics import Mechanism
from trocar.report import Claim, Report
from trocar.spatial import Array

LINEAR = 5e-4  # allowed distance from the linear error [m]: a step of 47 mm, efforts held for 1 ms
RIGID, MIRRORED, SETTLED_MIRRORED = 0.05, 1.0, 0.01  # |u - model| on J3 [N]: at most, at least, at most
POSITION, ORIENTATION = 1e-4, 1e-3  # RMS of the tip's pose under torque control, settled [m, rad]
DURATION = 2.0  # [s]
EXACT = "Section IV-C: exactly linearised and decoupled, exponentially stable"
TRANSIENT = "Section IV-C: a discrepancy on J3 in the transient, from the PID that mirrors the counterweight"
LIMITED = "fig 7 rectilinear"  # also run with the motors' limits


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
        rigid, mirrored = (
            runs.torque_run(mechanism, path, duration, *gains, transmission=way) for way in ("rigid", "mirrored")
        )
        found += _transient(name, rigid, mirrored)
        log = logs.log_of(context.data, logs.TORQUE_CONTROL) if gains is of_code else None
        if log is not None:
            found.append(_theirs(name, log, path, rigid))
        if name.startswith("fig"):
            report.add_figure(
                figures.transient(rigid, mirrored, log if isinstance(log, logs.Log) else None),
                f"{name.capitalize()}: torque control, {_gains(*gains)}: tip error, efforts and J3 against the model.",
            )
        if name == LIMITED:
            report.paragraphs.append(_limits(mechanism, path, duration, rigid))
        figures.film(context, report, name, rigid.recording.t, rigid.recording.q, path)
    return found + _pose(context, report, mechanism, {"code": code, "text": text})


def _transient(name: str, rigid: runs.Transient, mirrored: runs.Transient) -> list[Claim]:
    step = f"{1e3 * np.linalg.norm(rigid.error[0]):.0f} mm step, efforts held for 1 ms"
    found = [
        logs.bounded(f"{name}/distance from the linear error", rigid.deviation, LINEAR, "m", step, EXACT),
        logs.bounded(
            f"{name}/J3 discrepancy, rigid transmission",
            float(np.abs(rigid.mismatch[:, 2]).max()),
            RIGID,
            "N",
            "largest |u - model|: a rigid transmission has none",
            TRANSIENT,
        ),
        logs.claim(
            f"{name}/J3 discrepancy, mirrored counterweight",
            MIRRORED,
            float(np.abs(mirrored.mismatch[:, 2]).max()),
            "N",
            "at_least",
            0.0,
            TRANSIENT,
            "largest |u - model|; the paper gives no number, the bound is ours",
        ),
    ]
    if not name.endswith("text"):
        settled = float(np.abs(mirrored.mismatch[mirrored.recording.t >= logs.SETTLED, 2]).max())
        what = "after 0.5 s the mirrored counterweight follows"
        found.append(
            logs.bounded(f"{name}/J3 discrepancy, mirrored, settled", settled, SETTLED_MIRRORED, "N", what, TRANSIENT)
        )
    return found


def _theirs(name: str, log: logs.Log | str, path: CartesianPath, ours: runs.Transient) -> Claim:
    """Distance from the linear error in their log, and ours on the same line with the same gains."""
    label, unit = f"{name}/distance from the linear error, theirs", "m"
    if isinstance(log, str):
        return logs.claim(label, 0.0, None, unit, "at_most", 0.0, EXACT, log)
    error = (log["pdes"] - log["pee"]) @ runs.R_WORLD_BASE
    ideal = runs.ideal_error(log.t, error[0], path(0.0).twist[:3], runs.KP_CODE, runs.KD_CODE)
    theirs = float(np.linalg.norm(error - ideal, axis=1).max())
    note = "published: the largest distance of their logged error from the linear one, control at 10 ms"
    return logs.claim(label, theirs, ours.deviation, unit, "at_most", 0.0, EXACT, note)


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
        name = f"pose by torque, spiral of the {which}"
        recording = runs.pose_run(mechanism, path, DURATION, accuracy="exact")
        errors = runs.pose_errors(mechanism, recording, path)[recording.t >= logs.SETTLED]
        position, orientation = (float(np.sqrt((errors[:, k : k + 3] ** 2).sum(1).mean())) for k in (0, 3))
        note = "RMS of the distance, t >= 0.5 s, six joints, Runge-Kutta 4, rotors of 1e-4 kg m^2 at the discs"
        found += [
            logs.bounded(f"{name}/position", position, POSITION, "m", note, "beyond Section IV-C"),
            logs.bounded(f"{name}/orientation", orientation, ORIENTATION, "rad", note, "beyond Section IV-C"),
        ]
        figures.film(context, report, name, recording.t, recording.q, path)
    return found


def _gains(kp: float | Array, kd: float | Array) -> str:
    first, second = (" ".join(f"{x:g}" for x in np.atleast_1d(gain)) for gain in (kp, kd))
    return f"Kp {first}, Kd {second}"
