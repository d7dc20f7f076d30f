"""Kinematics of the set-up joints of one arm: position of its remote centre, and the inverse problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trocar.arms.suj import SetUpArm
from trocar.errors import TrocarError, Unreachable
from trocar.mechanics.arm_kinematics import batch_first, batch_last
from trocar.mechanics.bounded_least_squares import bounded_least_squares
from trocar.mechanics.kinematics import Motion, Tree
from trocar.spatial import Array

UP = np.array([0.0, 0.0, 1.0])  # in the world
STARTS = 256  # number of other starts, used if the descent from the current pose gets stuck
ITERATIONS = 100
SETTLED = 1e-12  # residual [m, rad] at which a descent stops


@dataclass(frozen=True)
class Placement:
    """Set-up joints that place a remote centre at a target.

    Attributes:
        arm: PSM1, PSM2, PSM3 or ECM. q_setup: (n,) [m, rad], for `Cart.moved`.
        T_world_base: (4, 4), base (RCM) frame of the arm in the world.
        position_error: distance of the RCM from the target [m].
        direction_error: angle of the shaft from the target [rad]; 0 if no direction was requested.
    """

    arm: str
    q_setup: Array
    T_world_base: Array
    position_error: float
    direction_error: float


class SetUpChain:
    """Kinematics of the set-up joints of one arm, in the world of the cart.

    The shaft of an arm is the insertion direction of its instrument or endoscope at q = 0: -z of its base.
    """

    def __init__(self, facts: SetUpArm) -> None:
        self.facts = facts
        self._tree = Tree(facts.bodies, facts.joint_names)

    def T_world_base(self, q_setup: Array) -> Array:
        """Base (RCM) frame (..., 4, 4) of the arm in the world, for checked joints (..., n)."""
        return self._pose(self._tree.motion(batch_last(q_setup)), -1, self.facts.T_last_base, q_setup)

    def base_and_jacobian(self, q_setup: Array) -> tuple[Array, Array]:
        """`T_world_base` of joints (N, n), and its Jacobian (N, 6, n), linear rows first, world axes."""
        motion, T_last_base = self._tree.motion(batch_last(q_setup)), self.facts.T_last_base
        J = batch_first(self._tree.jacobian(motion, len(self.facts.bodies) - 1, T_last_base), q_setup.shape[:-1])
        R = self.facts.T_world_column[:3, :3]
        J = np.concatenate([R @ J[..., :3, :], R @ J[..., 3:, :]], axis=-2)
        return self._pose(motion, -1, T_last_base, q_setup), J

    def poses(self, q_setup: Array) -> dict[str, Array]:
        """Frame (4, 4) of every joint in the world, named after it, and of the arm's base ("base")."""
        motion = self._tree.motion(batch_last(q_setup))
        poses = {name: self._pose(motion, i, np.eye(4), q_setup) for i, name in enumerate(self.facts.joint_names)}
        return {**poses, "base": self.T_world_base(q_setup)}

    def fixed_tilt(self) -> float | None:
        """Angle [rad] between the shaft and straight down that no set-up joint changes; None if one does."""
        q = np.array(self.facts.q_simulated)
        axes = [T[:3, 2] for name, T in self.poses(q).items() if name != "base"]
        if any(abs(axis[2]) < 1.0 - 1e-12 for axis in axes):
            return None
        return float(_angle(_shaft(self.T_world_base(q)), -UP))

    def checked(self, q_setup: ArrayLike) -> Array:
        """Joint values (n,) as a read-only array; errors name the joint."""
        facts = self.facts
        names = ", ".join(facts.joint_names)
        try:
            q = np.array(q_setup, dtype=float)
        except (TypeError, ValueError):
            raise TrocarError(f"set-up joints of {facts.name} must be {facts.n} numbers ({names})") from None
        if q.shape != (facts.n,):
            more = "; omit the fixed joints that the dVRK lists as 0" if q.ndim == 1 and q.size > facts.n else ""
            raise TrocarError(f"{facts.name} has {facts.n} set-up joints ({names}), got shape {q.shape}{more}")
        for i, (joint, value) in enumerate(zip(facts.joints, q, strict=True)):
            if not np.isfinite(value):
                raise TrocarError(f"set-up joint {i + 1} ({joint.name}) of {facts.name} is {value}")
        facts.check_within_limits(q, f"set-up of {facts.name}")
        q.setflags(write=False)
        return q

    def placement(
        self,
        q_start: Array,
        rcm: Array,
        shaft: Array | None,
        position_tolerance: float,
        direction_tolerance: float,
    ) -> Placement:
        """Joints within limits that place the RCM at `rcm` [m] with the shaft along the unit vector `shaft`."""
        tilt = self.fixed_tilt()
        if shaft is not None and tilt is not None:
            asked = float(_angle(shaft, -UP))
            if abs(asked - tilt) > direction_tolerance:
                raise Unreachable(
                    (),
                    f"the set-up joints of {self.facts.name} turn about vertical axes only, so its shaft stays "
                    f"{np.degrees(tilt):.4g} deg from straight down ({np.degrees(asked):.4g} requested): "
                    "they set its heading, not its tilt",
                )
        nearest = self._nearest(q_start, rcm, shaft, position_tolerance, direction_tolerance)
        if nearest.position_error > position_tolerance or nearest.direction_error > direction_tolerance:
            raise Unreachable((), self._reason(nearest, shaft is not None))
        return nearest

    def _nearest(
        self, q_start: Array, rcm: Array, shaft: Array | None, position_tolerance: float, direction_tolerance: float
    ) -> Placement:
        """Solution from the current pose if it converges, else the nearest converged one, else the best."""
        facts = self.facts

        def residual(q: Array, _: Array) -> tuple[Array, Array]:
            T, J = self.base_and_jacobian(q)
            if shaft is None:
                return T[..., :3, 3] - rcm, J[..., :3, :]
            d = _shaft(T)
            turned = np.cross(np.swapaxes(J[..., 3:, :], -1, -2), d[..., None, :])  # w x d of every joint
            r = np.concatenate([T[..., :3, 3] - rcm, d - shaft], axis=-1)
            return r, np.concatenate([J[..., :3, :], np.swapaxes(turned, -1, -2)], axis=-2)

        start = np.clip(q_start, facts.lower, facts.upper)
        others = np.random.default_rng(0).uniform(facts.lower, facts.upper, (STARTS, facts.n))
        best: Placement | None = None
        for starts in (start[None], others):
            q, _ = bounded_least_squares(residual, starts, facts.lower, facts.upper, SETTLED, ITERATIONS)
            T = self.T_world_base(q)
            position = np.linalg.norm(T[:, :3, 3] - rcm, axis=-1)
            direction = np.zeros(len(q)) if shaft is None else _angle(_shaft(T), shaft)
            there = (position <= position_tolerance) & (direction <= direction_tolerance)
            cost = np.linalg.norm(q - q_start, axis=-1) if there.any() else np.hypot(position, direction)
            i = int(np.where(there, cost, np.inf).argmin() if there.any() else cost.argmin())
            candidate = Placement(facts.name, q[i], T[i], float(position[i]), float(direction[i]))
            if there.any():
                return candidate
            if best is None or cost[i] < np.hypot(best.position_error, best.direction_error):
                best = candidate
        assert best is not None
        return best

    def _reason(self, nearest: Placement, directed: bool) -> str:
        left = f"{1e3 * nearest.position_error:.3g} mm"
        if directed:
            left += f" and {np.degrees(nearest.direction_error):.3g} deg"
        q, facts = nearest.q_setup, self.facts
        stops = [j.name for j, x, y in zip(facts.joints, q - facts.lower, facts.upper - q, strict=True) if x * y <= 0.0]
        at = f", with {' and '.join(stops)} at the limit" if stops else ""
        return f"no set-up joints of {facts.name} were found with an error below {left}{at}"

    def _pose(self, motion: Motion, body: int, T_body_frame: Array, q_setup: Array) -> Array:
        T = self.facts.T_world_column @ self._tree.frame(motion, body, T_body_frame)
        return T.reshape(q_setup.shape[:-1] + (4, 4))


def _shaft(T_world_base: Array) -> Array:
    return np.asarray(-T_world_base[..., :3, 2])


def _angle(a: Array, b: Array) -> Array:
    """Angle (...) between unit vectors [rad], accurate near 0 and pi."""
    return np.asarray(2.0 * np.arctan2(np.linalg.norm(a - b, axis=-1), np.linalg.norm(a + b, axis=-1)))
