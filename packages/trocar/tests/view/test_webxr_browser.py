"""The page of a phone or headset in a real Chromium, over HTTPS, with a WebXR device that a script imitates.

With TROCAR_SCREENSHOTS=DIR the pages leave pictures there. Skipped where there is no Chromium.
"""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

sync_api = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
pytest.importorskip("cryptography", reason="pip install 'trocar[vr]'")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt install chromium"),
    pytest.mark.xdist_group("browser"),  # one browser at a time
]

from scipy.spatial.transform import Rotation  # noqa: E402

from tests.support.repository import SUPPORT  # noqa: E402
from trocar.robot import Robot  # noqa: E402
from trocar.spatial import Array  # noqa: E402
from trocar.teleoperation.devices import DeviceConsole, TrackedHand, training_scene  # noqa: E402
from trocar.view.webxr import PoseServer, certificate_file  # noqa: E402

FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-background-networking"]
FAKE = (SUPPORT / "fake_xr.js").read_text()
WAIT = 240_000  # longest wait for anything [ms]; a busy machine is slow, and nothing is timed
SCALE = 0.5


class Rig:
    """A robot in stepped time with PSM1 and PSM2, a headset for both and a phone for PSM3.

    The stream's clock advances with every message, so that a slow browser is not taken for one that has gone.
    """

    def __init__(self, folder: Path) -> None:
        arms = ("PSM1", "PSM2", "PSM3")
        self.robot = Robot(training_scene(arms, "none"), start="ready", speed="stepped")
        names = ("right controller", "left controller", "phone")
        right, left, phone = (TrackedHand(name, "", clock=self._clock) for name in names)
        self.server: PoseServer | None = None
        self.console = DeviceConsole(self.robot, dict(zip(arms, (right, left, phone), strict=True)), scale=SCALE)
        devices = {"vr": {"right": right, "left": left}, "phone": {"right": phone}}
        self.hands = {"PSM1": right, "PSM2": left, "PSM3": phone}
        self.server = PoseServer(devices, port=0, certificate=certificate_file("127.0.0.1", folder))
        self.console.start()

    def _clock(self) -> float:
        return 0.0 if self.server is None else 0.02 * self.server.received.total()

    def until(self, tab: Any, condition: Callable[[], object], what: str, *, still: bool = False) -> None:
        """Let the browser and, unless it stands still, the robot go on until a condition holds."""
        for _ in range(4000):
            if condition():
                return
            tab.wait_for_timeout(5)
            if not still:
                self.console.poll()
                self.robot.run(0.01)
        raise AssertionError(f"waited in vain for {what}; {list(self.console.messages)[-2:]}")

    def following(self, psm: str) -> bool:
        return self.console.pairs[psm].state.following

    def setpoint(self, psm: str) -> Array:
        return self.robot.controllers[psm].reports.setpoint_pose().copy()

    def moved(self, psm: str, start: Array, way: list[float]) -> bool:
        return bool(np.allclose(self.setpoint(psm)[:3, 3] - start[:3, 3], way, atol=1e-5))


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    made = Rig(tmp_path_factory.mktemp("cache"))
    yield made
    assert made.server is not None
    made.server.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


def opened(browser: Any, rig: Rig, device: str, script: str = FAKE) -> Any:
    """The page of a device in a context that accepts the self-signed certificate; every error of the page fails."""
    context = browser.new_context(ignore_https_errors=True, viewport={"width": 420, "height": 760})
    context.set_default_timeout(WAIT)
    context.add_init_script(script)
    tab = context.new_page()
    tab.problems = []
    tab.on("pageerror", lambda error: tab.problems.append(str(error)))
    tab.on("console", lambda said: said.type == "error" and tab.problems.append(said.text))
    assert rig.server is not None
    tab.goto(rig.server.addresses()[device])
    tab.wait_for_selector("#start:enabled")
    return tab


def look(tab: Any, name: str) -> None:
    if folder := os.environ.get("TROCAR_SCREENSHOTS"):
        tab.screenshot(path=os.path.join(folder, f"{name}.png"))


def set_fake(tab: Any, path: str, value: object) -> None:
    tab.evaluate(f"value => {{ fake.{path} = value }}", value)


def picture(colour: tuple[int, int, int]) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (64, 48), colour).save(file, "JPEG")
    return file.getvalue()


def test_a_headset_drives_two_psms_and_shows_them_to_both_eyes(rig: Rig, browser: Any) -> None:
    assert rig.server is not None
    pair = picture((255, 0, 0)), picture((0, 0, 255))
    rig.server.picture = lambda: pair
    rig.server.status = lambda: [f"{psm}: {text}" for psm, text in rig.console.summary().items()]
    tab = opened(browser, rig, "vr")
    # the user looks to the left of the room's axes: ahead is -x
    quarter = Rotation.from_rotvec([0.0, np.pi / 2, 0.0])
    set_fake(tab, "head.q", quarter.as_quat().tolist())
    tab.click("#start")
    rig.until(tab, lambda: rig.console.hands["PSM1"].grip.fault == "", "the poses")
    for value in (1.0, 0.0):
        for side in ("right", "left"):
            set_fake(tab, f"{side}.buttons[0]", value)
        rig.until(
            tab,
            lambda value=value: all(
                abs(rig.console.hands[psm].grip.gripper - (1 - value) * np.pi / 3) < 1e-9 for psm in ("PSM1", "PSM2")
            ),
            "the triggers",
        )
    rig.until(tab, lambda: rig.following("PSM1") and rig.following("PSM2"), "the PSMs to follow")
    first, second = rig.setpoint("PSM1"), rig.setpoint("PSM2")
    for s in (0.25, 0.5, 0.75, 1.0):  # right hand 8 mm ahead of the user, left hand 8 mm to the user's right
        set_fake(tab, "right.p", [0.2 - 0.008 * s, 1.2, -0.3])
        set_fake(tab, "left.p", [-0.2, 1.2, -0.3 - 0.008 * s])
        rig.until(tab, lambda s=s: rig.moved("PSM1", first, [0.0, 0.0, SCALE * 0.008 * s]), "the right hand")
        rig.until(tab, lambda s=s: rig.moved("PSM2", second, [-SCALE * 0.008 * s, 0.0, 0.0]), "the left hand")
    assert "following" in tab.inner_text("#status")
    assert tab.evaluate("fake.asked")[0] == "immersive-vr"
    # the screen is where the user looks: a head that turns back to the axes does not see it
    assert tab.evaluate("fake.seen") == [[0, 0, 0, 0]] * 2
    # clutch: ahead is anew where the user looks, and the PSMs stay
    first = rig.setpoint("PSM1")
    set_fake(tab, "head.q", [0, 0, 0, 1])
    set_fake(tab, "left.buttons[1]", 1.0)
    rig.until(tab, lambda: rig.console.pairs["PSM1"].state.clutched, "the clutch")
    set_fake(tab, "left.buttons[1]", 0.0)
    rig.until(tab, lambda: rig.following("PSM1"), "the clutch to be released")
    set_fake(tab, "right.p", [0.2 - 0.008, 1.2, -0.304])  # 4 mm along -z
    rig.until(tab, lambda: rig.moved("PSM1", first, [0.0, 0.0, SCALE * 0.004]), "the right hand")
    rig.until(tab, lambda: tab.evaluate("fake.seen")[0][3] == 255, "the picture")
    (left, right) = tab.evaluate("fake.seen")
    assert left[0] > 200 > 50 > left[2]
    assert right[2] > 200 > 50 > right[0]
    # force, scale, camera
    rig.hands["PSM2"].feel(np.array([0.0, 0.0, 2.0, 0.0, 0.0, 0.0]))
    rig.until(tab, lambda: tab.evaluate("fake.pulses.length > 0"), "the vibration", still=True)
    assert tab.evaluate("fake.pulses[0]") == ["left", 0.5]
    set_fake(tab, "right.axes[3]", -1.0)
    rig.until(tab, lambda: rig.console.scales["PSM1"] == 0.75, "the larger scale")
    set_fake(tab, "right.axes[3]", 0.0)
    set_fake(tab, "right.buttons[4]", 1.0)
    rig.until(tab, lambda: rig.console.console.camera, "the camera pedal")
    set_fake(tab, "right.buttons[4]", 0.0)
    rig.until(tab, lambda: not rig.console.console.camera, "the pedal to be released")
    # a controller that is only guessed at
    set_fake(tab, "guessed", True)
    rig.until(tab, lambda: "is not tracked" in rig.console.hands["PSM1"].grip.fault, "the loss of tracking")
    assert not rig.following("PSM1")
    assert tab.problems == []
    look(tab, "headset")
    tab.context.close()


def test_a_phone_in_augmented_reality_drives_a_psm(rig: Rig, browser: Any) -> None:
    assert rig.server is not None
    pair = picture((0, 160, 0)), picture((0, 0, 255))
    rig.server.picture = lambda: pair
    rig.console.set_scale(SCALE, "PSM3")
    tab = opened(browser, rig, "phone")
    tab.click("#start")
    rig.until(tab, lambda: rig.console.hands["PSM3"].grip.fault == "", "the poses")
    button = tab.locator("[data-held=gripper]")
    button.hover()
    tab.mouse.down()
    rig.until(tab, lambda: rig.console.hands["PSM3"].grip.gripper == 0.0, "the gripper")
    tab.mouse.up()
    rig.until(tab, lambda: rig.following("PSM3"), "the PSM to follow")
    start = rig.setpoint("PSM3")
    for s in (0.5, 1.0):
        set_fake(tab, "head.p", [0.01 * s, 1.6, 0.0])  # to the right
        rig.until(tab, lambda s=s: rig.moved("PSM3", start, [-SCALE * 0.01 * s, 0.0, 0.0]), "the phone")
    assert tab.evaluate("fake.asked").count("immersive-ar") == 1
    assert "optionalFeatures,domOverlay" in tab.evaluate("fake.asked")
    tab.wait_for_selector("#picture:visible")
    look(tab, "phone")
    # another page with the same address takes over, and this one says so
    other = opened(browser, rig, "phone")
    other.click("#start")
    rig.until(tab, lambda: "another page took over" in tab.inner_text("#problem"), "the reason", still=True)
    rig.until(other, lambda: not rig.following("PSM3"), "the PSM to hold")
    assert tab.problems == other.problems == []
    tab.context.close()
    other.context.close()


def test_a_phone_without_webxr_is_dragged_and_turned(rig: Rig, browser: Any) -> None:
    assert rig.server is not None
    rig.console.set_scale(SCALE, "PSM3")
    tab = opened(browser, rig, "phone", "Object.defineProperty(navigator, 'xr', { value: undefined });")
    assert "no WebXR" in tab.inner_text("#start")
    tab.click("#start")
    rig.until(tab, lambda: rig.console.hands["PSM3"].grip.fault == "", "the poses")
    turn = "a => dispatchEvent(new DeviceOrientationEvent('deviceorientation', { alpha: a, beta: 30, gamma: 0 }))"
    tab.evaluate(turn, 70)  # a phone in the hand that points anywhere
    tab.locator("[data-held=gripper]").hover()
    tab.mouse.down()
    rig.until(tab, lambda: rig.console.hands["PSM3"].grip.gripper == 0.0, "the gripper")
    tab.mouse.up()
    rig.until(tab, lambda: rig.following("PSM3"), "the PSM to follow")
    start = rig.setpoint("PSM3")
    box = tab.locator("#pad").bounding_box()
    x, y = box["x"] + 60, box["y"] + 60
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x + 20, y - 10, steps=5)  # half a millimetre per pixel
    tab.mouse.up()
    rig.until(tab, lambda: rig.moved("PSM3", start, [-SCALE * 0.010, SCALE * 0.005, 0.0]), "the finger")
    tab.evaluate(turn, 80)  # 10 degrees to the left, about the vertical
    turned = Rotation.from_rotvec([0.0, np.radians(10.0), 0.0]).as_matrix() @ start[:3, :3]
    rig.until(tab, lambda: np.allclose(rig.setpoint("PSM3")[:3, :3], turned, atol=1e-4), "the turn")
    look(tab, "touch")
    assert tab.problems == []
    tab.context.close()


def test_a_page_of_another_site_cannot_reach_the_server(rig: Rig, browser: Any) -> None:
    assert rig.server is not None
    context = browser.new_context(ignore_https_errors=True)
    context.set_default_timeout(WAIT)
    tab = context.new_page()
    context.route("https://evil.example/", lambda route: route.fulfill(body="<p>evil</p>", content_type="text/html"))
    tab.goto("https://evil.example/")
    address = rig.server.addresses()["phone"].replace("https:", "wss:").replace("/?", "/poses?")
    before = rig.server.received.total()
    outcome = tab.evaluate(
        """address => new Promise((resolve) => {
          const socket = new WebSocket(address);
          socket.onopen = () => resolve("open");
          socket.onerror = () => resolve("refused");
        })""",
        address,
    )
    assert outcome == "refused"
    assert rig.server.received.total() == before
    wrong = rig.server.addresses()["phone"].replace(rig.server.access.token, "guess")
    assert tab.goto(wrong).status == 403
    context.close()
