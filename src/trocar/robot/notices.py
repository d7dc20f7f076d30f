"""Notices to the user, for any number of readers."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from typing import Literal

MAX_NOTICES = 1000  # kept


@dataclass(frozen=True)
class Notice:
    """A text and its number, starting at 1."""

    number: int
    level: Literal["info", "error"]
    text: str


class Notices:
    """The latest notices; any thread may post and read. A reader remembers the number of the last one it has seen."""

    def __init__(self) -> None:
        self._notices: deque[Notice] = deque(maxlen=MAX_NOTICES)
        self._posted = threading.Condition()
        self._count = 0

    def post(self, text: str, level: Literal["info", "error"] = "info") -> None:
        """Add a notice and wake waiting readers."""
        with self._posted:
            self._count += 1
            self._notices.append(Notice(self._count, level, text))
            self._posted.notify_all()

    def since(self, number: int = 0, timeout: float = 0.0) -> list[Notice]:
        """Notices after the one with this number; waits up to `timeout` [s] for the first of them."""
        with self._posted:
            self._posted.wait_for(lambda: self._count > number, timeout)
            return [notice for notice in self._notices if notice.number > number]
