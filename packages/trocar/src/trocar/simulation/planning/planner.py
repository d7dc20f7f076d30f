"""Path planning around obstacles: RRT-Connect (Kuffner and LaValle 2000) in joint space, shortened and time-optimal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trocar.control.trajectories import TimeOptimal, time_optimal
from trocar.control.trajectories.reference import checked_via, vectors
from trocar.errors import TrocarError
from trocar.simulation.planning.collision import CollisionScene
from trocar.spatial import Array

STEP = 0.15  # [m] longest edge of a tree
SHORTCUTS = 150  # attempts


class PlanningFailed(TrocarError):
    """No path was found: the start or goal collides, or the iteration budget is exhausted."""


@dataclass(frozen=True)
class Plan:
    """A collision-checked motion from start to goal.

    Attributes:
        reference: the timed motion, rest to rest with a stop at every via point.
        via: (k, n) via points [rad, m]. nodes: number of nodes of both trees.
        clearance: smallest distance to an obstacle on the timed motion [m]; infinite without obstacles.
    """

    reference: TimeOptimal
    via: Array
    nodes: int
    clearance: float


def plan(
    scene: CollisionScene,
    q_start: ArrayLike,
    q_goal: ArrayLike,
    *,
    joints: int | None = None,
    margin: float = 2e-3,
    resolution: float = 2e-3,
    iterations: int = 4000,
    seed: int = 0,
    jerk: ArrayLike | None = None,
    scale: float = 1.0,
) -> Plan:
    """Plan a motion from q_start to q_goal (n,) [rad, m] around the obstacles of a scene with one arm.

    Distances in joint space are upper bounds of the displacement of the arm's shapes, in metres.

    Args:
        joints: number of leading joints that move. Default: up to the last that differs between start and goal, >= 3.
        margin: smallest distance to all obstacles [m]; it should be at least half the resolution.
        resolution: largest displacement of any shape between two checked states on an edge [m].
        iterations: budget of tree extensions. seed: random seed; the same seed gives the same path.
        jerk, scale: as for `time_optimal`.

    Raises PlanningFailed, which reports a collision of start or goal, or an exhausted iteration budget.
    """
    if len(scene.arms) != 1:
        raise TrocarError(f"the planner moves one arm, the scene has {len(scene.arms)}: {', '.join(scene.arms)}")
    (arm,) = scene.arms.values()
    ends = checked_via(np.array(vectors(q_start=q_start, q_goal=q_goal)), arm)
    for name, value in (("margin", margin), ("resolution", resolution)):
        if not (np.isfinite(value) and value >= 0) or (name == "resolution" and value == 0):
            raise TrocarError(f"{name} must be positive and finite [m], got {value!r}")
    differing = np.flatnonzero(ends[0] != ends[1])
    if not differing.size:
        raise TrocarError("start and goal are equal; nothing to plan")
    needed = int(differing[-1]) + 1
    joints = max(3, needed) if joints is None else joints
    if not needed <= joints <= arm.n:
        raise TrocarError(
            f"joints = {joints}, but start and goal differ in joint {needed} ({arm.joint_names[needed - 1]}) "
            f"and {arm.name} has {arm.n}"
        )
    for name, q in zip(("start", "goal"), ends, strict=True):
        touch = scene.contact(q, margin)
        if touch is not None:
            raise PlanningFailed(f"the {name} is not free: {touch} (margin {1e3 * margin:g} mm)")

    space = _Space(scene, ends[0], joints, margin, resolution, scene.levers())
    rng = np.random.default_rng(seed)
    path, nodes = _connect(space, ends[0, :joints], ends[1, :joints], iterations, rng)
    path = _shortened(space, path, rng)
    via = np.array([space.full(x) for x in path])
    reference = time_optimal(arm, via, jerk=jerk, scale=scale)
    return Plan(reference, reference.via, nodes, _verified(space, reference))


@dataclass(frozen=True)
class _Space:
    """The moving joints, with tests of free states and straight edges; `rest` (n,) has the fixed joints."""

    scene: CollisionScene
    rest: Array
    joints: int
    margin: float
    resolution: float
    levers: Array

    def full(self, x: Array) -> Array:
        return np.concatenate([x, self.rest[self.joints :]])

    def distance(self, a: Array, b: Array) -> Array:
        """Upper bound (...) of the displacement of any shape from a (..., joints) to b [m]."""
        return np.abs(a - b) @ self.levers[: self.joints]

    def free(self, x: Array) -> bool:
        return not self.scene.collides(self.full(x), self.margin)

    def edge_free(self, a: Array, b: Array) -> bool:
        """True if the straight edge from a, which is free, to b is free; tested coarsely first, then densely."""
        count = max(1, int(np.ceil(self.distance(a, b) / self.resolution)))
        # in bisection order: the end, then the middle, the quarters, ...
        order = sorted(range(1, count + 1), key=lambda k: (k != count, -(k & -k)))
        return all(self.free(a + (b - a) * (k / count)) for k in order)


class _Tree:
    def __init__(self, root: Array) -> None:
        self._nodes, self._parents = np.empty((64, root.size)), [-1]
        self._nodes[0] = root

    def __len__(self) -> int:
        return len(self._parents)

    def grow(self, space: _Space, target: Array, greedy: bool) -> tuple[int, bool]:
        """Extend towards the target by one step, or while free if greedy: last node, and True if it arrived."""
        near = int(space.distance(self._nodes[: len(self)], target).argmin())
        while True:
            here = self._nodes[near]
            way = float(space.distance(here, target))
            there = way <= STEP
            new = target if there else here + (target - here) * (STEP / way)
            if way == 0.0:
                return near, True
            if not space.edge_free(here, new):
                return near, False
            if len(self) == len(self._nodes):
                self._nodes = np.vstack([self._nodes, np.empty_like(self._nodes)])
            self._nodes[len(self)] = new
            self._parents.append(near)
            near = len(self) - 1
            if there or not greedy:
                return near, there

    def branch(self, node: int) -> list[Array]:
        """Path from a node to the root."""
        path = []
        while node >= 0:
            path.append(self._nodes[node].copy())
            node = self._parents[node]
        return path


def _connect(
    space: _Space, start: Array, goal: Array, iterations: int, rng: np.random.Generator
) -> tuple[list[Array], int]:
    """Grow two trees towards random states and each other; return the path between their roots."""
    if space.edge_free(start, goal):
        return [start, goal], 2
    (arm,) = space.scene.arms.values()
    low, high = arm.lower[: space.joints], arm.upper[: space.joints]
    trees = [_Tree(start), _Tree(goal)]
    for i in range(iterations):
        a, b = trees[i % 2], trees[1 - i % 2]
        size = len(a)
        node, _ = a.grow(space, rng.uniform(low, high), greedy=False)
        if len(a) == size:
            continue
        other, met = b.grow(space, a.branch(node)[0], greedy=True)
        if met:
            path = a.branch(node)[::-1] + b.branch(other)[1:]
            return (path if i % 2 == 0 else path[::-1]), len(a) + len(b)
    raise PlanningFailed(
        f"no path in {iterations} iterations ({len(trees[0])} states reached from the start, {len(trees[1])} from the "
        "goal). There may be none: try more iterations, a smaller margin or more joints"
    )


def _shortened(space: _Space, path: list[Array], rng: np.random.Generator) -> list[Array]:
    """Apply random shortcuts between points of the path, then remove every unnecessary via point."""
    for _ in range(SHORTCUTS):
        if len(path) < 3:
            return path
        i, j = sorted(rng.choice(len(path) - 1, 2, replace=False))
        a, b = (path[k] + rng.uniform() * (path[k + 1] - path[k]) for k in (i, j))
        if space.edge_free(a, b):
            path = [*path[: i + 1], a, b, *path[j + 1 :]]
    corners, i = [path[0]], 0
    while i < len(path) - 1:
        i = next(j for j in range(len(path) - 1, i, -1) if j == i + 1 or space.edge_free(path[i], path[j]))
        corners.append(path[i])
    return corners


def _verified(space: _Space, reference: TimeOptimal) -> float:
    """Smallest distance [m] on the timed motion, sampled so that no shape moves by more than the resolution."""
    if not space.scene.obstacles:
        return np.inf
    moves = (np.ptp(reference.via, axis=0) > 0) * reference.velocity
    count = int(np.ceil(reference.duration * float(space.levers @ moves) / space.resolution)) + 1
    nearest = np.inf
    for t in np.linspace(reference.start, reference.end, count):
        touch = space.scene.clearance(reference(float(t)).q)
        if touch.distance <= 0.0:
            raise PlanningFailed(f"the timed motion is not free at t = {t:.4g} s: {touch}; use a larger margin")
        nearest = min(nearest, touch.distance)
    return nearest
