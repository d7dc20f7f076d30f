"""Teleoperation with input devices: aim, hands and their states, pedals, scales, keys, handles of a mouse, forces."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from html import escape
from typing import Any

import numpy as np
import viser

from trocar.appearance.endoscope_camera import arrow_ends
from trocar.palette import of_cause, rgb
from trocar.robot import Robot
from trocar.spatial import Array, inverse, pose, quaternion
from trocar.teleoperation.coupling import PASSIVITIES, SCHEMES
from trocar.teleoperation.devices import DEVICES, DeviceConsole, Keyboard, Mouse
from trocar.teleoperation.devices.page_devices import CHOICES, HEARTBEAT, KEYS, Keys
from trocar.view.overlays import linear_rgb
from trocar.view.page import Page
from trocar.view.panel import Panel, Selection, TextPanel
from trocar.view.panels.endoscope import TAB
from trocar.view.panels.states import COLOURS

HANDLE = 0.04  # size [m]
ARROW = 0.002  # radius of a shaft [m]
CELL = "padding-left: 1em"
MAX_LINES = 6  # messages listed, newest first
CONTACT = "contact force"  # what a device displays without a scheme
KEY_PATH = "/keys"  # of requests with the keys that are down
ALL_KEYS = "".join(KEYS) + CHOICES


def key_script() -> str:
    """HTML of a hidden frame that reports the keys held in the page: at every change, and as long as one is down.

    viser itself reports presses of one key at a time, and no releases; and it would move the camera with the same keys,
    so that the frame keeps them to itself. Keys typed into a field are not reported.
    """
    return (
        "<script>(() => {const known = new Set('" + ALL_KEYS + "'), down = new Set();"
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


def _hold(keys: Keys, query: str) -> bool:
    """Report the keys of a request, `down=AW&number=3`, to the keyboards; False if it is not of this form."""
    match = re.fullmatch(rf"down=([{ALL_KEYS}]{{0,{len(ALL_KEYS)}}})&number=\d{{1,9}}", query)
    if match is None:
        return False
    keys.hold(set(match[1]))
    return True


class AimPanel(TextPanel, tab=TAB, left=True):
    """The aim of a task, the time since the page began, and the score.

    Args:
        robot: robot at the task. aim: in words. score: returns the score so far; None where nobody keeps one.
    """

    def __init__(self, robot: Robot, aim: str, score: Callable[[], str] | None = None) -> None:
        self._robot, self._aim, self._score = robot, aim, score
        self._began = robot.time

    def text(self) -> str:
        rows = [("Aim", escape(self._aim)), ("Time", f"{self._robot.time - self._began:.0f} s")]
        if self._score is not None:
            with self._robot.bus.lock:
                rows.append(("Score", escape(self._score())))
        return "<br>".join(f"<b>{name}</b>: {text}" for name, text in rows if text)


class PairPanel(TextPanel, tab=TAB, left=True):
    """Hand, state, scale, contact force and delay of every PSM in words, and the latest warnings and errors."""

    def __init__(self, console: DeviceConsole) -> None:
        self._console = console

    def text(self) -> str:
        states = self._console.states()
        rows = ["<td></td>" + "".join(f'<td style="{CELL}"><b>{psm}</b></td>' for psm in states)]
        for name in next(iter(states.values())):
            cells = "".join(f'<td style="{CELL}">{escape(words[name])}</td>' for words in states.values())
            rows.append(f"<td>{name}</td>{cells}")
        lines = [f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"]
        # each warning and error once; the table has how to begin
        begins = {f"{psm}: {hand.device.begin}" for psm, hand in self._console.hands.items()}
        kept = [message for message in list(self._console.messages) if message.kind in COLOURS]
        latest = {message.text: message for message in kept if message.text not in begins}
        for message in sorted(latest.values(), reverse=True)[:MAX_LINES]:
            lines.append(
                f'<span style="color: {COLOURS[message.kind]}">{message.time:.1f} s {escape(message.text)}</span>'
            )
        return "<br>".join(lines)


class DevicePanel(Panel):
    """Device, help and scale of every hand, pedals, bilateral control, and keys of keyboards.

    Attributes:
        device, help, scale: dropdowns, texts and sliders, by PSM; devices of the page can be exchanged.
        clutch, camera: boxes. scheme, passivity: dropdowns of bilateral control.
    """

    def __init__(self, console: DeviceConsole) -> None:
        self._console = console
        # a keyboard and a mouse for every hand that has one of them
        self._offered: dict[str, dict[str, Keyboard | Mouse]] = {
            psm: {kind.name: kind() for kind in (Keyboard, Mouse)} | {hand.device.name: hand.device}
            for psm, hand in console.hands.items()
            if isinstance(hand.device, Keyboard | Mouse)
        }
        self._keys = Keys(lambda: list(self._keyboards().values()))

    def build(self, page: Page) -> None:
        console, add = self._console, page.add
        self.device: dict[str, Any] = {}
        self.help: dict[str, Any] = {}
        self.scale: dict[str, Any] = {}
        for psm, scale in console.scales.items():
            if psm in self._offered:
                values = tuple(self._offered[psm])
                look: dict[str, Any] = {"initial_value": console.hands[psm].device.name}
                self.device[psm] = add("dropdown", f"{psm} by", partial(self._use, psm), values, **look)
            self.help[psm] = add("markdown", self._help(psm))
            limits, hint = (0.05, 1.0, 0.05), "motion of the tip per motion of the hand"
            change = partial(self._set_scale, psm)
            self.scale[psm] = add("slider", f"Scale of {psm}", change, *limits, scale, hint=hint)
        self.clutch = add("checkbox", "Clutch", initial_value=False, hint="The PSMs hold while the hands move")
        self.camera = add("checkbox", "Camera pedal", initial_value=False, hint="The hand moves the endoscope")
        for button, box in (("clutch", self.clutch), ("camera", self.camera)):
            box.on_update(partial(self._press, button))
        with page.server.gui.add_folder("Force on the hand", expand_by_default=False):
            add("markdown", "For devices that display a force. After a change the PSMs hold until you begin again.")
            scheme, passivity = console.coupling
            look = {"initial_value": scheme or CONTACT}
            self.scheme = add("dropdown", "Scheme", self._couple, (CONTACT, *SCHEMES), **look)
            look = {"initial_value": passivity}
            self.passivity = add("dropdown", "Passivity", self._couple, tuple(PASSIVITIES), **look)
        if self._offered:
            page.server.paths[KEY_PATH] = partial(_hold, self._keys)
            add("html", f'<iframe title="keys" srcdoc="{escape(key_script())}" style="display:none"></iframe>')

    def refresh(self, selection: Selection) -> None:
        for psm, scale in self._console.scales.items():
            if abs(self.scale[psm].value - scale) > 1e-9:  # a button of a device has changed it
                self.scale[psm].value = scale
            self.help[psm].content = self._help(psm)

    def _keyboards(self) -> dict[str, Keyboard]:
        """The keyboards in use, by PSM."""
        hands = self._console.hands.items()
        return {psm: hand.device for psm, hand in hands if isinstance(hand.device, Keyboard)}

    def _help(self, psm: str) -> str:
        device, keyboards = self._console.hands[psm].device, list(self._keyboards())
        lines = [f"**{psm}: {device.name}**", *device.help.split("; ")]
        if psm in keyboards and len(keyboards) > 1:
            index = keyboards.index(psm)
            lines.append(f"{CHOICES[index]}: the keys drive {psm}{', as now' * (index == self._keys.chosen)}")
        return "  \n".join([*lines, f"**To begin, {device.begin}.**"])

    def _use(self, psm: str, event: Any) -> None:
        name = event.target.value
        self._console.use(psm, self._offered[psm][name])
        self._console.set_scale(DEVICES[name].scale, psm)

    def _couple(self, event: Any) -> None:
        self._console.couple(None if self.scheme.value == CONTACT else self.scheme.value, self.passivity.value)

    def _press(self, button: str, event: Any) -> None:
        (self._console.pressed.add if event.target.value else self._console.pressed.discard)(button)

    def _set_scale(self, psm: str, event: Any) -> None:
        self._console.set_scale(float(event.target.value), psm)


class MouseHandles(Panel, interval=0.0):
    """A handle at the tip of every PSM that the mouse drives, and a check box for its gripper."""

    def __init__(self, robot: Robot, console: DeviceConsole) -> None:
        self._robot, self._console = robot, console

    def build(self, page: Page) -> None:
        self.handles: dict[str, Any] = {}
        self._boxes: dict[str, Any] = {}
        for psm, hand in self._console.hands.items():
            if isinstance(hand.device, Keyboard | Mouse):  # they can be exchanged
                self._boxes[psm] = box = page.add("checkbox", f"Close the gripper of {psm}", initial_value=False)
                box.on_update(partial(self._squeeze, psm))
                handle = page.server.scene.add_transform_controls(f"/hand_{psm}", scale=HANDLE, depth_test=False)
                handle.on_update(page.on(partial(self._drag, psm)))
                self.handles[psm] = handle

    def refresh(self, selection: Selection) -> None:
        """Show the handles of mice, and move those that no PSM follows back to the tips."""
        for psm, handle in self.handles.items():
            mouse = self._mouse(psm)
            handle.visible = self._boxes[psm].visible = mouse is not None
            if mouse is not None and not (self._console.console.camera or self._console.pairs[psm].state.following):
                tip = self._pose(f"{psm}/setpoint_cp")
                T = inverse(self._T_display_world(psm)) @ tip
                handle.position, handle.wxyz = T[:3, 3], quaternion(T[:3, :3])
                mouse.place(tip)

    def _mouse(self, psm: str) -> Mouse | None:
        """The mouse that drives a PSM now."""
        device = self._console.hands[psm].device
        return device if isinstance(device, Mouse) else None

    def _squeeze(self, psm: str, event: Any) -> None:
        if (mouse := self._mouse(psm)) is not None:
            mouse.squeeze(bool(event.target.value))

    def _drag(self, psm: str, event: Any) -> None:
        if (mouse := self._mouse(psm)) is not None:
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
