"""The scenes of Ferro et al. 2022: their file format, the parameter set derived from them, and what it explains."""

import os
import struct
from pathlib import Path

import mujoco
import numpy as np
import pytest

import trocar as tr
from tests.support import coppelia_scenes as files
from tools import derive_ferro_scene as tool
from trocar.arms.parameters import to_toml
from trocar.demo import torque_control
from trocar.report import Report
from trocar.simulation import Mirror
from trocar_reproductions.experiment import Context
from trocar_reproductions.ferro2022 import logs, packed_file, scene_masses
from trocar_reproductions.ferro2022.scene_file import CoppeliaDummy, CoppeliaScene, load_scene_file
from trocar_reproductions.parameters import FERRO2022_SCENE

pytestmark = pytest.mark.xdist_group("ferro_scene")  # one worker: fixtures are built once
FOLDER = os.environ.get("TROCAR_DATA")
DATA = Path(FOLDER) if FOLDER else None
SCENES = None if DATA is None else DATA / logs.LOGS / "scenes"
needs_scenes = pytest.mark.skipif(
    SCENES is None or not (SCENES / "dyn_dVRK_1arm.ttt").is_file(), reason="TROCAR_DATA has no scenes of Ferro et al."
)
needs_logs = pytest.mark.skipif(
    not isinstance(logs.log_of(DATA, 1), logs.Log), reason="TROCAR_DATA has no logs of Ferro et al."
)
STATES = ((0.0, 0.0, 0.1), (0.4, 0.2, 0.15), (-0.3, 0.3, 0.12), (0.6, -0.4, 0.2))


def written(folder, content):
    path = folder / "scene.ttt"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("seed", range(3))
def test_packing_and_unpacking_are_inverse(tmp_path, seed):
    content = files.random_bytes(2000, seed) + bytes(3000) + b"abc" * 500
    assert packed_file.unpacked(written(tmp_path, files.packed(content))) == content


def test_a_scene_has_its_bodies_joints_and_engine(tmp_path):
    scene = load_scene_file(written(tmp_path, files.pendulum()))
    assert (scene.engine, scene.preset, scene.time_step) == ("ODE", "very accurate", pytest.approx(0.005))
    np.testing.assert_allclose(scene.gravity, [0.0, 0.0, -9.81], atol=1e-6)
    swing, slide, rod = scene.joint("swing"), scene.joint("slide"), scene.shape("rod")
    assert (swing.kind, swing.mode, swing.motor, swing.loop) == ("revolute", "dynamic", True, True)
    assert (slide.kind, slide.motor, slide.loop) == ("prismatic", True, False)
    assert (swing.lower, swing.upper, swing.force, swing.speed) == (-1.0, 2.0, 50.0, 10.0)
    assert swing.gains[0] == pytest.approx(0.1)
    assert (swing.erp, swing.cfm) == (pytest.approx(0.6), pytest.approx(1e-5))
    assert rod.dynamic
    assert not scene.shape("base").dynamic
    np.testing.assert_allclose(np.diag(rod.inertia), [0.02, 0.04, 0.05], rtol=1e-6)  # times the mass of 2 kg
    T = scene.pose("tip", {"swing": np.pi / 2, "slide": 0.3})
    np.testing.assert_allclose(T[:3, 3], [0.0, 1.0, 1.3], atol=1e-6)  # turned about z, then along z


def test_an_unknown_object_is_refused_with_the_known_names(tmp_path):
    scene = load_scene_file(written(tmp_path, files.pendulum()))
    with pytest.raises(tr.TrocarError, match=r"joint of .* 'swung' is unknown. Did you mean 'swing'"):
        scene.joint("swung")
    with pytest.raises(tr.TrocarError, match="shape of"):
        scene.shape("swing")


def damaged(name):
    sound = files.pendulum()
    short = sound[:13] + struct.pack("<i", 20) + sound[17:1021]
    plain = files.content(files.shape("a", 1, -1), files.shape("b", 2, 1))
    huge = plain.replace(struct.pack("<i", 4) + struct.pack("<f", 2.0), struct.pack("<i", 2**31 - 1) + bytes(4), 1)
    circle = files.content(files.shape("a", 1, 2), files.shape("b", 2, 1))
    return {
        "foreign": b"PK\x03\x04" + sound[4:],
        "empty": b"",
        "only a header": sound[:1021],
        "within the tree": short + sound[1021:1030],
        "truncated": sound[:-40],
        "announces too much": sound[:13] + struct.pack("<i", 2**31 - 1) + sound[17:],
        "announces a negative length": sound[:13] + struct.pack("<i", -5) + sound[17:],
        "one leaf": short + b"\xff" * 50,
        "endless tree": short + bytes(5000),
        "huge block": files.packed(huge),
        "circle": files.packed(circle),
        "twice the same name": files.packed(files.content(files.shape("a", 1, -1), files.shape("a", 2, -1))),
        "no engine": files.packed(files.shape("a", 1, -1)),
        "no mass": files.packed(files.content(files.shape("a", 1, -1, mass=0.0))),
        "not finite": files.packed(files.content(files.shape("a", 1, -1, mass=np.nan))),
        "unknown joint": files.packed(files.content(files.joint("j", 1, -1, kind=77))),
    }[name]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("foreign", "not a binary scene"),
        ("empty", "not a binary scene"),
        ("only a header", "has a header of 1021 bytes and content"),
        ("within the tree", "ends within its Huffman tree"),
        ("truncated", "is truncated: it announces"),
        ("announces too much", "announces 2147483647 bytes"),
        ("announces a negative length", "announces -5 bytes"),
        ("one leaf", "one leaf"),
        ("endless tree", "more than 256 leaves"),
        ("huge block", "announces 2147483647 bytes"),
        ("circle", "form a circle"),
        ("twice the same name", "two objects called 'a'"),
        ("no engine", "has no block 'DYN'"),
        ("no mass", r"has a mass of 0 kg"),
        ("not finite", "not finite"),
        ("unknown joint", "has 77 in field 'Jtt'"),
    ],
)
def test_a_damaged_scene_is_refused_with_the_reason(tmp_path, name, message):
    with pytest.raises(tr.TrocarError, match=message):
        load_scene_file(written(tmp_path, damaged(name)))


def test_a_missing_scene_is_named(tmp_path):
    with pytest.raises(tr.TrocarError, match=r"none\.ttt cannot be read"):
        load_scene_file(tmp_path / "none.ttt")


@pytest.fixture(scope="module")
def scene():
    return load_scene_file(SCENES / "dyn_dVRK_1arm.ttt")


def centres(scene: CoppeliaScene, q):
    """Poses (4, 4) of the scene's bodies at q (3,); bars of the parallelogram turn by the pitch, back and forth."""
    positions = {"J1_PSM1": q[0], "J2_PSM1": q[1], "J3_PSM1": q[2], "J31_PSM1": q[2]}
    for joint, sign in (("J22_PSM1", -1), ("J23_PSM1", -1), ("J24_PSM1", 1), ("J25_PSM1", 1)):
        positions[joint] = scene.joint(joint).position + sign * q[1]
    return {body: scene.pose(shape, positions) for body, (shape, _) in tool.BODIES.items()}


def energies(scene, q, dq, h=1e-5):
    """Potential energy at q [J], and kinetic energy with velocities dq, from the scene's own kinematics."""
    potential = kinetic = 0.0
    before, here, after = (centres(scene, np.add(q, k * h * np.array(dq))) for k in (-1, 0, 1))
    for body, (shape, _) in tool.BODIES.items():
        part = scene.shape(shape)
        a, b, c = (T[body][:3, :3] @ part.com + T[body][:3, 3] for T in (before, here, after))
        R, dR = here[body][:3, :3], (after[body] - before[body])[:3, :3] / (2 * h)
        spin = dR @ R.T
        w = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
        potential -= part.mass * scene.gravity @ b
        kinetic += 0.5 * part.mass * np.sum(((c - a) / (2 * h)) ** 2) + 0.5 * w @ R @ part.inertia @ R.T @ w
    return potential, kinetic


@needs_scenes
@pytest.mark.parametrize("q", STATES)
def test_the_set_has_the_gravity_and_inertia_of_the_scene(scene, q):
    """Gravity is the gradient of the potential energy of the scene's bodies, M the kinetic energy's matrix."""
    mechanism = tr.load_mechanism("PSM", "ferro2022_scene")
    full, h = [*q, 0.0, 0.0, 0.0, 0.0], 1e-4
    steps = h * np.eye(3)
    gravity = [
        (energies(scene, q + e, np.zeros(3))[0] - energies(scene, q - e, np.zeros(3))[0]) / (2 * h) for e in steps
    ]
    np.testing.assert_allclose(mechanism.gravity(full)[:3], gravity, atol=4e-3)
    # the identified set differs by far more
    if q[0]:
        assert np.abs(tr.load_mechanism("PSM").gravity(full)[:3] - gravity).max() > 0.15
    M = mechanism.mass_matrix(full)[:3, :3]
    for dq in ([1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0], [1.0, 1.0, 0.5]):
        assert 0.5 * np.array(dq) @ M @ dq == pytest.approx(energies(scene, q, dq)[1], rel=0.03)


@needs_scenes
def test_the_committed_set_is_the_one_derived_from_the_scene(scene):
    parameters, repairs = tool.derive(scene)
    committed = FERRO2022_SCENE.read_text()
    assert to_toml(parameters, tool.comments(repairs)) == committed
    assert max(change.relative for change in repairs) < 3e-3  # tensors that no body can have, by rounding


@needs_scenes
def test_the_arms_of_all_three_scenes_have_the_same_masses():
    sets = [tool.derive(load_scene_file(SCENES / f"dyn_dVRK_{name}.ttt"))[0] for name in ("1arm_no_cw", "2arms")]
    committed = tr.load_mechanism("PSM", "ferro2022_scene").parameters
    for parameters in sets:
        for body, inertia in parameters.inertias.items():
            np.testing.assert_allclose(inertia.com, committed.inertias[body].com, atol=1e-6)
            assert inertia.mass == pytest.approx(committed.inertias[body].mass)


@needs_scenes
def test_the_errors_of_the_scene(scene):
    """Sign of the tool's z, 14 mm along the top bar, inertias about the link's origin divided by the mass."""
    meant, entered = (tr.load_mechanism("PSM", name).parameters for name in ("wang2019_published", "ferro2022_scene"))
    tool_meant, tool_entered = (one.inertias["insertion"].com for one in (meant, entered))
    np.testing.assert_allclose(tool_entered[:2], tool_meant[:2], atol=3e-3)
    assert tool_entered[2] == pytest.approx(-tool_meant[2], abs=3e-3)
    top_meant, top_entered = (one.inertias["top"].com for one in (meant, entered))
    assert top_entered[0] - top_meant[0] == pytest.approx(-0.0135, abs=1.5e-3)
    for body, link in meant.inertias.items():
        about_origin = link.I + link.mass * (link.com @ link.com * np.eye(3) - np.outer(link.com, link.com))
        principal = np.linalg.eigvalsh(scene.shape(tool.BODIES[body][0]).inertia)
        if body != "insertion":
            np.testing.assert_allclose(principal, np.linalg.eigvalsh(about_origin / link.mass), rtol=4e-3, atol=5e-6)


@needs_scenes
def test_the_mirrored_counterweight_has_the_settings_of_the_scene(scene):
    motor, mirror = scene.joint("J31_PSM1"), Mirror()
    assert (motor.motor, motor.loop, motor.kind) == (True, True, "prismatic")
    assert (mirror.gain, 0.0, 0.0) == pytest.approx(motor.gains)
    assert (mirror.force, mirror.speed, mirror.cfm) == pytest.approx((motor.force, motor.speed, motor.cfm))
    assert motor.erp == pytest.approx(0.6)
    assert (scene.engine, scene.preset) == ("ODE", "very accurate")
    assert mirror.physics == logs.PHYSICS


@needs_scenes
def test_without_counterweight_the_scene_does_not_simulate_it():
    scene = load_scene_file(SCENES / "dyn_dVRK_1arm_no_cw.ttt")
    assert not scene.shape("CW_respondable").dynamic
    assert not scene.joint("J31_PSM1").motor


@needs_logs
@pytest.mark.parametrize(("session", "before", "after"), [(2, 0.45, 0.06), (3, 0.3, 0.07), (4, 0.25, 0.07)])
def test_with_the_scenes_masses_the_engines_differ_by_noise_only(session, before, after):
    log = logs.log_of(DATA, session)
    published, scene = (
        scene_masses.SceneReplay(
            log, session, *(tr.load_mechanism("PSM", name, counterweight=cw) for cw in (True, False))
        )
        for name in ("wang2019", "ferro2022_scene")
    )
    assert published.slow().max() > before
    assert scene.slow().max() < after
    assert np.abs((scene.theirs - scene.engine).mean(axis=0)).max() < 0.025


@needs_logs
def test_under_excitation_their_engine_is_where_the_integrated_commands_are():
    log = logs.log_of(DATA, 5)
    mechanisms = [tr.load_mechanism("PSM", "ferro2022_scene", counterweight=cw) for cw in (True, False)]
    scene = scene_masses.SceneReplay(log, 5, *mechanisms)
    as_logged = scene_masses.Replay(log, 5, *mechanisms)
    slow = torque_control.rms(scene_masses.below_noise(as_logged.theirs - as_logged.engine, 5e-3))
    assert (slow > 0.25).all()
    assert (scene.slow() < 0.08).all()
    assert np.abs(scene_masses.integrated(log) - log.arm_joints("qmsr"))[:, :2].mean(axis=0).min() > 0.2


def test_the_force_of_a_mirrored_counterweight_is_its_weight_at_rest_and_lags_in_motion():
    mechanisms = [tr.load_mechanism("PSM", counterweight=cw) for cw in (True, False)]
    weight = np.subtract(*(mechanism.gravity([0, 0, 0.1, 0, 0, 0, 0])[2] for mechanism in mechanisms))
    q, commanded = np.tile([0, 0, 0.1, 0, 0, 0, 0.0], (100, 1)), np.zeros((100, 7))
    np.testing.assert_allclose(scene_masses.mirrored_force(*mechanisms, q, commanded, 1e-2), weight, rtol=1e-9)
    commanded[50:, 2] = 0.1  # the insertion starts to move
    q[2:, 2] += np.cumsum(commanded[:, 2])[:-2] * 1e-2
    force = scene_masses.mirrored_force(*mechanisms, q, commanded, 1e-2) - weight
    # the tool moves in row 52; the target of the period after it is the first to differ; its force acts a period later
    np.testing.assert_allclose(force[:54], 0.0, atol=1e-9)
    assert force[54] > 0.1
    assert abs(force[-1]) < 0.3 * force[54]


def test_without_logs_the_claims_on_the_scene_are_null_with_a_reason():
    report = Report("no data")
    claims = scene_masses.scene_claims(Context(data=None, video=None, progress=lambda text: None), report)
    assert len(claims) == 36
    assert all(claim.holds is None and claim.note.startswith("not run") for claim in claims)
    assert not report.tables


# -- the tool side of the counterweight --------------------------------------------------------------------------------


@needs_scenes
def test_the_joint_that_passes_the_counterweights_force_on_lies_between_the_bodies_of_j3():
    """J3mirror is a slider from the end link to the tool, parallel to J3, without a body of its own."""
    scene = load_scene_file(SCENES / "dyn_dVRK_1arm.ttt")
    mirror, insertion = scene.joint("J3mirror_PSM1"), scene.joint("J3_PSM1")
    assert (mirror.kind, mirror.motor, mirror.loop, mirror.force) == ("prismatic", True, False, 100.0)
    assert mirror.parent == insertion.parent
    (held,) = (one for one in scene.objects.values() if one.parent == mirror.id)
    assert isinstance(held, CoppeliaDummy)
    other = next(one for one in scene.objects.values() if one.id == held.linked)
    assert scene.shape("L3_respondable_PSM1").id == other.parent
    axes = [scene.pose(name, {})[:3, 2] for name in ("J3mirror_PSM1", "J3_PSM1")]
    assert abs(np.dot(*axes)) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("q", STATES)
def test_a_slider_closed_on_the_tool_passes_the_same_force_on_as_the_insertion(q):
    """Why `Mirror` has no such joint: a motor on it accelerates the arm as the same force on the insertion does."""
    sim = tr.Simulator("PSM", transmission="mirrored", friction=False, contacts=False, limits=False, timestep=5e-3)
    sim.reset([*q, 0.0, 0.0, 0.0, 0.0], [0.2, 0.1, 0.05, 0.0, 0.0, 0.0, 0.0])
    closed = sim.spec.copy()
    tool, loop = closed.body("insertion"), next(one for one in closed.equalities if one.name == "LCC1")
    mass = 1e-5  # [kg]; theirs has none, an engine in reduced coordinates needs some
    slider = tool.parent.add_body(name="J3mirror", pos=tool.pos, quat=tool.quat, mass=mass, inertia=[1e-4 * mass] * 3)
    slider.explicitinertial = True
    slider.add_joint(name="J3mirror", type=mujoco.mjtJoint.mjJNT_SLIDE, axis=tool.first_joint().axis)
    weld = {
        "type": mujoco.mjtEq.mjEQ_WELD,
        "objtype": mujoco.mjtObj.mjOBJ_BODY,
        "data": [*[0.0] * 6, 1.0, 0, 0, 0, 1, 0],
    }
    closed.add_equality(name1="J3mirror", name2="insertion", solref=loop.solref, solimp=loop.solimp, **weld)
    on_tool, on_slider = (_change(sim, spec, joint) for spec, joint in ((sim.spec, "insertion"), (closed, "J3mirror")))
    assert np.abs(on_tool).max() > 5.0
    np.testing.assert_allclose(on_slider, on_tool, atol=3e-4 * np.abs(on_tool).max())


def _change(sim, spec, joint, force=4.0):
    """Change of the arm's accelerations in the state of a simulator by a force [N] on a joint of a model."""
    model, names = spec.compile(), [sim.model.joint(k).name for k in range(sim.model.njnt)]
    data, accelerations = mujoco.MjData(model), []
    for applied in (0.0, force):
        for name in (*names, joint):
            source = sim.model.joint(name if name in names else "insertion")
            data.joint(name).qpos[:] = sim.data.qpos[source.qposadr]
            data.joint(name).qvel[:] = sim.data.qvel[source.dofadr]
        data.joint(joint).qfrc_applied[:] = applied
        mujoco.mj_forward(model, data)
        accelerations.append([float(data.joint(name).qacc[0]) for name in names])
    return np.subtract(*accelerations[::-1])
