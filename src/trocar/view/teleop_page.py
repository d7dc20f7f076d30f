"""The page of `trocar teleop`: the endoscope's picture, the scene with contact forces, pedals and keys."""

from __future__ import annotations

import threading
from functools import partial
from html import escape
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from trocar.appearance.force_arrows import arrow_ends
from trocar.palette import ACCENT, of_cause, rgb
from trocar.robot import Robot
from trocar.runtime.frame import contact_forces
from trocar.spatial import Array, inverse, pose, quaternion
from trocar.teleoperation.channel import Channel
from trocar.teleoperation.devices import DeviceConsole, Keyboard, Mouse
from trocar.teleoperation.devices.keyboard import KEYS
from trocar.view.model_drawing import ModelDrawing
from trocar.view.robot_endoscope import RobotEndoscope
from trocar.view.server import PageServer

PERIOD = 1 / 30  # real time between two pictures [s]
PICTURE_WIDTH, PANEL_WIDTH = 560, 320  # [px]
HANDLE = 0.04  # size [m]
ARROW = 0.002  # radius of a shaft [m]
AWAY = np.array([0.17, 0.28, 0.19])  # first camera position relative to the instruments [m]
MESSAGES = 6  # number of messages shown, the latest first
SAID = {"error": "#c92a2a", "warning": "#e67700", "status": "inherit"}


class TeleopPage:
    """A page that follows a robot under a `DeviceConsole`.

    Args:
        endoscope: renders a copy of the robot's scene. delay: network delay after which the page sees the robot [s].

    Attributes:
        clutch, camera, scale, through: controls.
    """

    def __init__(
        self, server: PageServer, robot: Robot, console: DeviceConsole, endoscope: RobotEndoscope, delay: float = 0.0
    ) -> None:
        self._server, self._robot, self._console, self._endoscope = server, robot, console, endoscope
        self._line, self._closing = Channel(delay), threading.Event()
        self._drawing = ModelDrawing(server.scene, "/robot", robot.scene.spec)
        self._drawing.hang(robot.scene.fixed_poses())
        self._place_camera()
        gui = server.gui
        gui.set_panel_label("trocar teleop")
        gui.configure_theme(show_share_button=False, show_logo=False, brand_color=rgb(ACCENT))
        gui.main_panel.dock_right()
        gui.main_panel.set_width(PANEL_WIDTH)
        left = gui.add_panel()
        left.dock_left()
        left.set_width(PICTURE_WIDTH)
        with left.add_tab("Endoscope"):
            self._picture = gui.add_image(endoscope(robot.scene.data.qpos.copy()), format="jpeg")
            self._status = gui.add_html("")
        self._add_controls(gui)
        width: dict[str, Any] = {"shaft_radius": ARROW, "head_radius": 2.2 * ARROW, "head_length": 4 * ARROW}
        red, green, blue = (round(255 * (x / 255) ** 2.2) for x in rgb(of_cause("contact")))  # viser expects linear RGB
        self._arrows: Any = server.scene.add_arrows(
            "/contacts", np.zeros((1, 2, 3)), (red, green, blue), visible=False, **width
        )
        self._handles = {
            psm: self._add_handle(psm, hand.device)
            for psm, hand in console.hands.items()
            if isinstance(hand.device, Mouse)
        }
        self._thread = threading.Thread(target=self._run, name="trocar-teleop-page", daemon=True)

    def start(self) -> TeleopPage:
        self._thread.start()
        return self

    def close(self) -> None:
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(timeout=10.0)
        self._endoscope.close()

    def _add_controls(self, gui: Any) -> None:
        devices = [hand.device for hand in self._console.hands.values()]
        for psm, hand in self._console.hands.items():
            gui.add_markdown(f"**{psm}: {hand.device.name}**  \n{hand.device.help}")
        gui.add_markdown("To begin, pinch: close the gripper and open it.")
        self.clutch = gui.add_checkbox("Clutch", initial_value=False, hint="The PSM holds while the hand moves")
        self.camera = gui.add_checkbox("Camera pedal", initial_value=False, hint="The hand moves the endoscope")
        self.scale = gui.add_slider("Scale", 0.05, 1.0, 0.05, self._console.scale)
        self.through = gui.add_checkbox("Look through the endoscope", initial_value=False)
        for button, box in (("clutch", self.clutch), ("camera", self.camera)):
            box.on_update(partial(self._press, button))
        self.scale.on_update(self._set_scale)
        for keyboard in [device for device in devices if isinstance(device, Keyboard)][:1]:
            for key, name in KEYS.items():
                command = gui.add_command(f"{key}: {name}", hotkey=key)
                command.on_trigger(partial(_strike, keyboard, key))

    def _add_handle(self, psm: str, mouse: Mouse) -> Any:
        """A handle at the tip of a PSM that the mouse drags, and a check box for the gripper."""
        box = self._server.gui.add_checkbox(f"Close the gripper of {psm}", initial_value=False)
        box.on_update(lambda event: mouse.squeeze(bool(event.target.value)))
        handle = self._server.scene.add_transform_controls(f"/hand_{psm}", scale=HANDLE, depth_test=False)
        handle.on_update(lambda event: self._drag(psm, mouse, event.target))
        return handle

    def _drag(self, psm: str, mouse: Mouse, handle: Any) -> None:
        R = Rotation.from_quat(np.asarray(handle.wxyz), scalar_first=True).as_matrix()
        mouse.carry(self._T_display_world(psm) @ pose(R, handle.position))

    def _T_display_world(self, psm: str) -> Array:
        """Pose (4, 4) of the world in the frame of the endoscope, which the display shows."""
        with self._robot.bus.lock:
            T_display_base = self._robot.controllers[psm].reports.T_reference_base
            return T_display_base @ inverse(self._robot.scene.T_world_base(psm))

    def _place_handles(self) -> None:
        """Move the handles that no PSM follows back to the tips."""
        if self._console.console.camera:
            return
        for psm, handle in self._handles.items():
            if not self._console.pairs[psm].state.following:
                with self._robot.bus.lock:
                    tip = self._robot.controllers[psm].reports.setpoint_pose().copy()
                T = inverse(self._T_display_world(psm)) @ tip
                handle.position, handle.wxyz = T[:3, 3], quaternion(T[:3, :3])
                mouse = self._console.hands[psm].device
                assert isinstance(mouse, Mouse)
                mouse.place(tip)

    def _press(self, button: str, event: Any) -> None:
        (self._console.pressed.add if event.target.value else self._console.pressed.discard)(button)

    def _set_scale(self, event: Any) -> None:
        if event.client is not None and event.target.value != self._console.scale:  # not when a button moved the slider
            self._console.set_scale(float(event.target.value))

    # -- the thread ----------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._closing.wait(PERIOD):
            self.update()

    def update(self) -> None:
        """Draw the robot as the page sees it, including the network delay."""
        robot = self._robot
        with robot.bus.lock:
            seen = robot.scene.data.qpos.copy(), contact_forces(robot.scene.model, robot.scene.data)
            t = robot.time
        self._line.send(t, seen)
        found = self._line.receive(t)
        if found is None:
            return
        qpos, contacts = found
        self._drawing.update(qpos)
        self._aim(contacts)
        self._place_handles()
        self._picture.image = self._endoscope(qpos, contacts)
        text = self._text()
        if text != self._status.content:
            self._status.content = text
        scale = self._console.scale
        if abs(self.scale.value - scale) > 1e-9:
            self.scale.value = scale
        if self.through.value:
            self._look(self._endoscope.T_world_camera(qpos))

    def _aim(self, contacts: Array) -> None:
        ends = arrow_ends(contacts)
        if len(ends):
            self._arrows.points = ends.astype(np.float32)
        self._arrows.visible = bool(len(ends))

    def _look(self, T: Array) -> None:
        wxyz = quaternion(T[:3, :3])
        for client in self._server.get_clients().values():
            with client.atomic():
                client.camera.position, client.camera.wxyz = T[:3, 3], wxyz

    def _text(self) -> str:
        """States, forces and messages as HTML."""
        rows = [f"<b>{arm}</b> {text}" for arm, text in self._console.summary().items()]
        latest = {said.text: said for said in list(self._console.messages)}  # each text once
        for said in sorted(latest.values(), reverse=True)[:MESSAGES]:
            rows.append(f'<span style="color: {SAID[said.kind]}">{said.time:.1f} s {escape(said.text)}</span>')
        if self._endoscope.error:
            rows.append(f'<span style="color: {SAID["error"]}">{escape(self._endoscope.error)}</span>')
        return f'<div style="padding: 0.5em 1em; font-size: 90%">{"<br>".join(rows)}</div>'

    def _place_camera(self) -> None:
        tips = np.mean([self._robot.scene.T_world_tip(psm)[:3, 3] for psm in self._console.pairs], axis=0)
        camera = self._server.initial_camera
        camera.position, camera.look_at = tuple(tips + AWAY), tuple(tips)


def _strike(keyboard: Keyboard, key: str, _event: Any) -> None:
    keyboard.press(key)
