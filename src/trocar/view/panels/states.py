"""Operating states of a robot's arms, its latest messages, and the pedals of its console."""

from __future__ import annotations

from functools import partial
from html import escape
from typing import Any, ClassVar

from trocar.robot import Robot
from trocar.robot.interface import PEDALS
from trocar.robot.messages import Joy, OperatingState, String
from trocar.view.page import Page
from trocar.view.panel import Panel
from trocar.view.selection import Selection

MAX_LINES = 8  # messages listed, newest first
COLOURS = {"FAULT": "#c92a2a", "error": "#c92a2a", "PAUSED": "#e67700", "warning": "#e67700", "ENABLED": "#2b8a3e"}


class States(Panel):
    """Operating states of the arms and the latest warnings and errors; a button powers arms on again after a fault."""

    interval: ClassVar[float] = 0.05

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._arms = [name for name, kind in robot.devices.items() if kind in ("PSM", "ECM", "MTM", "ARM")]

    def build(self, page: Page) -> None:
        gui = page.server.gui
        self._html = gui.add_html(self.text())
        self.power: Any = gui.add_button("Power on and home", visible=False, color="orange")
        self.power.on_click(page.on(lambda _: self._power_on()))

    def refresh(self, selection: Selection) -> None:
        text = self.text()
        if text != self._html.content:
            self._html.content = text
        self.power.visible = bool(self._faulty())

    def _faulty(self) -> list[str]:
        return [name for name in self._arms if self._state(name).state == "FAULT"]

    def _power_on(self) -> None:
        for arm in self._faulty():
            self._robot.bus.publish(f"{arm}/state_command", String(value="home"))

    def _state(self, arm: str) -> OperatingState:
        state = self._robot.bus.read(f"{arm}/operating_state")
        assert isinstance(state, OperatingState)
        return state

    def text(self) -> str:
        """The panel's content as HTML."""
        robot = self._robot
        rows, messages, topics = [], [], robot.bus.topics
        with robot.bus.lock:
            for name in self._arms:
                state = self._state(name)
                flags = [word for word, on in (("homed", state.is_homed), ("busy", state.is_busy)) if on]
                cells = escape(name), _coloured(state.state, state.state), ", ".join(flags) or "not homed"
                rows.append("<tr>" + "".join(f'<td style="padding-right: 1em">{cell}</td>' for cell in cells) + "</tr>")
            for name in robot.devices:
                for kind in ("warning", "error"):
                    if f"{name}/{kind}" in topics:
                        messages += [(message, kind) for message in robot.bus.history(f"{name}/{kind}")]
        messages.sort(key=lambda entry: entry[0].stamp, reverse=True)
        lines = []
        for message, kind in messages[:MAX_LINES]:
            assert isinstance(message, String)
            time = 1e-9 * (message.stamp - robot.start_time)
            lines.append(f"{time:.1f} s {_coloured(kind, kind)} {escape(message.value)}")
        return (
            f'<div style="padding: 0.5em 1em; font-size: 85%"><table>{"".join(rows)}</table>'
            f'<div style="margin-top: 0.8em">{"<br>".join(lines) or "no warnings, no errors"}</div></div>'
        )


class Pedals(Panel):
    """A check box for every pedal of the console."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot

    def build(self, page: Page) -> None:
        gui = page.server.gui
        gui.add_markdown("Pedals")
        self.boxes = {pedal: gui.add_checkbox(pedal.replace("_", " "), initial_value=False) for pedal in PEDALS}
        for pedal, box in self.boxes.items():
            box.on_update(partial(self._press, pedal))

    def _press(self, pedal: str, event: Any) -> None:
        button = Joy.PRESSED if event.target.value else Joy.RELEASED
        self._robot.bus.publish(f"console/emulate_{pedal}", Joy(buttons=(button,)))


def _coloured(word: str, text: str) -> str:
    return f'<b style="color: {COLOURS.get(word, "inherit")}">{text}</b>'
