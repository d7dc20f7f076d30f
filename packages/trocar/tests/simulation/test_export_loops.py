"""Exports with closed loops: SDF for Gazebo Classic and description files of AMBF."""

import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import mujoco
import numpy as np
import pytest

import trocar as tr
from tests.support.adf_reader import AdfModel, transform
from tests.support.sdf_reader import SdfModel
from tests.support.sdformat import check_sdf
from trocar.simulation import Simulator
from trocar.simulation.export import DEFAULT_FORMATS, model_files, write_model
from trocar.simulation.export.sdf import with_discs

pytestmark = pytest.mark.xdist_group("export")  # one worker: arms are exported once


@pytest.fixture(scope="session")
def adf(sim, folder):
    write_model(sim, folder, ["ambf"])  # no default format
    return AdfModel(folder / "ambf" / f"{sim.arm.name.lower()}.yaml")


def states(sim, count=4):
    return np.random.default_rng(5).uniform(sim.arm.lower, sim.arm.upper, (count, sim.n))


def tree_values(sim, folder, q):
    """Value of every joint of the tree by name, from the mimic elements of the other SDF file."""
    values, sdf = dict(zip(sim.arm.joint_names, q, strict=True)), SdfModel(folder / "model.sdf")
    return values | {name: factor * values[leader] for name, (leader, factor) in sdf.followers().items()}


def moved(sim, folder, model, q):
    """Data of the closed model at q; a slide that a cable moves is fixed at zero."""
    data = mujoco.MjData(model)
    for name, value in tree_values(sim, folder, q).items():
        joint = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name)
        if joint >= 0:
            data.qpos[model.jnt_qposadr[joint]] = value
    mujoco.mj_forward(model, data)
    return data


def sliding(arm):
    return {body for body in arm.transmissions if arm.body(body).kind == "prismatic"}


# -- SDF for Gazebo Classic --------------------------------------------------------------------------------------------


def test_every_loop_of_the_mechanism_is_a_joint_whose_ends_coincide(sim, folder):
    sdf = SdfModel(folder / "model-1_7.sdf")
    model = sdf.mujoco()
    loops = sdf.loops()
    assert [name for name, *_ in loops] == [f"{loop.name}_loop" for loop in sim.arm.loops]
    for (_, child, on_parent, on_child), loop in zip(loops, sim.arm.loops, strict=True):
        assert child == f"{loop.body_b}_link"
        np.testing.assert_allclose(on_parent, loop.point_a, atol=1e-12)
        np.testing.assert_allclose(on_child, loop.point_b, atol=1e-12)
    for q in states(sim):
        data = moved(sim, folder, model, q)
        for name, child, on_parent, on_child in loops:
            ends = ((sdf.joints[name].find("parent").text, on_parent), (child, on_child))
            a, b = (data.body(link).xpos + data.body(link).xmat.reshape(3, 3) @ point for link, point in ends)
            np.testing.assert_allclose(a, b, atol=1e-12)


def test_closed_sdf_has_the_links_and_masses_of_the_other_without_its_constraints(sim, folder):
    closed, tree = (SdfModel(folder / file) for file in ("model-1_7.sdf", "model.sdf"))
    assert closed.T.keys() == tree.T.keys()
    for name, link in tree.links.items():
        np.testing.assert_array_equal(closed.T[name], tree.T[name])
        inertials = [one.find("inertial") for one in (link, closed.links[name])]
        if inertials[0] is not None:
            assert ElementTree.tostring(inertials[0]) == ElementTree.tostring(inertials[1])
    text = (folder / "model-1_7.sdf").read_text()
    assert not any(word in text for word in ("mimic", "capsule", "plugin", "drake"))
    fixed = {joint.find("child").text for joint in closed.joints.values() if joint.get("type") == "fixed"}
    assert fixed == {"base_link"} | {f"{body}_link" for body in sliding(sim.arm)}


def test_loops_and_gearboxes_leave_the_degrees_of_freedom_of_the_arm(sim, folder):
    """Directions that satisfy all constraints are those of the arm's joints: the null space has n dimensions."""
    sdf = SdfModel(folder / "model-1_7.sdf")
    model = sdf.mujoco()
    model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    for q in states(sim):
        data = moved(sim, folder, model, q)
        J = data.efc_J.reshape(-1, model.nv)[data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY]
        assert np.abs(data.efc_pos[: len(J)]).max() < 1e-12
        singular = np.linalg.svd(J, compute_uv=False)
        assert model.nv - (singular > 1e-9 * singular[0]).sum() == sim.n
        velocity = tree_values(sim, folder, np.random.default_rng(0).normal(size=sim.n))
        names = [model.joint(i).name for i in range(model.njnt)]
        np.testing.assert_allclose(J @ [velocity[name] for name in names], 0.0, atol=1e-9)


def test_free_motion_of_the_closed_sdf_is_that_of_the_simulator(sim, folder):
    """0.2 s without effort and friction; the simulator's slide that a cable moves is without mass, and so is that of
    the file."""
    light = sliding(sim.arm)
    inertias = with_discs(sim)
    inertias |= {body: replace(inertias[body], mass=1e-9, I=1e-12 * np.eye(3)) for body in light}
    drives = tuple(replace(drive, Im=0.0, K=0.0, K2=0.0, K0=0.0) for drive in sim.parameters.drives)
    of_file = replace(sim.parameters, inertias=inertias, drives=drives, elastics=())
    ours = Simulator(sim.arm, of_file, friction=False, contacts=False, limits=False)
    model = SdfModel(folder / "model-1_7.sdf").mujoco(explicit=False, friction=False)
    model.jnt_limited[:] = 0
    for body in light:
        model.body(f"{body}_link").mass[:], model.body(f"{body}_link").inertia[:] = 1e-9, 1e-12
    q = np.clip(0.3, sim.arm.lower, sim.arm.upper) * np.where(np.array(sim.arm.joint_units) == "m", 0.3, 1.0)
    ours.reset(q)
    data = moved(sim, folder, model, q)
    for _ in range(200):
        ours.step(np.zeros(sim.n))
        mujoco.mj_step(model, data)
    reached = np.array([data.joint(name).qpos[0] for name in sim.arm.joint_names])
    assert np.abs(ours.q - q).max() > 1e-2
    np.testing.assert_allclose(reached, ours.q, atol=3e-4)


def test_closed_sdf_passes_the_check_of_sdformat(sim, folder, tmp_path):
    """sdformat 12 reads SDF up to 1.9, so that model.config gives it the closed model for the world."""
    name = sim.arm.name.lower()
    (tmp_path / name).symlink_to(folder)
    check_sdf(tmp_path / name / "classic.world", tmp_path)


# -- AMBF --------------------------------------------------------------------------------------------------------------


def test_adf_names_what_it_defines(sim, folder, adf):
    assert set(adf.content["bodies"]) == {"BODY base_link", *(f"BODY {body.name}_link" for body in sim.arm.bodies)}
    assert {name for name in adf.content if name.startswith(("BODY", "JOINT"))} == {
        *adf.content["bodies"],
        *adf.content["joints"],
    }
    for joint in adf.joints.values():
        assert {joint["parent"], joint["child"]} <= adf.bodies.keys()
    meshes = folder / "ambf" / adf.content["high resolution path"]
    for body in adf.bodies.values():
        text = (meshes / body["mesh"]).read_text()
        vertices = np.array([line.split()[1:] for line in text.splitlines() if line.startswith("v ")], dtype=float)
        assert np.abs(vertices).max() < 2.0  # [m]
        assert text.count("\nvn ") == text.count("\nf ") > 0
    materials = (meshes / "materials.mtl").read_text()
    assert all(f"newmtl {mesh.material}\n" in materials for mesh in tr.simulation.export.meshes.meshes(sim.spec))


def test_adf_bodies_move_as_the_mechanism_does(sim, folder, adf):
    """Poses through the frames that AMBF builds; ends of the loops; centre of mass of the whole arm."""
    fixed = {f"BODY {body}_link" for body in sliding(sim.arm)}
    own = with_discs(sim)
    for q in states(sim):
        T, poses = adf.poses(tree_values(sim, folder, q)), sim.mechanism.poses(q)
        for body in sim.arm.bodies:
            name = f"BODY {body.name}_link"
            if name in fixed:
                continue
            np.testing.assert_allclose(T[name], poses[body.name], atol=1e-7)
            mass, centre, _ = adf.inertia(name)
            ours = poses[body.name] @ [*own[body.name].com, 1.0]
            np.testing.assert_allclose(mass * (T[name] @ [*centre, 1.0]), own[body.name].mass * ours, atol=1e-7)
        loops = [joint for joint in adf.joints.values() if joint["type"] == "p2p"]
        assert len(loops) == len(sim.arm.loops)
        for joint in loops:
            ends = [
                T[joint[end]] @ [*(joint[f"{end} pivot"][axis] for axis in "xyz"), 1.0] for end in ("parent", "child")
            ]
            np.testing.assert_allclose(*ends, atol=1e-7)


def test_adf_inertias_are_those_of_the_parameters(sim, adf):
    own = with_discs(sim)
    for body, inertia in own.items():
        mass, centre, I = adf.inertia(f"BODY {body}_link")
        assert mass == pytest.approx(inertia.mass, rel=1e-12)
        np.testing.assert_allclose(centre, inertia.com, atol=1e-12)
        np.testing.assert_allclose(I, inertia.I, atol=1e-9 * np.trace(inertia.I))
    total = sum(entry["mass"] for entry in adf.bodies.values())
    assert total == pytest.approx(sum(inertia.mass for inertia in own.values()), rel=1e-12)
    assert adf.bodies["BODY base_link"]["mass"] == 0.0


def test_adf_bodies_start_at_home_with_gravity_downwards(sim, folder, adf):
    T = adf.poses(tree_values(sim, folder, np.array(sim.arm.home)))
    T_world = transform(adf.bodies["BODY base_link"]["location"])
    np.testing.assert_allclose(T_world[:3, :3] @ sim.gravity_vector, [0.0, 0.0, -9.81], atol=1e-9)
    for name, body in adf.bodies.items():
        np.testing.assert_allclose(transform(body["location"]), T_world @ T[name], atol=1e-7)


def test_adf_limits_belong_to_joints_that_are_commanded(sim, adf):
    limits = {name: joint["joint limits"] for name, joint in adf.joints.items() if "joint limits" in joint}
    for facts in sim.arm.joints:
        assert limits.pop(facts.name) == pytest.approx({"low": facts.lower, "high": facts.upper}, rel=1e-12)
    turning = {body for body in sim.arm.transmissions if sim.arm.body(body).kind == "revolute"}
    assert limits.keys() == turning
    passive = {name for name, joint in adf.joints.items() if joint.get("passive")}
    loops = {name for name, joint in adf.joints.items() if joint["type"] == "p2p"}
    assert set(adf.joints) == set(sim.arm.joint_names) | turning | passive | loops


def test_ambf_is_written_on_request_and_for_single_arms_only(sim):
    assert "ambf" not in DEFAULT_FORMATS
    with pytest.raises(tr.TrocarError, match="single arms only"):
        model_files(tr.load_scene("cart_classic"), ["ambf"])
