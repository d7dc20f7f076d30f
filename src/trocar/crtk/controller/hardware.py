"""Motors, sensors and brakes of one simulated arm, as its controller drives and reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trocar.simulation import SimulatedArm
from trocar.spatial import Array

if TYPE_CHECKING:
    from trocar.crtk.controller.loop import ControlLoop


class Hardware:
    """One arm's share of the control loop. Joints are (n,) [rad, m; N m, N]; the loop works on actuators.

    Attributes:
        name, bus: of the device. arm: facts. sim: the simulated arm, for the truth. part: its actuators in the loop.
    """

    def __init__(self, name: str, loop: ControlLoop, part: slice) -> None:
        self.name, self.bus, self.part = name, loop.bus, part
        self._loop, self._servo, self._sensors = loop, loop.servo, loop.sensors
        self.arm = loop.scene.arms[name].arm
        self._joint_from_motor = self.arm.motors.coupling
        self._motor_from_joint = np.linalg.inv(self._joint_from_motor)
        self._effort_to_motor = np.ascontiguousarray(self._joint_from_motor.T)
        self._effort_to_joint = np.ascontiguousarray(self._motor_from_joint.T)
        self._feeds = False
        self._q: Array = np.zeros(self.arm.n)
        self._q_cycle = -1

    @property
    def sim(self) -> SimulatedArm:
        return self._loop.scene.arms[self.name]

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self._loop.time

    @property
    def stamp(self) -> int:
        """Time of the measurement [ns]."""
        return self._loop.now

    # -- sensors -------------------------------------------------------------------------------------------------------

    @property
    def q(self) -> Array:
        """Measured positions (n,); do not change them."""
        if self._q_cycle != self._loop.cycle:
            self._q, self._q_cycle = self._joint_from_motor @ self._sensors.q[self.part], self._loop.cycle
        return self._q

    @property
    def dq(self) -> Array:
        """Measured velocities (n,)."""
        return self._joint_from_motor @ self._sensors.dq[self.part]

    @property
    def tau(self) -> Array:
        """Measured efforts (n,): motor currents with their noise, and the bias of the arm's parameter set."""
        applied = self._sensors.efforts(self._loop.applied[self.part], self.part)
        tau = self._effort_to_joint @ applied
        return tau + self.sim.mechanism.effort_bias if self._loop.options.bias else tau

    def gravity(self) -> Array:
        """Efforts (n,) that hold the arm against gravity and springs, by the model of the simulated arm."""
        return self.sim.mechanism.gravity(self.q)

    def calibrate(self) -> None:
        """Bias the encoders from the potentiometers."""
        self._sensors.calibrate(self.part)
        self._loop.measure()

    # -- setpoints -----------------------------------------------------------------------------------------------------

    def setpoint(self) -> Array:
        """Position setpoint (n,); measured positions where an effort is given or nothing acts."""
        servo, part = self._servo, self.part
        tracks = servo.on[part] & ~servo.in_effort[part]
        return self._joint_from_motor @ np.where(tracks, servo.q_ref[part], self._sensors.q[part])

    def setpoint_velocity(self) -> Array:
        return self._joint_from_motor @ self._servo.dq_ref[self.part]

    def setpoint_effort(self) -> Array:
        """Efforts (n,) asked of the motors in the last cycle."""
        return self._effort_to_joint @ self._loop.applied[self.part]

    def track(self, q: Array, dq: Array | None, *, check: bool | None = None, joints: slice = slice(None)) -> None:
        """Let the PID follow joint positions (n,) and velocities; `joints`: only these actuators."""
        servo, part = self._servo, self.part
        servo.q_ref[part][joints] = (self._motor_from_joint @ q)[joints]
        servo.dq_ref[part][joints] = 0.0 if dq is None else (self._motor_from_joint @ dq)[joints]
        servo.on[part] = True
        servo.in_effort[part][joints] = False
        if check is not None:
            servo.checked[part] = check

    def exert(self, tau: Array, joints: slice = slice(None)) -> None:
        """Apply joint efforts (n,); `joints`: only by these actuators."""
        servo, part = self._servo, self.part
        servo.effort[part][joints] = (self._effort_to_motor @ tau)[joints]
        servo.in_effort[part][joints] = True
        servo.checked[part] = False
        servo.on[part] = True

    def feed_forward(self, tau: Array | None) -> None:
        """Add joint efforts (n,) to what the PID or the given efforts do; None ends it."""
        if tau is not None:
            self._servo.feed_forward[self.part] = self._effort_to_motor @ tau
            self._feeds = True
        elif self._feeds:
            self._servo.feed_forward[self.part] = 0.0
            self._feeds = False

    def stop(self) -> None:
        """Switch the motors off and engage the brakes, where there are any."""
        self._servo.stop(self.part)
        self._feeds = False
        if self.arm.brakes:
            self.sim.brakes = True

    def release(self) -> None:
        """Release the brakes, where there are any."""
        if self.arm.brakes:
            self.sim.brakes = False
