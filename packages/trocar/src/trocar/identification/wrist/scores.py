"""Errors of a wrist's model on a motion, in joints and at the tip."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trocar.arms.wrist_cables import WristCables
from trocar.identification.wrist.fit import ARM, SETTLE, WRIST, IdentifiedWrist, JointRegistration, bends
from trocar.identification.wrist.joint_pairs import JointPairs
from trocar.mechanics import CableWrist, Mechanism
from trocar.spatial import Array


@dataclass(frozen=True, kw_only=True)
class WristScore:
    """Mean distances between the seen tip and that of other joints [m], and what remains of the wrist.

    Attributes:
        name, rows: of the motion.
        raw: commanded joints. offset: commanded joints, less the mean error of each joint in this motion.
        wrist: rest positions of the cables, less the mean error of each wrist joint in this motion.
        registered: the same, and all joints by the registration of the fit, without offsets of the arm's joints.
        own: the same, less the mean error of each arm joint in this motion.
        residual: (3,) standard deviation of seen less registered roll, wrist pitch and wrist yaw [rad].
    """

    name: str
    rows: int
    raw: float
    offset: float
    wrist: float
    registered: float
    own: float
    residual: Array


def modelled_wrist(cables: WristCables, motion: JointPairs, used: Array | None = None) -> Array:
    """Rest positions (N, 3) [rad], relaxed at the first row, with the mean error of the used rows removed."""
    return _without_offset(CableWrist(cables).rest(motion.command[:, WRIST]).q, motion, used)


def score(
    motion: JointPairs,
    cables: WristCables,
    registration: JointRegistration,
    mechanism: Mechanism,
    used: Array | None = None,
) -> WristScore:
    """Score of cables and registration on the used rows (N,) of a motion (default: all)."""
    rows = np.ones(len(motion.command), dtype=bool) if used is None else used
    command, seen = motion.command[rows], motion.seen[rows]
    wrist = modelled_wrist(cables, motion, used)
    bent = _without_offset(wrist + bends(motion.command) @ registration.wrist.T, motion, used)[rows]
    arm, tip = registration.arm_joints(command), _tips(mechanism, seen)

    def error(*q: Array) -> float:
        return float(np.linalg.norm(_tips(mechanism, np.column_stack(q)) - tip, axis=1).mean())

    return WristScore(
        name=motion.name,
        rows=len(command),
        raw=error(command),
        offset=error(command + (seen - command).mean(0)),
        wrist=error(command[:, ARM], wrist[rows]),
        registered=error(arm, bent),
        own=error(arm + (seen[:, ARM] - arm).mean(0), bent),
        residual=(seen[:, WRIST] - bent).std(0),
    )


def held_out_scores(wrist: IdentifiedWrist, mechanism: Mechanism) -> list[WristScore]:
    """Scores of the held-out rows of every fold."""
    return [
        score(rows.motion, cables, registration, mechanism, rows.used) for rows, cables, registration in wrist.folds
    ]


def _without_offset(q: Array, motion: JointPairs, used: Array | None) -> Array:
    """Wrist joints (N, 3) with the mean error of the used rows removed; default: those after the unknown start."""
    error = motion.seen[:, WRIST] - q
    return q + (error[SETTLE:] if used is None else error[used]).mean(0)


def _tips(mechanism: Mechanism, q: Array) -> Array:
    joints = np.zeros((len(q), mechanism.n))
    joints[:, : q.shape[1]] = q
    return mechanism.forward_kinematics(joints)[:, :3, 3]
