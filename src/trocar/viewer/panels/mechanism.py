"""Controls of the simulated mechanism and of its drawing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import viser

from trocar.arms import gravity_vector, instruments
from trocar.runtime.session import PATIENCE, Session
from trocar.spatial import Array
from trocar.viewer.overlays import NAMES
from trocar.viewer.panels.user_actions import UserActions
from trocar.viewer.shown import ShownArm

SHOWN_AT_FIRST = ("remote centre", "forces")
SET_UP = "set-up "


class MechanismPanel:
    """Switches that rebuild the simulation in its current state, and switches of the drawing.

    Args:
        draw: called with the name of what is to be redrawn; `shown`, `opacity` and `collision` have the values.
    """

    def __init__(
        self, server: viser.ViserServer, session: Session, shown: ShownArm, draw: Callable[[str], None]
    ) -> None:
        gui = server.gui
        self._gui, self._session, self._shown_arm = gui, session, shown
        self._settings = gui.add_folder(shown.title)
        self._handles: dict[str, Any] = {}
        self._add_settings()
        with gui.add_folder("Show"):
            self.overlays: dict[str, Any] = {
                name: gui.add_checkbox(name.capitalize(), name in SHOWN_AT_FIRST, hint=about)
                for name, about in NAMES.items()
            }
            self.opacity: Any = gui.add_slider("Opacity", 0.1, 1.0, 0.05, 1.0, hint="1 is solid, less is see-through")
            self.collision: Any = gui.add_checkbox("Collision shapes", False)
        for name, handle in {**self.overlays, "opacity": self.opacity, "collision": self.collision}.items():
            handle.on_update(partial(_drawn, draw, name))

    @property
    def shown(self) -> dict[str, bool]:
        return {name: bool(box.value) for name, box in self.overlays.items()}

    def rebuild(self, shown: ShownArm) -> None:
        """Show another arm, or the same one after a change."""
        another, self._shown_arm = shown.name != self._shown_arm.name, shown
        if another:
            for handle in reversed(self._handles.values()):  # what is in a folder before the folder
                handle.remove()
            self._add_settings()
            self._settings.label = shown.title
        else:
            self._show()

    # -- controls of the arm -----------------------------------------------------------------------------------------

    def _add_settings(self) -> None:
        gui, shown = self._gui, self._shown_arm
        about, arm = shown.about, shown.about.arm
        made: dict[str, Any] = {}
        on = UserActions(self._session.messages)
        with self._settings:
            if arm.counterweight is not None:
                made["counterweight"] = gui.add_checkbox("Counterweight", True, hint="mass of the counterweight")
            made["friction"] = gui.add_checkbox("Friction", True, hint="viscous, Coulomb and hysteretic friction")
            if arm.has_rcm and arm.instrument in (names := instruments.names(arm.name)):
                label = "Endoscope" if about.arm.carries == "endoscope" else "Instrument"
                made["instrument"] = gui.add_dropdown(label, names, initial_value=arm.instrument)
            if about.set_up is not None and about.q_setup is not None:
                made["folder"] = gui.add_folder("Set-up joints", expand_by_default=False)
                with made["folder"]:
                    for joint, value in zip(about.set_up.joints, about.q_setup, strict=True):
                        unit = "m" if joint.kind == "prismatic" else "rad"
                        low, high = _inside(joint.lower, joint.upper, float(value))
                        made[SET_UP + joint.name] = gui.add_slider(
                            f"{joint.name} [{unit}]", low, high, 0.001, round(float(value), 3)
                        )
            made["gravity"] = folder = gui.add_folder("Gravity", expand_by_default=False)
            with folder:
                if shown.alone:
                    pitch = float(np.degrees(arm.mounting))
                    made["pitch"] = gui.add_slider("Mounting [deg]", -90.0, 90.0, 1.0, pitch)
                axes = "base axes" if shown.alone else "world axes, of all arms; z up"
                g: Any = tuple(float(x) for x in about.world_gravity)
                made["g"] = gui.add_vector3("g [m/s²]", g, min=(-20,) * 3, max=(20,) * 3, step=0.1, hint=axes)
                made["axes"] = gui.add_markdown(f"in {axes}")
        self._handles = made
        self._show()
        for name, handle in made.items():
            if name.startswith(SET_UP):
                handle.on_update(on(lambda _: self._change("set_up", self._set_up())))
            elif name == "pitch":
                handle.on_update(on(lambda event: self._change("gravity", self._pitched(event.target.value))))
            elif name not in ("folder", "gravity", "axes"):
                key = "gravity" if name == "g" else name
                handle.on_update(on(partial(self._on_change, key)))

    def _show(self) -> None:
        """Put what is simulated into the controls."""
        about, handles = self._shown_arm.about, self._handles
        values: dict[str, Any] = {
            "counterweight": about.counterweight,
            "friction": about.friction,
            "instrument": about.arm.instrument,
            "g": tuple(round(float(x), 6) for x in about.world_gravity),
        }
        if about.set_up is not None and about.q_setup is not None:
            for joint, value in zip(about.set_up.joints, about.q_setup, strict=True):
                values[SET_UP + joint.name] = round(float(value), 6)
        for name, value in values.items():
            if name in handles and handles[name].value != value:
                handles[name].value = value

    def _on_change(self, key: str, event: viser.GuiEvent[Any]) -> None:
        self._change(key, event.target.value)

    def _change(self, key: str, value: Any) -> None:
        """Change the simulation; where that is refused, put the controls back."""
        if self._session.change(self._shown_arm.name, **{key: value}).exception(PATIENCE) is not None:
            self._show()  # the session tells the user

    def _set_up(self) -> list[float]:
        return [handle.value for name, handle in self._handles.items() if name.startswith(SET_UP)]

    def _pitched(self, degrees: float) -> Array:
        """Gravity (3,) [m/s^2] in the world for a base that is pitched by an angle."""
        about = self._shown_arm.about
        return about.T_world_base[:3, :3] @ gravity_vector(about.arm, mounting=float(np.radians(degrees)))


def _inside(lower: float, upper: float, value: float) -> tuple[float, float]:
    """Limits as short numbers on the inner side of the exact ones, unless a value is nearer to them."""
    low, high = float(np.ceil(lower * 1000) / 1000), float(np.floor(upper * 1000) / 1000)
    return min(low, value), max(high, value)


def _drawn(draw: Callable[[str], None], name: str, _event: viser.GuiEvent[Any]) -> None:
    draw(name)
