"""Inverse kinematics of any serial chain, by damped least squares from one or many starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from trocar.arms import Arm
from trocar.mechanics.kinematics import Tree
from trocar.spatial import Array, pose_error

# q (N, n) and their row indices (N,) -> residual (N, k) and its Jacobian (N, k, n)
Residual = Callable[[Array, Array], tuple[Array, Array]]

MIN_DAMPING, MAX_DAMPING = 1e-14, 1e8  # damping, relative to the largest diagonal entry of J'J
LENGTH = 0.1  # makes a rotation error comparable with a position error: the reach of a wrist [m]
CONVERGED = 1e-9  # [m], with a rotation of 1 rad weighted as LENGTH
ITERATIONS = 300
STARTS = 16  # spread evenly over the joint limits (a power of 2)
# A solution nearer than this to a singular set is reported as near-singular [m; cos q2 dimensionless].
NEAR = 1e-3


@dataclass(frozen=True)
class IkBranch:
    """One solution per pose: joints q (N, n), with masks of near-singular and of unreachable poses."""

    q: Array
    near_singular: Array
    failure: dict[int, str]


def bounded_least_squares(
    residual: Residual, q: Array, lower: Array, upper: Array, tolerance: float, iterations: int
) -> tuple[Array, Array]:
    """Joints (N, n) that minimise the residual within limits from every start, and the residual norm (N,).

    Each start has its own damping, reduced after a successful step and raised after a failed one. A joint at a limit
    that the descent pushes against is held. A start is finished once its residual is within the tolerance.
    """
    q = np.clip(q, lower, upper)
    r, J = residual(q, np.arange(len(q)))
    damping, stuck = np.full(len(q), 1e-3), np.zeros(len(q), bool)
    for _ in range(iterations):
        rows = np.flatnonzero((np.linalg.norm(r, axis=-1) > tolerance) & ~stuck)
        if not rows.size:
            break
        gradient = np.einsum("nki,nk->ni", J[rows], r[rows])
        held = ((q[rows] <= lower) & (gradient > 0)) | ((q[rows] >= upper) & (gradient < 0))
        free = np.where(held[:, None, :], 0.0, J[rows])
        A = np.swapaxes(free, -1, -2) @ free
        scale = np.maximum(np.einsum("nii->ni", A).max(-1), 1e-12)
        A = A + (damping[rows] * scale)[:, None, None] * np.eye(q.shape[-1])
        step = -np.linalg.solve(A, np.where(held, 0.0, gradient)[..., None])[..., 0]
        trial = np.clip(q[rows] + step, lower, upper)
        r_trial, J_trial = residual(trial, rows)
        better = np.linalg.norm(r_trial, axis=-1) < np.linalg.norm(r[rows], axis=-1)
        q[rows[better]], r[rows[better]], J[rows[better]] = trial[better], r_trial[better], J_trial[better]
        # a step that rounds to zero, or one at the largest damping, would fail forever
        stuck[rows] = ~better & ((damping[rows] >= MAX_DAMPING) | (trial == q[rows]).all(-1))
        damping[rows] = np.clip(damping[rows] * np.where(better, 0.2, 5.0), MIN_DAMPING, MAX_DAMPING)
    return q, np.linalg.norm(r, axis=-1)


class SerialChain:
    """Tip pose and Jacobian of an arm's serial table as functions of its tip joints."""

    def __init__(self, arm: Arm) -> None:
        self._arm, self._tree = arm, Tree(arm.serial, arm.joint_names)

    def __call__(self, q: Array) -> tuple[Array, Array]:
        """Tip poses (N, 4, 4) in the base and Jacobians (N, 6, m), linear rows first, base axes, for q (N, m)."""
        arm, tree = self._arm, self._tree
        still = np.zeros((len(q), arm.n - arm.tip_joints))  # joints that do not move the tip
        motion = tree.motion(np.ascontiguousarray(np.concatenate([q, still], axis=1).T))
        last, T = len(arm.serial) - 1, arm.T_last_tip
        return tree.frame(motion, last, T), np.moveaxis(tree.jacobian(motion, last, T)[:, : arm.tip_joints], -1, 0)


def solved(
    arm: Arm, T: Array, start: Array, lower: Array, upper: Array, length: float = LENGTH, tolerance: float = 1e-10
) -> tuple[Array, Array]:
    """Tip joints (N, m) between bounds found by damped least squares from starts (N, m), and the error left [m].

    The error is the norm of the position error and of the rotation error times `length` [m]; use 0 for position only.
    """
    chain, weight = SerialChain(arm), np.array([1.0] * 3 + [length] * 3)

    def residual(q: Array, rows: Array) -> tuple[Array, Array]:
        T_base_tip, J = chain(q)
        if not length:
            return T_base_tip[:, :3, 3] - T[rows, :3, 3], J[:, :3]
        return -weight * pose_error(T[rows], T_base_tip), weight[:, None] * J

    return bounded_least_squares(residual, start, lower, upper, tolerance, ITERATIONS)


def refined(arm: Arm, T: Array, start: Array, q_seed: Array, lower: Array, upper: Array) -> IkBranch:
    """The solution that damped least squares reaches from a start (N, n) between bounds (m,)."""
    m = arm.tip_joints
    q, error = solved(arm, T, start[:, :m], lower, upper)
    near = np.linalg.svd(SerialChain(arm)(q)[1], compute_uv=False)[:, -1] < NEAR
    failure = {
        int(i): f"damped least squares stopped {error[i]:.2g} m short; try another seed"
        for i in np.flatnonzero(error > CONVERGED)
    }
    return IkBranch(np.concatenate([q, q_seed[:, m:]], axis=-1), near, failure)


def numeric(arm: Arm, T: Array, q_seed: Array, everywhere: bool = False) -> list[IkBranch]:
    """Branches of any arm: from the seed, and from starts spread over the limits for poses not solved from the seed.

    everywhere: use all starts for all poses, to find more than one solution.
    """
    m = arm.tip_joints
    lower, upper = arm.lower[:m], arm.upper[:m]
    branches = [refined(arm, T, q_seed, q_seed, lower, upper)]
    rows = np.arange(len(T)) if everywhere else np.array(list(branches[0].failure), dtype=int)
    if not rows.size:
        return branches
    for start in lower + (upper - lower) * sobol(m):
        refined_rows = refined(arm, T[rows], np.tile(start, (len(rows), 1)), q_seed[rows], lower, upper)
        q, near = branches[0].q.copy(), branches[0].near_singular.copy()
        q[rows], near[rows] = refined_rows.q, refined_rows.near_singular
        branches.append(IkBranch(q, near, {int(rows[i]): text for i, text in refined_rows.failure.items()}))
    return branches


def sobol(dimension: int, count: int = STARTS, seed: int = 0) -> Array:
    """An even sample of the unit cube, (count, dimension) with the count rounded down to a power of 2."""
    return np.asarray(
        scipy.stats.qmc.Sobol(dimension, rng=np.random.default_rng(seed)).random_base2(int(np.log2(count)))
    )
