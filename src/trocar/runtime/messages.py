"""Messages to the user, for any number of readers."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from typing import Literal

KEPT = 1000  # messages kept


@dataclass(frozen=True)
class Message:
    """A text and its number, starting at 1."""

    number: int
    level: Literal["info", "error"]
    text: str


class Messages:
    """The latest messages; any thread may post and read. A reader remembers the number of the last one it has seen."""

    def __init__(self) -> None:
        self._kept: deque[Message] = deque(maxlen=KEPT)
        self._posted = threading.Condition()
        self._count = 0

    def post(self, text: str, level: Literal["info", "error"] = "info") -> None:
        """Add a message and wake waiting readers."""
        with self._posted:
            self._count += 1
            self._kept.append(Message(self._count, level, text))
            self._posted.notify_all()

    def since(self, number: int = 0, timeout: float = 0.0) -> list[Message]:
        """Messages after the one with this number; waits up to `timeout` [s] for the first of them."""
        with self._posted:
            self._posted.wait_for(lambda: self._count > number, timeout)
            return [message for message in self._kept if message.number > number]
