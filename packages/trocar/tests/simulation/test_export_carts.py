"""Whole carts as files: every arm of the exported model moves as it does in the scene."""

import xml.etree.ElementTree as ElementTree

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from typer.testing import CliRunner

import trocar as tr
from tests.support.model_folders import assert_committed
from tests.support.sdf_reader import SdfModel
from trocar.cli import app
from trocar.simulation.engine import stiffen
from trocar.simulation.export import model_files, write_model

pytestmark = pytest.mark.xdist_group("export_carts")  # one worker: fixtures are built once


@pytest.fixture(scope="module", params=["cart_classic", "cart_si"])
def cart(request, tmp_path_factory):
    """The scene, its files, and its name."""
    scene, folder = tr.load_scene(request.param), tmp_path_factory.mktemp(request.param)
    write_model(scene, folder)
    return scene, folder, request.param


def test_committed_carts_match_the_export(cart):
    _, folder, name = cart
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert_committed(files, name)


def test_mjcf_of_a_cart_moves_as_the_scene_does(cart):
    scene, _, name = cart
    smooth = scene.changed({arm: {"friction": False} for arm in scene.arms})  # Si friction varies with load
    files = model_files(smooth, ["mjcf"], name)
    assets = {path.rpartition("/")[2]: content for path, content in files.items() if path.startswith("assets/")}
    model = mujoco.MjModel.from_xml_string(files[f"{name}.xml"].decode(), assets)
    stiffen(model)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key("home").id)
    assert model.nu == 25
    for k in range(40):
        tau = {
            arm: 0.05 * one.arm.motors.effort * np.sin(0.05 * k + np.arange(one.n)) for arm, one in smooth.arms.items()
        }
        smooth.step(tau)
        data.ctrl[:] = np.concatenate([one.arm.motors.coupling.T @ tau[arm] for arm, one in smooth.arms.items()])
        mujoco.mj_step(model, data)
    assert np.abs(smooth.data.qvel).max() > 1e-2
    np.testing.assert_allclose(data.qpos, smooth.data.qpos, atol=1e-8)


def test_urdf_of_a_cart_in_pinocchio_has_every_tip_and_the_dynamics_of_every_arm(cart):
    scene, folder, name = cart
    model = pin.buildModelFromUrdf(str(folder / f"{name}.urdf"), mimic=True)
    data = model.createData()
    rng = np.random.default_rng(0)
    q, at = np.zeros(model.nq), {}
    assert model.nq == 25
    for arm, one in scene.arms.items():
        at[arm] = [model.joints[model.getJointId(f"{arm}_{joint}")].idx_q for joint in one.arm.joint_names]
        q[at[arm]] = rng.uniform(0.5 * one.arm.lower, 0.5 * one.arm.upper)
    pin.framesForwardKinematics(model, data, q)
    M = pin.crba(model, data, q, pin.Convention.WORLD)
    M = np.triu(M) + np.triu(M, 1).T
    for arm, one in scene.arms.items():
        mech, own = one.mechanism, q[at[arm]]
        T = scene.T_world_base(arm) @ mech.forward_kinematics(own)
        np.testing.assert_allclose(data.oMf[model.getFrameId(f"{arm}_tip_link")].homogeneous, T, atol=1e-10)
        rotors = mech.drives.A.T @ np.diag(mech.drives.Im) @ mech.drives.A
        np.testing.assert_allclose(M[np.ix_(at[arm], at[arm])] + rotors, mech.mass_matrix(own), atol=1e-10)


def test_sdf_of_a_cart_holds_its_start_under_its_controllers(cart):
    scene, folder, _ = cart
    sdf = SdfModel(folder / "model.sdf")
    model = sdf.mujoco()
    data = mujoco.MjData(model)
    start = {controller.joint: controller.target for controller in sdf.controllers}
    assert start == pytest.approx(
        {f"{arm}_{j}": x for arm, one in scene.arms.items() for j, x in zip(one.arm.joint_names, one.q, strict=True)}
    )
    follows = sdf.followers()
    for i in range(model.njnt):
        leader, factor = follows.get(model.joint(i).name, (model.joint(i).name, 1.0))
        data.qpos[i] = factor * start[leader]
    mujoco.mj_forward(model, data)
    for arm, one in scene.arms.items():  # the wrist has the same world pose as in the scene
        body = f"{arm}_{one.arm.tip_body}_link"
        T = scene.T_world_base(arm) @ one.mechanism.poses(one.q)[one.arm.tip_body]
        np.testing.assert_allclose(data.body(body).xpos, T[:3, 3], atol=1e-9)
    for _ in range(300):
        for controller in sdf.controllers:
            joint = data.joint(controller.joint)
            joint.qfrc_applied[0] = controller.effort(joint.qpos[0], joint.qvel[0], 1e-3)
        mujoco.mj_step(model, data)
    reached = {joint: data.joint(joint).qpos[0] for joint in start}
    assert reached == pytest.approx(start, abs=1e-2)
    assert [sensor.get("name") for sensor in sdf.root.iter("sensor")] == ["ECM_endoscope_left", "ECM_endoscope_right"]


def test_arms_of_a_cart_share_their_meshes_and_every_file_is_named(cart):
    _, folder, name = cart
    urdf = {mesh.get("filename") for mesh in ElementTree.parse(folder / f"{name}.urdf").iter("mesh")}
    sdf = {uri.text for uri in ElementTree.parse(folder / "model.sdf").iter("uri")}
    written = {f"assets/{path.name}" for path in (folder / "assets").iterdir()}
    assert urdf == sdf == written
    assert not any("PSM2" in file for file in written)


def test_srdf_of_a_cart_names_joints_and_links_of_its_urdf(cart):
    _, folder, name = cart
    urdf, srdf = (ElementTree.parse(folder / f"{name}.{suffix}").getroot() for suffix in ("urdf", "srdf"))
    links = {link.get("name") for link in urdf.iter("link")}
    joints = {joint.get("name") for joint in urdf.findall("joint")}
    assert len(links) == len(urdf.findall("link"))
    assert len(joints) == len(urdf.findall("joint"))
    assert {joint.get("name") for joint in srdf.iter("joint")} <= joints
    pairs = [(pair.get("link1"), pair.get("link2")) for pair in srdf.iter("disable_collisions")]
    assert {link for pair in pairs for link in pair} <= links
    assert all(first.split("_")[0] == second.split("_")[0] for first, second in pairs)  # arms may touch each other
    assert {group.get("name") for group in srdf.findall("group")} >= {"PSM1_arm", "PSM1_jaw", "ECM_arm"}


def test_a_scene_without_a_cart_is_written_under_its_name(tmp_path):
    done = CliRunner().invoke(app, ["export", "masters", "-f", "urdf", "-o", str(tmp_path), "--no-picture"])
    assert done.exit_code == 0, done.output
    model = pin.buildModelFromUrdf(str(tmp_path / "masters" / "masters.urdf"), mimic=True)
    scene, data = tr.load_scene("masters"), model.createData()
    assert model.nq == 14
    pin.framesForwardKinematics(model, data, np.zeros(14))
    for arm in scene.arms:
        T = data.oMf[model.getFrameId(f"{arm}_tip_link")].homogeneous
        np.testing.assert_allclose(T, scene.T_world_tip(arm), atol=1e-9)


def test_the_command_writes_a_cart_and_rejects_options_fixed_by_its_scene(tmp_path):
    runner = CliRunner()
    done = runner.invoke(app, ["export", "cart_classic", "-f", "mjcf", "-o", str(tmp_path), "--no-picture"])
    assert done.exit_code == 0, done.output
    mujoco.MjModel.from_xml_path(str(tmp_path / "cart_classic" / "scene.xml"))
    refused = runner.invoke(app, ["export", "cart_si", "-i", "400093", "-o", str(tmp_path), "--no-picture"])
    assert refused.exit_code != 0
    assert "omit --parameters" in " ".join(refused.output.split())
