"""From power-on to homed: the state machine of an arm.

Follows mtsIntuitiveResearchKitArm of sawIntuitiveResearchKit 2.4: power, encoder bias from the potentiometers,
homing, and transitions from every state to DISABLED, PAUSED or FAULT.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from trocar.robot.controller import constants as c
from trocar.robot.controller import roll_search
from trocar.robot.controller.hardware import Hardware
from trocar.robot.controller.memory import Remembering
from trocar.robot.controller.states import DISABLED, ENABLED, FAULT, PAUSED, OperatingStates, Refused
from trocar.robot.controller.trajectory import JointTrajectory
from trocar.spatial import Array

MOVING = ("POWERING", "CALIBRATING_ENCODERS_FROM_POTS", "ENCODERS_BIASED", *roll_search.STATES, "HOMING")


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
        self._roll = roll_search.RollSearch(self) if self.constants.searches_roll else None
        self.substate = self.desired = DISABLED
        self.powered = self.biased = False
        self._resume = (DISABLED, DISABLED)
        self._since = 0.0  # time of the last change of substate [s]

    def adopt(self) -> None:
        """Continue with the arm of a changed scene."""
        self.hardware.adopt()
        self.arm = self.hardware.arm
        self.constants = self.arm.controller

    def remembered(self) -> dict[str, Any]:
        return super().remembered() | {"_since": self._since - self.hardware.time}

    def recall(self, memory: dict[str, Any]) -> None:
        super().recall({**memory, "_since": self.hardware.time + memory["_since"]})

    def interrupt(self) -> None:
        """End a running motion."""
        self.trajectory.stop()

    def state_command(self, command: str) -> None:
        refusal = self.states.refusal(command)
        if refusal is not None:
            raise Refused(refusal)
        match command:
            case "enable":
                if self.states.state in (DISABLED, FAULT):
                    self.request(ENABLED)
                else:
                    self.states.publish()
            case "disable":
                self.request(DISABLED)
            case "home":
                self.request("HOMED")
            case "pause":
                self.pause()
            case "resume":
                self.resume()
            case "unhome":
                self.unhome()

    def request(self, desired: str) -> None:
        """Start the transition to a desired state: DISABLED, ENABLED or HOMED."""
        self.desired = desired
        self.states.desire(desired)
        if desired == DISABLED:
            self.enter(DISABLED)
        elif self.substate in (DISABLED, FAULT):
            self.enter("POWERING")
        elif desired == "HOMED" and (self.substate == ENABLED or not (self.biased or self.substate in MOVING)):
            self.enter("CALIBRATING_ENCODERS_FROM_POTS")

    def pause(self) -> None:
        if self.substate != PAUSED:
            self._resume = self.substate, self.desired
            self.desired = PAUSED
            self.states.desire(PAUSED)
            self.enter(PAUSED)
        else:
            self.states.publish()

    def resume(self) -> None:
        substate, self.desired = self._resume
        self.states.desire(self.desired)
        self.enter(substate)

    def unhome(self) -> None:
        """Discard the calibration: homing will bias the encoders again."""
        self.interrupt()
        self.biased = False
        self.states.set(homed=False, busy=False)

    def fault(self, text: str) -> None:
        """Report an error and power off."""
        self.states.error(text)
        self.desired = FAULT
        self.states.desire(FAULT)
        self.enter(FAULT)

    def check_pots(self) -> None:
        """Power off if encoders and potentiometers of a powered arm are inconsistent."""
        if self.powered and self.biased and self.hardware.inconsistent:
            self.fault("IO: inconsistency between encoders and potentiometers")

    def enter(self, substate: str) -> None:
        """Enter a state of the dVRK's state machine."""
        self.interrupt()
        self.substate = self.states.substate = substate
        self._since = self.hardware.time
        match substate:
            case "DISABLED" | "FAULT":
                self.powered = False
                self.hardware.stop()
                self.states.set(substate, homed=False, busy=False)
            case "POWERING":
                self.hardware.stop()
                self.states.set(DISABLED, homed=False, busy=True)
                self.states.status("power requested")
            case "ENABLED":
                self.powered = True
                self.hardware.stop()
                self.states.set(ENABLED, homed=self.is_homed(), busy=False)
            case "CALIBRATING_ENCODERS_FROM_POTS":
                self.states.set(ENABLED, homed=False, busy=True)
                if self.biased:
                    self.states.status("encoders have already been calibrated, skipping")
            case "ENCODERS_BIASED":
                self.states.set(ENABLED, homed=False, busy=False)
            case "CALIBRATING_ROLL" | "ROLL_CALIBRATED" | "RESETTING_ROLL_ENCODER" | "ROLL_ENCODER_RESET":
                self.states.set(ENABLED, homed=False, busy=True)
            case "HOMING":
                self.states.set(ENABLED, homed=False, busy=True)
                self.begin_homing()
            case "HOMED":
                self.hardware.track(self.clipped(self.hardware.setpoint()), None, check=True)
                self.states.set(ENABLED, homed=self.is_homed(), busy=False)
            case "PAUSED":
                self.states.set(PAUSED, homed=self.is_homed(), busy=False)
        self.states.status(f"current state {substate}")

    def progress(self) -> None:
        """Power-on and homing: enter the next state when this one is done."""
        elapsed = self.hardware.time - self._since
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
                self.biased = self._roll is None
                self.states.status(f"encoders biased using {c.CALIBRATION_SAMPLES} potentiometer values")
                self.enter("ENCODERS_BIASED")
            case "ENCODERS_BIASED" if self._roll is not None and not self.biased:
                self.enter("CALIBRATING_ROLL")
                self._roll.begin()
            case "ENCODERS_BIASED":
                self.enter("HOMING")
            case "HOMING":
                self._run_homing(elapsed)
            case _ if self._roll is not None:
                self._roll.progress(elapsed)

    def begin_homing(self) -> None:
        """Enable the PID at the current position and start the motion to the goal of homing."""
        self.hardware.release()
        q = self.hardware.q
        self.hardware.track(q, None, check=True)
        goal = self.clipped(np.zeros(self.n)) if self.constants.homes_to_zero else q
        self.trajectory.start(q, np.zeros(self.n), goal)

    def _run_homing(self, elapsed: float) -> None:
        trajectory = self.trajectory
        if trajectory.active:
            trajectory.advance(c.PERIOD)
            self.hardware.track(trajectory.q, trajectory.dq)
            self._since = self.hardware.time
            return
        error = np.abs(trajectory.goal - self.hardware.q)
        if (error < self.constants.goal_tolerance).all():
            self.enter("HOMED")
        elif elapsed > c.HOMING_EXTRA_TIME:
            self.fault("unable to reach home position during calibration on pots")

    def make_ready(self) -> None:
        """Skip power-on and homing: enabled, homed, holding the current position."""
        self.powered = self.biased = True
        self.desired = "HOMED"
        self.states.desire("HOMED")
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
        """Joint positions (n,) within the limits."""
        return np.minimum(np.maximum(q, self.arm.lower), self.arm.upper)
