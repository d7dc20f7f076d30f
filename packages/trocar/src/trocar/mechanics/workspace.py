"""Workspace of an arm: point clouds of the tip, volumes, dexterity, and the part shared by several arms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike

from trocar import checks
from trocar.arms.structure import GimballedArm, Shaft
from trocar.errors import TrocarError, UnknownName
from trocar.mechanics import inverse_kinematics as ik
from trocar.mechanics import reach
from trocar.mechanics.arm_kinematics import ArmKinematics
from trocar.mechanics.inverse_kinematics.descent import sobol
from trocar.spatial import Array, checked_pose, inverse

Method = Literal["sobol", "random", "grid"]
Density = Literal["joints", "volume"]

CHUNK = 1 << 16  # rows handled at once, to bound memory
MAX_VOXELS = 100_000_000


@dataclass(frozen=True)
class Cloud:
    """Joint states q (N, n) within limits and their tip positions: points (N, 3) [m] in the world."""

    q: Array
    points: Array


@dataclass(frozen=True)
class Volume:
    """A volume estimated by counting voxels.

    Attributes:
        value: [m^3], mean over randomly shifted grids, each an unbiased estimate. error: standard
            error of the mean [m^3]. voxel: edge of a voxel [m].
        convergence: (voxel [m], value [m^3], error [m^3]) of coarser grids, then of this one.
        points: (N, 3) centres of the counted voxels of one grid, in the world [m].
    """

    value: float
    error: float
    voxel: float
    convergence: tuple[tuple[float, float, float], ...]
    points: Array


class Workspace:
    """Reach of the tip of one arm within its joint limits.

    Points and poses are in the world, in which the base of the arm (PSM, ECM: its remote centre) is at `T_world_base`;
    by default, world and base are the same. Lengths in m.
    """

    def __init__(self, mechanism: ArmKinematics, T_world_base: ArrayLike | None = None) -> None:
        self.mechanism = mechanism
        self.T_world_base = np.eye(4) if T_world_base is None else checked_pose(T_world_base)
        if self.T_world_base.ndim != 2:
            raise TrocarError(f"T_world_base must be one pose (4, 4), got shape {self.T_world_base.shape}")

    def cloud(self, count: int, method: Method = "sobol", density: Density = "joints", seed: int = 0) -> Cloud:
        """Sample states within limits and their tip positions; joints that do not move the tip stay at home.

        Args:
            count: largest number of states. Even sampling rounds down: "sobol" to a power of 2, "grid" to equal numbers
                of values per joint.
            method: "sobol" (scrambled), "random", or "grid" (limits included).
            density: uniform in the joints, or in volume. Volume density is exact for the wrist pitch axis of a PSM and
                the tip of an ECM or MTM; it returns fewer states because some are rejected.
        """
        arm = self.mechanism.arm
        moving = _moving(self.mechanism)
        unit = _unit_cube(count, len(moving), method, seed)
        q = np.tile(np.array(arm.home, dtype=float), (len(unit), 1))
        q[:, moving] = arm.lower[moving] + (arm.upper - arm.lower)[moving] * unit
        if density == "volume" and method != "grid":
            q = _even_in_volume(self.mechanism, q, unit, seed)
        elif density == "volume":
            raise TrocarError("a grid is uniform in the joints: use method 'sobol' or 'random' for density 'volume'")
        elif density != "joints":
            raise UnknownName("density", density, ("joints", "volume"))
        tips = [self.mechanism.forward_kinematics(part)[:, :3, 3] for part in _chunks(q)]
        return Cloud(q, _moved(self.T_world_base, np.concatenate(tips)))

    def contains(self, points: ArrayLike) -> Array:
        """Mask (...) of the points (..., 3) [m] that the tip reaches in any orientation.

        Uses the closed form, or a search to 1e-6 m.
        """
        points = _checked_points(points)
        p = _moved(inverse(self.T_world_base), points.reshape(-1, 3))
        reached = np.concatenate([reach.reaches(self.mechanism.arm, part) for part in _chunks(p)])
        return reached.reshape(points.shape[:-1])

    def contains_pose(self, T: ArrayLike) -> Array:
        """Mask (...) of the poses T (..., 4, 4) that inverse kinematics solves."""
        T = checked_pose(T)
        T_base_tip = inverse(self.T_world_base) @ T.reshape(-1, 4, 4)
        solvable = [ik.solvable(self.mechanism.arm, part) for part in _chunks(T_base_tip)]
        return np.concatenate(solvable).reshape(T.shape[:-2])

    @cached_property
    def wrist_volume(self) -> float:
        """Volume [m^3] that the wrist pitch axis of a PSM sweeps, or the tip of an ECM or MTM; exact."""
        return reach.wrist_volume(self.mechanism.arm)

    def volume(self, voxel: float = 0.01, grids: int = 8, seed: int = 0) -> Volume:
        """Volume that the tip reaches, by `contains` at the centres of voxels."""
        return shared_volume([self], voxel, grids, seed)

    def dexterity(self, points: ArrayLike, orientations: int = 128, seed: int = 0) -> Array:
        """Fraction (...), from 0 to 1, of all orientations that the tip can take at points (..., 3) [m].

        The orientations are an even (Sobol) sample of all rotations, the same at every point.
        """
        arm = self.mechanism.arm
        if arm.tip_joints < 6:
            raise TrocarError(f"{arm.name} moves its tip with {arm.tip_joints} joints and cannot choose an orientation")
        points = _checked_points(points)
        # Shoemake's map of the unit cube to quaternions
        u, a, b = _unit_cube(orientations, 3, "sobol", seed).T * [[1.0], [2 * np.pi], [2 * np.pi]]
        r, s = np.sqrt(1.0 - u), np.sqrt(u)
        quaternions = np.stack([r * np.sin(a), r * np.cos(a), s * np.sin(b), s * np.cos(b)], -1)
        flat, R = points.reshape(-1, 3), scipy.spatial.transform.Rotation.from_quat(quaternions).as_matrix()
        share = np.empty(len(flat))
        rows = max(1, CHUNK // len(R))
        for start in range(0, len(flat), rows):
            part = flat[start : start + rows]
            T = np.tile(np.eye(4), (len(part), len(R), 1, 1))
            T[..., :3, :3], T[..., :3, 3] = R, part[:, None]
            share[start : start + rows] = self.contains_pose(T).mean(-1)
        return share.reshape(points.shape[:-1])

    def dexterous_volume(
        self, share: float, voxel: float = 0.015, orientations: int = 128, grids: int = 4, seed: int = 0
    ) -> Volume:
        """Volume in which the tip can take at least the given fraction of all orientations."""
        if not 0.0 < share <= 1.0:
            raise TrocarError(f"share must be above 0 and at most 1, got {share!r}")
        return _counted([self], voxel, grids, seed, lambda p: self.dexterity(p, orientations, seed) >= share)

    @cached_property
    def box(self) -> tuple[Array, Array]:
        """Lower and upper corner (3,) [m] of a box in the world around the workspace."""
        corners = np.array(np.meshgrid(*np.transpose(reach.bounding_box(self.mechanism.arm)))).reshape(3, -1).T
        corners = _moved(self.T_world_base, corners)
        return corners.min(0), corners.max(0)


def shared_volume(workspaces: Sequence[Workspace], voxel: float = 0.01, grids: int = 8, seed: int = 0) -> Volume:
    """Volume that the tips of all these arms reach, each at its base in one world; `points` is the shared cloud."""
    return _counted(workspaces, voxel, grids, seed, lambda p: np.ones(len(p), bool))


def _counted(
    workspaces: Sequence[Workspace], voxel: float, grids: int, seed: int, keep: Callable[[Array], Array]
) -> Volume:
    if not workspaces:
        raise TrocarError("give at least one workspace")
    voxel = checks.positive("voxel", voxel, "m")
    if grids < 2:
        raise TrocarError(f"an error needs at least 2 grids, got {grids!r}")
    low = np.max([w.box[0] for w in workspaces], axis=0)
    high = np.min([w.box[1] for w in workspaces], axis=0)
    size = np.maximum(0.0, high - low)
    if np.prod(size / voxel + 1) > MAX_VOXELS:
        raise TrocarError(f"{np.prod(size / voxel):.1e} voxels of {voxel:g} m are too many; use larger ones")
    rng = np.random.default_rng(seed)
    rows: list[tuple[float, float, float]] = []
    for edge in (4.0 * voxel, 2.0 * voxel, voxel):
        inside = []
        for _ in range(grids):
            start = low - edge * rng.uniform(0.0, 1.0, 3)
            axes = [start[i] + edge * np.arange(int(size[i] / edge) + 2) for i in range(3)]
            centres = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
            if not (size > 0.0).all():
                centres = centres[:0]
            for workspace in workspaces:
                centres = centres[workspace.contains(centres)]
            inside.append(centres[keep(centres)] if len(centres) else centres)
        values = edge**3 * np.array([len(points) for points in inside])
        rows.append((edge, float(values.mean()), float(values.std(ddof=1) / np.sqrt(grids))))
    edge, value, error = rows[-1]
    return Volume(value, error, edge, tuple(rows), inside[0])


def _moving(mechanism: ArmKinematics) -> list[int]:
    """Joints that translate the tip, as opposed to those that only rotate it."""
    arm = mechanism.arm
    q = np.random.default_rng(0).uniform(arm.lower, arm.upper, (8, arm.n))
    return [int(j) for j in np.flatnonzero(np.abs(mechanism.jacobian(q)[:, :3]).max((0, 1)) > 1e-9)]


def _even_in_volume(mechanism: ArmKinematics, q: Array, unit: Array, seed: int) -> Array:
    """States whose wrist point is uniform in volume: its Jacobian has |det| L^2 cos q2, or a_2 r u cos(q3 + gamma)."""
    arm, lengths = mechanism.arm, mechanism.arm.structure
    if isinstance(lengths, GimballedArm):
        psi = q[:, 2] + lengths.gamma
        weight = np.abs((lengths.upper_arm * np.sin(q[:, 1]) + lengths.r * np.cos(q[:, 1] + psi)) * np.cos(psi))
        return _thinned(q, weight, seed)
    if not isinstance(lengths, Shaft):
        moving = _moving(mechanism)
        if len(moving) != 3:
            raise TrocarError(
                f"{len(moving)} joints move the tip of {arm.name}: density 'volume' needs three; use density 'joints'"
            )
        return _thinned(q, np.abs(np.linalg.det(mechanism.jacobian(q)[:, :3, moving])), seed)
    q, d = q.copy(), lengths.offset
    sines, cubes = np.sin([arm.lower[1], arm.upper[1]]), np.array([arm.lower[2] + d, arm.upper[2] + d]) ** 3
    q[:, 1] = np.arcsin(sines[0] + (sines[1] - sines[0]) * unit[:, 1])
    q[:, 2] = np.cbrt(cubes[0] + (cubes[1] - cubes[0]) * unit[:, 2]) - d
    return q


def _thinned(q: Array, weight: Array, seed: int) -> Array:
    """Rejection sampling: keep each state with a probability proportional to its weight."""
    return np.asarray(q[np.random.default_rng(seed).uniform(0.0, weight.max(), len(q)) < weight])


def _unit_cube(count: int, dimension: int, method: Method, seed: int) -> Array:
    """At most `count` points (N, dimension) of the unit cube."""
    if not (isinstance(count, int | np.integer) and count >= 1):
        raise TrocarError(f"count must be a positive whole number, got {count!r}")
    if method == "random":
        return np.random.default_rng(seed).uniform(size=(count, dimension))
    if method == "sobol":
        return sobol(dimension, count, seed)
    if method == "grid":
        each = int(np.floor(count ** (1.0 / dimension) + 1e-9))
        if each < 2:
            raise TrocarError(f"a grid over {dimension} joints needs at least {2**dimension} states, got {count}")
        axes = np.meshgrid(*[np.linspace(0.0, 1.0, each)] * dimension, indexing="ij")
        return np.stack(axes, axis=-1).reshape(-1, dimension)
    raise UnknownName("method", method, ("sobol", "random", "grid"))


def _moved(T: Array, points: Array) -> Array:
    return points @ T[:3, :3].T + T[:3, 3]


def _chunks(values: Array) -> Iterator[Array]:
    """Chunks of rows, in order; at least one chunk, which may be empty."""
    for start in range(0, max(1, len(values)), CHUNK):
        yield values[start : start + CHUNK]


def _checked_points(points: ArrayLike) -> Array:
    p = checks.numbers("points", points, (3,))
    if not np.isfinite(p).all():
        raise TrocarError("points contain a value that is NaN or infinite")
    return p
