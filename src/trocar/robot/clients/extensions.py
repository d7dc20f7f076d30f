"""Arm methods of the CRTK specification that the dVRK does not serve."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from trocar.robot.clients.device import StatefulDevice
from trocar.robot.clients.move_handle import MoveHandle
from trocar.robot.messages import JointState, Pose, Twist, Wrench
from trocar.spatial import Array

Stamped = tuple[Array, float]


def joints(position: ArrayLike = (), velocity: ArrayLike = (), effort: ArrayLike = ()) -> JointState:
    """A joint command. The arm checks the content and answers with a warning."""
    p, v, f = (np.array(x, dtype=float).reshape(-1) for x in (position, velocity, effort))
    return JointState(position=p, velocity=v, effort=f)


class Extensions(StatefulDevice):
    """Velocities, pose differences and interpolated goals. Scripts that use them do not run on a real dVRK.

    Twists (6,) and differences (4, 4) are in axes of the frame of reference of `measured_cp`; a difference rotates the
    tip about its own origin. The arm is not busy during an `interpolate_*` command.
    """

    def servo_jv(self, velocities: ArrayLike) -> None:
        """Move the joints with these velocities [rad/s, m/s] until the next command or a limit."""
        self.send("servo_jv", joints(velocity=velocities))

    def servo_cv(self, twist: ArrayLike) -> None:
        """Move the tip with a twist (6,) [m/s, rad/s] until the next command or a limit."""
        self.send("servo_cv", _twist(twist))

    def servo_cr(self, difference: ArrayLike) -> None:
        """Follow the setpoint plus a difference (4, 4)."""
        self.send("servo_cr", _pose(difference))

    def move_cr(self, difference: ArrayLike) -> MoveHandle:
        """Move by a difference (4, 4) along a joint trajectory."""
        handle = MoveHandle(self)
        self.send("move_cr", _pose(difference))
        return handle

    def interpolate_jp(self, positions: ArrayLike) -> None:
        """Approach joint positions [rad, m] as a move would."""
        self.send("interpolate_jp", joints(positions))

    def interpolate_jr(self, positions: ArrayLike) -> None:
        """Add a difference [rad, m] to the joint goal."""
        self.send("interpolate_jr", joints(positions))

    def interpolate_jv(self, velocities: ArrayLike) -> None:
        """As `servo_jv`, reached within 0.1 s."""
        self.send("interpolate_jv", joints(velocity=velocities))

    def interpolate_jf(self, efforts: ArrayLike) -> None:
        """As `servo_jf`, reached within 0.1 s."""
        self.send("interpolate_jf", joints(effort=efforts))

    def interpolate_cp(self, T: ArrayLike) -> None:
        """Approach a pose (4, 4) of the tip as a move would."""
        self.send("interpolate_cp", _pose(T))

    def interpolate_cr(self, difference: ArrayLike) -> None:
        """Add a difference (4, 4) to the goal pose."""
        self.send("interpolate_cr", _pose(difference))

    def interpolate_cv(self, twist: ArrayLike) -> None:
        """As `servo_cv`, reached within 0.1 s."""
        self.send("interpolate_cv", _twist(twist))

    def interpolate_cf(self, wrench: ArrayLike) -> None:
        """As `body.servo_cf`, reached within 0.1 s."""
        self.send("interpolate_cf", Wrench(vector=np.array(wrench, dtype=float).reshape(-1)))

    def goal_js(self, wait_timeout: float | None = None) -> tuple[Array, Array, Array, float]:
        """Positions, velocities and efforts at the end of the current motion, and the time [s]."""
        message = self.receive("goal_js", wait_timeout)
        return message.position, message.velocity, message.effort, message.time

    def goal_cp(self, wait_timeout: float | None = None) -> Stamped:
        """Pose (4, 4) at the end of the current motion, and the time [s]."""
        message = self.receive("goal_cp", wait_timeout)
        return message.T, message.time

    def goal_cv(self, wait_timeout: float | None = None) -> Stamped:
        """Commanded twist (6,) and the time [s]."""
        message = self.receive("goal_cv", wait_timeout)
        return message.vector, message.time


def _pose(T: ArrayLike) -> Pose:
    return Pose(T=np.array(T, dtype=float))


def _twist(vector: ArrayLike) -> Twist:
    return Twist(vector=np.array(vector, dtype=float).reshape(-1))
