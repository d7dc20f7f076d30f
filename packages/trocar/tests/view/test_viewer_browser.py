"""`trocar view` in a real Chromium: the drawing, and the effect of user actions on the simulation.

With TROCAR_SCREENSHOTS=DIR every step saves a picture of the page there. Skipped if there is no Chromium.
"""

from __future__ import annotations

import http.server
import io
import os
import re
import shutil
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

import trocar as tr
from trocar.control import ComputedTorque, sinusoid
from trocar.report import Claim, Report
from trocar.robot.messages import JointState
from trocar.simulation import Scene, load_scene
from trocar.simulation.objects.solid import practice_objects

viser = pytest.importorskip("viser", reason="pip install 'trocar[view]'")
sync_api = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt install chromium"),
    pytest.mark.xdist_group("browser"),  # one browser at a time
]

import trocar.view.page as page_module  # noqa: E402
from tests.support.viewed_robot import ViewedRobot  # noqa: E402
from trocar.robot import Robot  # noqa: E402
from trocar.teleoperation.devices import DeviceConsole, Keyboard, training_scene  # noqa: E402
from trocar.view.model_drawing import VISIBLE, body_meshes  # noqa: E402
from trocar.view.pages import teleop_page  # noqa: E402
from trocar.view.panels.states import StatePanel  # noqa: E402
from trocar.view.server import address, serve  # noqa: E402

# As root and without a graphics card; and no calls home.
FLAGS = [
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
WAIT = 240_000  # longest wait for anything [ms]; a busy machine is slow, and nothing is timed
SIZE = {"width": 1000, "height": 560}  # the CPU draws every pixel
# Notifications come and go over the picture; the panel has the same texts.
CLEAR = """
const style = document.createElement("style");
style.textContent = "[class*=mantine-Notification] { opacity: 0 !important; pointer-events: none !important }";
document.head.append(style);
"""
J3 = 2


class Viewer(ViewedRobot):
    """A running viewer and a connected browser."""

    def __init__(self, browser, reports=None, scene=None):
        super().__init__(scene, reports)
        # without a graphics card, most of the time goes into shadows and into reflections while a page opens
        self.server.scene.get_handle_by_name("/lights/key").cast_shadow = False
        self.server.scene.configure_environment_map(None)
        self._mark, self._marks = self.server.gui.add_html(""), 0
        # one cache for all pages: files are loaded once
        self.context = browser.new_context(viewport=SIZE)
        self.context.set_default_timeout(WAIT)
        self.context.add_init_script(f"addEventListener('DOMContentLoaded', () => {{ {CLEAR} }})")
        self.browser = browser
        self.tab = self.open()

    @property
    def state(self):
        """State of the arm that is shown."""
        return self.arm(self.page.selected)

    @property
    def about(self):
        return self.frame().scene.arms[self.page.selected]

    def open(self, size=SIZE):
        tab = self.context.new_page()
        tab.set_viewport_size(size)
        tab.goto(address(self.server))
        tab.get_by_text(self.page.selected, exact=True).first.wait_for()
        return tab

    def close(self):
        self.context.close()
        super().close()

    def go(self, tab_name):
        self.tab.get_by_role("tab", name=tab_name).click()

    def press(self, name):
        self.tab.get_by_role("button", name=name, exact=True).click()

    def field(self, label, tab=None):
        """The number next to a slider."""
        row = (tab or self.tab).locator("label", has_text=re.compile(f"^{re.escape(label)}$")).first
        return row.locator("xpath=ancestor::div[.//input][1]//input[@type='text' or @inputmode]").first

    def type(self, label, value):
        field = self.field(label)
        field.fill(str(value))
        field.press("Enter")

    def shown_effort(self, joint):
        return float(self.tab.locator(f"[data-joint={joint}]").text_content().split()[0])

    def rendered(self):
        """Wait until the browser has drawn everything sent so far."""
        self._marks += 1
        self._mark.content = f'<i data-mark="{self._marks}"></i>'
        self.server.flush()
        self.tab.locator(f'[data-mark="{self._marks}"]').wait_for(state="attached")
        self.frames()

    def frames(self, count=3):
        """Wait for this many frames of the browser."""
        for _ in range(count):
            self.tab.evaluate("() => new Promise(done => requestAnimationFrame(() => done(0)))")

    def canvas(self):
        """Pixels (h, w, 3) of the scene alone."""
        box = self.tab.locator("canvas").first.bounding_box()
        return pixels(self.tab.screenshot(clip=box))

    def still(self):
        """The same, once nothing in it changes any more."""
        self.rendered()
        pictures = [self.canvas()]

        def same():
            pictures.append(self.canvas())
            return np.array_equal(pictures[-1], pictures[-2])

        until(same, "a picture that stays")
        return pictures[-1]

    def keep(self, name):
        folder = os.environ.get("TROCAR_SCREENSHOTS")
        if folder:
            self.rendered()
            self.tab.screenshot(path=Path(folder) / f"{name}.png")


def pixels(png):
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int)


def until(condition, what):
    """Wait until the page or the simulation has done something."""
    deadline = time.monotonic() + WAIT / 1000
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.05)


def insist(action, condition, what):
    """Repeat an action until it has had its effect: a busy page may miss a key press or a click."""
    deadline = time.monotonic() + WAIT / 1000
    while not condition():
        assert time.monotonic() < deadline, f"tried in vain: {what}"
        action()
        patience = time.monotonic() + 8.0
        while not condition() and time.monotonic() < patience:
            time.sleep(0.05)


@pytest.fixture(scope="module")
def playwright_of():
    with sync_api.sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="module")
def viewer(playwright_of, tmp_path_factory):
    reports = tmp_path_factory.mktemp("reports")
    claim = Claim(id="length", published=1.0, ours=1.0, unit="m", relation="equal", tolerance=0.1, source="a book")
    Report("Numbers & figures", [claim]).write_html(reports / "numbers.html")
    page_module.MESSAGE_TIME = 10 * WAIT / 1000  # a message waits for a slow browser
    browser = playwright_of.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
    result = Viewer(browser, reports)
    yield result
    browser.close()
    result.close()


@pytest.fixture
def home(viewer):
    """The viewer with the arm at home, paused and at the first tab."""
    viewer.simulation.pause()
    viewer.recordings.source.value = "simulation"
    if not (viewer.about.counterweight and viewer.about.friction):
        viewer.simulation.arm("PSM").change(counterweight=True, friction=True)
    viewer.simulation.arm("PSM").set_law("PID (dVRK)")
    viewer.simulation.reset()
    viewer.controls.set_mode("joint")
    viewer.tab.get_by_text("paused").first.wait_for()
    viewer.go("Drive")
    return viewer


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    sim = tr.Simulator("PSM", friction=False)
    reference = sinusoid(np.array([0.3, 0, 0.12, 0, 0, 0, 0.4]), np.array([0.3, 0.2, 0.03, 0, 0, 0, 0]), 1.0)
    sim.reset(reference(0.0).q, reference(0.0).dq)
    made = tr.simulate(sim, ComputedTorque(tr.load_mechanism("PSM"), 900.0, 60.0), reference, 0.4)
    return made, made.save(tmp_path_factory.mktemp("recordings") / "run.csv")


def projected(viewer, points, size):
    """Pixels (n, 2) of a picture of this size at which the browser's camera sees points (n, 3)."""
    (client, *_) = viewer.server.get_clients().values()
    camera = client.camera
    forward = camera.look_at - camera.position
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, camera.up_direction)
    right /= np.linalg.norm(right)
    down = np.cross(forward, right)
    width, height = size
    focal = height / 2 / np.tan(camera.fov / 2)
    away = points - camera.position
    depth = away @ forward
    return np.stack([width / 2 + focal * away @ right / depth, height / 2 + focal * away @ down / depth], 1)


def silhouette(viewer, size):
    """Expected mask of the arm in the picture (h, w): its triangles through the camera that the browser reports."""
    sim = tr.Simulator("PSM")
    sim.place(viewer.state.q)
    model = sim.spec.copy().compile()
    image = Image.new("1", size)
    draw = ImageDraw.Draw(image)
    for mesh in body_meshes(model, VISIBLE):
        # poses from the simulator's own data, independent of the page
        body = sim.data.body(mesh.body)
        where = projected(viewer, mesh.vertices @ body.xmat.reshape(3, 3).T + body.xpos, size)
        for face in mesh.faces:
            draw.polygon([tuple(where[k]) for k in face], fill=1, outline=1)
    return np.asarray(image)


def test_the_arm_is_drawn_where_the_camera_must_see_it(home):
    """The arm's pixels in the picture are the silhouette of the model's triangles, projected here."""
    scene = home.server.scene
    floor, shown = scene.get_handle_by_name("/floor"), [(box, box.value) for box in home.marks.boxes.values()]
    colours = [(handle, handle.color) for handle in map(scene.get_handle_by_name, home.page.drawing.shapes())]
    try:
        for handle, _ in colours:
            handle.color = (0, 0, 0)  # a pale arm is hard to distinguish from a pale backdrop
        floor.visible = False  # the arm's shadow falls on it
        for box, _ in shown:
            box.value = False
        scene.get_handle_by_name("/arm").visible = False
        without = home.still()
        scene.get_handle_by_name("/arm").visible = True
        wanted = silhouette(home, (without.shape[1], without.shape[0]))
        assert wanted.mean() > 0.03
        overlap = []

        def agreed():
            seen = np.abs(home.canvas() - without).max(-1) > 6
            overlap.append((seen & wanted).sum() / (seen | wanted).sum())
            return overlap[-1] > 0.95

        until(agreed, "the arm's silhouette")
        print(f"silhouettes overlap by {overlap[-1]:.3f}")
    finally:
        floor.visible = True
        for box, visible in shown:
            box.value = visible
        for handle, colour in colours:
            handle.color = colour
    home.keep("arm")


def test_play_moves_time_and_pause_stops_it(home):
    home.press("Play")
    until(lambda: home.frame().time > 0.1, "time")
    home.press("Pause")
    home.tab.get_by_text("paused").first.wait_for()
    stopped = home.frame().time
    time.sleep(0.1)  # in which the simulation could continue
    assert home.frame().time == stopped
    home.press("1 step")
    until(lambda: home.frame().time > stopped, "one step")
    assert home.frame().time == pytest.approx(stopped + 1 / 1500)


def test_a_slider_moves_the_simulated_arm_and_its_picture(home):
    before = home.canvas()
    home.press("Play")
    insist(lambda: home.type("yaw [rad]", 0.6), lambda: abs(home.state.q[0] - 0.6) < 0.01, "the yaw")
    home.press("Pause")
    home.tab.get_by_text("paused").first.wait_for()
    until(lambda: (np.abs(home.canvas() - before).max(-1) > 30).mean() > 0.01, "another picture")
    home.keep("slider")


def test_a_fault_is_shown_and_the_arm_is_powered_on_again(home):
    home.press("Play")
    jump = home.state.q[:6] + [0.8, 0.0, 0.0, 0.0, 0.0, 0.0]
    home.robot.bus.publish("PSM/servo_jp", JointState(position=jump))
    home.tab.get_by_text("FAULT").first.wait_for()
    home.tab.get_by_text("tracking error").first.wait_for()
    home.keep("fault")
    home.press("Power on and home")
    until(lambda: not home.page.panel(StatePanel).power.visible, "the arm to be ready")
    home.simulation.pause()


def test_the_counterweight_switch_changes_the_shown_insertion_force(home):
    home.simulation.arm("PSM").set_law("computed torque")
    home.go("Mechanism")
    home.press("Play")
    until(lambda: home.frame().time > 0.3, "the law")
    until(lambda: abs(home.shown_effort("insertion") - home.state.tau[J3]) < 0.02, "the force of now")
    with_weight = home.shown_effort("insertion")
    home.tab.get_by_label("Counterweight").click()
    until(lambda: home.about.counterweight is False, "the switch")
    g = [tr.load_mechanism("PSM", counterweight=c).gravity(home.state.q)[J3] for c in (True, False)]
    # the shown value jumps by the unbalanced weight; dry friction may carry a part of it
    until(lambda: abs(home.shown_effort("insertion") - with_weight - (g[1] - g[0])) < 0.8, "the shown force")
    assert abs(g[1] - g[0]) > 1.5
    shapes = [node for node, body in home.page.drawing.shapes().items() if body == "counterweight"]
    assert not any(home.server.scene.get_handle_by_name(shape).visible for shape in shapes)
    home.keep("counterweight")
    home.press("Reset")  # undoes what was changed on the page
    until(lambda: home.about.counterweight is True, "the switch back")
    until(lambda: any(home.server.scene.get_handle_by_name(shape).visible for shape in shapes), "the counterweight")
    until(lambda: home.tab.get_by_label("Counterweight").is_checked(), "the ticked box")


def test_the_scene_is_visible_from_its_first_picture_on(viewer):
    """viser draws the first pictures at 5 % opacity, and warns of a missing graphics card over the scene."""
    tab = viewer.context.new_page()
    tab.goto(address(viewer.server))
    for thing, style, value in (
        ("canvas[data-engine]", "opacity", "1"),
        ("#webgl-software-rendering", "display", "none"),
    ):
        tab.locator(thing).wait_for(state="attached")
        assert tab.evaluate(f"() => getComputedStyle(document.querySelector('{thing}')).{style}") == value
    text = "a message at the lower edge"
    message = tab.locator(".mantine-Notifications-root").get_by_text(text)
    insist(lambda: viewer.page.post(text), lambda: message.count() > 0, "a message")
    assert message.first.bounding_box()["y"] > SIZE["height"] / 2
    tab.close()


def test_the_view_comes_home_after_the_keys_have_moved_it(home):
    (client, *_) = home.server.get_clients().values()
    first = client.camera.position
    home.tab.keyboard.down("a")
    until(lambda: np.linalg.norm(client.camera.position - first) > 0.3, "another view")
    home.tab.keyboard.up("a")
    home.press("Bring the view home")
    until(lambda: np.linalg.norm(client.camera.position - first) < 1e-3, "the first view")


def test_keys_that_drive_an_arm_do_not_move_the_camera(viewer):
    """A keyboard's key held for 5 s moves the hand, and the arm stays in the picture."""
    keyboard, server = Keyboard(), serve(port=0)
    robot = Robot(training_scene(("PSM1",)), start="ready", speed="stepped")
    page = teleop_page(server, robot, DeviceConsole(robot, {"PSM1": keyboard}, scale=1.0)).start()
    tab = viewer.context.new_page()
    tab.goto(page.address)
    tab.get_by_text("Clutch", exact=True).first.wait_for()
    until(lambda: server.get_clients(), "a browser")
    (client, *_) = server.get_clients().values()
    until(lambda: client.camera.update_timestamp > 0.0, "its camera")

    def pressed():  # again, if the page did not listen yet
        if keyboard.read(time.monotonic()).twist.any():
            return True
        tab.keyboard.up("a")
        tab.keyboard.down("a")
        time.sleep(0.3)
        return False

    until(pressed, "the key")
    first = client.camera.position  # not before: the page sets the view once a browser is there
    time.sleep(5.0)
    assert keyboard.read(time.monotonic()).twist.any()
    np.testing.assert_allclose(client.camera.position, first, atol=1e-6)
    tab.keyboard.up("a")
    until(lambda: not keyboard.read(time.monotonic()).twist.any(), "the release")
    tab.close()
    page.close()
    robot.close()
    server.stop()


@pytest.fixture
def close_up(home):
    """The viewer with the browser's camera near the tip, where handles are large enough for a mouse."""
    home.simulation.arm("PSM").place(np.array([0.1, 0.1, 0.14, 0.2, 0.3, -0.2, 0.0]))  # away from singular poses
    tip = home.state.T_tip[:3, 3]
    (client, *_) = home.server.get_clients().values()
    camera = client.camera
    was = camera.position, camera.look_at
    # setting a position also moves the point it looks at
    camera.position, camera.look_at = tip + [0.28, -0.24, 0.14], tip
    home.rendered()
    yield home
    camera.position, camera.look_at = was


def drag(viewer, T, length, away):
    """Take the arrow of a handle at T that is seen best and pull it outwards [m]; its direction (3,)."""
    box = viewer.tab.locator("canvas").first.bounding_box()
    size = box["width"], box["height"]
    origin = np.array([box["x"], box["y"]])
    ends = projected(viewer, np.vstack([T[:3, 3], T[:3, 3] + 0.7 * length * T[:3, :3].T]), size) + origin
    k = int(np.argmax(np.linalg.norm(ends[1:] - ends[0], axis=1)))
    goal = projected(viewer, (T[:3, 3] + (0.7 * length + away) * T[:3, k])[None], size)[0] + origin
    mouse = viewer.tab.mouse
    mouse.move(*ends[1 + k])
    viewer.frames()  # until the arrow has noticed the mouse
    mouse.down()
    for u in np.linspace(0.1, 1.0, 10):
        mouse.move(*(ends[1 + k] + u * (goal - ends[1 + k])))
        viewer.frames(1)
    return T[:3, k], mouse.up


def test_the_tip_target_is_dragged_with_the_mouse_and_the_tip_follows(close_up):
    home = close_up
    home.tab.get_by_role("combobox", name="Mode").click()
    home.tab.get_by_role("option", name="cartesian").click()
    until(lambda: home.controls.tip.handle.visible, "the handle")
    T = home.state.T_ref
    until(lambda: np.allclose(home.controls.tip.handle.position, T[:3, 3]), "the handle at the tip")
    home.press("Play")
    home.rendered()
    directions = []

    def pull():
        direction, release = drag(home, T, 0.12, 0.02)
        directions.append(direction)
        release()

    def went():
        return home.state.T_ref[:3, 3] - T[:3, 3]

    insist(pull, lambda: np.linalg.norm(went()) > 0.005, "the target")
    goal = tr.load_mechanism("PSM").forward_kinematics(home.state.target)[:3, 3] - T[:3, 3]
    direction = directions[-1]
    np.testing.assert_allclose(goal - (goal @ direction) * direction, 0.0, atol=1e-4)  # along the arrow, and only that
    assert goal @ direction > 0.005
    until(lambda: (home.state.T_tip[:3, 3] - T[:3, 3]) @ direction > 0.6 * (goal @ direction), "the tip")
    home.keep("dragged")
    home.simulation.pause()


def test_a_typed_target_applies_on_enter_and_goes_back_when_it_is_refused(close_up):
    home = close_up
    home.controls.set_mode("cartesian")
    T, before = home.state.T_ref, home.state.q
    field, shown = home.field("x [mm]"), f"{1000 * T[0, 3]:.1f}"
    until(lambda: field.input_value() == shown, "the field")
    field.fill("-40000")
    until(lambda: home.controls.tip.entry.values[0] == -40000.0, "the number to arrive")
    np.testing.assert_array_equal(home.state.q, before)
    field.press("Enter")
    home.tab.get_by_text("cannot reach").first.wait_for()
    until(lambda: field.input_value() == shown, "the field to go back")
    home.keep("refused")


def test_the_hand_pulls_at_the_tip_until_it_is_released(close_up):
    home = close_up
    home.tab.get_by_text("Push the tip").click()
    home.tab.get_by_label("Hand").click()
    until(lambda: home.controls.grip.visible, "the handle")
    home.rendered()
    T = np.eye(4)
    T[:3, 3] = home.state.T_tip[:3, 3]
    tries = []

    def pull():
        if tries:
            tries[-1][1]()  # release the handle that was missed
        tries.append(drag(home, T, 0.7 * 0.12, 0.03))

    insist(pull, lambda: bool(tries) and home.state.force @ tries[-1][0] > 0.5, "the force")
    direction, release = tries[-1]
    home.keep("hand")
    force = home.state.force
    np.testing.assert_allclose(force / np.linalg.norm(force), direction, atol=0.05)
    release()
    until(lambda: not home.state.force.any(), "the hand to let go")
    home.tab.get_by_label("Hand").click()


def test_a_bad_recording_is_a_message_and_a_good_one_scrubs(home, recording, tmp_path):
    made, path = recording
    home.go("Recordings")
    broken = tmp_path / "broken.csv"
    broken.write_text("t [s],q_yaw [rad]\n0.0,not a number\n")
    upload = home.tab.locator("input[type=file]")
    upload.first.set_input_files(broken)
    home.tab.get_by_text("is not a number").first.wait_for()
    home.keep("bad recording")

    upload.first.set_input_files(path)
    home.tab.get_by_text("Play recording").wait_for()
    arm = home.recordings.a.arm
    for t in (0.1, 0.35):
        home.type("Time [s]", t)
        home.tab.get_by_text(f"t = {t:.2f}").first.wait_for()
        k = int(np.argmin(np.abs(made.t - made.t[0] - t)))
        wanted = arm.E @ made.q[k]
        until(lambda w=wanted: np.allclose(home.page.drawing.data.qpos[: len(w)], w, atol=2e-3), "the pose")
    home.press("Simulate this recording")
    home.tab.get_by_text("run.csv, simulated").first.wait_for()
    home.tab.get_by_text("RMS of B - A").wait_for()
    home.keep("recording")
    upload.nth(1).set_input_files(path)
    until(lambda: home.recordings.b.name == "run.csv", "the second recording")
    with home.tab.expect_download() as download:
        home.press("Export CSV")
    again = tr.Recording.load(_saved(download.value, tmp_path / "again.csv"))
    np.testing.assert_array_equal(again.q, made.q)


def _saved(download, path):
    download.save_as(path)
    return path


def test_a_report_is_read_in_the_page(home):
    home.go("Reports")
    home.press("Read")
    report = home.tab.frame_locator("iframe[title=report]")
    report.get_by_role("heading", name="Numbers & figures").wait_for()
    home.keep("report")
    home.press("Close")
    home.tab.locator("iframe[title=report]").wait_for(state="detached")


def test_a_reload_reconnects_and_a_second_viewer_sees_the_same(home):
    home.tab.reload()
    home.tab.get_by_text("PSM", exact=True).first.wait_for()
    other = home.open({"width": 700, "height": 400})
    try:
        pitched = lambda: abs(home.state.q[1] - 0.25) < 1e-6  # noqa: E731
        insist(lambda: home.type("pitch [rad]", 0.25), pitched, "the pitch")
        until(lambda: home.field("pitch [rad]", other).input_value() == "0.25", "the other's slider")
        other.get_by_role("button", name="Play", exact=True).click()
        home.tab.get_by_role("button", name="Pause", exact=True).wait_for()
        home.press("Pause")
        until(lambda: not home.robot.playing, "the pause")
    finally:
        other.close()
    home.simulation.arm("PSM").place(np.array([0.1, 0.1, 0.12, 0, 0, 0, 0.1]))  # and continues when one has left
    assert home.state.q[0] == pytest.approx(0.1)


# The Classic cart without its second PSM: fewer triangles for the CPU to draw.
CART = """
cart = "Classic"
[set_up]
PSM1 = [0.007, -0.588, -0.757, -0.737, -0.309, -0.687]
PSM3 = [-0.013, -1.589, 1.294, 0.847, 0.304, 0.520]
[arms.PSM1]
mount = "PSM1"
q = [-0.089, -0.078, 0.176, 0.0, 0.0, 0.0, 0.5]
[arms.PSM3]
mount = "PSM3"
q = [-0.014, -0.017, 0.142, 0.0, 0.0, 0.0, 0.5]
[arms.ECM]
mount = "ECM"
"""


def test_a_scene_has_a_choice_of_arms_and_its_endoscopes_view(viewer, tmp_path):
    viewer.simulation.pause()
    viewer.tab.goto("about:blank")  # one page is drawn at a time
    file = tmp_path / "cart.toml"
    file.write_text(CART)
    scene = load_scene(file, timestep=1 / 1500)
    cart = Viewer(viewer.browser, scene=Scene(**{**scene.arguments, "objects": practice_objects(scene)}))
    try:
        picture = cart.tab.locator("img[src^='blob:']").first
        until(lambda: picture.count() and pixels(picture.screenshot()).std() > 20, "a picture that is not plain")
        before = pixels(picture.screenshot())
        cart.tab.get_by_role("combobox", name="Arm").click()
        cart.tab.get_by_role("option", name="ECM").click()
        cart.tab.get_by_text("ECM", exact=True).first.wait_for()
        wrists = cart.tab.locator("label", has_text=re.compile(r"^wrist_yaw \[rad\]$"))
        until(lambda: wrists.count() == 1, "the sliders of four joints, and those of the second arm")
        rolled = lambda: abs(cart.state.q[3] - 0.5) < 1e-6  # noqa: E731
        insist(lambda: cart.type("roll [rad]", 0.5), rolled, "the roll of the ECM")
        until(lambda: (np.abs(pixels(picture.screenshot()) - before).max(-1) > 30).mean() > 0.2, "the view to turn")
        cart.keep("scene")
        for width in (
            800,
            1024,
            SIZE["width"],
        ):  # a narrow window: pictures next to the scene and its controls, not over them
            cart.tab.set_viewport_size({**SIZE, "width": width})
            cart.rendered()
            pane, scene = (shown.bounding_box() for shown in (picture, cart.tab.locator("canvas").first))
            assert pane["x"] + pane["width"] <= scene["x"]
            assert scene["width"] >= (512 if width == 1024 else 100)

        # materials and mountings of the arms
        cart.go("Mechanism")
        cart.tab.get_by_text("ECM (ECM)", exact=True).wait_for()  # the controls belong to that arm
        cart.tab.get_by_label("Friction").click()
        until(lambda: not cart.about.friction, "the switch of the ECM")
        assert cart.frame().scene.arms["PSM1"].friction
        cart.page.select("PSM1")
        cart.tab.get_by_text("PSM1 (PSM)", exact=True).wait_for()
        cart.rendered()
        cart.tab.get_by_text("Set-up joints", exact=True).click()
        was = cart.about.q_setup
        refused = cart.tab.get_by_text(re.compile(".* of PSM1 overlaps .* of PSM3")).first
        insist(lambda: cart.type("shoulder [rad]", -0.788), refused.is_visible, "the refusal")
        until(lambda: cart.field("shoulder [rad]").input_value() == "-0.588", "the slider to go back")
        np.testing.assert_array_equal(cart.about.q_setup, was)
        raised = lambda: cart.about.q_setup[0] == 0.05  # noqa: E731
        insist(lambda: cart.type("column [m]", 0.05), raised, "the column")
        base = cart.about.T_world_base[:3, 3]
        until(
            lambda: np.allclose(cart.server.scene.get_handle_by_name("/base").position, base),
            "the base to be drawn there",
        )
        cart.keep("set-up joints")
    finally:
        cart.tab.close()
        cart.close()


# -- other web sites -------------------------------------------------------------------------------------------------

TRY = f"""
const tried = url => new Promise(done => {{
    const socket = new WebSocket(url, "viser-v{viser.__version__}");
    socket.onopen = () => done("open");
    socket.onerror = () => done("refused");
}});
"""


@pytest.fixture
def hostile(viewer):
    """Another web site, in the browser in which the page is open: it has the page's cookie, and even its token."""
    content = f'<title>hostile</title><script>{TRY}</script><iframe src="{address(viewer.server)}"></iframe>'

    class Site(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(content.encode())

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site) as site:
        thread = threading.Thread(target=site.serve_forever)
        thread.start()
        tab = viewer.context.new_page()
        # another port of the same host: the same site for cookies, another origin
        tab.goto(f"http://127.0.0.1:{site.server_address[1]}/")
        yield tab
        tab.close()
        site.shutdown()
        thread.join()


def test_a_hostile_page_can_neither_open_the_websocket_nor_frame_the_page(viewer, hostile):
    server, browsers = viewer.server, len(viewer.server.get_clients())
    own = f"ws://127.0.0.1:{server.get_port()}"
    for url in (own, f"{own}/?token={server.access.token}"):
        assert hostile.evaluate("url => tried(url)", url) == "refused"
    # the same script in the page's own origin opens it: the test can fail
    tab = viewer.context.new_page()
    tab.goto(address(server))
    tab.add_script_tag(content=TRY)
    assert tab.evaluate("url => tried(url)", own) == "open"
    tab.close()
    # the page refuses to be framed: the frame is empty
    (frame,) = hostile.main_frame.child_frames
    assert frame.url.startswith("chrome-error:")
    until(lambda: len(server.get_clients()) == browsers, "no other browser")


def test_a_rebound_name_of_the_loopback_is_refused(viewer, playwright_of):
    """A browser that resolves the attacker's name to this machine gets an error: the page is not served under it."""
    port, token = viewer.server.get_port(), viewer.server.access.token
    rebound = playwright_of.chromium.launch(
        executable_path=CHROMIUM, args=[*FLAGS, "--host-resolver-rules=MAP rebound.example 127.0.0.1"]
    )
    try:
        tab = rebound.new_page()
        answer = tab.goto(f"http://rebound.example:{port}/?token={token}")
        assert answer.status == 403
        assert "not served under this name" in tab.content()
        tab.add_script_tag(content=TRY)
        assert tab.evaluate("url => tried(url)", f"ws://rebound.example:{port}/?token={token}") == "refused"
        assert tab.evaluate("url => tried(url)", f"ws://127.0.0.1:{port}/?token={token}") == "refused"
        assert tab.goto(f"http://127.0.0.1:{port}/").status == 403  # and no page without its token
        assert tab.goto(f"http://127.0.0.1:{port}/?token={token}").status == 200
    finally:
        rebound.close()
