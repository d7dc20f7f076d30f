"""Efforts of all joints as bars, and curves of one joint of a robot; the plots that they and others use."""

from __future__ import annotations

from typing import Any

import numpy as np
import viser
from viser import uplot

from trocar.arms import Arm
from trocar.mechanics import Mechanism
from trocar.palette import CAUSES, COLOURS, of_cause
from trocar.robot.messages import ArmFrame
from trocar.spatial import Array
from trocar.view.page import Page
from trocar.view.panel import Panel, RobotPanel, Selection, Tab

TAB: Tab = ("Efforts and curves", viser.Icon.CHART_BAR)
HEIGHT = 150  # height of a plot [px]
MAX_MODELS = 20  # changes of options whose earlier equations are kept
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
    "residual": "{0.effort_unit}",
    "tracking error": "m{0.unit}",
    "engine - equations": "m{0.effort_unit}",
    "position, B - A": "m{0.unit}",
}
# The axis of values has room for labels such as -0.125; viser's default clips them.
AXES = (uplot.Axis(), uplot.Axis(size=54))
PLAYHEAD = "#555555"
WIDTH, ROW, TEXT, BAR = 226, 38, 13, 12  # of the bars, of a row and its text, of a bar [px]; a wider panel enlarges all


# -- bars --------------------------------------------------------------------------------------------------------------


class EffortPanel(Panel, tab=TAB, left=True):
    """Efforts of the selected arm as bars, split by cause.

    Args:
        choose: several arms can be selected here, on a page without another choice. Attributes: choice: its dropdown.
    """

    choice: Any = None

    def __init__(self, *, choose: bool = False) -> None:
        self._choose = choose

    def build(self, page: Page) -> None:
        if self._choose and not page.selection.alone:
            arms = tuple(page.selection.frame.scene.arms)
            look = {"initial_value": page.selected}
            self.choice = page.add("dropdown", "Arm", lambda _: page.select(self.choice.value), arms, **look)
        self._html = page.add("html", "")

    def refresh(self, selection: Selection) -> None:
        self._html.content = bars(self.page.mechanism, selection.state)


def composition(mechanism: Mechanism, state: ArmFrame) -> dict[str, Array]:
    """Parts (n,) of the effort by name [N m, N]: M ddq + c + g - J' F - contact + friction = tau.

    Gravity includes springs and cables. Friction is the remainder, with joint limits where they act; where no effort
    was recorded, it is zero.
    """
    M, c, g = mechanism.terms(state.q, state.dq)
    J, zero = mechanism.jacobian(state.q), np.zeros_like(g)
    inertia = zero if state.ddq is None else M @ state.ddq
    push = np.pad(-J[:3].T @ state.force, (0, len(g) - J.shape[1]))
    contact = zero if state.contact_effort is None else -state.contact_effort
    friction = zero if state.tau is None else state.tau - (g + c + inertia + push + contact)
    return dict(zip(CAUSES, (g, inertia, c, push, contact, friction), strict=True))


def bars(mechanism: Mechanism, state: ArmFrame) -> str:
    """Effort of every joint with its number, as bars stacked by cause: HTML with one SVG."""
    arm, parts = mechanism.arm, composition(mechanism, state)
    total = state.tau if state.tau is not None else sum(parts.values(), start=np.zeros(arm.n))
    # both directions of the stack must fit: the motors' range, or more if the effort exceeds it
    room = np.maximum([joint.effort for joint in arm.joints], 1e-9)
    stack = np.maximum(*(np.sum([np.maximum(s * p, 0.0) for p in parts.values()], axis=0) for s in (1, -1)))
    # the range shown is the motors' range times a power of two, so that the scale does not flicker
    span = room * 2.0 ** np.ceil(np.log2(np.maximum(stack / room, 2.0**-7)))
    middle, half = WIDTH / 2, WIDTH / 2 - 1
    rows = []
    for j, joint in enumerate(arm.joints):
        y = j * ROW + TEXT + 5  # of the bar, below its text
        edge = [0.0, 0.0]  # ends of the stack to the left and to the right
        rows.append(f'<rect x="{middle - half:.1f}" y="{y}" width="{2 * half:.1f}" height="{BAR}" fill="#8883"/>')
        for name, part in parts.items():
            length, side = half * abs(part[j]) / span[j], int(part[j] > 0)
            x = middle + edge[1] if side else middle - edge[0] - length
            edge[side] += length
            rows.append(f'<rect x="{x:.2f}" y="{y}" width="{length:.2f}" height="{BAR}" fill="{of_cause(name)}"/>')
        x = middle + half * float(np.clip(total[j] / span[j], -1, 1))
        value = f"{total[j]:.3f}" if abs(total[j]) >= 5e-4 else "0.000"  # no sign that flickers around zero
        limit = f" of &#177;{span[j]:.2g}" if room[j] > 1e-6 else ""
        rows += [
            f'<path d="M{x:.2f} {y - 3}v{BAR + 6}" stroke="currentColor" stroke-width="2"/>',
            f'<text x="0" y="{y - 5}">{joint.name}</text><text x="{WIDTH}" y="{y - 5}" text-anchor="end" '
            f'data-joint="{joint.name}"><tspan font-weight="bold">{value}</tspan>{limit} {joint.effort_unit}</text>',
        ]
    causes = " ".join(
        f'<span style="white-space:nowrap"><span style="color:{of_cause(name)}">&#9632;</span> {name}</span>'
        for name in CAUSES
    )
    return (
        '<div style="padding:0.4em 1.4em 0.4em 0.6em;font-size:12px">'
        f'<svg viewBox="0 0 {WIDTH} {arm.n * ROW + 4}" width="100%" fill="currentColor" font-size="{TEXT}" '
        f'style="font-variant-numeric:tabular-nums">{"".join(rows)}</svg>'
        f"<div>{causes}<br><b>&#124;</b> effort of the joint, the sum; &#177; the range of its bar</div></div>"
    )


# -- curves ------------------------------------------------------------------------------------------------------------


class CurvePanel(RobotPanel, tab=TAB, left=True, interval=0.25):
    """The last seconds of one joint. Attributes: joint: dropdown."""

    def build(self, page: Page) -> None:
        self._draw = page.add("checkbox", "Draw curves", None, True)
        self.joint = page.add("dropdown", "Joint", None, page.selection.about.arm.joint_names)
        self._legend = page.add("html", legend("engine", "reference, or effort by the equations"))
        self._plots = {name: new_plot(page, labels) for name, labels in CURVES.items()}
        self._models: list[tuple[float, str, Mechanism, bool]] = []  # since a time: arm, equations, friction
        self._drawn: tuple[float, str, int] | None = None  # last time, arm and joint

    @property
    def draws(self) -> bool:
        """True while curves are drawn."""
        return bool(self._draw.value)

    @property
    def costly(self) -> str:
        return "curves" if self.draws else ""

    def refresh(self, selection: Selection) -> None:
        frame, mechanism = selection.frame, self.page.mechanism
        self._legend.visible = frame.live
        if not (frame.live and self.draws):
            hide(self._plots)
            self._drawn = None
            return
        self._note_model(selection)
        arrays = self.simulation.arm(selection.name).history().arrays()
        t = arrays["t"]
        if len(t) < 2:
            return
        if t[-1] > frame.time + 1.0 or arrays["q"].shape[1] != mechanism.arm.n:  # of before a reset, or another arm
            hide(self._plots)
            return
        j = chosen_joint(self.joint, mechanism.arm)
        drawn = float(t[-1]), selection.name, j
        if drawn == self._drawn:  # paused
            return
        self._drawn = drawn
        q, dq, tau, q_ref = (arrays[name][:, j] for name in ("q", "dq", "tau", "q_ref"))
        equations = self._equations(arrays)[:, j]
        curves = ((q, q_ref), (dq,), (tau, equations), (1e3 * (q_ref - q),), (1e3 * (tau - equations),))
        for name, values in zip(CURVES, curves, strict=True):
            fill_plot(self._plots[name], plot_title(mechanism.arm, j, name), t, *values)

    def _note_model(self, selection: Selection) -> None:
        """Note the equations of the arm, which changes of its options replace: earlier rows keep theirs."""
        now, name = selection.frame.time, selection.name
        model = (name, self.page.mechanism, selection.about.friction)
        if self._models and (self._models[-1][0] > now or self._models[-1][1] != name):  # a reset, or another arm
            self._models.clear()
        if not self._models or self._models[-1][1:] != model:
            self._models = [*self._models[-MAX_MODELS:], (now, *model)]

    def _equations(self, arrays: dict[str, Array]) -> Array:
        """Efforts (N, n) of the rows by the equations that held at their times."""
        begins = [-np.inf, *(since for since, *_ in self._models[1:]), np.inf]  # the oldest kept one for all before
        efforts = np.zeros_like(arrays["q"])
        for (_, _, mechanism, friction), begin, end in zip(self._models, begins, begins[1:], strict=False):
            rows = (arrays["t"] >= begin) & (arrays["t"] < end)
            if rows.any():
                q, dq, ddq = (arrays[name][rows] for name in ("q", "dq", "ddq"))
                efforts[rows] = mechanism.inverse_dynamics(q, dq, ddq, friction=friction)
        return efforts


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
        dropdown.options, dropdown.value = names, dropdown.value if dropdown.value in names else names[0]
    return names.index(dropdown.value)


def new_plot(page: Page, labels: tuple[str, ...], *, playhead: bool = False) -> Any:
    """A plot over time of one or two curves, hidden until it is filled; with a vertical line at the time shown."""
    series = [uplot.Series(label="t [s]"), uplot.Series(label=labels[0], stroke=COLOURS[0], width=2)]
    series += [uplot.Series(label=label, stroke=COLOURS[1], width=1.5, dash=(6, 3)) for label in labels[1:]]
    series += [uplot.Series(label="now", stroke=PLAYHEAD, width=1)] if playhead else []
    look = {"legend": uplot.Legend(show=False), "padding": (8, 12, 0, 0), "visible": False, "axes": AXES}
    data = (np.array([0.0, 1.0]), *(np.zeros(2) for _ in series[1:]))
    return page.add("uplot", data, None, tuple(series), title="", height=HEIGHT, scales=_scales(0.0, 1.0), **look)


def fill_plot(plot: Any, title: str, t: Array, *curves: Array, now: float | None = None) -> None:
    """Show curves over times t (N,) [s], as many as the plot has, and its line at the time `now` [s] if it has one."""
    plot.title = title
    low, high = min(float(x.min()) for x in curves), max(float(x.max()) for x in curves)
    scales = _scales(low, high, float(t[0]), float(t[-1]))
    if plot.scales != scales:
        plot.scales = scales
    if now is not None:
        # uPlot draws curves only: this one is below the axes except at one time, where it is above them
        bottom, top = scales["y"]["range"]
        line = np.full(len(t), 2.0 * bottom - top - 1.0)
        line[int(np.argmin(np.abs(t - now)))] = 2.0 * top - bottom + 1.0
        curves = (*curves, line)
    plot.data = tuple(np.ascontiguousarray(x, dtype=np.float64) for x in (t, *curves))
    plot.visible = True


def hide(plots: dict[str, Any]) -> None:
    """Hide plots."""
    for plot in plots.values():
        plot.visible = False


def plot_title(arm: Arm, j: int, name: str) -> str:
    """Quantity and unit of a plot of joint j, short enough for one line; the panel names the joint."""
    return f"{name} [{UNITS[name].format(arm.joints[j])}]"


def _scales(low: float, high: float, start: float = 0.0, end: float = 1.0) -> dict[str, Any]:
    """Axes that hold the values and change rarely. Labels have three decimals, so the span has a lower bound."""
    grain = max(MIN_SPAN, 10.0 ** np.floor(np.log10(max(high - low, MIN_SPAN)))) / 2
    bottom, top = np.floor(low / grain - 0.2) * grain, np.ceil(high / grain + 0.2) * grain
    if end - start > 2:
        start, end = float(np.floor(start)), float(np.ceil(end))
    y = round(float(bottom), 6), round(float(top), 6)
    return {"x": uplot.Scale(time=False, range=(start, end)), "y": uplot.Scale(range=y)}
