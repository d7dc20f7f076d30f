"""Joint trajectories of move commands: time-optimal within velocities and accelerations, joints synchronised."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from ruckig import InputParameter, Result, Ruckig, RuckigError, Trajectory

from trocar.arms import Arm
from trocar.errors import TrocarError
from trocar.robot.controller.memory import Remembering
from trocar.spatial import Array


class JointTrajectory(Remembering):
    """A motion to a goal; a new goal replaces it without a jump in position or velocity.

    Attributes:
        goal: (n,) [rad, m]. active: in motion. q, dq: (n,) the latest sample. ratio_v, ratio_a: shares of the
            largest velocities and accelerations.
    """

    MEMORY = ("goal", "q", "dq", "active", "ratio_v", "ratio_a", "_elapsed", "_path", "_acceleration_now")

    def __init__(self, arm: Arm) -> None:
        n, joints = arm.n, arm.joints
        self._velocity = np.array([joint.velocity for joint in joints])
        self._acceleration = np.array([joint.acceleration for joint in joints])
        self._generator, self._input, self._path = Ruckig(n), InputParameter(n), Trajectory(n)
        self._acceleration_now: Sequence[float] = [0.0] * n
        self.ratio_v = self.ratio_a = 1.0
        self.goal, self.q, self.dq = np.zeros(n), np.zeros(n), np.zeros(n)
        self.active = False
        self._elapsed = 0.0

    def start(self, q: Array, dq: Array, goal: Array) -> None:
        """Start from q (n,) with rates dq (n,) and end at rest at a goal (n,)."""
        motion, self._path = self._input, Trajectory(len(q))  # a new path: a snapshot may refer to the last one
        motion.max_velocity = (self.ratio_v * self._velocity).tolist()
        motion.max_acceleration = (self.ratio_a * self._acceleration).tolist()
        motion.current_position, motion.current_velocity = q.tolist(), dq.tolist()
        motion.current_acceleration = [0.0] * len(q)
        motion.target_position = goal.tolist()
        try:
            result = self._generator.calculate(motion, self._path)
        except ValueError:  # status -101, of a motion that is too long, has no name in ruckig's Python interface
            raise TrocarError("the motion takes too long at these ratios of velocity and acceleration") from None
        except RuckigError as error:
            raise TrocarError(f"error while evaluating trajectory: {str(error).splitlines()[-1][:200]}") from None
        if result not in (Result.Working, Result.Finished):
            raise TrocarError(f"error while evaluating trajectory: {result}")
        self.goal, self.q, self.dq = np.array(goal), np.array(q), np.array(dq)
        self.active, self._elapsed = True, 0.0

    def advance(self, period: float) -> bool:
        """Advance by one period; True when the goal is reached and the motion ends."""
        self._elapsed += period
        if self._elapsed >= self._path.duration:
            self.q, self.dq, self.active = self.goal.copy(), np.zeros(len(self.goal)), False
            return True
        q, dq, self._acceleration_now = self._path.at_time(self._elapsed)[:3]
        self.q, self.dq = np.array(q), np.array(dq)
        return False

    def stop(self) -> None:
        self.active = False

    @property
    def ddq(self) -> Array:
        """Accelerations (n,) of the latest sample; 0 unless in motion."""
        return np.array(self._acceleration_now) if self.active else np.zeros(len(self.goal))
