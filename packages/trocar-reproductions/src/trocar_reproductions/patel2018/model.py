"""The model of Patel et al. 2018: their table of frames, their inverse kinematics, links as point masses."""

from __future__ import annotations

import numpy as np
import scipy

from trocar.arms.arm import GRAVITY
from trocar.arms.parameters import Inertia, Parameters, load_parameters
from trocar.errors import TrocarError
from trocar.mechanics import Mechanism, load_mechanism
from trocar.spatial import Array, mdh

RCM = np.array([0.4864, 0.0, 0.1524])  # in their base: x from the base to the RCM, z up [m]
BETA = 0.2908  # their beta [rad]; not printed, so taken from Gondokaryono et al. for the same arm
JOINTS = 6
# Point masses at the ends of the links [kg]. The paper prints none; these are the CAD masses of the arm and of its
# needle driver (dvrk_env).
POINT_MASSES = {
    "yaw": 1.4705,
    "back": 0.98494,
    "bottom": 0.44569,
    "top": 0.17841,
    "front": 0.074425,
    "end": 2.091,
    "insertion": 0.22491 + 0.19373,
    "roll": 3.43e-4,
    "wrist_pitch": 2.49e-4,
    "wrist_yaw": 6.6e-6,
    "finger_left": 3.9e-5,
    "finger_right": 3.9e-5,
}
WRIST = 0.0091  # between the wrist's axes [m], row 9 of Fig. 2
JAW = 0.0102  # from the wrist's yaw axis to the tips of the jaws [m], row 10 of Fig. 2
BENT = 0.5  # wrist pitch while the roll moves: with a straight wrist the roll needs no torque [rad]


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
    exact = dict.fromkeys(("xtol", "ftol", "gtol"), 1e-15)
    for start in np.random.default_rng(0).uniform(-3.0, 3.0, (starts, 3)):
        fit = scipy.optimize.least_squares(lambda x: table(np.pad(x, (0, 3)), corrected)[-1][:3, 3] - p, start, **exact)
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


# -- dynamics ----------------------------------------------------------------------------------------------------------
def point_mass_parameters() -> Parameters:
    """A model with every link as a point mass at its far end, as in the paper; no friction, no rotors."""
    base = load_parameters("PSM", "wang2019")
    arm = load_mechanism("PSM").arm
    ends = {
        "yaw": arm.body("back").placement[:3, 3],
        "back": arm.body("bottom").placement[:3, 3],
        "bottom": arm.body("end").placement[:3, 3],
        "top": np.array(arm.loops[0].point_a),
        "front": np.array(arm.loops[1].point_a),
        "end": np.array([*arm.body("insertion").placement[:2, 3], 0.0]),
        "insertion": arm.body("roll").placement[:3, 3],
        "roll": arm.body("wrist_pitch").placement[:3, 3],
        "wrist_pitch": arm.body("wrist_yaw").placement[:3, 3],
        **dict.fromkeys(("wrist_yaw", "finger_left", "finger_right"), np.array([0.0, JAW, 0.0])),
    }
    inertias = {
        name: Inertia(mass=mass, com=ends[name].copy(), I=np.zeros((3, 3))) for name, mass in POINT_MASSES.items()
    }
    source = "Patel et al. 2018, point masses; their values from the arm's CAD model"
    drives = base.drives[:1]
    return Parameters(
        name="patel2018", arm="PSM", geometry=base.geometry, source=source, inertias=inertias, drives=drives
    )


def torque_along(mechanism: Mechanism, joint: int, t: Array) -> Array:
    """Efforts (N, 7) while one joint follows t^3 (insertion: a tenth of it) and the others stay at home.

    While the roll moves, the wrist is bent by `BENT`.
    """
    scale = 0.1 if joint == 2 else 1.0
    q = np.tile([0.0, 0.0, 0.05, 0.0, BENT if joint == 3 else 0.0, 0.0, 0.0], (len(t), 1))
    dq, ddq = np.zeros((2, *q.shape))
    q[:, joint] += scale * t**3
    dq[:, joint], ddq[:, joint] = 3 * scale * t**2, 6 * scale * t
    return mechanism.inverse_dynamics(q, dq, ddq)


def by_hand(joint: int, t: Array) -> Array:
    """Effort (N,) of insertion, roll, wrist pitch or wrist yaw along `torque_along`: Euler-Lagrange for one joint.

    The insertion is a mass on a vertical slide, the wrist joints are pendulums, and the roll axis is vertical.
    """
    angle, ddq = t**3, 6 * t
    jaws = POINT_MASSES["wrist_yaw"] + POINT_MASSES["finger_left"] + POINT_MASSES["finger_right"]
    wrist = {WRIST: POINT_MASSES["wrist_pitch"], WRIST + JAW: jaws}  # masses by their distance from the pitch axis [m]
    first, second = (sum(m * r**power for r, m in wrist.items()) for power in (1, 2))
    if joint == 2:
        mass = sum(POINT_MASSES[name] for name in ("insertion", "roll", "wrist_pitch")) + jaws
        return np.asarray(mass * (0.1 * ddq - GRAVITY))
    if joint == 3:
        return np.asarray(second * np.sin(BENT) ** 2 * ddq)
    if joint == 4:
        return np.asarray(second * ddq + GRAVITY * first * np.sin(angle))
    return np.asarray(jaws * (JAW**2 * ddq + GRAVITY * JAW * np.sin(angle)))
