"""Inverse kinematics of any serial chain, by damped least squares from one or many starts."""

from __future__ import annotations

import numpy as np
from scipy.stats import qmc

from trocar.arms import Arm
from trocar.mechanics.bounded_least_squares import bounded_least_squares
from trocar.mechanics.inverse_kinematics.remote_centre import NEAR, IkBranch
from trocar.mechanics.kinematics import Tree
from trocar.spatial import Array, pose_error

LENGTH = 0.1  # makes a rotation error comparable with a position error: the reach of a wrist [m]
CONVERGED = 1e-9  # [m], with a rotation of 1 rad weighted as LENGTH
ITERATIONS = 300
STARTS = 16  # spread evenly over the joint limits (a power of 2)


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
    return np.asarray(qmc.Sobol(dimension, rng=np.random.default_rng(seed)).random_base2(int(np.log2(count))))
