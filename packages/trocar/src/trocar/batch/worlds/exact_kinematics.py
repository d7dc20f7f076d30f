"""Forward kinematics of MuJoCo Warp along chains in double precision; poses are rounded to float32 once, at the end.

In single precision the rounding of every joint adds up to 8e-8 m at the tip of a PSM. Jaws hold a needle with a
penetration of 1e-6 m: contact forces would be wrong by several per cent. Sites that close a loop are placed so that
their distance is the exact one, rounded to float32. The state stays in float32.
"""

# mypy: ignore-errors

from contextlib import AbstractContextManager

import mujoco
import numpy as np
import warp as wp

from trocar.batch.worlds.mujoco_warp_internals import GEOMS, INERTIAS, KINEMATICS, MATRICES, SITES
from trocar.errors import TrocarError
from trocar.spatial import Array

FREE, BALL, SLIDE, HINGE = (wp.constant(int(kind)) for kind in range(4))
assert [int(getattr(mujoco.mjtJoint, f"mjJNT_{name}")) for name in ("FREE", "BALL", "SLIDE", "HINGE")] == [0, 1, 2, 3]

wp.set_module_options({"enable_backward": False})


@wp.struct
class Chains:
    """Constants of the bodies (nbody,) and joints (njnt,) in double precision; quaternions wxyz.

    `placed`: 1 for fixed bodies whose pose each world has for itself, in MuJoCo Warp's own arrays. `loop`: sites of the
    loops, at `site` of `site_body`. `poses`, `turns`: (n, nbody) of the bodies, exact. `residual`: (n, loops) of
    their distances that rounding has cut off so far.
    """

    parent: wp.array(dtype=int)
    joint: wp.array(dtype=int)
    joints: wp.array(dtype=int)
    placed: wp.array(dtype=int)
    position: wp.array(dtype=wp.vec3d)
    turn: wp.array(dtype=wp.vec4d)
    kind: wp.array(dtype=int)
    row: wp.array(dtype=int)
    start: wp.array(dtype=wp.float64)
    anchor: wp.array(dtype=wp.vec3d)
    axis: wp.array(dtype=wp.vec3d)
    loop: wp.array(dtype=wp.vec2i)
    site_body: wp.array(dtype=int)
    site: wp.array(dtype=wp.vec3d)
    poses: wp.array2d(dtype=wp.vec3d)
    turns: wp.array2d(dtype=wp.vec4d)
    residual: wp.array2d(dtype=wp.vec3d)


@wp.func
def rotated(v: wp.vec3d, turn: wp.vec4d) -> wp.vec3d:
    """A vector rotated by a quaternion wxyz."""
    s = turn[0]
    u = wp.vec3d(turn[1], turn[2], turn[3])
    two = wp.float64(2.0)
    return two * wp.dot(u, v) * u + (s * s - wp.dot(u, u)) * v + two * s * wp.cross(u, v)


@wp.func
def product(a: wp.vec4d, b: wp.vec4d) -> wp.vec4d:
    """Product of two quaternions wxyz."""
    return wp.vec4d(
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


@wp.func
def single(v: wp.vec3d) -> wp.vec3:
    """A vector in float32."""
    return wp.vec3(float(v[0]), float(v[1]), float(v[2]))


@wp.func
def double(v: wp.vec3) -> wp.vec3d:
    """A vector in double precision."""
    return wp.vec3d(wp.float64(v[0]), wp.float64(v[1]), wp.float64(v[2]))


@wp.kernel
def chain_poses(
    chains: Chains,
    branches: wp.array(dtype=int),
    branch_start: wp.array(dtype=int),
    body_pos: wp.array2d(dtype=wp.vec3),
    body_quat: wp.array2d(dtype=wp.quat),
    qpos: wp.array2d(dtype=float),
    xpos: wp.array2d(dtype=wp.vec3),
    xquat: wp.array2d(dtype=wp.quat),
    xanchor: wp.array2d(dtype=wp.vec3),
    xaxis: wp.array2d(dtype=wp.vec3),
):
    """Poses of the bodies of a branch, from the world to a leaf."""
    w, branch = wp.tid()
    one = wp.float64(1.0)
    zero = wp.float64(0.0)
    p = wp.vec3d(zero, zero, zero)
    turn = wp.vec4d(one, zero, zero, zero)
    for i in range(branch_start[branch], branch_start[branch + 1]):
        b = branches[i]
        local = chains.position[b]
        local_turn = chains.turn[b]
        if chains.placed[b] == 1:
            f = body_pos[w % body_pos.shape[0], b]
            r = body_quat[w % body_quat.shape[0], b]
            local = double(f)
            local_turn = wp.vec4d(wp.float64(r[0]), wp.float64(r[1]), wp.float64(r[2]), wp.float64(r[3]))
        if chains.parent[b] == 0:
            p = local
            turn = local_turn
        else:
            p = p + rotated(local, turn)
            turn = product(turn, local_turn)
        for k in range(chains.joints[b]):
            j = chains.joint[b] + k
            row = chains.row[j]
            axis = rotated(chains.axis[j], turn)
            anchor = p + rotated(chains.anchor[j], turn)
            if chains.kind[j] == FREE:
                p = wp.vec3d(wp.float64(qpos[w, row]), wp.float64(qpos[w, row + 1]), wp.float64(qpos[w, row + 2]))
                row = row + 3
                anchor = p
                axis = chains.axis[j]
            if chains.kind[j] == FREE or chains.kind[j] == BALL:
                spin = wp.normalize(
                    wp.vec4d(
                        wp.float64(qpos[w, row]),
                        wp.float64(qpos[w, row + 1]),
                        wp.float64(qpos[w, row + 2]),
                        wp.float64(qpos[w, row + 3]),
                    )
                )
                if chains.kind[j] == FREE:
                    turn = spin
                else:
                    turn = product(turn, spin)
                    p = anchor - rotated(chains.anchor[j], turn)
            else:
                way = wp.float64(qpos[w, row]) - chains.start[j]
                if chains.kind[j] == SLIDE:
                    p = p + way * axis
                else:
                    half = wp.float64(0.5) * way
                    u = wp.sin(half) * chains.axis[j]
                    turn = product(turn, wp.vec4d(wp.cos(half), u[0], u[1], u[2]))
                    p = anchor - rotated(chains.anchor[j], turn)
            xanchor[w, j] = single(anchor)
            xaxis[w, j] = single(axis)
        turn = wp.normalize(turn)
        chains.poses[w, b] = p
        chains.turns[w, b] = turn
        xpos[w, b] = single(p)
        xquat[w, b] = wp.quat(float(turn[0]), float(turn[1]), float(turn[2]), float(turn[3]))


@wp.kernel
def close_loops(chains: Chains, site_xpos: wp.array2d(dtype=wp.vec3)):
    """Sites of each loop: their distance is that of the exact poses.

    Rounding to float32 would leave small distances uncorrected, and correct larger ones by kicks of one direction. What
    it cuts off is added in the next step, so that the mean distance is exact.
    """
    w, k = wp.tid()
    a = chains.loop[k][0]
    b = chains.loop[k][1]
    p = chains.poses[w, chains.site_body[a]] + rotated(chains.site[a], chains.turns[w, chains.site_body[a]])
    q = chains.poses[w, chains.site_body[b]] + rotated(chains.site[b], chains.turns[w, chains.site_body[b]])
    first = single(p)
    wanted = p - q + chains.residual[w, k]
    second = first - single(wanted)
    chains.residual[w, k] = wanted - (double(first) - double(second))
    site_xpos[w, a] = first
    site_xpos[w, b] = second


@wp.kernel
def reset_loops(mask: wp.array(dtype=wp.bool), chains: Chains):
    """Loops of the masked worlds without rests of earlier steps."""
    w, k = wp.tid()
    if mask[w]:
        chains.residual[w, k] = wp.vec3d()


def loops_of(model: mujoco.MjModel) -> Array:
    """Pairs (L, 2) of the sites that close the loops of the arms."""
    loops = (model.eq_type == mujoco.mjtEq.mjEQ_CONNECT) & (model.eq_objtype == mujoco.mjtObj.mjOBJ_SITE)
    return np.stack([model.eq_obj1id[loops], model.eq_obj2id[loops]], axis=1)


def chains_of(model: mujoco.MjModel, n: int, device: str) -> Chains:
    """The chains of the models of n worlds on a device."""
    if model.nmocap:
        raise TrocarError("scenes on Warp cannot have mocap bodies")
    chains = Chains()
    fixed = (model.body_jntnum == 0) & (model.body_weldid == 0)
    whole = {"parent": model.body_parentid, "joint": model.body_jntadr, "joints": model.body_jntnum, "placed": fixed}
    whole |= {"kind": model.jnt_type, "row": model.jnt_qposadr, "site_body": model.site_bodyid}
    for name, values in whole.items():
        setattr(chains, name, wp.array(np.array(values, dtype=np.int32), device=device))
    vectors = {"position": model.body_pos, "anchor": model.jnt_pos, "axis": model.jnt_axis, "site": model.site_pos}
    for name, values in vectors.items():
        setattr(chains, name, wp.array(np.array(values), dtype=wp.vec3d, device=device))
    chains.turn = wp.array(np.array(model.body_quat), dtype=wp.vec4d, device=device)
    chains.start = wp.array(np.array(model.qpos0)[model.jnt_qposadr], dtype=wp.float64, device=device)
    chains.loop = wp.array(loops_of(model).astype(np.int32), dtype=wp.vec2i, device=device)
    chains.poses = wp.zeros((n, model.nbody), dtype=wp.vec3d, device=device)
    chains.turns = wp.zeros((n, model.nbody), dtype=wp.vec4d, device=device)
    chains.residual = wp.zeros((n, len(chains.loop)), dtype=wp.vec3d, device=device)
    return chains


def exact_kinematics(chains: Chains) -> AbstractContextManager[None]:
    """Kinematics of this process use these chains within this context."""
    matrices, inertias, geoms, sites = (part.plain for part in (MATRICES, INERTIAS, GEOMS, SITES))

    def exact(m, d):
        branches = m.body_branches, m.body_branch_start, m.body_pos, m.body_quat
        poses = d.xpos, d.xquat
        wp.launch(chain_poses, (d.nworld, m.nbranch), [chains, *branches, d.qpos, *poses, d.xanchor, d.xaxis])
        wp.launch(matrices, (d.nworld, m.nbody), [d.xquat], [d.xmat])
        wp.launch(inertias, (d.nworld, m.nbody), [m.body_ipos, m.body_iquat, *poses], [d.xipos, d.ximat])
        bodies = m.body_rootid, m.body_weldid, m.body_mocapid
        own = m.geom_bodyid, m.geom_pos, m.geom_quat
        wp.launch(geoms, (d.nworld, m.ngeom), [*bodies, *own, *poses], [d.geom_xpos, d.geom_xmat])
        own = m.site_bodyid, m.site_pos, m.site_quat
        wp.launch(sites, (d.nworld, m.nsite), [*own, *poses], [d.site_xpos, d.site_xmat])
        wp.launch(close_loops, (d.nworld, len(chains.loop)), [chains, d.site_xpos])

    return KINEMATICS.replaced(exact)
