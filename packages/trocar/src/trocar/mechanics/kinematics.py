"""Motion and Jacobians of a tree of bodies whose joints are linear in q, for whole batches of states at once.

Internally the batch is the LAST axis: vectors are (3, N), rotations (3, 3, N), so that every operation runs along
contiguous memory. `Mechanism` turns its (..., n) arguments into that layout and back. Base axes throughout.
Complex states are supported, for complex-step derivatives (`recursion.regressor_derivatives`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from trocar.arms import Body
from trocar.errors import check_known
from trocar.spatial import Array

Variant = Literal["base", "body", "spatial"]
VARIANTS = ("base", "body", "spatial")


@dataclass(frozen=True)
class Motion:
    """Motion of all bodies of a tree: lists by body; quantities that were not requested are empty arrays."""

    R: list[Array]  # (3, 3, N)
    p: list[Array]  # (3, N), body origin [m]
    w: list[Array]  # (3, N), angular velocity [rad/s]
    v: list[Array]  # (3, N), velocity of the body origin [m/s]
    dw: list[Array]  # (3, N), angular acceleration [rad/s^2]
    dv: list[Array]  # (3, N), acceleration of the body origin [m/s^2]

    @property
    def count(self) -> int:
        """N, the number of states."""
        return int(self.p[-1].shape[-1])


class Tree:
    """Kinematics of bodies listed parents first, driven by `q_tree = E q`."""

    def __init__(self, bodies: Sequence[Body], joint_names: Sequence[str]) -> None:
        self.names = tuple(b.name for b in bodies)
        self.n = len(joint_names)
        self.E = np.array([[b.coupling.get(name, 0.0) for name in joint_names] for b in bodies])
        self.parents = [-1 if b.parent is None else self.names.index(b.parent) for b in bodies]
        self.turns = [b.kind == "revolute" for b in bodies]
        self.rows = [[(j, float(c)) for j, c in enumerate(row) if c] for row in self.E]
        self._R = [b.placement[:3, :3] for b in bodies]
        self._p = [b.placement[:3, 3] for b in bodies]

    def index(self, name: str) -> int:
        """Index of a body in the tree."""
        check_known("body", self.names, name)
        return self.names.index(name)

    def path(self, body: int) -> list[int]:
        """Indices from the base to this body."""
        path: list[int] = []
        while body >= 0:
            path.insert(0, body)
            body = self.parents[body]
        return path

    def motion(
        self, q: Array, dq: Array | None = None, ddq: Array | None = None, only: Sequence[int] | None = None
    ) -> Motion:
        """Poses of all bodies, or those in `only`, for q (n, N); velocities if dq and accelerations if ddq is given."""
        bodies = range(len(self.names)) if only is None else only
        nothing: list[Array] = [np.empty(0)] * len(self.names)
        R, p, w, v, dw, dv = (nothing.copy() for _ in range(6))
        zero = np.zeros((3, q.shape[-1]), dtype=q.dtype)
        for i in bodies:
            k = self.parents[i]
            s = self.along(q, i)
            R_i = np.broadcast_to(self._R[i][:, :, None], (3, 3, s.size)) if k < 0 else times_constant(R[k], self._R[i])
            p_i = zero + self._p[i][:, None] if k < 0 else p[k] + apply(R[k], self._p[i])
            z = R_i[:, 2]
            R[i] = _turned(R_i, s) if self.turns[i] else R_i
            p[i] = p_i if self.turns[i] else p_i + z * s
            if dq is None:
                continue
            ds = self.along(dq, i)
            w_k, v_k, p_k = (w[k], v[k], p[k]) if k >= 0 else (zero, zero, zero)
            r = p[i] - p_k
            w_r = cross(w_k, r)
            w[i] = w_k + z * ds if self.turns[i] else w_k
            v[i] = v_k + w_r if self.turns[i] else v_k + w_r + z * ds
            if ddq is None:
                continue
            dds = self.along(ddq, i)
            dw_k, dv_k = (dw[k], dv[k]) if k >= 0 else (zero, zero)
            carried = dv_k + cross(dw_k, r) + cross(w_k, w_r)
            if self.turns[i]:
                dw[i], dv[i] = dw_k + z * dds + cross(w_k, z * ds), carried
            else:
                dw[i], dv[i] = dw_k, carried + z * dds + 2.0 * cross(w_k, z * ds)
        return Motion(R, p, w, v, dw, dv)

    def pose(self, motion: Motion, body: int, T_body_frame: Array) -> tuple[Array, Array]:
        """Rotation (3, 3, N) and position (3, N) of a frame fixed to a body."""
        R, p = motion.R[body], motion.p[body]
        return times_constant(R, T_body_frame[:3, :3]), p + apply(R, T_body_frame[:3, 3])

    def frame(self, motion: Motion, body: int, T_body_frame: Array) -> Array:
        """Pose (N, 4, 4) of a frame fixed to a body."""
        R, p = self.pose(motion, body, T_body_frame)
        T = np.zeros((R.shape[-1], 4, 4))
        T[:, :3, :3], T[:, :3, 3], T[:, 3, 3] = np.moveaxis(R, -1, 0), p.T, 1.0
        return T

    def jacobian(self, m: Motion, body: int, T: Array, variant: Variant = "base", rate: bool = False) -> Array:
        """Jacobian (6, n, N) of the frame T (4, 4) of a body; with `rate` its exact time derivative along the motion.

        Variants of its twist: "base", velocity of the frame origin and angular velocity, both in base axes; "body", the
        same in the frame's own axes; "spatial", velocity of the point at the base origin, in base axes.
        The derivative is the product rule applied to the same columns.
        """
        check_known("Jacobian variant", VARIANTS, variant)
        path = self.path(body)
        R, p = self.pose(m, body, T)
        J = np.zeros((6, self.n, p.shape[-1]))
        for i in path:
            z = m.R[i][:, 2]
            self.add(J, i, cross(z, p - m.p[i]) if self.turns[i] else z, z)
        J_dot = np.zeros_like(J)
        if rate:
            dp = m.v[body] + cross(m.w[body], p - m.p[body])
            for i in path:
                z = m.R[i][:, 2]
                dz = cross(m.w[i], z)
                lin = cross(dz, p - m.p[i]) + cross(z, dp - m.v[i]) if self.turns[i] else dz
                self.add(J_dot, i, lin, dz)
        if variant == "spatial":
            if rate:
                J_dot[:3] += _cross_columns(dp, J[3:]) + _cross_columns(p, J_dot[3:])
            J[:3] += _cross_columns(p, J[3:])
        if variant == "body":
            if rate:
                w = m.w[body]
                J_dot = np.concatenate([J_dot[:3] - _cross_columns(w, J[:3]), J_dot[3:] - _cross_columns(w, J[3:])])
            J, J_dot = (np.concatenate([into(R, X[:3]), into(R, X[3:])]) for X in (J, J_dot))
        return J_dot if rate else J

    def along(self, q: Array, i: int) -> Array:
        """Row i of E times q (n, N): most rows have one or two entries."""
        total = np.zeros(q.shape[-1], dtype=q.dtype)
        for j, c in self.rows[i]:
            total = total + c * q[j]
        return total

    def add(self, J: Array, i: int, lin: Array, ang: Array) -> None:
        """Add joint i, which moves a frame along lin and turns it about ang (3, N), to a Jacobian (6, n, N)."""
        for j, c in self.rows[i]:
            J[:3, j] += c * lin
            if self.turns[i]:
                J[3:, j] += c * ang


def cross(a: Array, b: Array) -> Array:
    """Cross product of vectors along the first axis."""
    return np.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def times_constant(R: Array, C: Array) -> Array:
    """R C (3, 3, N) for rotations R (3, 3, N) and one constant matrix C (3, 3), which is mostly zeros."""
    out = np.zeros(R.shape, dtype=R.dtype)
    for k in range(3):
        for i in np.flatnonzero(C[:, k]):
            out[:, k] += C[i, k] * R[:, i]
    return out


def apply(R: Array, v: Array) -> Array:
    """R v (3, N) for vectors v (3,) or (3, N)."""
    return np.asarray(R[:, 0] * v[0] + R[:, 1] * v[1] + R[:, 2] * v[2])


def into(R: Array, v: Array) -> Array:
    """R' v: vectors (3, N), or columns (3, n, N), in the axes of R."""
    R = R if v.ndim == 2 else R[:, :, None]
    return np.asarray(R[0] * v[0] + R[1] * v[1] + R[2] * v[2])


def _turned(R: Array, angle: Array) -> Array:
    """R Rz(angle): only two columns change."""
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([c * R[:, 0] + s * R[:, 1], c * R[:, 1] - s * R[:, 0], R[:, 2]], axis=1)


def _cross_columns(a: Array, J: Array) -> Array:
    """a x every column of J (3, n, N)."""
    return cross(a[:, None], J)
