"""Every motion predicted from the other motions only: cables and the polynomial with play operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from trocar.identification.wrist import JointPairs, WristScore, identify_wrist, score
from trocar.identification.wrist.fit import SETTLE, MotionRows
from trocar.mechanics import Mechanism
from trocar_reproductions.hwang2020 import play_polynomial


def left_out(
    motions: Sequence[JointPairs], mechanism: Mechanism, progress: Callable[[str], None]
) -> tuple[list[WristScore], list[float]]:
    """Scores of the cables, and tip errors of the polynomial with all offsets removed [m], motion by motion."""
    scores, polynomial = [], []
    for k, motion in enumerate(motions):
        progress(f"without motion {motion.name}")
        others = [other for j, other in enumerate(motions) if j != k]
        wrist = identify_wrist(others, mechanism, motion.name, "the other motions", folds=0)
        scores.append(score(motion, wrist.cables, wrist.registration, mechanism))
        rows = [MotionRows(other, np.arange(len(other.command)) >= SETTLE) for other in others]
        polynomial.append(tip_error(motion, play_polynomial.fitted(rows), mechanism))
    return scores, polynomial


def tip_error(
    motion: JointPairs, coefficients: np.ndarray, mechanism: Mechanism, used: np.ndarray | None = None
) -> float:
    """Mean tip error [m] of the polynomial on the used rows (default: all), with all offsets removed."""
    rows = np.ones(len(motion.command), dtype=bool) if used is None else used
    q = np.zeros((2, int(rows.sum()), mechanism.n))
    q[0, :, :6] = play_polynomial.predicted(MotionRows(motion, rows), coefficients)
    q[1, :, :6] = motion.seen[rows]
    tips = mechanism.forward_kinematics(q)[..., :3, 3]
    return float(np.linalg.norm(tips[0] - tips[1], axis=-1).mean())
