"""Pause, speed and the error of a run."""

from __future__ import annotations

from collections.abc import Callable

import viser

from trocar.view.paced_run import PacedRun
from trocar.view.page import Page
from trocar.view.panel import Panel, plain

SPEEDS = 0.05, 2.0  # of the slider


class PacePanel(Panel):
    """Controls of a `PacedRun`; a subclass adds its own button and shows `_state`.

    Attributes:
        play, speed: button and slider.
    """

    def __init__(self, run: PacedRun) -> None:
        self._paced = run

    def add_controls(
        self, page: Page, label: str, act: Callable[[], None], icon: viser.IconName
    ) -> viser.GuiButtonHandle:
        """Add the state in words, the controls, and a button with a label; returns the button."""
        add, run = page.add, self._paced
        self._status = add("markdown", "")
        with page.server.gui.add_folder(None):
            self.play = add("button", "Pause", lambda _: self._toggle(), icon=viser.Icon.PLAYER_PAUSE)
            button: viser.GuiButtonHandle = add("button", label, lambda _: act(), icon=icon)
            speed, hint = min(max(run.pace.speed, SPEEDS[0]), SPEEDS[1]), "simulated time per real time"
            self.speed = add("slider", "Speed [×]", lambda _: self._set_speed(), *SPEEDS, 0.05, speed, hint=hint)
        return button

    def _toggle(self) -> None:
        pace = self._paced.pace
        pace.pause() if pace.playing else pace.play()

    def _set_speed(self) -> None:
        self._paced.pace.set_speed(min(max(float(self.speed.value), SPEEDS[0]), SPEEDS[1]))

    def show(self, lines: list[str]) -> None:
        """Show the state of the run in Markdown, and the error that ended it."""
        run = self._paced
        playing = run.pace.playing
        self.play.label = "Pause" if playing else "Play"
        self.play.icon = viser.Icon.PLAYER_PAUSE if playing else viser.Icon.PLAYER_PLAY
        if run.error is not None:
            lines = [*lines, f"**The run has stopped:** {plain(str(run.error) or repr(run.error))}"]
        self._status.content = "  \n".join(lines)
