"""Inverse kinematics: all branches, and the choice among them.

Branches are in closed form if the arm's structure has one, and are found by damped least squares otherwise.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from trocar.arms import Arm
from trocar.arms.arm import LIMIT_TOLERANCE, violation_text
from trocar.arms.structure import GimballedArm, RollingShaft, SnakeShaft, WristedShaft
from trocar.errors import NearLimit, NearSingular, Unreachable
from trocar.mechanics.inverse_kinematics.descent import IkBranch, numeric, refined
from trocar.mechanics.inverse_kinematics.master import gimballed
from trocar.mechanics.inverse_kinematics.remote_centre import rolling, snaked, wristed
from trocar.spatial import Array

ROUNDING = 1e-9
CLOSED_FORMS: dict[type, Callable[[Arm, Array, Array], list[IkBranch]]] = {
    WristedShaft: wristed,
    RollingShaft: rolling,
    SnakeShaft: snaked,
    GimballedArm: gimballed,
}


def branches(arm: Arm, T: Array, q_seed: Array, everywhere: bool = False) -> list[IkBranch]:
    """Solutions of poses T (N, 4, 4), ignoring limits; `everywhere` as for `numeric`."""
    closed_form = CLOSED_FORMS.get(type(arm.structure))
    return closed_form(arm, T, q_seed) if closed_form else numeric(arm, T, q_seed, everywhere)


def nearest_by_descent(arm: Arm, T: Array, q_seed: Array, shape: tuple[int, ...]) -> Array:
    """Like `nearest`, by damped least squares from the seed alone, for any arm."""
    m = arm.tip_joints
    solution = refined(arm, T, q_seed, q_seed, arm.lower[:m], arm.upper[:m])
    if solution.failure:
        row = min(solution.failure)
        raise Unreachable(_index(row, shape), solution.failure[row], others=len(solution.failure) - 1)
    return solution.q


def nearest(arm: Arm, T: Array, q_seed: Array, shape: tuple[int, ...]) -> Array:
    """Joints (N, n) of poses T (N, 4, 4): the solution within limits that is nearest to the seed (N, n).

    `shape` is the caller's batch shape, for error messages. Raises Unreachable; warns NearSingular, NearLimit.
    """
    solutions = branches(arm, T, q_seed)
    best, best_cost, singular = _solutions(arm, T, q_seed, solutions)
    lost = np.flatnonzero(~np.isfinite(best_cost))
    if lost.size:
        raise Unreachable(_index(lost[0], shape), _reason(arm, solutions, int(lost[0]), q_seed), others=lost.size - 1)
    _warn(NearSingular, singular, shape, "near a singularity: joint rates grow without bound there")
    outside = _excess(arm, best).max(-1) > ROUNDING
    _warn(NearLimit, outside, shape, f"outside a joint limit, by less than {LIMIT_TOLERANCE:g}")
    return best


def solvable(arm: Arm, T: Array) -> Array:
    """Mask (N,) of the poses T (N, 4, 4) in the base that have a solution within limits."""
    home = np.tile(default_seed(arm), (len(T), 1))
    return np.isfinite(_solutions(arm, T, home, branches(arm, T, home))[1])


def default_seed(arm: Arm) -> Array:
    """The home position (n,), with the joints that do not move the tip (the jaw) at 0."""
    return np.where(np.arange(arm.n) < arm.tip_joints, arm.home, 0.0)


def _solutions(arm: Arm, T: Array, q_seed: Array, candidates: list[IkBranch]) -> tuple[Array, Array, Array]:
    """Like `_choice`; at a singularity, free joints are moved to bring the others within limits."""
    best, best_cost, singular = _choice(arm, candidates, q_seed)
    # wrist joints that the closed form copies from the seed at a singularity
    for joint in (4, 5) if isinstance(arm.structure, WristedShaft) else ():
        at_singularity = np.logical_or.reduce([branch.near_singular for branch in candidates])
        lost = np.flatnonzero(~np.isfinite(best_cost) & at_singularity)
        for value in np.linspace(arm.lower[joint], arm.upper[joint], 121) if lost.size else ():
            seed = q_seed[lost].copy()
            seed[:, joint] = value
            q, own_cost, near = _choice(arm, branches(arm, T[lost], seed), seed)
            cost = np.where(np.isfinite(own_cost) & near, ((q - q_seed[lost]) ** 2).sum(-1), np.inf)
            better = cost < best_cost[lost]
            best[lost[better]], best_cost[lost[better]], singular[lost[better]] = q[better], cost[better], True
    return best, best_cost, singular


def _choice(arm: Arm, candidates: list[IkBranch], q_seed: Array) -> tuple[Array, Array, Array]:
    """Nearest solution within limits, its squared distance (infinite if there is none), and a near-singular flag."""
    N = len(q_seed)
    best, best_cost, singular = candidates[0].q, np.full(N, np.inf), np.zeros(N, bool)
    for branch in candidates:
        q = _nearest_turns(arm, branch.q, q_seed)
        cost = ((q - q_seed) ** 2).sum(-1)
        cost[_excess(arm, q).max(-1) > LIMIT_TOLERANCE] = np.inf
        cost[list(branch.failure)] = np.inf
        better = cost < best_cost
        best, best_cost = np.where(better[:, None], q, best), np.minimum(cost, best_cost)
        singular = np.where(better, branch.near_singular, singular)
    return best, best_cost, singular


def all_branches(arm: Arm, T: Array, q_seed: Array) -> list[Array]:
    """Every solution within limits of one pose T (4, 4), as (n,) arrays, nearest to the seed first.

    A redundant arm has infinitely many; for an MTM, the one nearest to the seed is returned for each branch.
    """
    solutions: list[Array] = []
    for branch in branches(arm, T[None], q_seed[None], everywhere=True):
        if branch.failure:
            continue
        for q in _turns(arm, branch.q[0]):
            known = any(np.abs(q - other).max() < ROUNDING for other in solutions)
            if _excess(arm, q).max() <= LIMIT_TOLERANCE and not known:
                solutions.append(q)
    return sorted(solutions, key=lambda q: float(((q - q_seed) ** 2).sum()))


def _excess(arm: Arm, q: Array) -> Array:
    """Distance of each tip joint outside its limits [rad, m], 0 inside; the jaw is not a tip joint."""
    return arm.excess(q[..., : arm.tip_joints])


def _wide(arm: Arm) -> list[int]:
    """Revolute tip joints whose range exceeds one turn."""
    span = arm.upper - arm.lower
    return [j for j in range(arm.tip_joints) if arm.joints[j].kind == "revolute" and span[j] > 2 * np.pi]


def _nearest_turns(arm: Arm, q: Array, q_seed: Array) -> Array:
    q = q.copy()
    for j in _wide(arm):
        turns = np.stack([q[:, j] + 2 * np.pi * k for k in (-2, -1, 0, 1, 2)], axis=-1)
        far = np.abs(turns - q_seed[:, j : j + 1])
        outside = np.maximum(arm.lower[j] - turns, turns - arm.upper[j])
        # prefer within limits to within tolerance, and within tolerance to outside
        far += np.where(outside > LIMIT_TOLERANCE, 1e4, np.where(outside > ROUNDING, 1e2, 0.0))
        q[:, j] = np.take_along_axis(turns, far.argmin(-1)[:, None], axis=-1)[:, 0]
    return q


def _turns(arm: Arm, q: Array) -> list[Array]:
    """q and its copies with wide joints moved by whole turns."""
    turned = [q]
    for j in _wide(arm):
        turned = [x + 2 * np.pi * k * np.eye(arm.n)[j] for x in turned for k in (-2, -1, 0, 1, 2)]
    return turned


def _reason(arm: Arm, candidates: list[IkBranch], row: int, q_seed: Array) -> str:
    """Reason why a pose has no solution, taken from the branch with the smallest limit violation."""
    options = [b for b in candidates if row not in b.failure]
    if not options:
        return candidates[0].failure[row]
    q = min(
        (_nearest_turns(arm, b.q[row : row + 1], q_seed[row : row + 1])[0] for b in options),
        key=lambda q: float(_excess(arm, q).max()),
    )
    j = int(_excess(arm, q).argmax())
    joint = arm.joints[j]
    return violation_text(j, joint.name, joint.lower, q[j], joint.upper, joint.unit)


def _warn(category: type[Warning], rows: Array, shape: tuple[int, ...], text: str) -> None:
    where = np.flatnonzero(rows)
    if where.size:
        index = _index(where[0], shape)
        which = f"{where.size} of {rows.size} solutions (first at index {index})" if shape else "the solution"
        warnings.warn(f"{which} {'are' if where.size > 1 else 'is'} {text}", category, stacklevel=5)


def _index(row: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(row, shape)) if shape else ()
