"""Checks of the kinematics services and the Jacobians."""

from __future__ import annotations

import numpy as np

from trocar.robot.conformance.subject import CheckSkipped, Subject, require
from trocar.spatial import Array

SAME_POSE = 1e-3  # [m], entries of rotations; samples of two topics may differ by a cycle
STEP = 1e-4  # step of the numerical derivative [rad, m]
SAME_JACOBIAN = 1e-2  # [m/rad, 1]
OUT_OF_REACH = 10.0  # [m]


def _require_ready(subject: Subject) -> None:
    if not subject.ready:
        raise CheckSkipped("the arm is not enabled and homed: its pose may be invalid")


def forward(subject: Subject) -> None:
    """forward_kinematics agrees with setpoint_cp, takes up to n joints and refuses "too many joints"."""
    _require_ready(subject)
    q = subject.setpoint
    for prefix in ("", "local/"):
        service = f"{prefix}forward_kinematics"
        answer = subject.call(service, q)
        require(answer.result, f"{service} of the setpoint fails: {answer.message!r}")
        error = np.abs(answer.value - subject.read(f"{prefix}setpoint_cp").T).max()
        require(error < SAME_POSE, f"{service} differs from {prefix}setpoint_cp by {error:.2g}")
        for k in range(1, len(q)):
            answer = subject.call(service, q[:k])
            require(answer.result, f"{service} refuses {k} of {len(q)} joints: {answer.message!r}")
        answer = subject.call(service, np.append(q, 0.0))
        require(not answer.result, f"{service} accepts {len(q) + 1} joints")
        require("too many joints" in answer.message, f"{service} of too many joints answers {answer.message!r}")


def inverse(subject: Subject) -> None:
    """inverse_kinematics leads back to the pose; refuses an "incorrect number of joints" and reports failure."""
    _require_ready(subject)
    q, T = subject.setpoint, subject.read("local/setpoint_cp").T
    answer = subject.call("inverse_kinematics", q, T)
    require(answer.result, f"the pose of the setpoint has no solution: {answer.message!r}")
    error = np.abs(subject.call("local/forward_kinematics", answer.value).value - T).max()
    require(error < SAME_POSE, f"the solution misses the pose by {error:.2g}")
    for wrong in (q[:-1], np.append(q, 0.0)):
        answer = subject.call("inverse_kinematics", wrong, T)
        require(not answer.result, f"a seed of {len(wrong)} joints is accepted")
        require(
            "incorrect number of joints" in answer.message, f"a seed of {len(wrong)} joints answers {answer.message!r}"
        )
    far = np.array(T)
    far[0, 3] += OUT_OF_REACH
    answer = subject.call("inverse_kinematics", q, far)
    require(not answer.result, f"a pose {OUT_OF_REACH:g} m away has a solution")
    require("inverse kinematics failed" in answer.message, f"a pose out of reach answers {answer.message!r}")


def jacobian(subject: Subject) -> None:
    """Jacobians are (6, n), linear rows first: body in axes of the tip, spatial at the origin of the base."""
    _require_ready(subject)
    q = np.array(subject.read("measured_js").position)
    body, spatial = _numerical(subject, q)
    for name, expected in (("body", body), ("spatial", spatial)):
        reported = np.asarray(subject.read(f"{name}/jacobian").values)
        require(
            reported.shape == expected.shape, f"{name}/jacobian has shape {reported.shape}, expected {expected.shape}"
        )
        error = np.abs(reported - expected)
        row, column = np.unravel_index(np.argmax(error), error.shape)
        require(
            error.max() < SAME_JACOBIAN,
            f"{name}/jacobian[{row}, {column}] is {reported[row, column]:.4g}, "
            f"the derivative of local/forward_kinematics {expected[row, column]:.4g}",
        )


def _numerical(subject: Subject, q: Array) -> tuple[Array, Array]:
    """Body and spatial Jacobian (6, n) by central differences of local/forward_kinematics."""

    def pose_at(joints: Array) -> Array:
        return np.array(subject.call("local/forward_kinematics", joints).value)

    T = pose_at(q)
    R, p = T[:3, :3], T[:3, 3]
    body, spatial = np.zeros((6, len(q))), np.zeros((6, len(q)))
    for k in range(len(q)):
        dq = STEP * np.eye(len(q))[k]
        dT = (pose_at(q + dq) - pose_at(q - dq)) / (2 * STEP)
        W = dT[:3, :3] @ R.T
        w = 0.5 * np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]])
        v = dT[:3, 3]
        body[:, k] = np.concatenate([R.T @ v, R.T @ w])
        spatial[:, k] = np.concatenate([v - np.cross(w, p), w])
    return body, spatial
