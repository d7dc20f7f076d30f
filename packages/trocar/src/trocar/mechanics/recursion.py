"""Rigid-body dynamics of a tree for whole batches of states, projected on the independent joints by E.

Pinocchio has no batch; these are its two recursions (Newton-Euler and composite bodies) written over arrays with the
batch last, in base axes with moments about the base origin, so that no quantity is rotated from link to link.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from trocar.mechanics.kinematics import Motion, Tree, apply, cross, into
from trocar.spatial import Array, skew

_COMPLEX_STEP = 1e-100  # no difference is taken, so the step can be arbitrarily small


class TreeInertia:
    """Masses, centres of mass and central inertias of the bodies of a tree, in their link frames."""

    def __init__(self, mass: Array, com: Array, I: Array) -> None:
        self.mass, self.com, self.I = mass, com, I
        self.massive = [i for i in range(len(mass)) if mass[i] != 0.0 or np.any(I[i])]


def inverse_dynamics(tree: Tree, inertia: TreeInertia, q: Array, dq: Array, ddq: Array, g: Array) -> Array:
    """Joint efforts (n, N) of a motion (n, N) under gravity g (3,): Newton-Euler, forward then backward."""
    motion = tree.motion(q, dq, ddq)
    zero = np.zeros((3, q.shape[-1]))
    f = [zero] * len(tree.names)
    moment = [zero] * len(tree.names)
    for i in inertia.massive:
        r, w, dw = apply(motion.R[i], inertia.com[i]), motion.w[i], motion.dw[i]
        a = motion.dv[i] - g[:, None] + cross(dw, r) + cross(w, cross(w, r))
        w_link, dw_link = into(motion.R[i], w), into(motion.R[i], dw)
        n_link = inertia.I[i] @ dw_link + cross(w_link, inertia.I[i] @ w_link)
        f[i] = inertia.mass[i] * a
        moment[i] = apply(motion.R[i], n_link) + cross(motion.p[i] + r, f[i])
    tau = np.zeros_like(q)
    for i in reversed(range(len(tree.names))):
        lin, ang = joint_axis(tree, motion, i)
        _add(tau, tree.rows[i], _dot(lin, f[i]) + (_dot(ang, moment[i]) if tree.turns[i] else 0.0))
        k = tree.parents[i]
        if k >= 0:
            f[k], moment[k] = f[k] + f[i], moment[k] + moment[i]
    return tau


def mass_and_gravity(tree: Tree, inertia: TreeInertia, q: Array, g: Array) -> tuple[Array, Array]:
    """Mass matrix (n, n, N) and gravity efforts (n, N): composite bodies, from the leaves to the base."""
    motion = tree.motion(q)
    N, count = q.shape[-1], len(tree.names)
    mass = [0.0] * count
    h = [np.zeros((3, N)) for _ in range(count)]  # first moment about the base origin
    L = [np.zeros((3, 3, N)) for _ in range(count)]  # inertia about the base origin
    for i in inertia.massive:
        c = motion.p[i] + apply(motion.R[i], inertia.com[i])
        R = motion.R[i]
        RI = np.einsum("ikn,kl->iln", R, inertia.I[i])
        mass[i], h[i] = float(inertia.mass[i]), inertia.mass[i] * c
        L[i] = np.einsum("iln,jln->ijn", RI, R) + inertia.mass[i] * (
            _dot(c, c) * np.eye(3)[:, :, None] - c[:, None] * c[None]
        )
    M, tau = np.zeros((tree.n, tree.n, N)), np.zeros((tree.n, N))
    axes = [joint_axis(tree, motion, i) for i in range(count)]
    for i in reversed(range(count)):
        k = tree.parents[i]
        if k >= 0:
            mass[k], h[k], L[k] = mass[k] + mass[i], h[k] + h[i], L[k] + L[i]
        if mass[i] == 0.0 and not L[i].any():
            continue
        lin, ang = axes[i]
        if tree.turns[i]:
            momentum = mass[i] * lin + cross(ang, h[i])
            spin = sum(L[i][:, c] * ang[c] for c in range(3)) + cross(h[i], lin)
        else:
            momentum, spin = mass[i] * lin, cross(h[i], lin)
        weight = mass[i] * _dot(lin, g[:, None])
        if tree.turns[i]:
            weight = weight + _dot(ang, cross(h[i], g[:, None] + np.zeros((3, N))))
        _add(tau, tree.rows[i], -weight)
        for j in tree.path(i):
            entry = _dot(axes[j][0], momentum)
            if tree.turns[j]:
                entry = entry + _dot(axes[j][1], spin)
            for a, c_a in tree.rows[i]:
                for b, c_b in tree.rows[j]:
                    M[a, b] += c_a * c_b * entry
                    if i != j:
                        M[b, a] += c_a * c_b * entry
    return M, tau


def regressor(tree: Tree, bodies: list[int], q: Array, dq: Array, ddq: Array, g: Array) -> Array:
    """Y (n, 10 len(bodies), N) with efforts = Y phi, phi the barycentric parameters of those bodies.

    Each body's wrench about its own origin is linear in phi; its body Jacobian turns it into joint efforts.
    """
    motion = tree.motion(q, dq, ddq)
    N = q.shape[-1]
    Y = np.zeros((tree.n, 10 * len(bodies), N), dtype=q.dtype)
    for k, b in enumerate(bodies):
        R = motion.R[b]
        a, w, dw = (into(R, x) for x in (motion.dv[b] - g[:, None], motion.w[b], motion.dw[b]))
        Y[:, 10 * k : 10 * (k + 1)] = np.einsum("ijn,ikn->jkn", _body_jacobian(tree, motion, b), _wrench(a, w, dw))
    return Y


def regressor_derivatives(
    tree: Tree, bodies: list[int], q: Array, dq: Array, ddq: Array, g: Array
) -> tuple[Array, Array]:
    """Y of `regressor`, and its derivatives (3, n, n, 10 len(bodies), N) by q, dq and ddq of each joint.

    Uses complex steps, which are exact to rounding because the regressor is analytic in the state. Entries of joints
    that move none of the bodies stay zero.
    """
    n, N = q.shape
    moving = [j for j in range(n) if any(tree.E[i, j] for b in bodies for i in tree.path(b))]
    states = np.repeat(np.stack([q, dq, ddq]).astype(complex)[:, :, None], 3 * len(moving), axis=2)
    for d, (k, j) in enumerate((k, j) for k in range(3) for j in moving):
        states[k, j, d] += 1j * _COMPLEX_STEP
    flat = states.reshape(3, n, -1)
    Y = regressor(tree, bodies, flat[0], flat[1], flat[2], g).reshape(n, 10 * len(bodies), 3, len(moving), N)
    derivatives = np.zeros((3, n, n, 10 * len(bodies), N))
    derivatives[:, moving] = np.moveaxis(Y.imag, (2, 3), (0, 1)) / _COMPLEX_STEP
    return Y[:, :, 0, 0].real.copy(), derivatives


@dataclass(frozen=True)
class BaseParameters:
    """`Y @ phi == Y[..., independent] @ (B @ phi)` for every state.

    Attributes:
        independent: (b,) indices of columns of the regressor that are independent.
        B: (b, p), maps all parameters to base parameters.
    """

    independent: Array
    B: Array

    def __len__(self) -> int:
        return len(self.independent)


def base_parameters(
    regressor: Callable[[Array, Array, Array], Array], lower: Array, upper: Array, states: int = 400
) -> BaseParameters:
    """Base parameters by rank-revealing QR of the regressor stacked over random states.

    The rank is read from the singular values of the column-scaled stack, at a gap that must be wide.
    """
    rng = np.random.default_rng(0)
    q = rng.uniform(lower, upper, (states, len(lower)))
    dq, ddq = rng.normal(size=(2, *q.shape))
    W = regressor(q, dq, ddq)
    W = W.reshape(-1, W.shape[-1])
    scale = np.linalg.norm(W, axis=0)
    seen = scale > 1e-10 * scale.max()  # the other columns are zero up to rounding
    W = np.where(seen, W, 0.0) / np.where(seen, scale, 1.0)
    R, order = scipy.linalg.qr(W, mode="r", pivoting=True)
    values = np.linalg.svd(R[: W.shape[1]], compute_uv=False)  # equal to those of W, which is tall while R is small
    rank = int((values > 1e-9 * values[0]).sum())
    independent, dependent = np.sort(order[:rank]), order[rank:]
    # keep columns in the order of `independent`, so that names stay in reading order
    Q, R1 = np.linalg.qr(W[:, independent])
    K = scipy.linalg.solve_triangular(R1, Q.T @ W[:, dependent])
    B = np.zeros((rank, W.shape[1]))
    B[np.arange(rank), independent] = 1.0
    B[:, dependent] = np.where(seen[dependent], K * scale[dependent], 0.0) / scale[independent][:, None]
    return BaseParameters(independent, B)


def joint_axis(tree: Tree, motion: Motion, i: int) -> tuple[Array, Array]:
    """Twist of joint i at the base origin: linear and angular part (3, N)."""
    z = motion.R[i][:, 2]
    return (cross(motion.p[i], z), z) if tree.turns[i] else (z, np.zeros_like(z))


def _wrench(a: Array, w: Array, dw: Array) -> Array:
    """W (6, 10, N): force and moment about the origin of a body, linear in its phi, in link axes."""
    N = a.shape[-1]
    S_w, S_dw, S_a = (np.moveaxis(skew(x.T), 0, -1) for x in (w, dw, a))
    W = np.zeros((6, 10, N), dtype=a.dtype)
    W[:3, 0] = a
    W[:3, 1:4] = S_dw + np.einsum("ijn,jkn->ikn", S_w, S_w)
    W[3:, 1:4] = -S_a
    A, B = _inertia_columns(dw), _inertia_columns(w)
    W[3:, 4:] = A + np.einsum("ijn,jkn->ikn", S_w, B)
    return W


def _inertia_columns(w: Array) -> Array:
    """(3, 6, N) with L w = columns @ (Lxx, Lxy, Lxz, Lyy, Lyz, Lzz)."""
    x, y, z = w
    o = np.zeros_like(x)
    return np.array([[x, y, z, o, o, o], [o, x, o, y, z, o], [o, o, x, o, y, z]])


def _body_jacobian(tree: Tree, motion: Motion, body: int) -> Array:
    """Jacobian (6, n, N) of a body frame, in the axes of the body."""
    J = np.zeros((6, tree.n, motion.p[body].shape[-1]), dtype=motion.p[body].dtype)
    for i in tree.path(body):
        z = motion.R[i][:, 2]
        lin = into(motion.R[body], cross(z, motion.p[body] - motion.p[i]) if tree.turns[i] else z)
        tree.add(J, i, lin, into(motion.R[body], z))
    return J


def _dot(a: Array, b: Array) -> Array:
    return np.asarray(a[0] * b[0] + a[1] * b[1] + a[2] * b[2])


def _add(tau: Array, row: list[tuple[int, float]], value: Array) -> None:
    for j, c in row:
        tau[j] += c * value
