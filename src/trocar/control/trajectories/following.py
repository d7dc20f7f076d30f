"""Joint motion along a path of the tip."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.control.controller import Setpoint
from trocar.control.trajectories.paths import CartesianPath
from trocar.control.trajectories.reference import NEAR_SINGULAR, Trajectory
from trocar.errors import NearLimit, NearSingular, Unreachable
from trocar.mechanics.arm_kinematics import ArmKinematics
from trocar.mechanics.singularities import singular_values
from trocar.spatial import Array, pose_error

TASK = 6  # degrees of freedom of a tip
HELD = 3  # joint held fixed on an arm with more than six: the MTM's wrist platform
JUMP = 0.05  # [rad, m] largest deviation of a joint over one interval from the prediction by its end velocities


class LeavesReach(Unreachable):
    """A path that the arm cannot follow. Attributes: time [s], reason."""

    def __init__(self, time: float, reason: str) -> None:
        self.time = time
        super().__init__((), reason)
        self.args = (f"the path cannot be followed at t = {time:.6g} s: {reason}",)


class Following(Trajectory):
    """Joint motion that carries the tip along a path; created by `through`.

    Attributes:
        path: path of the tip. times: (k,) [s] and via: (k, n) [rad, m]: joint positions along the followed branch.
    """

    def __init__(self, mechanism: ArmKinematics, path: CartesianPath, q_seed: ArrayLike | None, step: float) -> None:
        self.mechanism, self.path = mechanism, path
        m = mechanism.arm.tip_joints
        self._moving = [j for j in range(m) if not (m > TASK and j == HELD)]
        count = max(2, int(np.ceil(path.duration / step)) + 1)
        self.times = np.linspace(path.start, path.end, count)
        self.times.setflags(write=False)
        setpoints: list[Setpoint] = []
        for t in self.times:
            setpoints.append(self._next(float(t), q_seed, setpoints[-1] if setpoints else None))
        self.via = np.array([s.q for s in setpoints])
        self.via.setflags(write=False)
        self._warn_near_singular()
        self._bounded(path.start, path.duration, setpoints[0], setpoints[-1])

    def _at(self, elapsed: float) -> Setpoint:
        t = self.start + elapsed
        k = int(np.clip(np.searchsorted(self.times, t) - 1, 0, len(self.times) - 2))
        s = (t - self.times[k]) / (self.times[k + 1] - self.times[k])
        return self._setpoint(t, (1.0 - s) * self.via[k] + s * self.via[k + 1])

    def _next(self, t: float, q_seed: ArrayLike | None, last: Setpoint | None) -> Setpoint:
        """Follow the branch from one time to the next; raise an error if the solution jumps."""
        if last is None:
            q = self._solution(t, q_seed, first=True)
            return self._setpoint(t, q)
        setpoint = self._setpoint(t, last.q)
        interval = float(self.times[1] - self.times[0])
        off = np.abs(setpoint.q - last.q - interval / 2 * (setpoint.dq + last.dq))
        if off.max() > JUMP:
            j = int(off.argmax())
            joint = self.mechanism.arm.joints[j]
            raise LeavesReach(
                t,
                f"joint {j + 1} ({joint.name}) would jump from {last.q[j]:.6g} to {setpoint.q[j]:.6g}; "
                f"its limits are {joint.lower:g} and {joint.upper:g}. Near a singularity a slower path may help",
            )
        return setpoint

    def _setpoint(self, t: float, seed: Array) -> Setpoint:
        """q by inverse kinematics; J dq = twist and J ddq = acceleration - J' dq."""
        motion = self.path(t)
        q = self._solution(t, seed)
        dq, ddq = np.zeros(q.size), np.zeros(q.size)
        J = self.mechanism.jacobian(q)[:, self._moving]
        dq[self._moving] = self._rates(J, motion.twist, t, "velocity")
        drift = self.mechanism.jacobian_dot(q, dq)[:, self._moving] @ dq[self._moving]
        ddq[self._moving] = self._rates(J, motion.acceleration - drift, t, "acceleration")
        return Setpoint(q, dq, ddq)

    def _rates(self, J: Array, twist: Array, t: float, what: str) -> Array:
        rates, *_ = np.linalg.lstsq(J, twist, rcond=1e-12)
        left = float(np.abs(J @ rates - twist).max())
        if left > 1e-6 * max(1.0, float(np.abs(twist).max())):
            raise LeavesReach(t, f"{self.mechanism.arm.name} cannot produce the requested {what} here")
        return rates

    def _solution(self, t: float, seed: ArrayLike | None, first: bool = False) -> Array:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NearSingular)
            warnings.simplefilter("ignore", NearLimit)
            T = self.path(t).T
            if first or len(self._moving) == self.mechanism.arm.tip_joints:
                try:
                    return self.mechanism.inverse_kinematics(T, seed)
                except Unreachable as error:
                    raise LeavesReach(t, error.reason) from None
            return self._newton(t, T, np.array(seed, dtype=float))

    def _newton(self, t: float, T: Array, q: Array) -> Array:
        """Solution near q with the held joint fixed."""
        for _ in range(20):
            error = pose_error(T, self.mechanism.forward_kinematics(q))
            if np.abs(error).max() < 1e-13:
                break
            q = q.copy()
            q[self._moving] += np.linalg.lstsq(self.mechanism.jacobian(q)[:, self._moving], error, rcond=1e-12)[0]
            if np.abs(error).max() < 1e-9:  # convergence is quadratic, so the rest is rounding
                break
        else:
            name = self.mechanism.arm.joint_names[HELD]
            raise LeavesReach(t, f"no solution with joint {HELD + 1} ({name}) held at {q[HELD]:.6g}")
        if outside := self.mechanism.arm.violation(q):
            raise LeavesReach(t, outside)
        return q

    def _warn_near_singular(self) -> None:
        sigma = singular_values(self.mechanism, self.via)[..., -1]
        k = int(sigma.argmin())
        if sigma[k] < NEAR_SINGULAR:
            warnings.warn(
                f"the path passes near a singularity at t = {self.times[k]:.4g} s (smallest singular value "
                f"{sigma[k]:.2g}): joint rates grow without bound there",
                NearSingular,
                stacklevel=4,
            )


def through(
    mechanism: ArmKinematics, path: CartesianPath, q_seed: ArrayLike | None = None, *, step: float = 0.02
) -> Following:
    """Joint motion (a reference) that carries the tip along a path.

    Positions come from inverse kinematics, velocities and accelerations from J and its time derivative; all are exact
    at every time, not interpolated. The jaw keeps the seed's value. On the redundant MTM the wrist platform keeps the
    angle of the first solution. An ECM, with four joints, only follows poses on its manifold.

    Args:
        q_seed: (n,) seed of the first solution [rad, m]. Default: home. Every solution is the seed of the next.
        step: interval [s] at which the branch is followed in advance.

    Raises LeavesReach, with the time, if the path leaves the workspace or a joint limit. Warns NearSingular.
    """
    return Following(mechanism, path, q_seed, checks.positive("step", step))
