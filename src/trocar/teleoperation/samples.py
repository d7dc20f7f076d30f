"""Input of the state machines: operating states of arms, and samples of a pair and of camera control."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from trocar.spatial import Array

ROTATION_TOLERANCE = 1e-6  # tolerance of the squared norm of a rotation matrix
STILL = np.zeros(6)
STILL.setflags(write=False)


class ArmState(NamedTuple):
    """Operating state of an arm."""

    enabled: bool = True
    homed: bool = True
    busy: bool = False

    @property
    def ready(self) -> bool:
        return self.enabled and self.homed


READY = ArmState()


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
            topics = ("MTM measured_cp", "PSM setpoint_cp", "MTM measured_cv", "MTM gripper/measured_js")
            values = (master, slave, twist, np.array(gripper))
            wrong = (topic for topic, value in zip(topics, values, strict=True) if not np.isfinite(value).all())
            return f"{next(wrong, 'the sum of all squares')} has a value that is not finite"
        for T, square, what in ((master, squares[0], "MTM measured_cp"), (slave, squares[1], "PSM setpoint_cp")):
            p = T[:3, 3]
            if abs(square - float(p.dot(p)) - 4.0) > ROTATION_TOLERANCE:  # 3 from the rotation, 1 from the last row
                return f"{what} is not a rotation"
        return ""


@dataclass(frozen=True, slots=True)
class CameraSample:
    """Reports of both MTMs and the ECM at one time.

    Attributes:
        left, right: measured poses (4, 4) of MTML and MTMR in HRSV. left_twist, right_twist: (6,) [m/s, rad/s].
        q: set-point joints of the ECM (4,) [rad, m]. states: operating states of MTML, MTMR, ECM.
        fault: reason not to follow the sample, "" if there is none.
    """

    left: Array
    right: Array
    q: Array
    left_twist: Array = field(default_factory=lambda: STILL)
    right_twist: Array = field(default_factory=lambda: STILL)
    states: tuple[ArmState, ArmState, ArmState] = (READY, READY, READY)
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
