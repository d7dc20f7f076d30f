"""Sample of both MTMs and the ECM, with its validity check."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from trocar.spatial import Array
from trocar.teleoperation.arm_states import READY, ArmState
from trocar.teleoperation.pair_sample import STILL


@dataclass(frozen=True, slots=True)
class CameraSample:
    """Reports of both MTMs and the ECM at one time.

    Attributes:
        left, right: measured poses (4, 4) of MTML and MTMR in HRSV. left_twist, right_twist: (6,) [m/s, rad/s].
        q: set-point joints of the ECM (4,) [rad, m]. states: operating states by arm.
        fault: reason not to follow the sample, "" if there is none.
    """

    left: Array
    right: Array
    q: Array
    left_twist: Array = field(default_factory=lambda: STILL)
    right_twist: Array = field(default_factory=lambda: STILL)
    states: tuple[ArmState, ArmState, ArmState] = (READY, READY, READY)  # MTML, MTMR, ECM
    fault: str = ""

    def reason(self) -> str:
        """Reason not to follow the sample, "" if there is none."""
        if self.fault:
            return self.fault
        poses, twists = (self.left, self.right), (self.left_twist, self.right_twist)
        # summing squares is the fastest check
        if not math.isfinite(sum(float(np.vdot(x, x)) for x in poses) + sum(float(x.dot(x)) for x in twists)):
            return "a pose or twist of an MTM has a value that is not finite"
        return "" if math.isfinite(float(self.q.dot(self.q))) else "ECM setpoint_js has a value that is not finite"
