"""First steps on the page: typed and refused values, labels, comparisons, and advice for slow simulations."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import trocar as tr
from trocar.palette import CAUSES, of_cause
from trocar.robot import Robot
from trocar.robot.messages import JointState
from trocar.robot.settings import ArmSettings
from trocar.simulation import load_scene
from trocar.spatial import roll_pitch_yaw, rotation

pytest.importorskip("viser", reason="pip install 'trocar[view]'")

from tests.support.raw_browser import RawBrowser, until
from tests.support.repository import ROOT
from tests.support.viewed_robot import ViewedRobot
from trocar.view import overlays
from trocar.view.model_drawing import TELLS_APART, ModelDrawing
from trocar.view.overlays import (
    CLOSE,
    FULL_SIZE,
    HEIGHT,
    MAX_ARROW,
    NEAR,
    SPACING,
    Labels,
    Viewpoint,
    aim,
    apart,
    spread,
)
from trocar.view.page import LEFT, RIGHT
from trocar.view.panels.drive import SecondArmPanel
from trocar.view.panels.plots import bars
from trocar.view.panels.states import StatePanel
from trocar.view.panels.transport import SETTLING_TIME, SlowDown

pytestmark = pytest.mark.xdist_group("viewer_driving")  # one worker: fixtures are built once
INSIDE = np.array([0.1, 0.1, 0.14, 0.2, 0.3, -0.2, 0.0])  # away from limits and singularities


@pytest.fixture(scope="module")
def psm():
    result = ViewedRobot()
    result.browser = RawBrowser(result.server)
    yield result
    result.browser.close()
    result.close()


@pytest.fixture
def tip(psm):
    """The page with the arm paused inside its workspace, in Cartesian mode."""
    psm.simulation.pause()
    psm.simulation.arm("PSM").place(INSIDE)
    psm.controls.set_mode("cartesian")
    T, handle = target(psm), psm.controls.tip.handle
    until(lambda: np.array_equal(psm.controls._target, psm.arm().target), "the page to follow")
    assert np.allclose(handle.position, T[:3, 3])
    return psm.controls.tip


def target(psm):
    """Tip pose (4, 4) of the arm's joint target: where its encoders see it."""
    return tr.load_mechanism("PSM").forward_kinematics(psm.arm().target)


# -- number fields ---------------------------------------------------------------------------------------------------


def test_half_typed_numbers_move_nothing_and_enter_moves_the_tip(psm, tip):
    T, before = target(psm), psm.arm().T_tip
    z = float(np.round(1000 * T[2, 3]))
    for half in (z // 100, z // 10, z + 4):
        psm.browser.set(tip.entry.fields[2], half)
    psm.browser.settled()
    assert tip.entry.fields[2].value == z + 4
    np.testing.assert_array_equal(psm.arm().T_tip, before)
    psm.browser.enter(tip.entry)
    until(lambda: abs(psm.arm().T_tip[2, 3] - (z + 4) / 1000) < 1e-9, "the tip")
    np.testing.assert_allclose(psm.arm().T_tip[:2], T[:2], rtol=0, atol=1e-9)


def test_a_playing_robot_moves_its_tip_to_a_typed_target(psm, tip):
    z = float(np.round(1000 * psm.arm().T_tip[2, 3])) + 5
    psm.simulation.play()
    psm.browser.set(tip.entry.fields[2], z)
    psm.browser.enter(tip.entry)
    until(lambda: abs(1000 * psm.arm().T_ref[2, 3] - z) < 1e-6, "the setpoint")
    until(lambda: abs(1000 * psm.arm().T_tip[2, 3] - z) < 1.0, "the tip")
    (text,) = psm.messages(lambda: psm.browser.enter(tip.entry, -20000.0))
    assert "unable to solve inverse kinematics" in text
    until(lambda: abs(tip.entry.fields[2].value - z) < 0.05, "the fields to go back")
    psm.simulation.pause()


def test_a_refused_target_is_a_message_and_the_fields_go_back(psm, tip):
    T, before = target(psm), psm.arm().T_tip
    numbers = tip.entry.values
    for far in ((-20000.0,), (0.0, 0.0, 0.0)):  # too far, and at the remote centre
        (text,) = psm.messages(lambda far=far: psm.browser.enter(tip.entry, *far))
        assert "cannot reach" in text
        until(lambda: np.array_equal(tip.entry.values, numbers), "the fields to go back")
        np.testing.assert_allclose(tip.handle.position, T[:3, 3])
        np.testing.assert_array_equal(psm.arm().T_tip, before)


def test_a_handle_dragged_out_of_reach_goes_back_when_it_is_released(psm, tip):
    T = target(psm)
    name = tip.handle.name
    moved = {"type": "TransformControlsUpdateMessage", "name": name, "wxyz": [1, 0, 0, 0], "position": [0, 0, 2.0]}
    psm.messages(lambda: psm.browser.send(moved))
    psm.messages(lambda: psm.browser.send({"type": "TransformControlsDragEndMessage", "name": name}))
    until(lambda: np.allclose(tip.handle.position, T[:3, 3]), "the handle to go back")


def test_the_orientation_is_typed_as_roll_pitch_and_yaw(psm, tip):
    T, before = target(psm), psm.arm().T_tip
    pitch = tip.entry.fields[4].value
    psm.browser.set(tip.entry.fields[4], pitch + 5)
    psm.browser.enter(tip.entry)
    until(lambda: not np.array_equal(psm.arm().T_tip, before), "the tip")
    found = psm.arm().T_tip
    exact = np.degrees(roll_pitch_yaw(T[:3, :3]))
    wanted = [exact[0], pitch + 5, exact[2]]  # numbers that were not typed keep their decimals
    np.testing.assert_allclose(np.degrees(roll_pitch_yaw(found[:3, :3])), wanted, atol=1e-9)
    np.testing.assert_allclose(found[:3, 3], T[:3, 3], rtol=0, atol=1e-9)


@pytest.mark.parametrize("angles", [(0.3, -0.4, 2.0), (-3.0, 1.5, -1.0), (0.0, np.pi / 2, 0.7), (0.0, -np.pi / 2, 0.7)])
def test_roll_pitch_and_yaw_are_the_rotation(angles):
    roll, pitch, yaw = angles
    R = rotation("z", yaw) @ rotation("y", pitch) @ rotation("x", roll)
    np.testing.assert_allclose(roll_pitch_yaw(R), angles, atol=1e-9)


def test_a_force_applies_on_enter_and_goes_back_when_it_is_too_large(psm):
    push = psm.controls.push
    psm.browser.set(push.fields[2], 1.0)
    psm.browser.settled()
    assert not psm.arm().force.any()
    psm.browser.enter(push, 0.0, 0.0, 1.5)
    until(lambda: psm.arm().force[2] == 1.5, "the push")
    (text,) = psm.messages(lambda: psm.browser.enter(push, 0.0, 0.0, 1.5e7))
    assert "force must be" in text
    until(lambda: push.fields[2].value == 1.5, "the field to go back")
    psm.browser.enter(push, 0.0, 0.0, 0.0)
    until(lambda: not psm.arm().force.any(), "no push")


def test_a_force_typed_while_another_takes_effect_stays_in_its_field(psm, monkeypatch):
    controls, applied = psm.controls, []

    def push_and_type(force):
        applied.append(float(force[2]))
        controls.push.fields[2].value = 0.7

    controls.push.show([0.0, 0.0, 0.4])
    monkeypatch.setattr(controls, "_simulated", SimpleNamespace(push=push_and_type))
    controls._on_force()
    assert applied == [0.4]
    assert controls.push.values.tolist() == [0.0, 0.0, 0.7]
    controls.push.show(np.zeros(3))


def test_gravity_beyond_its_range_is_refused_and_goes_back(psm):
    entry = psm.mechanism.gravity
    was = entry.values
    (text,) = psm.messages(lambda: psm.browser.enter(entry, 0.0, 0.0, -98.1e6))
    assert "gravity must be" in text
    until(lambda: np.array_equal(entry.values, was), "the field to go back")


# -- efforts and laws ------------------------------------------------------------------------------------------------


def test_efforts_without_compensation_start_with_the_holding_efforts(psm):
    psm.simulation.pause()
    psm.simulation.arm("PSM").place(INSIDE)
    until(lambda: np.allclose(psm.page.selection.state.q, INSIDE), "the page to follow")
    psm.controls.set_mode("torque")
    psm.browser.set(psm.controls.compensated, False)
    holding = tr.load_mechanism("PSM").gravity(INSIDE)
    until(lambda: np.allclose(psm.controls.efforts.values, holding, atol=1e-9), "the efforts")
    assert np.abs(holding).max() > 0.1
    psm.simulation.step(750)  # half a second
    np.testing.assert_allclose(psm.arm().q, INSIDE, atol=1e-3)
    assert psm.arm().q_ref is None  # it follows efforts
    psm.controls.set_mode("joint")
    psm.simulation.step(2)
    assert psm.arm().q_ref is not None


def test_the_page_follows_laws_modes_and_targets_of_other_windows(psm):
    arm = psm.simulation.arm("PSM")
    arm.place(INSIDE)
    arm.set_law("impedance", {"stiffness": 100.0})
    until(lambda: psm.controls.law.value == "impedance", "the law")
    assert list(psm.controls._gains.handles) == ["stiffness", "damping"]
    assert psm.controls._gains.values[0] == 100.0
    arm.set_law("PID (dVRK)")
    until(lambda: psm.controls.law.value == "PID (dVRK)", "the law")
    psm.robot.bus.publish("PSM/servo_jf", JointState(effort=np.zeros(6)))
    psm.simulation.step()
    until(lambda: psm.controls.mode.value == "torque", "the mode")
    psm.simulation.play()
    goal = INSIDE[:6] + [0.1, 0.0, 0.0, 0.0, 0.0, 0.0]
    psm.robot.bus.publish("PSM/move_jp", JointState(position=goal))
    until(lambda: psm.controls.mode.value == "joint", "the mode")
    until(lambda: np.allclose(psm.controls.joints.values[:6], goal), "the sliders to show the goal")
    psm.simulation.pause()


def test_an_arm_with_a_fault_is_named_and_powered_on_again(psm):
    states = psm.page.panel(StatePanel)
    psm.simulation.pause()
    psm.simulation.arm("PSM").place(INSIDE)
    psm.controls.set_mode("joint")
    until(lambda: not states.power.visible, "an arm that is ready")
    psm.simulation.play()
    jump = JointState(position=INSIDE[:6] + [0.8, 0.0, 0.0, 0.0, 0.0, 0.0])
    texts = psm.messages(lambda: psm.robot.bus.publish("PSM/servo_jp", jump))
    assert any("tracking error" in text for text in texts)
    until(lambda: states.power.visible and "FAULT" in states.text(), "the fault")
    psm.browser.set(states.power, True)
    until(lambda: not states.power.visible, "the arm to be ready again")
    assert psm.robot.arm("PSM").is_homed()
    psm.simulation.pause()


def test_the_tip_of_an_arm_with_four_joints_goes_to_a_position():
    ecm = ViewedRobot(ArmSettings(arm="ECM").build(), drawn=False)
    try:
        T = ecm.arm("ECM").T_tip
        goal = T.copy()
        goal[:3, 3] += [0.01, -0.005, -0.01]
        ecm.controls.set_mode("cartesian")
        ecm.controls.move_tip(goal)
        np.testing.assert_allclose(ecm.arm("ECM").T_tip[:3, 3], goal[:3, 3], atol=1e-6)
        with pytest.raises(tr.errors.TrocarError, match="cannot reach"):
            ecm.controls.move_tip(np.eye(4) + [[0, 0, 0, 3.0]] * 4)
    finally:
        ecm.close()


# -- two arms --------------------------------------------------------------------------------------------------------


def test_two_arms_are_driven_at_once_and_can_be_swapped():
    both = ViewedRobot(load_scene("masters", timestep=1 / 1500))
    browser = RawBrowser(both.server)
    try:
        page, second, (one, two) = both.page, both.page.panel(SecondArmPanel), both.robot.arms
        assert (page.selected, second.name) == (one, two)
        both.controls.set_mode("torque")
        second.controls.set_mode("cartesian")
        browser.set(second.controls.law, "impedance")
        until(lambda: both.arm(two).law == "impedance", "the law of the second")
        until(lambda: second.controls.tip.handle.visible, "the handle of the second arm")
        both.simulation.step()
        assert [both.arm(name).q_ref is None for name in (one, two)] == [True, False]
        tip = second.controls.tip
        height = float(np.round(1000 * both.arm(two).T_tip[2, 3])) + 5
        until(lambda: abs(tip.entry.fields[2].value - height + 5) < 1, "the fields")
        browser.set(tip.entry.fields[2], height)
        browser.enter(tip.entry)
        until(lambda: abs(both.arm(two).T_tip[2, 3] - height / 1000) < 1e-9, "the tip of the second")
        browser.enter(second.controls.push, 0.0, 0.0, 1.0)
        until(lambda: both.arm(two).force[2] == 1.0, "the push on the second")
        assert not both.arm(one).force.any()
        browser.set(both.controls.choice, two)
        until(lambda: (page.selected, second.name) == (two, one), "the two to change places")
        until(lambda: both.controls.law.value == "impedance", "the controls of the other arm")
        until(lambda: second.controls.mode.value == "torque", "those of the second")
        until(lambda: not both.arm(two).force.any(), "the push to end")
        base = both.frame().scene.arms[one].T_world_base[:3, 3]
        node = both.server.scene.get_handle_by_name("/second_base")
        until(lambda: np.allclose(node.position, base), "the base of the second")
    finally:
        browser.close()
        both.close()


# -- drawings -------------------------------------------------------------------------------------------------------


def test_a_ghost_is_hidden_where_it_coincides_with_the_arm(psm):
    spec = psm.frame().scene.spec
    arm, ghost = (ModelDrawing(psm.server.scene, root, spec, ghost=root == "/b") for root in ("/a", "/b"))
    sim = tr.Simulator("PSM")
    sim.place(INSIDE)
    here = np.array(sim.data.qpos)
    sim.place(INSIDE + [0, 0, 3 * TELLS_APART, 0, 0, 0, 0])
    try:
        arm.update(here)

        def seen(qpos):
            ghost.update(qpos)
            ghost.hide_where_on(arm)
            return {mesh.body for mesh, handle in ghost._meshes if handle.visible}

        assert seen(here) == set()
        inserted = seen(np.array(sim.data.qpos))
        assert {"insertion", "wrist_pitch"} <= inserted
        assert not {"yaw", "world"} & inserted
    finally:
        arm.remove()
        ghost.remove()


def test_spread_heights_keep_order_and_distance_and_move_minimally():
    heights = np.array([0.3, 0.1, 0.11, 0.1, 0.9])
    found = spread(heights, 0.05)
    assert np.diff(np.sort(found)).min() >= 0.05 - 1e-12
    assert (np.argsort(found, kind="stable") == np.argsort(heights, kind="stable")).all()
    np.testing.assert_allclose(found[[0, 4]], [0.3, 0.9])
    np.testing.assert_allclose(found[[1, 2, 3]].mean(), heights[[1, 2, 3]].mean())


@pytest.mark.parametrize("eye", [(1.2, -0.8, 0.5), (0.1, 1.5, 0.1), (0.3, 0.2, 1.6), (-0.4, 0.0, -0.1)])
def test_labels_are_apart_in_the_picture_from_every_side(eye):
    points = np.random.default_rng(3).uniform(-0.3, 0.3, (15, 3))
    points[5:9] = points[4]  # one place
    view = Viewpoint.of(np.array(eye), np.zeros(3), np.array([0.0, 0.0, 1.0]))
    away = apart(points, view) - view.position
    depth = away @ view.forward
    np.testing.assert_allclose(depth, (points - view.position) @ view.forward)
    seen = depth > NEAR  # others are behind the camera
    assert seen.sum() > 8
    heights = np.sort((away @ view.up / depth)[seen])
    assert np.diff(heights).min() >= SPACING / max(depth[seen].min(), CLOSE * np.median(depth[seen])) - 1e-9


def test_no_two_labels_of_the_page_overlap(psm):
    psm.simulation.arm("PSM").place(INSIDE)
    boxes = psm.marks.boxes
    for name in ("labels", "gravity"):
        psm.browser.set(boxes[name], True)
    labels = psm.marks.overlays._labels
    until(lambda: sum(label.visible for label in labels._labels.values()) == 15, "13 bodies, g and the remote centre")

    def gaps():
        (client,) = psm.server.get_clients().values()
        camera = client.camera
        view = Viewpoint.of(camera.position, camera.look_at, camera.up_direction)
        away = np.array([label.position for label in labels._labels.values()]) - view.position
        return np.diff(np.sort(away @ view.up / (away @ view.forward))) * (away @ view.forward).min() / SPACING

    until(lambda: gaps().min() >= 1 - 1e-3, "labels that are apart")
    for name in ("labels", "gravity"):
        psm.browser.set(boxes[name], False)
    until(lambda: sum(label.visible for label in labels._labels.values()) == 1, "the remote centre alone")


@pytest.mark.parametrize("depth", [0.2, 0.5, 2.0])
def test_letters_close_to_the_camera_are_no_larger_in_the_picture_than_at_full_size(psm, depth):
    labels = Labels(psm.server.scene, "/near")
    labels.put("a", "A", np.array([depth, 0.0, 0.0]))
    labels.arrange(Viewpoint.of(np.zeros(3), np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])))
    (label,) = labels._labels.values()
    assert label.font_scene_height / depth == pytest.approx(HEIGHT / max(depth, FULL_SIZE), rel=0.03)
    labels.remove()


def test_arrows_of_large_forces_stay_in_the_picture():
    handle = SimpleNamespace(points=None, visible=False)
    forces = np.array([[[0.1, 0.0, 0.0], [0.0, 0.0, 1.0]], [[0.0, 0.0, 0.0], [0.0, 0.0, -46.0]]])
    for scale in (1.0, 1 / 3):
        aim(handle, forces, True, scale)
        tails, heads = handle.points[:, 0], handle.points[:, 1]
        np.testing.assert_allclose(tails, forces[:, 0], atol=1e-7)
        np.testing.assert_allclose(heads - tails, scale * np.array([[0, 0, 0.03], [0, 0, -MAX_ARROW]]), atol=1e-7)


def test_labels_are_removed_with_their_marks(psm):
    labels = Labels(psm.server.scene, "/names")
    labels.put("a", "A", np.zeros(3))
    labels.arrange()
    labels.remove()
    assert psm.server.scene.get_handle_by_name("/names/a") is None
    assert psm.server.scene.get_handle_by_name("/names/lines") is None


def test_every_cause_has_one_colour_in_bars_arrows_and_documentation(psm):
    assert len(set(CAUSES.values())) == len(CAUSES)
    html = bars(tr.load_mechanism("PSM"), psm.arm())
    text = (ROOT / "docs" / "viewer.md").read_text()
    for cause, colour in CAUSES.items():
        assert f'color:{of_cause(cause)}">&#9632;</span> {cause}' in html
        assert f"| {cause} | {colour} |" in text
    for cause in ("push", "contact", "gravity"):
        handle = overlays.arrows(psm.server.scene, f"/test_{cause}", cause)
        red, green, blue = (round(255 * (int(of_cause(cause)[k : k + 2], 16) / 255) ** 2.2) for k in (1, 3, 5))
        assert tuple(np.ravel(handle.colors)[:3]) == (red, green, blue)
        handle.remove()


def test_the_panels_leave_half_of_a_window_of_1024_pixels_to_the_scene():
    assert LEFT + RIGHT <= 512 - 4 * 2  # and the gaps of two docks


# -- pace ------------------------------------------------------------------------------------------------------------


def test_a_slow_simulation_names_what_to_switch_off():
    with Robot(ArmSettings(arm="PSM").build(), start="ready", speed="stepped") as robot:
        robot.simulation().arm("PSM").set_law("impedance")
        frame = robot.simulation().frame()
    scene = replace(frame.scene, arguments={**frame.scene.arguments, "objects": [SimpleNamespace()]})
    fine = replace(frame, scene=scene, playing=True, speed=1.0, factor=0.97)
    slow = replace(fine, factor=0.6)
    pace = SlowDown()
    assert pace.advice(slow, 0.0) == ""  # it may just have started
    assert pace.advice(replace(slow, factor=1.0), 0.5) == ""  # one good moment does not change the mean much
    assert pace.advice(slow, SETTLING_TIME - 0.1) == ""
    text = pace.advice(slow, SETTLING_TIME, ["the endoscope's view", "curves"])
    assert "0.70 instead of 1.00" in text
    for advice in ("the endoscope's view, curves", "Cartesian law of PSM", "objects", "speed to 0.70"):
        assert advice in text
    assert pace.advice(replace(slow, playing=False), 5.0) == ""
    assert pace.advice(slow, 5.1) == ""  # the average starts again
    for k in range(40):
        assert pace.advice(fine, 10.0 + 0.1 * k) == ""
        assert pace.advice(replace(slow, speed=0.6), 20.0 + 0.1 * k) == ""  # as slow as requested
