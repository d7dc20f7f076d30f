"""What the arm is made of and stands in: counterweight, friction, instrument, set-up joints, gravity; what is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import viser

from trocar.arms import gravity_vector, instruments
from trocar.errors import TrocarError
from trocar.viewer.frame import Frame
from trocar.viewer.overlays import NAMES
from trocar.viewer.plant import Plant
from trocar.viewer.session import Session

USUALLY = {"remote centre": True, "forces": True}


class MechanismPanel:
    """Switches that build the simulation anew where it is, and switches of the drawing.

    Args:
        tell: shows a message in the page. draw: called with what is to be drawn otherwise; the panel's `shown`,
            `opacity` and `collision` say how.
    """

    def __init__(
        self, server: viser.ViserServer, session: Session, tell: Callable[[str], None], draw: Callable[[str], None]
    ) -> None:
        self._gui, self._session, self._tell = server.gui, session, tell
        gui, self._plant = server.gui, session.frame.plant
        self._settings = gui.add_folder(_heading(self._plant))
        self._handles: dict[str, Any] = {}
        self._add_settings()
        with gui.add_folder("Show"):
            self.overlays = {
                name: gui.add_checkbox(name.capitalize(), USUALLY.get(name, False), hint=about)
                for name, about in NAMES.items()
            }
            self.opacity = gui.add_slider("Opacity", 0.1, 1.0, 0.05, 1.0, hint="1 is solid, less is see-through")
            self.collision = gui.add_checkbox("Collision shapes", False)
        for name, box in self.overlays.items():
            box.on_update(_drawn(draw, name))
        self.opacity.on_update(lambda _: draw("opacity"))
        self.collision.on_update(lambda _: draw("collision"))

    @property
    def shown(self) -> dict[str, bool]:
        return {name: bool(box.value) for name, box in self.overlays.items()}

    def rebuild(self, frame: Frame) -> None:
        """Another arm of the scene, or the same with other settings."""
        another, self._plant = frame.plant.name != self._plant.name, frame.plant
        if another:
            for handle in reversed(self._handles.values()):  # what is in a folder before the folder
                handle.remove()
            self._add_settings()
            self._settings.label = _heading(self._plant)
        else:
            self._show(frame.plant)

    # -- controls of the arm -----------------------------------------------------------------------------------------

    def _add_settings(self) -> None:
        gui, plant, arm = self._gui, self._plant, self._plant.arm
        made: dict[str, Any] = {}
        with self._settings:
            if arm.counterweight is not None:
                made["counterweight"] = gui.add_checkbox("Counterweight", True, hint="mass of the counterweight")
            made["friction"] = gui.add_checkbox("Friction", True, hint="viscous, dry and with memory")
            if arm.has_rcm and arm.instrument:
                label = "Endoscope" if arm.carries == "endoscope" else "Instrument"
                names = instruments.names(arm.name)
                if arm.instrument in names:
                    made["instrument"] = gui.add_dropdown(label, names, initial_value=arm.instrument)
            if plant.set_up is not None and plant.q_setup is not None:
                made["set-up"] = folder = gui.add_folder("Set-up joints", expand_by_default=False)
                with folder:
                    for joint, value in zip(plant.set_up.joints, plant.q_setup, strict=True):
                        unit, step = ("m", 0.001) if joint.kind == "prismatic" else ("rad", 0.001)
                        low, high = _inside(joint.lower, joint.upper, float(value))
                        made[f"set-up {joint.name}"] = gui.add_slider(
                            f"{joint.name} [{unit}]", low, high, step, round(float(value), 3)
                        )
            made["gravity"] = folder = gui.add_folder("Gravity", expand_by_default=False)
            with folder:
                if plant.alone:
                    pitch = float(np.degrees(arm.mounting))
                    made["pitch"] = gui.add_slider("Mounting [deg]", -90.0, 90.0, 1.0, pitch)
                axes = "base axes" if plant.alone else "world axes, of all arms; z up"
                g: Any = tuple(float(x) for x in plant.gravity)
                made["g"] = gui.add_vector3("g [m/s²]", g, min=(-20,) * 3, max=(20,) * 3, step=0.1, hint=axes)
                made["axes"] = gui.add_markdown(f"in {axes}")
        self._handles = made
        self._show(plant)
        for name in ("counterweight", "friction", "instrument"):
            if name in made:
                made[name].on_update(self._changes(name))
        for name, handle in made.items():
            if name.startswith("set-up "):
                handle.on_update(self._on_set_up)
        if "pitch" in made:
            made["pitch"].on_update(self._on_pitch)
        made["g"].on_update(self._on_gravity)

    def _show(self, plant: Plant) -> None:
        """What is simulated, in the controls."""
        handles = self._handles
        values: dict[str, Any] = {
            "counterweight": plant.sim.options.counterweight,
            "friction": plant.sim.options.friction,
            "instrument": plant.arm.instrument,
            "g": tuple(round(float(x), 6) for x in plant.gravity),
        }
        if plant.set_up is not None and plant.q_setup is not None:
            for joint, value in zip(plant.set_up.joints, plant.q_setup, strict=True):
                values[f"set-up {joint.name}"] = round(float(value), 6)
        for name, value in values.items():
            if name in handles and handles[name].value != value:
                handles[name].value = value

    def _ask(self, **settings: Any) -> None:
        """Change it; where that is refused, the page says why and the controls go back."""
        try:
            self._session.changed(**settings)
        except TrocarError as error:
            self._tell(f"refused: {error}")
            plant = self._session.frame.plant
            if plant.name == self._plant.name:  # and not another that was chosen in the meantime
                self._show(plant)

    def _changes(self, name: str) -> Callable[[viser.GuiEvent[Any]], None]:
        def on_update(event: viser.GuiEvent[Any]) -> None:
            if event.client is not None:  # by hand, not by us
                self._ask(**{name: event.target.value})

        return on_update

    def _on_set_up(self, event: viser.GuiEvent[Any]) -> None:
        if event.client is not None:
            self._ask(set_up=[handle.value for name, handle in self._handles.items() if name.startswith("set-up ")])

    def _on_pitch(self, event: viser.GuiEvent[Any]) -> None:
        if event.client is not None:
            g = gravity_vector(self._plant.arm, mounting=float(np.radians(event.target.value)))
            self._handles["g"].value = tuple(float(x) for x in g)
            self._ask(gravity=tuple(float(x) for x in g))

    def _on_gravity(self, event: viser.GuiEvent[Any]) -> None:
        if event.client is not None:
            self._ask(gravity=tuple(float(x) for x in event.target.value))


def _heading(plant: Plant) -> str:
    return plant.arm.name if plant.alone else f"{plant.name} ({plant.arm.name})"


def _inside(lower: float, upper: float, value: float) -> tuple[float, float]:
    """Limits as short numbers on the inner side of the exact ones, unless a value is nearer to them."""
    low, high = float(np.ceil(lower * 1000) / 1000), float(np.floor(upper * 1000) / 1000)
    return min(low, value), max(high, value)


def _drawn(draw: Callable[[str], None], name: str) -> Callable[[Any], None]:
    return lambda _event: draw(name)
