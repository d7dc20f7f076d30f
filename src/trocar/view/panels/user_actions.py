"""Callbacks of controls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trocar.runtime.messages import Messages


class UserActions:
    """Makes callbacks that run an action when a user changed a control, not when the program did.

    Errors raised by an action become messages.
    """

    def __init__(self, messages: Messages) -> None:
        self._messages = messages

    def __call__(self, action: Callable[[Any], object]) -> Callable[[Any], None]:
        """A callback that runs `action(event)`."""

        def callback(event: Any) -> None:
            if event.client is not None:
                self.run(lambda: action(event))

        return callback

    def run(self, action: Callable[[], object]) -> None:
        """Run an action now."""
        try:
            action()
        except Exception as error:
            self._messages.post(str(error) or repr(error), "error")
