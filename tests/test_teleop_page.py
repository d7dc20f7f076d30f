"""The page of `trocar teleop`: keys and pedals reach the console, the picture and the forces reach the browser."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

pytest.importorskip("viser", reason="pip install 'trocar[view]'")

from tests.raw_browser import RawBrowser, until
from trocar import crtk
from trocar.teleoperation.devices import DeviceConsole, Keyboard, training_scene
from trocar.viewer.robot_endoscope import SIZE, RobotEndoscope
from trocar.viewer.server import PageServer, serve, stop
from trocar.viewer.teleop_page import TeleopPage


class Shown:
    """A robot in stepped time with a keyboard, its page, and a browser that looks at it."""

    def __init__(self, server: PageServer, delay: float = 0.0) -> None:
        self.server, self.keyboard = server, Keyboard()
        self.robot = crtk.Robot(training_scene(), start="ready", speed="stepped")
        self.console = DeviceConsole(self.robot, {"PSM1": self.keyboard})
        self.endoscope = RobotEndoscope(training_scene(contacts=False))
        self.page = TeleopPage(server, self.robot, self.console, self.endoscope, delay)


@pytest.fixture
def shown() -> Iterator[Shown]:
    server = serve(port=0)
    made = Shown(server)
    yield made
    made.page.close()
    stop(server)


def test_keys_and_pedals_of_the_page_reach_the_console(shown: Shown) -> None:
    browser = RawBrowser(shown.server)
    commands = {handle.label: uuid for uuid, handle in shown.server.gui._command_handle_from_uuid.items()}
    browser.send({"type": "CommandTriggerMessage", "uuid": commands["G: gripper"]})
    until(lambda: shown.keyboard.read(0.0).gripper == 0.0, "the key to arrive")
    browser.send({"type": "CommandTriggerMessage", "uuid": "no such command"})
    until(lambda: shown.server.inbox.refused["CommandTriggerMessage"] == 1, "the refusal")
    browser.set(shown.page.clutch, True)
    until(lambda: shown.console.pressed == {"clutch"}, "the clutch")
    browser.set(shown.page.clutch, False)
    until(lambda: not shown.console.pressed, "the clutch to be released")
    browser.set(shown.page.scale, 0.5)
    until(lambda: shown.console.scale == 0.5, "the scale")
    browser.set(shown.page.scale, 7.0)
    until(lambda: shown.server.inbox.refused["GuiUpdateMessage"] == 1, "the refusal")
    assert shown.console.scale == 0.5
    browser.socket.close()


def test_the_page_has_the_picture_the_forces_and_the_messages(shown: Shown) -> None:
    before = np.array(shown.page._picture.image)
    shown.page.update()
    until(lambda: (shown.page.update(), (shown.page._picture.image != before).any())[1], "a picture")
    assert shown.page._picture.image.shape == (SIZE[1], SIZE[0], 3)
    assert not shown.endoscope.error
    red = np.array(shown.page._picture.image, dtype=int)
    assert (red[..., 0] - red[..., 2] > 50).mean() > 0.2  # the plate fills much of it
    assert not shown.page._arrows.visible
    shown.page._aim(np.array([[[0.0, 0.0, 0.8], [0.0, 0.0, 2.0]], [[0.1, 0.0, 0.8], [0.0, 0.0, 0.01]]]))
    assert shown.page._arrows.visible
    assert np.allclose(shown.page._arrows.points, [[[0.0, 0.0, 0.8], [0.0, 0.0, 0.82]]])
    shown.console.start()
    for _ in range(3):
        shown.robot.run(0.1)
        shown.console.poll()
    shown.keyboard.connected = False
    shown.console.poll()
    shown.robot.run(0.01)
    shown.page.update()
    assert "keyboard has gone" in shown.page._status.content
    assert "holds" in shown.page._status.content


def test_a_delayed_page_shows_the_past() -> None:
    server = serve(port=0)
    shown = Shown(server, delay=0.1)
    seen: list[np.ndarray] = []
    shown.page._drawing.update = lambda qpos: seen.append(qpos)  # type: ignore[method-assign]
    shown.page.update()
    first = shown.robot.scene.data.qpos.copy()
    assert not seen
    shown.robot.run(0.11)
    shown.page.update()
    assert np.array_equal(seen[-1], first)
    shown.page.close()
    stop(server)
