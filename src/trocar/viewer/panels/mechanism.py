"""What the arm is made of and stands in: counterweight, friction, gravity, instrument; and what of it is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import viser

from trocar.arms import gravity_vector, instruments
from trocar.viewer.overlays import NAMES
from trocar.viewer.plant import Plant
from trocar.viewer.session import Session

USUALLY = {"remote centre": True, "forces": True}


class MechanismPanel:
    """Switches that rebuild the simulator where it is (of an arm that is alone), and switches of the drawing.

    Args:
        draw: called with nothing after a change of what is drawn; the panel's `shown`, `opacity` and `collision` say
            what is wanted.
    """

    def __init__(self, server: viser.ViserServer, session: Session, plant: Plant, draw: Callable[[str], None]) -> None:
        gui, arm = server.gui, plant.arm
        self._session, self._arm = session, arm
        if plant.alone:
            self._add_settings(gui, plant)
        with gui.add_folder("Show"):
            self.overlays = {
                name: gui.add_checkbox(name.capitalize(), USUALLY.get(name, False), hint=about)
                for name, about in NAMES.items()
            }
            self.opacity = gui.add_slider("Solid", 0.1, 1.0, 0.05, 1.0, hint="less is see-through")
            self.collision = gui.add_checkbox("Collision shapes", False)
        for name, box in self.overlays.items():
            box.on_update(_drawn(draw, name))
        self.opacity.on_update(lambda _: draw("opacity"))
        self.collision.on_update(lambda _: draw("collision"))

    @property
    def shown(self) -> dict[str, bool]:
        return {name: bool(box.value) for name, box in self.overlays.items()}

    def _add_settings(self, gui: viser.GuiApi, plant: Plant) -> None:
        session, arm, settings = self._session, plant.arm, plant.settings
        if arm.counterweight is not None:
            weight = gui.add_checkbox("Counterweight", settings.counterweight, hint="mass of the counterweight")
            weight.on_update(lambda event: session.change(counterweight=event.target.value))
        friction = gui.add_checkbox("Friction", settings.friction, hint="viscous, dry and with memory")
        friction.on_update(lambda event: session.change(friction=event.target.value))
        if arm.instrument and arm.family == "PSM":
            names = instruments.names(arm.name)
            tool = gui.add_dropdown("Instrument", names, initial_value=arm.instrument)
            tool.on_update(lambda event: session.change(instrument=event.target.value))
        with gui.add_folder("Gravity", expand_by_default=False):
            self._pitch = gui.add_slider("Mounting [deg]", -90.0, 90.0, 1.0, float(np.degrees(arm.mounting)))
            g: Any = tuple(float(x) for x in plant.sim.gravity_vector)
            self._gravity: Any = gui.add_vector3("g [m/s²]", g, min=(-20,) * 3, max=(20,) * 3, step=0.1)
        self._pitch.on_update(self._on_pitch)
        self._gravity.on_update(self._on_gravity)

    def _on_pitch(self, event: viser.GuiEvent[Any]) -> None:
        if event.client is not None:
            g = gravity_vector(self._arm, mounting=float(np.radians(self._pitch.value)))
            self._gravity.value = tuple(float(x) for x in g)
            self._session.change(gravity=tuple(float(x) for x in g))

    def _on_gravity(self, event: viser.GuiEvent[Any]) -> None:
        if event.client is not None:
            self._session.change(gravity=tuple(float(x) for x in self._gravity.value))


def _drawn(draw: Callable[[str], None], name: str) -> Callable[[Any], None]:
    return lambda _event: draw(name)
