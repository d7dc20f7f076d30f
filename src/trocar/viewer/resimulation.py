"""A recorded motion, simulated: what the simulator does when it is asked for what was recorded."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.interpolate import CubicSpline

from trocar.control import ComputedTorque, Setpoint
from trocar.identification.signals import lowpass
from trocar.simulation import Simulator, simulate
from trocar.viewer.plant import Plant, Settings
from trocar.viewer.playback import Track

RATE, CUTOFF = 200.0, 10.0  # the motion asked for: samples [Hz], and what of it is believed [Hz]
BANDWIDTH = 30.0  # of the controller that follows it [rad/s]
EVERY = 3  # steps between two rows: 500 Hz
SHORT = 30  # rows that are too few to filter


def simulated(track: Track, settings: Settings | None = None, progress: Callable[[float], None] | None = None) -> Track:
    """The motion of a track, below 10 Hz and within joint limits, followed by computed torque with friction.

    Its efforts are then those that the simulated arm needs for that motion, to be compared with the recorded ones.
    """
    plant = Plant(settings or track.plant.settings)
    sim, arm = plant.sim, plant.arm
    assert isinstance(sim, Simulator)
    reference = motion(track, arm.lower, arm.upper)
    start = reference(0.0)
    sim.reset(start.q, start.dq)
    law = ComputedTorque(plant.mechanism, BANDWIDTH**2, 2 * BANDWIDTH, friction=plant.settings.friction)
    made = simulate(sim, law, reference, track.duration, progress, every=EVERY)
    return Track(made, f"{track.name}, simulated", plant.settings)


def motion(track: Track, lower: np.ndarray, upper: np.ndarray) -> Callable[[float], Setpoint]:
    """The positions of a track as something that can be followed: smooth, with its derivatives."""
    q = track.values("q")
    assert q is not None
    # a reader quicker than the robot repeats rows: those are no measurements
    fresh = np.concatenate([[True], (np.diff(q, axis=0) != 0).any(1)])
    fresh[-1] = True
    t = np.linspace(0.0, track.duration, max(2, round(track.duration * RATE) + 1))
    dense = np.stack([np.interp(t, track.t[fresh], column) for column in q[fresh].T], axis=1)
    if len(t) > SHORT:
        dense = lowpass(dense, CUTOFF, (len(t) - 1) / track.duration)
    # limits last: a filter swings over what it is given
    spline = CubicSpline(t, np.clip(dense, lower, upper), bc_type="natural")
    derivatives = spline.derivative(1), spline.derivative(2)

    def reference(time: float) -> Setpoint:
        time = float(np.clip(time, 0.0, t[-1]))
        return Setpoint(np.clip(spline(time), lower, upper), *(np.asarray(d(time)) for d in derivatives))

    return reference
