"""Inertia for links without inertia, so that an explicit integrator can step them.

The inertia of the PSM's wrist was identified as part of the link "insertion"; its joints move the inertia of
their motors, which SDF cannot express. Discs on these links represent the rotors.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from trocar.arms.arm import Arm, poses_at_zero
from trocar.arms.parameters import Inertia
from trocar.simulation.export.links import own_inertias
from trocar.simulation.simulated_arm import SimulatedArm
from trocar.spatial import Array

DISC = np.diag([0.51, 0.51, 1.0])  # inertia of a disc relative to that about its axis; 0.5 for zero thickness
MIN_MASS, MIN_INERTIA = 1e-4, 1e-8  # [kg], [kg m^2] of such a link


def with_discs(simulated: SimulatedArm) -> dict[str, Inertia]:
    """Inertia of every body: that of the parameters, or that of a disc about the joint's axis.

    The non-negative moments of the discs are fitted so that the mass matrix of the joints that drive these
    links is closest to that of their rotors at q = 0.
    """
    arm, inertias = simulated.arm, own_inertias(simulated)
    bare = [body.name for body in arm.bodies if body.name not in inertias]
    moments = dict.fromkeys(bare, 0.0)
    turning = [name for name in bare if arm.body(name).kind == "revolute"]
    drives = simulated.mechanism.drives
    rotors = drives.A.T @ np.diag(drives.Im) @ drives.A
    driven = [arm.driven[name] in turning for name in arm.joint_names]
    joints = np.flatnonzero(np.array(driven) & (np.diag(rotors) > 0.0))
    if joints.size:
        rotors = rotors[np.ix_(joints, joints)]
        columns = [_rates(arm, name)[:, joints] for name in turning]
        upper = np.triu_indices(len(joints))
        # weights between absolute and relative errors: each joint then has its rotor inertia within a factor of two
        size = np.outer(np.diag(rotors), np.diag(rotors))[upper] ** 0.25
        design = np.stack([(W.T @ DISC @ W)[upper] / size for W in columns], axis=1)
        moments |= dict(zip(turning, nnls(design, rotors[upper] / size)[0], strict=True))
    discs = {name: Inertia(mass=MIN_MASS, com=np.zeros(3), I=max(I, MIN_INERTIA) * DISC) for name, I in moments.items()}
    return {body.name: inertias.get(body.name) or discs[body.name] for body in arm.bodies}


def _rates(arm: Arm, name: str) -> Array:
    """Angular velocity (3, n) of a body in its own axes per joint velocity, at q = 0."""
    T = poses_at_zero(arm.bodies)
    W = np.zeros((3, arm.n))
    for carrier in arm.carriers(name):
        body = arm.body(carrier)
        if body.kind == "revolute":
            row = [body.coupling.get(joint, 0.0) for joint in arm.joint_names]
            W += np.outer(T[carrier][:3, 2], row)
    return np.asarray(T[name][:3, :3].T @ W)
