"""Two virtual grips for camera control that one hand carries."""

from __future__ import annotations

import numpy as np

from trocar.spatial import Array, pose, rotation
from trocar.teleoperation.camera import BOX

START = np.array([0.0, 0.0, 0.4])  # midpoint of the grips in front of the eyes [m]
HALF = 0.1  # half of the distance between the grips [m]
MARGIN = 0.05  # between the midpoint and the limits of camera control [m]
LOW, HIGH = BOX[0] + [HALF, MARGIN, MARGIN], BOX[1] - [HALF, MARGIN, MARGIN]


class CameraGrips:
    """A left and a right grip around a midpoint that a hand moves; a turn about the line of sight rolls the picture."""

    def __init__(self) -> None:
        self._middle, self._roll = START.copy(), 0.0

    def moved(self, twist: Array, dt: float) -> tuple[Array, Array]:
        """Poses (4, 4) of both grips in the display frame after dt [s] at a twist (6,) of the hand."""
        self._middle = np.clip(self._middle + dt * twist[:3], LOW, HIGH)
        self._roll += dt * float(twist[5])
        half = rotation("z", self._roll) @ [HALF, 0.0, 0.0]  # x is to the left
        return pose(p=self._middle + half), pose(p=self._middle - half)
