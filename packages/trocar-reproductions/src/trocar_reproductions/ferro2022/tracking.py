"""Fig. 2 to 5 of Ferro et al. 2022: the tip under kinematic control, engine off, and the torque of engine and model.

The printed RMS of the tip are those of logs 2 and 4 over the whole 10 s, including the jump onto the path.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trocar.control.trajectories import CartesianPath
from trocar.demo import torque_control
from trocar.mechanics import Mechanism
from trocar.recording import Recording
from trocar.report import Claim, Report
from trocar.spatial import Array
from trocar_reproductions.experiment import Context
from trocar_reproductions.ferro2022 import figures, logs, runs
from trocar_reproductions.ferro2022.logs import TABLE
from trocar_reproductions.ferro2022.replay import agreement

FINE = 4.0  # duration simulated with steps of 1 ms [s]


def kinematic_claims(context: Context, report: Report, mechanism: Mechanism) -> list[Claim]:
    """Compare the program's runs with the printed numbers and the logs, and report the tip error on the path."""
    cases = (
        (
            "fig 2",
            "rectilinear",
            2,
            lambda T: runs.rectilinear(mechanism, runs.LENGTH * T / torque_control.DURATION, T),
        ),
        (
            "fig 3",
            "spiral of the code",
            4,
            lambda T: torque_control.spiral(mechanism, torque_control.SPIRAL_OF_CODE, T),
        ),
        ("fig 3", "spiral of the text", None, lambda T: torque_control.spiral(mechanism, runs.SPIRAL_OF_TEXT, T)),
    )
    claims, curves = [], []
    for figure, shape, session, path in cases:
        name = f"{figure} {shape}"
        whole = runs.rectilinear(mechanism) if session == 2 else path(torque_control.DURATION)
        t, q, errors = runs.kinematic_run(mechanism, whole, program=True)
        curves.append((name, t, errors))
        if session is None:
            claims.append(TABLE.claim(f"{name}/position z", None, found=torque_control.rms(errors)[2]))
        else:
            claims += _against_the_log(name, logs.log_of(context.data, session), session, mechanism, errors)
        fine, _, settled = runs.kinematic_run(mechanism, path(FINE), 1e-3)
        coarse, _, at_10_ms = runs.kinematic_run(mechanism, path(FINE))
        claims += TABLE.claims(
            f"{figure} {{path}}, 1 ms/{{row}}, settled",
            largest(settled[fine >= torque_control.SETTLED]),
            path=shape,
            coarse=largest(at_10_ms[coarse >= torque_control.SETTLED]),
        )
        figures.film(context, report, name, t, q, path(torque_control.DURATION))
    report.add_figure(figures.kinematic(curves), "Fig. 2, 3: tip error under the program's kinematic control.")
    return claims


def largest(errors: Array) -> list[float]:
    """RMS of pose errors (N, 6) along the worst axis: position [m], orientation [rad]."""
    each = torque_control.rms(errors)
    return [float(each[:3].max()), float(each[3:].max())]


def _against_the_log(name: str, log: logs.Log | str, session: int, mechanism: Mechanism, errors: Array) -> list[Claim]:
    """Claims: the printed RMS from the program and from our kinematics on the logged joints; errors against the log."""
    claims = TABLE.claims(f"{name}/{{row}}", torque_control.rms(errors))
    kinematics, tracks = f"{name}, our kinematics on the logged joints/{{row}}", "{run} against log {session}/{row}"
    fields: dict[str, Any] = {"run": name, "session": session}
    if isinstance(log, str):
        return claims + TABLE.claims(kinematics, log) + TABLE.claims(tracks, log, **fields)
    ours = runs.errors_of_joints(mechanism, log["qmsr"], log["pdes"] - log["pee"][0])
    claims += TABLE.claims(kinematics, torque_control.rms(ours))
    compared = agreement(errors, log.tip_errors())
    # joint speed between consecutive rows, minus the command of the row before
    off = torque_control.rms(np.diff(log["qmsr"][1:], axis=0) / np.diff(log.t[1:])[:, None] - log["qdcmd"][:-2])
    fields |= {"rms": list(compared.rms), "lag": off[0], "other": off[1]}
    return claims + TABLE.claims(tracks, compared.correlation, **fields)


# Timestep and hold time of a command [s]
CLOCKS = {"1 ms": (1e-3, 1e-3), "control 10 ms, physics 5 ms": (5e-3, 1e-2)}


def velocity_claims(context: Context, report: Report, mechanism: Mechanism) -> list[Claim]:
    """Compare engine and model, with and without counterweight in the engine; the model always includes it."""
    cases = (
        ("fig 4", "rectilinear", runs.rectilinear(mechanism), (2, 1)),
        ("fig 4", "rectilinear of the text", runs.rectilinear(mechanism, runs.LENGTH), (2, 1)),
        ("fig 5", "spiral of the code", torque_control.spiral(mechanism, torque_control.SPIRAL_OF_CODE), (4, 3)),
        ("fig 5", "spiral of the text", torque_control.spiral(mechanism, runs.SPIRAL_OF_TEXT), (4, 3)),
    )
    claims: list[Claim] = []
    for figure, shape, path, sessions in cases[::2] if context.quick else cases:
        name, of_text = f"{figure} {shape}", shape.endswith("text")
        left_out = "1 ms" if context.quick else "control 10 ms, physics 5 ms" if of_text else ""
        clocks = {clock: steps for clock, steps in CLOCKS.items() if clock != left_out}
        recordings = {}
        for clock, (timestep, hold) in clocks.items():
            context.progress(f"{name}, {clock}")
            for counterweight in (True, False):
                recording = runs.velocity_run(
                    mechanism, path, counterweight=counterweight, timestep=timestep, hold=hold
                )
                recordings[clock, counterweight] = recording
                errors = runs.torque_errors(mechanism, recording)
                claims += _printed(figure, shape, clock, counterweight, errors)
        if not context.quick:
            claims += _engine_claims(mechanism, figure, shape, recordings["1 ms", True], path)
        plotted = [recordings[next(iter(clocks)), counterweight] for counterweight in (True, False)]
        theirs = [logs.log_of(context.data, session) for session in sessions]
        report.add_figure(
            figures.torques(
                [(r, torque_control.model_torque(mechanism, r)) for r in plotted],
                [log if isinstance(log, logs.Log) and not of_text else None for log in theirs],
            ),
            f"{name.capitalize()}: our engine, the model and, if logged, the authors' engine; with (top) and without "
            "(bottom) counterweight in the engine. The model always includes it.",
        )
        if not of_text:
            figures.film(context, report, name, plotted[0].t, plotted[0].q, path)
    return claims


def _printed(figure: str, shape: str, clock: str, counterweight: bool, errors: Array) -> list[Claim]:
    """Claims on the printed RMS. Those on the text's paths have no number: the paper prints those of the program's."""
    which = "with" if counterweight else "no"
    if shape.endswith("text"):
        return TABLE.claims(
            f"{figure} of the text, {{which}} counterweight/{{row}}", None, which=which, found=list(errors)
        )
    return TABLE.claims(f"{figure} {shape}, {{clock}}, {which} counterweight/{{row}}", errors, clock=clock)


def _engine_claims(
    mechanism: Mechanism, figure: str, shape: str, recording: Recording, path: CartesianPath
) -> list[Claim]:
    """Claims on the agreement of engine and model, and on the tip error with the engine on."""
    worst = runs.torque_errors(mechanism, recording).max()
    claims = [TABLE.claim("{run}, 1 ms/engine against model", worst, run=f"{figure} {shape}")]
    if shape != "spiral of the text":  # the joint loops lag behind that spiral by 0.2 mm
        errors = runs.pose_errors(mechanism, recording, path)[recording.t >= torque_control.SETTLED]
        claims += TABLE.claims(f"{figure} {{path}}, 1 ms/tip {{row}}", largest(errors), path=shape)
    return claims
