"""Options of the simulated mechanism, and marks over the arm."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import viser

from trocar.arms import gravity_vector, instruments
from trocar.robot import Robot
from trocar.spatial import Array
from trocar.view.overlays import FROM_THE_SIDE, NAMES, Overlays, Viewpoint
from trocar.view.page import Page
from trocar.view.panel import Panel, RobotPanel, Selection, Tab
from trocar.view.panels.controls import Entry, Sliders, inside

TAB: Tab = ("Mechanism", viser.Icon.SETTINGS)
INITIALLY_VISIBLE = ("remote centre", "forces")
CLOSE_UP_SCALE = 1 / 3  # of the arrows of forces: 1 cm per newton


class MechanismPanel(RobotPanel, tab=TAB):
    """Options that rebuild the simulation in its current state.

    Attributes: controls: controls of the arm, by the option that each changes. gravity: the typed vector.
    """

    def __init__(self, robot: Robot) -> None:
        super().__init__(robot)
        self._lock = threading.Lock()
        self._waiting: dict[tuple[str, str], Any] = {}  # by arm and option, until the change is made
        self.changing = False

    def build(self, page: Page) -> None:
        self._selection = page.selection
        self._add_options(page.selection)

    def refresh(self, selection: Selection) -> None:
        if not selection.frame.live or selection.about is self._selection.about:
            return
        another, self._selection = selection.name != self._selection.name, selection
        if another:
            self._folder.remove()
            with self.page.tabs[self]:
                self._add_options(selection)
        else:
            self._show()

    def _add_options(self, selection: Selection) -> None:
        gui, add = self.page.server.gui, self.page.add
        about, arm = selection.about, selection.about.arm
        self.controls: dict[str, Any] = {}

        def option(name: str, kind: str, label: str, *values: Any, **look: Any) -> None:
            change = lambda event: self._change(name, lambda: event.target.value)  # noqa: E731
            self.controls[name] = add(kind, label, change, *values, **look)

        with gui.add_folder(selection.title, order=0.0) as self._folder:
            if arm.counterweight is not None:
                option("counterweight", "checkbox", "Counterweight", True, hint="the counterweight's mass")
            option("friction", "checkbox", "Friction", True, hint="viscous, Coulomb and hysteretic friction")
            if arm.has_rcm and arm.instrument in (names := instruments.names(arm.name)):
                label = "Endoscope" if arm.carries == "endoscope" else "Instrument"
                option("instrument", "dropdown", label, names, initial_value=arm.instrument)
            if about.set_up is not None and about.q_setup is not None:
                folder = gui.add_folder("Set-up joints", expand_by_default=False)
                self._set_up = Sliders(self.page, folder, lambda: self._change("set_up", lambda: self._set_up.values))
                joints = zip(about.set_up.joints, np.round(about.q_setup, 3).tolist(), strict=True)
                self._set_up.make((joint.name, joint.unit, inside(joint), 0.001, value) for joint, value in joints)
            with gui.add_folder("Gravity", expand_by_default=False):
                if selection.alone:
                    pitch = float(np.degrees(arm.mounting))
                    add("slider", "Mounting [deg]", self._on_mounting, -90.0, 90.0, 1.0, pitch)
                axes = "base axes" if selection.alone else "world axes, for all arms; z up"
                add("markdown", f"In {axes}:")
                labels = [f"{axis} [m/s²]" for axis in "xyz"]
                self.gravity = Entry(self.page, labels, 0.01, "Apply", viser.Icon.CHECK, self._on_gravity)
        self._show()

    def _show(self) -> None:
        """Show the simulated options in the controls."""
        about = self._selection.about
        for name, control in self.controls.items():
            control.value = about.arm.instrument if name == "instrument" else getattr(about, name)
        self.gravity.show(np.round(about.world_gravity, 6))
        if about.q_setup is not None:
            self._set_up.show(np.round(about.q_setup, 6))

    def _on_gravity(self) -> None:
        self._change("gravity", lambda: self.gravity.values)

    def _on_mounting(self, event: Any) -> None:
        """Turn gravity to that of a base with a pitch."""

        def gravity() -> Array:
            about, pitch = self._selection.about, float(np.radians(event.target.value))
            return about.T_world_base[:3, :3] @ gravity_vector(about.arm, mounting=pitch)

        self._change("gravity", gravity)

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
            try:
                self._apply(*change)
            except Exception as error:
                self.page.post(str(error) or repr(error))
                self._show()

    def _apply(self, arm: str, key: str, value: Any) -> None:
        if key == "gravity":
            self.simulation.change(gravity=value)
        else:
            self.simulation.arm(arm).change(**{key: value})

    def _next(self) -> tuple[str, str, Any] | None:
        """Arm, option and value of the next change, None if there is none."""
        with self._lock:
            self.changing = bool(self._waiting)
            if not self._waiting:
                return None
            arm, key = next(iter(self._waiting))
            return arm, key, self._waiting.pop((arm, key))


class MarksPanel(Panel, tab=TAB, interval=0.0):
    """Marks over the selected arm, opacity and collision shapes. Attributes: boxes: by mark. overlays: the marks.

    Args:
        close_up: the page shows an instrument; arrows of forces have its size.
    """

    def __init__(self, *, close_up: bool = False) -> None:
        self._scale = CLOSE_UP_SCALE if close_up else 1.0

    def build(self, page: Page) -> None:
        with page.server.gui.add_folder("Show"):
            self.boxes = {
                name: page.add("checkbox", name.capitalize(), None, name in INITIALLY_VISIBLE, hint=about)
                for name, about in NAMES.items()
            }
            hint = "1: opaque, below 1: transparent"
            self.opacity = page.add("slider", "Opacity", None, 0.1, 1.0, 0.05, 1.0, hint=hint)
            self.collision = page.add("checkbox", "Collision shapes", None, False)
        self._add(page.selection)

    def _add(self, selection: Selection) -> None:
        self._selection = selection
        self.overlays = Overlays(self.page.server.scene, self.page.drawing, selection.about, self._scale)
        for name, box in self.boxes.items():
            self.overlays.show(name, bool(box.value))

    def refresh(self, selection: Selection) -> None:
        before = self._selection
        if selection.frame.scene.spec is not before.frame.scene.spec or selection.name != before.name:
            self.overlays.remove()
            self._add(selection)
        elif selection.about is not before.about:  # set-up joints have moved
            self._selection = selection
            self.overlays.about = selection.about
        for name, box in self.boxes.items():
            self.overlays.show(name, bool(box.value))
        self.page.drawing.see_through(min(max(float(self.opacity.value), 0.0), 1.0))
        self.page.drawing.show_collision(bool(self.collision.value))
        self.overlays.update(selection, self._view())

    def _view(self) -> Viewpoint:
        """The camera of the first browser. Labels are shared by all browsers and arranged for this one."""
        for client in self.page.server.get_clients().values():
            camera = client.camera
            if np.linalg.norm(np.cross(camera.look_at - camera.position, camera.up_direction)) > 1e-6:
                return Viewpoint.of(camera.position, camera.look_at, camera.up_direction)
        return FROM_THE_SIDE
