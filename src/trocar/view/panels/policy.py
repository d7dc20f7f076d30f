"""Controls and results of a policy on a task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import viser

from trocar.view.page import Page
from trocar.view.panel import Panel, Selection, plain

if TYPE_CHECKING:
    from trocar.view.policy_run import PolicyRun

SPEEDS = 0.05, 2.0  # of the slider
MARK = 3e-3  # radius of the drawn goals [m]


class PolicyPanel(Panel):
    """Pause, speed, next seed, success of the episodes so far, and the task's goals as spheres."""

    def __init__(self, run: PolicyRun, title: str) -> None:
        self._run, self._title = run, title

    def build(self, page: Page) -> None:
        run, add = self._run, page.add
        self._status = add("markdown", "")
        with page.server.gui.add_folder(None):
            self.play = add("button", "Pause", lambda _: self._toggle(), icon=viser.Icon.PLAYER_PAUSE)
            self.next = add("button", "Next seed", lambda _: run.skip(), icon=viser.Icon.PLAYER_SKIP_FORWARD)
            speed = min(max(run.speed, SPEEDS[0]), SPEEDS[1])
            self.speed = add("slider", "Speed [×]", lambda _: self._set_speed(), *SPEEDS, 0.05, speed)
        add_sphere = page.server.scene.add_icosphere
        self._marks = [add_sphere(f"/marks/{k}", radius=MARK, color=(245, 200, 20)) for k in range(len(run.marks))]

    def _toggle(self) -> None:
        self._run.playing = not self._run.playing

    def _set_speed(self) -> None:
        self._run.speed = min(max(float(self.speed.value), SPEEDS[0]), SPEEDS[1])

    def refresh(self, selection: Selection) -> None:
        run = self._run
        self.play.label = "Pause" if run.playing else "Play"
        self.play.icon = viser.Icon.PLAYER_PAUSE if run.playing else viser.Icon.PLAYER_PLAY
        successes, episodes, low, high = run.rate()
        lines = [
            f"**{plain(self._title)}**, seed {run.seed}",
            f"t = {selection.frame.time:.2f} s, {run.factor:.2g} × real time",
        ]
        if episodes:
            lines.append(f"success {successes} of {episodes} (95 % interval {100 * low:.0f} to {100 * high:.0f} %)")
        if run.error is not None:
            lines.append(f"**The run has stopped:** {plain(str(run.error) or repr(run.error))}")
        self._status.content = "  \n".join(lines)
        for handle, mark in zip(self._marks, run.marks, strict=False):
            handle.position = mark
