"""Scenes in the viewer: several drawn arms, the selected one, and the endoscope's view."""

from __future__ import annotations

import time
from dataclasses import replace

import mujoco
import numpy as np
import pytest

import trocar as tr
from tests.support.waiting import TIMEOUT
from trocar.appearance.endoscope_camera import VIEW, StereoEndoscope
from trocar.appearance.lens import Lens
from trocar.robot import Robot
from trocar.robot.settings import ArmSettings

pytest.importorskip("viser", reason="pip install 'trocar[view]'")

from tests.support.viewed_robot import ViewedRobot
from trocar.view.model_drawing import ModelDrawing
from trocar.view.pages import served_page
from trocar.view.panels.drive import DrivePanel
from trocar.view.panels.endoscope import SIZE, EndoscopeRenderer, endoscope_of
from trocar.view.panels.states import StatePanel
from trocar.view.server import serve

SET_UP = [0.007, -0.588, -0.757, -0.737, -0.309, -0.687]  # of PSM1


@pytest.fixture
def server():
    result = serve(port=0)
    yield result
    result.stop()


@pytest.fixture
def robot():
    with Robot("cart_classic", start="ready", speed="stepped") as result:
        yield result


def check_drawn(server, drawing, robot):
    """Compare the poses of the page's nodes with those of the simulated model, a separate model."""
    frame = robot.simulation().frame()
    drawing.hang(frame.scene.fixed)
    drawing.update(frame.qpos)
    model, data = robot.scene.model, robot.scene.data
    mujoco.mj_kinematics(model, data)
    places = {model.body(k).name: data.xpos[k] for k in range(1, model.nbody)}
    for name, position in {**places, **{name: T[:3, 3] for name, T in frame.scene.fixed.items()}}.items():
        node = server.scene.get_handle_by_name(drawing.node(name))
        np.testing.assert_allclose(node.position, position, atol=1e-9, err_msg=name)


def test_soft_objects_are_drawn_where_the_engine_has_them(server):
    robot = Robot("suture", start="ready", speed="stepped")
    drawing = ModelDrawing(server.scene, "/arm", robot.simulation().frame().scene.spec)
    scene, tissue = robot.scene, robot.scene.objects["tissue"]
    for push in (0.0, 2e-3):
        scene.data.qpos[scene.model.jnt_qposadr[tissue.grid.nodes]] += push
        drawing.update(robot.simulation().frame().qpos)
        vertices = np.asarray(drawing.soft.handles[0].vertices)
        assert np.isin(np.round(vertices, 6), np.round(tissue.vertices.astype(np.float32), 6)).all()
        assert vertices[:, 0].max() == pytest.approx(tissue.vertices[:, 0].max(), abs=1e-6)
    assert server.scene.get_handle_by_name(drawing.node("object/thread")) is not None
    whole = len(drawing.soft.handles[0].faces)
    low, high = tissue.vertices.min(axis=0) - 1e-3, tissue.vertices.max(axis=0) + 1e-3
    x, middle, _ = (low + high) / 2
    assert tissue.cut([[[x, y, low[2]], [x, y, high[2]]] for y in (low[1], middle - 2e-3)]) > 0
    frame = robot.simulation().frame()
    drawing.update(frame.qpos, frame.layers)
    handle = drawing.soft.handles[0]
    assert len(handle.faces) == len(tissue.faces) != whole
    drawn = np.asarray(handle.vertices)[np.asarray(handle.faces)].mean(axis=1)
    left = tissue.vertices[tissue.faces].mean(axis=1)
    np.testing.assert_allclose(np.sort(drawn, axis=0), np.sort(left, axis=0), atol=1e-6)
    scene.reset()  # whole again
    frame = robot.simulation().frame()
    drawing.update(frame.qpos, frame.layers)
    assert len(drawing.soft.handles[0].faces) == len(tissue.faces) == whole
    robot.close()


def test_a_scene_is_drawn_at_the_engines_poses_and_only_changed_bodies_are_redrawn(server, robot):
    robot.step(30)
    spec, psm1 = lambda: robot.simulation().frame().scene.spec, robot.simulation().arm("PSM1")
    drawing = ModelDrawing(server.scene, "/arm", spec())
    check_drawn(server, drawing, robot)
    first = drawing.shapes()
    psm1.change(friction=False)
    drawing.become(spec())
    assert drawing.shapes() == first
    psm1.change(instrument="PERMANENT_CAUTERY_HOOK_400183")
    drawing.become(spec())
    fresh = {body for name, body in drawing.shapes().items() if name not in first}
    assert fresh
    assert all(body.startswith("PSM1/") for body in fresh)
    psm1.change(set_up=[0.05, *SET_UP[1:]])
    check_drawn(server, drawing, robot)


def test_browsers_get_the_poses_of_bodies_that_moved_and_of_no_others(server, robot, monkeypatch):
    frame = robot.simulation().frame()
    drawing = ModelDrawing(server.scene, "/arm", frame.scene.spec)
    qpos = frame.qpos.copy()
    drawing.update(qpos)
    buffer, woken = server.scene._websock_interface.get_message_buffer(), []
    monkeypatch.setattr(buffer.event_loop, "call_soon_threadsafe", woken.append)
    sent = buffer.message_counter
    drawing.update(qpos)
    assert buffer.message_counter == sent
    woken.clear()
    qpos[robot.scene.model.joint("PSM1/yaw").qposadr[0]] += 0.2
    drawing.update(qpos)
    assert len(woken) == 1  # the server is woken once for all bodies
    messages = [buffer.message_from_id[k] for k in range(sent, buffer.message_counter)]
    assert len(messages) > 5
    for message in messages:
        body = drawing.data.body(message.name.removeprefix("/arm/"))
        assert body.name.startswith("PSM1/")
        node = server.scene.get_handle_by_name(message.name)
        if hasattr(message, "wxyz"):
            np.testing.assert_array_equal(message.wxyz, body.xquat)
            np.testing.assert_array_equal(node.wxyz, body.xquat)
        else:
            np.testing.assert_array_equal(message.position, body.xpos)
            np.testing.assert_array_equal(node.position, body.xpos)


def test_selecting_an_arm_ends_the_push_on_the_previous_one():
    viewed = ViewedRobot(tr.load_scene("cart_classic", timestep=1 / 1500), drawn=False)
    try:
        viewed.simulation.arm("PSM1").push([0.0, 0.0, 0.5])
        assert viewed.page.selected == "PSM1"
        viewed.page.select("ECM")
        viewed.draw()
        assert viewed.page.selection.name == "ECM"
        assert not viewed.arm("PSM1").force.any()
    finally:
        viewed.close()


# -- the endoscope ---------------------------------------------------------------------------------------------------


class Watched:
    """A robot on the cart and the view of its endoscope."""

    def __init__(self):
        self.robot = Robot("cart_classic", start="ready", speed="stepped")
        self.frame = self.robot.simulation().frame
        self.pane, self.errors = EndoscopeRenderer(endoscope_of(self.frame())), []
        self.pane.report = self.errors.append

    def close(self):
        self.pane.close()
        self.robot.close()

    def pictures(self, frame):
        """The pair of pictures that follows the current one; skips the test if rendering fails."""
        before = self.pane(frame)[0]
        deadline = time.monotonic() + TIMEOUT
        while self.pane(frame)[0] is before and time.monotonic() < deadline:
            if self.errors:
                pytest.skip(f"nothing can be rendered here: {self.errors}")
            time.sleep(0.02)
        return [picture.astype(int) for picture in self.pane(frame)]


@pytest.fixture
def watched():
    result = Watched()
    yield result
    result.close()


def differing(a, b, most):
    """Share of the pixels that differ by more than a threshold."""
    return (np.abs(a - b).max(-1) > most).mean()


def test_the_endoscope_shows_the_frame_without_blocking(watched):
    """Its pictures are, to the pixel, those of a scene placed there directly."""
    psm1 = watched.robot.simulation().arm("PSM1")
    psm1.place(watched.frame().arms["PSM1"].q + [0.05, 0.05, 0.01, 0.3, 0.2, 0.1, 0.2])
    frame = watched.frame()
    first, _ = watched.pane(frame)
    assert (first == first[0, 0]).all()  # nothing is drawn yet, and the call did not wait
    found = watched.pictures(frame)
    twin = tr.load_scene("cart_classic")
    for name, state in frame.arms.items():
        twin.arms[name].place(state.q)
    eyes = StereoEndoscope(twin, "ECM", Lens.of_view(VIEW, *SIZE))
    wanted = eyes.pair()
    for got, want in zip(found, wanted, strict=True):
        assert differing(got, want.astype(int), 8) < 1e-3
    assert differing(*found, 8) > 0.05  # two eyes
    T = eyes.T_world_camera("left")
    point, force = (T @ [0.0, 0.0, 0.03, 1.0])[:3], T[:3, :3] @ [2.0, 0.0, 0.0]
    pressed = watched.pictures(replace(frame, contacts=np.array([[point, force]])))
    assert 1e-3 < differing(pressed[0], found[0], 30) < 0.1  # an arrow, although nothing has moved


def test_the_endoscope_shows_changes_of_the_scene(watched):
    """An instrument that set-up joints lift out of view is not seen, even after the twin was rebuilt."""

    def seen(**changes):
        watched.robot.simulation().arm("PSM1").change(**changes)
        return watched.pictures(watched.frame())[0]

    first = watched.pictures(watched.frame())[0]
    moved = seen(set_up=[0.06, *SET_UP[1:]])
    assert differing(moved, first, 30) > 0.01
    assert differing(seen(counterweight=False), moved, 8) < 1e-3  # which is not seen
    assert differing(seen(set_up=SET_UP), first, 8) < 1e-3


def test_only_a_scene_with_an_endoscope_has_its_view():
    for scene in ("masters", ArmSettings(arm="PSM").build(), ArmSettings(arm="ECM").build()):
        with Robot(scene, start="ready", speed="stepped") as robot:
            assert endoscope_of(robot.simulation().frame()) is None


def test_a_view_that_fails_is_reported(watched, monkeypatch):
    monkeypatch.setattr(StereoEndoscope, "pair", lambda self, forces: 1 / 0)
    watched.pane(watched.frame())
    deadline = time.monotonic() + TIMEOUT
    while not watched.errors and time.monotonic() < deadline:
        time.sleep(0.02)
    (text,) = watched.errors
    assert "the endoscope's picture cannot be rendered" in text


# -- other pages -----------------------------------------------------------------------------------------------------


def test_the_page_of_a_served_robot_drives_the_arms_that_it_controls(server):
    with Robot("cart_classic", start="ready", speed="fast", arms=["PSM2", "ECM"]) as robot:
        page = served_page(server, robot)
        try:
            controls = page.panel(DrivePanel).controls
            assert (page.selected, controls.choice.options) == ("PSM2", ("PSM2", "ECM"))
            q = controls.joints.values
            q[0] += 0.05
            controls.move_joints(q)
            robot.run(2.0)
            page.draw()
            assert page.selection.state.q[0] == pytest.approx(q[0], abs=2e-3)
            robot.arm("PSM2").state_command("disable")
            robot.run(0.1)
            for panel in page.panels:
                page.due[panel] = 0.0
            page.draw()
            assert page.panel(StatePanel).power.visible
            assert ">PSM2</td>" in page.panel(StatePanel).text()
            assert "PSM1" not in page.panel(StatePanel).text()
        finally:
            page.close()
