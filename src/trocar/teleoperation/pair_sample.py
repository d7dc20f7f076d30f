"""Sample of an MTM and a PSM, with its validity check."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trocar.spatial import Array
from trocar.teleoperation.arm_states import READY, ArmState

ROTATION_TOLERANCE = 1e-6  # tolerance of the squared norm of a rotation matrix
STILL = np.zeros(6)
STILL.setflags(write=False)


@dataclass(frozen=True, slots=True)
class PairSample:
    """Reports of an MTM and a PSM at one time.

    Attributes:
        master, master_setpoint: measured and set-point pose of the MTM (4, 4) in the display frame.
        slave: set-point pose of the PSM (4, 4) in the camera frame.
        twist: measured twist of the MTM (6,) [m/s, rad/s]. gripper: gripper angle [rad]; None: no gripper.
        jaw: set-point of the PSM's jaw [rad]; None: no instrument.
        master_state, slave_state: operating states. base: base frame of the PSM (4, 4), None if it is
            not observed.
        fault: reason not to follow the sample, "" if there is none.
    """

    master: Array
    master_setpoint: Array
    slave: Array
    twist: Array = field(default_factory=lambda: STILL)
    gripper: float | None = None
    jaw: float | None = None
    master_state: ArmState = READY
    slave_state: ArmState = READY
    base: Array | None = None
    fault: str = ""

    def reason(self) -> str:
        """Reason not to follow the sample, "" if there is none: a fault, a NaN, or a matrix that is not a rotation."""
        if self.fault:
            return self.fault
        gripper = 0.0 if self.gripper is None else self.gripper
        master, slave, twist = self.master, self.slave, self.twist
        squares = float(np.vdot(master, master)), float(np.vdot(slave, slave))
        if not math.isfinite(sum(squares) + float(twist.dot(twist)) + gripper):
            given: dict[str, Any] = {
                "MTM measured_cp": self.master,
                "PSM setpoint_cp": self.slave,
                "MTM measured_cv": self.twist,
                "MTM gripper/measured_js": gripper,
            }
            wrong = (name for name, value in given.items() if not np.isfinite(value).all())
            return f"{next(wrong, 'the sum of all squares')} has a value that is not finite"
        for T, square, what in ((master, squares[0], "MTM measured_cp"), (slave, squares[1], "PSM setpoint_cp")):
            p = T[:3, 3]
            if abs(square - float(p.dot(p)) - 4.0) > ROTATION_TOLERANCE:  # 3 from the rotation, 1 from the last row
                return f"{what} is not a rotation"
        return ""
