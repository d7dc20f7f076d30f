"""A robot that is only watched: its state, and the measured effort together with the model's prediction."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import viser

from trocar.robot.shadow import Shadow
from trocar.spatial import Array
from trocar.view.page import Page
from trocar.view.panel import Panel, Tab
from trocar.view.panels.plots import fill_plot, new_plot
from trocar.view.plain_text import plain
from trocar.view.selection import Selection

SPAN = 8.0  # length of the curves [s]
SILENT = 1.0  # without a message for this long, the page shows a warning [s]
LEGEND = '<div style="padding:0 1em 0.3em 0.6em;font-size:12px">solid: measured (17 Hz low-pass), dashed: model</div>'


class ShadowStatePanel(Panel):
    """State of the connection, efforts of all joints, and the recording so far. It never commands the robot.

    Args:
        name: the arm's name in ROS.
    """

    interval = 0.25
    width = 330

    def __init__(self, shadow: Shadow, name: str) -> None:
        self._shadow, self._name, self._read = shadow, name, 0

    def build(self, page: Page) -> None:
        gui = page.server.gui
        self._page = page
        self.status: Any = gui.add_markdown("")
        self.table: Any = gui.add_markdown("")
        for suffix, icon in ((".npz", viser.Icon.FILE_ZIP), (".csv", viser.Icon.CSV)):
            save = gui.add_button(f"Save recording {suffix}", icon=icon)
            save.on_click(page.on(partial(self._on_save, suffix)))

    def refresh(self, selection: Selection) -> None:
        shadow, arm = self._shadow, self._shadow.arm
        for text in shadow.messages[self._read :]:
            self._read += 1
            self._page.post(text)
        lines = [
            f"**{plain(self._name)}** ({arm.name}), parameters {plain(selection.about.parameters.name)}; read only"
        ]
        if not len(shadow):
            lines.append("**no message so far**" if np.isinf(shadow.silent) else "**no complete state so far**")
        else:
            lines.append(f"t = {selection.frame.time:.2f} s, {len(shadow)} rows")
        if SILENT < shadow.silent < np.inf:
            lines.append(f"**no message for {shadow.silent:.1f} s**")
        self.status.content = "  \n".join(lines)
        t, measured, predicted = shadow.efforts(SPAN)
        if len(t):
            self.table.content = _table(arm.joints, measured[-1], predicted[-1])

    def _on_save(self, suffix: str, event: viser.GuiEvent[Any]) -> None:
        self.send(event.client, suffix)

    def send(self, client: Any, suffix: str) -> None:
        """Send the recording so far to a browser."""
        with tempfile.TemporaryDirectory() as folder:
            path = self._shadow.recording().save(Path(folder) / f"{self._name.replace('/', '_')}{suffix}")
            client.send_file_download(path.name, path.read_bytes(), save_immediately=True)


class ShadowCurvePanel(Panel):
    """Measured and predicted effort of one joint, and their difference."""

    tab: Tab | None = ("Effort and residual", viser.Icon.CHART_LINE)
    left = True
    width = 340
    interval = 0.25

    def __init__(self, shadow: Shadow) -> None:
        self._shadow = shadow

    def build(self, page: Page) -> None:
        gui = page.server.gui
        self.joint: Any = gui.add_dropdown("Joint", self._shadow.arm.joint_names)
        gui.add_html(LEGEND)
        self.effort = new_plot(gui, ("measured", "model"))
        self.residual = new_plot(gui, ("measured - model",))

    def refresh(self, selection: Selection) -> None:
        t, measured, predicted = self._shadow.efforts(SPAN)
        if len(t) < 2:
            return
        j = self._shadow.arm.joint_names.index(self.joint.value)
        joint = self._shadow.arm.joints[j]
        fill_plot(self.effort, f"{joint.name} effort [{joint.effort_unit}]", t, measured[:, j], predicted[:, j])
        residual = measured[:, j] - predicted[:, j]
        fill_plot(self.residual, f"{joint.name} residual [{joint.effort_unit}]", t, residual)


def _table(joints: Any, measured: Array, predicted: Array) -> str:
    """Efforts of all joints at the last row."""
    rows = ["| joint | measured | model | residual |", "|---|---|---|---|"]
    for joint, a, b in zip(joints, measured, predicted, strict=True):
        rows.append(f"| {joint.name} [{joint.effort_unit}] | {a:.3f} | {b:.3f} | **{a - b:.3f}** |")
    return "\n".join(rows)
