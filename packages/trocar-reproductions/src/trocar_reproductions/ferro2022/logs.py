"""Logs of Ferro et al. 2022 from their own simulator, and the real robot's recording that they replay."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy
from scipy.spatial.transform import Rotation

from trocar.control import Reference, Setpoint
from trocar.demo.torque_control import ARM, SETTLED, rms
from trocar.errors import TrocarError
from trocar.mechanics import Mechanism
from trocar.recording import load_recording
from trocar.report import Claim
from trocar.report.claim_table import ClaimTable
from trocar.spatial import Array
from trocar_reproductions.experiment import NO_DATA, data_file

LOGS = Path("dynamic-dvrk-coppeliasim-simulator")
RECORDING = Path("dvrk_dynamics_identification") / "psm" / "measured_trajectory" / "one_no_weight_results.csv"
PHYSICS = 5e-3  # time step of their engine, Section IV-B [s]

TABLE = ClaimTable("trocar_reproductions.ferro2022")
# By session: entry of the table with the printed RMS, and the column it was computed against
SESSIONS = {
    1: ("their logs/1 rectilinear, no counterweight/{row}", "tauModel"),
    2: ("their logs/2 rectilinear, with counterweight/{row}", "tauModel"),
    3: ("their logs/3 spiral, no counterweight/{row}", "tauModel"),
    4: ("their logs/4 spiral, with counterweight/{row}", "tauModel"),
    5: ("their logs/5 excitation, no counterweight/{row}", "tauCmd"),
    6: ("their logs/6 excitation, with counterweight/{row}", "tauCmd"),
}
TRACKING = {2: "their logs/2 rectilinear, tip/{row}", 4: "their logs/4 spiral, tip/{row}"}  # printed with Fig. 2, 3
TORQUE_CONTROL = {7: "regulation", 8: "rectilinear", 9: "spiral"}  # sessions under torque control
WITHOUT_COUNTERWEIGHT = (1, 3, 5)
# Printed errors without counterweight: session, joint
FROM_THE_OTHER_LOG = {"1 J2": (1, 1), "1 J3": (1, 2), "3 J3": (3, 2), "5 J3": (5, 2)}


def printed(session: int) -> Array:
    """The published RMS (3,) [N m, N m, N]."""
    return np.array(TABLE.entries[SESSIONS[session][0]]["published"])


class Log:
    """One folder of logs. `log["qmsr"]` is an array (N, columns) without the time; `log.t` is the time [s]."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.t = self._rows("qmsr")[:, 0]

    def __getitem__(self, name: str) -> Array:
        return self._rows(name)[:, 1:]

    def _rows(self, name: str) -> Array:
        path = self.folder / f"{name}.txt"
        try:
            lines = path.read_text(encoding="utf-8").split(";")
            return np.array([[float(x) for x in line.split(",")] for line in lines if line.strip()])
        except (OSError, ValueError) as error:
            raise TrocarError(f"the log {path} cannot be read as lines 't, values;': {error}") from None

    @property
    def settled(self) -> Array:
        """Rows after the transient (N,)."""
        return self.t >= SETTLED

    def arm_joints(self, name: str) -> Array:
        """The first three joints of a file, zeros for the rest (N, 7)."""
        return np.pad(self[name][:, ARM], ((0, 0), (0, 4)))

    def tip_errors(self) -> Array:
        """Desired minus actual tip (N, 6) [m, rad], axes of their scene; orientation as a rotation vector."""
        desired, actual = (Rotation.from_matrix(self[name].reshape(-1, 3, 3)) for name in ("Rdes", "Ree"))
        return np.hstack([self["pdes"] - self["pee"], (desired * actual.inv()).as_rotvec()])

    def simulated(self) -> Array:
        """Torque of their physics engine (N, 3). Its sign is opposite to the model's."""
        return -self["tauMsr"][:, ARM]

    def velocity(self) -> Array:
        """Velocity at which their model was evaluated (N, 7): the command, or differences of q under torque control."""
        commanded, q = self.arm_joints("qdcmd"), self.arm_joints("qmsr")
        if commanded.any():
            return commanded
        return np.vstack([np.zeros((1, 7)), np.diff(q, axis=0) / np.diff(self.t)[:, None]])

    def model(self, mechanism: Mechanism) -> Array:
        """Torque (N, 3) of a mechanism for their motion."""
        return mechanism.inverse_dynamics(self.arm_joints("qmsr"), self.velocity(), self.arm_joints("qddmsr"))[:, ARM]


def log_of(data: Path | None, session: int) -> Log | str:
    """A session's log, or the reason why it is missing."""
    if data is None:
        return NO_DATA
    folder = data / LOGS / f"LogSession_{session}"
    return Log(folder) if (folder / "qmsr.txt").is_file() else f"not run: {LOGS.name}/{folder.name} is not in the data"


def log_claims(data: Path | None, with_weight: Mechanism, without: Mechanism) -> list[Claim]:
    """The printed RMS from the authors' logs, and our model on their motion."""
    logs = {session: log_of(data, session) for session in sorted((*SESSIONS, *TORQUE_CONTROL))}
    claims: list[Claim] = []
    for session, (entry, column) in SESSIONS.items():
        log = logs[session]
        claims += TABLE.claims(entry, log if isinstance(log, str) else rms(engine_errors(log, column)))
    for session, entry in TRACKING.items():
        log = logs[session]
        claims += TABLE.claims(entry, log if isinstance(log, str) else rms(log.tip_errors()))
    differences = [log if isinstance(log, str) else _model_difference(log, with_weight) for log in logs.values()]
    claims += TABLE.claims("model on their motion/{row} largest difference", differences)
    return claims + _from_the_other_log(logs, with_weight, without)


def engine_errors(log: Log, column: str) -> Array:
    """Their engine's torque minus a column of the log (N, 3), after the transient."""
    return (log.simulated() - log[column][:, ARM])[log.settled]


def _model_difference(log: Log, mechanism: Mechanism) -> float:
    """Largest difference of our model's torque from theirs, after the start, where accelerations reach hundreds."""
    return float(np.abs(log.model(mechanism) - log["tauModel"][:, ARM])[log.settled].max())


def _from_the_other_log(logs: dict[int, Log | str], with_weight: Mechanism, without: Mechanism) -> list[Claim]:
    """RMS without counterweight: its effort from our model for the logged motion plus their engine's error with it."""
    numbers: list[float | str] = []
    fields: list[tuple[float, ...]] = []
    for session, j in FROM_THE_OTHER_LOG.values():
        log, other = logs[session], logs[session + 1]
        if isinstance(log, str) or isinstance(other, str):
            numbers.append(next(x for x in (log, other) if isinstance(x, str)))
            fields.append((np.nan,) * 5)
            continue
        weight = (log.model(without) - log.model(with_weight))[log.settled][:, j]
        error = engine_errors(other, SESSIONS[session][1])[:, j]
        numbers.append(float(rms(weight + error[: len(weight)])))
        slopes = [_slope(x, y, j) for x, y in ((log, without), (other, with_weight))]
        fields.append((float(rms(weight)), float(error.mean()), float(rms(weight + error.mean())), *slopes))
    named = zip(("alone", "bias", "constant", "slope", "other_slope"), zip(*fields, strict=True), strict=True)
    return TABLE.claims("their logs/{row} from the log with counterweight", numbers, **dict(named))


def _slope(log: Log, mechanism: Mechanism, joint: int) -> float:
    """Slope of their engine's error of a joint over the pitch angle [N m/rad, N/rad]."""
    error = (log.simulated() - log.model(mechanism))[log.settled][:, joint]
    return float(np.polyfit(log["qmsr"][log.settled, 1], error, 1)[0])


class MeasuredMotion:
    """The real robot's recording of the excitation trajectory, as a reference for the first three joints.

    The velocity is the measured one (low-pass 17 Hz, the authors' filter). The position is its integral, with the slow
    drift from the measured position removed. Differentiating positions twice would increase the error by half.

    Attributes:
        t: (N,) [s]. q, dq: (N, 7), the wrist at rest. tau: measured, unfiltered (N, 3) [N m, N m, N].
    """

    def __init__(self, path: Path, rate: float = 200.0) -> None:
        recording = load_recording(path, "PSM", as_recorded=True, rate=rate)
        period = float(np.diff(recording.t).mean()) if len(recording) > 1 else 0.0
        if recording.tau is None or len(recording) < 100 or abs(period * rate - 1.0) > 0.01:
            raise TrocarError(
                f"{path} must be a recording of at least 100 rows with efforts at {rate:g} Hz to be replayed as "
                f"excitation; it has {len(recording)} rows, {1e3 * period:.3g} ms apart"
            )
        self.t, self.tau = recording.t, np.asarray(recording.tau)[:, ARM]
        measured, velocity = (
            scipy.signal.filtfilt(*scipy.signal.butter(6, 0.16965), x[:, ARM], axis=0)
            for x in (recording.q, recording.dq)
        )
        speed = scipy.interpolate.CubicSpline(self.t, velocity)
        integral = speed.antiderivative()
        drift = scipy.signal.filtfilt(*scipy.signal.butter(2, 0.2 / (rate / 2)), measured - integral(self.t), axis=0)
        slow = scipy.interpolate.CubicSpline(self.t, drift)
        self._q = lambda t: integral(t) + slow(t)
        self._dq = lambda t: speed(t) + slow(t, 1)
        self.q, self.dq = (np.pad(f(self.t), ((0, 0), (0, 4))) for f in (self._q, self._dq))

    @property
    def duration(self) -> float:
        """Duration [s]."""
        return float(self.t[-1])

    def reference(self, timestep: float) -> Reference:
        """Setpoints at every timestep, precomputed."""
        t = np.minimum(np.arange(int(np.ceil(self.duration / timestep)) + 1) * timestep, self.duration)
        q, dq = (np.pad(f(t), ((0, 0), (0, 4))) for f in (self._q, self._dq))

        def setpoint(t: float) -> Setpoint:
            k = min(round(t / timestep), len(q) - 1)
            return Setpoint(q[k], dq[k], np.zeros(7))

        return setpoint


def measured_motion(data: Path | None) -> MeasuredMotion | str:
    """The recording, or the reason why it is missing."""
    path = data_file(data, RECORDING)
    return path if isinstance(path, str) else MeasuredMotion(path)
