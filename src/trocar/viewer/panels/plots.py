"""Curves of one joint: as it happens, or of one or two recordings."""

from __future__ import annotations

from typing import Any

import numpy as np
import viser
from viser import uplot

from trocar.mechanics import Mechanism
from trocar.plots import COLOURS
from trocar.spatial import Array
from trocar.viewer.frame import Frame, History
from trocar.viewer.playback import Track
from trocar.viewer.plant import Plant
from trocar.viewer.torques import bars

HEIGHT = 150  # [px]
MOST_POINTS = 1000
# title, names of the two curves while live
CURVES = {
    "position": ("position", "reference"),
    "velocity": ("velocity", "-"),
    "effort": ("engine", "equations"),
    "error": ("reference - position", "engine - equations, effort"),
}
_CHANNEL = {"position": "q", "velocity": "dq", "effort": "tau"}


class PlotPanel:
    """Torque bars, and for one joint its position, velocity, effort and errors."""

    def __init__(self, server: viser.ViserServer, plant: Plant) -> None:
        gui = server.gui
        panel = gui.add_panel()
        panel.dock_left()
        panel.set_width(370)
        with panel.add_tab("Efforts", viser.Icon.CHART_BAR):
            self._bars = gui.add_html("")
            self.joint = gui.add_dropdown("Joint", plant.arm.joint_names)
            self._plots = {name: self._plot(gui, name) for name in CURVES}
        self._source: tuple[Any, ...] = ()

    def refresh_bars(self, mechanism: Mechanism, frame: Frame) -> None:
        self._bars.content = bars(mechanism, frame)

    def live(self, mechanism: Mechanism, history: History, friction: bool) -> None:
        """The last seconds; `mechanism` is the caller's own, `friction` whether the engine has it."""
        arrays = history.arrays()
        t = arrays["t"]
        if len(t) < 2:
            return
        j = mechanism.arm.joint_names.index(self.joint.value)
        q, dq, ddq, tau = (arrays[name] for name in ("q", "dq", "ddq", "tau"))
        equations = mechanism.inverse_dynamics(q, dq, ddq, friction=friction)[:, j]
        gap = np.full(len(t), np.nan)
        self._fill("position", j, mechanism, t, q[:, j], arrays["q_ref"][:, j])
        self._fill("velocity", j, mechanism, t, dq[:, j], gap)
        self._fill("effort", j, mechanism, t, tau[:, j], equations)
        self._fill("error", j, mechanism, t, arrays["q_ref"][:, j] - q[:, j], tau[:, j] - equations)
        self._source = ()

    def recorded(self, a: Track, b: Track | None, now: float) -> None:
        """Whole recordings, with a mark at the time shown."""
        joint = self.joint.value
        j = a.plant.arm.joint_names.index(joint)
        rows = np.unique(np.linspace(0, len(a.t) - 1, MOST_POINTS).astype(int))
        t = a.t[rows]
        mark = int(np.argmin(np.abs(t - now)))
        source = (id(a), id(b), joint, mark)
        if source == self._source:
            return
        self._source = source
        for name, channel in _CHANNEL.items():
            first = _column(a, channel, j, t)
            second = _column(b, channel, j, t) if b is not None else np.full(len(t), np.nan)
            self._fill(name, j, a.plant.mechanism, t, first, second, mark)
        other = _column(b, "q", j, t) if b is not None else np.full(len(t), np.nan)
        gap = np.full(len(t), np.nan)
        self._fill("error", j, a.plant.mechanism, t, other - _column(a, "q", j, t), gap, mark)

    def _plot(self, gui: viser.GuiApi, name: str) -> Any:
        nothing = np.array([0.0, 1.0])
        return gui.add_uplot(
            (nothing, nothing * np.nan, nothing * np.nan, nothing * np.nan),
            self._series(*CURVES[name]),
            title=name,
            height=HEIGHT,
            scales={"x": uplot.Scale(time=False), "y": uplot.Scale(auto=True)},
            legend=uplot.Legend(show=False),
            padding=(0, 12, 0, 0),
        )

    def _series(self, first: str, second: str) -> tuple[Any, ...]:
        return (
            uplot.Series(label="t [s]"),
            uplot.Series(label=first, stroke=COLOURS[0], width=2),
            uplot.Series(label=second, stroke=COLOURS[1], width=1.5, dash=(6, 3)),
            uplot.Series(label="now", stroke="#333", width=0, points=uplot.Series_Points(show=True, size=9)),
        )

    def _fill(
        self, name: str, j: int, mechanism: Mechanism, t: Array, first: Array, second: Array, mark: int | None = None
    ) -> None:
        now = np.full(len(t), np.nan)
        if mark is not None:
            now[mark] = first[mark]
        joint = mechanism.arm.joints[j]
        turning = joint.kind == "revolute"
        unit = {
            "position": "rad" if turning else "m",
            "velocity": "rad/s" if turning else "m/s",
            "effort": "N m" if turning else "N",
            "error": ("rad, N m" if turning else "m, N") if mark is None else ("rad" if turning else "m"),
        }[name]
        title = f"{joint.name} {name} [{unit}]"
        plot = self._plots[name]
        if plot.title != title:
            plot.title = title
        plot.data = tuple(np.ascontiguousarray(x, dtype=np.float64) for x in (t, first, second, now))


def _column(track: Track | None, channel: str, j: int, t: Array) -> Array:
    """Channel of joint j at times t (N,); not a number where it is not recorded."""
    values = None if track is None else track.values(channel)
    if track is None or values is None:
        return np.full(len(t), np.nan)
    return np.interp(t, track.t, values[:, j], right=np.nan)
