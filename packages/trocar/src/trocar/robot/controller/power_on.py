"""From power-on to homed: the state machine of an arm.

Follows mtsIntuitiveResearchKitArm of sawIntuitiveResearchKit 2.4: power, encoder bias from the potentiometers,
homing, and transitions from every state to DISABLED, PAUSED or FAULT. A master's roll has no potentiometer: as in
mtsIntuitiveResearchKitMTM, only its motor moves, downwards, until it lags half a turn behind its setpoint at the limit;
there its encoder is set to -480 deg.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from trocar.errors import TrocarError
from trocar.robot.controller import constants as c
from trocar.robot.controller.hardware import Hardware
from trocar.robot.controller.memory import Remembering
from trocar.robot.controller.states import DISABLED, ENABLED, FAULT, PAUSED, OperatingStates
from trocar.robot.controller.trajectory import JointTrajectory
from trocar.spatial import Array

ROLL_STATES = ("CALIBRATING_ROLL", "ROLL_CALIBRATED", "RESETTING_ROLL_ENCODER", "ROLL_ENCODER_RESET")
MOVING = ("POWERING", "CALIBRATING_ENCODERS_FROM_POTS", "ENCODERS_BIASED", *ROLL_STATES, "HOMING")
ROLL_LIMIT = np.radians(-480.0)  # lower limit of the roll [rad]
ROLL_RANGE = 6.5 * np.pi  # search range, larger than the device's range [rad]
ROLL_LAG = np.pi  # lag behind the setpoint that indicates the limit [rad]
ROLL_RESET_TIME = 0.01  # time until a preset encoder is read [s]


class PoweredArm(Remembering):
    """An arm that can be powered on, homed, paused and powered off.

    Attributes:
        hardware: motors, sensors and brakes. name, arm, bus: of the device. constants: of its controller.
        states: operating state and events. substate, desired: current and desired state of the dVRK's state machine.
        powered, biased: the amplifiers are on; the encoders are calibrated.
        trajectory: trajectory of homing and moves. n: number of joints.
    """

    MEMORY: ClassVar[tuple[str, ...]] = ("substate", "desired", "powered", "biased", "_resume")

    def __init__(self, hardware: Hardware) -> None:
        self.hardware = hardware
        self.name, self.arm, self.bus = hardware.name, hardware.arm, hardware.bus
        self.constants, self.n = self.arm.controller, self.arm.n
        self.states = OperatingStates(self.bus, self.name)
        self.trajectory = JointTrajectory(self.arm)
        self.substate = self.desired = DISABLED
        self.powered = self.biased = False
        self._resume = (DISABLED, DISABLED)
        self._since = 0.0  # time of the last change of substate [s]

    def adopt(self) -> None:
        self.hardware.adopt()
        self.arm = self.hardware.arm
        self.constants = self.arm.controller

    def remembered(self) -> dict[str, Any]:
        return super().remembered() | {"_since": self._since - self.hardware.loop.time}

    def recall(self, memory: dict[str, Any]) -> None:
        super().recall({**memory, "_since": self.hardware.loop.time + memory["_since"]})

    def desire(self, state: str) -> None:
        self.desired = state
        self.states.desire(state)

    def interrupt(self) -> None:
        self.trajectory.stop()

    def state_command(self, command: str) -> None:
        self.states.check(command)
        match command:
            case "enable" if self.states.state not in (DISABLED, FAULT):
                self.states.publish()
            case "enable" | "disable" | "home":
                self.request({"enable": ENABLED, "disable": DISABLED, "home": "HOMED"}[command])
            case "pause" | "resume" | "unhome":
                getattr(self, command)()

    def request(self, desired: str) -> None:
        """Start the transition to a desired state: DISABLED, ENABLED or HOMED."""
        self.desire(desired)
        if desired == DISABLED:
            self.enter(DISABLED)
        elif self.substate in (DISABLED, FAULT):
            self.enter("POWERING")
        elif desired == "HOMED" and (self.substate == ENABLED or not (self.biased or self.substate in MOVING)):
            self.enter("CALIBRATING_ENCODERS_FROM_POTS")

    def pause(self) -> None:
        if self.substate != PAUSED:
            self._resume = self.substate, self.desired
            self.desire(PAUSED)
            self.enter(PAUSED)
        else:
            self.states.publish()

    def resume(self) -> None:
        substate, desired = self._resume
        self.desire(desired)
        self.enter(substate)

    def unhome(self) -> None:
        """Discard the calibration: homing will bias the encoders again."""
        self.interrupt()
        self.biased = False
        self.states.set(homed=False, busy=False)

    def fault(self, text: str) -> None:
        """Report an error and power off."""
        self.states.error(text)
        self.desire(FAULT)
        self.enter(FAULT)

    def check_pots(self) -> None:
        """Power off if encoders and potentiometers of a powered arm are inconsistent."""
        if self.powered and self.biased and self.hardware.inconsistent:
            self.fault("IO: inconsistency between encoders and potentiometers")

    def enter(self, substate: str) -> None:
        self.interrupt()
        self.substate = self.states.substate = substate
        self._since = self.hardware.loop.time
        match substate:
            case "DISABLED" | "FAULT" | "ENABLED":
                self.powered = substate == ENABLED
                self.hardware.stop()
                self.states.set(substate, homed=self.is_homed(), busy=False)
            case "POWERING":
                self.hardware.stop()
                self.states.set(DISABLED, homed=False, busy=True)
                self.states.status("power requested")
            case "HOMED":
                self.hardware.track(self.clipped(self.hardware.setpoint()), None, check=True)
                self.states.set(ENABLED, homed=self.is_homed(), busy=False)
            case "PAUSED":
                self.states.set(PAUSED, homed=self.is_homed(), busy=False)
            case _ if substate in MOVING:
                self.states.set(ENABLED, homed=False, busy=substate != "ENCODERS_BIASED")
                if substate == "CALIBRATING_ENCODERS_FROM_POTS" and self.biased:
                    self.states.status("encoders have already been calibrated, skipping")
        self.states.status(f"current state {substate}")
        if substate == "HOMING":
            self.begin_homing()

    def progress(self) -> None:
        """Power-on and homing: enter the next state when this one is done."""
        elapsed, path, roll = self.hardware.loop.time - self._since, self.trajectory, self.n - 1
        match self.substate:
            case "POWERING" if elapsed >= c.POWER_TIME:
                self.states.status("power on")
                self.enter(ENABLED)
                if self.desired == "HOMED":
                    self.enter("CALIBRATING_ENCODERS_FROM_POTS")
            case "CALIBRATING_ENCODERS_FROM_POTS" if self.biased:
                self.enter("ENCODERS_BIASED")
            case "CALIBRATING_ENCODERS_FROM_POTS" if elapsed >= c.CALIBRATION_SAMPLES * c.PERIOD:
                self.hardware.calibrate()
                self.biased = not self.constants.searches_roll
                self.states.status(f"encoders biased using {c.CALIBRATION_SAMPLES} potentiometer values")
                self.enter("ENCODERS_BIASED")
            case "ENCODERS_BIASED" if self.constants.searches_roll and not self.biased:
                self.enter("CALIBRATING_ROLL")
                self.hardware.preload(roll, 0.0)  # at any position
                q = self.hardware.q.copy()
                self.states.status("looking for roll lower limit")
                self.begin_motion(q, q - ROLL_RANGE * np.eye(self.n)[roll])
            case "CALIBRATING_ROLL" if path.active:
                path.advance(c.PERIOD)
                self.hardware.track_alone(roll, path.q, path.dq)
                if abs(self.hardware.q[roll] - path.q[roll]) > ROLL_LAG:
                    self.hardware.stop()
                    self.states.status("found roll lower limit")
                    self.enter("ROLL_CALIBRATED")
            case "CALIBRATING_ROLL":
                self.fault("went past roll lower limit")
            case "ROLL_CALIBRATED":
                self.enter("RESETTING_ROLL_ENCODER")
                self.hardware.preload(roll, ROLL_LIMIT)
            case "RESETTING_ROLL_ENCODER" if elapsed >= ROLL_RESET_TIME:
                self.states.status("roll encoder properly reset to -480 degrees")
                self.biased = True
                self.enter("ROLL_ENCODER_RESET")
            case "ENCODERS_BIASED" | "ROLL_ENCODER_RESET":
                self.enter("HOMING")
            case "HOMING" if path.active:
                path.advance(c.PERIOD)
                self.hardware.track(path.q, path.dq)
                self._since = self.hardware.loop.time
            case "HOMING" if (np.abs(path.goal - self.hardware.q) < self.constants.goal_tolerance).all():
                self.enter("HOMED")
            case "HOMING" if elapsed > c.HOMING_EXTRA_TIME:
                self.fault("unable to reach home position during calibration on pots")

    def begin_homing(self) -> None:
        """Enable the PID at the current position and start the motion to the goal of homing."""
        self.hardware.release()
        q = self.hardware.q
        self.hardware.track(q, None, check=True)
        goal = self.clipped(np.zeros(self.n)) if self.constants.homes_to_zero else q
        self.begin_motion(q, goal)

    def begin_motion(self, q: Array, goal: Array) -> None:
        """Start a motion of the arm itself from rest at q (n,) to a goal (n,); one without a trajectory is a fault."""
        try:
            self.trajectory.start(q, np.zeros(self.n), goal)
        except TrocarError as error:
            self.fault(str(error))

    def make_ready(self) -> None:
        """Skip power-on and homing: enabled, homed, holding the current position."""
        self.powered = self.biased = True
        self.desire("HOMED")
        self.hardware.release()
        self.hardware.track(self.hardware.q, None, check=True)
        self.enter("HOMED")

    def restart(self, ready: bool) -> None:
        """Return to the state after switching on, or to `ready`, after the arm was placed at its start."""
        self.interrupt()
        self.hardware.stop()
        if ready:
            self.make_ready()
        else:
            self.biased, self.desired = False, DISABLED
            self.enter(DISABLED)

    def is_homed(self) -> bool:
        return self.powered and self.biased and self.substate not in ("ENABLED", *MOVING)

    @property
    def joints_ready(self) -> bool:
        """True if powered with biased encoders, so that joints are reported."""
        return self.powered and self.biased

    def clipped(self, q: Array) -> Array:
        return np.minimum(np.maximum(q, self.arm.lower), self.arm.upper)
