"""Controls and results of a policy on a task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import viser

from trocar.view.mark_spheres import MarkSpheres
from trocar.view.page import Page
from trocar.view.panel import Selection, plain
from trocar.view.panels.pacing import PacePanel

if TYPE_CHECKING:
    from trocar_learning.view.policy_run import PolicyRun

RADIUS = 3e-3  # of the drawn goals [m]


class PolicyPanel(PacePanel):
    """Pause, speed, next seed, success of the episodes so far, and the task's goals as spheres."""

    def __init__(self, run: PolicyRun, title: str) -> None:
        super().__init__(run)
        self._run, self._title = run, title

    def build(self, page: Page) -> None:
        run = self._run
        self.next = self.add_controls(page, "Next seed", run.skip, viser.Icon.PLAYER_SKIP_FORWARD)
        self._marks = MarkSpheres(page.server.scene, "/marks/", RADIUS)
        self._marks.draw(run.marks)

    def refresh(self, selection: Selection) -> None:
        run = self._run
        successes, episodes, low, high = run.rate()
        lines = [
            f"**{plain(self._title)}**, seed {run.seed}",
            f"t = {selection.frame.time:.2f} s, {run.pace.factor:.2g} × real time",
        ]
        if episodes:
            lines.append(f"success {successes} of {episodes} (95 % interval {100 * low:.0f} to {100 * high:.0f} %)")
        self.show(lines)
        self._marks.draw(run.marks)
