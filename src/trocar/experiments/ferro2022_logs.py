"""What Ferro et al. 2022 logged in their own simulator, and the real robot's excitation recording they replay."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.signal import butter, filtfilt

from trocar.control import Setpoint
from trocar.errors import TrocarError
from trocar.experiments.experiment import claim_of
from trocar.mechanics import Mechanism
from trocar.report import Claim
from trocar.spatial import Array

LOGS = Path("dynamic-dvrk-coppeliasim-simulator")
RECORDING = Path("dvrk_dynamics_identification") / "psm" / "measured_trajectory" / "one_no_weight_results.csv"
SETTLED = 0.5  # [s]: errors count from here on, past the transient of the start
ARM = slice(0, 3)  # joints the paper looks at: yaw, pitch, insertion
UNITS = ("N m", "N m", "N")

# RMS as printed in Section IV-B [N m, N m, N] (0.10 without its zero), by session: what ran, and the column the error
# is taken against.
# The excitation rows are against the real robot's torque, which the logs keep as tauCmd; the others against the model.
PRINTED: Mapping[int, tuple[str, str, tuple[str, str, str]]] = {
    1: ("rectilinear, no counterweight", "tauModel", ("0.66", "0.13", "2.17")),
    2: ("rectilinear, with counterweight", "tauModel", ("0.65", "0.10", "0.048")),
    3: ("spiral, no counterweight", "tauModel", ("0.59", "0.38", "3.3")),
    4: ("spiral, with counterweight", "tauModel", ("0.57", "0.27", "0.3")),
    5: ("excitation, no counterweight", "tauCmd", ("0.58", "0.8", "2.89")),
    6: ("excitation, with counterweight", "tauCmd", ("0.55", "0.8", "0.59")),
}
TORQUE_CONTROL = 8  # session under torque control, rectilinear
WITHOUT_COUNTERWEIGHT = (1, 3, 5)

claim = partial(claim_of, "ferro2022")


def printed(session: int) -> Array:
    """The published RMS (3,) [N m, N m, N]."""
    return np.array([float(text) for text in PRINTED[session][2]])


def last_digit(text: str) -> float:
    """Value of one unit in the last printed digit: 0.01 of "2.17"."""
    return float(10.0 ** -len(text.partition(".")[2]))


def rms(values: Array) -> Array:
    """Root mean square over rows."""
    return np.sqrt(np.mean(np.square(values), axis=0))


class Log:
    """One folder of logs. `log["qmsr"]` is an array (N, columns), without the time, which is `log.t` [s]."""

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

    def simulated(self) -> Array:
        """Torque of their physics engine (N, 3); the engine's sign is minus the model's."""
        return -self["tauMsr"][:, ARM]

    def velocity(self) -> Array:
        """The velocity their model was evaluated at (N, 7): the command, under torque control differences of q."""
        q = self.arm_joints("qmsr")
        if not self["qdcmd"][1:, ARM].any() or self.folder.name.endswith(f"_{TORQUE_CONTROL}"):
            return np.vstack([np.zeros((1, 7)), np.diff(q, axis=0) / np.diff(self.t)[:, None]])
        return self.arm_joints("qdcmd")

    def model(self, mechanism: Mechanism) -> Array:
        """Torque (N, 3) of a mechanism on their motion."""
        return mechanism.inverse_dynamics(self.arm_joints("qmsr"), self.velocity(), self.arm_joints("qddmsr"))[:, ARM]


def log_of(data: Path | None, session: int) -> Log | str:
    """A session's log, or why there is none."""
    if data is None:
        return "not run: no data folder (trocar fetch, --data or TROCAR_DATA)"
    folder = data / LOGS / f"LogSession_{session}"
    return Log(folder) if (folder / "qmsr.txt").is_file() else f"not run: {LOGS.name}/{folder.name} is not in the data"


def bounded(name: str, ours: float, bound: float, unit: str, note: str, source: str = "Section IV-A") -> Claim:
    """A statement that comes without a number: zero, within a bound of ours."""
    return claim(name, 0.0, ours, unit, "at_most", bound, source, f"{note}; the bound is ours")


def claims(data: Path | None, with_weight: Mechanism, without: Mechanism) -> list[Claim]:
    """The printed RMS from the authors' logs, and our model on their motion."""
    found: list[Claim] = []
    for session, (what, column, texts) in PRINTED.items():
        log = log_of(data, session)
        errors = rms((log.simulated() - log[column][:, ARM])[log.settled]) if isinstance(log, Log) else None
        against = "the model's torque" if column == "tauModel" else "the real robot's torque (column tauCmd)"
        found += [
            Claim(
                id=f"ferro2022/their logs/{session} {what}/J{j + 1}",
                published=float(text),
                ours=None if errors is None else float(errors[j]),
                unit=UNITS[j],
                relation="equal",
                tolerance=last_digit(text),
                source="Section IV-B",
                note=log
                if isinstance(log, str)
                else f"RMS of their engine's torque against {against}; one unit of the last printed digit",
            )
            for j, text in enumerate(texts)
        ]
        if session in WITHOUT_COUNTERWEIGHT:
            found.append(_counterweight_claim(session, log, with_weight, without))
    return found + [_model_claim(log_of(data, session), session, with_weight) for session in (*PRINTED, TORQUE_CONTROL)]


def _counterweight_claim(session: int, log: Log | str, with_weight: Mechanism, without: Mechanism) -> Claim:
    """What the counterweight asks of the insertion along their motion, by our model alone."""
    ours, note = (
        None,
        "model with less model without counterweight on their motion; the printed RMS has their engine's error in it",
    )
    if isinstance(log, Log):
        ours = float(rms((log.model(with_weight) - log.model(without))[log.settled])[2])
    return Claim(
        id=f"ferro2022/model on their motion/{session} counterweight alone/J3",
        published=float(PRINTED[session][2][2]),
        ours=ours,
        unit="N",
        relation="equal",
        tolerance=last_digit(PRINTED[session][2][2]),
        source="Section IV-B",
        note=log if isinstance(log, str) else note,
    )


def _model_claim(log: Log | str, session: int, mechanism: Mechanism) -> Claim:
    """Largest difference of our model's torque from theirs, past the start with its accelerations of hundreds."""
    ours = None
    if isinstance(log, Log):
        ours = float(np.abs(log.model(mechanism) - log["tauModel"][:, ARM])[log.settled].max())
    return Claim(
        id=f"ferro2022/model on their motion/{session} largest difference",
        published=0.0,
        ours=ours,
        unit="N m, N",
        relation="equal",
        tolerance=5e-5,
        source="Ferro et al. 2022, logs tauModel of the published simulator",
        note=log if isinstance(log, str) else "our M ddq + c + g against theirs on the same motion, six printed digits",
    )


class Excitation:
    """The real robot's recording of the excitation trajectory, as a reference for the first three joints.

    Velocity as measured (low-pass 17 Hz, as its authors filtered it); position its integral, with the slow drift
    towards the measured position taken out. Differentiating positions twice would cost half as much accuracy again.

    Attributes:
        t: (N,) [s]. q, dq: (N, 7), the wrist at rest. tau: measured, unfiltered (N, 3) [N m, N m, N].
    """

    def __init__(self, path: Path, rate: float = 200.0) -> None:
        try:
            rows = np.loadtxt(path, delimiter=",")
        except (OSError, ValueError) as error:
            raise TrocarError(f"the recording {path} cannot be read: {error}") from None
        if rows.ndim != 2 or rows.shape[1] != 21:
            raise TrocarError(f"the recording {path} needs 21 columns (q, dq, tau), got shape {rows.shape}")
        self.t = np.arange(len(rows)) / rate
        self.tau = rows[:, 14:17]
        measured, velocity = (filtfilt(*butter(6, 0.16965), rows[:, k : k + 3], axis=0) for k in (0, 7))
        integral = CubicSpline(self.t, velocity).antiderivative()
        drift = filtfilt(*butter(2, 0.2 / (rate / 2)), measured - integral(self.t), axis=0)
        slow = CubicSpline(self.t, drift)
        self._q = lambda t: integral(t) + slow(t)
        self._dq = lambda t: CubicSpline(self.t, velocity)(t) + slow(t, 1)
        self.q, self.dq = (np.pad(f(self.t), ((0, 0), (0, 4))) for f in (self._q, self._dq))

    @property
    def duration(self) -> float:
        """[s]."""
        return float(self.t[-1])

    def reference(self, timestep: float) -> Sampled:
        """Setpoints at every timestep, computed beforehand."""
        t = np.arange(int(np.ceil(self.duration / timestep)) + 1) * timestep
        t = np.minimum(t, self.duration)
        return Sampled(timestep, *(np.pad(f(t), ((0, 0), (0, 4))) for f in (self._q, self._dq)))


class Sampled:
    """A reference that is a table of positions and velocities (N, n) at whole timesteps [s]."""

    def __init__(self, timestep: float, q: Array, dq: Array) -> None:
        self._timestep, self._q, self._dq, self._zero = timestep, q, dq, np.zeros(q.shape[1])

    def __call__(self, t: float) -> Setpoint:
        k = min(round(t / self._timestep), len(self._q) - 1)
        return Setpoint(self._q[k], self._dq[k], self._zero)


def excitation_of(data: Path | None) -> Excitation | str:
    """The recording, or why there is none."""
    if data is None:
        return "not run: no data folder (trocar fetch, --data or TROCAR_DATA)"
    path = data / RECORDING
    return Excitation(path) if path.is_file() else f"not run: {RECORDING.as_posix()} is not in the data"
