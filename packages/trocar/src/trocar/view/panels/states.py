"""Operating states of a robot's arms, its messages, and the pedals of its console."""

from __future__ import annotations

from functools import cached_property, partial
from html import escape
from typing import Any

from trocar.robot import Robot
from trocar.robot.interface import PEDALS
from trocar.robot.messages import Joy, Message, OperatingState, String
from trocar.view.page import Page
from trocar.view.panel import RobotPanel, Selection, TextPanel

MAX_LINES = 8  # messages listed, newest first
COLOURS = {"FAULT": "#c92a2a", "error": "#c92a2a", "PAUSED": "#e67700", "warning": "#e67700", "ENABLED": "#2b8a3e"}


class StatePanel(RobotPanel, TextPanel):
    """Operating states of the arms; a button powers arms on again that are off or have had a fault.

    Args:
        always: also list arms that are enabled and homed.
    """

    def __init__(self, robot: Robot, *, always: bool = True) -> None:
        super().__init__(robot)
        self._always = always
        self._to_home: set[str] = set()  # arms that are being powered on

    def build(self, page: Page) -> None:
        super().build(page)
        self.power = page.add("button", "Power on and home", lambda _: self._power_on(), visible=False, color="orange")

    def refresh(self, selection: Selection) -> None:
        super().refresh(selection)
        self.html.visible = "<tr>" in self.html.content
        unready = self._unready()
        self.power.visible = selection.frame.live and bool(unready)
        for arm in self._to_home & {arm for arm, state in unready.items() if state.state == "ENABLED"}:
            self._to_home.discard(arm)
            self._command(arm, "home")

    def text(self) -> str:
        rows = []
        for name, state in (self._states() if self._always else self._unready()).items():
            flags = [word for word, on in (("homed", state.is_homed), ("busy", state.is_busy)) if on]
            cells = escape(name), coloured(state.state, state.state), ", ".join(flags) or "not homed"
            rows.append("<tr>" + "".join(f'<td style="padding-right: 1em">{cell}</td>' for cell in cells) + "</tr>")
        return f"<table>{''.join(rows)}</table>"

    def _states(self) -> dict[str, OperatingState]:
        states: dict[str, Any] = {name: self.robot.bus.read(f"{name}/operating_state") for name in self.robot.arms}
        return states

    def _unready(self) -> dict[str, OperatingState]:
        return {name: s for name, s in self._states().items() if s.state != "ENABLED" or not s.is_homed}

    def _power_on(self) -> None:
        for arm, state in self._unready().items():
            self._to_home.add(arm)
            if state.state != "ENABLED":
                self._command(arm, "enable")

    def _command(self, arm: str, command: str) -> None:
        self.robot.bus.publish(f"{arm}/state_command", String(value=command))


class _Messages(RobotPanel):
    @cached_property
    def topics(self) -> dict[str, str]:
        """Topics of warnings and errors of all devices, with their kind."""
        known = self.robot.bus.topics
        names = {f"{name}/{kind}": kind for kind in ("warning", "error") for name in self.robot.devices}
        return {topic: kind for topic, kind in names.items() if topic in known}


class MessagePanel(_Messages, TextPanel):
    """The latest warnings and errors of all devices."""

    def text(self) -> str:
        bus, messages = self.robot.bus, list[tuple[Any, str]]()
        with bus.lock:
            for topic, kind in self.topics.items():
                messages += [(message, kind) for message in bus.history(topic)]
        messages.sort(key=lambda entry: entry[0].stamp, reverse=True)
        lines = [
            f"{1e-9 * (message.stamp - self.robot.start_time):.1f} s {coloured(kind, kind)} {escape(message.value)}"
            for message, kind in messages[:MAX_LINES]
        ]
        return "<br>".join(lines) or "no warnings, no errors"


class NoticePanel(_Messages):
    """Warnings and errors of the robot as messages of the page."""

    def build(self, page: Page) -> None:
        bus, topics = self.robot.bus, (*self.topics, "simulation/error", "simulation/warning")
        with bus.lock:
            past = {bus.read(topic) for topic in topics}

            def post(message: Message) -> None:
                if message not in past and isinstance(message, String):
                    page.post(message.value)

            self._subscriptions = [bus.subscribe(topic, post) for topic in topics]

    def close(self) -> None:
        for subscription in self._subscriptions:
            subscription.close()


class PedalPanel(RobotPanel):
    """A check box for every pedal of the console."""

    def build(self, page: Page) -> None:
        page.add("markdown", "Pedals")
        self.boxes = {pedal: page.add("checkbox", pedal.replace("_", " "), initial_value=False) for pedal in PEDALS}
        for pedal, box in self.boxes.items():
            box.on_update(partial(self._press, pedal))

    def _press(self, pedal: str, event: Any) -> None:
        button = Joy.PRESSED if event.target.value else Joy.RELEASED
        self.robot.bus.publish(f"console/emulate_{pedal}", Joy(buttons=(button,)))


def coloured(word: str, text: str) -> str:
    """A text in bold, in the colour of a state or kind of message."""
    return f'<b style="color: {COLOURS.get(word, "inherit")}">{text}</b>'
