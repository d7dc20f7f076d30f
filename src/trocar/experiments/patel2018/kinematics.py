"""The kinematics of Patel et al. 2018: their table of frames and their two inverse kinematics."""

from __future__ import annotations

import numpy as np
from scipy.optimize import least_squares

from trocar.errors import TrocarError
from trocar.mechanics import Mechanism
from trocar.spatial import Array, mdh

RCM = np.array([0.4864, 0.0, 0.1524])  # in their base: x from the base to the RCM, z up [m]
BETA = 0.2908  # their beta [rad]; not printed, so taken from Gondokaryono et al. for the same arm
JOINTS = 6


def table(q: Array, corrected: bool) -> list[Array]:
    """Poses (4, 4) of their frames 1 to 11 in their base for one q (6,): Fig. 2, standard DH.

    Corrected: row 5 turns by q2 - pi/2, not q2 - beta, and row 8 has the length of the instrument, 0.4162 m.
    """
    q1, q2, q3, q4, q5, q6 = q[:JOINTS]
    half = np.pi / 2
    rows = (
        (0.0, -half, 0.1524, half),
        (0.0, -half, 0.0296, q1 - half),
        (0.150, 0.0, 0.0, q2 - BETA),
        (0.516, 0.0, 0.0, BETA + half - q2),
        (0.2881, 0.0, 0.0, q2 - (half if corrected else BETA)),
        (-0.0430, half, 0.0, -half),
        (0.0, 0.0, q3, half),
        (0.0, half, 0.4162 if corrected else 0.0, q4 + half),
        (0.0091, -half, 0.0, q5 + half),
        (0.0102, 0.0, 0.0, q6),
        (0.0, -half, 0.0, -half),
    )
    T, poses = np.eye(4), []
    for a, alpha, d, theta in rows:
        T = T @ mdh(d=d, theta=theta) @ mdh(a=a, alpha=alpha)
        poses.append(T)
    return poses


def counterweight(q: Array, corrected: bool) -> tuple[Array, Array]:
    """Poses (4, 4) of their frames C1 and C2 in their base, C2 at the ratio 1: Fig. 2, last rows.

    C1 turns with the pitch about its axis, C2 slides along its z. Corrected: C2-int turns by q2 - pi/2, without beta.
    """
    half, T_base_2 = np.pi / 2, table(q, corrected)[1]
    turn = q[1] - half - (0.0 if corrected else BETA)
    T_base_C2 = T_base_2 @ mdh(theta=turn) @ mdh(alpha=-half) @ mdh(d=float(q[2]))
    return T_base_2 @ mdh(theta=float(q[1])), T_base_C2


def unlimited(p: Array, corrected: bool, starts: int = 24) -> Array:
    """All joint values (k, 3) that place the last frame of their table at p (3,) in their base, without joint limits.

    The wrist is straight; angles are within (-pi, pi]. Raises TrocarError if no start of the search converges.
    """
    solutions: list[Array] = []
    for start in np.random.default_rng(0).uniform(-3.0, 3.0, (starts, 3)):
        fit = least_squares(
            lambda x: table(np.array([*x, 0.0, 0.0, 0.0]), corrected)[-1][:3, 3] - p,
            start,
            xtol=1e-15,
            ftol=1e-15,
            gtol=1e-15,
        )
        q = np.array([*(np.pi - (np.pi - fit.x[:2]) % (2 * np.pi)), fit.x[2]])
        if fit.cost < 1e-20 and not any(np.allclose(q, other, atol=1e-6) for other in solutions):
            solutions.append(q)
    if not solutions:
        raise TrocarError(f"no joint values bring the last frame of the table to {p}")
    return np.array(solutions)


def gradient_descent(mechanism: Mechanism, target: Array, q: Array, step: float, iterations: int) -> Array:
    """Position errors [m] of dq = step J' dx on the first three joints, one per iteration."""
    q, errors = q.copy(), []
    for _ in range(iterations):
        dx = target - mechanism.forward_kinematics(q)[:3, 3]
        errors.append(np.linalg.norm(dx))
        q[:3] += step * mechanism.jacobian(q)[:3, :3].T @ dx
    return np.array(errors)


def decoupled(mechanism: Mechanism, q: Array) -> Array:
    """Tip position error [m] of their decoupling, for the poses at q (N, 7).

    They treat the wrist as a spherical joint at the tip: the first three joints set the position as if the wrist were
    straight, the last three set the orientation. The wrist has an offset a, so turning it moves the tip away from the
    shaft by a (x5 - s), with s along the shaft and x5 from the wrist's pitch axis to its yaw axis.
    """
    a = float(mechanism.arm.serial[5].placement[0, 3])
    x_5 = mechanism.pose(q, "wrist_pitch")[:, :3, 0]
    p = mechanism.forward_kinematics(q)[:, :3, 3]
    s = p / np.linalg.norm(p, axis=-1, keepdims=True)
    return np.asarray(np.linalg.norm(a * (x_5 - s), axis=-1))
