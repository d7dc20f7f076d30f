"""The page of `trocar teleop`: keys and pedals reach the console, the picture and the forces reach the browser."""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import quote

import numpy as np
import pytest

pytest.importorskip("viser", reason="pip install 'trocar[view]'")

from tests.support.raw_browser import RawBrowser, until
from trocar.robot import Robot
from trocar.teleoperation.devices import DeviceConsole, Keyboard, Mouse, training_scene
from trocar.view.pages import PICTURE, delayed, teleop_page
from trocar.view.panels.endoscope import EndoscopePanel
from trocar.view.panels.teleop import AimPanel, ContactArrows, DevicePanel, MouseHandles, PairPanel
from trocar.view.server import serve
from trocar.view.viser_internals import PageServer


class Shown:
    """A robot in stepped time, PSM1 with a keyboard and PSM2 with a mouse, and its page."""

    def __init__(self, server: PageServer) -> None:
        self.server, self.keyboard, self.mouse = server, Keyboard(), Mouse()
        arms = ("PSM1", "PSM2")
        self.robot = Robot(training_scene(arms), start="ready", speed="stepped")
        self.console = DeviceConsole(self.robot, {"PSM1": self.keyboard, "PSM2": self.mouse}, scale=1.0)
        self.page = teleop_page(server, self.robot, self.console, aim="grip & lift", score=lambda: "2 < 3 points")
        self.devices = self.page.panel(DevicePanel)
        self.browser = RawBrowser(server)
        self.console.start()

    def draw(self) -> None:
        """Draw everything, whenever it was drawn last."""
        for panel in self.page.panels:
            self.page.due[panel] = 0.0
        self.page.draw()

    def run(self, polls: int) -> None:
        for _ in range(polls):
            self.console.poll()
            self.robot.run(0.005)


@pytest.fixture(scope="module")
def shown() -> Iterator[Shown]:
    server = serve(port=0)
    result = Shown(server)
    yield result
    result.browser.socket.close()
    result.page.close()
    server.stop()


def test_the_page_lists_the_keys_on_lines_of_their_own(shown: Shown) -> None:
    lines = shown.devices.help["PSM1"].content.split("  \n")
    assert lines[0] == "**PSM1: keyboard**"
    assert "; ".join(lines[1:-1]) == Keyboard.help
    assert "R F: away, towards" in lines
    assert lines[-1] == "**To begin, press G twice.**"


def test_the_page_shows_aim_time_score_and_every_hand_in_words(shown: Shown) -> None:
    shown.run(20)
    shown.draw()
    aim = shown.page.panel(AimPanel).html.content
    assert "<b>Aim</b>: grip &amp; lift<br>" in aim
    assert re.search(r"<b>Time</b>: \d+ s<br><b>Score</b>: 2 &lt; 3 points", aim)
    hands = shown.page.panel(PairPanel).html.content
    for words in (
        "right hand, keyboard",
        "left hand, mouse",
        "holds; press G twice to follow",
        "0.0 N",
        "0 ms each way",
    ):
        assert f">{words}</td>" in hands


def request(shown: Shown, query: str, token: str | None = None) -> int:
    """Status of a request with held keys; the cookie has the token of the page."""
    address = shown.page.address.partition("?token=")[0]
    cookie = shown.server.access.cookie.split(";")[0] if token is None else ""
    sent = urllib.request.Request(f"{address}keys?{quote(query, safe='=&')}", headers={"Cookie": cookie})
    try:
        with urllib.request.urlopen(sent) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def test_keys_and_pedals_of_the_page_reach_the_console(shown: Shown) -> None:
    browser = shown.browser
    for closed in (True, False):
        for down in ("G", ""):  # pressed and released
            assert request(shown, f"down={down}&number=1") == 200
        assert (shown.keyboard.read(0.0).gripper == 0.0) is closed
    for wrong in ("down=G", "down=ß&number=1", "down=gg&number=1", "down=G&number=", "x" * 5000, ""):
        assert request(shown, wrong) == 400
    assert request(shown, "down=G&number=1", token="") == 403
    browser.set(shown.devices.clutch, True)
    until(lambda: shown.console.pressed == {"clutch"}, "the clutch")
    browser.set(shown.devices.clutch, False)
    until(lambda: not shown.console.pressed, "the clutch to be released")
    slider = shown.devices.scale["PSM1"]
    browser.set(slider, 0.5)
    until(lambda: shown.console.scales == {"PSM1": 0.5, "PSM2": 1.0}, "the scale")
    browser.set(slider, 7.0)
    until(lambda: slider.value == 7.0, "the value to arrive")
    until(lambda: (shown.run(1), any("scale" in said.text for said in shown.console.messages))[1], "the refusal")
    assert shown.console.scales["PSM1"] == 0.5
    shown.draw()
    assert slider.value == 0.5
    shown.console.set_scale(1.0, "PSM1")
    shown.draw()
    assert slider.value == 1.0


def test_keyboard_and_mouse_and_the_force_on_the_hand_are_chosen_on_the_page(shown: Shown) -> None:
    browser, devices, handles = shown.browser, shown.devices, shown.page.panel(MouseHandles).handles
    shown.draw()
    assert (handles["PSM1"].visible, handles["PSM2"].visible) == (False, True)
    browser.set(devices.device["PSM1"], "mouse")
    until(lambda: isinstance(shown.console.hands["PSM1"].device, Mouse), "the mouse")
    shown.run(4)
    shown.draw()
    assert handles["PSM1"].visible
    assert "**PSM1: mouse**" in devices.help["PSM1"].content
    browser.set(devices.device["PSM2"], "keyboard")
    browser.set(devices.device["PSM1"], "keyboard")
    until(lambda: shown.console.hands["PSM1"].device is shown.keyboard, "the keyboard")
    until(lambda: shown.console.scales == {"PSM1": 0.2, "PSM2": 0.2}, "the keyboard's usual scale")
    shown.draw()
    assert "1: the keys drive PSM1, as now" in devices.help["PSM1"].content
    assert request(shown, "down=2&number=1") == 200
    shown.draw()
    assert "2: the keys drive PSM2, as now" in devices.help["PSM2"].content
    assert "as now" not in devices.help["PSM1"].content
    browser.set(devices.device["PSM2"], "mouse")
    until(lambda: shown.console.hands["PSM2"].device is shown.mouse, "the mouse")
    browser.set(devices.scheme, "position-position")
    until(lambda: set(shown.console.couplings) == {"PSM1", "PSM2"}, "bilateral control")
    browser.set(devices.scheme, "contact force")
    until(lambda: not shown.console.couplings, "its end")
    for psm in shown.console.pairs:
        shown.console.set_scale(1.0, psm)
    shown.run(4)


def test_a_dragged_handle_takes_the_tip_along(shown: Shown) -> None:
    server, browser, robot = shown.server, shown.browser, shown.robot
    labels = {getattr(c, "label", ""): c for c in server.gui._gui_input_handle_from_uuid.values()}
    box = labels["Close the gripper of PSM2"]
    shown.run(4)
    shown.draw()
    handle, tip = shown.page.panel(MouseHandles).handles["PSM2"], robot.scene.T_world_tip("PSM2")
    assert np.allclose(handle.position, tip[:3, 3], atol=1e-3)
    grip = shown.console.hands["PSM2"]
    for closed in (True, False):
        browser.set(box, closed)
        until(lambda closed=closed: (shown.run(1), grip.grip.gripper == 0.0)[1] == closed, "the gripper")
    assert shown.console.pairs["PSM2"].state.following
    moved = [float(x) for x in np.array(handle.position) + [0.005, 0.0, 0.005]]
    wxyz = [float(x) for x in handle.wxyz]
    browser.send({"type": "TransformControlsUpdateMessage", "name": handle.name, "wxyz": wxyz, "position": moved})
    until(lambda: np.allclose(handle.position, moved), "the handle")
    browser.settled()
    shown.run(60)
    assert np.allclose(robot.scene.T_world_tip("PSM2")[:3, 3], tip[:3, 3] + [0.005, 0.0, 0.005], atol=1e-3)


def test_the_page_has_the_picture_the_forces_and_the_messages(shown: Shown) -> None:
    def picture() -> np.ndarray:
        shown.draw()
        return np.array(shown.page.panel(EndoscopePanel).image.image, dtype=int)

    until(lambda: (picture()[..., 0] - picture()[..., 2] > 50).mean() > 0.2, "the plate to fill much of the picture")
    assert picture().shape == (PICTURE[1], PICTURE[0], 3)
    assert not [text for text in shown.page.messages if "endoscope" in text]
    forces = shown.page.panel(ContactArrows)
    assert not forces.arrows.visible
    contacts = np.array([[[0.0, 0.0, 0.8], [0.0, 0.0, 2.0]], [[0.1, 0.0, 0.8], [0.0, 0.0, 0.01]]])
    selection = shown.page.selection
    forces.refresh(replace(selection, frame=replace(selection.frame, contacts=contacts)))
    assert forces.arrows.visible
    assert np.allclose(forces.arrows.points, [[[0.0, 0.0, 0.8], [0.0, 0.0, 0.82]]])
    shown.keyboard.connected = False
    shown.run(2)
    shown.draw()
    assert "keyboard has gone; the PSM holds" in shown.page.panel(PairPanel).html.content
    assert any("ALIGNING_MTM" in message.text for message in shown.console.messages)
    assert "ALIGNING_MTM" not in shown.page.panel(PairPanel).html.content  # a name for programs
    shown.keyboard.connected = True


def test_a_delayed_page_shows_the_past(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[np.ndarray] = []
    monkeypatch.setattr(shown.page, "source", delayed(shown.robot, 0.1))
    monkeypatch.setattr(shown.page.drawing, "update", lambda qpos, layers: seen.append(qpos))
    first = shown.robot.scene.data.qpos.copy()
    shown.draw()
    shown.run(22)
    shown.draw()
    assert np.array_equal(seen[-1], first)
    assert not np.array_equal(shown.robot.scene.data.qpos, first)
