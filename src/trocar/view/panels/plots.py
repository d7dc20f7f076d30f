"""Efforts of all joints as bars, and curves of one joint: live, or of one or two recordings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import viser
from viser import uplot

from trocar.appearance import Picture
from trocar.arms import Arm
from trocar.mechanics import Mechanism
from trocar.plots import COLOURS
from trocar.runtime.frame import ArmFrame
from trocar.runtime.recorder import Recorder
from trocar.runtime.track import Track
from trocar.spatial import Array
from trocar.view.effort_bars import bars

WIDTH = 244  # width of the panel [px]; with the controls it takes half of a window of 1024 px
HEIGHT = 150  # height of a plot [px]
GAP = 6  # gap between pictures [px]
MOST_POINTS = 1000
LEAST = 0.02  # smallest span of an axis
# Live curves, and curves of recordings. The first curve is blue; the second is orange and dashed.
LIVE = {
    "position": ("position", "reference"),
    "velocity": ("velocity",),
    "effort": ("engine", "equations"),
    "tracking error": ("reference - position",),
    "engine - equations": ("engine's effort - equations' effort",),
}
LIVE_KEY = "engine", "reference, or effort by the equations"
RECORDED = {"position": ("A", "B"), "velocity": ("A", "B"), "effort": ("A", "B"), "difference of positions": ("B - A",)}
_CHANNEL = {"position": "q", "velocity": "dq", "effort": "tau"}
_UNIT = {
    "position": "{0.unit}",
    "velocity": "{0.unit}/s",
    "effort": "{0.effort_unit}",
    "tracking error": "m{0.unit}",
    "engine - equations": "m{0.effort_unit}",
    "difference of positions": "m{0.unit}",
}


class PlotPanel:
    """Effort bars and the curves of one joint, below the view of an endoscope if there is one.

    The pictures are as wide as the panel. In the scene they would cover the controls of a narrow window.
    """

    def __init__(self, server: viser.ViserServer, arm: Arm, pictures: Sequence[Picture] | None = None) -> None:
        gui = server.gui
        panel = gui.add_panel()
        self._look: Any = None
        panel.dock_left()
        panel.set_width(WIDTH)
        with panel.add_tab("Efforts and curves", viser.Icon.CHART_BAR):
            if pictures is not None:
                with gui.add_folder("Endoscope"):
                    self._look = gui.add_checkbox("Draw the view", True, hint="left eye above the right one")
                    self._pictures = gui.add_image(_stacked(pictures), format="jpeg")
                    self._look.on_update(lambda _: self._show_endoscope())
            self._bars = gui.add_html("")
            self._draw: Any = gui.add_checkbox("Draw curves", True)
            self._draw.on_update(lambda _: self.clear())
            self.joint: Any = gui.add_dropdown("Joint", arm.joint_names)
            self._key = gui.add_html("")
            self._live = {name: new_plot(gui, labels) for name, labels in LIVE.items()}
            self._recorded = {name: new_plot(gui, labels) for name, labels in RECORDED.items()}
        self._drawn: tuple[Any, ...] = ()
        self._explain(*LIVE_KEY)

    @property
    def looks(self) -> bool:
        """True while the view of the endoscope is drawn."""
        return self._look is not None and bool(self._look.value)

    @property
    def costly(self) -> list[str]:
        """Drawings that can be switched off, the most expensive first."""
        return [name for name, on in (("the endoscope's view", self.looks), ("curves", self._draw.value)) if on]

    def show_pictures(self, pictures: Sequence[Picture]) -> None:
        self._pictures.image = _stacked(pictures)

    def _show_endoscope(self) -> None:
        self._pictures.visible = self.looks

    def refresh_bars(self, mechanism: Mechanism, state: ArmFrame) -> None:
        self._bars.content = bars(mechanism, state)

    def live(self, mechanism: Mechanism, history: Recorder, friction: bool) -> None:
        """Show the last seconds. `mechanism` belongs to the caller; `friction`: the engine simulates friction."""
        arrays = history.arrays()
        t = arrays["t"]
        if len(t) < 2 or not self._draw.value:
            return
        self._drawn = ()
        j = self._joint(mechanism)
        q, dq, tau, q_ref = (arrays[name][:, j] for name in ("q", "dq", "tau", "q_ref"))
        equations = mechanism.inverse_dynamics(arrays["q"], arrays["dq"], arrays["ddq"], friction=friction)[:, j]
        curves = ((q, q_ref), (dq,), (tau, equations), (1e3 * (q_ref - q),), (1e3 * (tau - equations),))
        for name, values in zip(LIVE, curves, strict=True):
            fill_plot(self._live[name], _title(mechanism, j, name), t, *values)
        _hide(self._recorded)
        self._explain(*LIVE_KEY)

    def clear(self) -> None:
        """Hide all curves."""
        _hide(self._live)
        _hide(self._recorded)
        self._drawn = ()
        self._explain(*LIVE_KEY)

    def recorded(self, a: Track, b: Track | None, now: float) -> None:
        """Show whole recordings, with the values at the current time in the titles."""
        mechanism = a.mechanism
        j = self._joint(mechanism)
        drawn = (id(a), id(b), j)
        rows = np.unique(np.linspace(0, len(a.t) - 1, MOST_POINTS).astype(int))
        t = a.t[rows] if b is None else a.t[rows][a.t[rows] <= b.duration]
        if len(t) < 2 or not self._draw.value:
            return
        for name, plot in self._recorded.items():
            channel = _CHANNEL.get(name, "q")
            curves = [x[:, j] for track in (a, b) if track is not None and (x := track.at(channel, t)) is not None]
            if name not in _CHANNEL:
                curves = [1e3 * (curves[1] - curves[0])] if len(curves) == 2 else []
            if not curves or a.at(channel, now) is None:
                plot.visible = False
                continue
            value = f"{_title(mechanism, j, name)}: {np.interp(now, t, curves[0]):.4g} at {now:.3f} s"
            if self._drawn != drawn:
                # without a second curve the first is drawn twice: uPlot needs a constant number of series
                fill_plot(plot, value, t, *curves, *(curves if len(curves) < len(RECORDED[name]) else ()))
            else:
                plot.title = value
        self._drawn = drawn
        _hide(self._live)
        self._explain("A", None if b is None else "B")

    def _explain(self, first: str, second: str | None) -> None:
        """Show a legend."""
        words = [f'<span style="color:{COLOURS[0]}">&#9473;&#9473;</span> {first}']
        if second is not None:
            words.append(f'<span style="color:{COLOURS[1]}">&#9477;&#9477;</span> {second}')
        self._key.content = f'<div style="padding:0 1em 0.3em 0.6em;font-size:12px">{" &nbsp; ".join(words)}</div>'

    def _joint(self, mechanism: Mechanism) -> int:
        names = mechanism.arm.joint_names
        if self.joint.value not in names:  # the recording belongs to another arm
            self.joint.options = names
            self.joint.value = names[0]
        return names.index(self.joint.value)


def _stacked(pictures: Sequence[Picture]) -> Picture:
    """The left eye above the right one: side by side they would be too small in a narrow panel."""
    gap = np.full((GAP, pictures[0].shape[1], 3), 255, dtype=np.uint8)
    return np.vstack([part for picture in pictures for part in (picture, gap)][:-1])


def new_plot(gui: viser.GuiApi, labels: tuple[str, ...]) -> Any:
    """A plot over time of one or two curves, hidden until it is filled."""
    nothing = np.array([0.0, 1.0])
    series = [uplot.Series(label="t [s]"), uplot.Series(label=labels[0], stroke=COLOURS[0], width=2)]
    series += [uplot.Series(label=label, stroke=COLOURS[1], width=1.5, dash=(6, 3)) for label in labels[1:]]
    return gui.add_uplot(
        (nothing, *(0.0 * nothing for _ in labels)),
        tuple(series),
        title="",
        height=HEIGHT,
        scales=_scales(0.0, 1.0),
        legend=uplot.Legend(show=False),
        padding=(8, 12, 0, 0),
        visible=False,
    )


def fill_plot(plot: Any, title: str, t: Array, *curves: Array) -> None:
    """Show curves over times t (N,) [s], as many as the plot has."""
    plot.title = title
    low, high = min(float(x.min()) for x in curves), max(float(x.max()) for x in curves)
    scales = _scales(low, high, float(t[0]), float(t[-1]))
    if plot.scales != scales:
        plot.scales = scales
    plot.data = tuple(np.ascontiguousarray(x, dtype=np.float64) for x in (t, *curves))
    plot.visible = True


def _scales(low: float, high: float, start: float = 0.0, end: float = 1.0) -> dict[str, Any]:
    """Axes that hold the values and change rarely. Labels have three decimals, so the span has a lower bound."""
    grain = max(LEAST, 10.0 ** np.floor(np.log10(max(high - low, LEAST)))) / 2
    bottom, top = np.floor(low / grain - 0.2) * grain, np.ceil(high / grain + 0.2) * grain
    if end - start > 2:
        start, end = float(np.floor(start)), float(np.ceil(end))
    return {
        "x": uplot.Scale(time=False, range=(start, end)),
        "y": uplot.Scale(range=(round(float(bottom), 6), round(float(top), 6))),
    }


def _hide(plots: dict[str, Any]) -> None:
    for plot in plots.values():
        plot.visible = False


def _title(mechanism: Mechanism, j: int, name: str) -> str:
    joint = mechanism.arm.joints[j]
    return f"{joint.name} {name} [{_UNIT[name].format(joint)}]"
