"""Efforts of all joints as bars, and curves of one joint of a robot; the plots that they and others use."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import viser
from viser import uplot

from trocar.arms import Arm
from trocar.mechanics import Mechanism
from trocar.plots import COLOURS
from trocar.robot import Robot
from trocar.spatial import Array
from trocar.view.effort_bars import bars
from trocar.view.page import Page
from trocar.view.panel import Panel, Tab
from trocar.view.selection import Selection

TAB: Tab = ("Efforts and curves", viser.Icon.CHART_BAR)
HEIGHT = 150  # height of a plot [px]
MIN_SPAN = 0.02  # smallest span of an axis
CURVES = {
    "position": ("position", "reference"),
    "velocity": ("velocity",),
    "effort": ("engine", "equations"),
    "tracking error": ("reference - position",),
    "engine - equations": ("engine's effort - equations' effort",),
}
UNITS = {
    "position": "{0.unit}",
    "velocity": "{0.unit}/s",
    "effort": "{0.effort_unit}",
    "tracking error": "m{0.unit}",
    "engine - equations": "m{0.effort_unit}",
    "difference of positions": "m{0.unit}",
}


class EffortPanel(Panel):
    """Efforts of the selected arm as bars, split by cause."""

    tab: Tab | None = TAB
    left: ClassVar[bool] = True

    def build(self, page: Page) -> None:
        self._page, self._html = page, page.server.gui.add_html("")

    def refresh(self, selection: Selection) -> None:
        self._html.content = bars(self._page.mechanism, selection.state)


class CurvePanel(Panel):
    """The last seconds of one joint. Attributes: joint: dropdown."""

    tab: Tab | None = TAB
    left: ClassVar[bool] = True
    interval: ClassVar[float] = 0.25

    def __init__(self, robot: Robot) -> None:
        self._simulation = robot.simulation()

    def build(self, page: Page) -> None:
        gui = page.server.gui
        self._page = page
        self._draw: Any = gui.add_checkbox("Draw curves", True)
        self.joint: Any = gui.add_dropdown("Joint", page.selection.about.arm.joint_names)
        self._legend = gui.add_html(legend("engine", "reference, or effort by the equations"))
        self._plots = {name: new_plot(gui, labels) for name, labels in CURVES.items()}

    @property
    def draws(self) -> bool:
        """True while curves are drawn."""
        return bool(self._draw.value)

    @property
    def costly(self) -> str:
        return "curves" if self.draws else ""

    def refresh(self, selection: Selection) -> None:
        frame, mechanism = selection.frame, self._page.mechanism
        self._legend.visible = frame.live
        if not (frame.live and self.draws):
            hide(self._plots)
            return
        arrays = self._simulation.arm(selection.name).history().arrays()
        t = arrays["t"]
        if (not frame.playing and self._plots["position"].visible) or len(t) < 2:
            return
        if t[-1] > frame.time + 1.0 or arrays["q"].shape[1] != mechanism.arm.n:  # of before a reset, or a change
            hide(self._plots)
            return
        j = chosen_joint(self.joint, mechanism.arm)
        q, dq, tau, q_ref = (arrays[name][:, j] for name in ("q", "dq", "tau", "q_ref"))
        friction = selection.about.friction
        equations = mechanism.inverse_dynamics(arrays["q"], arrays["dq"], arrays["ddq"], friction=friction)[:, j]
        curves = ((q, q_ref), (dq,), (tau, equations), (1e3 * (q_ref - q),), (1e3 * (tau - equations),))
        for name, values in zip(CURVES, curves, strict=True):
            fill_plot(self._plots[name], plot_title(mechanism, j, name), t, *values)


def legend(first: str, second: str | None) -> str:
    """HTML that names the first curve, which is blue, and the second, which is orange and dashed."""
    words = [f'<span style="color:{COLOURS[0]}">&#9473;&#9473;</span> {first}']
    if second is not None:
        words.append(f'<span style="color:{COLOURS[1]}">&#9477;&#9477;</span> {second}')
    return f'<div style="padding:0 1em 0.3em 0.6em;font-size:12px">{" &nbsp; ".join(words)}</div>'


def chosen_joint(dropdown: Any, arm: Arm) -> int:
    """Index of the chosen joint of an arm; the dropdown offers the joints of this arm from now on."""
    names = arm.joint_names
    if dropdown.value not in names or tuple(dropdown.options) != names:
        value = dropdown.value if dropdown.value in names else names[0]
        dropdown.options, dropdown.value = names, value
    return names.index(dropdown.value)


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


def hide(plots: dict[str, Any]) -> None:
    """Hide plots."""
    for plot in plots.values():
        plot.visible = False


def plot_title(mechanism: Mechanism, j: int, name: str) -> str:
    """Joint, quantity and unit of a plot."""
    joint = mechanism.arm.joints[j]
    return f"{joint.name} {name} [{UNITS[name].format(joint)}]"


def _scales(low: float, high: float, start: float = 0.0, end: float = 1.0) -> dict[str, Any]:
    """Axes that hold the values and change rarely. Labels have three decimals, so the span has a lower bound."""
    grain = max(MIN_SPAN, 10.0 ** np.floor(np.log10(max(high - low, MIN_SPAN)))) / 2
    bottom, top = np.floor(low / grain - 0.2) * grain, np.ceil(high / grain + 0.2) * grain
    if end - start > 2:
        start, end = float(np.floor(start)), float(np.ceil(end))
    return {
        "x": uplot.Scale(time=False, range=(start, end)),
        "y": uplot.Scale(range=(round(float(bottom), 6), round(float(top), 6))),
    }
