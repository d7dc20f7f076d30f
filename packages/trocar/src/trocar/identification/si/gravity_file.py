"""The dVRK's gravity file of a Si PSM: a kinematic file whose links carry `mass`, `cx`, `cy`, `cz`.

Its masses are the published ones, except that of the insertion, which is m3; its centres of mass are moved by the least
first moment that gives the fitted coefficients. The file cannot express constant forces; they are listed separately.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from trocar.arms import load_arm
from trocar.arms.arm import poses_at_zero
from trocar.arms.parameters import Parameters
from trocar.arms.tables import read
from trocar.errors import TrocarError
from trocar.identification.si.gravity import COEFFICIENTS, GravityFit, coefficient_rows
from trocar.identification.si.parameters import links, saw_frames
from trocar.mechanics import Mechanism
from trocar.mechanics.inertia import barycentric
from trocar.spatial import Array, inverse

ARM = "PSM_Si"


def fitted_links(coefficients: Array) -> dict[str, tuple[float, Array]]:
    """Mass [kg] and centre of mass (3,) [m] of every link of the dVRK's table, in its frames; coefficients (5,)."""
    m3 = float(coefficients[4])
    if not (np.isfinite(coefficients).all() and m3 > 0):
        raise TrocarError(f"the mass that moves with the insertion must be positive [kg], got m3 = {m3!r}")
    arm, published = load_arm(ARM), links(ARM)[0]
    bare = Parameters(name="published", arm=ARM, geometry=arm.geometry, source="", inertias=published, drives=())
    K = coefficient_rows(Mechanism(arm, bare))
    scale = {body: m3 / inertia.mass if body == "insertion" else 1.0 for body, inertia in published.items()}
    phi = np.concatenate([scale[body] * barycentric(inertia) for body, inertia in published.items()])
    moments = np.concatenate([10 * k + np.arange(1, 4) for k in range(len(published))])
    step = np.linalg.pinv(K[:4, moments], rcond=1e-9) @ (coefficients - K[:, : len(phi)] @ phi)[:4]
    phi[moments] += step
    ours, theirs = poses_at_zero(arm.bodies), saw_frames(ARM)
    fitted = {}
    for link, entry in read("links_si")[ARM]["saw"].items():
        if "mass" not in entry:
            continue
        k = list(published).index(entry["body"])
        mass, com = phi[10 * k], phi[10 * k + 1 : 10 * k + 4] / phi[10 * k]
        T = inverse(theirs[link]) @ ours[entry["body"]]
        fitted[link] = float(mass), T[:3, :3] @ com + T[:3, 3]
    return fitted


def to_json(fit: GravityFit) -> str:
    """The file: DH rows of the dVRK's closed chain with masses and centres of mass (SI units, radians)."""
    fitted, joints = fitted_links(fit.coefficients), []
    for link, entry in read("links_si")[ARM]["saw"].items():
        a, alpha, d, theta = entry["row"]
        joint: dict[str, Any] = {
            "name": link,
            "type": "prismatic" if link.startswith("insertion") else "revolute",
            "mode": "passive" if link == "intermediate" else "active",
            "alpha": alpha,
            "A": a,
            "theta": theta,
            "D": d,
        }
        if link in fitted:
            mass, (x, y, z) = fitted[link]
            joint |= {"mass": round(mass, 6), "cx": round(x, 6), "cy": round(y, 6), "cz": round(z, 6)}
        elif link == "insertion1":
            joint["mass"] = 0.0
        joints.append(joint)
    about = {
        "made_by": "trocar gravity",
        "coefficients": {name: round(float(v), 6) for name, v in zip(COEFFICIENTS, fit.coefficients, strict=True)},
        "K0": [round(float(v), 6) for v in fit.K0],
        "rms": [round(float(v), 6) for v in fit.rms],
        "poses": len(fit.q),
    }
    return json.dumps({"DH": {"convention": "modified", "joints": joints}, "fit": about}, indent=4) + "\n"
