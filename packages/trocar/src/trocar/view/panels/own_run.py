"""Controls and curves of a simulation under its user's own controller."""

from __future__ import annotations

import numpy as np
import viser

from trocar.view.own_run import OwnRun
from trocar.view.page import Page
from trocar.view.panel import Panel, Selection, length
from trocar.view.panels.pacing import PacePanel
from trocar.view.panels.plots import TAB, chosen_joint, fill_plot, hide, legend, new_plot, plot_title

CURVES = {"position": ("position", "reference"), "tracking error": ("reference - position",), "effort": ("effort",)}


class RunPanel(PacePanel):
    """Pause, speed and "Run again" of a run."""

    def __init__(self, run: OwnRun) -> None:
        super().__init__(run)
        self._run = run

    def build(self, page: Page) -> None:
        self.again = self.add_controls(page, "Run again", self._run.again, viser.Icon.REWIND_BACKWARD_5)

    def refresh(self, selection: Selection) -> None:
        run, frame, state = self._run, selection.frame, selection.state
        pieces = [f"t = {frame.time:.2f} s"]
        pieces += ["ended"] if run.ended else [] if run.pace.playing else ["paused"]
        if state.rcm_error is not None:
            pieces.append(f"RCM off by {length(state.rcm_error)}")
        if state.loop_error is not None:
            pieces.append(f"loops open by {length(state.loop_error)}")
        lines = [f"**{selection.title}**, parameters {selection.about.parameters.name}", ", ".join(pieces)]
        self.show(lines)


class RunCurvePanel(Panel, tab=TAB, left=True, interval=0.25):
    """Position and reference, tracking error and effort of one joint of the first arm."""

    def __init__(self, run: OwnRun) -> None:
        self._run = run
        self._drawn: tuple[float, int, int] | None = None

    def build(self, page: Page) -> None:
        self.joint = page.add("dropdown", "Joint", None, page.selection.about.arm.joint_names)
        page.add("html", legend("simulated", "reference"))
        self.plots = {name: new_plot(page, labels) for name, labels in CURVES.items()}

    def refresh(self, selection: Selection) -> None:
        rows = list(self._run.rows)
        if len(rows) < 2:
            hide(self.plots)
            return
        arm = self.page.mechanism.arm
        j = chosen_joint(self.joint, arm)
        drawn, before = (rows[-1][0], len(rows), j), self._drawn
        self._drawn = drawn
        if drawn == before:  # ended or paused
            return
        t = np.array([row[0] for row in rows])
        q, tau = np.array([row[1][j] for row in rows]), np.array([row[3][j] for row in rows])
        references = [row[2][j] for row in rows if row[2] is not None]
        follows = len(references) == len(rows)
        q_ref = np.array(references) if follows else q
        fill_plot(self.plots["position"], plot_title(arm, j, "position"), t, q, q_ref)
        fill_plot(self.plots["effort"], plot_title(arm, j, "effort"), t, tau)
        if follows:
            fill_plot(self.plots["tracking error"], plot_title(arm, j, "tracking error"), t, 1e3 * (q_ref - q))
        else:
            self.plots["tracking error"].visible = False
