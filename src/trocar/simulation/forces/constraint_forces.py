"""What the joints of the mechanism carry, read from the engine after a step."""

from __future__ import annotations

import mujoco
import numpy as np

from trocar.simulation.arm_slice import ArmSlice
from trocar.spatial import Array


def loop_forces(part: ArmSlice) -> dict[str, Array]:
    """Force (3,) [N], base axes, of each loop closure on its second body, in the plane of the linkage."""
    arm, data = part.arm, part.engine.data
    equality = data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY
    forces = {}
    for loop in arm.loops:
        axis = data.xmat[part.body(loop.body_a)].reshape(3, 3)[:, 2]  # the joints of a loop are parallel
        # the rows of a connect are the gap a - b along the world axes; the force on b is against it
        force = -data.efc_force[equality & (data.efc_id == part.equality(loop.name))]
        forces[loop.name] = part.to_base(force - axis * (axis @ force))
    return forces


def guide_wrench(part: ArmSlice) -> Array:
    """Wrench (6,) [N, N m] on the insertion carriage from the link that guides it, about the base origin."""
    model, data = part.engine.model, part.engine.data
    mujoco.mj_rnePostConstraint(model, data)
    body = part.body("insertion")
    moment, force = np.split(data.cfrc_int[body], 2)
    # MuJoCo gives the moment about the centre of mass of the whole arm
    lever = data.subtree_com[model.body_rootid[body]] - data.xpos[part.base]
    return np.concatenate([part.to_base(force), part.to_base(moment + np.cross(lever, force))])


def friction_effort(part: ArmSlice, applied: Array) -> Array:
    """Joint efforts (n,) [N m, N] that friction takes: dry, viscous, and what the simulator applies."""
    kinds = (mujoco.mjtConstraint.mjCNSTR_FRICTION_DOF, mujoco.mjtConstraint.mjCNSTR_FRICTION_TENDON)
    model, data, E = part.engine.model, part.engine.data, part.arm.E
    dry = np.zeros(model.nv)
    if data.nefc:
        mujoco.mj_mulJacTVec(model, data, dry, np.where(np.isin(data.efc_type, kinds), data.efc_force, 0.0))
    m = len(E)
    return -np.asarray(E.T @ ((dry + data.qfrc_damper)[part.v][:m] + applied[:m]))
