"""The shapes follow the links and have no mass, and the jaws touch when they should."""

import mujoco
import numpy as np
import pytest

import trocar as tr
from conftest import MECHANISMS
from trocar.appearance import arm_shapes
from trocar.appearance.arm_shapes import add_shapes, drawing
from trocar.simulation import Simulator

VISUAL_GROUP, COLLISION_GROUP = 2, 3


@pytest.fixture(scope="module")
def sim():
    return Simulator("PSM")


def drawn(name, geometry):
    """A compiled model of an arm's links with their shapes and nothing else."""
    arm = tr.load_arm(name, geometry)
    spec = mujoco.MjSpec()
    for body in arm.bodies:
        parent = spec.worldbody if body.parent is None else spec.body(body.parent)
        quat = np.empty(4)
        mujoco.mju_mat2Quat(quat, np.array(body.placement[:3, :3]).ravel())
        link = parent.add_body(name=body.name, pos=body.placement[:3, 3], quat=quat, explicitinertial=True)
        link.mass, link.inertia = 1.0, [0.1, 0.1, 0.1]
        turns = body.kind == "revolute"
        link.add_joint(type=mujoco.mjtJoint.mjJNT_HINGE if turns else mujoco.mjtJoint.mjJNT_SLIDE, axis=[0, 0, 1])
    add_shapes(spec, arm)
    return arm, spec.compile()


def hits(model, data, body, point, direction):
    """True if a line through a point along a direction meets a visual shape of a body."""
    model.geom_group[:] = np.where((model.geom_bodyid == model.body(body).id) & (model.geom_contype == 0), 1, 0)
    only = np.array([0, 1, 0, 0, 0, 0], dtype=np.uint8)
    start = point - 0.3 * direction
    return mujoco.mj_ray(model, data, start, direction, only, 1, -1, np.zeros(1, dtype=np.int32)) >= 0


def test_shapes_change_no_mass_and_no_inertia(sim):
    bare = sim.spec.copy()
    for part in (*bare.pairs, *bare.geoms):
        bare.delete(part)
    bare, full = bare.compile(), sim.spec.copy().compile()
    assert bare.ngeom == 0
    assert full.ngeom > 50
    assert sim.model.ngeom < 15  # the stepped model has the collision shapes only
    for model in (full, sim.model):
        for name in ("body_mass", "body_inertia", "body_ipos", "body_iquat", "body_subtreemass", "dof_M0"):
            np.testing.assert_array_equal(getattr(model, name), getattr(bare, name), err_msg=name)


def test_shapes_are_drawn_once_for_equal_arms():
    assert drawing(tr.load_arm("PSM")) is drawing(tr.load_arm("PSM"))
    assert drawing(tr.load_arm("PSM")) is not drawing(tr.load_arm("PSM", "gondokaryono2019"))
    assert drawing(tr.load_arm("PSM")) is not drawing(tr.load_arm("PSM", instrument="400178"))


def test_links_of_one_arm_collide_with_objects_but_not_with_each_other(sim):
    spec = sim.spec.copy()
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.05, 0.05, 0.01], pos=[0, 0, -0.1])
    model = spec.compile()
    data = mujoco.MjData(model)
    data.qpos[:] = sim.arm.E @ np.array([0.0, 0.0, 0.2, 0, 0, 0, 0.5])
    mujoco.mj_forward(model, data)
    touching = {model.geom(g).bodyid[0] for contact in data.contact for g in contact.geom}
    assert 0 in touching
    assert model.body("roll").id in touching
    assert all(
        0 in (model.geom_bodyid[contact.geom[0]], model.geom_bodyid[contact.geom[1]]) for contact in data.contact
    )


@pytest.mark.parametrize(("name", "geometry"), MECHANISMS, ids=map("-".join, MECHANISMS))
def test_every_link_longer_than_a_millimetre_is_drawn(name, geometry):
    arm, model = drawn(name, geometry)
    for body in arm.bodies:
        children = [child.placement[:3, 3] for child in arm.bodies if child.parent == body.name]
        if any(np.linalg.norm(p) > 1e-3 for p in children):
            shapes = model.geom_bodyid == model.body(body.name).id
            assert (shapes & (model.geom_group == VISUAL_GROUP)).any(), body.name


@pytest.mark.parametrize(("name", "geometry"), MECHANISMS, ids=map("-".join, MECHANISMS))
def test_visual_shapes_do_not_collide_and_collision_shapes_are_simple(name, geometry):
    _, model = drawn(name, geometry)
    collides = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    np.testing.assert_array_equal(collides, model.geom_group == COLLISION_GROUP)
    kinds = set(model.geom_type[collides])
    simple = mujoco.mjtGeom.mjGEOM_CAPSULE, mujoco.mjtGeom.mjGEOM_BOX, mujoco.mjtGeom.mjGEOM_SPHERE
    assert kinds <= {int(kind) for kind in simple}


@pytest.mark.parametrize("geometry", ["wang2019", "gondokaryono2019"])
def test_the_bars_of_the_psm_meet_at_their_joints(geometry):
    arm, model = drawn("PSM", geometry)
    data = mujoco.MjData(model)
    for q in ([0.0, 0.0, 0.12], [0.3, 0.6, 0.0], [-1.0, -0.9, 0.24]):
        data.qpos[:] = arm.E @ np.array([*q, 0.0, 0.0, 0.0, 0.0])
        mujoco.mj_forward(model, data)
        frame = {body.name: data.body(body.name) for body in arm.bodies}
        axis = frame["back"].xmat.reshape(3, 3)[:, 2]
        for loop in arm.loops:
            joint = frame[loop.body_a].xpos + frame[loop.body_a].xmat.reshape(3, 3) @ loop.point_a
            assert hits(model, data, loop.body_a, joint, axis), (loop.name, loop.body_a, q)
            assert hits(model, data, loop.body_b, joint, axis), (loop.name, loop.body_b, q)
        for name in ("top", "bottom", "end"):
            parent = arm.body(name).parent
            assert hits(model, data, name, frame[name].xpos, axis), (name, q)
            assert hits(model, data, parent, frame[name].xpos, axis), (parent, q)


def test_cannula_holds_the_shaft_at_the_remote_centre(sim):
    for q in ([0.0, 0.0, 0.12], [0.5, 0.6, 0.2], [-1.0, -0.9, 0.1]):
        sim.reset([*q, 0.0, 0.0, 0.0, 0.0])
        across = sim.data.body("insertion").xmat.reshape(3, 3)[:, 0]
        model = sim.spec.copy().compile()
        data = mujoco.MjData(model)
        data.qpos[:] = sim.data.qpos
        mujoco.mj_forward(model, data)
        assert hits(model, data, "end", np.zeros(3), across)
        assert hits(model, data, "roll", np.zeros(3), across)


@pytest.mark.parametrize("jaw", [0.02, 0.1, 0.7, 1.39])
def test_open_jaws_do_not_touch(sim, jaw):
    for wrist in ([0.0, 0.0, 0.0], [1.0, -0.8, 0.9]):
        sim.reset([0.1, -0.2, 0.12, *wrist, jaw])
        assert sim.data.ncon == 0


def test_closed_jaws_touch(sim):
    for wrist in ([0.0, 0.0, 0.0], [1.0, -0.8, 0.9]):
        sim.reset([0.1, -0.2, 0.12, *wrist, 0.0])
        assert sim.data.ncon == 1


def test_jaws_closed_without_squeezing_exert_no_force(sim):
    sim.reset(sim.arm.home)
    assert not (sim.data.efc_type == mujoco.mjtConstraint.mjCNSTR_CONTACT_FRICTIONLESS).any()


@pytest.mark.parametrize("start", [0.3, 0.0])
def test_squeezed_jaws_close_without_crossing(start):
    sim = Simulator("PSM", gravity=[0, 0, 0])
    sim.reset([0.0, 0.0, 0.12, 0.0, 0.0, 0.0, start])
    for _ in range(500):
        sim.step([0.0] * 6 + [-0.1])
    assert -0.04 < sim.q[6] < 0.0
    assert abs(sim.dq[6]) < 1e-2


def test_stepping_gives_no_engine_warning(sim):
    sim.reset(sim.arm.home)
    for _ in range(300):
        sim.step(np.zeros(7))
    assert not any(warning.number for warning in sim.data.warning)
    assert sim.loop_error() < 1e-4


def test_a_failed_drawing_is_not_cached(monkeypatch):
    arm = tr.load_arm("PSM", instrument="PROGRASP_FORCEPS_400093")
    monkeypatch.setattr(arm_shapes, "_DRAWN", {})

    def half(drawing, *_):
        drawing.meshes["half"] = None
        raise RuntimeError("no more")

    with monkeypatch.context() as broken:
        broken.setattr(arm_shapes, "add_instrument", half)
        with pytest.raises(RuntimeError):
            drawing(arm)
    assert "half" not in drawing(arm).meshes
