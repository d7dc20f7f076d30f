"""Calibration: joint axes, link lengths, remote centre and pose of an arm from motion capture.

`calibrate` runs all steps on `trocar.recording.Markers` and returns a `Calibration`, which writes a geometry file.
`calibration_motion` is a motion to record. The single steps are available too: `revolute_axis`, `measured_linkage`,
`fit_lengths`, `pivot`, `register` and `hand_eye`.
"""

from trocar.calibration.axes import Axis, Jump, revolute_axis
from trocar.calibration.calibration import Calibration, calibrate, calibration_motion
from trocar.calibration.lengths import Lengths, fit_lengths, model_distances
from trocar.calibration.linkage import Linkage, measured_linkage
from trocar.calibration.registration import Pivot, Registration, pivot, register
from trocar.errors import TooLittleMotion
from trocar.mechanics.hand_eye import hand_eye

__all__ = [
    "Axis",
    "Calibration",
    "Jump",
    "Lengths",
    "Linkage",
    "Pivot",
    "Registration",
    "TooLittleMotion",
    "calibrate",
    "calibration_motion",
    "fit_lengths",
    "hand_eye",
    "measured_linkage",
    "model_distances",
    "pivot",
    "register",
    "revolute_axis",
]
