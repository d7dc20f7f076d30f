"""A robot that is only watched: its state, and the measured effort together with the model's prediction."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import viser

from trocar.robot.shadow import Shadow
from trocar.view.page import Page, send_recording
from trocar.view.panel import Panel, Selection, plain
from trocar.view.panels.plots import fill_plot, new_plot, plot_title

SPAN = 8.0  # length of the curves [s]
SILENT = 1.0  # without a message for this long, the page shows a warning [s]
LEGEND = '<div style="padding:0 1em 0.3em 0.6em;font-size:12px">solid: measured (17 Hz low-pass), dashed: model</div>'


class ShadowStatePanel(Panel, interval=0.25, width=330):
    """State of the connection, efforts of all joints, and the recording so far. It never commands the robot.

    Args:
        name: the arm's name in ROS.
    """

    def __init__(self, shadow: Shadow, name: str) -> None:
        self._shadow, self._name, self._read = shadow, name, 0

    def build(self, page: Page) -> None:
        self.status, self.table = page.add("markdown", ""), page.add("markdown", "")
        for suffix, icon in ((".npz", viser.Icon.FILE_ZIP), (".csv", viser.Icon.CSV)):
            page.add("button", f"Save recording {suffix}", partial(self._on_save, suffix), icon=icon)

    def refresh(self, selection: Selection) -> None:
        shadow, arm = self._shadow, self._shadow.arm
        for text in shadow.messages[self._read :]:
            self._read += 1
            self.page.post(text)
        parameters = plain(selection.about.parameters.name)
        lines = [f"**{plain(self._name)}** ({arm.name}), parameters {parameters}; read only"]
        if not len(shadow):
            lines.append("**no message so far**" if np.isinf(shadow.silent) else "**no complete state so far**")
        else:
            lines.append(f"t = {selection.frame.time:.2f} s, {len(shadow)} rows")
        if SILENT < shadow.silent < np.inf:
            lines.append(f"**no message for {shadow.silent:.1f} s**")
        self.status.content = "  \n".join(lines)
        t, measured, predicted = shadow.efforts(SPAN)
        if len(t):
            rows = ["| joint | measured | model | residual |", "|---|---|---|---|"]
            for joint, a, b in zip(arm.joints, measured[-1], predicted[-1], strict=True):
                rows.append(f"| {joint.name} [{joint.effort_unit}] | {a:.3f} | {b:.3f} | **{a - b:.3f}** |")
            self.table.content = "\n".join(rows)

    def _on_save(self, suffix: str, event: viser.GuiEvent[Any]) -> None:
        self.send(event.client, suffix)

    def send(self, client: Any, suffix: str) -> None:
        """Send the recording so far to a browser."""
        send_recording(client, self._shadow.recording(), f"{self._name.replace('/', '_')}{suffix}")


class ShadowCurvePanel(Panel, tab=("Effort and residual", viser.Icon.CHART_LINE), left=True, width=340, interval=0.25):
    """Measured and predicted effort of one joint, and their difference."""

    def __init__(self, shadow: Shadow) -> None:
        self._shadow = shadow

    def build(self, page: Page) -> None:
        self.joint = page.add("dropdown", "Joint", None, self._shadow.arm.joint_names)
        page.add("html", LEGEND)
        self.effort, self.residual = new_plot(page, ("measured", "model")), new_plot(page, ("measured - model",))

    def refresh(self, selection: Selection) -> None:
        t, measured, predicted = self._shadow.efforts(SPAN)
        if len(t) < 2:
            return
        arm = self._shadow.arm
        j = arm.joint_names.index(self.joint.value)
        fill_plot(self.effort, plot_title(arm, j, "effort"), t, measured[:, j], predicted[:, j])
        fill_plot(self.residual, plot_title(arm, j, "residual"), t, measured[:, j] - predicted[:, j])
