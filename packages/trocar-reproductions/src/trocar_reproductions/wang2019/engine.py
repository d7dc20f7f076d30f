"""The identified arm in the engine: servoed along a recorded motion, and run open loop under the recorded effort."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import scipy

from trocar.arms.parameters import Parameters
from trocar.identification.pipeline import Identified, prepared, recalibrate
from trocar.identification.recipes.recipe import load_recipe
from trocar.identification.signals import Signals, efforts, relative_error, root_mean_square
from trocar.recording import Recording
from trocar.recording.filters import lowpass
from trocar.recording.motor_columns import joint_from_columns
from trocar.report import Claim
from trocar.simulation import Simulator
from trocar.spatial import Array
from trocar_reproductions.wang2019.recordings import TABLE, listed

ARM = "PSM"
# Bandwidth of the servo [rad/s], which removes drift. A stiff servo would follow the noise of the recorded positions,
# whose second derivative is worse than the difference of the recorded velocities.
BANDWIDTH = 20.0


@dataclass(frozen=True)
class Servoed:
    """Effort errors (n,), per column of the recording, of the engine and of the equations on the same rows.

    Attributes:
        engine, equations: relative errors. engine_rms: root mean square error [N m, N].
    """

    engine: Array
    equations: Array
    engine_rms: Array


def servoed(parameters: Parameters | Path, recording: Recording, seconds: float) -> Servoed:
    """Drive the engine along the first `seconds` of a recorded motion and compare the required effort.

    The control is the equations' effort for the motion plus feedback of position and velocity errors (M times a
    critically damped law), so the applied effort is the one that the engine's own mechanics and friction require.
    """
    sim = Simulator(ARM, parameters, limits=False)  # a recorded joint may be a little beyond its limit
    mechanism = sim.mechanism
    signals, T = _signals(recording)
    q, dq, ddq = (x @ T.T for x in (signals.q, signals.dq, signals.ddq))
    path = scipy.interpolate.CubicSpline(signals.t, q)
    forward = scipy.interpolate.CubicSpline(
        signals.t, mechanism.inverse_dynamics(q, dq, ddq) + mechanism.friction_along(q, 1.0, dq)
    )
    sim.place(q[0], dq[0])
    steps = round(seconds / sim.timestep)
    tau = np.empty((steps, 7))
    for k in range(steps):
        t = float(signals.t[0]) + k * sim.timestep
        e, de = path(t) - sim.q, path(t, 1) - sim.dq
        sim.step(forward(t) + mechanism.mass_matrix(sim.q) @ (BANDWIDTH**2 * e + 2 * BANDWIDTH * de))
        tau[k] = sim.measured_tau
    every = round(1.0 / (signals.rate * sim.timestep))
    filtered = lowpass(tau[::every] @ T, load_recipe(ARM).effort_cutoff, signals.rate)
    rows = np.flatnonzero(signals.used[: len(filtered)])
    rows = rows[rows < len(filtered) - round(signals.rate)]  # excluding the end of the filter
    measured, model = signals.tau[rows], efforts(mechanism, T, signals)[rows]
    engine, equations = (relative_error(measured, effort) for effort in (filtered[rows], model))
    return Servoed(engine, equations, root_mean_square(measured, filtered[rows]))


def forward_prediction(
    parameters: Parameters | Path,
    recording: Recording,
    horizons: Sequence[float] = (0.1, 0.25, 0.5),
    every: float = 0.5,
    under: Literal["recorded", "equations"] = "recorded",
) -> tuple[Array, Array]:
    """RMS error of q (horizons, n) of the engine under the recorded effort, and of a constant velocity [rad, m].

    Each window starts from the measured state, with the friction memory of the motion before; windows start at regular
    intervals.

    Args:
        under: "equations" applies the model's effort instead. The remaining error is then not due to errors
            of effort.
    """
    sim = Simulator(ARM, parameters, limits=False)  # a recorded joint may be a little beyond its limit
    mechanism = sim.mechanism
    signals, T = _signals(recording)
    q, dq = (x @ T.T for x in (signals.q, signals.dq))
    measured = signals.tau if under == "recorded" else efforts(mechanism, T, signals)
    tau = scipy.interpolate.CubicSpline(signals.t, measured @ np.linalg.inv(T) - mechanism.effort_bias)
    z = mechanism.drives.states(q)
    steps = [round(h / sim.timestep) for h in horizons]
    ahead = [round(h * signals.rate) for h in horizons]
    rows = np.flatnonzero(signals.used)
    starts = rows[: -ahead[-1] : round(every * signals.rate)]
    engine, steady = np.zeros((2, len(starts), len(horizons), 7))
    for i, row in enumerate(starts):
        sim.place(q[row], dq[row])
        sim.hysteresis = z[row]
        for k in range(1, steps[-1] + 1):
            sim.step(tau(signals.t[row] + (k - 0.5) * sim.timestep))
            if k in steps:
                h = steps.index(k)
                engine[i, h] = sim.q - q[row + ahead[h]]
                steady[i, h] = q[row] + horizons[h] * dq[row] - q[row + ahead[h]]
    return np.sqrt((engine**2).mean(0)), np.sqrt((steady**2).mean(0))


def in_engine(
    identified: Identified, same_day: Recording, other_day: Recording | None
) -> tuple[list[Claim], list[str]]:
    """Claims on an identified arm in the engine, with our own bounds, and a summary."""
    servo = servoed(identified.parameters, same_day, 12.0)
    ahead, steady = forward_prediction(identified.parameters, same_day, every=2.0)
    own, _ = forward_prediction(identified.parameters, same_day, horizons=(0.1,), every=2.0, under="equations")
    ratio = servo.engine / servo.equations
    nearer = (steady[0] / ahead[0])[:3].tolist()
    claims = [
        TABLE.claim("psm/engine/engine's error of effort over the equations'", ratio.max()),
        *TABLE.claims("psm/engine/predicted 0.1 s ahead/{row}", ahead[0, :3], nearer=nearer),
    ]
    errors = {name: [listed(row) for row in 1e3 * rms] for name, rms in (("ahead", ahead), ("steady", steady))}
    open_loop = TABLE.text("open loop", own=listed(1e3 * own[0]), **errors)
    lines = [TABLE.text("servoed", ratio=listed(ratio)), open_loop]
    if other_day is not None:
        again = recalibrate(identified.parameters, other_day, 10.0)
        servo = servoed(again.parameters, other_day, 20.0)
        claims += TABLE.claims("psm/engine/another day/{row}", servo.engine_rms[:3])
    return claims, lines


def _signals(recording: Recording) -> tuple[Signals, Array]:
    recipe = load_recipe(ARM)
    return prepared(recipe, recording), joint_from_columns(recipe.mechanism().arm, tuple(recording.joints))
