"""Options of the simulated mechanism, and marks over the arm."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
import viser

from trocar.arms import gravity_vector, instruments
from trocar.robot import Robot
from trocar.spatial import Array
from trocar.view.labels import FROM_THE_SIDE, Viewpoint
from trocar.view.overlays import NAMES, Overlays
from trocar.view.page import Page
from trocar.view.panel import Panel, Tab
from trocar.view.panels.controls import Entry, Sliders, inside
from trocar.view.selection import Selection

TAB: Tab = ("Mechanism", viser.Icon.SETTINGS)
INITIALLY_VISIBLE = ("remote centre", "forces")


class MechanismPanel(Panel):
    """Options that rebuild the simulation in its current state.

    Attributes: controls: controls of the arm, by the option that each changes. gravity: the typed vector.
    """

    tab: Tab | None = TAB

    def __init__(self, robot: Robot) -> None:
        self._simulation = robot.simulation()
        self._lock = threading.Lock()
        self._waiting: dict[tuple[str, str], Any] = {}  # by arm and option, until the change is made
        self.changing = False

    def build(self, page: Page) -> None:
        self._page, self._selection = page, page.selection
        self._folder = page.server.gui.add_folder(page.selection.title, order=0.0)
        self._add_options(page.selection)

    def refresh(self, selection: Selection) -> None:
        if not selection.frame.live or selection.about is self._selection.about:
            return
        another, self._selection = selection.name != self._selection.name, selection
        if another:
            self._folder.remove()
            with self._page.tabs[self]:
                self._folder = self._page.server.gui.add_folder(selection.title, order=0.0)
            self._add_options(selection)
        else:
            self._show()

    def _add_options(self, selection: Selection) -> None:
        gui, on = self._page.server.gui, self._page.on
        about, arm = selection.about, selection.about.arm
        controls: dict[str, Any] = {}
        with self._folder:
            if arm.counterweight is not None:
                controls["counterweight"] = gui.add_checkbox("Counterweight", True, hint="the counterweight's mass")
            controls["friction"] = gui.add_checkbox("Friction", True, hint="viscous, Coulomb and hysteretic friction")
            if arm.has_rcm and arm.instrument in (names := instruments.names(arm.name)):
                label = "Endoscope" if arm.carries == "endoscope" else "Instrument"
                controls["instrument"] = gui.add_dropdown(label, names, initial_value=arm.instrument)
            if about.set_up is not None and about.q_setup is not None:
                folder = gui.add_folder("Set-up joints", expand_by_default=False)
                self._set_up = Sliders(gui, folder, on(lambda _: self._change("set_up", lambda: self._set_up.values)))
                values = np.round(about.q_setup, 3).tolist()
                self._set_up.make(
                    (joint.name, joint.unit, inside(joint), 0.001, value)
                    for joint, value in zip(about.set_up.joints, values, strict=True)
                )
            with gui.add_folder("Gravity", expand_by_default=False):
                if selection.alone:
                    pitch = gui.add_slider("Mounting [deg]", -90.0, 90.0, 1.0, float(np.degrees(arm.mounting)))
                    pitch.on_update(on(lambda _: self._change("gravity", lambda: self._pitched(pitch.value))))
                axes = "base axes" if selection.alone else "world axes, for all arms; z up"
                gui.add_markdown(f"In {axes}:")
                apply = on(lambda _: self._change("gravity", lambda: self.gravity.values))
                labels = [f"{axis} [m/s²]" for axis in "xyz"]
                self.gravity = Entry(gui, labels, 0.01, ("Apply", viser.Icon.CHECK), apply)
        self.controls = controls
        self._show()
        for name, control in controls.items():
            control.on_update(on(partial(self._on_change, name)))

    def _show(self) -> None:
        """Show the simulated options in the controls."""
        about = self._selection.about
        values = {
            "counterweight": about.counterweight,
            "friction": about.friction,
            "instrument": about.arm.instrument,
        }
        for name, control in self.controls.items():
            control.value = values[name]
        self.gravity.show(np.round(about.world_gravity, 6))
        if about.q_setup is not None:
            self._set_up.show(np.round(about.q_setup, 6))

    def _on_change(self, key: str, event: viser.GuiEvent[Any]) -> None:
        self._change(key, lambda: event.target.value)

    def _change(self, key: str, value: Callable[[], Any]) -> None:
        """Change the simulation. If that is refused, restore the controls.

        Rebuilding a scene takes time. If several values of an option arrive meanwhile, only the last one is applied.
        """
        with self._lock:  # viser calls from many threads: the last value is the newest
            self._waiting[self._selection.name, key] = value()
            if self.changing:
                return
            self.changing = True
        while (change := self._next()) is not None:
            arm, key, newest = change
            try:
                self._apply(arm, key, newest)
            except Exception as error:
                self._page.post(str(error) or repr(error))
                self._show()

    def _apply(self, arm: str, key: str, value: Any) -> None:
        if key == "gravity":
            self._simulation.change(gravity=value)
        else:
            self._simulation.arm(arm).change(**{key: value})

    def _next(self) -> tuple[str, str, Any] | None:
        """Arm, option and value of the next change, None if there is none."""
        with self._lock:
            if not self._waiting:
                self.changing = False
                return None
            arm, key = next(iter(self._waiting))
            return arm, key, self._waiting.pop((arm, key))

    def _pitched(self, degrees: float) -> Array:
        """Gravity (3,) [m/s^2] in the world for a base that is pitched by an angle."""
        about = self._selection.about
        return about.T_world_base[:3, :3] @ gravity_vector(about.arm, mounting=float(np.radians(degrees)))


class MarksPanel(Panel):
    """Marks over the selected arm, opacity and collision shapes. Attributes: boxes: by mark. overlays: the marks."""

    tab: Tab | None = TAB
    interval: ClassVar[float] = 0.0

    def build(self, page: Page) -> None:
        gui = page.server.gui
        self._page = page
        with gui.add_folder("Show"):
            self.boxes: dict[str, Any] = {
                name: gui.add_checkbox(name.capitalize(), name in INITIALLY_VISIBLE, hint=about)
                for name, about in NAMES.items()
            }
            self.opacity: Any = gui.add_slider("Opacity", 0.1, 1.0, 0.05, 1.0, hint="1: opaque, below 1: transparent")
            self.collision: Any = gui.add_checkbox("Collision shapes", False)
        self._drawn = 1.0, False
        self._add(page.selection)

    def _add(self, selection: Selection) -> None:
        self._selection, self._visible = selection, self._boxes()
        self.overlays = Overlays(self._page.server.scene, self._page.drawing, selection.about, self._visible)

    def _boxes(self) -> dict[str, bool]:
        return {name: bool(box.value) for name, box in self.boxes.items()}

    def refresh(self, selection: Selection) -> None:
        drawing, before = self._page.drawing, self._selection
        if selection.frame.scene.spec is not before.frame.scene.spec or selection.name != before.name:
            self.overlays.remove()
            self._add(selection)
        elif selection.about is not before.about:  # set-up joints have moved
            self._selection = selection
            self.overlays.about = selection.about
        for name, visible in self._boxes().items():
            if visible is not self._visible[name]:
                self._visible[name] = visible
                self.overlays.show(name, visible)
        look = min(max(float(self.opacity.value), 0.0), 1.0), bool(self.collision.value)
        if look != self._drawn:
            self._drawn = look
            drawing.see_through(look[0])
            drawing.show_collision(look[1])
        self.overlays.update(selection, self._view())

    def _view(self) -> Viewpoint:
        """The camera of the first browser. Labels are shared by all browsers and arranged for this one."""
        for client in self._page.server.get_clients().values():
            camera = client.camera
            if np.linalg.norm(np.cross(camera.look_at - camera.position, camera.up_direction)) > 1e-6:
                return Viewpoint.of(camera.position, camera.look_at, camera.up_direction)
        return FROM_THE_SIDE
