"""A live robot of several arms: services for one of them, changes of the scene, objects to touch."""

from __future__ import annotations

import numpy as np
import pytest

import trocar as tr
from tests.support.crtk_robot import started
from trocar.errors import TrocarError
from trocar.robot import Robot
from trocar.robot.settings import ArmSettings
from trocar.simulation.objects.solid import APART, BLOCK, PLATE, practice_objects

PERIOD = 1.0 / 1500.0


def after(robot, seconds):
    robot.run(seconds)
    return robot.simulation().frame()


def changed(robot, arm, **changes):
    robot.simulation().arm(arm).change(**changes)
    return robot.simulation().frame()


def positions(robot):
    return {name: arm.q for name, arm in robot.simulation().frame().arms.items()}


def pushed(robot):
    """Names of the bodies with external forces, and these forces (3,) in the world."""
    model, applied = robot.scene.model, robot.scene.data.xfrc_applied
    return {model.body(k).name: applied[k, :3].copy() for k in np.flatnonzero(applied.any(1))}


@pytest.fixture
def scene():
    return started("cart_classic", speed="stepped")


def test_every_arm_of_a_scene_holds_its_start(scene):
    start = positions(scene)
    assert scene.arms == ("PSM1", "PSM2", "PSM3", "ECM")
    frame = after(scene, 0.1)
    assert frame.time == pytest.approx(0.1)
    for name, q in start.items():
        np.testing.assert_allclose(frame.arms[name].q, q, atol=5e-3)


def test_placing_moves_one_arm_and_the_others_stay(scene):
    before = positions(scene)
    goal = before["ECM"] + [0.0, 0.0, 0.01, 0.2]
    scene.simulation().arm("ECM").place(goal)
    now = positions(scene)
    np.testing.assert_allclose(now["ECM"], goal, atol=1e-12)
    for name in ("PSM1", "PSM2", "PSM3"):
        np.testing.assert_array_equal(now[name], before[name])


def test_the_tip_of_an_arm_goes_to_its_target_in_its_own_base(scene):
    scene.simulation().arm("PSM2").set_law("impedance", {"stiffness": 800.0, "damping": 80.0})
    psm, T = scene.psm("PSM2"), scene.simulation().frame().arms["PSM2"].T_tip.copy()
    T[:3, 3] += [0.0, 0.0, 0.01]
    psm.move_jp(psm.inverse_kinematics(psm.setpoint_jp()[0], T))
    state = after(scene, 1.0).arms["PSM2"]
    np.testing.assert_allclose(state.T_ref, T, atol=1e-4)
    assert np.linalg.norm(state.T_tip[:3, 3] - T[:3, 3]) < 0.004  # the rest is held by Coulomb friction


def test_a_push_acts_on_one_arm_in_the_axes_of_its_base(scene):
    force = np.array([0.3, -0.2, 0.5])
    scene.simulation().arm("PSM3").push(force)
    frame = after(scene, PERIOD)
    about = frame.scene.arms["PSM3"]
    ((body, applied),) = pushed(scene).items()
    assert body == f"PSM3/{about.arm.tip_body}"
    np.testing.assert_allclose(applied, about.T_world_base[:3, :3] @ force)
    assert not frame.arms["PSM1"].force.any()
    scene.simulation().arm("PSM3").push(np.zeros(3))
    assert pushed(scene) == {}


def test_arms_are_recorded_one_by_one(scene):
    sim = scene.simulation()
    sim.arm("ECM").record()
    sim.arm("PSM1").record()
    scene.run(0.02)
    assert sim.arm("ECM").recorded().provenance["arm"] == "ECM"
    with pytest.raises(TrocarError, match="ECM is not being recorded"):
        sim.arm("ECM").recorded()
    assert sim.arm("PSM1").recorded().q.shape[1] == 7


def test_arms_that_are_not_controlled_are_in_the_frames_and_have_no_services():
    robot = started("cart_classic", speed="stepped", arms=["PSM1"])
    frame = after(robot, 0.01)
    assert (frame.arms["PSM1"].law, frame.arms["ECM"].law) == ("PID (dVRK)", None)
    with pytest.raises(TrocarError, match="simulation/ECM/place"):
        robot.simulation().arm("ECM").place(np.zeros(4))


# -- changes while it runs -------------------------------------------------------------------------------------------

# Two arms on a cart.
FILE = """
cart = "Classic"
[set_up]
PSM1 = {set_up}
PSM3 = [-0.013, -1.589, 1.294, 0.847, 0.304, 0.520]
[arms.PSM1]
mount = "PSM1"
q = [-0.089, -0.078, 0.176, 0.0, 0.0, 0.0, 0.5]
{options}
[arms.third]
mount = "PSM3"
q = [-0.014, -0.017, 0.142, 0.0, 0.0, 0.0, 0.5]
"""
SET_UP = [0.007, -0.588, -0.757, -0.737, -0.309, -0.687]
OVERLAPPING = [SET_UP[0], SET_UP[1] - 0.2, *SET_UP[2:]]


@pytest.fixture
def cart(tmp_path):
    """A robot on a cart for tests that change it."""
    file = tmp_path / "cart.toml"
    file.write_text(FILE.format(set_up=SET_UP, options=""))
    return Robot(file, start="ready", speed="stepped")


@pytest.mark.parametrize(
    ("changes", "options"),
    [
        ({"friction": False}, "friction = false"),
        ({"counterweight": False}, "counterweight = false"),
        ({"instrument": "PROGRASP_FORCEPS_400093"}, 'instrument = "400093"'),
        ({"set_up": [0.05, *SET_UP[1:]]}, ""),
    ],
)
def test_a_changed_arm_moves_like_one_of_a_scene_file_with_these_options(cart, tmp_path, changes, options):
    """After the change every arm moves like in a scene loaded from such a file, from the same state."""
    cart.simulation().arm("PSM1").place(positions(cart)["PSM1"] + [0.05, 0.05, 0.005, 0.3, 0.2, 0.1, 0.0])
    before = after(cart, 0.02)
    frame = changed(cart, "PSM1", **changes)
    assert frame.time == pytest.approx(before.time)
    file = tmp_path / "changed.toml"
    file.write_text(FILE.format(set_up=changes.get("set_up", SET_UP), options=options))
    written = tr.load_scene(file, timestep=PERIOD)
    for name, state in before.arms.items():
        np.testing.assert_allclose(frame.arms[name].q, state.q, atol=1e-12)
        written.arms[name].place(state.q, state.dq)
    np.testing.assert_allclose(frame.scene.arms["PSM1"].T_world_base, written.T_world_base("PSM1"), atol=1e-12)
    # the equations belong to the changed arms too
    tau = {name: cart.scene.arms[name].mechanism.gravity(state.q) for name, state in before.arms.items()}
    for _ in range(20):
        cart.scene.step(tau)
        written.step(tau)
    for name, arm in cart.scene.arms.items():
        np.testing.assert_allclose(arm.q, written.arms[name].q, atol=1e-7, err_msg=name)
    assert np.abs(cart.scene.arms["PSM1"].dq).max() > 1e-5  # something moves, so the test is meaningful


def test_gravity_is_changed_for_all_arms_in_the_axes_of_the_world(cart):
    changed(cart, "PSM1", friction=False)
    g = np.array([3.0, -2.0, -5.0])
    cart.simulation().change(gravity=g)
    for about in cart.simulation().frame().scene.arms.values():
        np.testing.assert_allclose(about.world_gravity, g)
    # the engine and the equations agree: held by them, an arm without friction does not start to move
    for _ in range(20):
        cart.scene.step({name: arm.mechanism.gravity(arm.q) for name, arm in cart.scene.arms.items()})
    assert np.abs(cart.scene.arms["PSM1"].dq).max() < 1e-6
    frame = changed(cart, "PSM1", set_up=[0.05, *SET_UP[1:]])  # which turns its base
    np.testing.assert_allclose(frame.scene.arms["PSM1"].world_gravity, g)


def test_set_up_joints_that_make_arms_overlap_are_refused_with_their_names_and_nothing_moves(cart):
    before = cart.simulation().frame().scene
    for set_up, message in ((OVERLAPPING, r"of PSM1 overlaps .* of third by .* mm"), ([99.0, *SET_UP[1:]], "set-up")):
        with pytest.raises(TrocarError, match=message):
            changed(cart, "PSM1", set_up=set_up)
    now = cart.simulation().frame().scene.arms["PSM1"]
    np.testing.assert_allclose(now.T_world_base, before.arms["PSM1"].T_world_base)
    np.testing.assert_allclose(now.q_setup, SET_UP)


def test_set_up_joints_moved_by_a_client_appear_in_the_next_frame_and_in_the_laws(cart):
    cart.simulation().arm("PSM1").set_law("computed torque")
    before = after(cart, 0.05).scene
    cart.press_set_up_clutch("PSM1")
    cart.move_set_up_joints("PSM1", [0.05, *SET_UP[1:]])
    frame = after(cart, 0.5)
    assert frame.scene is not before
    np.testing.assert_allclose(frame.scene.arms["PSM1"].q_setup, [0.05, *SET_UP[1:]])
    np.testing.assert_allclose(frame.arms["PSM1"].q, frame.arms["PSM1"].q_ref, atol=5e-3)


def test_the_others_keep_their_laws_and_commands_and_a_push_continues(cart):
    sim = cart.simulation()
    sim.arm("third").set_law("computed torque")
    start = positions(cart)["third"]
    cart.arm("third").move_jp(start[:6] + [0.02, 0, 0, 0, 0, 0])
    sim.arm("PSM1").push([0.0, 0.0, 0.2])
    cart.run(0.1)
    assert changed(cart, "PSM1", friction=False).arms["PSM1"].force[2] == 0.2
    cart.step()
    assert len(pushed(cart)) == 1
    third = after(cart, 0.7).arms["third"]
    assert third.law == "computed torque"
    assert (third.q - start)[0] == pytest.approx(0.02, abs=5e-3)  # the rest is held by Coulomb friction


def test_a_reset_after_changes_returns_to_the_start_of_the_file(cart):
    start = positions(cart)["PSM1"]
    cart.simulation().arm("PSM1").place(start + [0.1, 0, 0, 0, 0, 0, 0])
    changed(cart, "PSM1", instrument="PROGRASP_FORCEPS_400093")
    cart.simulation().reset()
    frame = cart.simulation().frame()
    np.testing.assert_allclose(frame.arms["PSM1"].q, start, atol=1e-9)
    assert frame.time == 0.0
    assert "PROGRASP" in frame.scene.arms["PSM1"].arm.instrument


def test_a_reset_to_positions_that_now_overlap_is_refused_and_nothing_moves(cart):
    away = positions(cart)["third"] + [0.9, 0.0, 0.0, 0.1, 0.0, 0.0, 0.0]
    cart.simulation().arm("third").place(away)  # out of the way of the other
    changed(cart, "PSM1", set_up=OVERLAPPING)
    with pytest.raises(TrocarError, match="overlaps"):
        cart.simulation().reset()
    frame = cart.simulation().frame()
    np.testing.assert_allclose(frame.arms["third"].q, away)
    np.testing.assert_allclose(frame.scene.arms["PSM1"].q_setup, OVERLAPPING)


def test_a_snapshot_is_refused_after_the_set_up_joints_have_moved(cart):
    snapshot = cart.simulation().snapshot()
    changed(cart, "PSM1", set_up=[0.05, *SET_UP[1:]])
    with pytest.raises(TrocarError, match="set-up joints have moved"):
        cart.simulation().restore(snapshot)


# -- objects to touch ------------------------------------------------------------------------------------------------


def with_objects(scene):
    return type(scene)(**{**scene.arguments, "objects": practice_objects(scene)})


def objects(robot):
    return {name: placed.pose.copy() for name, placed in robot.scene.objects.items()}


def test_objects_keep_their_poses_when_an_arm_is_changed():
    robot = Robot(with_objects(tr.load_scene("cart_classic", timestep=PERIOD)), start="ready", speed="stepped")
    moved = objects(robot)["block"]
    moved[:3, 3] += [0.01, 0.0, 0.02]
    robot.scene.objects["block"].pose = moved
    before = robot.simulation().frame().scene
    assert changed(robot, "PSM1", counterweight=False).scene.spec is not before.spec
    np.testing.assert_allclose(objects(robot)["block"], moved, atol=1e-12)


def test_objects_lie_still_until_they_are_touched_and_a_pressed_plate_shows_its_force():
    robot = Robot(with_objects(ArmSettings().build()), start="ready", speed="stepped")
    start = objects(robot)
    robot.run(0.5)
    for name, T in objects(robot).items():
        np.testing.assert_allclose(T[:3, 3], start[name][:3, 3], atol=2e-4, err_msg=name)
    (q,) = positions(robot).values()
    robot.psm("PSM").move_jp(q[:6] + [0, 0, 0.03, 0, 0, 0])  # the plate is 20 mm below the jaws
    frame = after(robot, 1.5)
    wrench = robot.scene.arms["PSM"].contact_wrench(of="plate")
    assert wrench[2] > 0.5
    state = frame.arms["PSM"]
    end = state.T_tip[:3, 3] - [0.0, 0.0, frame.scene.arms["PSM"].arm.jaw_length]
    near = np.linalg.norm(frame.contacts[:, 0] - end, axis=1) < 0.01
    # the jaws touch each other too, with a little force
    np.testing.assert_allclose(frame.contacts[near, 1].sum(axis=0), wrench[:3], atol=1e-3)
    # the insertion carries the push along its axis, which is nearly all of it, because the arm hangs straight
    along = robot.scene.arms["PSM"].mechanism.jacobian(state.q)[:3, 2]
    assert state.contact_effort[2] == pytest.approx(along @ wrench[:3], abs=1e-3)
    assert state.contact_effort[2] == pytest.approx(-wrench[2], rel=1e-3)


def test_in_a_scene_the_plate_is_below_all_instruments():
    scene = with_objects(tr.load_scene("cart_classic", timestep=PERIOD))
    plate, block = (scene.objects[name].pose[:3, 3] for name in ("plate", "block"))
    for name in ("PSM1", "PSM2", "PSM3"):
        tip = scene.T_world_tip(name)[:3, 3]
        assert (np.abs(tip - plate)[:2] < PLATE[:2] / 2).all()
        assert tip[2] > plate[2] + 0.02
    np.testing.assert_allclose(block - plate, [APART, 0.0, (PLATE[2] + BLOCK) / 2])


@pytest.mark.parametrize("arm", ["MTML", "ECM"])
def test_practice_objects_require_an_instrument(arm):
    with pytest.raises(TrocarError, match="require an instrument"):
        practice_objects(ArmSettings(arm=arm).build())


def test_placing_one_arm_does_not_disturb_the_measured_motion_of_another():
    def velocities(place):
        robot = started("cart_classic", speed="stepped")
        robot.arm("ECM").move_jp([0.3, 0.1, 0.12, 0.0])
        robot.run(0.2)
        if place:
            robot.simulation().arm("PSM3").place(positions(robot)["PSM3"] + [0.02, 0, 0, 0, 0, 0, 0])
        robot.step()
        return robot.arm("ECM").measured_jv()[0]

    # arms share the solver's iterations, so the last digits may differ
    np.testing.assert_allclose(velocities(True), velocities(False), rtol=0, atol=1e-11)
    assert np.abs(velocities(False)).max() > 0.05
