"""Fig. 7 and 8 of Ferro et al. 2022: under feedback linearisation the tip error obeys a linear system."""

from __future__ import annotations

import numpy as np

from trocar.control.trajectories import CartesianPath
from trocar.demo import torque_control
from trocar.mechanics import Mechanism
from trocar.report import Claim, Report
from trocar.spatial import Array
from trocar_reproductions.experiment import Context
from trocar_reproductions.ferro2022 import figures, logs, runs
from trocar_reproductions.ferro2022.logs import TABLE

DURATION = 2.0  # [s]
LIMITED = "fig 7 rectilinear"  # also run with motor limits
LINE = 8  # log of the line


def torque_claims(context: Context, report: Report, mechanism: Mechanism) -> list[Claim]:
    """Run the text's gains on every path, the program's gains on the line of its log, and control of the full pose."""
    code, text = (
        torque_control.spiral(mechanism, shape) for shape in (torque_control.SPIRAL_OF_CODE, runs.SPIRAL_OF_TEXT)
    )
    logged = runs.rectilinear(mechanism, runs.TORQUE_LENGTH, step=torque_control.CENTRE)
    of_text, of_code = (torque_control.KP_TORQUE, torque_control.KD_TORQUE), (runs.KP_CODE, runs.KD_CODE)
    duration = 0.6 if context.quick else DURATION
    claims: list[Claim] = []
    for name, path, gains in (
        (LIMITED, runs.rectilinear(mechanism), of_text),
        ("fig 7 line and gains of the code", logged, of_code),
        ("fig 8 spiral of the code", code, of_text),
        ("fig 8 spiral of the text", text, of_text),
        ("regulation", runs.regulation(mechanism), of_text),
    ):
        rigid = torque_control.torque_run(mechanism, path, duration, *gains)
        step, mismatch = 1e3 * float(np.linalg.norm(rigid.error[0])), float(np.abs(rigid.mismatch[:, 2]).max())
        claims.append(TABLE.claim("{run}/distance from the linear error", rigid.deviation, run=name, step=step))
        claims.append(TABLE.claim("{run}/J3 discrepancy, rigid transmission", mismatch, run=name))
        log = logs.log_of(context.data, LINE) if gains is of_code else None
        if log is not None:
            claims.append(_theirs(name, log, path, rigid))
        if name.startswith("fig"):
            report.add_figure(
                figures.transient(rigid, log if isinstance(log, logs.Log) else None),
                f"{name.capitalize()}: torque control, {_gains(*gains)}: tip error and efforts.",
            )
        if name == LIMITED:
            report.paragraphs.append(_limits(mechanism, path, duration, rigid))
        figures.film(context, report, name, rigid.recording.t, rigid.recording.q, path)
    return claims + _pose(context, report, mechanism, {"code": code, "text": text})


def _theirs(name: str, log: logs.Log | str, path: CartesianPath, ours: torque_control.Transient) -> Claim:
    """Claims on the distance from the linear error: their log, and ours on the same line with the same gains."""
    entry = "{run}/distance from the linear error, theirs"
    if isinstance(log, str):
        return TABLE.claim(entry, log, run=name, published=0.0)
    error = (log["pdes"] - log["pee"]) @ torque_control.R_WORLD_BASE
    ideal = torque_control.ideal_error(log.t, error[0], path(0.0).twist[:3], runs.KP_CODE, runs.KD_CODE)
    theirs = float(np.linalg.norm(error - ideal, axis=1).max())
    return TABLE.claim(entry, ours.deviation, run=name, published=theirs)


def _limits(mechanism: Mechanism, path: CartesianPath, duration: float, free: torque_control.Transient) -> str:
    limited = torque_control.torque_run(mechanism, path, duration, motor_limits=True)
    peak = np.abs(torque_control.engine_torque(free.recording)).max(axis=0)
    return (
        f"Torque control demands {peak[0]:.0f} N m, {peak[1]:.0f} N m and {peak[2]:.0f} N at the jump onto "
        "the line; the runs above have no motor limits. With motor limits the tip is up to "
        f"{1e3 * limited.deviation:.0f} mm from the linear error and "
        f"{1e3 * np.linalg.norm(limited.error[-1]):.2g} mm from the path after "
        f"{duration:g} s. The text's spiral exceeds the motor limits throughout."
    )


def _pose(context: Context, report: Report, mechanism: Mechanism, paths: dict[str, CartesianPath]) -> list[Claim]:
    """Torque control of position and orientation, including the wrist, which the paper does not control by torque."""
    claims = []
    for which, path in paths.items():
        recording = runs.pose_run(mechanism, path, DURATION, accuracy="exact")
        errors = runs.pose_errors(mechanism, recording, path)[recording.t >= torque_control.SETTLED]
        both = [float(np.sqrt((errors[:, k : k + 3] ** 2).sum(1).mean())) for k in (0, 3)]
        claims += TABLE.claims("pose by torque, spiral of the {which}/{row}", both, which=which)
        name = f"pose by torque, spiral of the {which}"
        figures.film(context, report, name, recording.t, recording.q, path)
    return claims


def _gains(kp: float | Array, kd: float | Array) -> str:
    first, second = (" ".join(f"{x:g}" for x in np.atleast_1d(gain)) for gain in (kp, kd))
    return f"Kp {first}, Kd {second}"
