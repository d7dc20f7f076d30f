"""Several arms in one model: each moves as if it were alone, until they touch."""

import re
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import trocar as tr
from trocar.cli import app
from trocar.control import GravityCompensation, JointPID
from trocar.errors import TrocarError, UnknownName
from trocar.simulation import Box, CableBreak, MotorLoss, Simulator, Solid
from trocar.simulation.scene_file import arms_of, timestep_of
from trocar.spatial import inverse, pose, rotation

FACING = pose(rotation("z", np.pi), [0.0, 0.12, 0.0])  # of a second PSM whose instrument meets that of the first


def leaning(y):
    """Joints of a PSM whose tip is y [m] ahead of the remote centre."""
    return np.array([0.0, -np.arcsin(y / 0.13), 0.1365, 0.0, 0.0, 0.0, 0.3])


def efforts(arm, k):
    """Small efforts that keep changing."""
    return 0.02 * np.array([j.effort for j in arm.arm.joints]) * np.sin(0.02 * k + np.arange(arm.n))


@pytest.fixture(scope="module")
def cart():
    return tr.load_scene("cart_classic")


def facing(y):
    first, second = tr.SceneArm(arm="PSM", q=leaning(y)), tr.SceneArm(arm="PSM", base=FACING, q=leaning(y))
    return tr.Scene({"A": first, "B": second})


# -- motion ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("accuracy", "bound"), [("fast", 1e-9), ("exact", 1e-10)])
def test_an_arm_that_touches_nothing_moves_as_it_does_alone(accuracy, bound):
    """Up to rounding, which the stiff loops amplify."""
    scene = tr.load_scene("cart_classic", accuracy=accuracy)
    alone = {}
    for name, arm in scene.arms.items():
        alone[name] = Simulator(arm.arm.name, gravity=scene.cart.gravity(name), accuracy=accuracy)
        alone[name].reset(arm.q)
    for k in range(150 if accuracy == "fast" else 40):
        tau = {name: efforts(arm, k) for name, arm in scene.arms.items()}
        scene.step(tau)
        for name, sim in alone.items():
            sim.step(tau[name])
    assert not scene.touching()
    for name, sim in alone.items():
        arm = scene.arms[name]
        assert np.abs(sim.q - sim.arm.home).max() > 1e-4
        np.testing.assert_allclose(arm.q, sim.q, rtol=0, atol=bound)
        np.testing.assert_allclose(arm.dq, sim.dq, rtol=0, atol=bound)
        np.testing.assert_allclose(arm.tau, sim.tau, rtol=0, atol=1e-12)
        np.testing.assert_allclose(arm.tip_pose(), sim.tip_pose(), rtol=0, atol=bound)
        np.testing.assert_allclose(arm.cannula_wrench(), sim.cannula_wrench(), rtol=0, atol=1e-6)
        np.testing.assert_allclose(arm.friction_effort(), sim.friction_effort(), rtol=0, atol=1e-6)
        assert arm.rcm_error() == pytest.approx(sim.rcm_error(), abs=1e-11)
        assert arm.loop_error() == pytest.approx(sim.loop_error(), abs=1e-11)
        for loop, force in sim.loop_forces().items():
            np.testing.assert_allclose(arm.loop_forces()[loop], force, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ["cart_si", "masters"])
def test_load_dependent_friction_and_cables_are_those_of_the_arm_alone(name):
    scene = tr.load_scene(name)
    for one, arm in scene.arms.items():
        sim = Simulator(arm.arm.name, gravity=arm.gravity_vector)
        sim.reset(arm.q)
        before = scene.snapshot()
        for k in range(40):
            scene.step({other: efforts(a, k) for other, a in scene.arms.items()})
            sim.step(efforts(sim, k))
        np.testing.assert_allclose(arm.q, sim.q, rtol=0, atol=1e-9)
        scene.restore(before)
        assert arm.time == 0.0, one


def test_a_wrench_in_base_axes_acts_on_an_arm_as_it_does_alone(cart):
    cart.reset()
    arm, sim = cart.arms["PSM1"], Simulator("PSM", gravity=cart.cart.gravity("PSM1"))
    sim.reset(arm.q)
    for each in (arm, sim):
        each.apply_wrench([1.0, -2.0, 0.5, 0.01, 0.0, 0.02])
    for _ in range(20):
        cart.step({name: np.zeros(a.n) for name, a in cart.arms.items()})
        sim.step(np.zeros(7))
    np.testing.assert_allclose(arm.q, sim.q, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", tr.ARMS)
def test_the_name_of_an_arm_is_a_scene_of_this_arm_at_the_controllers_period(name):
    scene = tr.load_scene(name)
    assert tuple(scene.arms) == arms_of(name) == (name,)
    assert scene.timestep == timestep_of(name) == 1 / 1500
    np.testing.assert_allclose(scene.arms[name].gravity_vector, tr.load_mechanism(name).gravity_vector)
    with pytest.raises(TrocarError, match=f"arm of the scene {name}"):
        tr.load_scene(name, arms=["PSM9"])


def test_a_scene_of_an_arm_takes_parameters_and_objects():
    block = Solid("block", Box([0.0, 0.0, -0.3], [0.1, 0.1, 0.02]))
    scene = tr.load_scene("PSM", parameters={"PSM": "wang2019"}, objects=lambda arms, cart: [block])
    assert scene.arms["PSM"].parameters.name == "wang2019"
    assert set(scene.objects) == {"block"}


@pytest.mark.parametrize("source", ["PSM", "dvrk"])
def test_a_scene_takes_options_of_its_arms_that_name_sets_and_files(source):
    name = "PSM" if source == "PSM" else "PSM1"
    chosen = {name: {"wrist": "cables", "compensation": "cables"}}
    scene = tr.load_scene(source, arms=[name], parameters={name: "wang2019"}, arm_options=chosen)
    options = scene.arms[name].options
    assert options.cables is not None
    assert options.compensated_cables is not None
    with pytest.raises(TrocarError, match="option of an arm 'friction' is unknown"):
        tr.load_scene(source, arm_options={name: {"friction": "no"}})


def test_two_instruments_that_touch_push_each_other_equally():
    scene = facing(0.04)
    kp, kd = np.array([60, 60, 600, 1, 1, 1, 1.0]), np.array([6, 6, 60, 0.05, 0.05, 0.05, 0.05])
    gravity = {name: tr.load_mechanism("PSM", gravity=arm.gravity_vector).gravity for name, arm in scene.arms.items()}
    for k in range(800):
        goal = leaning(0.04 + 0.035 * min(1.0, k / 400))
        scene.step({name: kp * (goal - a.q) - kd * a.dq + gravity[name](a.q) for name, a in scene.arms.items()})
    first = scene.touching()[0]
    assert {first.first.arm, first.second.arm} == {"A", "B"}
    on_a = scene.arms["A"].contact_wrench(about=[0.0, 0.0, 0.0])
    on_b = scene.arms["B"].contact_wrench(about=inverse(FACING)[:3, 3])  # the same point of the world
    R = FACING[:3, :3]
    assert np.linalg.norm(on_a[:3]) > 5.0
    np.testing.assert_allclose(np.concatenate([R @ on_b[:3], R @ on_b[3:]]), -on_a, rtol=0, atol=1e-9)
    # the wrench about the remote centre acts on yaw and pitch
    effort = scene.arms["A"].contact_effort()
    Jt = tr.load_mechanism("PSM").jacobian(scene.arms["A"].q)[:, :2].T
    at_tip = scene.arms["A"].contact_wrench()
    np.testing.assert_allclose(effort[:2], (Jt @ at_tip)[:2], rtol=0, atol=0.01)


def test_links_of_one_arm_do_not_touch_each_other_but_an_object_stops_them():
    block = Solid("block", Box([0.0, 0.0, -0.165], [0.1, 0.1, 0.02]))
    scene = tr.Scene({"A": tr.SceneArm(arm="PSM")}, objects=[block])
    assert not scene.touching()
    for _ in range(1000):  # it bounces before it rests
        scene.step({"A": [0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 0.0]})
    assert "block" in {part.name for c in scene.touching() for part in (c.first, c.second)}
    assert scene.arms["A"].contact_wrench(of="block")[2] > 1.0


def test_restoring_a_scene_snapshot_is_bit_exact(cart):
    cart.reset()
    before, ends = cart.snapshot(), []
    for _ in range(2):
        cart.restore(before)
        for k in range(30):
            cart.step({name: efforts(arm, k) for name, arm in cart.arms.items()})
        ends.append(cart.data.qpos.copy())
    assert (ends[0] == ends[1]).all()


def test_every_arm_follows_its_own_reference_under_its_own_controller(cart):
    cart.reset()
    q = {name: arm.q for name, arm in cart.arms.items()}
    goals = {"PSM1": q["PSM1"] + [0.02, 0, 0, 0, 0, 0, 0], "ECM": q["ECM"] + [0, 0, 0.01, 0]}
    scene = tr.load_scene("cart_classic", timestep=1 / 1500)
    found = tr.simulate(
        scene,
        {name: JointPID(arm.arm) + GravityCompensation(arm.mechanism) for name, arm in scene.arms.items()},
        {name: tr.control.quintic(q[name], goal, 0.2) for name, goal in goals.items()},
        0.3,
        every=10,
        diagnostics=True,
    )
    assert set(found) == set(scene.arms)
    for name, recording in found.items():
        assert np.abs(recording.q[-1] - goals.get(name, q[name]))[:3].max() < 4e-3
        assert recording.extra["rcm_error"].max() < 1e-6
        assert recording.provenance["arm"] == scene.arms[name].arm.name
    assert len(found["ECM"]) == len(found["PSM1"]) == 45


# -- place -----------------------------------------------------------------------------------------------------------


def test_arms_are_placed_by_the_cart(cart):
    cart.reset()
    for name, arm in cart.arms.items():
        np.testing.assert_allclose(cart.T_world_tip(name), cart.cart.T_world_tip(name, arm.q), rtol=0, atol=1e-8)
        np.testing.assert_allclose(arm.gravity_vector, cart.cart.gravity(name), rtol=0, atol=1e-12)


def test_set_up_joints_move_the_arm_and_turn_its_gravity():
    scene = tr.load_scene("cart_classic")
    q, q_setup = scene.arms["PSM1"].q, scene.cart.q_setup["PSM1"].copy()
    q_setup[0] += 0.03
    q_setup[4] += 0.05  # tilt
    scene.set_up("PSM1", q_setup)
    moved = tr.load_cart("Classic", q_setup={"PSM1": q_setup})
    np.testing.assert_allclose(scene.T_world_tip("PSM1"), moved.T_world_tip("PSM1", q), rtol=0, atol=1e-8)
    sim = Simulator("PSM", gravity=moved.gravity("PSM1"))
    sim.reset(q)
    for _ in range(30):
        scene.step({name: np.zeros(a.n) for name, a in scene.arms.items()})
        sim.step(np.zeros(7))
    np.testing.assert_allclose(scene.arms["PSM1"].q, sim.q, rtol=0, atol=1e-9)


def test_set_up_joints_that_would_make_arms_overlap_are_rejected_and_nothing_moves(cart):
    cart.reset()
    before = cart.T_world_tip("PSM3")
    with pytest.raises(TrocarError, match=r"of PSM. overlaps .* of PSM. by .* mm there"):
        cart.set_up("PSM3", cart.cart.place("PSM3", cart.T_world_base("PSM2")[:3, 3]).q_setup)
    np.testing.assert_array_equal(cart.T_world_tip("PSM3"), before)
    with pytest.raises(TrocarError, match="is not on a cart"):
        tr.load_scene("psm").set_up("PSM", [0.0])


def test_the_masters_are_placed_by_the_console():
    scene = tr.load_scene("masters")
    c = np.sqrt(3) / 2
    R = np.array([[-1, 0, 0], [0, c, 0.5], [0, 0.5, -c]])
    for name, x in (("MTML", 0.18), ("MTMR", -0.18)):
        T_display_world = pose(R)
        np.testing.assert_allclose(
            T_display_world @ scene.T_world_base(name), pose(R, [x, 0.4, 0.475]), rtol=0, atol=1e-12
        )


# -- bad input -------------------------------------------------------------------------------------------------------


def scene_file(tmp_path, text):
    path = tmp_path / "scene.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("mass", [1e-4, 2e-3, 0.1])
def test_a_free_object_of_a_scene_file_rests_at_any_mass(tmp_path, mass):
    text = f"""
        [arms.PSM]
        arm = "PSM"
        [[objects]]
        name = "table"
        shape = "box"
        size = [0.1, 0.1, 0.02]
        position = [0.3, 0.0, -0.21]
        [[objects]]
        name = "cube"
        shape = "box"
        size = [0.01, 0.01, 0.01]
        mass = {mass}
        position = [0.3, 0.0, -0.195]
    """
    scene = tr.load_scene(scene_file(tmp_path, text))
    places = []
    for _ in range(400):
        scene.step({"PSM": np.zeros(7)})
        places.append(scene.objects["cube"].pose[:3, 3].copy())
    np.testing.assert_allclose(places[200:], np.broadcast_to(places[-1], (200, 3)), rtol=0, atol=1e-9)
    assert abs(-0.195 - places[-1][2]) < 1e-7  # solids are rigid to each other


def test_objects_fall_onto_the_floor_of_a_scene_file(tmp_path):
    text = """
        [arms.PSM]
        arm = "PSM"
        [[objects]]
        name = "floor"
        shape = "floor"
        position = [0.0, 0.0, -0.5]
        [[objects]]
        name = "ball"
        shape = "sphere"
        radius = 0.01
        mass = 0.02
        position = [0.3, 0.2, -0.48]
    """
    scene = tr.load_scene(scene_file(tmp_path, text))
    for _ in range(400):
        scene.step({"PSM": np.zeros(7)})
    np.testing.assert_allclose(scene.objects["ball"].pose[:3, 3], [0.3, 0.2, -0.49], rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[arms.A]\narm = "PSMM"', "scene.toml: arms.A: 'arm': 'PSMM' is unknown. Did you mean 'PSM'?"),
        ('[arms.A]\narm = "PSM"\ncolour = 1', "scene.toml: arms.A: field 'colour' is unknown"),
        ('[arms.A]\narm = "PSM"\nq = [0, 1]', "A: q"),
        ('[arms.A]\narm = "PSM"\nq = [0, 0, 3, 0, 0, 0, 0]', "A: joint 3 (insertion) violates"),
        ('[arms.A]\narm = "PSM"\nposition = [0, "x", 0]', "arms.A: 'position' must be 3 finite numbers"),
        ('[arms.A]\nmount = "PSM1"', "A: is on mount 'PSM1', but the scene has no cart"),
        ('cart = "Classic"\n[arms.A]\nmount = "PSM4"', "A: arm of the Classic cart 'PSM4' is unknown"),
        (
            'cart = "Classic"\n[arms.A]\nmount = "ECM"\narm = "PSM"',
            "A: the Classic cart carries a ECM at ECM, not a PSM",
        ),
        ('cart = "Clasic"\n[arms.A]\nmount = "ECM"', "'cart': 'Clasic' is unknown. Did you mean 'Classic'?"),
        ("[arms.A]\nq = [0]", "A: needs arm="),
        ("", "a scene needs at least one arm"),
        ("[arms", "the scene file scene.toml is not valid TOML"),
        ("arms = 3", "scene.toml: 'arms' must hold tables [arms.NAME], got 3"),
        ('speed = 3\n[arms.A]\narm = "PSM"', "field 'speed' is unknown"),
        ('[arms.A]\narm = "PSM"\n[[objects]]\nname = "x"\nshape = "cone"', "object 1: 'shape': 'cone' is unknown"),
        (
            '[arms.A]\narm = "PSM"\n[[objects]]\nname = "f"\nshape = "floor"\nposition = [0.1, 0, -1]',
            r"a floor has a height only: 'position' is \[0, 0, height\]",
        ),
        (
            '[arms.A]\narm = "PSM"\n[[objects]]\nname = "block"\nshape = "box"\nsize = [0.1, 0.1, 0.3]',
            "overlaps block by",
        ),
        ('[arms.A]\narm = "PSM"\n[arms.B]\narm = "PSM"\nposition = [0.02, 0, 0]', r"of A overlaps .* of B by"),
    ],
)
def test_an_invalid_scene_file_is_a_clear_error(tmp_path, text, said):
    with pytest.raises(TrocarError) as caught:
        tr.load_scene(scene_file(tmp_path, text))
    message = str(caught.value).replace(str(tmp_path) + "/", "")
    assert said in message or re.search(said, message), message


def test_a_scene_file_places_arms_and_objects(tmp_path):
    text = """
timestep = 0.002
[arms.left]
arm = "PSM"
position = [0.1, 0.2, 0.3]
rpy = [0.0, 0.0, 1.5]
parameters = "gondokaryono2019"
q = [0.1, 0.0, 0.1, 0.0, 0.0, 0.0, 0.2]
friction = false
[[objects]]
name = "ball"
shape = "sphere"
radius = 0.01
mass = 0.02
position = [0.0, 0.0, 0.5]
"""
    scene = tr.load_scene(scene_file(tmp_path, text))
    assert scene.timestep == 0.002
    np.testing.assert_allclose(scene.T_world_base("left"), pose(rotation("z", 1.5), [0.1, 0.2, 0.3]))
    arm = scene.arms["left"]
    assert (arm.parameters.name, arm.options.friction) == ("gondokaryono2019", False)
    np.testing.assert_allclose(arm.q, [0.1, 0, 0.1, 0, 0, 0, 0.2], atol=1e-12)
    for _ in range(50):
        scene.step({"left": np.zeros(7)})
    assert scene.objects["ball"].pose[2, 3] == pytest.approx(0.5 - 9.81 / 2 * 0.1**2, abs=1e-3)


def test_efforts_are_required_for_exactly_the_arms_of_the_scene(cart):
    tau = {name: np.zeros(arm.n) for name, arm in cart.arms.items()}
    with pytest.raises(TrocarError, match="no efforts for ECM"):
        cart.step({name: value for name, value in tau.items() if name != "ECM"})
    with pytest.raises(UnknownName, match="PSM4"):
        cart.step({**tau, "PSM4": np.zeros(7)})
    with pytest.raises(TrocarError, match="tau of ECM has 4 values"):
        cart.step({**tau, "ECM": np.zeros(5)})
    with pytest.raises(TrocarError, match="no controller for PSM1"):
        tr.simulate(cart, {}, {}, 0.1)
    with pytest.raises(UnknownName, match="scene 'cart' is unknown"):
        tr.load_scene("cart")
    with pytest.raises(TrocarError, match="cannot be read"):
        tr.load_scene("nowhere.toml")


def test_a_diverging_scene_names_the_arm(cart):
    cart.reset()
    tau = {name: np.zeros(arm.n) for name, arm in cart.arms.items()}

    def run():
        for _ in range(5000):
            cart.step({**tau, "PSM2": 1.0 - 1e3 * cart.arms["PSM2"].dq})

    with pytest.raises(tr.Diverged, match="the simulation of PSM2 diverged"):
        run()


# -- trocar scene ----------------------------------------------------------------------------------------------------


def test_the_command_writes_a_recording_of_every_arm(tmp_path):
    done = CliRunner().invoke(app, ["scene", "masters", "-d", "0.02", "-o", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "MTML" in done.output
    assert "Real-time factor" in done.output
    for name in ("MTML", "MTMR"):
        assert len(tr.Recording.load(tmp_path / f"{name}.npz")) == 30


def test_the_command_reports_errors_in_one_line(tmp_path):
    for arguments, said in (
        (["cart"], "scene 'cart' is unknown"),
        (["psm", "--amplitude", "2"], "--amplitude must be a fraction"),
        (["psm", "-d", "-1"], "duration must be positive"),
    ):
        done = CliRunner().invoke(app, ["scene", *arguments, "-o", str(tmp_path)])
        assert done.exit_code == 2
        assert said in done.stderr
        assert "Traceback" not in done.stderr


def test_a_simulator_is_a_scene_of_one_arm():
    """Stepping as a simulator or through its scene is bit-identical, and names have no prefix."""
    sim, other = tr.Simulator("PSM"), tr.Simulator("PSM")
    q = np.array([0.2, -0.1, 0.12, 0.5, 0.3, -0.2, 0.4])
    tau = np.array([0.3, -0.2, 1.0, 0.01, 0.02, -0.01, 0.01])
    sim.reset(q)
    other.scene.reset({"PSM": q})
    for _ in range(50):
        sim.step(tau)
        other.scene.step({"PSM": tau})
    np.testing.assert_array_equal(sim.q, other.scene.arms["PSM"].q)
    np.testing.assert_array_equal(sim.scene.arms["PSM"].tau, sim.tau)
    assert sim.scene.arms["PSM"].mechanism is sim.mechanism
    assert sim.model.body("insertion").id > 0


def test_an_unknown_option_of_an_arm_is_named():
    with pytest.raises(UnknownName, match=r"'fricton'.*friction"):
        tr.Simulator("PSM", fricton=False)


def test_faults_of_one_arm_leave_the_others_alone_and_are_part_of_a_snapshot():
    scene = tr.Scene(
        {name: tr.SceneArm(arm="PSM", base=pose(p=[x, 0.0, 0.0])) for name, x in (("a", -0.4), ("b", 0.4))}
    )
    scene.arms["a"].inject(CableBreak(cable="disc_2", at=0.01), MotorLoss(motor="pitch", remaining=0.5))
    tau = {name: arm.mechanism.gravity(arm.q) + 0.02 for name, arm in scene.arms.items()}

    def run(steps):
        for _ in range(steps):
            scene.step(tau)
        return {name: (arm.q, arm.measured_q, arm.tau, arm.delivered) for name, arm in scene.arms.items()}

    run(30)
    middle = scene.snapshot()
    end = run(30)
    scene.restore(middle)
    again = run(30)
    for name in ("a", "b"):
        for x, y in zip(end[name], again[name], strict=True):
            np.testing.assert_array_equal(x, y)
    np.testing.assert_allclose(end["a"][3][1], 0.5 * end["a"][2][1])
    assert np.abs(end["a"][1] - end["a"][0]).max() > 1e-6  # the disc turns without its joint
    np.testing.assert_array_equal(end["b"][0], end["b"][1])
    np.testing.assert_array_equal(end["b"][2], end["b"][3])


def test_building_a_scene_and_not_an_import_sets_the_handler_of_mujocos_warnings():
    code = (
        "import mujoco, trocar as tr, trocar.simulation; before = mujoco.get_mju_user_warning(); "
        "tr.Simulator('ECM'); print(before is None, mujoco.get_mju_user_warning() is not None)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "True True\n"


def test_a_source_that_is_no_name_is_refused():
    for source in (np.zeros((2, 2)), None, 3, b"psm"):
        with pytest.raises(TrocarError, match=r"scene .* is unknown\."):
            tr.load_scene(source)
