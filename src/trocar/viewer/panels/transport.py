"""Play, pause, step, speed and reset, with the figures that everyone looks at first."""

from __future__ import annotations

from collections.abc import Callable

import viser

from trocar.errors import TrocarError
from trocar.mechanics import Mechanism
from trocar.mechanics.singularities import singularity
from trocar.viewer.frame import Frame, length
from trocar.viewer.session import SPEEDS, Session

NEAR_SINGULAR = 0.05  # smallest singular value of the scaled Jacobian below which the page warns


class Transport:
    """For the live simulation; a recording has a transport of its own."""

    def __init__(self, server: viser.ViserServer, session: Session, reset: Callable[[], None]) -> None:
        gui = server.gui
        self._session = session
        self._status = gui.add_markdown("")
        self._warning = gui.add_markdown("", visible=False)
        with gui.add_folder(None) as self._buttons:
            self._play = gui.add_button("Play", icon=viser.Icon.PLAYER_PLAY, color="green")
            self._step = gui.add_button_group("Step", ("1 step", "10 ms", "100 ms"))
            self._reset = gui.add_button("Reset", icon=viser.Icon.REWIND_BACKWARD_5)
            self._speed = gui.add_slider("Speed [×]", SPEEDS[0], 2.0, 0.05, 1.0, hint="simulated time per real time")
        self._play.on_click(lambda _: session.pause() if session.frame.playing else session.play())
        self._step.on_click(lambda event: session.step({"1 step": 1, "10 ms": 15, "100 ms": 150}[event.target.value]))
        self._reset.on_click(lambda _: reset())
        self._speed.on_update(lambda event: session.set_speed(event.target.value))

    def show(self, visible: bool) -> None:
        self._buttons.visible = visible

    def refresh(self, frame: Frame, mechanism: Mechanism) -> None:
        """Figures of this moment; `mechanism` is the caller's own."""
        live = frame.driver is not None
        label = "Pause" if frame.playing else "Play"
        if live and self._play.label != label:
            self._play.label = label
            self._play.icon = viser.Icon.PLAYER_PAUSE if frame.playing else viser.Icon.PLAYER_PLAY
            self._play.color = "orange" if frame.playing else "green"
        self._status.content = self._text(frame)
        warning = self._singular(frame, mechanism)
        self._warning.visible = bool(warning)
        if warning and self._warning.content != warning:
            self._warning.content = warning

    @staticmethod
    def _text(frame: Frame) -> str:
        settings, arm = frame.plant.settings, frame.plant.arm
        plant = frame.plant
        what = f"**{arm.name}**, parameters {plant.sim.parameters.name}"
        if not plant.alone:
            what = f"**{plant.name}** ({arm.name}), parameters {plant.sim.parameters.name}"
        if arm.instrument:
            what += f", {arm.instrument}"
        pieces = [f"t = {frame.time:.2f} s"]
        if frame.driver is not None:
            pieces.append(f"{frame.factor:.2f} × real time" if frame.playing else "paused")
        if frame.rcm_error is not None:
            pieces.append(f"RCM off by {length(frame.rcm_error)}")
        if frame.loop_error is not None:
            pieces.append(f"loops open by {length(frame.loop_error)}")
        off = [name for name in ("counterweight", "friction") if not getattr(settings, name)]
        if off:
            pieces.append("without " + " and ".join(off))
        return f"{what}  \n{', '.join(pieces)}"

    @staticmethod
    def _singular(frame: Frame, mechanism: Mechanism) -> str:
        try:
            found = singularity(mechanism, frame.q)
        except TrocarError:
            return ""
        sigma = float(found.smallest_singular_value)
        if sigma > NEAR_SINGULAR:
            return ""
        return f"**Near a singularity** ({found.nearest}): smallest singular value {sigma:.2g}"
