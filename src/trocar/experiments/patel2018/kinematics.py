"""Kinematics as Patel et al. 2018 have them: their table of frames and their two ways to invert it."""

from __future__ import annotations

import numpy as np

from trocar.mechanics import Mechanism
from trocar.spatial import Array, mdh

RCM = np.array([0.4864, 0.0, 0.1524])  # in their base: x from the base to the RCM, z up [m]
BETA = 0.2908  # their beta [rad]; a number is not printed, this is that of the same arm in Gondokaryono et al.
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


def gradient_descent(mechanism: Mechanism, target: Array, q: Array, step: float, iterations: int) -> Array:
    """Position errors [m] of dq = step J' dx on the first three joints, one per iteration."""
    q, errors = q.copy(), []
    for _ in range(iterations):
        dx = target - mechanism.forward_kinematics(q)[:3, 3]
        errors.append(np.linalg.norm(dx))
        q[:3] += step * mechanism.jacobian(q)[:3, :3].T @ dx
    return np.array(errors)


def decoupled(mechanism: Mechanism, q: Array) -> Array:
    """Tip position error [m] of their decoupling, for poses of states q (N, 7).

    They take the wrist for a spherical joint at the tip: position by the first three joints as if the wrist were
    straight, orientation by the last three alone. The wrist has an offset a, so turning it carries the tip away from
    the shaft: by a (x5 - s), s along the shaft and x5 from the wrist's pitch to its yaw axis.
    """
    a = float(mechanism.arm.serial[5].placement[0, 3])
    x_5 = mechanism.pose(q, "wrist_pitch")[:, :3, 0]
    p = mechanism.forward_kinematics(q)[:, :3, 3]
    s = p / np.linalg.norm(p, axis=-1, keepdims=True)
    return np.asarray(np.linalg.norm(a * (x_5 - s), axis=-1))
