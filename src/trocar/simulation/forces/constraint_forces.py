"""Forces in the joints of the mechanism, read from the engine after a step."""

from __future__ import annotations

import mujoco
import numpy as np

from trocar.simulation.arm_slice import ArmSlice
from trocar.spatial import Array


def loop_forces(arm_slice: ArmSlice) -> dict[str, Array]:
    """Force (3,) [N], base axes, of each loop closure on its second body, in the plane of the linkage."""
    arm, data = arm_slice.arm, arm_slice.engine.data
    equality = data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY
    forces = {}
    for loop in arm.loops:
        axis = data.xmat[arm_slice.body(loop.body_a)].reshape(3, 3)[:, 2]  # the joints of a loop are parallel
        # the rows of a connect are the gap a - b along the world axes; the force on b opposes it
        force = -data.efc_force[equality & (data.efc_id == arm_slice.equality(loop.name))]
        forces[loop.name] = arm_slice.to_base(force - axis * (axis @ force))
    return forces


def guide_wrench(arm_slice: ArmSlice) -> Array:
    """Wrench (6,) [N, N m] on the insertion carriage from the link that guides it, about the base origin."""
    model, data = arm_slice.engine.model, arm_slice.engine.data
    mujoco.mj_rnePostConstraint(model, data)
    body = arm_slice.body("insertion")
    moment, force = np.split(data.cfrc_int[body], 2)
    # MuJoCo gives the moment about the centre of mass of the whole arm
    lever = data.subtree_com[model.body_rootid[body]] - data.xpos[arm_slice.base]
    return np.concatenate([arm_slice.to_base(force), arm_slice.to_base(moment + np.cross(lever, force))])


def friction_effort(arm_slice: ArmSlice, applied: Array) -> Array:
    """Joint efforts (n,) [N m, N] of friction: dry, viscous, and applied by the simulator."""
    model, data, E = arm_slice.engine.model, arm_slice.engine.data, arm_slice.arm.E
    dry = np.zeros(model.nv)
    if data.nf:
        rows = slice(data.ne, data.ne + data.nf)  # MuJoCo orders constraints: equalities, dry friction, the rest
        force = np.zeros(data.nefc)
        force[rows] = data.efc_force[rows]
        mujoco.mj_mulJacTVec(model, data, dry, force)
    m = len(E)
    return -np.asarray(E.T @ ((dry + data.qfrc_damper)[arm_slice.v][:m] + applied[:m]))
