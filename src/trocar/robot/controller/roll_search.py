"""Homing of a master's roll: without a potentiometer, the encoder is preset at the lower limit.

As in mtsIntuitiveResearchKitMTM of sawIntuitiveResearchKit 2.4: only the roll's motor moves, downwards, until it lags
half a turn behind its setpoint at the limit; there the encoder is set to -480 deg.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trocar.robot.controller.constants import PERIOD

if TYPE_CHECKING:
    from trocar.robot.controller.power_on import PoweredArm

STATES = ("CALIBRATING_ROLL", "ROLL_CALIBRATED", "RESETTING_ROLL_ENCODER", "ROLL_ENCODER_RESET")
LIMIT = np.radians(-480.0)  # lower limit of the roll [rad]
RANGE = 6.5 * np.pi  # search range, larger than the device's range [rad]
LAG = np.pi  # lag behind the setpoint that indicates the limit [rad]
RESET_TIME = 0.01  # time until a preset encoder is read [s]


class RollSearch:
    """States of the search, between the calibration from potentiometers and homing."""

    def __init__(self, arm: PoweredArm) -> None:
        self._arm, self._hardware, self._joint = arm, arm.hardware, arm.n - 1

    def begin(self) -> None:
        """Start the motion to the limit, with the encoder preset to 0 at any position."""
        self._hardware.preload(self._joint, 0.0)
        q = self._hardware.q.copy()
        goal = q.copy()
        goal[self._joint] -= RANGE
        self._arm.trajectory.start(q, np.zeros(len(q)), goal)
        self._arm.states.status("looking for roll lower limit")

    def progress(self, elapsed: float) -> None:
        """One cycle of the current state; `since`: time since it was entered [s]."""
        arm, path = self._arm, self._arm.trajectory
        match arm.substate:
            case "CALIBRATING_ROLL" if path.active:
                path.advance(PERIOD)
                self._hardware.track_alone(self._joint, path.q, path.dq)
                if abs(self._hardware.q[self._joint] - path.q[self._joint]) > LAG:
                    self._hardware.stop()
                    arm.states.status("found roll lower limit")
                    arm.enter("ROLL_CALIBRATED")
            case "CALIBRATING_ROLL":
                arm.fault("went past roll lower limit")
            case "ROLL_CALIBRATED":
                arm.enter("RESETTING_ROLL_ENCODER")
                self._hardware.preload(self._joint, LIMIT)
            case "RESETTING_ROLL_ENCODER" if elapsed >= RESET_TIME:
                arm.states.status("roll encoder properly reset to -480 degrees")
                arm.biased = True
                arm.enter("ROLL_ENCODER_RESET")
            case "ROLL_ENCODER_RESET":
                arm.enter("HOMING")
