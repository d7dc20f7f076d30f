"""Simulation of an arm along a recorded motion."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.interpolate import CubicSpline

from trocar.control import ComputedTorque, Setpoint
from trocar.recording.filters import lowpass
from trocar.robot.controller.constants import PERIOD
from trocar.robot.settings import RECORDED, ArmSettings
from trocar.robot.track import Track
from trocar.simulation import simulate
from trocar.spatial import Array

RATE, CUTOFF = 200.0, 10.0  # sampling rate of the motion to follow, and its highest frequency [Hz]
BANDWIDTH = 30.0  # controller bandwidth [rad/s]
SHORT = 30  # rows; fewer are not filtered


def resimulated(
    track: Track, settings: ArmSettings | None = None, progress: Callable[[float], None] | None = None
) -> Track:
    """The motion of a track, below 10 Hz and within joint limits, followed by computed torque with friction.

    Its efforts are those that the simulated arm needs for that motion, for comparison with the recorded ones.
    """
    settings = settings or track.settings
    scene = settings.build()
    ((name, sim),) = scene.arms.items()
    reference = motion(track, sim.arm.lower, sim.arm.upper)
    start = reference(0.0)
    scene.reset({name: start.q}, {name: start.dq})
    law = ComputedTorque(sim.mechanism, BANDWIDTH**2, 2 * BANDWIDTH, friction=settings.friction)
    recordings = simulate(
        scene, {name: law}, {name: reference}, track.duration, progress, every=round(RECORDED / PERIOD)
    )
    return Track(recordings[name], f"{track.name}, simulated", settings)


def motion(track: Track, lower: Array, upper: Array) -> Callable[[float], Setpoint]:
    """The positions of a track as a smooth reference with its derivatives, within joint limits (n,) [rad, m]."""
    q = track.completed.q
    # a reader faster than the robot repeats rows, which are not measurements
    fresh = np.concatenate([[True], (np.diff(q, axis=0) != 0).any(1)])
    fresh[-1] = True
    t = np.linspace(0.0, track.duration, max(2, round(track.duration * RATE) + 1))
    dense = np.stack([np.interp(t, track.t[fresh], column) for column in q[fresh].T], axis=1)
    if len(t) > SHORT:
        dense = lowpass(dense, CUTOFF, (len(t) - 1) / track.duration)
    # clip last, because filters overshoot
    spline = CubicSpline(t, np.clip(dense, lower, upper), bc_type="natural")
    derivatives = spline.derivative(1), spline.derivative(2)

    def reference(time: float) -> Setpoint:
        time = float(np.clip(time, 0.0, t[-1]))
        return Setpoint(np.clip(spline(time), lower, upper), *(np.asarray(d(time)) for d in derivatives))

    return reference
