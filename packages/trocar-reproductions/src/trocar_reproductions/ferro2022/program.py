"""Torque control as in the published program of Ferro et al. 2022, on this engine, compared with their logs.

Every 10 ms the program reads the joints, computes velocities and the derivative of the Jacobian by differences, and
sends efforts, which act one period later; the physics steps at 5 ms. The logs show that delay: the engine's effort
equals the command of two rows before to 0.07 N. The model torque uses low-passed differences of velocities, which
reproduce the logged accelerations exactly. Section IV-C discusses the transients of J3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from matplotlib.figure import Figure

from trocar.demo.effort_figures import ENGINE, MODEL
from trocar.demo.torque_control import ARM, R_WORLD_BASE, START, ideal_error
from trocar.mechanics import Mechanism, load_mechanism
from trocar.plots import COLOURS, panels, style
from trocar.report import Claim, Report
from trocar.simulation import Simulator
from trocar.spatial import Array
from trocar_reproductions.experiment import Context
from trocar_reproductions.ferro2022 import logs
from trocar_reproductions.ferro2022.figures import THEIRS
from trocar_reproductions.ferro2022.logs import PHYSICS, TABLE, Log
from trocar_reproductions.ferro2022.motors import EffortMotors
from trocar_reproductions.ferro2022.replay import agreement
from trocar_reproductions.ferro2022.runs import KD_CODE, KP_CODE, at_their_tip
from trocar_reproductions.ferro2022.scene_masses import SET

PERIOD = 1e-2  # control period of the program, Section IV-B [s]


def low_pass(values: Array) -> Array:
    """Their acceleration filter: first order, gain 1, delay of 0.56 samples, starting from rest."""
    filtered: Array = scipy.signal.lfilter([0.5363, 0.2984], [1.0, -0.1653], values, axis=0)
    return filtered


@dataclass(frozen=True)
class ProgramRun:
    """A run under torque control, rows at the times of a log.

    Attributes:
        q: joint positions (N, 7). error: tip error (N, 3), axes of their scene [m]. command: commanded effort (N, 3).
            engine: effort of the period before (N, 3). model: effort from the equations at the program's differences
            of q (N, 3) [N m, N m, N].
    """

    q: Array
    error: Array
    command: Array
    engine: Array
    model: Array


class TorqueProgram:
    """The program's torque control: feedback linearisation of the tip position, with derivatives by differences.

    Args:
        mechanism: its model, with their tip (`runs.at_their_tip`). kp, kd: gains (3,) [1/s^2, 1/s], axes of the scene.
    """

    def __init__(self, mechanism: Mechanism, kp: Array, kd: Array) -> None:
        self._mechanism = mechanism
        self._kp, self._kd = (R_WORLD_BASE.T @ np.diag(gain) @ R_WORLD_BASE for gain in (kp, kd))
        self._q, self._J = START, np.zeros((3, 3))  # the program starts with joints at rest and a zero Jacobian

    def command(self, q: Array, target: Array, velocity: Array, acceleration: Array) -> tuple[Array, Array, Array]:
        """Efforts (3,), joint velocities (7,) by differences, and the tip error (3,) [m], base axes.

        Args:
            q: measured joints (7,). target, velocity, acceleration: of the tip (3,), base axes.
        """
        p, J = self._mechanism.forward_kinematics(q)[:3, 3], self._mechanism.jacobian(q)[:3, ARM]
        dq = np.zeros(7)
        dq[ARM] = (q - self._q)[ARM] / PERIOD
        dJ = (J - self._J) / PERIOD
        self._q, self._J, error = q, J, target - p
        a = acceleration + self._kd @ (velocity - J @ dq[ARM]) + self._kp @ error
        M, c, g = self._mechanism.terms(q, dq)
        return M[ARM, ARM] @ np.linalg.solve(J, a - dJ @ dq[ARM]) + (c + g)[ARM], dq, error


def torque_run(
    mechanism: Mechanism,
    log: Log,
    kp: Array,
    kd: Array,
    *,
    parameters: str = SET,
    transmission: str = "mirrored",
    duration: float = 1.0,
) -> ProgramRun:
    """Run the program on this engine from the first row of a log along its target.

    Args:
        mechanism: the controller's model. kp, kd: gains (3,) [1/s^2, 1/s], axes of the scene.
        parameters, transmission: parameter set and transmission of the counterweight in the engine.
    """
    mechanism = at_their_tip(mechanism)
    rows = min(len(log.t), round(duration / PERIOD))
    start = np.append(log["qmsr"][0, :6], 0.0)
    options: dict[str, Any] = {"friction": False, "contacts": False, "limits": False, "timestep": PHYSICS}
    sim = Simulator("PSM", parameters, transmission=transmission, **options)
    motors = EffortMotors(sim)
    sim.reset(start, np.append((log["qmsr"][1, ARM] - log["qmsr"][0, ARM]) / PERIOD, np.zeros(4)))
    target = (log["pdes"] - log["pee"][0]) @ R_WORLD_BASE + mechanism.forward_kinematics(start)[:3, 3]
    velocity = np.gradient(target, PERIOD, axis=0)
    acceleration = np.gradient(velocity, PERIOD, axis=0)
    program = TorqueProgram(mechanism, kp, kd)
    q, moving, error, command, engine = (np.empty((rows, n)) for n in (7, 7, 3, 3, 3))
    acting = mechanism.gravity(start)[ARM]
    for k in range(rows):
        q[k], engine[k] = sim.q, acting
        command[k], moving[k], error[k] = program.command(q[k], target[k], velocity[k], acceleration[k])
        acting = command[k - 1] if k else mechanism.gravity(start)[ARM]
        for _ in range(round(PERIOD / PHYSICS)):
            motors.step(acting, start[3:])
    ddq = low_pass(np.diff(moving, axis=0, prepend=0.0 * moving[:1]) / PERIOD)
    model = mechanism.inverse_dynamics(q, moving, ddq)[:, ARM]
    return ProgramRun(q, error @ R_WORLD_BASE.T, command, engine, model)


ROWS = slice(1, 21)  # the first 0.2 s, while their J3 oscillates; no command precedes the first row
SHARE = 0.1  # of a logged peak by which ours may differ; the required correlation, 0.9, allows the same share
GAINS = {  # gains of the program, x y z of the scene [1/s^2, 1/s]
    "regulation": (np.full(3, 100.0), np.full(3, 20.0)),
    "rectilinear": (KP_CODE, KD_CODE),
    "spiral": (KP_CODE, KD_CODE),
}
RUN = "program against log {session} ({task})"
CORRELATION, SIZE, TIP, LINEAR = (
    f"{RUN}/{what}" for what in ("{row}", "J3 {row}", "tip {row}", "distance from the linear error")
)


def transient_claims(context: Context, report: Report, mechanism: Mechanism) -> list[Claim]:
    """Compare the program, with its timing and the masses and counterweight of the scene, with its logs."""
    claims = []
    without = load_mechanism("PSM", counterweight=False)
    for session, task in logs.TORQUE_CONTROL.items():
        log = logs.log_of(context.data, session)
        fields: dict[str, Any] = {"session": session, "task": task, "first": _first_rows(context)}
        if isinstance(log, str):
            for entry in (CORRELATION, SIZE, TIP, LINEAR):
                claims += TABLE.claims(entry, log, **fields)
            continue
        mirrored, rigid = (torque_run(mechanism, log, *GAINS[task], transmission=way) for way in ("mirrored", "rigid"))
        meant = torque_run(mechanism, log, *GAINS[task], parameters="wang2019")
        claims += _log_claims(log, mirrored, rigid, meant, without, fields)
        report.add_table(
            f"Fig. 7, 8, log {session} ({task}): the program on our engine, first 0.2 s; tip: first second.",
            ("engine", "J3 command minus model: peak [N], correlation", "J3 engine minus model", "tip, RMS [mm]"),
            [
                _row("their log", log, None),
                _row("scene's masses, mirrored counterweight", log, mirrored),
                _row("scene's masses, rigid transmission", log, rigid),
                _row("published masses, mirrored counterweight", log, meant),
            ],
        )
        target = log["pdes"] - log["pee"]
        ours, theirs = (_distance(log, error, task) for error in (mirrored.error, target[: len(mirrored.error)]))
        claims.append(TABLE.claim(LINEAR, ours, published=theirs, tolerance=0.1 * theirs, **fields))
        report.add_figure(
            discrepancy(log, mirrored, rigid),
            f"Log {session} ({task}): J3, commanded minus model, and tip error; their log and program on our engine.",
        )
    return claims


def _log_claims(
    log: Log, mirrored: ProgramRun, rigid: ProgramRun, meant: ProgramRun, without: Mechanism, fields: dict[str, Any]
) -> list[Claim]:
    """Claims on a run; `rigid`: with a rigid transmission, `meant`: with the published masses."""
    model = log["tauModel"][:, ARM]
    theirs = [(x - model)[ROWS] for x in (log["tauCmd"][:, ARM], log.simulated())]
    ours = [(x - mirrored.model)[ROWS] for x in (mirrored.command, mirrored.engine)]
    stiff = (rigid.command - rigid.model)[ROWS]
    as_published = [(x - meant.model)[ROWS] for x in (meant.command, meant.engine)]
    signals = [agreement(*pair) for pair in zip(ours, theirs, strict=True)]
    peaks, their_peaks = ([_peak(x) for x in which] for which in (ours, theirs))
    # before the first command only the motor holds the tool: the counterweight's force has not reached it
    held = float(without.gravity(mirrored.q[0])[2] - mirrored.model[0, 2])
    sizes = [*their_peaks, float(abs((log.simulated() - model)[0, 2]))]
    tip = agreement(mirrored.error, (log["pdes"] - log["pee"])[: len(mirrored.error)])
    return [
        *TABLE.claims(
            CORRELATION,
            [signal.correlation[2] for signal in signals],
            rms=[float(signal.rms[2]) for signal in signals],
            rigid=float(agreement(stiff, theirs[0]).correlation[2]),
            published_masses=[float(agreement(*x).correlation[2]) for x in zip(as_published, theirs, strict=True)],
            **fields,
        ),
        *TABLE.claims(
            SIZE,
            [*peaks, abs(held)],
            published=sizes,
            tolerance=[SHARE * size for size in sizes],
            rigid=_peak(stiff),
            published_masses=_peak(as_published[0]),
            model=_peak(model[ROWS]),
            ours_model=_peak(mirrored.model[ROWS]),
            **fields,
        ),
        *TABLE.claims(TIP, tip.correlation, rms=list(1e3 * tip.rms), **fields),
    ]


def _row(name: str, log: Log, run: ProgramRun | None) -> tuple[str, ...]:
    """A row of the table: signals of the log, or of a run with its agreement with the log."""
    model = log["tauModel"][:, ARM]
    theirs = [(x - model)[ROWS] for x in (log["tauCmd"][:, ARM], log.simulated())]
    if run is None:
        return (name, *(f"{_peak(x):.2f}" for x in theirs), "")
    ours = [(x - run.model)[ROWS] for x in (run.command, run.engine)]
    pairs = [(_peak(a), agreement(a, b).correlation[2]) for a, b in zip(ours, theirs, strict=True)]
    tip = 1e3 * agreement(run.error, (log["pdes"] - log["pee"])[: len(run.error)]).rms
    return (
        name,
        *(f"{peak:.2f}, {correlation:.2f}" for peak, correlation in pairs),
        ", ".join(f"{x:.2f}" for x in tip),
    )


def _distance(log: Log, error: Array, task: str) -> float:
    """Largest distance of a tip error (N, 3) from the linear solution with the same initial values [m]."""
    begin = (log["pdes"][1] - log["pdes"][0]) / PERIOD
    ideal = ideal_error(log.t[: len(error)], error[0], begin, *GAINS[task])
    return float(np.linalg.norm(error - ideal, axis=1).max())


def _peak(efforts: Array) -> float:
    """Largest force on joint 3 [N]."""
    return float(np.abs(efforts[:, 2]).max())


def _first_rows(context: Context) -> str:
    """Effort of their insertion in the first row of the logs with counterweight [N]."""
    read_logs = [logs.log_of(context.data, session) for session in (2, 4, *logs.TORQUE_CONTROL)]
    return ", ".join(f"{log.simulated()[0, 2]:.2f}" for log in read_logs if isinstance(log, Log))


@style()
def discrepancy(log: Log, mirrored: ProgramRun, rigid: ProgramRun) -> Figure:
    """J3, commanded minus model, and the tip error over the first half second (dashed: the authors')."""
    n = int((log.t <= 0.5).sum())
    t = log.t[:n]
    figure, (force, error) = panels((10.0, 2.8), 1, 2)
    force.plot(t, (log["tauCmd"] - log["tauModel"])[:n, 2], color=THEIRS, marker=".", label="theirs")
    for run, colour, label in ((mirrored, ENGINE, "mirrored"), (rigid, MODEL, "rigid transmission")):
        force.plot(t, (run.command - run.model)[:n, 2], color=colour, label=label)
    force.set(title="J3: commanded minus model [N]", xlabel="t [s]")
    force.legend()
    theirs = log["pdes"] - log["pee"]
    for k, axis in enumerate("xyz"):
        error.plot(t, 1e3 * mirrored.error[:n, k], color=COLOURS[k], label=axis)
        error.plot(t, 1e3 * theirs[:n, k], color=COLOURS[k], ls="--")
    error.set(title="tip error [mm]", xlabel="t [s]")
    error.legend()
    return figure
