"""Commands and topics of the CRTK specification that the dVRK does not serve: velocities, differences, interpolation.

A velocity stays in force until the next command, like every servo command; the joint limits stop the motion.
`interpolate_*` is for clients that send goals at a low rate: positions are approached as in a move, velocities and
efforts within 0.1 s, and the arm is not busy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from trocar.robot import messages as m
from trocar.robot.controller.constants import CARTESIAN, EFFORT, INTERPOLATION, JOINT, PERIOD, POSITION, TRAJECTORY
from trocar.spatial import Array

if TYPE_CHECKING:
    from trocar.robot.controller.arm import ArmController

RAMP = 0.1  # ramp time of interpolated velocities and efforts [s]
NONE: tuple[str, Any] = ("", None)  # no goal of a servo command
LEAST_SINGULAR = 1e-3  # singular values of the Jacobian below this fraction of the largest count as 0


class Ramp:
    """Values (k,) that change linearly from a start to an end over some cycles; instantly for zero cycles."""

    def __init__(self, end: Array, start: Array | None = None) -> None:
        self.end, self._left = end, 0 if start is None else round(RAMP / PERIOD)
        self.now = end if start is None else start

    def advance(self) -> Array:
        """Values one cycle later."""
        if self._left:
            self.now = self.now + (self.end - self.now) / self._left
            self._left -= 1
        return self.now


class Extensions:
    """The part of an arm's controller that serves these commands.

    `rate` and `effort` are kinds of goals that the arm follows until another command replaces them.
    """

    def __init__(self, arm: ArmController) -> None:
        self._arm, self._hardware, self._n = arm, arm.hardware, arm.n_tip
        self._limits = np.array([joint.velocity for joint in arm.arm.joints[: arm.n_tip]])

    def handlers(self) -> dict[str, Callable[[Any], None]]:
        """Handlers by command."""
        return {
            "servo_jv": lambda m: self._set_rate("servo_jv", JOINT, m.velocity),
            "servo_cv": lambda m: self._set_rate("servo_cv", CARTESIAN, m.vector),
            "servo_cr": lambda m: self.servo_cr(m.T),
            "move_cr": lambda m: self._set_out_by("move_cr", m.T, TRAJECTORY),
            "interpolate_jp": lambda m: self.interpolate_jp(m.position),
            "interpolate_jr": lambda m: self.interpolate_jr(m.position),
            "interpolate_cp": lambda m: self._set_out("interpolate_cp", m.T, INTERPOLATION),
            "interpolate_cr": lambda m: self._set_out_by("interpolate_cr", m.T, INTERPOLATION),
            "interpolate_jv": lambda m: self._set_rate("interpolate_jv", JOINT, m.velocity),
            "interpolate_cv": lambda m: self._set_rate("interpolate_cv", CARTESIAN, m.vector),
            "interpolate_jf": lambda m: self.interpolate_jf(m.effort),
            "interpolate_cf": lambda m: self.interpolate_cf(m.vector),
        }

    def sources(self) -> dict[str, Callable[[], m.Message]]:
        """Sources of the state topics."""
        return {"goal_js": self.goal_js, "goal_cp": self.goal_cp, "goal_cv": self.goal_cv}

    # -- positions -----------------------------------------------------------------------------------------------------

    def servo_cr(self, difference: Array) -> None:
        """Follow the setpoint displaced by `difference` (4, 4), in axes of the frame of reference."""
        arm, dT = self._arm, self._arm.checked_pose("servo_cr", difference)
        if arm.ready("servo_cr", CARTESIAN) and arm.switch(CARTESIAN, POSITION):
            goal = arm.goal
            waits = goal is not None and goal[0] == "tip" and goal[1][0] is not None
            T = goal[1][0] if waits and goal is not None else self._pose(arm.hardware.setpoint())
            arm.goal = "tip", (_displaced(T, dT), None, None)

    def interpolate_jp(self, positions: Array) -> None:
        arm, q = self._arm, self._arm.checked("interpolate_jp", positions)
        if arm.ready("interpolate_jp") and arm.switch(JOINT, INTERPOLATION):
            arm.begin_move(arm.padded(q, self._joint_goal()), busy=False)

    def interpolate_jr(self, difference: Array) -> None:
        arm, dq = self._arm, self._arm.checked("interpolate_jr", difference)
        if arm.ready("interpolate_jr") and arm.switch(JOINT, INTERPOLATION):
            arm.begin_move(self._joint_goal() + arm.padded(dq, np.zeros(arm.n)), busy=False)

    def _set_out(self, command: str, T: Array, mode: str) -> None:
        """Approach a pose (4, 4) in the frame of reference; stay in place if it is unreachable."""
        arm, T = self._arm, self._arm.checked_pose(command, T)
        if arm.ready(command, CARTESIAN) and arm.switch(CARTESIAN, mode):
            arm.approach(T, busy=mode == TRAJECTORY)

    def _set_out_by(self, command: str, difference: Array, mode: str) -> None:
        """Like `_set_out`, by a difference from the current goal, or from the setpoint."""
        arm, dT = self._arm, self._arm.checked_pose(command, difference)
        if arm.ready(command, CARTESIAN) and arm.switch(CARTESIAN, mode):
            arm.approach(_displaced(self._pose(self._joint_goal()), dT), busy=mode == TRAJECTORY)

    # -- velocities ----------------------------------------------------------------------------------------------------

    def _set_rate(self, command: str, space: str, values: Array) -> None:
        """Move with joint velocities, or with a tip twist (6,) in axes of the frame of reference."""
        arm = self._arm
        v = arm.checked(command, values) if space == JOINT else arm.checked_vector(command, values)
        before = arm.goal[1] if arm.goal is not None and arm.goal[0] == "rate" else None
        if arm.ready(command, space) and arm.switch(space, POSITION):
            start = before[1].now if before is not None and before[0] == space else np.zeros(len(v))
            arm.goal = "rate", (space, Ramp(v, start if command.startswith("interpolate") else None))

    def follow(self, kind: str, goal: Any) -> None:
        """One cycle of a velocity or of an effort that changes."""
        arm = self._arm
        space, ramp = goal
        if kind == "effort":
            if space == JOINT:
                arm.effort = arm.padded(ramp.advance(), arm.effort)
            else:
                arm.wrench = "body", ramp.advance()
        else:
            q = self._hardware.setpoint()
            v = ramp.advance()
            dq = np.clip(v, -self._limits, self._limits) if space == JOINT else self._joint_rates(q[: self._n], v)
            goal_q = arm.clipped(q + PERIOD * arm.padded(dq, np.zeros(arm.n)))
            arm.follow("joints", (goal_q, (goal_q - q) / PERIOD))  # at a limit the velocity is 0
        arm.goal = kind, goal

    def _joint_rates(self, q: Array, twist: Array) -> Array:
        """Joint rates (n,) of a tip twist, slowed down if a joint would exceed its velocity limit."""
        local, body, _ = self._arm.tip.jacobians(q)
        R = self._arm.reports.T_reference_base[:3, :3] @ local[:3, :3]
        v = np.concatenate([R.T @ twist[:3], R.T @ twist[3:]])
        dq: Array = np.linalg.pinv(body, rcond=LEAST_SINGULAR) @ v
        return dq / max(1.0, float(np.max(np.abs(dq) / self._limits)))

    # -- efforts -------------------------------------------------------------------------------------------------------

    def interpolate_jf(self, efforts: Array) -> None:
        arm, tau = self._arm, self._arm.checked("interpolate_jf", efforts)
        acts = (arm.space, arm.mode) == (JOINT, EFFORT)
        if arm.ready("interpolate_jf") and arm.switch(JOINT, EFFORT):
            start = arm.effort[: self._n] if acts else np.zeros(self._n)
            arm.goal = "effort", (JOINT, Ramp(tau, start))

    def interpolate_cf(self, wrench: Array) -> None:
        """As `body/servo_cf`."""
        arm, w = self._arm, self._arm.checked_vector("interpolate_cf", wrench)
        acts = (arm.space, arm.mode, arm.wrench[0]) == (CARTESIAN, EFFORT, "body")
        start = arm.wrench[1] if acts else np.zeros(6)
        arm.servo_cf("body", start, "interpolate_cf")
        if (arm.space, arm.mode) == (CARTESIAN, EFFORT):
            arm.goal = "effort", (CARTESIAN, Ramp(w, start))

    # -- goals ---------------------------------------------------------------------------------------------------------

    def goal_js(self) -> m.JointState:
        """Joints at the end of the current motion; for a servo command, its own."""
        arm, n = self._arm, self._n
        names = arm.arm.joint_names[:n]
        if not arm.joints_ready:
            return arm.reports.joint_state(np.zeros(n), np.zeros(n), np.zeros(n), names, valid=False)
        dq, tau = np.zeros(n), np.zeros(n)
        kind, goal = arm.goal or NONE
        if kind == "rate" and goal[0] == JOINT:
            dq = goal[1].end
        if arm.mode == EFFORT and arm.space == JOINT:
            tau = goal[1].end if kind == "effort" else arm.effort[:n]
        return arm.reports.joint_state(self._joint_goal()[:n], dq, tau, names)

    def goal_cp(self) -> m.Pose:
        """Pose of the tip at the joints of `goal_js`."""
        arm = self._arm
        frame = arm.reports.base_frame()[1]
        if not arm.tip_ready:
            return m.Pose(T=np.eye(4), frame_id=frame)
        return m.Pose(T=self._pose(self._joint_goal()), frame_id=frame, stamp=self._hardware.stamp)

    def goal_cv(self) -> m.Twist:
        """Twist commanded by `servo_cv` or `interpolate_cv`; 0 otherwise."""
        arm = self._arm
        kind, goal = arm.goal or NONE
        v = goal[1].end if kind == "rate" and goal[0] == CARTESIAN else np.zeros(6)
        stamp = self._hardware.stamp if arm.tip_ready else 0
        return m.Twist(vector=v, frame_id=arm.reports.base_frame()[1], stamp=stamp)

    def _joint_goal(self) -> Array:
        return self._arm.trajectory.goal if self._arm.trajectory.active else self._hardware.setpoint()

    def _pose(self, q: Array) -> Array:
        """Pose (4, 4) of the tip in the frame of reference."""
        return self._arm.reports.T_reference_base @ self._arm.tip.pose(q[: self._n])


def _displaced(T: Array, difference: Array) -> Array:
    """A pose translated and rotated about its own origin, both in the axes in which it is given."""
    moved = T.copy()
    moved[:3, :3] = difference[:3, :3] @ T[:3, :3]
    moved[:3, 3] += difference[:3, 3]
    return moved
