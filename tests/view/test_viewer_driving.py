"""First steps on the page: typed and refused values, labels, comparisons, and advice for slow simulations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import trocar as tr
from trocar.palette import CAUSES, of_cause
from trocar.runtime import Live, Session, Settings
from trocar.simulation.objects.practice import practice_objects
from trocar.spatial import roll_pitch_yaw, rotation

pytest.importorskip("viser", reason="pip install 'trocar[view]'")

from tests.support.raw_browser import RawBrowser, until
from trocar.view import overlays
from trocar.view.effort_bars import bars
from trocar.view.labels import CLOSE, NEAR, SPACING, Labels, View, apart, spread
from trocar.view.model_drawing import TELLS_APART, ModelDrawing
from trocar.view.pace import PATIENCE, Pace
from trocar.view.panels import plots
from trocar.view.server import serve
from trocar.view.viewer_page import CONTROLS, ViewerPage

INSIDE = np.array([0.1, 0.1, 0.14, 0.2, 0.3, -0.2, 0.0])  # away from limits and singularities


class Page:
    """A page of a session without a drawing thread, and a browser."""

    def __init__(self, settings):
        self.session = Session(settings).start()
        self.server = serve(port=0)
        self.server.rate = 1e6
        self.page = ViewerPage(self.server, self.session).start()
        self.browser = RawBrowser(self.server)

    def close(self):
        self.browser.close()
        self.page.close()
        self.session.close()
        self.server.stop()

    def arm(self, name="PSM"):
        return self.session.settled().arms[name]

    def messages(self, action, count=1):
        """The messages that follow an action, once this many have arrived."""
        before = len(self.session.messages.since(0))
        action()
        until(lambda: len(self.session.messages.since(0)) >= before + count, "a message")
        return [message.text for message in self.session.messages.since(0)][before:]


@pytest.fixture(scope="module")
def psm():
    result = Page(Settings(arm="PSM"))
    yield result
    result.close()


@pytest.fixture
def tip(psm):
    """The page with the arm paused inside its workspace, in Cartesian mode."""
    psm.session.pause()
    psm.session.place(INSIDE)
    psm.page.driving.drive("feedback linearisation")
    return psm.page.driving.tip


# -- number fields ---------------------------------------------------------------------------------------------------


def test_half_typed_numbers_move_nothing_and_enter_moves_the_tip(psm, tip):
    T = psm.arm().control.target
    z = float(np.round(1000 * T[2, 3]))
    for half in (z // 100, z // 10, z + 4):
        psm.browser.set(tip.entry.fields[2], half)
    psm.browser.settled()
    assert tip.entry.fields[2].value == z + 4
    np.testing.assert_array_equal(psm.arm().control.target, T)
    psm.browser.enter(tip.entry)
    until(lambda: abs(psm.arm().control.target[2, 3] - (z + 4) / 1000) < 1e-12, "the target")
    np.testing.assert_allclose(psm.arm().control.target[:2], T[:2], rtol=0, atol=1e-12)


def test_a_refused_target_is_a_message_and_the_fields_go_back(psm, tip):
    T = psm.arm().control.target
    shown = tip.entry.values
    for far, reason in ((-400.0, "unreachable"), (-20000.0, "within 10 m")):
        (text,) = psm.messages(lambda far=far: psm.browser.enter(tip.entry, far))
        assert reason in text
        until(lambda: np.array_equal(tip.entry.values, shown), "the fields to go back")
        np.testing.assert_allclose(tip.handle.position, T[:3, 3])
        np.testing.assert_array_equal(psm.arm().control.target, T)


def test_a_handle_dragged_out_of_reach_goes_back_when_it_is_released(psm, tip):
    T = psm.arm().control.target
    name = tip.handle.name
    moved = {"type": "TransformControlsUpdateMessage", "name": name, "wxyz": [1, 0, 0, 0], "position": [0, 0, 2.0]}
    psm.messages(lambda: psm.browser.send(moved))
    psm.messages(lambda: psm.browser.send({"type": "TransformControlsDragEndMessage", "name": name}))
    until(lambda: np.allclose(tip.handle.position, T[:3, 3]), "the handle to go back")


def test_the_orientation_is_typed_as_roll_pitch_and_yaw(psm, tip):
    T = psm.arm().control.target
    pitch = tip.entry.fields[4].value
    psm.browser.set(tip.entry.fields[4], pitch + 5)
    psm.browser.enter(tip.entry)
    until(lambda: not np.allclose(psm.arm().control.target, T), "the target")
    found = psm.arm().control.target
    exact = np.degrees(roll_pitch_yaw(T[:3, :3]))
    wanted = [exact[0], pitch + 5, exact[2]]  # numbers that were not typed keep their decimals
    np.testing.assert_allclose(np.degrees(roll_pitch_yaw(found[:3, :3])), wanted, atol=1e-9)
    np.testing.assert_allclose(found[:3, 3], T[:3, 3], rtol=0, atol=1e-12)


@pytest.mark.parametrize("angles", [(0.3, -0.4, 2.0), (-3.0, 1.5, -1.0), (0.7, np.pi / 2, 0.0), (0.7, -np.pi / 2, 0.0)])
def test_roll_pitch_and_yaw_are_the_rotation(angles):
    roll, pitch, yaw = angles
    R = rotation("z", yaw) @ rotation("y", pitch) @ rotation("x", roll)
    np.testing.assert_allclose(roll_pitch_yaw(R), angles, atol=1e-9)


def test_a_force_applies_on_enter_and_goes_back_when_it_is_too_large(psm):
    push = psm.page.driving.push
    psm.browser.set(push.fields[2], 1.0)
    psm.browser.settled()
    assert not psm.arm().force.any()
    psm.browser.enter(push, 0.0, 0.0, 1.5)
    until(lambda: psm.arm().force[2] == 1.5, "the push")
    (text,) = psm.messages(lambda: psm.browser.enter(push, 0.0, 0.0, 15.0))
    assert "from -10 to 10" in text
    until(lambda: push.fields[2].value == 1.5, "the field to go back")
    psm.browser.enter(push, 0.0, 0.0, 0.0)
    until(lambda: not psm.arm().force.any(), "no push")


def test_gravity_beyond_its_range_is_refused_and_goes_back(psm):
    entry = psm.page.mechanism.gravity
    was = entry.values
    (text,) = psm.messages(lambda: psm.browser.enter(entry, 0.0, 0.0, -98.1))
    assert "from -20 to 20" in text
    until(lambda: np.array_equal(entry.values, was), "the field to go back")


# -- efforts ---------------------------------------------------------------------------------------------------------


def test_efforts_without_compensation_start_with_the_holding_efforts(psm):
    psm.session.place(INSIDE)
    psm.page.driving.drive("effort alone")
    holding = tr.load_mechanism("PSM").gravity(INSIDE)
    np.testing.assert_allclose(list(psm.page.driving.efforts.values.values()), holding, atol=1e-9)
    assert np.abs(holding).max() > 0.1
    psm.session.step(750).result(60.0)  # half a second
    np.testing.assert_allclose(psm.arm().q, INSIDE, atol=1e-3)
    psm.page.driving.drive("PID (dVRK)")


# -- two arms --------------------------------------------------------------------------------------------------------


def test_two_arms_are_driven_at_once_and_can_be_swapped():
    both = Page(Settings(scene="masters"))
    try:
        page, (one, two) = both.page, both.session.arms
        assert (page.selected(), page.second.name) == (one, two)
        page.driving.drive("effort + gravity")
        page.second.driving.drive("impedance")
        until(lambda: page.second.driving.tip.handle.visible, "the handle of the second arm")
        assert [both.arm(name).control.controller for name in (one, two)] == ["effort + gravity", "impedance"]
        tip = page.second.driving.tip
        T = both.arm(two).control.target
        height = float(np.round(1000 * T[2, 3])) + 5
        both.browser.set(tip.entry.fields[2], height)
        both.browser.enter(tip.entry)
        until(lambda: abs(both.arm(two).control.target[2, 3] - height / 1000) < 1e-12, "the target of the second")
        both.browser.enter(page.second.driving.push, 0.0, 0.0, 1.0)
        until(lambda: both.arm(two).force[2] == 1.0, "the push on the second")
        assert not both.arm(one).force.any()
        both.browser.set(page.driving._arm, two)
        until(lambda: (page.selected(), page.second.name) == (two, one), "the two to change places")
        until(lambda: page.driving.controller.value == "impedance", "the controls of the other arm")
        until(lambda: page.second.driving.controller.value == "effort + gravity", "those of the second")
        assert not both.arm(two).force.any()
        base = both.session.frame.scene.arms[one].T_world_base[:3, 3]
        node = both.server.scene.get_handle_by_name("/second_base")
        until(lambda: np.allclose(node.position, base), "the base of the second")
    finally:
        both.close()


# -- drawings -------------------------------------------------------------------------------------------------------


def test_a_ghost_is_hidden_where_it_coincides_with_the_arm(psm):
    spec = psm.session.frame.scene.spec
    arm, ghost = (ModelDrawing(psm.server.scene, root, spec, ghost=root == "/b") for root in ("/a", "/b"))
    live = Live(Settings(arm="PSM"))
    live.place(INSIDE)
    here = live.frame().qpos
    live.place(INSIDE + [0, 0, 3 * TELLS_APART, 0, 0, 0, 0])
    try:
        arm.update(here)

        def seen(qpos):
            ghost.update(qpos)
            ghost.hide_where_on(arm)
            return {mesh.body for mesh, handle in ghost._meshes if handle.visible}

        assert seen(here) == set()
        inserted = seen(live.frame().qpos)
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
    view = View.of(np.array(eye), np.zeros(3), np.array([0.0, 0.0, 1.0]))
    away = apart(points, view) - view.position
    depth = away @ view.forward
    np.testing.assert_allclose(depth, (points - view.position) @ view.forward)
    seen = depth > NEAR  # others are behind the camera
    assert seen.sum() > 8
    heights = np.sort((away @ view.up / depth)[seen])
    assert np.diff(heights).min() >= SPACING / max(depth[seen].min(), CLOSE * np.median(depth[seen])) - 1e-9


def test_no_two_labels_of_the_page_overlap(psm):
    psm.session.place(INSIDE)
    boxes = psm.page.mechanism.overlays
    for name in ("labels", "gravity"):
        psm.browser.set(boxes[name], True)
    labels = psm.page.overlays._labels
    until(lambda: sum(label.visible for label in labels._labels.values()) == 15, "13 bodies, g and the remote centre")

    def gaps():
        (client,) = psm.server.get_clients().values()
        camera = client.camera
        view = View.of(camera.position, camera.look_at, camera.up_direction)
        away = np.array([label.position for label in labels._labels.values()]) - view.position
        return np.diff(np.sort(away @ view.up / (away @ view.forward))) * (away @ view.forward).min() / SPACING

    until(lambda: gaps().min() >= 1 - 1e-3, "labels that are apart")
    for name in ("labels", "gravity"):
        psm.browser.set(boxes[name], False)
    until(lambda: sum(label.visible for label in labels._labels.values()) == 1, "the remote centre alone")


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
    text = (Path(__file__).parents[2] / "docs" / "viewer.md").read_text()
    for cause, colour in CAUSES.items():
        assert f'color:{of_cause(cause)}">&#9632;</span> {cause}' in html
        assert f"| {cause} | {colour} |" in text
    for cause in ("push", "contact", "gravity"):
        handle = overlays.arrows(psm.server.scene, f"/test_{cause}", cause)
        red, green, blue = (round(255 * (int(of_cause(cause)[k : k + 2], 16) / 255) ** 2.2) for k in (1, 3, 5))
        assert tuple(np.ravel(handle.colors)[:3]) == (red, green, blue)
        handle.remove()


def test_the_panels_leave_half_of_a_window_of_1024_pixels_to_the_scene():
    assert CONTROLS + plots.WIDTH <= 512 - 4 * 2  # and the gaps of two docks


# -- pace ------------------------------------------------------------------------------------------------------------


def test_a_slow_simulation_names_what_to_switch_off():
    live = Live(Settings(arm="PSM", objects=practice_objects))
    live.drive("impedance")
    fine = live.frame(playing=True, factor=0.97)
    slow = replace(fine, factor=0.6)
    pace = Pace()
    assert pace.advice(slow, 0.0) == ""  # it may just have started
    assert pace.advice(replace(slow, factor=1.0), 0.5) == ""  # one good moment does not change the mean much
    assert pace.advice(slow, PATIENCE - 0.1) == ""
    text = pace.advice(slow, PATIENCE, ["the endoscope's view", "curves"])
    assert "0.70 instead of 1.00" in text
    for advice in ("the endoscope's view, curves", "cartesian mode of PSM", "--touch", "speed to 0.70"):
        assert advice in text
    assert pace.advice(replace(slow, playing=False), 5.0) == ""
    assert pace.advice(slow, 5.1) == ""  # the average starts again
    for k in range(40):
        assert pace.advice(fine, 10.0 + 0.1 * k) == ""
        assert pace.advice(replace(slow, speed=0.6), 20.0 + 0.1 * k) == ""  # as slow as requested
