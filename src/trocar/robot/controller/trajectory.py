"""Joint trajectories of move commands: time-optimal within velocities and accelerations, joints synchronised."""

from __future__ import annotations

import numpy as np
from ruckig import InputParameter, Result, Ruckig, RuckigError, Trajectory

from trocar.errors import TrocarError
from trocar.spatial import Array


class JointTrajectory:
    """A motion to a goal; a new goal replaces it without a jump in position or velocity.

    Attributes:
        goal: (n,) [rad, m]. active: in motion. q, dq: (n,) the latest sample.
    """

    def __init__(self, velocity: Array, acceleration: Array) -> None:
        n = len(velocity)
        self._velocity, self._acceleration = velocity, acceleration
        self._generator, self._input, self._path = Ruckig(n), InputParameter(n), Trajectory(n)
        self.ratio_v = self.ratio_a = 1.0
        self.goal, self.q, self.dq = np.zeros(n), np.zeros(n), np.zeros(n)
        self.active = False
        self._elapsed = 0.0

    def start(self, q: Array, dq: Array, goal: Array) -> None:
        """Start from q (n,) with rates dq (n,) and end at rest at a goal (n,)."""
        given = self._input
        given.max_velocity = (self.ratio_v * self._velocity).tolist()
        given.max_acceleration = (self.ratio_a * self._acceleration).tolist()
        given.current_position, given.current_velocity = q.tolist(), dq.tolist()
        given.current_acceleration = [0.0] * len(q)
        given.target_position = goal.tolist()
        try:
            result = self._generator.calculate(given, self._path)
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
        q, dq, _ = self._path.at_time(self._elapsed)[:3]
        self.q, self.dq = np.array(q), np.array(dq)
        return False

    def stop(self) -> None:
        self.active = False
