"""What the joints of the mechanism carry, read from the engine after a step."""

from __future__ import annotations

import mujoco
import numpy as np

from trocar.arms import Arm
from trocar.spatial import Array


def loop_forces(arm: Arm, model: mujoco.MjModel, data: mujoco.MjData) -> dict[str, Array]:
    """Force (3,) [N], base axes, of each loop closure on its second body, in the plane of the linkage."""
    axis = data.body(arm.driven["pitch" if arm.has_rcm else "shoulder_pitch"]).xmat.reshape(3, 3)[:, 2]
    equality = data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY
    forces = {}
    for loop in arm.loops:
        # the rows of a connect are the gap a - b along the world axes; the force on b is against it
        force = -data.efc_force[equality & (data.efc_id == model.equality(loop.name).id)]
        forces[loop.name] = force - axis * (axis @ force)
    return forces


def guide_wrench(model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """Wrench (6,) [N, N m] on the insertion carriage from the link that guides it, about the base origin."""
    mujoco.mj_rnePostConstraint(model, data)
    body = model.body("insertion").id
    moment, force = np.split(data.cfrc_int[body], 2)
    # MuJoCo gives the moment about the centre of mass of the whole arm
    return np.concatenate([force, moment + np.cross(data.subtree_com[model.body_rootid[body]], force)])


def friction_effort(arm: Arm, model: mujoco.MjModel, data: mujoco.MjData, applied: Array) -> Array:
    """Joint efforts (n,) [N m, N] that friction takes: dry, viscous, and what the simulator applies."""
    kinds = (mujoco.mjtConstraint.mjCNSTR_FRICTION_DOF, mujoco.mjtConstraint.mjCNSTR_FRICTION_TENDON)
    dry = np.zeros(model.nv)
    if data.nefc:
        mujoco.mj_mulJacTVec(model, data, dry, np.where(np.isin(data.efc_type, kinds), data.efc_force, 0.0))
    m = len(arm.E)
    return -np.asarray(arm.E.T @ ((dry + data.qfrc_damper)[:m] + applied[:m]))
