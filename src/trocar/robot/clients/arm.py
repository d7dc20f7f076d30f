"""Clients of an arm and of its frames `body`, `spatial` and `local`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trocar.robot.clients.device import Clock, Device, StatefulDevice
from trocar.robot.clients.move_handle import MoveHandle
from trocar.robot.messages import Bool, Empty, Float, JointState, Pose, Wrench
from trocar.spatial import Array

Stamped = tuple[Array, float]


def joints(position: ArrayLike = (), velocity: ArrayLike = (), effort: ArrayLike = ()) -> JointState:
    """A joint command. The arm checks the content and answers with a warning."""
    p, v, f = (np.array(x, dtype=float).reshape(-1) for x in (position, velocity, effort))
    return JointState(position=p, velocity=v, effort=f)


class JointReader(Device):
    """Measured joints in a namespace."""

    def measured_js(self, wait_timeout: float | None = None) -> tuple[Array, Array, Array, float]:
        """Positions [rad, m], velocities, efforts [N m, N] and the time of measurement [s]."""
        return self._js("measured_js", wait_timeout)

    def measured_jp(self, wait_timeout: float | None = None) -> Stamped:
        js = self.measured_js(wait_timeout)
        return js[0], js[3]

    def measured_jv(self, wait_timeout: float | None = None) -> Stamped:
        js = self.measured_js(wait_timeout)
        return js[1], js[3]

    def measured_jf(self, wait_timeout: float | None = None) -> Stamped:
        js = self.measured_js(wait_timeout)
        return js[2], js[3]

    def _js(self, topic: str, wait_timeout: float | None) -> tuple[Array, Array, Array, float]:
        message = self.receive(topic, wait_timeout)
        return message.position, message.velocity, message.effort, message.time


class JointSetpointReader(JointReader):
    """Measured and setpoint joints in a namespace."""

    def setpoint_js(self, wait_timeout: float | None = None) -> tuple[Array, Array, Array, float]:
        return self._js("setpoint_js", wait_timeout)

    def setpoint_jp(self, wait_timeout: float | None = None) -> Stamped:
        js = self.setpoint_js(wait_timeout)
        return js[0], js[3]

    def setpoint_jv(self, wait_timeout: float | None = None) -> Stamped:
        js = self.setpoint_js(wait_timeout)
        return js[1], js[3]

    def setpoint_jf(self, wait_timeout: float | None = None) -> Stamped:
        js = self.setpoint_js(wait_timeout)
        return js[2], js[3]


class PoseReader(Device):
    """Measured tip pose in a namespace."""

    def measured_cp(self, wait_timeout: float | None = None) -> Stamped:
        """Pose (4, 4) [m] and the time of measurement [s]."""
        message = self.receive("measured_cp", wait_timeout)
        return message.T, message.time


class PoseSetpointReader(PoseReader):
    """Measured and setpoint tip pose in a namespace."""

    def setpoint_cp(self, wait_timeout: float | None = None) -> Stamped:
        message = self.receive("setpoint_cp", wait_timeout)
        return message.T, message.time


class WrenchFrame(Device):
    """Wrenches and the Jacobian of an arm in one frame: `body` (tip axes) or `spatial` (base axes and origin)."""

    def measured_cf(self, wait_timeout: float | None = None) -> Stamped:
        """Wrench (6,) [N, N m] as the robot computes it from the motor currents, and its time [s]."""
        message = self.receive("measured_cf", wait_timeout)
        return message.vector, message.time

    def servo_cf(self, wrench: ArrayLike) -> None:
        """Apply a wrench (6,) [N, N m] until the next command."""
        self.send("servo_cf", Wrench(vector=np.array(wrench, dtype=float).reshape(-1)))

    def jacobian(self, wait_timeout: float | None = None) -> Stamped:
        """Jacobian (6, n), linear rows first, and its time [s]."""
        message = self.receive("jacobian", wait_timeout)
        return message.values, message.time


class LocalFrame(PoseSetpointReader):
    """Poses of an arm in its own base."""

    def forward_kinematics(self, jp: ArrayLike, extra: Any = None) -> Any:
        return _answer(self.call("forward_kinematics", jp), extra)


class Arm(JointSetpointReader, PoseSetpointReader, StatefulDevice):
    """An arm: PSM, ECM or MTM. `extra` of the kinematics returns (value, result, message) instead of the value."""

    def __init__(self, robot: Clock, name: str, connection_timeout: float = 1.0) -> None:
        super().__init__(robot, name, connection_timeout)
        self.body = WrenchFrame(robot, f"{name}/body", connection_timeout)
        self.spatial = WrenchFrame(robot, f"{name}/spatial", connection_timeout)
        self.local = LocalFrame(robot, f"{name}/local", connection_timeout)

    def measured_cv(self, wait_timeout: float | None = None) -> Stamped:
        """Twist (6,) of the tip [m/s, rad/s] and its time [s]."""
        message = self.receive("measured_cv", wait_timeout)
        return message.vector, message.time

    def hold(self) -> None:
        """Hold the current setpoint."""
        self.send("hold", Empty())

    def free(self) -> None:
        """Apply no effort beyond gravity compensation."""
        self.send("free", Empty())

    def servo_jp(self, positions: ArrayLike, velocities: ArrayLike = ()) -> None:
        """Follow joint positions [rad, m] immediately, optionally with velocities."""
        self.send("servo_jp", joints(positions, velocities))

    def servo_jr(self, positions: ArrayLike) -> None:
        """Follow the setpoint plus a difference [rad, m]."""
        self.send("servo_jr", joints(positions))

    def servo_jf(self, efforts: ArrayLike) -> None:
        """Apply joint efforts [N m, N]."""
        self.send("servo_jf", joints(effort=efforts))

    def servo_cp(self, T: ArrayLike) -> None:
        """Follow a tip pose (4, 4) immediately."""
        self.send("servo_cp", Pose(T=np.array(T, dtype=float)))

    def move_jp(self, positions: ArrayLike) -> MoveHandle:
        """Move to joint positions [rad, m] within the published velocities and accelerations."""
        handle = MoveHandle(self)
        self.send("move_jp", joints(positions))
        return handle

    def move_jr(self, positions: ArrayLike) -> MoveHandle:
        """Move by a difference of joint positions [rad, m]."""
        handle = MoveHandle(self)
        self.send("move_jr", joints(positions))
        return handle

    def move_cp(self, T: ArrayLike) -> MoveHandle:
        """Move the tip to a pose (4, 4) along a joint trajectory."""
        handle = MoveHandle(self)
        self.send("move_cp", Pose(T=np.array(T, dtype=float)))
        return handle

    def forward_kinematics(self, jp: ArrayLike, extra: Any = None) -> Any:
        """Pose (4, 4) of the tip, or of link k for k < n joint positions."""
        return _answer(self.call("forward_kinematics", jp), extra)

    def inverse_kinematics(self, jp: ArrayLike, cp: ArrayLike, extra: Any = None) -> Any:
        """Joint positions that place the tip at `cp` (4, 4) in the arm's own base, closest to the seed `jp`."""
        return _answer(self.call("inverse_kinematics", jp, cp), extra)

    def body_set_cf_orientation_absolute(self, absolute: bool) -> None:
        """Use the axes of the reference frame for body wrenches instead of those of the tip."""
        self.send("body/set_cf_orientation_absolute", Bool(value=absolute))

    def use_gravity_compensation(self, use: bool) -> None:
        """Add gravity compensation to commanded efforts."""
        self.send("use_gravity_compensation", Bool(value=use))

    def trajectory_j_set_ratio(self, ratio: float) -> None:
        """Scale the velocities and accelerations of moves, 0 < ratio <= 1."""
        self.send("trajectory_j/set_ratio", Float(value=float(ratio)))

    def trajectory_j_get_ratio(self) -> float:
        """Scale of the velocities and accelerations of moves, 0 to 1."""
        return float(self.receive("trajectory_j/ratio").value)

    def trajectory_j_ratio(self) -> float:
        """Same as `trajectory_j_get_ratio`; the name in dvrk 2.4."""
        return self.trajectory_j_get_ratio()


def _answer(found: Any, extra: Any) -> Any:
    return found.value if extra is None else (found.value, found.result, found.message)
