"""The dynamics of Patel et al. 2018: every link is a point mass, moved along a cubic in time."""

from __future__ import annotations

import numpy as np

from trocar.arms.arm import GRAVITY
from trocar.arms.parameters import Inertia, Parameters, load_parameters
from trocar.mechanics import Mechanism, load_mechanism
from trocar.spatial import Array

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
    return Parameters(
        name="patel2018",
        arm="PSM",
        geometry=base.geometry,
        source="Patel et al. 2018, point masses; their values from the arm's CAD model",
        inertias=inertias,
        drives=base.drives[:1],
        path="",
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


def accelerations(mechanism: Mechanism, q: Array, tau: Array) -> Array:
    """Joint accelerations (7,) of the arm, at rest at q (7,), under the efforts tau (6,), with a free jaw."""
    return mechanism.forward_dynamics(q, np.zeros(7), np.array([*tau, 0.0]))
