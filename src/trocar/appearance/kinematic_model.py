"""Kinematic MuJoCo models: links, joints and shapes of an arm or a whole cart, without dynamic parameters."""

from __future__ import annotations

from collections.abc import Mapping

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from trocar.appearance.arm_shapes import add_geometry
from trocar.appearance.cart_shapes import add_cart, add_set_up_joints
from trocar.appearance.sketch import Sketch
from trocar.arms import Arm, Body
from trocar.errors import TrocarError
from trocar.mechanics.cart import Cart
from trocar.spatial import Array, quaternion

# MuJoCo needs some mass on every moving body. Links without inertia of their own get this: too little to be felt
# (1e-10 N on the insertion), the rotors of their motors carry the inertia.
DUMMY_MASS, DUMMY_INERTIA = 1e-12, 1e-13


def add_link(spec: mujoco.MjSpec, body: Body) -> tuple[mujoco.MjsBody, mujoco.MjsJoint]:
    """A link on its parent with its joint, and next to no mass."""
    parent = spec.worldbody if body.parent is None else spec.body(body.parent)
    link = parent.add_body(
        name=body.name,
        pos=body.placement[:3, 3],
        quat=quaternion(body.placement[:3, :3]),
        explicitinertial=True,
        mass=DUMMY_MASS,
        inertia=np.full(3, DUMMY_INERTIA),
    )
    kind = mujoco.mjtJoint.mjJNT_HINGE if body.kind == "revolute" else mujoco.mjtJoint.mjJNT_SLIDE
    return link, link.add_joint(name=body.name, type=kind, axis=[0, 0, 1])


def kinematic_arm(arm: Arm, q: ArrayLike | None = None) -> tuple[mujoco.MjSpec, Array]:
    """The links of an arm with their shapes, and `qpos` (bodies,) for its joints q (n,) [rad, m]; None for home."""
    spec = mujoco.MjSpec()
    spec.modelname = arm.name
    for body in arm.bodies:
        add_link(spec, body)
    add_geometry(spec, arm)
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
    add_cart(spec, cart.name)
    joints = dict(q or {})
    for name in joints:
        cart.set_up(name)  # raises if unknown
    values = []
    for name in cart.arms:
        facts, q_setup = cart.set_up(name), cart.q_setup[name]
        parent = spec.worldbody.add_body(
            name=f"{name}/set_up", pos=facts.T_world_column[:3, 3], quat=quaternion(facts.T_world_column[:3, :3])
        )
        frames = {}
        for body in facts.bodies:
            parent = parent.add_body(
                name=f"{name}/set_up_{body.name}",
                pos=body.placement[:3, 3],
                quat=quaternion(body.placement[:3, :3]),
                explicitinertial=True,
                mass=1.0,
                inertia=np.full(3, 1e-3),
            )
            kind = mujoco.mjtJoint.mjJNT_HINGE if body.kind == "revolute" else mujoco.mjtJoint.mjJNT_SLIDE
            parent.add_joint(name=f"{name}/set_up_{body.name}", type=kind, axis=[0, 0, 1])
            frames[body.name] = Sketch(spec, parent, np.eye(4))
        add_set_up_joints(facts, frames.__getitem__)
        arm, qpos = kinematic_arm(cart.mechanism(name).arm, joints.get(name))
        T = facts.T_last_base
        spec.attach(arm, prefix=f"{name}/", frame=parent.add_frame(pos=T[:3, 3], quat=quaternion(T[:3, :3])))
        values += [q_setup, qpos]
    return spec, np.concatenate(values)
