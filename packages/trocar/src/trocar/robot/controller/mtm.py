"""Controller of an MTM: gripper, wrist platform, locked orientation, Cartesian impedance."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from trocar.errors import TrocarError
from trocar.robot.controller.arm import CARTESIAN, EFFORT, ArmController
from trocar.robot.controller.constants import PERIOD
from trocar.robot.controller.hardware import Hardware
from trocar.robot.controller.states import MAX_VALUE, Refused, usable
from trocar.robot.interface import Interface
from trocar.robot.messages import Bool, Empty, HalfPlaneGains, ImpedanceGoal, JointState, Message
from trocar.spatial import Array, checked_pose, pose, rotation_vector

PLATFORM, WRIST = 3, slice(3, 7)
PLATFORM_GAIN, PLATFORM_P, PLATFORM_D, PLATFORM_MOST = 0.5, 1.0, 0.1, 0.4  # [-, N m/rad, N m s/rad, N m]
PLATFORM_STEP = 0.05 * np.pi  # largest step of the platform's goal [rad]
GRIPPER_CLOSED = 0.0  # largest opening of a closed gripper [rad]
DEBOUNCE = 0.2  # time the gripper must stay closed or open before it is reported [s]; ASSUMED as for the pedals
CLOSE = 0.1  # largest distance of a solution from its seed that continues a stream of poses [rad]
DAMPING = 1e-4  # damping of the wrist's inverse kinematics


class MTMController(ArmController):
    """A master: in effort control its platform follows the hand, and its orientation can be locked.

    Attributes:
        platform_gain: gain of the platform's efforts, 0 (free) to 1.
    """

    MEMORY: ClassVar[tuple[str, ...]] = (
        *("_locked", "_wrist", "_impedance", "platform_gain"),
        *("_closed", "_reported", "_changed"),
    )

    def __init__(self, hardware: Hardware, interface: Interface) -> None:
        self._locked: Array | None = None  # orientation (3, 3) in the base
        self._wrist = np.zeros(4)
        self._impedance: ImpedanceGoal | None = None
        self.platform_gain = PLATFORM_GAIN
        super().__init__(hardware, interface)
        self._platform_limits = float(self.arm.lower[PLATFORM]), float(self.arm.upper[PLATFORM])
        self._wrist_step_most = PERIOD * np.array([joint.velocity for joint in self.arm.joints[WRIST]])
        self._wrist_limits = self.arm.lower[WRIST], self.arm.upper[WRIST]
        self._closed, self._reported, self._changed = False, False, 0.0
        self.bus.publish(f"{self.name}/gripper/closed", Bool(value=False))
        self.bus.publish(f"{self.name}/orientation_locked", Bool(value=False))

    def sources(self) -> dict[str, Callable[[], Message]]:
        return super().sources() | {"gripper/measured_js": self.gripper_js}

    def gripper_js(self) -> JointState:
        angle, ready = self.hardware.gripper, self.joints_ready
        return self.reports.joint_state(np.array([angle]), np.zeros(1), np.zeros(1), ("gripper",), valid=ready)

    def update(self) -> None:
        super().update()
        if not self.joints_ready:
            return
        closed = self.hardware.gripper <= GRIPPER_CLOSED
        if closed != self._closed:
            self._closed, self._changed = closed, self.hardware.loop.time
        if closed != self._reported and self.hardware.loop.time - self._changed > DEBOUNCE:
            self._reported = closed
            self.bus.publish(f"{self.name}/gripper/closed", Bool(value=bool(closed)))
            if closed:
                self.bus.publish(f"{self.name}/gripper/pinch", Empty())

    def lock_orientation(self, R: Array) -> None:
        """Lock an orientation (3, 3), in the frame of reference, while efforts are controlled in Cartesian space."""
        self.checked_pose("lock_orientation", pose(R=R) if np.shape(R) == (3, 3) else R)
        if self.ready("lock_orientation", CARTESIAN):
            if self._locked is None:
                self._wrist = self.hardware.q[WRIST].copy()
                self.bus.publish(f"{self.name}/orientation_locked", Bool(value=True))
            self._locked = self.reports.T_base_reference[:3, :3] @ R

    def unlock_orientation(self) -> None:
        self._locked = None
        self.bus.publish(f"{self.name}/orientation_locked", Bool(value=False))

    def enter(self, substate: str) -> None:
        self._unlock_and_forget()
        super().enter(substate)

    def switch(self, space: str, mode: str) -> bool:
        if (space, mode) != (CARTESIAN, EFFORT):
            self._unlock_and_forget()
        return super().switch(space, mode)

    def _unlock_and_forget(self) -> None:
        if self._locked is not None:
            self.unlock_orientation()
        self._impedance = None

    def control(self) -> None:
        super().control()
        if self._locked is not None and self.mode == EFFORT and self.space == CARTESIAN:
            self._hold_orientation(self._locked)

    def _hold_orientation(self, R: Array) -> None:
        """Turn the wrist's setpoint towards the locked orientation, at most as fast as a move.

        Solved in closed form for the measured position, while the platform moves to give the wrist room.
        """
        q = self.hardware.q.copy()
        q[WRIST] = self._wrist
        goal = self.tip.wrist(R, q, self._platform_goal(q))
        if goal is None:
            goal = self.tip.wrist(R, q, q[PLATFORM])
        step = self._wrist_step(R, q) if goal is None else goal - self._wrist
        # all joints by the same share, so that the wrist turns along one path
        step = step / max(1.0, *(np.abs(step) / self._wrist_step_most).tolist())
        wrist = np.minimum(np.maximum(self._wrist + step, self._wrist_limits[0]), self._wrist_limits[1])
        # the platform's motor also turns with the elbow
        dq = self.hardware.dq.copy()
        dq[WRIST] = (wrist - self._wrist) / PERIOD
        q[WRIST] = self._wrist = wrist
        self.hardware.track(q, dq, joints=WRIST)

    def _wrist_step(self, R: Array, q: Array) -> Array:
        """Step (4,) of joints 4 to 7 towards an orientation that is not reachable within limits."""
        T, _, spatial = self.tip.jacobians(q)
        J = spatial[3:, WRIST]
        return np.asarray(J.T @ np.linalg.solve(J @ J.T + DAMPING * np.eye(3), rotation_vector(R @ T[:3, :3].T)))

    def solve(self, local: Array, seed: Array) -> Array:
        """Solution closest to the seed, with the platform turned to give the wrist room.

        Closed form while following a stream of poses. A distant pose is solved in steps as on the robot, which
        share the rotation between platform and wrist; if they fail, by a search over the platform's angle.
        """
        start = seed.copy()
        start[PLATFORM] = self._platform_goal(seed)
        q = self.tip.at_platform(local, start[PLATFORM], seed)
        if q is not None and np.abs(q - start).max() < CLOSE:
            return q
        q = self.tip.nearby(local, start)
        return super().solve(local, seed) if q is None else q

    def _platform_goal(self, q: Array) -> float:
        """Angle of the platform that brings the wrist's yaw towards its middle [rad]."""
        platform, pitch, yaw = q[PLATFORM : PLATFORM + 3].tolist()
        step = min(PLATFORM_STEP, max(-PLATFORM_STEP, yaw * math.cos(pitch)))
        return min(self._platform_limits[1], max(self._platform_limits[0], platform + step))

    def servo_cf(self, frame: str, wrench: Array) -> None:
        super().servo_cf(frame, wrench)
        self._impedance = None

    def servo_ci(self, goal: ImpedanceGoal) -> None:
        """Follow a Cartesian impedance in the frame of reference."""
        for R in (goal.force_R, goal.torque_R):
            try:
                checked_pose(pose(R=R, p=goal.force_position))
            except (TrocarError, ValueError) as error:
                raise Refused(f"servo_ci, {error}") from None
        sides = (goal.position_positive, goal.position_negative, goal.orientation_positive, goal.orientation_negative)
        if not all(usable(x) for side in sides for x in (side.p, side.d, side.bias, side.deadband)):
            raise Refused(f"servo_ci, received a value that is not finite or beyond {MAX_VALUE:g}")
        if self.ready("servo_ci", CARTESIAN) and self.switch(CARTESIAN, EFFORT):
            self._impedance, self.absolute_wrenches = goal, True

    def commanded_effort(self) -> Array:
        if self.space == CARTESIAN and self._impedance is not None:
            self.wrench = "body", self._impedance_wrench(self._impedance)
        tau = super().commanded_effort()
        if self.space != CARTESIAN or self.wrench[0] != "body":
            return tau
        q, dq = self.hardware.q, self.hardware.dq
        goal = self._platform_goal(q)
        turn = self.platform_gain * (PLATFORM_P * (goal - float(q[PLATFORM])) - PLATFORM_D * float(dq[PLATFORM]))
        if tau is self.effort:
            tau = tau.copy()
        tau[PLATFORM] += min(PLATFORM_MOST, max(-PLATFORM_MOST, turn))
        return tau

    def _impedance_wrench(self, goal: ImpedanceGoal) -> Array:
        """Wrench (6,) in axes of the frame of reference."""
        local, body, _ = self.reports.jacobians()
        T = self.reports.T_reference_base @ local
        R = T[:3, :3]
        v = body @ self.hardware.dq
        offset, velocity = goal.force_R.T @ (T[:3, 3] - goal.force_position), goal.force_R.T @ R @ v[:3]
        turn, rate = goal.torque_R.T @ rotation_vector(R @ goal.torque_R.T), goal.torque_R.T @ R @ v[3:]
        force = _half_planes(offset, velocity, goal.position_positive, goal.position_negative)
        torque = _half_planes(turn, rate, goal.orientation_positive, goal.orientation_negative)
        return np.concatenate([goal.force_R @ force, goal.torque_R @ torque])


def _half_planes(error: Array, rate: Array, positive: HalfPlaneGains, negative: HalfPlaneGains) -> Array:
    """Effort (3,) per axis, with the gains of the side of the error; zero inside its deadband."""
    effort = np.zeros(3)
    for side, on in ((positive, error > positive.deadband), (negative, error < -negative.deadband)):
        effort += np.where(on, side.p * error + side.d * rate + side.bias, 0.0)
    return effort
