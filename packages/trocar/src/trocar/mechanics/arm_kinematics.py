"""Kinematics of one arm in its independent joints: poses, Jacobians, inverse kinematics, loops and the RCM."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.arms import Arm
from trocar.arms.arm import shift
from trocar.errors import TrocarError, Unreachable, check_known, shown
from trocar.mechanics import inverse_kinematics as ik
from trocar.mechanics.inverse_kinematics import one_pose
from trocar.mechanics.kinematics import Motion, Tree, Variant
from trocar.spatial import Array, checked_pose

if TYPE_CHECKING:
    from trocar.mechanics.pinocchio_tree import PinocchioChain

FLOAT = np.dtype(float)
MAX_SQUARE = checks.MAX_STATE**2


class ArmKinematics:
    """Kinematics of an arm. SI units, radians, base axes; arguments may have leading batch axes.

    Attributes:
        arm: data of the arm. links: motion and Jacobians of every body of the tree.
        n: number of independent joints (7 PSM and MTM, 4 ECM).
    """

    def __init__(self, arm: Arm) -> None:
        self.arm, self.n = arm, arm.n
        self._serial = Tree(arm.serial, arm.joint_names)
        self.links = Tree(arm.bodies, arm.joint_names)
        self._one_pose, self._at_platform = one_pose.solver(arm), one_pose.platform_solver(arm)

    @property
    def frames(self) -> tuple[str, ...]:
        """Frames accepted by `pose` and `jacobian`: base, tip, rcm (not MTM) and every body."""
        return ("base", "tip", *(("rcm",) if self.arm.has_rcm else ()), *self.links.names)

    def tree_configuration(self, q: ArrayLike) -> Array:
        """Joint values (..., bodies) of every link, `E q` [rad, m]."""
        return self.checked_state(q) @ self.arm.E.T

    @cached_property
    def _chain(self) -> PinocchioChain:
        from trocar.mechanics.pinocchio_tree import PinocchioChain  # here, because batches do without Pinocchio

        return PinocchioChain(self.arm, self._serial.E)

    def forward_kinematics(self, q: ArrayLike) -> Array:
        """Tip pose (..., 4, 4) in the base, by the dVRK's serial table. The jaw does not move the tip."""
        q = self.checked_state(q)
        if q.ndim == 1:
            return self._chain.pose(q)
        T = self._serial.frame(self._serial.motion(batch_last(q)), len(self.arm.serial) - 1, self.arm.T_last_tip)
        return T.reshape(q.shape[:-1] + (4, 4))

    def pose(self, q: ArrayLike, frame: str = "tip") -> Array:
        """Pose (..., 4, 4) in the base of a frame of the mechanism; "tip" through the closed chain."""
        q = self.checked_state(q)
        body, _ = self._frame(frame)
        only = [] if body is None else self.links.path(body)
        return self._pose(self.links.motion(batch_last(q), only=only), frame, q.shape[:-1])

    def poses(self, q: ArrayLike) -> dict[str, Array]:
        """Poses (..., 4, 4) in the base of every frame at once."""
        q = self.checked_state(q)
        motion = self.links.motion(batch_last(q))
        return {name: self._pose(motion, name, q.shape[:-1]) for name in self.frames}

    def _pose(self, motion: Motion, frame: str, batch: tuple[int, ...]) -> Array:
        body, T = self._frame(frame)
        if body is None:
            return np.broadcast_to(T, batch + (4, 4)).copy()
        return self.links.frame(motion, body, T).reshape(batch + (4, 4))

    def jacobian(self, q: ArrayLike, frame: str = "tip", variant: Variant = "base") -> Array:
        """Jacobian of a frame, linear rows first [m, rad per joint unit].

        "tip": (..., 6, m), m = 6 for a PSM (without the jaw), 4 for an ECM, 7 for an MTM. Other frames:
        (..., 6, n). variant: "base" (frame origin, base axes), "body" (frame axes) or "spatial" (base origin, base
        axes).
        """
        q = self.checked_state(q)
        if q.ndim == 1 and frame == "tip" and variant == "base":
            return self._chain.jacobian(q)
        return self._jacobian(q, None, frame, variant)

    def pose_and_jacobian(self, q: ArrayLike) -> tuple[Array, Array]:
        """`forward_kinematics` and the tip's `jacobian` of one state (n,) at once, for control loops."""
        return self._chain.pose_and_jacobian(self.checked_joints(q))

    def jacobian_dot(self, q: ArrayLike, dq: ArrayLike, frame: str = "tip", variant: Variant = "base") -> Array:
        """Exact time derivative of `jacobian` along joint rates dq [rad/s, m/s]."""
        q, dq = self.checked_states(q=q, dq=dq)
        if q.ndim == 1 and frame == "tip" and variant == "base":
            return self._chain.jacobian_dot(q, dq)
        return self._jacobian(q, dq, frame, variant)

    def _jacobian(self, q: Array, dq: Array | None, frame: str, variant: Variant) -> Array:
        tree, (body, T) = self.links, self._frame(frame)
        if frame == "tip":
            tree, body, T = self._serial, len(self.arm.serial) - 1, self.arm.T_last_tip
        if body is None:
            raise TrocarError(f"frame '{frame}' is fixed to the base and has no Jacobian")
        rates = None if dq is None else batch_last(dq)
        motion = tree.motion(batch_last(q), rates, only=tree.path(body))
        J = batch_first(tree.jacobian(motion, body, T, variant, rate=dq is not None), q.shape[:-1])
        return J[..., : self.arm.tip_joints] if frame == "tip" else J

    def manipulability(self, q: ArrayLike) -> Array:
        """Yoshikawa's measure (...) of the tip Jacobian scaled by 0.1 m, without units; 0 at a singularity.

        `trocar.mechanics.singularities` has other lengths, singular values and the distance to each singular set.
        """
        from trocar.mechanics.singularities import manipulability  # imported here: that module imports this class

        return manipulability(self, q)

    def effort_of_tip_force(self, q: ArrayLike, force: ArrayLike) -> Array:
        """Joint efforts (..., n) [N m, N] equivalent to a force at the tip, J' f.

        The motors add this effort to exert the force f on the environment; an external force f on the tip has the same
        effect on the joints. force: (..., 3) [N] or, with a moment, (..., 6) [N, N m], in base axes. The jaw gets 0.
        """
        J = self.jacobian(q)
        f = checks.real_array("force", force, " of shape (..., 3) or (..., 6)")
        if f.ndim == 0 or f.shape[-1] not in (3, 6) or not np.isfinite(f).all():
            raise TrocarError(f"force must be finite numbers of shape (..., 3) or (..., 6), got {shown(f)}")
        try:
            tau = (np.swapaxes(J[..., : f.shape[-1], :], -1, -2) @ f[..., None])[..., 0]
        except ValueError:
            raise TrocarError(f"batch axes do not fit together: q {np.shape(q)}, force {f.shape}") from None
        return np.concatenate([tau, np.zeros((*tau.shape[:-1], self.n - tau.shape[-1]))], axis=-1)

    def inverse_kinematics(self, T: ArrayLike, q_seed: ArrayLike | None = None) -> Array:
        """Joints (..., n) within limits that place the tip at T (..., 4, 4), nearest to the seed.

        Uses the closed form if the arm's structure has one; otherwise damped least squares, from the seed first
        and then from starts spread over the limits, to 1e-9 m and 1e-8 rad. For instruments with a snake wrist one
        start is the closed form of a wrist without length (give a seed if the wrist is within 1 cm of the port). The
        default seed is the home position with the jaw at 0; the jaw is copied from the seed. For the redundant MTM,
        nearest means the least sum of squared joint differences over its one-parameter family.

        Raises Unreachable (with index and reason), also if an ECM orientation is more than 1e-6 rad off its manifold.
        Warns NearSingular and NearLimit.
        """
        T = checked_pose(T)
        if T.ndim == 2 and self._one_pose is not None:
            seeds = self._seeds(q_seed, ())
            if len(seeds) == 1 and (q := self._one_pose(T, seeds[0])) is not None:
                return q
        return self._solved(ik.nearest, T, q_seed)

    def inverse_kinematics_at_platform(self, T: ArrayLike, platform: float, q_seed: ArrayLike | None = None) -> Array:
        """Joints (7,) of an MTM for one pose T (4, 4) with the wrist platform at an angle [rad], nearest to the seed.

        Uses the closed form. Default seed: the home position. Raises Unreachable if no joints within limits, or only
        singular ones, give the pose at this angle; `inverse_kinematics` searches for the angle.
        """
        T, arm = checked_pose(T), self.arm
        if self._at_platform is None:
            raise TrocarError(f"{arm.name} has no wrist platform; use inverse_kinematics")
        if T.ndim != 2:
            raise TrocarError(f"inverse_kinematics_at_platform takes one pose (4, 4), got shape {T.shape}")
        if not np.isfinite(platform):
            raise TrocarError(f"platform must be a finite angle [rad], got {platform}")
        seeds = self._seeds(q_seed, ())
        if len(seeds) != 1:
            raise TrocarError(f"inverse_kinematics_at_platform takes one seed ({self.n},), got {len(seeds)}")
        q = self._at_platform(T, float(platform), seeds[0])
        if q is None:
            raise Unreachable((), f"no joints within limits reach it with the platform at {platform:.3f} rad")
        return q

    def inverse_kinematics_all(self, T: ArrayLike, q_seed: ArrayLike | None = None) -> list[Array]:
        """Every solution (n,) within limits of one pose T (4, 4), nearest to the seed (or home) first.

        Empty if unreachable. An MTM has one per branch, with its redundancy resolved towards the seed.
        """
        T = checked_pose(T)
        if T.ndim != 2:
            raise TrocarError(f"inverse_kinematics_all takes one pose (4, 4), got shape {T.shape}")
        return ik.all_branches(self.arm, T, self._seeds(q_seed, ())[0])

    def inverse_kinematics_numeric(self, T: ArrayLike, q_seed: ArrayLike) -> Array:
        """Like `inverse_kinematics`, by damped least squares from the seed only: for any arm, but local and slower.

        Raises Unreachable with the remaining error if it does not converge.
        """
        return self._solved(ik.nearest_by_descent, T, q_seed)

    def _solved(self, solve: Callable[..., Array], T: ArrayLike, q_seed: ArrayLike | None) -> Array:
        T = checked_pose(T)
        batch = T.shape[:-2]
        q = solve(self.arm, T.reshape(-1, 4, 4), self._seeds(q_seed, batch), batch)
        return q.reshape(batch + (self.n,))

    def loop_residual(self, q: ArrayLike) -> Array:
        """Gap (..., loops) of every parallelogram closure when all links follow `E q` [m]."""
        q = self.checked_state(q)
        motion = self.links.motion(batch_last(q))

        def place(body: str, point: tuple[float, float, float]) -> Array:
            return self.links.pose(motion, self.links.index(body), shift(*point))[1]

        gaps = [place(loop.body_a, loop.point_a) - place(loop.body_b, loop.point_b) for loop in self.arm.loops]
        return batch_first(np.linalg.norm(np.reshape(gaps, (len(gaps), 3, motion.count)), axis=1), q.shape[:-1])

    def rcm_residual(self, q: ArrayLike) -> Array:
        """Distance (...) of the insertion axis of the closed chain from the remote centre of motion [m]."""
        if not self.arm.has_rcm:
            raise TrocarError(f"{self.arm.name} has no remote centre of motion")
        T = self.pose(q, "insertion")
        return np.linalg.norm(np.cross(T[..., :3, 2], T[..., :3, 3]), axis=-1)

    def _seeds(self, q_seed: ArrayLike | None, batch: tuple[int, ...]) -> Array:
        """Seeds (N, n), one per pose. Default: the home position with the jaw at 0."""
        seed = ik.default_seed(self.arm) if q_seed is None else self.checked_state(q_seed, "q_seed")
        if not batch and seed.ndim == 1 and seed.dot(seed) < checks.MAX_FIELD**2:
            return seed[None]
        self._check_size(seed, "q_seed", checks.MAX_FIELD)
        try:
            return np.broadcast_to(seed, batch + (self.n,)).reshape(-1, self.n)
        except ValueError:
            raise TrocarError(f"q_seed of shape {seed.shape} does not fit poses of shape {(*batch, 4, 4)}") from None

    def _frame(self, frame: str) -> tuple[int | None, Array]:
        """Body index (None: the base) and pose in that body of a frame of the mechanism."""
        check_known(f"frame of {self.arm.name}", self.frames, frame)
        if frame in ("base", "rcm"):
            return None, np.eye(4)
        if frame == "tip":
            return self.links.index(self.arm.tip_body), self.arm.T_body_tip
        return self.links.index(frame), np.eye(4)

    def checked_states(self, **values: ArrayLike) -> tuple[Array, ...]:
        """Named states, checked and broadcast to a common batch shape."""
        checked = {name: self.checked_state(value, name) for name, value in values.items()}
        if all(value.ndim == 1 for value in checked.values()):
            return tuple(checked.values())
        try:
            return tuple(np.broadcast_arrays(*checked.values()))
        except ValueError:
            shapes = ", ".join(f"{name} {value.shape}" for name, value in checked.items())
            raise TrocarError(f"batch axes do not fit together: {shapes}") from None

    def checked_state(self, q: ArrayLike, what: str = "q") -> Array:
        """q as finite numbers (..., n); errors name joint and row."""
        # fast path for control loops: one state in a plain array needs no conversion
        if type(q) is np.ndarray and q.dtype is FLOAT and q.shape == (self.n,) and q.dot(q) < MAX_SQUARE:
            return q
        q = checks.real_array(what, q, f" of shape (..., {self.n})")
        if q.ndim == 0 or q.shape[-1] != self.n:
            names = ", ".join(self.arm.joint_names)
            raise TrocarError(f"{what} of {self.arm.name} has {self.n} values ({names}), got shape {q.shape}")
        self._check_size(q, what, checks.MAX_STATE)
        return q

    def checked_joints(self, q: ArrayLike, what: str = "q") -> Array:
        """q as finite numbers (n,), one state; errors name joint and row."""
        q = self.checked_state(q, what)
        if q.ndim != 1:
            raise TrocarError(f"{what} of {self.arm.name} must be one state ({self.n},), got shape {q.shape}")
        return q

    def _check_size(self, q: Array, what: str, largest: float) -> None:
        """Raise an error that names row and joint if a value is not finite or too large for useful results."""
        fine = np.abs(q) < largest  # False for NaN
        if fine.all():
            return
        index = tuple(int(i) for i in np.argwhere(~fine)[0])
        where = f" of row {index[0] if len(index) == 2 else index[:-1]}" if q.ndim > 1 else ""
        allowed = f"; values below {largest:g} are allowed" if np.isfinite(q[index]) else ""
        joint = self.arm.joint_names[index[-1]]
        raise TrocarError(f"{what}{where} is {q[index]} at joint {index[-1] + 1} ({joint}){allowed}")


def batch_last(q: Array) -> Array:
    """(..., n) as (n, N): the layout of `kinematics`."""
    return np.ascontiguousarray(q.reshape(-1, q.shape[-1]).T)


def batch_first(values: Array, batch: tuple[int, ...]) -> Array:
    """(a, b, ..., N) back to (*batch, a, b, ...)."""
    return np.ascontiguousarray(np.moveaxis(values, -1, 0)).reshape(batch + values.shape[:-1])
