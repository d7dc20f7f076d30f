"""Play, pause, step, speed and reset, with the most important figures."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future

import viser

from trocar.errors import TrocarError
from trocar.mechanics import Mechanism
from trocar.mechanics.singularities import singularity
from trocar.runtime.session import SPEEDS, Session
from trocar.view.pace import Pace
from trocar.view.panels.user_actions import UserActions
from trocar.view.plain_text import length, plain
from trocar.view.selection import Selection

NEAR_SINGULAR = 0.05  # smallest singular value of the scaled Jacobian below which the page warns
STEPS = {"1 step": 1, "10 ms": 15, "100 ms": 150}


class Transport:
    """Controls of the live simulation; recordings have separate ones.

    Attributes: play, speed: button and slider.
    """

    def __init__(self, server: viser.ViserServer, session: Session, reset: Callable[[], None]) -> None:
        gui = server.gui
        self._session = session
        self._stepping: Future[None] | None = None
        self._lock = threading.Lock()
        self._status = gui.add_markdown("")
        self._warning = gui.add_markdown("", visible=False)
        self._pace, self._slow = Pace(), gui.add_markdown("", visible=False)
        with gui.add_folder(None) as self._buttons:
            self.play = gui.add_button("Play", icon=viser.Icon.PLAYER_PLAY, color="green")
            self._step = gui.add_button_group("Step", tuple(STEPS))
            self._reset = gui.add_button("Reset", icon=viser.Icon.REWIND_BACKWARD_5)
            self.speed = gui.add_slider("Speed [×]", SPEEDS[0], 2.0, 0.05, 1.0, hint="simulated time per real time")
        on = UserActions(session.messages)
        self.play.on_click(on(lambda _: session.pause() if session.frame.playing else session.play()))
        self._step.on_click(on(lambda event: self._take(STEPS[event.target.value])))
        self._reset.on_click(on(lambda _: reset()))
        self.speed.on_update(on(lambda _: self._set_speed()))

    def _take(self, steps: int) -> None:
        """Take steps, unless earlier ones are still running: steps take longer than key presses."""
        with self._lock:
            if self._stepping is None or self._stepping.done():
                self._stepping = self._session.step(steps)

    def _set_speed(self) -> None:
        with self._lock:  # viser calls from many threads: the last speed is the newest
            self._session.set_speed(self.speed.value)

    def show(self, visible: bool) -> None:
        self._buttons.visible = visible

    def refresh(self, shown: Selection, mechanism: Mechanism, costly: Sequence[str] = ()) -> None:
        """Show the current figures. `mechanism` belongs to the caller. costly: see `Pace.advice`."""
        frame = shown.frame
        label = "Pause" if frame.playing else "Play"
        if frame.live and self.play.label != label:
            self.play.label = label
            self.play.icon = viser.Icon.PLAYER_PAUSE if frame.playing else viser.Icon.PLAYER_PLAY
            self.play.color = "orange" if frame.playing else "green"
        self._status.content = self._text(shown)
        self._warning.content = warning = self._singular(shown, mechanism)
        self._warning.visible = bool(warning)
        self._slow.content = advice = self._pace.advice(frame, time.monotonic(), costly)
        self._slow.visible = bool(advice)

    def _text(self, shown: Selection) -> str:
        frame, state, about = shown.frame, shown.state, shown.about
        name, _, kind = shown.title.partition(" ")
        what = f"**{name}** {kind}".rstrip() + f", parameters {about.parameters.name}"
        if about.arm.instrument:
            what += f", {plain(about.arm.instrument)}"
        pieces = [f"t = {frame.time:.2f} s"]
        if frame.live:
            pieces.append(f"{frame.factor:.2f} × real time" if frame.playing else "paused")
        if state.rcm_error is not None:
            pieces.append(f"RCM off by {length(state.rcm_error)}")
        if state.loop_error is not None:
            pieces.append(f"loops open by {length(state.loop_error)}")
        off = [name for name in ("counterweight", "friction") if not getattr(about, name)]
        if off:
            pieces.append("without " + " and ".join(off))
        lines = [what, ", ".join(pieces), *(f"{plain(name)}: {plain(text)}" for name, text in frame.status.items())]
        if frame.live and self._session.error is not None:
            lines.append(f"**The simulation has ended:** {plain(repr(self._session.error))}")
        return "  \n".join(lines)

    @staticmethod
    def _singular(shown: Selection, mechanism: Mechanism) -> str:
        try:
            found = singularity(mechanism, shown.state.q)
        except TrocarError:
            return ""
        sigma = float(found.smallest_singular_value)
        if sigma > NEAR_SINGULAR:
            return ""
        return f"**Near a singularity** ({found.nearest}): smallest singular value {sigma:.2g}"
