"""Exports: other programs load the arm that trocar simulates, and the committed models are up to date."""

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from types import SimpleNamespace

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from typer.testing import CliRunner

import trocar as tr
from tests.support.model_folders import MODELS, assert_committed
from trocar.arms.parameters import CableTorque, Dahl, to_toml
from trocar.cli import app
from trocar.simulation import Simulator
from trocar.simulation.engine import ArmSlice, stiffen
from trocar.simulation.export import FORMATS, model_files, write_model
from trocar.simulation.export.meshes import meshes
from trocar.simulation.forces.arm_forces import CableForces
from trocar.simulation.objects.solid import needle

pytestmark = pytest.mark.xdist_group("export")  # one worker: arms are exported once


def xml(sim, folder, suffix):
    return ElementTree.parse(folder / f"{sim.arm.name.lower()}.{suffix}").getroot()


def states(sim, count=5):
    rng = np.random.default_rng(1)
    return rng.uniform(0.8 * sim.arm.lower, 0.8 * sim.arm.upper, (count, sim.n))


def followers(sim, folder):
    """E of the URDF: (joints of the tree, n), read from its own mimic elements; and the names of its joints."""
    names, rows = [], []
    for joint in xml(sim, folder, "urdf").iter("joint"):
        if joint.get("type") == "fixed":
            continue
        mimic = joint.find("mimic")
        leader, factor = (joint.get("name"), 1.0) if mimic is None else (mimic.get("joint"), mimic.get("multiplier"))
        names.append(joint.get("name"))
        rows.append(float(factor) * np.eye(sim.n)[sim.arm.joint_names.index(leader)])
    return names, np.array(rows)


# -- committed models --------------------------------------------------------------------------------------------------


def test_committed_models_match_the_export(sim):
    assert_committed(model_files(sim), sim.arm.name.lower())


def test_committed_models_are_small():
    assert sum(path.stat().st_size for path in MODELS.rglob("*") if path.is_file()) < 7.5e6


def test_meshes_are_closed(sim):
    """The area vectors of a closed surface add up to zero, and its volume is positive if its faces look outwards."""
    for mesh in meshes(sim.spec):
        a, b, c = np.moveaxis(mesh.triangles, 1, 0)
        area = np.cross(b - a, c - a)
        assert np.linalg.norm(area.sum(0)) < 1e-6 * np.linalg.norm(area, axis=1).sum(), mesh.name
        assert np.einsum("ij,ij->", a, np.cross(b, c)) > 0, mesh.name


# -- MJCF ------------------------------------------------------------------------------------------------------------


def run(sim, model, steps, stiffened):
    """Joints after some steps of the exported model under a varying effort, from home, and of the simulator."""
    if stiffened:
        stiffen(model)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key("home").id)
    cables = [e for e in sim.parameters.elastics if isinstance(e, CableTorque)]
    forces = CableForces(ArmSlice(SimpleNamespace(model=model, data=data), sim.arm), cables)
    sim.reset(np.array(sim.arm.home))
    data.qvel[:], data.act[:] = 0.0, 0.0
    sizes = 0.05 * np.array([joint.effort for joint in sim.arm.joints])
    for k in range(steps):
        tau = sizes * np.sin(0.02 * k + np.arange(sim.n))
        data.ctrl[:] = sim.arm.motors.coupling.T @ tau
        data.qfrc_applied[:] = forces.force(data.qpos, data.qvel)
        mujoco.mj_step(model, data)
        sim.step(tau)
    assert not any(warning.number for warning in data.warning)
    return sim.arm.D @ data.qpos, sim.q.copy()


@pytest.fixture(scope="module")
def told(sim, folder, tmp_path_factory):
    """The simulator and its export with all friction that MJCF can express: none that varies with load or position."""
    if not any(drive.hysteresis or drive.Fx or drive.mu for drive in sim.parameters.drives):
        return sim, folder
    smooth, path = Simulator(sim.arm.name, friction=False), tmp_path_factory.mktemp("smooth")
    write_model(smooth, path, ["mjcf"])
    return smooth, path


def test_mjcf_moves_as_the_simulator_does(told):
    sim, folder = told
    model = mujoco.MjModel.from_xml_path(str(folder / f"{sim.arm.name.lower()}.xml"))
    exported, simulated = run(sim, model, 300, stiffened=True)
    assert np.abs(simulated - np.array(sim.arm.home)).max() > 1e-3  # the arm moved
    np.testing.assert_allclose(exported, simulated, atol=1e-9)


def test_mjcf_without_stiffening_moves_nearly_the_same(told):
    """Without the stiffer constraints, which no file can express: the README warns of the difference.

    The jaws, squeezed together in this motion, yield most; without friction they bounce, differently in each model.
    """
    sim, folder = told
    model = mujoco.MjModel.from_xml_path(str(folder / "scene.xml"))
    exported, simulated = run(sim, model, 300, stiffened=False)
    moving = sim.arm.tip_joints
    np.testing.assert_allclose(exported[:moving], simulated[:moving], atol=1e-3)
    if sim.options.friction:
        np.testing.assert_allclose(exported[moving:], simulated[moving:], atol=2e-2)


def test_mjcf_keeps_every_drive(sim, folder):
    model = mujoco.MjModel.from_xml_path(str(folder / f"{sim.arm.name.lower()}.xml"))
    drawn = sim.spec.copy().compile()  # friction that depends on load or position is set in sim.model at every step
    for name in ("dof_damping", "dof_armature", "dof_frictionloss", "jnt_stiffness", "jnt_range", "actuator_gear"):
        np.testing.assert_allclose(getattr(model, name), getattr(drawn, name), rtol=1e-14, err_msg=name)
    for name in ("tendon_damping", "tendon_armature", "tendon_frictionloss", "tendon_stiffness", "wrap_prm"):
        np.testing.assert_allclose(getattr(model, name), getattr(sim.model, name), rtol=1e-14, err_msg=name)
    np.testing.assert_allclose(model.body_mass[1:], sim.model.body_mass, rtol=1e-14)
    heavy = sim.model.body_mass > 1e-9
    for name in ("body_ipos", "body_inertia"):
        np.testing.assert_allclose(getattr(model, name)[1:][heavy], getattr(sim.model, name)[heavy], rtol=1e-9)
    assert model.neq == sim.model.neq
    assert (model.geom_group == 3).sum() == (drawn.geom_group == 3).sum()


def test_mjcf_keeps_a_quadratic_stiffness_and_lists_unsupported_friction(tmp_path):
    best = Simulator("PSM").parameters
    first = best.drives[0]
    drive = replace(first, K=0.3, K2=0.7, terms=(*first.terms, "K", "K2"), hysteresis=(Dahl(1e-2, 1e-2),))
    (tmp_path / "set.toml").write_text(to_toml(replace(best, drives=(drive, *best.drives[1:]))))
    sim = Simulator("PSM", tmp_path / "set.toml")
    write_model(sim, tmp_path, ["mjcf"])
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "psm.xml"))
    assert model.jnt_stiffnesspoly.any()
    np.testing.assert_allclose(model.jnt_stiffness, sim.model.jnt_stiffness, rtol=1e-14)
    np.testing.assert_allclose(model.jnt_stiffnesspoly, sim.model.jnt_stiffnesspoly, rtol=1e-14)
    assert (
        f"friction with memory, by position or by load, of the drives {drive.name}."
        in (tmp_path / "README.md").read_text()
    )


def loaded(sim, folder):
    """The MJCF in MuJoCo, with the cable forces that its README tells users to apply; gravity compensation holds it."""
    model = mujoco.MjModel.from_xml_path(str(folder / f"{sim.arm.name.lower()}.xml"))
    cables = [e for e in sim.parameters.elastics if isinstance(e, CableTorque)]
    data = mujoco.MjData(model)
    return model, data, CableForces(ArmSlice(SimpleNamespace(model=model, data=data), sim.arm), cables)


def test_mjcf_rests_under_gravity_compensation(sim, folder):
    """Constant forces (K0) act in the file as in the mechanism; the bias of the measured effort does not."""
    model, data, cables = loaded(sim, folder)
    for q in states(sim):
        q[sim.arm.tip_joints :] = np.abs(q[sim.arm.tip_joints :])  # below 0 the jaws press on each other
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.ctrl[:] = sim.arm.E @ q, sim.arm.motors.coupling.T @ sim.mechanism.gravity(q)
        for _ in range(1000):
            data.qfrc_applied[:] = cables.force(data.qpos, data.qvel)
            mujoco.mj_step(model, data)
        np.testing.assert_allclose(sim.arm.D @ data.qpos, q, atol=2e-5)
    data.ctrl[:] = 0.0
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(data.qfrc_actuator, -sim.mechanism.drives.constant @ sim.arm.D, atol=1e-12)
    np.testing.assert_allclose(model.numeric("effort_bias").data, sim.mechanism.effort_bias, rtol=1e-12)


def test_mjcf_of_the_psm_rests_without_gravity_and_effort():
    """Its springs are weaker than its static friction."""
    model = mujoco.MjModel.from_xml_path(str(MODELS / "psm" / "psm.xml"))
    model.opt.gravity[:] = 0.0
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key("home").id)
    start = data.qpos.copy()
    mujoco.mj_step(model, data, nstep=2000)
    np.testing.assert_allclose(data.qpos, start, atol=1e-9)


# -- URDF ------------------------------------------------------------------------------------------------------------


def weight_alone(sim):
    """The mechanism without springs, cables and constant forces, which URDF cannot express."""
    drives = tuple(replace(drive, K=0.0, K2=0.0, K0=0.0) for drive in sim.parameters.drives)
    return tr.Mechanism(sim.arm, replace(sim.parameters, drives=drives, elastics=()), gravity=sim.gravity_vector)


def rotors(mech):
    return mech.drives.A.T @ np.diag(mech.drives.Im) @ mech.drives.A  # URDF cannot express them


def test_urdf_with_mimic_joints_in_pinocchio_has_tip_and_dynamics_of_the_mechanism(sim, folder):
    """Pinocchio's joints are the dVRK's: same number, same order. The added 1e-12 kg per link is negligible."""
    mech = weight_alone(sim)
    model = pin.buildModelFromUrdf(str(folder / f"{sim.arm.name.lower()}.urdf"), mimic=True)
    model.gravity.linear[:] = sim.gravity_vector
    data, tip = model.createData(), model.getFrameId("tip_link")
    assert model.nq == model.nv == sim.n
    assert [model.joints[model.getJointId(name)].idx_q for name in sim.arm.joint_names] == list(range(sim.n))
    dq = np.random.default_rng(2).normal(size=sim.n)
    for q in states(sim):
        pin.framesForwardKinematics(model, data, q)
        np.testing.assert_allclose(data.oMf[tip].homogeneous, mech.forward_kinematics(q), atol=1e-12)
        M = pin.crba(model, data, q, pin.Convention.WORLD)  # the other convention accumulates over calls
        M = np.triu(M) + np.triu(M, 1).T
        np.testing.assert_allclose(M + rotors(mech), mech.mass_matrix(q), atol=1e-10)
        np.testing.assert_allclose(pin.computeGeneralizedGravity(model, data, q), mech.gravity(q), atol=1e-9)
        c = mech.coriolis(q, dq)
        np.testing.assert_allclose(pin.nonLinearEffects(model, data, q, dq), c + mech.gravity(q), atol=1e-9)


def test_urdf_of_a_psm_without_counterweight_has_its_mass_matrix(tmp_path):
    sim = Simulator("PSM", counterweight=False)
    write_model(sim, tmp_path, ["urdf"])
    model = pin.buildModelFromUrdf(str(tmp_path / "psm.urdf"), mimic=True)
    q = states(sim, 1)[0]
    M = np.triu(pin.crba(model, model.createData(), q, pin.Convention.WORLD))
    np.testing.assert_allclose(M, np.triu(sim.mechanism.mass_matrix(q) - rotors(sim.mechanism)), atol=1e-10)


def test_urdf_in_mujoco_has_the_same_tip_and_inertias(sim, folder):
    mech = tr.Mechanism(sim.arm, sim.parameters)
    model = mujoco.MjModel.from_xml_path(str(folder / f"{sim.arm.name.lower()}.urdf"))
    names, E = followers(sim, folder)
    E = E[[names.index(model.joint(i).name) for i in range(model.njnt)]]
    data = mujoco.MjData(model)
    carrier = sim.arm.tip_body + "_link"
    for q in states(sim):
        data.qpos[:] = E @ q
        mujoco.mj_forward(model, data)
        M = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, M)
        np.testing.assert_allclose(E.T @ M @ E + rotors(mech), mech.mass_matrix(q), atol=1e-9)
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = data.body(carrier).xmat.reshape(3, 3), data.body(carrier).xpos
        np.testing.assert_allclose(T @ sim.arm.T_body_tip, mech.forward_kinematics(q), atol=1e-7)


def test_urdf_links_carry_the_parameters_and_are_physically_valid(sim, folder):
    found = 0
    for link in xml(sim, folder, "urdf").iter("link"):
        inertial = link.find("inertial")
        if link.get("name") == "base_link":
            assert inertial is None
            continue
        entry = inertial.find("inertia").attrib
        xx, xy, xz, yy, yz, zz = (float(entry[key]) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
        I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        mass = float(inertial.find("mass").get("value"))
        if link.get("name") == "tip_link":  # PyBullet takes a link without an inertia for 1 kg
            assert mass == 0.0
            assert not I.any()
            continue
        a, b, c = np.linalg.eigvalsh(I)
        assert a > 0
        assert a + b >= c * (1 - 1e-9), link.get("name")
        given = sim.parameters.inertias.get(link.get("name").removesuffix("_link"))
        if given is not None:
            found += 1
            np.testing.assert_allclose(I, given.I, rtol=1e-14, atol=1e-15)
            assert mass == pytest.approx(given.mass, rel=1e-14)
    assert found == len(sim.parameters.inertias)


def test_urdf_names_meshes_that_exist(sim, folder):
    named = {mesh.get("filename") for mesh in xml(sim, folder, "urdf").iter("mesh")}
    assert named == {uri.text for uri in ElementTree.parse(folder / "model.sdf").iter("uri")}
    assert named == {f"assets/{path.name}" for path in (folder / "assets").iterdir()}


def test_srdf_refers_to_joints_and_links_of_the_urdf(sim, folder):
    urdf, srdf = xml(sim, folder, "urdf"), xml(sim, folder, "srdf")
    links = {link.get("name") for link in urdf.iter("link")}
    joints = {joint.get("name") for joint in urdf.iter("joint")}
    mimic = {joint.get("name") for joint in urdf.iter("joint") if joint.find("mimic") is not None}
    assert {joint.get("name") for joint in srdf.iter("joint")} <= joints - mimic
    assert {joint.get("name") for joint in srdf.iter("passive_joint")} == mimic
    pairs = [(pair.get("link1"), pair.get("link2")) for pair in srdf.iter("disable_collisions")]
    assert {name for pair in pairs for name in pair} <= links
    solid = [link.get("name") for link in urdf.iter("link") if link.find("collision") is not None]
    assert len(set(map(frozenset, pairs))) == len(pairs) == len(solid) * (len(solid) - 1) / 2
    chain = srdf.find("group/chain").attrib
    assert {chain["base_link"], chain["tip_link"]} <= links
    assert {group.get("name") for group in srdf.iter("group")} >= ({"arm", "jaw"} if sim.arm.name == "PSM" else {"arm"})


def test_srdf_lists_colliding_shapes_of_the_urdf(sim, folder):
    """Checked with MuJoCo's own reading of the URDF, at other states than those the matrix was sampled at."""
    model = mujoco.MjModel.from_xml_path(str(folder / f"{sim.arm.name.lower()}.urdf"))
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_FILTERPARENT
    names, E = followers(sim, folder)
    E = E[[names.index(model.joint(i).name) for i in range(model.njnt)]]
    data, rows = mujoco.MjData(model), 400

    def touching(q):
        data.qpos[:] = E @ q
        mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)
        deep = data.contact.geom[data.contact.dist < 0]
        return {frozenset(model.body(b).name for b in model.geom_bodyid[pair]) for pair in deep}

    by_reason = {}
    for entry in xml(sim, folder, "srdf").iter("disable_collisions"):
        by_reason.setdefault(entry.get("reason"), set()).add(frozenset((entry.get("link1"), entry.get("link2"))))
    assert by_reason.keys() <= {"Adjacent", "Always", "Default", "Never", "User"}
    seen = [touching(q) for q in np.random.default_rng(7).uniform(sim.arm.lower, sim.arm.upper, (rows, sim.n))]
    home = touching(np.array(sim.arm.home))
    ever, always = set.union(*seen), set.intersection(*seen)
    assert not by_reason["Never"] & (ever | home)
    assert by_reason.get("Always", set()) <= always
    assert by_reason.get("Default", set()) <= home
    assert by_reason.get("User", set()) <= ever - always


# -- RViz --------------------------------------------------------------------------------------------------------------


def test_rviz_looks_from_a_frame_of_the_urdf(sim, folder):
    text = (folder / f"{sim.arm.name.lower()}.rviz").read_text()
    fixed = re.search(r"Fixed Frame: (\S+)", text)[1]
    assert fixed in {link.get("name") for link in xml(sim, folder, "urdf").iter("link")}


# -- the command and bad input -----------------------------------------------------------------------------------------


def test_the_command_writes_the_requested_formats(tmp_path):
    done = CliRunner().invoke(app, ["export", "MTMR", "-f", "urdf", "-o", str(tmp_path), "--no-picture"])
    assert done.exit_code == 0, done.output
    written = {path.name for path in (tmp_path / "mtmr").iterdir()}
    assert written == {"README.md", "LICENSE", "CHANGELOG.md", "assets", "mtmr.urdf", "mtmr.srdf"}
    assert "urdf" in done.output


@pytest.mark.parametrize(("arguments", "said"), [(["PSN"], "PSM"), (["PSM", "-f", "usd"], "usd")])
def test_the_command_rejects_unsupported_exports(arguments, said, tmp_path):
    done = CliRunner().invoke(app, ["export", *arguments, "-o", str(tmp_path)])
    assert done.exit_code != 0
    assert said in done.output
    assert not list(tmp_path.rglob("*.xml"))


def test_a_body_named_base_is_rejected(sim):
    bodies = tuple(replace(body, name="base") if body.parent is None else body for body in sim.arm.bodies)
    first = sim.arm.bodies[0].name
    bodies = tuple(replace(body, parent="base") if body.parent == first else body for body in bodies)
    driven = {joint: "base" if body == first else body for joint, body in sim.arm.driven.items()}
    loops = tuple(replace(loop, body_b="base") if loop.body_b == first else loop for loop in sim.arm.loops)
    inertias = {"base" if name == first else name: value for name, value in sim.parameters.inertias.items()}
    arm = replace(sim.arm, bodies=bodies, driven=driven, loops=loops, look="bars")
    with pytest.raises(tr.TrocarError, match="rename"):
        model_files(Simulator(arm, replace(sim.parameters, inertias=inertias)))


def test_objects_are_rejected():
    scene = tr.load_scene("psm", objects=[needle("needle", np.eye(4))])
    with pytest.raises(tr.TrocarError, match="remove the objects needle"):
        model_files(scene)


def test_an_unknown_format_lists_the_known_ones(sim):
    with pytest.raises(tr.TrocarError, match=", ".join(FORMATS)):
        model_files(sim, ["usd"])


def test_the_manufacturers_meshes_are_never_exported(sim, monkeypatch):
    monkeypatch.setenv("TROCAR_DVRK_MODEL", "/somewhere")
    with pytest.raises(tr.TrocarError, match="TROCAR_DVRK_MODEL"):
        model_files(sim)
