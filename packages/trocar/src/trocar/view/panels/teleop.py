"""Teleoperation with input devices: states of the pairs, pedals, scale, keys, handles of a mouse, contact forces."""

from __future__ import annotations

import re
from functools import partial
from html import escape
from typing import Any

import numpy as np
import viser

from trocar.appearance.endoscope_camera import arrow_ends
from trocar.palette import of_cause, rgb
from trocar.robot import Robot
from trocar.spatial import Array, inverse, pose, quaternion
from trocar.teleoperation.devices import DeviceConsole, Keyboard, Mouse
from trocar.teleoperation.devices.page_devices import HEARTBEAT, KEYS
from trocar.view.overlays import linear_rgb
from trocar.view.page import Page
from trocar.view.panel import Panel, Selection, TextPanel
from trocar.view.panels.endoscope import TAB
from trocar.view.panels.states import COLOURS

HANDLE = 0.04  # size [m]
ARROW = 0.002  # radius of a shaft [m]
MAX_LINES = 6  # messages listed, newest first


KEY_PATH = "/keys"  # of requests with the keys that are down


def key_script() -> str:
    """HTML of a hidden frame that reports the keys held in the page: at every change, and as long as one is down.

    viser itself reports presses of one key at a time, and no releases; and it would move the camera with the same keys,
    so that the frame keeps them to itself. Keys typed into a field are not reported.
    """
    return (
        "<script>(() => {const known = new Set('" + "".join(KEYS) + "'), down = new Set();"
        "let number = 0;"
        f"const send = () => fetch('{KEY_PATH}?down=' + [...down].join('') + '&number=' + ++number).catch(() => 0);"
        "const typing = (e) => /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName) && e.target.type !== 'checkbox';"
        "parent.addEventListener('keydown', (e) => {const key = e.key.toUpperCase();"
        "if (e.ctrlKey || e.altKey || e.metaKey || typing(e) || !known.has(key)) return;"
        "e.stopPropagation(); if (!down.has(key)) {down.add(key); send();}}, true);"
        "parent.addEventListener('keyup', (e) => {if (down.delete(e.key.toUpperCase())) send();}, true);"
        "parent.addEventListener('blur', () => {if (down.size) {down.clear(); send();}});"
        f"setInterval(() => {{if (down.size) send();}}, {1e3 * HEARTBEAT:.0f});}})()</script>"
    )


def _hold(keyboard: Keyboard, query: str) -> bool:
    """Report the keys of a request, `down=AW&number=3`, to a keyboard; False if it is not of this form."""
    match = re.fullmatch(rf"down=([{''.join(KEYS)}]{{0,{len(KEYS)}}})&number=\d{{1,9}}", query)
    if match is None:
        return False
    keyboard.hold(set(match[1]))
    return True


class PairPanel(TextPanel, tab=TAB, left=True):
    """States, scales and contact forces of the pairs in words, and the latest warnings and errors."""

    def __init__(self, console: DeviceConsole) -> None:
        self._console = console

    def text(self) -> str:
        rows = [f"<b>{arm}</b> {text}" for arm, text in self._console.summary().items()]
        if self._console.delay > 0.0:
            rows.append(f"<b>network</b> delay {1e3 * self._console.delay:.0f} ms each way")
        # each warning and error once; the names of states are for programs, the rows above have them in words
        latest = {message.text: message for message in list(self._console.messages) if message.kind in COLOURS}
        for message in sorted(latest.values(), reverse=True)[:MAX_LINES]:
            rows.append(
                f'<span style="color: {COLOURS[message.kind]}">{message.time:.1f} s {escape(message.text)}</span>'
            )
        return "<br>".join(rows)


class DevicePanel(Panel):
    """Help for the devices, pedals, scale, and keys of a keyboard."""

    def __init__(self, console: DeviceConsole) -> None:
        self._console = console

    def build(self, page: Page) -> None:
        console = self._console
        self.help: dict[str, Any] = {}
        for psm, hand in console.hands.items():
            lines = (f"**{psm}: {hand.device.name}**", *hand.device.help.split("; "))
            self.help[psm] = page.add("markdown", "  \n".join(lines))
            page.add("markdown", f"To begin, {hand.device.begin}.")
        self.clutch = page.add("checkbox", "Clutch", initial_value=False, hint="The PSM holds while the hand moves")
        self.camera = page.add("checkbox", "Camera pedal", initial_value=False, hint="The hand moves the endoscope")
        self.scale = page.add("slider", "Scale", lambda _: self._set_scale(), 0.05, 1.0, 0.05, console.scale)
        for button, box in (("clutch", self.clutch), ("camera", self.camera)):
            box.on_update(partial(self._press, button))
        for hand in console.hands.values():
            if isinstance(hand.device, Keyboard):
                page.server.paths[KEY_PATH] = partial(_hold, hand.device)
                page.add("html", f'<iframe title="keys" srcdoc="{escape(key_script())}" style="display:none"></iframe>')

    def refresh(self, selection: Selection) -> None:
        if abs(self.scale.value - self._console.scale) > 1e-9:  # a button of a device has changed it
            self.scale.value = self._console.scale

    def _press(self, button: str, event: Any) -> None:
        (self._console.pressed.add if event.target.value else self._console.pressed.discard)(button)

    def _set_scale(self) -> None:
        if self.scale.value != self._console.scale:
            self._console.set_scale(float(self.scale.value))


class MouseHandles(Panel, interval=0.0):
    """A handle at the tip of every PSM that the mouse drives, and a check box for its gripper."""

    def __init__(self, robot: Robot, console: DeviceConsole) -> None:
        self._robot, self._console = robot, console
        self._mice = {psm: hand.device for psm, hand in console.hands.items() if isinstance(hand.device, Mouse)}

    def build(self, page: Page) -> None:
        self.handles: dict[str, Any] = {}
        for psm, mouse in self._mice.items():
            box = page.add("checkbox", f"Close the gripper of {psm}", initial_value=False)
            box.on_update(lambda event, mouse=mouse: mouse.squeeze(bool(event.target.value)))
            handle = page.server.scene.add_transform_controls(f"/hand_{psm}", scale=HANDLE, depth_test=False)
            handle.on_update(page.on(partial(self._drag, psm, mouse)))
            self.handles[psm] = handle

    def refresh(self, selection: Selection) -> None:
        """Move the handles that no PSM follows back to the tips."""
        if self._console.console.camera:
            return
        for psm, handle in self.handles.items():
            if not self._console.pairs[psm].state.following:
                tip = self._pose(f"{psm}/setpoint_cp")
                T = inverse(self._T_display_world(psm)) @ tip
                handle.position, handle.wxyz = T[:3, 3], quaternion(T[:3, :3])
                self._mice[psm].place(tip)

    def _drag(self, psm: str, mouse: Mouse, event: Any) -> None:
        R = viser.transforms.SO3(np.array(event.target.wxyz)).as_matrix()
        mouse.carry(self._T_display_world(psm) @ pose(R, event.target.position))

    def _T_display_world(self, psm: str) -> Array:
        """Pose (4, 4) of the world in the frame of the endoscope, which the display shows."""
        with self._robot.bus.lock:
            T_display_base = self._pose(f"{psm}/setpoint_cp") @ inverse(self._pose(f"{psm}/local/setpoint_cp"))
        return T_display_base @ inverse(self.page.selection.frame.scene.arms[psm].T_world_base)

    def _pose(self, topic: str) -> Array:
        message: Any = self._robot.bus.read(topic)
        return np.asarray(message.T)


class ContactArrows(Panel, interval=0.0):
    """Contact forces as arrows of the size of an instrument, as in the endoscope's picture."""

    def build(self, page: Page) -> None:
        look: dict[str, Any] = {"shaft_radius": ARROW, "head_radius": 2.2 * ARROW, "head_length": 4 * ARROW}
        colour = linear_rgb(rgb(of_cause("contact")))
        self.arrows: Any = page.server.scene.add_arrows("/contacts", np.zeros((1, 2, 3)), colour, visible=False, **look)

    def refresh(self, selection: Selection) -> None:
        ends = arrow_ends(selection.frame.contacts)
        if len(ends):
            self.arrows.points = ends.astype(np.float32)
        self.arrows.visible = bool(len(ends))
