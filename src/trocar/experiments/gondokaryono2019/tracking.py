"""Gondokaryono et al. 2019, section 4.3: sinusoids on six joints (Fig. 10)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from matplotlib.figure import Figure

from trocar.arms import Arm
from trocar.control import JointPID, sinusoid
from trocar.experiments.gondokaryono2019.frames import TABLE
from trocar.plots import COLOURS, style
from trocar.recording import Recording
from trocar.report import Claim
from trocar.simulation import Simulator, simulate
from trocar.spatial import Array

SET = "gondokaryono2019"
FREQUENCY = 0.1  # [Hz]
PERIODS = 3
STEADY = 1.01  # a joint is stable up to this ratio of the RMS of the last period to that of the one before
TIMESTEP = 1e-3  # [s], Gazebo's default
# Table 8, joint space; the jaw, which the paper omits, is held with the gains of joint 6.
KP = (70.0, 70.0, 400.0, 10.0, 10.0, 10.0, 10.0)
KI = (0.1, 0.1, 0.01, 0.1, 0.1, 0.1, 0.1)
KD = (5.0, 5.0, 10.0, 1.0, 1.0, 1.0, 1.0)
# The paper does not give the centre of the motion; here 0, for the insertion its home, which is within limits.
CENTRE = np.array([0.0, 0.0, 0.12, 0.0, 0.0, 0.0, 0.0])


@dataclass(frozen=True)
class Sinusoids:
    """Amplitude of the joints [rad, m], and the use of joint limits in the engine."""

    name: str
    amplitude: tuple[float, ...]
    limits: bool

    @property
    def remark(self) -> str:
        limits = "on" if self.limits else "off"
        return f"amplitude {self.amplitude[0]:g} rad, {self.amplitude[2]:g} m, joint limits {limits}"


CASES = (
    Sinusoids("as published", (1.0, 1.0, 0.1, 1.0, 1.0, 1.0, 0.0), limits=False),  # the pitch limit is 0.925 rad
    Sinusoids("within limits", (0.9, 0.9, 0.1, 0.9, 0.9, 0.9, 0.0), limits=True),
)


@dataclass(frozen=True)
class Tracking:
    """A run of one case."""

    case: Sinusoids
    recording: Recording

    @property
    def error(self) -> Array:
        """Commanded minus simulated position (N, 6) [rad, m]."""
        return (self.recording.commands["q"] - self.recording.q)[:, :6]

    @property
    def rms(self) -> Array:
        """RMS error (6,) after the first period, which starts with a velocity step [rad, m]."""
        return np.sqrt(np.mean(self.error[self.recording.t * FREQUENCY >= 1.0 - 1e-9] ** 2, axis=0))

    @property
    def growth(self) -> Array:
        """Ratio (6,) of the RMS of the last period to that of the one before."""
        period = np.floor(self.recording.t * FREQUENCY + 1e-9)
        before, last = (np.mean(self.error[period == period[-1] - k] ** 2, axis=0) for k in (1, 0))
        return np.sqrt(last / before)


def in_joint_space(arm: Arm) -> Arm:
    """The arm as modelled in Gazebo: a motor on every joint, control every millisecond."""
    return replace(
        arm,
        motors=replace(arm.motors, coupling=np.eye(arm.n)),
        gains=replace(arm.gains, kp=KP, ki=KI, kd=KD, rate=1.0 / TIMESTEP),
    )


def track(case: Sinusoids, periods: float = PERIODS) -> Tracking:
    """Follow the sinusoid with the gains of Table 8, the CAD masses and damping, under gravity."""
    sim = Simulator("PSM", SET, timestep=TIMESTEP, limits=case.limits, contacts=False)
    sim.reset(CENTRE)
    reference = sinusoid(CENTRE, case.amplitude, FREQUENCY)
    return Tracking(case, simulate(sim, JointPID(in_joint_space(sim.arm)), reference, periods / FREQUENCY, every=10))


def tracking_claims(tracking: Tracking) -> list[Claim]:
    """Claims: every joint tracks stably (the paper's words), and the errors, which the paper plots without numbers."""
    stable = int(np.sum(tracking.growth <= STEADY))
    fields = {"run": tracking.case.name, "remark": tracking.case.remark}
    return [
        TABLE.claim("fig 10 {run}/stable joints", stable, growth=STEADY - 1, **fields),
        *TABLE.claims("fig 10 {run}/rms {row}", tracking.rms, **fields),
    ]


@style()
def tracking_figure(tracking: Tracking) -> Figure:
    """Like Fig. 10: commanded and simulated motion on the left, the error on the right."""
    recording = tracking.recording
    figure = Figure(figsize=(10.0, 11.0))
    figure.suptitle(f"{tracking.case.name}: {tracking.case.remark}", x=0.98, ha="right", fontsize="medium")
    grid = figure.subplots(6, 2, sharex=True)
    for j, (left, right) in enumerate(grid):
        unit = recording.joint_units[j]
        left.plot(recording.t, recording.commands["q"][:, j], color=COLOURS[0], label="commanded")
        left.plot(recording.t, recording.q[:, j], "--", color=COLOURS[1], label="simulated")
        left.set(ylabel=f"{recording.joints[j]} [{unit}]")
        right.plot(recording.t, tracking.error[:, j], color=COLOURS[2])
        right.set(ylabel=f"error [{unit}]")
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside upper left", ncols=2)
    for axes in grid[-1]:
        axes.set(xlabel="t [s]")
    return figure
