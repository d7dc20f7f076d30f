"""Dynamics as Patel et al. 2018 have them: every link a point mass, moved along a cubic in time."""

from __future__ import annotations

import numpy as np

from trocar.arms.parameters import Inertia, Parameters, load_parameters
from trocar.mechanics import Mechanism, load_mechanism
from trocar.spatial import Array

# Point masses at the ends of the links [kg]: the paper prints none; these are the arm's CAD masses (dvrk_env).
POINT_MASSES = {
    "yaw": 1.4705,
    "back": 0.98494,
    "bottom": 0.44569,
    "top": 0.17841,
    "front": 0.074425,
    "end": 2.091,
    "insertion": 0.22491 + 0.19373,
}


def point_mass_parameters() -> Parameters:
    """Every link a point mass at its far end, as in the paper; no friction, no rotors."""
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
    """Efforts (N, 7) while one joint follows t^3 (insertion: a tenth of it) and the others stay at home."""
    scale = 0.1 if joint == 2 else 1.0
    q = np.tile([0.0, 0.0, 0.05, 0.0, 0.0, 0.0, 0.0], (len(t), 1))
    dq, ddq = np.zeros((2, *q.shape))
    q[:, joint] += scale * t**3
    dq[:, joint], ddq[:, joint] = 3 * scale * t**2, 6 * scale * t
    return mechanism.inverse_dynamics(q, dq, ddq)
