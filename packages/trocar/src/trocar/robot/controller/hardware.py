"""Motors, sensors and brakes of one simulated arm, for its controller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from trocar.mechanics import Mechanism
from trocar.robot.controller.memory import Remembering
from trocar.simulation import SimulatedArm
from trocar.spatial import Array

if TYPE_CHECKING:
    from trocar.robot.controller.loop import ControlLoop

ALL = slice(None)


class Hardware(Remembering):
    """One arm in the control loop. Joints are (n,) [rad, m; N m, N]; the loop works on actuators.

    Attributes:
        loop: the control loop, with its cycle and clock. name, bus: name and bus of the device. arm: facts.
        sim: the simulated arm (ground truth). part: its actuators.
        model: model for gravity compensation. None: the model of the simulated arm.
    """

    MEMORY = ("_feeds", "_tracks")

    def __init__(self, name: str, loop: ControlLoop, part: slice) -> None:
        self.name, self.bus, self.part = name, loop.bus, part
        self.loop, self._servo, self._sensors = loop, loop.servo, loop.sensors
        self._bind()
        # views of the servo's arrays, written in every cycle
        servo = loop.servo
        self._q_ref, self._dq_ref, self._effort = servo.q_ref[part], servo.dq_ref[part], servo.effort[part]
        self._fed, self._on, self._in_effort = servo.feed_forward[part], servo.on[part], servo.in_effort[part]
        self._clipped = servo.clipped[part]
        self._feeds = False
        self._tau: tuple[int, Array] = -1, np.zeros(0)  # cycle, measured efforts
        self._tracks: bool | None = False  # the PID is active for all motors, for none, or for some (None)
        self.model: Mechanism | None = None

    def remembered(self) -> dict[str, Any]:
        cycle, tau = self._tau
        return super().remembered() | {"_tau": (cycle - self.loop.cycle, tau)}

    def recall(self, memory: dict[str, Any]) -> None:
        age, tau = memory["_tau"]
        super().recall({**memory, "_tau": (self.loop.cycle + age, tau)})

    def _bind(self) -> None:
        self.arm, self._stepped = self.loop.scene.arms[self.name].arm, self.loop.scene.stepped[self.name]
        self._joint_from_motor = self.arm.motors.coupling
        self._motor_from_joint = np.linalg.inv(self._joint_from_motor)
        self._effort_to_motor = np.ascontiguousarray(self._joint_from_motor.T)
        self._effort_to_joint = np.ascontiguousarray(self._motor_from_joint.T)

    def adopt(self) -> None:
        """Refer to the arm of a changed scene. Setpoint and commanded efforts of the joints stay the same."""
        q, dq = self._joint_from_motor @ self._q_ref, self._joint_from_motor @ self._dq_ref
        tau = self._effort_to_joint @ self._effort
        fed = self._effort_to_joint @ self._fed
        self._bind()
        self._q_ref[:] = self._motor_from_joint @ np.clip(q, self.arm.lower, self.arm.upper)
        self._dq_ref[:] = self._motor_from_joint @ dq
        self._effort[:], self._fed[:] = self._effort_to_motor @ tau, self._effort_to_motor @ fed
        self._tau = -1, np.zeros(0)

    @property
    def sim(self) -> SimulatedArm:
        return self.loop.scene.arms[self.name]

    @property
    def gripper(self) -> float:
        """Opening of a master's gripper [rad]."""
        return self._stepped.gripper

    @property
    def q(self) -> Array:
        """Measured positions (n,); do not change them."""
        return self.loop.q[self.part]

    @property
    def dq(self) -> Array:
        """Measured velocities (n,); do not change them."""
        return self.loop.dq[self.part]

    @property
    def tau(self) -> Array:
        """Measured efforts (n,): motor currents with noise, and the bias of the arm's parameter set.

        They are measured once per cycle, so that all topics report the same.
        """
        if self._tau[0] != self.loop.cycle:
            tau = self.measured_efforts(self.loop.applied)
            self._tau = self.loop.cycle, tau + self.sim.mechanism.effort_bias if self.loop.options.bias else tau
        return self._tau[1]

    @property
    def applied(self) -> Array:
        """Joint efforts (n,) of the motors in the last cycle."""
        return self._effort_to_joint.dot(self.loop.applied[self.part])

    def measured_efforts(self, applied: Array) -> Array:
        """Joint efforts (n,) that the current sensors report of actuator efforts (N,) of the whole loop."""
        return self._effort_to_joint.dot(self._sensors.efforts(applied[self.part], self.part))

    def gravity(self) -> Array:
        """Efforts (n,) that hold the arm against gravity and springs, from the model."""
        return (self.model or self.sim.mechanism).gravity(self.q)

    def calibrate(self) -> None:
        self._sensors.calibrate(self.part)
        self.loop.measure()

    def preload(self, joint: int, position: float) -> None:
        """Preset the encoder of a joint with a separate motor to a position [rad, m]."""
        self._sensors.preload(self.part.start + joint, position)
        self.loop.measure()

    @property
    def inconsistent(self) -> bool:
        """True if encoders and potentiometers differ by more than their tolerance."""
        return bool(self._sensors.inconsistent[self.part].any())

    def setpoint(self) -> Array:
        """Position setpoint (n,); measured positions under effort control or with motors off."""
        if self._tracks is not None:  # all motors or none
            return self._joint_from_motor.dot(self._q_ref) if self._tracks else self.q.copy()
        tracks = self._on & ~self._in_effort
        return self._joint_from_motor @ np.where(tracks, self._q_ref, self._sensors.q[self.part])

    def setpoint_velocity(self) -> Array:
        return self._joint_from_motor @ self._dq_ref

    def setpoint_effort(self) -> Array:
        """Efforts (n,) commanded to the motors in the last cycle."""
        return self._effort_to_joint @ self.loop.applied[self.part]

    def track(
        self, q: Array, dq: Array | None, *, check: bool | None = None, joints: slice = ALL, asked: Array | None = None
    ) -> None:
        """Let the PID follow joint positions (n,) and velocities; `joints`: only these actuators.

        `asked`: positions before clipping to the limits. Tracking errors of clipped joints are not reported.
        """
        self._clipped[:] = False if asked is None else self._motor_from_joint.dot(asked - q) != 0.0
        self._q_ref[joints] = self._motor_from_joint.dot(q)[joints]
        self._dq_ref[joints] = 0.0 if dq is None else self._motor_from_joint.dot(dq)[joints]
        self._on[:] = True
        self._in_effort[joints] = False
        self._tracks = True if joints is ALL else None
        if check is not None:
            self._servo.checked[self.part] = check

    def exert(self, tau: Array) -> None:
        """Apply joint efforts (n,) without checking tracking errors."""
        self._effort[:] = self._effort_to_motor.dot(tau)
        self._in_effort[:] = self._on[:] = True
        self._tracks = False
        self._servo.checked[self.part] = False

    @property
    def tracks(self) -> bool:
        """True if all motors are on and follow positions."""
        return self._tracks is True and bool(self._on.all())

    def drive(self, tau: Array) -> None:
        """Apply the joint efforts (n,) of a control law instead of the PID, while positions stay the setpoint."""
        self._effort[:] = self._effort_to_motor.dot(tau)
        self._fed[:] = 0.0
        self._in_effort[:] = True

    def servo_again(self) -> None:
        """Let the PID act again after a control law."""
        if self.tracks:
            self._in_effort[:] = False

    def tune(self, kp: float = 1.0, ki: float = 1.0, kd: float = 1.0) -> None:
        self._servo.tune(self.part, kp, ki, kd)

    def feed_forward(self, tau: Array | None) -> None:
        """Add joint efforts (n,) to the PID or the given efforts; None removes them."""
        if tau is not None:
            self._fed[:] = self._effort_to_motor.dot(tau)
            self._feeds = True
        elif self._feeds:
            self._fed[:] = 0.0
            self._feeds = False

    def track_alone(self, joint: int, q: Array, dq: Array) -> None:
        """Like `track`, with only the motor of one joint on and without checking tracking errors."""
        self.track(q, dq, check=False)
        self._on[:] = False
        self._on[joint] = True

    @property
    def powers(self) -> bool:
        return bool(self._on.any())

    def stop(self) -> None:
        """Switch the motors off and engage the brakes, if any."""
        self._servo.stop(self.part)
        self._feeds = self._tracks = False
        if self.arm.brakes:
            self.sim.brakes = True

    def release(self) -> None:
        if self.arm.brakes:
            self.sim.brakes = False
