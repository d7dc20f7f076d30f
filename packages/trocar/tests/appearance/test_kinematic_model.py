"""Models for viewing: all bodies have the poses of the kinematics, and the drawn links meet at their joints."""

import itertools

import mujoco
import numpy as np
import pytest

import trocar as tr
from trocar.appearance import render
from trocar.appearance.kinematic_model import FLOOR, kinematic_arm, kinematic_cart


def placed(spec, qpos):
    model = spec.compile()
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    return model, data


def hits(model, data, body, point, direction):
    """True if a line through a point meets a visible shape of a body."""
    group = model.geom_group.copy()
    model.geom_group[:] = np.where((model.geom_bodyid == body) & (group == 2), 1, 0)
    only = np.array([0, 1, 0, 0, 0, 0], dtype=np.uint8)
    found = mujoco.mj_ray(model, data, point - direction, direction, only, 1, -1, np.zeros(1, dtype=np.int32)) >= 0
    model.geom_group[:] = group
    return found


@pytest.fixture(scope="module", params=["Classic", "Si"])
def cart(request):
    return tr.load_cart(request.param)


def test_every_arm_of_a_cart_is_placed_by_the_cart(cart):
    q = {name: 0.3 * cart.arm(name).upper for name in cart.arms}
    _, data = placed(*kinematic_cart(cart, q))
    for name in cart.arms:
        arm = cart.arm(name)
        tip = data.body(f"{name}/{arm.tip_body}")
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = tip.xmat.reshape(3, 3), tip.xpos
        np.testing.assert_allclose(T @ arm.T_body_tip, cart.T_world_tip(name, q[name]), atol=1e-9)


def test_set_up_links_meet_at_their_joints_and_carry_the_arm(cart):
    model, data = placed(*kinematic_cart(cart))
    for name in cart.arms:
        joints = cart.set_up(name).joint_names
        for before, after in itertools.pairwise(joints):
            link = data.body(f"{name}/set_up_{after}")
            axis = link.xmat.reshape(3, 3)[:, 2]
            for body in (f"{name}/set_up_{before}", f"{name}/set_up_{after}"):
                assert hits(model, data, model.body(body).id, link.xpos, axis), (name, after, body)


def test_a_cart_stands_on_its_floor(cart):
    model, data = placed(*kinematic_cart(cart))
    lowest = np.inf
    for g in np.flatnonzero((model.geom_bodyid == 0) & (model.geom_type == mujoco.mjtGeom.mjGEOM_MESH)):
        m = model.geom_dataid[g]
        vertices = model.mesh_vert[model.mesh_vertadr[m] : model.mesh_vertadr[m] + model.mesh_vertnum[m]]
        lowest = min(lowest, (data.geom_xpos[g] + vertices @ data.geom_xmat[g].reshape(3, 3).T)[:, 2].min())
    assert lowest == pytest.approx(FLOOR, abs=1e-6)


@pytest.mark.parametrize("name", ["PSM", "PSM_Si", "ECM", "ECM_Si", "MTML", "MTMR"])
def test_an_arm_without_dynamics_can_be_drawn(name):
    arm = tr.load_arm(name)
    q = 0.4 * arm.upper
    _, data = placed(*kinematic_arm(arm, q))
    tip = data.body(arm.tip_body)
    p = tip.xpos + tip.xmat.reshape(3, 3) @ arm.T_body_tip[:3, 3]
    np.testing.assert_allclose(p, tr.load_mechanism(name).forward_kinematics(q)[:3, 3], atol=1e-6)


@pytest.mark.parametrize("name", ["ECM", "PSM_Si", "ECM_Si", "MTML", "MTMR"])
def test_drawn_links_meet_at_every_pin_of_their_loops(name):
    arm = tr.load_arm(name)
    model, data = placed(*kinematic_arm(arm, 0.3 * arm.upper))
    for loop in arm.loops:
        a = data.body(loop.body_a)
        axis = a.xmat.reshape(3, 3)[:, 2]
        pin = a.xpos + a.xmat.reshape(3, 3) @ loop.point_a
        for body in (loop.body_a, loop.body_b):
            assert hits(model, data, model.body(body).id, pin, axis), (loop.name, body)


def test_the_two_masters_are_mirror_images():
    right, left = (placed(*kinematic_arm(tr.load_arm(name), np.zeros(7)))[1] for name in ("MTMR", "MTML"))
    seen = np.sort(right.geom_xpos[:, 0]), np.sort(-left.geom_xpos[:, 0])
    np.testing.assert_allclose(*seen, atol=1e-6)


def test_unknown_arms_of_a_cart_are_named():
    cart = tr.load_cart("Classic")
    with pytest.raises(tr.TrocarError, match="PSM4"):
        kinematic_cart(cart, {"PSM4": np.zeros(7)})
    with pytest.raises(tr.TrocarError, match="7 joints"):
        kinematic_cart(cart, {"PSM1": np.zeros(6)})


def test_a_picture_of_a_cart_shows_it(cart):
    try:
        image = render(cart, (-100.0, -10.0), (200, 150))
    except tr.TrocarError as error:
        if "no OpenGL context" not in str(error):
            raise
        pytest.skip(f"nothing can be rendered here: {error}")
    assert image.shape == (150, 200, 3)
    dark = (image.max(-1) < 90).sum()  # covers and columns; backdrop and floor are light
    assert 200 < dark < 8000
    with pytest.raises(tr.TrocarError, match="size"):
        render(cart, size=(0, 10))
