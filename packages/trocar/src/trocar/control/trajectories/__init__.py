"""Trajectories: functions of time [s] that return a `Setpoint`, with exact derivatives.

Joint space: `hold`, `step_to`, `sinusoid`, `fourier`, `cubic`, `quintic`, their splines, and `time_optimal`. Tip paths:
`line`, `circle`, `spiral` and `screw`, followed by `through`. `check_path` checks a path before it is executed.
"""

from trocar.control.trajectories.checks import Contacts, PathCheck, Violation, check_path
from trocar.control.trajectories.paths import (
    CartesianPath,
    Following,
    LeavesReach,
    TipMotion,
    circle,
    line,
    screw,
    spiral,
    through,
)
from trocar.control.trajectories.periodic import Fourier, PeriodicRun, fourier, hold, sinusoid, step_to
from trocar.control.trajectories.reference import Reference, Trajectory
from trocar.control.trajectories.via_points import (
    Polynomial,
    Segment,
    TimeOptimal,
    cubic,
    cubic_spline,
    quintic,
    quintic_spline,
    time_optimal,
)

__all__ = [
    "CartesianPath", "Contacts", "Following", "Fourier", "LeavesReach", "PathCheck", "PeriodicRun", "Polynomial",
    "Reference", "Segment", "TimeOptimal", "TipMotion", "Trajectory", "Violation", "check_path", "circle", "cubic",
    "cubic_spline", "fourier", "hold", "line", "quintic", "quintic_spline", "screw", "sinusoid", "spiral", "step_to",
    "through", "time_optimal",
]  # fmt: skip
