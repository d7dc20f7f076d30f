"""SDF exports, read by an independent reader and, if installed, by sdformat and Drake."""

import logging
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import mujoco
import numpy as np
import pytest

from tests.support.sdf_reader import SdfModel, transform
from tests.support.sdformat import check_sdf
from trocar.appearance.endoscope_camera import BASELINE, VIEW
from trocar.simulation import Simulator
from trocar.simulation.export import write_model
from trocar.simulation.export.sdf import MIN_MASS, joint_loads, with_discs

pytestmark = pytest.mark.xdist_group("export")  # one worker: arms are exported once


def matrix(sdf, model, names):
    """E of the file: (joints of the tree, n), from its mimic elements, in the order of a MuJoCo model."""
    follows = sdf.followers()
    rows = []
    for i in range(model.njnt):
        leader, factor = follows.get(model.joint(i).name, (model.joint(i).name, 1.0))
        rows.append(factor * np.eye(len(names))[names.index(leader)])
    return np.array(rows)


def run(sdf, model, steps, record=None):
    """Step under the position controllers of the file; the largest error of a mimic joint on the way."""
    data, worst = mujoco.MjData(model), 0.0
    follows = sdf.followers().items()
    for _ in range(steps):
        for controller in sdf.controllers:
            joint = data.joint(controller.joint)
            joint.qfrc_applied[0] = controller.effort(joint.qpos[0], joint.qvel[0], model.opt.timestep)
        mujoco.mj_step(model, data)
        errors = [data.joint(f).qpos[0] - factor * data.joint(leader).qpos[0] for f, (leader, factor) in follows]
        worst = max(worst, np.abs(errors).max())
        if record is not None:
            record.append(data.qpos.copy())
    return data, worst


def test_sdf_has_the_tip_and_the_motion_of_every_link(sim, folder):
    """Joint by joint, following mimic elements, the links of the file have the poses of the mechanism."""
    sdf = SdfModel(folder / "model.sdf")
    model = sdf.mujoco()
    data, E = mujoco.MjData(model), matrix(sdf, model, sim.arm.joint_names)
    frame = sdf.root.find("frame")
    assert frame.get("attached_to") == f"{sim.arm.tip_body}_link"
    for q in np.random.default_rng(3).uniform(0.8 * sim.arm.lower, 0.8 * sim.arm.upper, (3, sim.n)):
        data.qpos[:] = E @ q
        mujoco.mj_kinematics(model, data)
        found = {}
        for body in (data.body(i) for i in range(model.nbody)):
            found[body.name] = np.block([[body.xmat.reshape(3, 3), body.xpos[:, None]], [0.0, 0.0, 0.0, 1.0]])
        found["tip_link"] = found[frame.get("attached_to")] @ transform(frame.find("pose").text)
        poses = sim.mechanism.poses(q)
        for name in (*(body.name for body in sim.arm.bodies), "tip"):
            np.testing.assert_allclose(found[f"{name}_link"], poses[name], atol=1e-9)


def test_sdf_inertias_are_valid_and_those_of_the_mechanism_and_its_wrist_rotors(sim, folder):
    sdf = SdfModel(folder / "model.sdf")
    model = sdf.mujoco()
    data, E = mujoco.MjData(model), matrix(sdf, model, sim.arm.joint_names)
    mech, q = sim.mechanism, np.array(sim.arm.home)
    data.qpos[:] = E @ q
    mujoco.mj_forward(model, data)
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M)
    rotors = mech.drives.A.T @ np.diag(mech.drives.Im) @ mech.drives.A
    bare = [sim.arm.driven[name] not in sim.parameters.inertias for name in sim.arm.joint_names]
    slides = np.array([joint.kind == "prismatic" for joint in sim.arm.joints])
    stands_for_rotor = np.array(bare) & ~slides
    expected = np.diag(mech.mass_matrix(q)) - np.where(stands_for_rotor, 0.0, np.diag(rotors))
    found = np.diag(E.T @ M @ E)
    others = ~stands_for_rotor  # the discs affect these too, and that each of their links takes 2 g from its carrier
    complete = len(sim.parameters.inertias) == len(sim.arm.bodies)
    np.testing.assert_allclose(found[others], expected[others], rtol=1e-9 if complete else 8e-3)
    np.testing.assert_allclose(found, joint_loads(sim, q, with_discs(sim))[0], rtol=1e-9)
    ratio = found[stands_for_rotor] / expected[stands_for_rotor]
    assert ((ratio > 0.5) & (ratio < 2.0)).all()


def test_an_explicit_integrator_brings_the_sdf_home_under_its_controllers(sim, folder):
    """Explicit Euler steps of 1 ms, damping included, from Gazebo's start at zero; mimic joints hold."""
    sdf = SdfModel(folder / "model.sdf")
    assert [controller.joint for controller in sdf.controllers] == list(sim.arm.joint_names)
    np.testing.assert_allclose([controller.target for controller in sdf.controllers], sim.arm.home, atol=1e-12)
    data, worst = run(sdf, sdf.mujoco(), 2000)
    assert not any(warning.number for warning in data.warning)
    reached = [data.joint(controller.joint).qpos[0] for controller in sdf.controllers]
    np.testing.assert_allclose(reached, sim.arm.home, atol=1e-2)
    assert worst < 1e-5


def test_without_the_discs_the_explicit_integrator_is_unstable(tmp_path):
    """The inertia mentioned in the README is needed."""
    write_model(Simulator("PSM"), tmp_path, ["sdf"])
    sdf = SdfModel(tmp_path / "model.sdf")
    model = sdf.mujoco()
    light = model.body_mass == MIN_MASS
    assert light.sum() == 5
    model.body_inertia[light] = 1e-9
    data, _ = run(sdf, model, 200)
    assert np.abs(data.qvel).max() > 50.0  # [rad/s]: it rattles between its stops


def test_free_motion_of_the_sdf_is_that_of_the_simulator(sim, folder):
    """0.2 s without effort and friction: mimic joints in the file's tree, closed loops in the simulator's."""
    sdf = SdfModel(folder / "model.sdf")
    model = sdf.mujoco(explicit=False, friction=False)
    drives = tuple(replace(drive, Im=0.0, K=0.0, K2=0.0, K0=0.0) for drive in sim.parameters.drives)
    of_file = replace(sim.parameters, inertias=with_discs(sim), drives=drives, elastics=())
    ours = Simulator(sim.arm, of_file, friction=False, contacts=False, limits=False)
    model.jnt_limited[:] = 0
    q = np.clip(0.3, sim.arm.lower, sim.arm.upper) * np.where(np.array(sim.arm.joint_units) == "m", 0.3, 1.0)
    ours.reset(q)
    data = mujoco.MjData(model)
    data.qpos[:] = matrix(sdf, model, sim.arm.joint_names) @ q
    for _ in range(200):
        ours.step(np.zeros(sim.n))
        mujoco.mj_step(model, data)
    moved = np.array([data.joint(name).qpos[0] for name in sim.arm.joint_names])
    assert np.abs(ours.q - q).max() > 1e-2
    np.testing.assert_allclose(moved, ours.q, atol=2e-4)


def test_sdf_cameras_look_where_the_endoscope_does(sim, folder):
    """The tip of an ECM has x left, y up, z away; Gazebo's camera looks along x with z up."""
    sdf = SdfModel(folder / "model.sdf")
    sensors = sdf.root.findall("link/sensor")
    if sim.arm.carries != "endoscope":
        assert not sensors
        return
    link = sdf.links[f"{sim.arm.tip_body}_link"]
    assert [sensor.get("name") for sensor in link.findall("sensor")] == ["endoscope_left", "endoscope_right"]
    for sensor, side in zip(sensors, (1.0, -1.0), strict=True):
        T = np.linalg.inv(sim.arm.T_body_tip) @ transform(sensor.find("pose").text)
        np.testing.assert_allclose(T[:3, 3], [side * BASELINE / 2, 0.0, 0.0], atol=1e-12)
        np.testing.assert_allclose(T[:3, 0], [0.0, 0.0, 1.0], atol=1e-12)
        np.testing.assert_allclose(T[:3, 2], [0.0, 1.0, 0.0], atol=1e-12)
        assert float(sensor.find("camera/horizontal_fov").text) == pytest.approx(VIEW)


def test_sdf_limits_are_those_of_the_arm_and_include_the_start_at_zero(sim, folder):
    joints = SdfModel(folder / "model.sdf").joints
    for facts in sim.arm.joints:
        limit = joints[facts.name].find("axis/limit")
        assert float(limit.find("lower").text) == pytest.approx(min(facts.lower, 0.0), rel=1e-12)
        assert float(limit.find("upper").text) == pytest.approx(max(facts.upper, 0.0), rel=1e-12)
        assert float(limit.find("effort").text) == pytest.approx(facts.effort)


def test_gravity_of_a_pitched_arm_is_downwards_in_the_world(sim, folder):
    T = SdfModel(folder / "model.sdf").T_world
    np.testing.assert_allclose(T[:3, :3] @ sim.gravity_vector, [0.0, 0.0, -9.81], atol=1e-9)


def test_world_selects_the_engine_that_enforces_mimic_joints(sim, folder):
    world = ElementTree.parse(folder / "world.sdf").getroot().find("world")
    engine = world.find("plugin[@name='gz::sim::systems::Physics']/engine/filename").text
    assert engine == "gz-physics-bullet-featherstone-plugin"
    assert world.find("include/uri").text == f"model://{sim.arm.name.lower()}"


# -- read by others ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", ["model.sdf", "world.sdf"])
def test_sdf_passes_the_check_of_sdformat(sim, folder, file, tmp_path):
    """Debian's sdformat knows SDF up to 1.9: the file is checked as such, without mimic, the one element of 1.11."""
    model = tmp_path / sim.arm.name.lower()
    model.mkdir()
    for name in ("model.sdf", "world.sdf", "model.config"):
        older = (folder / name).read_text().replace('version="1.11"', 'version="1.9"')
        (model / name).write_text(re.sub(r"<mimic .*?</mimic>", "", older, flags=re.DOTALL))
    if file == "world.sdf":
        text = (model / file).read_text().replace("model://", "")
        (model / file).write_text(text)
    check_sdf(model / file, tmp_path)


def test_drake_reads_the_sdf_and_gives_the_same_motion(sim, folder):
    """Drake has its own parser (sdformat of 1.11) and engine; it has no dry friction."""
    drake = pytest.importorskip("pydrake.multibody.plant", reason="pip install drake")
    from pydrake.multibody.parsing import Parser

    logging.getLogger("drake").setLevel(logging.ERROR)  # plugins are Gazebo's
    plant = drake.MultibodyPlant(1e-3)
    plant.set_discrete_contact_approximation(drake.DiscreteContactApproximation.kSap)
    unlimited = re.sub(
        r"<(lower|upper)>.*?</\1>", "", (folder / "model.sdf").read_text()
    )  # each engine has its own stops
    Parser(plant).AddModelsFromString(unlimited, "sdf")
    plant.Finalize()
    context, port = plant.CreateDefaultContext(), plant.get_applied_generalized_force_input_port()
    sdf = SdfModel(folder / "model.sdf")
    assert plant.num_constraints() == len(sdf.followers())
    joints = {name: plant.GetJointByName(name) for name, e in sdf.joints.items() if e.get("type") != "fixed"}
    place = {name: (joint.position_start(), joint.velocity_start()) for name, joint in joints.items()}
    model = SdfModel(folder / "model.sdf").mujoco(explicit=False)
    model.dof_frictionloss[:], model.jnt_limited[:] = 0.0, 0
    path = []
    run(SdfModel(folder / "model.sdf"), model, 300, path)
    worst = 0.0
    for row in path:
        q, v, tau = plant.GetPositions(context), plant.GetVelocities(context), np.zeros(plant.num_velocities())
        for controller in sdf.controllers:
            i, j = place[controller.joint]
            tau[j] = controller.effort(q[i], v[j], 1e-3)
        port.FixValue(context, tau)
        plant.ExecuteForcedEvents(context)
        q = plant.GetPositions(context)
        worst = max(worst, *(abs(q[place[name][0]] - row[model.joint(name).qposadr[0]]) for name in joints))
    assert worst < 1e-4


def test_bullet_brings_the_sdf_home_with_gear_constraints_for_its_mimic_joints(sim, folder):
    """Gazebo's bullet-featherstone uses Bullet's multi-body engine and its gear constraint."""
    bullet = pytest.importorskip("pybullet", reason="pip install pybullet")
    client = bullet.connect(bullet.DIRECT)
    try:
        sdf = SdfModel(folder / "model.sdf")
        body, numbers = sdf.bullet(bullet)
        follows, worst = sdf.followers().items(), 0.0
        for _ in range(3000):
            for controller in sdf.controllers:
                q, dq, *_ = bullet.getJointState(body, numbers[controller.joint])
                effort = float(controller.effort(q, dq, 1e-3))
                bullet.setJointMotorControl2(body, numbers[controller.joint], bullet.TORQUE_CONTROL, force=effort)
            bullet.stepSimulation()
            at = {name: bullet.getJointState(body, i)[0] for name, i in numbers.items()}
            worst = max(worst, *(abs(at[name] - factor * at[leader]) for name, (leader, factor) in follows))
        np.testing.assert_allclose([at[name] for name in sim.arm.joint_names], sim.arm.home, atol=1e-3)
        assert worst < 1e-4
    finally:
        bullet.disconnect(client)
