"""Operating states of a robot's arms, its messages, and the pedals of its console."""

from __future__ import annotations

from functools import partial
from html import escape
from typing import Any, ClassVar

from trocar.robot import Robot
from trocar.robot.interface import PEDALS
from trocar.robot.messages import Joy, Message, OperatingState, String
from trocar.view.page import Page
from trocar.view.panel import Panel
from trocar.view.selection import Selection

MAX_LINES = 8  # messages listed, newest first
COLOURS = {"FAULT": "#c92a2a", "error": "#c92a2a", "PAUSED": "#e67700", "warning": "#e67700", "ENABLED": "#2b8a3e"}


class StatePanel(Panel):
    """Operating states of the arms; a button powers arms on again that are off or have had a fault.

    Args:
        always: also list arms that are enabled and homed.
    """

    def __init__(self, robot: Robot, *, always: bool = True) -> None:
        self._robot, self._always = robot, always
        self._to_home: set[str] = set()  # arms that are being powered on

    def build(self, page: Page) -> None:
        gui = page.server.gui
        self._html: Any = gui.add_html(self.text())
        self.power: Any = gui.add_button("Power on and home", visible=False, color="orange")
        self.power.on_click(page.on(lambda _: self._power_on()))

    def refresh(self, selection: Selection) -> None:
        text = self.text()
        if text != self._html.content:
            self._html.content = text
        self._html.visible = "<tr>" in text
        unready = self._unready()
        self.power.visible = selection.frame.live and bool(unready)
        for arm in self._to_home & {arm for arm in unready if self._state(arm).state == "ENABLED"}:
            self._to_home.discard(arm)
            self._command(arm, "home")

    def text(self) -> str:
        """The table as HTML."""
        rows = []
        for name in self._robot.arms if self._always else self._unready():
            state = self._state(name)
            flags = [word for word, on in (("homed", state.is_homed), ("busy", state.is_busy)) if on]
            cells = escape(name), _coloured(state.state, state.state), ", ".join(flags) or "not homed"
            rows.append("<tr>" + "".join(f'<td style="padding-right: 1em">{cell}</td>' for cell in cells) + "</tr>")
        return f'<div style="padding: 0.5em 1em; font-size: 85%"><table>{"".join(rows)}</table></div>'

    def _unready(self) -> list[str]:
        states = {name: self._state(name) for name in self._robot.arms}
        return [name for name, state in states.items() if state.state != "ENABLED" or not state.is_homed]

    def _power_on(self) -> None:
        for arm in self._unready():
            self._to_home.add(arm)
            if self._state(arm).state != "ENABLED":
                self._command(arm, "enable")

    def _command(self, arm: str, command: str) -> None:
        self._robot.bus.publish(f"{arm}/state_command", String(value=command))

    def _state(self, arm: str) -> OperatingState:
        state = self._robot.bus.read(f"{arm}/operating_state")
        assert isinstance(state, OperatingState)
        return state


class MessagePanel(Panel):
    """The latest warnings and errors of all devices."""

    interval: ClassVar[float] = 0.1

    def __init__(self, robot: Robot) -> None:
        self._robot = robot

    def build(self, page: Page) -> None:
        self._html: Any = page.server.gui.add_html(self.text())

    def refresh(self, selection: Selection) -> None:
        text = self.text()
        if text != self._html.content:
            self._html.content = text

    def text(self) -> str:
        """The list as HTML."""
        robot, messages = self._robot, []
        with robot.bus.lock:
            for kind, topics in _message_topics(robot).items():
                messages += [(message, kind) for topic in topics for message in robot.bus.history(topic)]
        messages.sort(key=lambda entry: entry[0].stamp, reverse=True)
        lines = []
        for message, kind in messages[:MAX_LINES]:
            assert isinstance(message, String)
            time = 1e-9 * (message.stamp - robot.start_time)
            lines.append(f"{time:.1f} s {_coloured(kind, kind)} {escape(message.value)}")
        text = "<br>".join(lines) or "no warnings, no errors"
        return f'<div style="padding: 0.5em 1em; font-size: 85%">{text}</div>'


class NoticePanel(Panel):
    """Warnings and errors of the robot as messages of the page."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot

    def build(self, page: Page) -> None:
        bus = self._robot.bus
        topics = [topic for group in _message_topics(self._robot).values() for topic in group]
        with bus.lock:
            past = {bus.read(topic) for topic in (*topics, "simulation/error", "simulation/warning")}

            def post(message: Message) -> None:
                if message not in past and isinstance(message, String):
                    page.post(message.value)

            self._subscriptions = [
                bus.subscribe(topic, post) for topic in (*topics, "simulation/error", "simulation/warning")
            ]

    def close(self) -> None:
        for subscription in self._subscriptions:
            subscription.close()


class PedalPanel(Panel):
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


def _message_topics(robot: Robot) -> dict[str, list[str]]:
    """Topics of warnings and errors of all devices, by kind."""
    topics = robot.bus.topics
    return {
        kind: [topic for name in robot.devices if (topic := f"{name}/{kind}") in topics]
        for kind in ("warning", "error")
    }


def _coloured(word: str, text: str) -> str:
    return f'<b style="color: {COLOURS.get(word, "inherit")}">{text}</b>'
