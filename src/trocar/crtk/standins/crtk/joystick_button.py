"""A pedal or a button, as `crtk.joystick_button`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trocar.crtk.standins.crtk.ral import node_of
from trocar.crtk.standins.ros_messages import MESSAGES
from trocar.crtk.standins.session import FOREVER, current


class joystick_button:
    """A button of a sensor_msgs/Joy topic: 1 pressed, 0 released, 2 clicked."""

    def __init__(self, ral: Any, name: str = "", index: int = 0) -> None:
        if isinstance(ral, str):  # before release 1.2 of crtk: joystick_button(name, index=0)
            ral, name, index = node_of(""), ral, int(name or index)
        self._index, self._value = index, 0
        self._callback: Callable[[int], None] | None = None
        ral.subscriber(name, MESSAGES["sensor_msgs/Joy"], self._receive)

    def _receive(self, message: Any) -> None:
        self._value = message.buttons[self._index]
        if self._callback is not None:
            self._callback(self._value)

    def value(self) -> int:
        """The last value."""
        current().wait_for(lambda: True, 0.0)  # lets messages come in, as a thread would
        return self._value

    def wait(self, timeout: float | None = None, value: int | None = None) -> bool:
        """Wait for a value, or for any change; False after `timeout` [s].

        Release 1.4 of crtk returns False in either case, because of a defect.
        """
        before = self.value()
        limit = FOREVER if timeout is None else timeout
        wanted = (lambda: self._value != before) if value is None else (lambda: self._value == value)
        return current().wait_for(wanted, limit)

    def set_callback(self, callback: Callable[[int], None] | None) -> None:
        """Call a function with every new value."""
        self._callback = callback
