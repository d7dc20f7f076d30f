"""A page that watches a robot: the measured arm, and the measured effort together with the model's prediction.

The page never commands the robot.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import traceback
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import viser

from trocar.palette import ACCENT, rgb
from trocar.runtime.shadow import Shadow
from trocar.spatial import Array, quaternion
from trocar.view.model_drawing import ModelDrawing
from trocar.view.panels.plots import fill_plot, new_plot
from trocar.view.panels.user_actions import UserActions
from trocar.view.plain_text import plain
from trocar.view.server import PageServer
from trocar.view.stage import add_floor, dress, outlook

DRAW, CURVES = 1 / 30, 0.25  # real time between updates of poses and of numbers and curves [s]
SHOWN = 8.0  # length of the curves [s]
SILENT = 1.0  # without a message for this long, the page shows a warning [s]
PANEL, CURVE_PANEL = 330, 340  # widths [px]
LEGEND = '<div style="padding:0 1em 0.3em 0.6em;font-size:12px">solid: measured (17 Hz low-pass), dashed: model</div>'


class ShadowPage:
    """The page of one `Shadow`.

    Args:
        name: the arm's name in ROS.
    """

    def __init__(self, server: PageServer, shadow: Shadow, name: str) -> None:
        self.server, self.shadow, self.name = server, shadow, name
        server.inbox.report = lambda text: shadow.messages.post(text, "error")
        gui, on = server.gui, UserActions(shadow.messages)
        dress(server.scene)
        gui.set_panel_label("trocar")
        gui.configure_theme(show_share_button=False, show_logo=False, control_width="medium", brand_color=rgb(ACCENT))
        gui.main_panel.dock_right()
        gui.main_panel.set_width(PANEL)
        self._message = gui.add_markdown("", visible=False)
        self.status: Any = gui.add_markdown("")
        self.table: Any = gui.add_markdown("")
        for suffix, icon in ((".npz", viser.Icon.FILE_ZIP), (".csv", viser.Icon.CSV)):
            save = gui.add_button(f"Save recording {suffix}", icon=icon)
            save.on_click(on(partial(self._on_save, suffix)))
        panel = gui.add_panel()
        panel.dock_left()
        panel.set_width(CURVE_PANEL)
        with panel.add_tab("Effort and residual", viser.Icon.CHART_LINE):
            self.joint: Any = gui.add_dropdown("Joint", shadow.arm.joint_names)
            gui.add_html(LEGEND)
            self.effort = new_plot(gui, ("measured", "model"))
            self.residual = new_plot(gui, ("measured - model",))
        self.drawing = ModelDrawing(server.scene, "/arm", shadow.scene.spec)
        self.drawing.hang(shadow.scene.fixed)
        base, T = server.scene.add_frame("/base", show_axes=False), shadow.description.T_world_base
        base.position, base.wxyz = T[:3, 3], quaternion(T[:3, :3])
        position, look_at = outlook(self.drawing.extent)
        server.initial_camera.position, server.initial_camera.look_at = tuple(position), tuple(look_at)
        add_floor(server.scene, self.drawing.extent)
        self._number = self._read = 0
        self._failures: set[str] = set()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="trocar-page", daemon=True)

    def start(self) -> ShadowPage:
        self._thread.start()
        return self

    def close(self) -> None:
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(timeout=10.0)

    def wait(self) -> None:
        """Return when the page is closed, or on Ctrl-C."""
        while not self._closing.wait(0.5):
            pass

    def _run(self) -> None:
        turns = 0
        while not self._closing.wait(DRAW):
            try:
                with self.server.atomic():
                    self.draw()
                    if turns % round(CURVES / DRAW) == 0:
                        self.refresh()
                self.server.flush()
            except Exception as error:  # report an error of the page once
                if repr(error) not in self._failures:
                    self._failures.add(repr(error))
                    traceback.print_exception(error, file=sys.stderr)
            turns += 1

    def draw(self) -> None:
        """Put the arm at its measured joints."""
        self._number += 1
        self._frame = self.shadow.frame(self._number)
        self.drawing.update(self._frame.qpos)

    def refresh(self) -> None:
        """Show the figures and curves of the last seconds, and new messages."""
        shadow, arm = self.shadow, self.shadow.arm
        for message in shadow.messages.since(self._read):
            self._read = message.number
            self._message.content, self._message.visible = f"**Note:** {plain(message.text)}", True
        about = shadow.description
        lines = [f"**{plain(self.name)}** ({arm.name}), parameters {plain(about.parameters.name)}; read only"]
        if not len(shadow):
            lines.append("**no message so far**" if np.isinf(shadow.silent) else "**no complete state so far**")
        else:
            lines.append(f"t = {self._frame.time:.2f} s, {len(shadow)} rows")
        if SILENT < shadow.silent < np.inf:
            lines.append(f"**no message for {shadow.silent:.1f} s**")
        self.status.content = "  \n".join(lines)
        t, measured, predicted = shadow.efforts(SHOWN)
        if len(t) < 2:
            return
        self.table.content = _table(arm.joints, measured[-1], predicted[-1])
        j = arm.joint_names.index(self.joint.value)
        joint = arm.joints[j]
        fill_plot(self.effort, f"{joint.name} effort [{joint.effort_unit}]", t, measured[:, j], predicted[:, j])
        residual = measured[:, j] - predicted[:, j]
        fill_plot(self.residual, f"{joint.name} residual [{joint.effort_unit}]", t, residual)

    def _on_save(self, suffix: str, event: viser.GuiEvent[Any]) -> None:
        self.send(event.client, suffix)

    def send(self, client: Any, suffix: str) -> None:
        """Send the recording so far to a browser."""
        with tempfile.TemporaryDirectory() as folder:
            path = self.shadow.recording().save(Path(folder) / f"{self.name.replace('/', '_')}{suffix}")
            client.send_file_download(path.name, path.read_bytes(), save_immediately=True)


def _table(joints: Any, measured: Array, predicted: Array) -> str:
    """Efforts of all joints at the last row."""
    rows = ["| joint | measured | model | residual |", "|---|---|---|---|"]
    for joint, a, b in zip(joints, measured, predicted, strict=True):
        rows.append(f"| {joint.name} [{joint.effort_unit}] | {a:.3f} | {b:.3f} | **{a - b:.3f}** |")
    return "\n".join(rows)
