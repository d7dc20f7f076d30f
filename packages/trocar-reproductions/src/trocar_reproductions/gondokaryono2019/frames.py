"""Gondokaryono et al. 2019, Tables 1 to 5: printed modified DH parameters and their misprints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from scipy.spatial.transform import Rotation

from trocar.arms import load_arm
from trocar.arms.arm import poses_at_zero
from trocar.arms.suj import SetUpArm, set_up_arms
from trocar.arms.tables import read
from trocar.mechanics import Mechanism
from trocar.mechanics.cart import SetUpChain
from trocar.report import Claim
from trocar.report.claim_table import ClaimTable
from trocar.spatial import Array, inverse, mdh, pose

PI, H = np.pi, np.pi / 2
TABLE = ClaimTable("trocar_reproductions.gondokaryono2019")
FRAMES = "table {table}/frames"
WRIST = {"12": "roll", "13": "wrist_pitch", "14": "finger_left", "15": "finger_right"}  # frames, our links

Row = tuple[float, float, float, float]  # a, alpha, d, theta
Table = dict[str, tuple[str, float, float, float, float]]  # frame -> reference frame, a, alpha, d, theta


def table_1(q: Array, shoulder: float = 0.4166, elbow: float = 0.4318, wrist: float = -0.1302) -> list[Row]:
    """SUJ-PSM1 and 2; Table 2, SUJ-PSM3, with other lengths."""
    return [
        (0.0896, 0, q[0], 0),
        (0, 0, shoulder, q[1]),
        (elbow, 0, 0.1429, q[2]),
        (0.4318, 0, wrist, q[3] + H),
        (0, H, 0.4089, q[4]),
        (0, -H, -0.1029, q[5] - H),
    ]


def table_3(q: Array) -> list[Row]:
    """SUJ-ECM, up to row 6."""
    return [
        (0.0896, 0, q[0], 0),
        (0, 0, 0.4166, q[1]),
        (0.4318, 0, 0.1429, q[2]),
        (0.4318, 0, -0.3459, q[3] + H),
        (0, -0.7853, 0, H),
        (-0.0667, 0, 0, 0),
    ]


def table_4(q: Array, alpha_2: float = -H, beta2: float = 0.2141, beta1: float = 0.2908) -> Table:
    """PSM, corrected: alpha_2 is printed as pi/2, beta2 as 0.3675."""
    q1, q2, q3, q4, q5, q6, jaw = q
    return {
        "1": ("0", 0, H, 0, q1 + H),
        "2": ("1", 0, alpha_2, 0, H),
        "3": ("2", -0.0296, 0, 0, q2 - beta1 - H),
        "4": ("2", 0.0664, 0, 0, q2 - beta1 - H),
        "5": ("2", -0.0296, 0, 0, q2 - beta2 - H),
        "6": ("3", 0.150, 0, 0, -q2 + beta1 + H),
        "7": ("5", 0.1842, 0, 0, -q2 + beta2 + H),
        "8": ("6", 0.516, 0, 0, q2),
        "9": ("8", 0.043, -H, q3 - 0.2881, H),
        "10": ("3", 0, 0, 0, beta1 + H),
        "11": ("10", -0.1, H, 0.6025 * q3, 0),
        "12": ("9", 0, 0, 0.4162, q4 - H),
        "13": ("12", 0, H, 0, q5 - H),
        "14": ("13", -0.0091, H, 0, q6 - jaw / 2 - H),
        "15": ("13", -0.0091, H, 0, q6 + jaw / 2 - H),
    }


def table_5(q: Array, d_1: float = -0.2722, a_4: float = -0.03657, beta1: float = 0.3448) -> Table:
    """ECM, corrected: d_1 is printed as 0.2722, a_4 as 0.03657."""
    q1, q2, q3, q4 = q
    beta2 = 0.3229
    return {
        "1": ("0", 0, H, d_1, q1 + H),
        "2": ("1", -0.0098, -H, 0, H),
        "3": ("1", 0, -H, 0, q2 - beta1),
        "4": ("2", a_4, 0, 0, q2 - beta1 - H),
        "5": ("1", 0, -H, 0, q2 - beta2),
        "6": ("3", 0.3047, 0, 0, -q2 + beta1 + H),
        "7": ("5", 0.3419, 0, 0, -q2 + beta2 + H),
        "8": ("6", 0.3404, 0, 0, q2),
        "9": ("8", 0.103, -H, q3 - 0.0953, PI),
        "10": ("9", 0, 0, 0.3829, q4),
    }


def frames(table: Table) -> dict[str, Array]:
    """Poses of the frames of a table in its frame 0."""
    T = {"0": np.eye(4)}
    for name, (reference, a, alpha, d, theta) in table.items():
        T[name] = T[reference] @ mdh(a, alpha, d, theta)
    return T


def chain(rows: Sequence[Row]) -> Array:
    """Pose of a chain's last frame in its first."""
    T = np.eye(4)
    for row in rows:
        T = T @ mdh(*row)
    return T


def claims() -> list[Claim]:
    """Tables 1 to 5: frames that agree with ours, rounded numbers, and misprints with their effects."""
    return [*_set_up_claims(), *_psm_claims(), *_ecm_claims()]


def _set_up_claims() -> list[Claim]:
    arms, T = set_up_arms("Classic"), _to_rcm("ECM")
    table_2 = partial(table_1, shoulder=0.3404, elbow=0.5842, wrist=0.2571)
    tables: dict[str, tuple[Callable[[Array], list[Row]], str]]
    tables = {"PSM1": (table_1, "SUJ-PSM1 and 2"), "PSM3": (table_2, "SUJ-PSM3"), "ECM": (table_3, "SUJ-ECM")}
    claims = []
    for number, (arm, (table, name)) in enumerate(tables.items(), start=1):
        of = f"Table {number}, frame 6 of {name}"
        claims.append(TABLE.claim(FRAMES, _set_up_distance(arms[arm], table), table=number, of=of))
    theta = float(np.arctan2(T[1, 0], T[0, 0]))
    turned = float(np.linalg.norm(mdh(theta=H)[:3, :3] @ [0, 0.6126, 0] - mdh(theta=theta)[:3, :3] @ [0, 0.6126, 0]))
    return [
        *claims,
        TABLE.claim("table 3/theta of row 7", None, theta=theta, turned=turned),
        TABLE.claim("table 3/d of row 7", T[2, 3], off=1e3 * (0.1029 - T[2, 3])),
    ]


def _psm_claims() -> list[Claim]:
    arm, q = load_arm("PSM", "gondokaryono2019"), np.zeros(7)
    beta1 = np.arccos(poses_at_zero(arm.bodies)["back"][2, 0])
    behind = _pivot_of_insertion(lambda q: frames(table_4(q, alpha_2=H))["9"], q)
    top, mirrored = (frames(table_4(q, beta2=b))["7"][:3, 3] for b in (0.2141, 0.3675))
    frames_off = _distance(Mechanism(arm), table_4, 0.4864)
    apart, turned = _wrist(Mechanism(arm))
    return [
        TABLE.claim(FRAMES, frames_off, table=4, of="Table 4 with alpha_2 and beta2 corrected, frames 1 to 11"),
        *TABLE.claims("table 4/frame {row}", apart),
        *TABLE.claims("table 4/frame {row}, turn", turned),
        TABLE.claim("table 4/beta1", beta1),
        TABLE.claim("table 4/d of frame 9", arm.body("insertion").placement[1, 3]),
        TABLE.claim("table 4/alpha of frame 2", None, behind=behind[1]),
        TABLE.claim("table 4/beta2", None, off=1e3 * np.linalg.norm(mirrored - top)),
    ]


def _ecm_claims() -> list[Claim]:
    arm, q = load_arm("ECM", "gondokaryono2019"), np.zeros(4)
    beta1 = np.arccos(poses_at_zero(arm.bodies)["front"][2, 0])
    centre = _pivot_of_insertion(lambda q: frames(table_5(q, d_1=0.2722))["9"], q)
    bar, mirrored = (frames(table_5(q, a_4=a))["4"][:3, 3] for a in (-0.03657, 0.03657))
    frames_off = _distance(Mechanism(arm), table_5, 0.6126, skip=("9", "10"))
    along = 0.3047 * np.cos(0.3448)
    off = 1e3 * abs(along - 0.3822 + 0.0953)
    return [
        TABLE.claim(FRAMES, frames_off, table=5, of="Table 5 with d_1 and a_4 corrected, frames 1 to 8"),
        TABLE.claim("table 5/beta1", beta1),
        TABLE.claim("table 5/d of frame 9", arm.body("insertion").placement[1, 3], along=along, off=off),
        TABLE.claim("table 5/d of frame 1", None, centre=centre[1]),
        TABLE.claim("table 5/a of frame 4", None, off=1e3 * np.linalg.norm(mirrored - bar)),
    ]


def _set_up_distance(arm: SetUpArm, table: Callable[[Array], list[Row]]) -> float:
    """Largest distance of the last frame from ours, in random poses [m]."""
    q = np.random.default_rng(0).uniform(arm.lower, arm.upper, (200, arm.n))
    # the arm's base without the step to the RCM: beyond the last row of the table
    ours = inverse(arm.T_world_column) @ SetUpChain(arm).T_world_base(q) @ inverse(_to_rcm(arm.name))
    difference = ours - np.array([chain(table(row)) for row in q])
    return float(np.linalg.norm(difference[:, :3, 3], axis=-1).max())


def _to_rcm(arm: str) -> Array:
    """The dVRK's RCM frame relative to the last row of a set-up arm; row 7 of Table 3 gives its rotation and z."""
    entry = read("suj_classic")[arm]["tip_to_rcm"]
    return pose(mdh(theta=entry["rz"])[:3, :3], entry["p"])


def _distance(mechanism: Mechanism, table: Callable[[Array], Table], to_rcm: float, skip: Sequence[str] = ()) -> float:
    """Largest distance between the origin of a numbered link and the table's, over random states [m]."""
    arm, worst = mechanism.arm, 0.0
    T_base_0 = pose(p=[0.0, -to_rcm, 0.0])
    for q in np.random.default_rng(0).uniform(arm.lower, arm.upper, (100, arm.n)):
        printed, ours = frames(table(q)), mechanism.poses(q)
        for body in arm.bodies:
            if body.label and body.label not in skip:
                difference = (T_base_0 @ printed[body.label] - ours[body.name])[:3, 3]
                worst = max(worst, float(np.linalg.norm(difference)))
    return worst


def _wrist(mechanism: Mechanism) -> tuple[list[float], list[float]]:
    """Largest distance [m] and rotation [rad] between frames 12 to 15 and our links, over random states.

    Their x axes point the other way: a constant half turn about z is not counted.
    """
    arm = mechanism.arm
    apart, turned = np.zeros((2, len(WRIST)))
    for q in np.random.default_rng(0).uniform(arm.lower, arm.upper, (100, arm.n)):
        printed, ours = frames(table_4(q)), mechanism.poses(q)
        for i, (number, body) in enumerate(WRIST.items()):
            difference = inverse(ours[body]) @ pose(p=[0.0, -0.4864, 0.0]) @ printed[number] @ mdh(theta=PI)
            apart[i] = max(apart[i], np.linalg.norm(difference[:3, 3]))
            turned[i] = max(turned[i], np.linalg.norm(Rotation.from_matrix(difference[:3, :3]).as_rotvec()))
    return apart.tolist(), turned.tolist()


def _pivot_of_insertion(frame: Callable[[Array], Array], q: Array) -> Array:
    """Point (3,) nearest to the insertion axis (z of a frame) at several yaw and pitch angles [m]."""
    A, b = np.zeros((3, 3)), np.zeros(3)
    for yaw, pitch in ((0, 0), (0.5, 0), (0, 0.5), (-0.4, -0.5)):
        x = q.copy()
        x[:2] = yaw, pitch
        T = frame(x)
        P = np.eye(3) - np.outer(T[:3, 2], T[:3, 2])
        A, b = A + P, b + P @ T[:3, 3]
    return np.linalg.solve(A, b)
