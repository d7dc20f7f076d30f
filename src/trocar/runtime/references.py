"""Smooth references within joint limits, from targets that may jump, for controllers."""

from __future__ import annotations

import numpy as np
from ruckig import InputParameter, OutputParameter, Result, Ruckig
from scipy.spatial.transform import Rotation

from trocar.arms import Arm
from trocar.control import Setpoint, TipMotion
from trocar.errors import TrocarError
from trocar.runtime.settings import TIMESTEP
from trocar.spatial import Array, rotation_vector

TIP_SPEED, TIP_TURN = 0.15, 2.0  # largest velocities of the tip reference [m/s, rad/s]
TIP_LAG = 0.08  # time constant with which the tip reference follows its target [s]
JERK_TIME = 0.05  # from rest to full acceleration of a joint reference [s]


class JointReference:
    """A joint trajectory to a target, time-optimal within velocity, acceleration and jerk limits."""

    def __init__(self, arm: Arm, q: Array, dq: Array) -> None:
        self._generator = Ruckig(arm.n, TIMESTEP)
        self._input, self._output = InputParameter(arm.n), OutputParameter(arm.n)
        acceleration = np.array([joint.acceleration for joint in arm.joints])
        velocity = np.array([joint.velocity for joint in arm.joints])
        self._input.max_velocity = velocity.tolist()
        self._input.max_acceleration = acceleration.tolist()
        self._input.max_jerk = (acceleration / JERK_TIME).tolist()
        self._input.current_position = q.tolist()
        self._input.current_velocity = np.clip(dq, -velocity, velocity).tolist()
        self._input.current_acceleration = [0.0] * arm.n
        self.aim(q)

    def aim(self, q: Array) -> None:
        """Set the target (n,) [rad, m]."""
        self.target = np.array(q)
        self._arrived: Setpoint | None = None
        self._input.target_position, self._input.target_velocity = q.tolist(), [0.0] * len(q)

    def advance(self) -> Setpoint:
        """Advance the reference by one timestep."""
        if self._arrived is not None:
            return self._arrived
        result = self._generator.update(self._input, self._output)
        if result not in (Result.Working, Result.Finished):
            raise TrocarError(f"no trajectory to the joint target was found: {result}")
        self._output.pass_to_input(self._input)
        o = self._output
        setpoint = Setpoint(np.array(o.new_position), np.array(o.new_velocity), np.array(o.new_acceleration))
        self._arrived = setpoint if result is Result.Finished else None
        return setpoint


class TipReference:
    """A tip trajectory to a target at limited speed, slowing down on arrival."""

    def __init__(self, T: Array) -> None:
        self.T, self.target = T.copy(), T.copy()

    def aim(self, T: Array) -> None:
        """Set the target (4, 4) in the base frame."""
        self.target = T.copy()

    def advance(self) -> TipMotion:
        """Advance the reference by one timestep; six-vectors in base axes."""
        v = _capped((self.target[:3, 3] - self.T[:3, 3]) / TIP_LAG, TIP_SPEED)
        w = _capped(rotation_vector(self.target[:3, :3] @ self.T[:3, :3].T) / TIP_LAG, TIP_TURN)
        self.T[:3, 3] += v * TIMESTEP
        self.T[:3, :3] = Rotation.from_rotvec(w * TIMESTEP).as_matrix() @ self.T[:3, :3]
        return TipMotion(self.T.copy(), np.concatenate([v, w]), np.zeros(6))


class EffortReference:
    """Efforts (n,) [N m, N], applied unchanged."""

    def __init__(self, tau: Array) -> None:
        self.aim(tau)

    def aim(self, tau: Array) -> None:
        self.target = np.array(tau)

    def advance(self) -> Array:
        return self.target


def _capped(v: Array, most: float) -> Array:
    length = float(np.linalg.norm(v))
    return v if length <= most else v * (most / length)
