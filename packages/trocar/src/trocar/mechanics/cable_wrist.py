"""The wrist behind its cables: rest positions of the joints along a motion of the motors, and their inverse.

Rate-independent. With r = G q_motor, the joints q and the friction contacts s come to rest where

    1/2 (r - q)' S (r - q) + sum_i (q_i - s_i)^2 / (2 d_i) + sum_i F_i |s_i - s_i,previous|

is smallest. With d_i = 0 the contact is rigid, s_i = q_i. In terms of the friction torques f, |f_i| <= F_i,

    q = r - C f,  s = r - (C + diag(d)) f,  C = inverse of S,

and f solves a quadratic program with bounds. It has three unknowns, so that all 27 sets of sliding joints are solved
in advance, and a rest position is the one that meets the conditions of optimality: exact, without iterations.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from trocar.arms.wrist_cables import WristCables
from trocar.errors import TrocarError
from trocar.spatial import Array

PATTERNS = np.array(list(product((0, 1, -1), repeat=3)))  # (27, 3): 0 sticks, +-1 slides in this direction
_FREE = (PATTERNS == 0).ravel()


class WristState(NamedTuple):
    """Joints q, friction contacts s (..., 3) [rad] and friction torques f (..., 3) [N m] of a wrist at rest."""

    q: Array
    s: Array
    f: Array


class CableWrist:
    """Equations of `WristCables`. Joints are (..., 3): roll, wrist pitch, wrist yaw [rad]."""

    def __init__(self, cables: WristCables) -> None:
        self.cables = cables
        self._C = np.linalg.inv(cables.stiffness)

    def relaxed(self, q_motor: ArrayLike) -> WristState:
        """The wrist with motors at q_motor (..., 3), before any friction acts: q = s = G q_motor."""
        q = _three(q_motor, "q_motor") @ self.cables.coupling.T
        return WristState(q, q, np.zeros_like(q))

    def rest(self, q_motor: ArrayLike, start: WristState | None = None, load: ArrayLike = 0.0) -> WristState:
        """Rest positions (..., T, 3) along motor positions (..., T, 3), one after the other.

        Args:
            start: state before the first row. Default: relaxed at the first row.
            load: external torques (..., T, 3) at the joints [N m].
        """
        q_motor = _three(q_motor, "q_motor")
        r = q_motor @ self.cables.coupling.T + np.broadcast_to(load, q_motor.shape) @ self._C
        s = self.relaxed(q_motor[..., 0, :]).s if start is None else start.s
        f = friction_torques(r, self._C, self.cables.friction, self.cables.presliding, s)
        q = r - f @ self._C
        return WristState(q, q - f * self.cables.presliding, f)

    def compensated(self, goal: ArrayLike, start: WristState, load: ArrayLike = 0.0) -> tuple[Array, WristState]:
        """Motor positions (T, 3) whose rest positions are the goals (T, 3), and the states there.

        In closed form: the goal moves each friction contact by itself, and the cables must carry its torque.
        """
        goal, F, d = _three(goal, "goal"), self.cables.friction, self.cables.presliding
        f, s = np.empty_like(goal), start.s
        torque, elastic = start.f, d > 0.0
        for k, q in enumerate(goal):
            path = q - s
            torque = np.where(
                elastic,
                np.clip(path / np.where(elastic, d, 1.0), -F, F),
                np.where(path == 0.0, torque, F * np.sign(path)),
            )
            f[k], s = torque, q - d * torque
        r = goal + (f - np.broadcast_to(load, goal.shape)) @ self._C
        return np.linalg.solve(self.cables.coupling, r.T).T, WristState(goal, goal - d * f, f)

    def energy(self, q_motor: ArrayLike, state: WristState) -> Array:
        """Elastic energy (...) of cables and friction contacts [J]."""
        x = _three(q_motor, "q_motor") @ self.cables.coupling.T - state.q
        d = self.cables.presliding
        slip = np.divide((state.q - state.s) ** 2, d, out=np.zeros_like(state.q), where=d > 0.0)
        return 0.5 * (np.einsum("...i,ij,...j->...", x, self.cables.stiffness, x) + slip.sum(-1))


def friction_torques(r: Array, C: Array, F: Array, presliding: Array, s: Array) -> Array:
    """Friction torques (..., T, 3) [N m] along cable positions r (..., T, 3), from contacts at s (..., 3) [rad].

    Compliance C (..., 3, 3), friction F and presliding (..., 3) may have leading axes: many wrists at once.
    """
    shape = np.broadcast_shapes(r.shape[:-2], C.shape[:-2], F.shape[:-1], presliding.shape[:-1], s.shape[:-1])
    T = r.shape[-2]

    def flat(x: Array, *tail: int) -> Array:
        return np.broadcast_to(x, (*shape, *tail)).reshape(-1, *tail)

    Q, bound = flat(C + presliding[..., None] * np.eye(3), 3, 3), flat(F, 3)
    rows, contact = flat(r, T, 3), flat(s, 3)
    (K, k), (U, u) = friction_solutions(Q, bound)
    f, every = np.empty((len(rows), T, 3)), np.arange(len(rows))
    for t in range(T):
        w = rows[:, t] - contact
        value = (U @ w[:, :, None])[..., 0] + u
        best = (np.where(_FREE, np.abs(value) - 1.0, value)).reshape(-1, 27, 3).max(-1).argmin(-1)
        torque = (K[every, best] @ w[:, :, None])[..., 0] + k[every, best]
        f[:, t] = torque
        contact = rows[:, t] - (Q @ torque[:, :, None])[..., 0]
    return f.reshape(*shape, T, 3)


def friction_solutions(Q: Array, F: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Solutions of all 27 `PATTERNS` of sliding for Q (B, 3, 3) and F (B, 3), as linear maps of w = r - s_previous.

    Returns K (B, 27, 3, 3), k (B, 27, 3) with f = K w + k, and U (B, 81, 3), u (B, 81) with the conditions U w + u: of
    a contact that sticks its torque over F, to lie in [-1, 1]; of one that slides the distance still to go against
    its direction, relative to its play, not to be positive.
    """
    K, k = np.zeros((len(Q), 27, 3, 3)), np.zeros((len(Q), 27, 3))
    U, u = np.zeros((len(Q), 27, 3, 3)), np.zeros((len(Q), 27, 3))
    scale = F + 1e-9 * F.max(-1, keepdims=True) + 1e-300  # frictionless joints always slide
    for p, direction in enumerate(PATTERNS):
        free, sliding = np.flatnonzero(direction == 0), np.flatnonzero(direction)
        k[:, p, sliding] = direction[sliding] * F[:, sliding]
        if free.size:
            inverse = np.linalg.inv(Q[:, free[:, None], free])
            K[:, p, free[:, None], free] = inverse
            k[:, p, free] = -(inverse @ (Q[:, free[:, None], sliding] @ k[:, p, sliding, None]))[..., 0]
        U[:, p], u[:, p] = K[:, p] / scale[..., None], k[:, p] / scale
        ahead, constant = np.eye(3) - Q @ K[:, p], -(Q @ k[:, p, :, None])[..., 0]
        play = np.diagonal(Q, axis1=1, axis2=2) * scale
        U[:, p, sliding] = -(direction / play)[:, sliding, None] * ahead[:, sliding]
        u[:, p, sliding] = -(direction / play)[:, sliding] * constant[:, sliding]
    return (K, k), (U.reshape(len(Q), 81, 3), u.reshape(len(Q), 81))


def _three(value: ArrayLike, name: str) -> Array:
    array = np.asarray(value, dtype=float)
    if array.ndim < 1 or array.shape[-1] != 3 or not np.isfinite(array).all():
        raise TrocarError(f"{name} must hold roll, wrist pitch and wrist yaw [rad], finite; got shape {array.shape}")
    return array
