"""Recorded motions replayed in this engine: commands logged by Ferro et al. 2022, and the real robot's motion (Fig. 6).

The logs reveal the timing: joints move at the command of the previous row, and the torque of a row is that of the
period ending there. So the torque of row k belongs to the command of row k - 2. Their joint motors reach a velocity
within one physics step, regardless of the effort; so does the motor here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from trocar.demo import torque_control
from trocar.demo.torque_control import ARM, SETTLED, rms
from trocar.mechanics import Mechanism
from trocar.report import Claim, Report
from trocar.simulation import Simulator
from trocar.spatial import Array
from trocar_reproductions.experiment import Context
from trocar_reproductions.ferro2022 import figures, logs, runs
from trocar_reproductions.ferro2022.logs import PHYSICS, SESSIONS, TABLE, WITHOUT_COUNTERWEIGHT, Log, log_of

RECIPE = {2: "replay of log 2, their recipe/{row}", 4: "replay of log 4, their recipe/{row}"}
CONSTANT = "their engine/{row} constant error/J1"
EXCITATION = (5, 6)  # logs that hold the joints of a file instead of the engine's
PULL = 5.0  # feedback to the logged position [1/s]: corrects the lag of their joints behind their commands


class Agreement(NamedTuple):
    """Comparison of two signals (N, 3): correlation, RMS and mean of the difference (3,)."""

    correlation: Array
    rms: Array
    mean: Array


def agreement(ours: Array, theirs: Array) -> Agreement:
    """Compare our signal with theirs, column by column."""
    correlation = [np.corrcoef(a, b)[0, 1] for a, b in zip(ours.T, theirs.T, strict=True)]
    return Agreement(np.array(correlation), rms(theirs - ours), (theirs - ours).mean(axis=0))


def noise(values: Array) -> Array:
    """Row-to-row noise (3,) from second differences; for white noise, its standard deviation."""
    return np.asarray(np.diff(values, 2, axis=0).std(axis=0) / np.sqrt(6.0))


class Replay:
    """Result of a logged command in this engine, with the parameters of two mechanisms, after the transient.

    Args:
        with_weight, without: the mechanism with and without counterweight. session: number of the log.
        q: joints of their engine (N, 7). Default: the logged ones.

    Attributes:
        engine, equations: torque (N, 3) of this engine and of the equations for the logged motion, at the settled
        rows of the log [N m, N m, N]. theirs: torque of their engine.
    """

    def __init__(
        self, log: Log, session: int, with_weight: Mechanism, without: Mechanism, q: Array | None = None
    ) -> None:
        counterweight = session not in WITHOUT_COUNTERWEIGHT
        mechanism = with_weight if counterweight else without
        first = int(np.argmax(log.settled))
        q, commanded = log.arm_joints("qmsr") if q is None else q, log.arm_joints("qdcmd")
        period = float(log.t[1] - log.t[0])
        self.theirs = log.simulated()[first:]
        self.engine = _engine(mechanism, q, commanded, first, period, counterweight)
        rates = np.diff(commanded, axis=0) / period
        rows = slice(first - 1, len(q) - 1)  # the period before each row uses the command of two rows before
        self.equations = mechanism.inverse_dynamics(q[rows], commanded[first - 2 : -2], rates[first - 3 : len(q) - 3])[
            :, ARM
        ]

    def constant(self, yaw: Array) -> float:
        """Constant part of their engine's error on J1, without the part proportional to gravity; yaw (N,) [N m]."""
        columns = np.stack([np.ones_like(yaw), np.sin(yaw)], axis=1)
        return float(np.linalg.lstsq(columns, (self.theirs - self.equations)[:, 0], rcond=None)[0][0])


def _engine(mechanism: Mechanism, q: Array, commanded: Array, first: int, period: float, counterweight: bool) -> Array:
    """Torque (N, 3) of this engine, averaged over the period ending at each row from `first` on."""
    options: dict[str, Any] = {"friction": False, "contacts": False, "limits": False, "timestep": PHYSICS}
    sim = Simulator("PSM", mechanism.parameters, counterweight=counterweight, **options)
    sim.reset(q[first - 1], commanded[first - 3])
    steps = round(period / PHYSICS)
    tau = np.zeros((len(q) - first, 3))
    for k in range(first, len(q)):
        dq = commanded[k - 2] + PULL * (q[k - 1] - sim.q)
        for _ in range(steps):
            effort = mechanism.inverse_dynamics(sim.q, sim.dq, (dq - sim.dq) / PHYSICS)
            sim.step(effort)
            tau[k - first] += effort[ARM] / steps
    return tau


def integrated(log: Log) -> Array:
    """Joints (N, 7) of their engine under excitation: the commands integrated from the start of the scene.

    A command acts from the row after it was sent to the row after that.
    """
    commanded = log.arm_joints("qdcmd")
    q = np.zeros_like(commanded)
    q[:, 2] = 0.1
    q[2:] += np.cumsum(commanded, axis=0)[:-2] * (log.t[1] - log.t[0])
    return q


def replay_claims(data: Path | None, with_weight: Mechanism, without: Mechanism) -> list[Claim]:
    """Correlation of the two engines under the same commands, and the bias of theirs."""
    claims: list[Claim] = []
    constant: dict[int, float | str] = {}
    for session in SESSIONS:
        log = log_of(data, session)
        if isinstance(log, str):
            claims += TABLE.claims("replay of log {session}/{row} correlation", log, session=session)
            if session in RECIPE:
                claims += TABLE.claims(RECIPE[session], log)
            constant[session] = log
            continue
        q = integrated(log) if session in EXCITATION else None
        replay = Replay(log, session, with_weight, without, q)
        claims += _signals(replay, session)
        if session in RECIPE:
            claims += TABLE.claims(RECIPE[session], rms(replay.engine - log["tauModel"][log.settled][:, ARM]))
        constant[session] = replay.constant(log["qmsr"][log.settled, 0])
    return claims + TABLE.claims(CONSTANT, [constant[row] for row in TABLE.entries[CONSTANT]["rows"]])


def _signals(replay: Replay, session: int) -> list[Claim]:
    """Claims on the correlation, for joints whose torque varies by more than their engine's noise."""
    compared, equations = agreement(replay.engine, replay.theirs), agreement(replay.equations, replay.theirs)
    correlations = [
        f"not reproducible: the row-to-row noise of their engine is {a:.2g}, the torque along this motion varies by "
        f"{b:.2g} (standard deviation); correlation {c:.2f}"
        if a > b
        else c
        for a, b, c in zip(noise(replay.theirs), replay.equations.std(axis=0), compared.correlation, strict=True)
    ]
    cause = "; joints of the engine: commands integrated from the start of the scene"
    return TABLE.claims(
        "replay of log {session}/{row} correlation",
        correlations,
        session=session,
        rms=list(compared.rms),
        mean=list(compared.mean),
        equations=list(equations.correlation),
        cause=cause if session in EXCITATION else "",
    )


CASES = (  # name, friction, counterweight
    ("no counterweight, friction off", False, False),
    ("with counterweight, friction off", False, True),
    ("with counterweight, friction on", True, True),
)


def excitation_claims(context: Context, report: Report, mechanism: Mechanism) -> list[Claim]:
    """Compare the engine with the real robot and with the model along the excitation trajectory."""
    measured, cause = logs.measured_motion(context.data), _cause(context)
    claims, plotted = [], []

    def three(name: str, errors: Array | str) -> list[Claim]:
        return TABLE.claims(f"fig 6 excitation, {name}/{{row}}", errors, **cause)

    for name, friction, counterweight in CASES:
        errors: Array | str
        if isinstance(measured, str):
            errors = measured
        else:
            recording = runs.replay(measured, friction=friction, counterweight=counterweight)
            rows = recording.t >= SETTLED
            # the robot's efforts contain the bias that was identified together with friction
            torque = np.asarray(recording.tau)[:, ARM] if friction else torque_control.engine_torque(recording)
            errors = rms((torque - measured.tau[: len(rows)])[rows])
            plotted.append((name, recording, torque_control.model_torque(mechanism, recording)))
        claims += three(name, errors)
        if friction:
            claims += three(f"{name}, bound", errors)
    if isinstance(measured, str):
        return claims + three("engine against model", measured)
    report.add_figure(
        figures.excitation(measured, plotted),
        "Fig. 6: the real robot's excitation trajectory replayed: simulated, model (no friction) and measured.",
    )
    figures.film(context, report, "fig 6 excitation", plotted[-1][1].t, plotted[-1][1].q)
    return claims + three("engine against model", runs.torque_errors(mechanism, plotted[1][1]))


def _cause(context: Context) -> dict[str, str]:
    """Log 6, J3: RMS error of the equations against the real robot, and its correlation with their engine's error."""
    log = log_of(context.data, 6)
    if isinstance(log, str):
        return {"equations": "(no log)", "shared": "(no log)"}
    real, model = (log[column][log.settled, 2] for column in ("tauCmd", "tauModel"))
    shared = np.corrcoef(log.simulated()[log.settled, 2] - model, real - model)[0, 1]
    return {"equations": f"{rms(model - real):.3f}", "shared": f"{shared:.2f}"}
