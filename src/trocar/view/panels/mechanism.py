"""Controls of the simulated mechanism and of its drawing."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import viser

from trocar.arms import gravity_vector, instruments
from trocar.errors import TrocarError
from trocar.runtime.session import PATIENCE, Session
from trocar.spatial import Array
from trocar.view.overlays import NAMES
from trocar.view.panels.entry import Entry
from trocar.view.panels.sliders import Sliders, inside
from trocar.view.panels.user_actions import UserActions
from trocar.view.selection import Selection

MOST_GRAVITY = 20.0  # along each axis [m/s^2]
SHOWN_AT_FIRST = ("remote centre", "forces")


class MechanismPanel:
    """Controls that rebuild the simulation in its current state, and controls of the drawing.

    Args:
        draw: called with the name of the part to redraw; `shown`, `opacity` and `collision` hold the values.

    Attributes: controls: controls of the arm, by the setting that each changes. gravity: the typed vector.
    """

    def __init__(
        self,
        gui: viser.GuiApi,
        tab: viser.GuiTabHandle,
        session: Session,
        shown: Selection,
        draw: Callable[[str], None],
    ) -> None:
        self._gui, self._tab, self._session, self._shown_arm = gui, tab, session, shown
        self._lock = threading.Lock()
        self._wanted: dict[tuple[str, str], Any] = {}  # by arm and setting, until the change is made
        self._changing = False
        self._add_settings()
        with tab, gui.add_folder("Show"):
            self.overlays: dict[str, Any] = {
                name: gui.add_checkbox(name.capitalize(), name in SHOWN_AT_FIRST, hint=about)
                for name, about in NAMES.items()
            }
            self.opacity: Any = gui.add_slider("Opacity", 0.1, 1.0, 0.05, 1.0, hint="1: opaque, below 1: transparent")
            self.collision: Any = gui.add_checkbox("Collision shapes", False)
        for name, handle in {**self.overlays, "opacity": self.opacity, "collision": self.collision}.items():
            handle.on_update(lambda _, name=name: draw(name))

    @property
    def shown(self) -> dict[str, bool]:
        return {name: bool(box.value) for name, box in self.overlays.items()}

    def rebuild(self, shown: Selection) -> None:
        """Show another arm, or the same one after a change."""
        another, self._shown_arm = shown.name != self._shown_arm.name, shown
        if another:
            self._settings.remove()
            self._add_settings()
        else:
            self._show()

    # -- controls of the arm -----------------------------------------------------------------------------------------

    def _add_settings(self) -> None:
        gui, shown, on = self._gui, self._shown_arm, UserActions(self._session.messages)
        about, arm = shown.about, shown.about.arm
        controls: dict[str, Any] = {}  # by the setting that each changes
        with self._tab, gui.add_folder(shown.title, order=0.0) as self._settings:
            if arm.counterweight is not None:
                controls["counterweight"] = gui.add_checkbox("Counterweight", True, hint="the counterweight's mass")
            controls["friction"] = gui.add_checkbox("Friction", True, hint="viscous, Coulomb and hysteretic friction")
            if arm.has_rcm and arm.instrument in (names := instruments.names(arm.name)):
                label = "Endoscope" if arm.carries == "endoscope" else "Instrument"
                controls["instrument"] = gui.add_dropdown(label, names, initial_value=arm.instrument)
            if about.set_up is not None and about.q_setup is not None:
                folder = gui.add_folder("Set-up joints", expand_by_default=False)
                moved = on(lambda _: self._change("set_up", lambda: list(self._set_up.values.values())))
                self._set_up = Sliders(gui, folder, moved)
                values = np.round(about.q_setup, 3).tolist()
                self._set_up.make(
                    (joint.name, joint.unit, inside(joint), 0.001, value)
                    for joint, value in zip(about.set_up.joints, values, strict=True)
                )
            with gui.add_folder("Gravity", expand_by_default=False):
                if shown.alone:
                    pitch = gui.add_slider("Mounting [deg]", -90.0, 90.0, 1.0, float(np.degrees(arm.mounting)))
                    pitch.on_update(
                        on(lambda event: self._change("gravity", lambda: self._pitched(event.target.value)))
                    )
                axes = "base axes" if shown.alone else "world axes, for all arms; z up"
                gui.add_markdown(f"In {axes}:")
                given = on(lambda _: self._change("gravity", self._entered_gravity))
                labels = [f"{axis} [m/s²]" for axis in "xyz"]
                self.gravity = Entry(gui, labels, 0.01, ("Apply", viser.Icon.CHECK), given)
        self.controls = controls
        self._show()
        for name, control in controls.items():
            control.on_update(on(partial(self._on_change, name)))

    def _show(self) -> None:
        """Show the simulated settings in the controls."""
        about = self._shown_arm.about
        values: dict[str, Any] = {
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

        Rebuilding a scene takes time. If several values of a setting arrive meanwhile, only the last one is applied.
        """
        with self._lock:  # viser calls from many threads: the last value is the newest
            self._wanted[self._shown_arm.name, key] = value()
            if self._changing:
                return
            self._changing = True
        while (wanted := self._next()) is not None:
            arm, key, newest = wanted
            try:
                refused = self._session.change(arm, **{key: newest}).exception(PATIENCE) is not None
            except Exception as error:  # the arguments were refused, or the simulation has ended
                self._session.messages.post(str(error) or repr(error), "error")
                refused = True
            if refused:
                self._show()  # the user has seen the message

    def _next(self) -> tuple[str, str, Any] | None:
        """Arm, setting and value of the next change, None if there is none."""
        with self._lock:
            if not self._wanted:
                self._changing = False
                return None
            arm, key = next(iter(self._wanted))
            return arm, key, self._wanted.pop((arm, key))

    def _entered_gravity(self) -> Array:
        """Gravity (3,) [m/s^2] in the world, as it was typed."""
        g = self.gravity.values
        if np.abs(g).max() > MOST_GRAVITY:
            self._show()
            raise TrocarError(f"gravity must be from {-MOST_GRAVITY:g} to {MOST_GRAVITY:g} m/s², got {g.tolist()}")
        return g

    def _pitched(self, degrees: float) -> Array:
        """Gravity (3,) [m/s^2] in the world for a base that is pitched by an angle."""
        about = self._shown_arm.about
        return about.T_world_base[:3, :3] @ gravity_vector(about.arm, mounting=float(np.radians(degrees)))
