"""Frames of Table I of Zhou et al. 2025, row by row as printed, compared with those of our arm."""

from __future__ import annotations

from math import pi

import numpy as np

from trocar.arms.instruments import load_instrument
from trocar.arms.tables import geometry, read
from trocar.mechanics import Mechanism
from trocar.spatial import Array, mdh

# Frame of the table -> our body, and the constant rotation about z from the frame to the body [rad]. Frames
# 1', 2' and 2''' carry no link.
BODIES = {
    "1": ("yaw", 0.0),
    "2": ("back", 0.0),
    "2''": ("middle", 0.0),
    "2''''": ("end", 0.0),
    "3": ("insertion", 0.0),
    "3'": ("carriage", 0.0),
    "4": ("roll", pi),
    "5": ("wrist_pitch", 0.0),
    "6": ("finger_left", pi),
    "7": ("finger_right", pi),
}


def printed_frames(q: Array) -> dict[str, Array]:
    """Poses (4, 4) of the printed frames in frame 0; q (7,): q1 to q5, then the two fingers q6 and q7 [rad, m].

    Table I prints symbols; the lengths are the dVRK's (geometry zhou2025, instrument 420006).
    """
    l, tool = geometry("PSM_Si", read("psm_si"), None, "zhou2025").lengths, load_instrument("420006", "PSM_Si")
    q1, q2, q3, q4, q5, q6, q7 = q
    half = pi / 2
    # i: reference, a_(i-1), alpha_(i-1), d_i, theta_i
    table = {
        "1": ("0", 0.0, half, 0.0, q1 + half),
        "1'": ("1", -l["l_1H"], -half, 0.0, half),
        "2": ("1'", l["l_1L"], 0.0, 0.0, q2 - half),
        "2'": ("2", l["l_2L0"], half, l["l_2H0"], 0.0),
        "2''": ("2'", 0.0, -half, 0.0, -q2 + half),
        "2'''": ("2''", l["l_2L1"], half, l["l_2H1"], 0.0),
        "2''''": ("2'''", 0.0, -half, 0.0, q2),
        "3": ("2''''", l["l_2L2"], -half, q3 + l["l_c2"], 0.0),
        "3'": ("3", -l["l_3L"], 0.0, l["l_3H"] - q3 / 2, 0.0),
        "4": ("3", 0.0, 0.0, tool.d_roll, q4),
        "5": ("4", 0.0, half, 0.0, q5 + half),
        "6": ("5", tool.a_wrist, -half, 0.0, q6 + half),
        "7": ("5", tool.a_wrist, -half, 0.0, q7 + half),
    }
    T = {"0": np.eye(4)}
    for frame, (reference, a, alpha, d, theta) in table.items():
        T[frame] = T[reference] @ mdh(a=a, alpha=alpha, d=d, theta=theta)
    return T


def frame_errors(mechanism: Mechanism, states: int = 50) -> dict[str, float]:
    """Largest difference of an entry of the pose [m, 1] between each printed frame and our body, random states."""
    arm = mechanism.arm
    l = geometry("PSM_Si", read("psm_si"), None, "zhou2025").lengths
    origin = np.array([0.0, l["l_1L"] + l["l_2L1"], 0.0])  # the remote centre in frame 0
    worst = dict.fromkeys(BODIES, 0.0)
    for q in np.random.default_rng(0).uniform(arm.lower, arm.upper, (states, arm.n)):
        fingers = q[5] + np.array([-0.5, 0.5]) * q[6]
        frames = printed_frames(np.concatenate([q[:5], fingers]))
        for frame, (body, turn) in BODIES.items():
            T = frames[frame] @ mdh(theta=turn)
            T[:3, 3] -= origin
            worst[frame] = max(worst[frame], float(np.abs(mechanism.pose(q, body) - T).max()))
    return worst
