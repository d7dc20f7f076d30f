"""Kinematic MuJoCo models: links, joints and shapes of an arm or a whole cart, without dynamic parameters."""

from __future__ import annotations

from collections.abc import Mapping

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from trocar.appearance.arm_shapes import add_shapes
from trocar.appearance.sketch import shape_file
from trocar.arms import Arm, Body
from trocar.errors import TrocarError
from trocar.mechanics.cart import Cart
from trocar.spatial import Array, quaternion

# MuJoCo needs some mass on every moving body. Links without inertia get this negligible one
# (1e-10 N on the insertion); the rotors of their motors provide the inertia.
DUMMY_MASS, DUMMY_INERTIA = 1e-12, 1e-13
BASE = "base"  # body that carries an arm in a model with several
FLOOR = -0.167  # height of the floor in the world of a cart [m]; not published for the Si cart
SET_UP = "set_up_"  # prefix of the bodies of set-up joints, which are visual only


def add_link(
    spec: mujoco.MjSpec, body: Body, root: mujoco.MjsBody | None = None
) -> tuple[mujoco.MjsBody, mujoco.MjsJoint]:
    """Add a link with its joint and negligible mass to its parent; `root` (default: the world) carries the first."""
    parent = (root or spec.worldbody) if body.parent is None else spec.body(body.parent)
    place = {"pos": body.placement[:3, 3], "quat": quaternion(body.placement[:3, :3])}
    inertia = {"explicitinertial": True, "mass": DUMMY_MASS, "inertia": np.full(3, DUMMY_INERTIA)}
    link = parent.add_body(name=body.name, **place, **inertia)
    kind = mujoco.mjtJoint.mjJNT_HINGE if body.kind == "revolute" else mujoco.mjtJoint.mjJNT_SLIDE
    return link, link.add_joint(name=body.name, type=kind, axis=[0, 0, 1])


def kinematic_arm(arm: Arm, q: ArrayLike | None = None) -> tuple[mujoco.MjSpec, Array]:
    """The links of an arm with their shapes, and `qpos` (bodies,) for its joints q (n,) [rad, m]. Default: home."""
    spec = mujoco.MjSpec()
    spec.modelname = arm.name
    for body in arm.bodies:
        add_link(spec, body)
    add_shapes(spec, arm)
    values = np.asarray(arm.home if q is None else q, dtype=float)
    if values.shape != (arm.n,) or not np.isfinite(values).all():
        raise TrocarError(f"{arm.name} has {arm.n} joints, got {q!r}")
    return spec, arm.E @ values


def kinematic_cart(cart: Cart, q: Mapping[str, ArrayLike] | None = None) -> tuple[mujoco.MjSpec, Array]:
    """A cart with its set-up joints and all its arms, in world axes of the cart, and `qpos` of the whole.

    Args:
        q: joints (n,) of some arms [rad, m]; the others are at home. The set-up joints are those of the cart.
    """
    spec = mujoco.MjSpec()
    spec.modelname = f"{cart.name} cart"
    joints = dict(q or {})
    for name in joints:
        cart.set_up(name)  # raises if unknown
    values = []
    for name in cart.arms:
        arm, qpos = kinematic_arm(cart.arm(name), joints.get(name))
        attach_arm(spec, arm, name, cart.T_world_base(name))
        values.append(qpos)
    add_patient_cart(spec, cart, {name: name for name in cart.arms})
    return spec, np.concatenate(values)


def attach_arm(spec: mujoco.MjSpec, arm: mujoco.MjSpec, name: str, T_world_base: Array) -> None:
    """Attach the model of an arm to another model, its names prefixed by `name/`, on a base body `name/base`."""
    T = T_world_base
    base = spec.worldbody.add_body(name=f"{name}/{BASE}", pos=T[:3, 3], quat=quaternion(T[:3, :3]))
    spec.attach(arm, prefix=f"{name}/", frame=base.add_frame())


def collide_with_others(arm: mujoco.MjSpec, k: int, count: int) -> None:
    """Make arm k of `count` collide with objects (bit 0 of the masks) and all other arms, but not with itself."""
    for geom in arm.geoms:
        if geom.contype or geom.conaffinity:
            geom.contype = 1 | 2 << k
            geom.conaffinity = sum(2 << j for j in range(count) if j != k)


def add_patient_cart(spec: mujoco.MjSpec, cart: Cart, mounts: Mapping[str, str]) -> None:
    """Add the shapes of a cart, and of the set-up joints of its arms in their current positions.

    Args:
        mounts: mount on the cart (PSM1, PSM2, PSM3 or ECM) of each arm, by the arm's name in the model.
    """
    shape_file(f"cart_{cart.name.lower()}").drawing.put_on(spec)
    for name, mount in mounts.items():
        prefix = f"{name}/{SET_UP}"
        for joint, T in set_up_poses(cart, mount).items():
            spec.worldbody.add_body(name=prefix + joint, pos=T[:3, 3], quat=quaternion(T[:3, :3]))
        shape_file(f"set_up_{cart.name.lower()}_{mount.lower()}").drawing.put_on(spec, prefix)


def hang(model: mujoco.MjModel, poses: Mapping[str, Array]) -> None:
    """Put bodies that are fixed in the world, such as those of set-up joints, at poses (4, 4) by name."""
    for name, T in poses.items():
        body = model.body(name)
        body.pos, body.quat = T[:3, 3], quaternion(T[:3, :3])


def set_up_poses(cart: Cart, mount: str) -> dict[str, Array]:
    """Pose (4, 4) in the world of every set-up joint of an arm, by the name of the joint."""
    return {joint: T for joint, T in cart.set_up_poses(mount).items() if joint != "base"}
