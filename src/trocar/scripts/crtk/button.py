"""A pedal or a button, like `crtk.joystick_button`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trocar.scripts.session import FOREVER, current
from trocar.transports.ros_messages import MESSAGES


class joystick_button:
    """A button of a sensor_msgs/Joy topic: 1 pressed, 0 released, 2 clicked."""

    def __init__(self, ral: Any, button_name: str, index: int = 0) -> None:
        self._index, self._count = index, 0
        self._value: int | None = None
        self._callback: Callable[[int], None] | None = None
        ral.subscriber(button_name, MESSAGES["sensor_msgs/Joy"], self._receive)
        current().wait_for(lambda: True, 0.0)  # the last message before now, if there is one

    def _receive(self, message: Any) -> None:
        self._value = value = message.buttons[self._index]
        self._count += 1
        if self._callback is not None:
            self._callback(value)

    def value(self) -> int | None:
        """The last value; None before the first message."""
        return self._value

    def wait(self, timeout: float | None = None, value: int | None = None) -> bool:
        """Wait for the next message, or for the next one with a value; False after `timeout` [s].

        Release 1.4 of crtk returns False in both cases because of a bug.
        """
        before = self._count

        def came() -> bool:
            return self._count > before and (value is None or self._value == value)

        return current().wait_for(came, FOREVER if timeout is None else timeout)

    def set_callback(self, callback: Callable[[int], None] | None = None) -> None:
        """Call a function with every new value."""
        self._callback = callback
