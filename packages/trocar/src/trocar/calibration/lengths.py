"""Link lengths (the DH parameters) of a geometry from axes in the pitch plane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from trocar.arms import Arm, Geometry, load_arm, published
from trocar.calibration.linkage import DISTANCES, Linkage, axes_of
from trocar.errors import TrocarError, UnknownName
from trocar.mechanics.arm_kinematics import batch_last
from trocar.mechanics.kinematics import Tree
from trocar.spatial import Array, rotation

# Lengths that the axes determine, by arm and frames. The others are kept: the position of frame 0 along the yaw axis
# (a_back, d_yaw), and the counterweight.
FREE: dict[tuple[str, str], tuple[str, ...]] = {
    ("PSM", "gondokaryono2019"): ("a_front", "l_back", "l_back_top", "l_bottom", "a_insertion", "beta2"),
    ("PSM", "wang2019"): ("l_2L1", "l_2L2", "l_2L3", "l_2H1", "l_2H2"),
    ("ECM", "gondokaryono2019"): ("a_2", "a_back", "l_front", "l_front_top", "l_bottom", "a_insertion", "beta2"),
}
SAME = {"l_2L3": "l_3"}  # lengths that are equal by construction: the second follows the first
LEVER = 0.3  # [m] an angular error of a direction is weighted as a distance by this lever


@dataclass(frozen=True, kw_only=True)
class Lengths:
    """Link lengths that fit the axes.

    Attributes:
        geometry: with the lengths. sigma: standard deviation of the fitted ones [m, rad]; the others were kept.
        pitch_offset: true pitch minus the joint's value [rad]; None if the insertion's direction is not known and
            the joint's zero was assumed.
        rms: distance of the axes from the geometry's [m].
    """

    geometry: Geometry
    sigma: dict[str, float]
    pitch_offset: float | None
    rms: float


def fit_lengths(linkage: Linkage, frames: str, parts: Sequence[Linkage] = ()) -> Lengths:
    """Least-squares lengths of a published geometry's links for measured axes.

    `parts` are linkages measured from disjoint parts of the rows. Their scatter gives the standard deviations: errors
    of the axes are correlated (every link has one orientation, which turns all its axes), so the misfit of the axes
    does not show them. Default: from the misfit.
    """
    arm = linkage.arm
    free, base = free_lengths(arm, frames), published(arm)[frames]
    start = np.array([base[name] for name in free])
    with_offset = linkage.insertion is not None

    def geometry(x: Array) -> Geometry:
        lengths = {**base, **dict(zip(free, x.tolist(), strict=False))}
        lengths |= {other: lengths[name] for name, other in SAME.items() if name in free}
        return Geometry(name="calibrated", arm=arm, frames=frames, lengths=lengths, source="")

    def turned(x: Array) -> tuple[float, float]:
        return x[len(free)], x[-1] if with_offset else 0.0

    def residual(x: Array) -> Array:
        return misfit(linkage, load_arm(arm, geometry(x)), *turned(x))

    x0 = np.concatenate([start, [orientation(linkage, load_arm(arm, frames))], [0.0] * with_offset])
    J = scipy.optimize.approx_fprime(x0, residual, 1e-7)
    undecided = np.flatnonzero(np.linalg.norm(J, axis=0)[: len(free)] < 1e-6)  # no measured axis depends on them
    move = np.setdiff1d(np.arange(x0.size), undecided)

    def moved(y: Array) -> Array:
        x = x0.copy()
        x[move] = y
        return x

    solution = scipy.optimize.least_squares(
        lambda y: residual(moved(y)), x0[move], method="lm", x_scale="jac", xtol=1e-15, ftol=1e-15, gtol=1e-15
    )
    if solution.status <= 0:
        raise TrocarError(f"the lengths of {arm} do not converge: {solution.message}")
    x = moved(solution.x)
    dof = max(1, solution.fun.size - move.size)
    J_inverse = np.linalg.pinv(solution.jac)
    covariance = J_inverse @ J_inverse.T * (solution.fun @ solution.fun / dof)
    if parts:
        # first order: the lengths that each part alone would give
        steps = np.array([J_inverse @ misfit(part, load_arm(arm, geometry(x)), *turned(x)) for part in parts])
        covariance = np.cov(steps.T) / len(parts)
    sigma = {free[j]: float(np.sqrt(covariance[i, i])) for i, j in enumerate(move) if j < len(free)}
    return Lengths(
        geometry=geometry(x), sigma=sigma, pitch_offset=float(x[-1]) if with_offset else None, rms=_rms(solution.fun)
    )


def free_lengths(arm: str, frames: str) -> tuple[str, ...]:
    """Lengths that the axes determine."""
    if (arm, frames) not in FREE:
        raise UnknownName(f"frames that can be calibrated for {arm}", frames, [f for a, f in FREE if a == arm])
    return FREE[arm, frames]


def misfit(linkage: Linkage, arm: Arm, angle: float, pitch_offset: float = 0.0) -> Array:
    """Distances (k,) [m] of measured axes, rotated by an angle, from an arm's, with each link at its best fit."""
    q = np.zeros(arm.n)
    q[1] = pitch_offset
    model = plane_points(arm, q)
    R = rotation("z", angle)[:2, :2]
    rows = []
    for points in linkage.points.values():
        difference = np.array([R @ point - model[name] for name, point in points.items()])
        rows.append((difference - difference.mean(0)).ravel())
    for direction, axis in ((linkage.yaw, "yaw axis"), (linkage.insertion, "insertion axis")):
        if direction is not None:
            turned, (a, b) = R @ direction, model[axis]
            rows.append([LEVER * np.arctan2(a * turned[1] - b * turned[0], a * turned[0] + b * turned[1])])
    return np.concatenate(rows)


def orientation(linkage: Linkage, arm: Arm) -> float:
    """Angle [rad] that rotates the measured plane onto an arm's."""
    model = plane_points(arm, np.zeros(arm.n))
    total = 0j
    for points in linkage.points.values():
        mine = np.array([complex(*points[name]) for name in points])
        theirs = np.array([complex(*model[name]) for name in points])
        total += np.sum((theirs - theirs.mean()) * np.conj(mine - mine.mean()))
    return float(np.angle(total))


def published_misfit(linkage: Linkage, frames: str) -> float:
    """Root mean square distance [m] of the axes from those of a published geometry."""
    arm = load_arm(linkage.arm, frames)
    return _rms(misfit(linkage, arm, orientation(linkage, arm)))


def model_distances(arm: Arm) -> dict[str, float]:
    """Distances between the axes of an arm [m], by the pairs of Table 6 and those of `Linkage.distances`."""
    points = plane_points(arm, np.zeros(arm.n))
    return {pair: float(np.linalg.norm(np.subtract(*(points[key] for key in pair.split("-"))))) for pair in DISTANCES}


def plane_points(arm: Arm, q: Array) -> dict[str, Array]:
    """Axes of an arm in its pitch plane (2,) [m], and two directions; counter-clockwise is positive pitch."""
    tree = Tree(arm.bodies, arm.joint_names)
    motion = tree.motion(batch_last(q))
    T = {name: tree.frame(motion, i, np.eye(4))[0] for i, name in enumerate(tree.names)}
    plane = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, -1.0]])  # the pitch axis is -x of the base
    points = {"rcm": np.zeros(2)}
    for number, links in axes_of(arm.name).items():
        for body in arm.bodies:
            if {body.name, body.parent} == set(links):
                points[number] = plane @ T[body.name][:3, 3]
        for loop in arm.loops:
            if {loop.body_a, loop.body_b} == set(links):
                points[number] = plane @ (T[loop.body_a] @ [*loop.point_a, 1.0])[:3]
    points["yaw axis"] = plane @ T["yaw"][:3, 2]
    points["insertion axis"] = plane @ T["insertion"][:3, 2]
    return points


def _rms(residual: Array) -> float:
    return float(np.sqrt(np.mean(residual**2)))
