"""Lines on the terminal that others cause: foreign text without control characters, short, at a limited rate."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from trocar.errors import one_line

MAX_LINES = 10  # of the log in a burst
LINE_INTERVAL = 1.0  # after which another line is allowed [s]


class LimitedLines:
    """Writes lines that others cause: one per second after a burst of ten, then the number of those left out.

    Args:
        write: prints a line. left_out: words after that number.
    """

    def __init__(self, write: Callable[[str], None], left_out: str = "more lines") -> None:
        self._write, self._words, self._lock = write, left_out, threading.Lock()
        self._left, self._refilled, self._hidden = float(MAX_LINES), time.monotonic(), 0

    def __call__(self, text: str) -> None:
        with self._lock:
            now = time.monotonic()
            self._left = min(self._left + (now - self._refilled) / LINE_INTERVAL, float(MAX_LINES))
            self._refilled = now
            if self._left < 1.0:
                self._hidden += 1
                return
            self._left -= 1.0
            hidden, self._hidden = self._hidden, 0
            if hidden:
                self._write(f"{hidden} {self._words}")
            self._write(one_line(text))


class TerminalHandler(logging.Handler):
    """Writes warnings and errors to standard error: one line each, at a limited rate."""

    def __init__(self, *_options: object) -> None:
        super().__init__(logging.WARNING)
        self._lines = LimitedLines(_print, "more messages; see ROS's log files")

    def emit(self, record: logging.LogRecord) -> None:
        self._lines(f"{record.levelname.lower()}: {record.getMessage()}")


def _print(text: str) -> None:
    print(f"ROS: {text}", file=sys.stderr, flush=True)


def limit_records() -> None:
    """Put every message of the log in this process on one short line, in files and topics too."""
    create = logging.getLogRecordFactory()

    def record_of(*arguments: Any, **named: Any) -> logging.LogRecord:
        record = create(*arguments, **named)
        message = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            message = f"{message}: {record.exc_info[1]!r}"
        record.msg, record.args, record.exc_info = one_line(message), (), None
        return record

    logging.setLogRecordFactory(record_of)


def log_failure(failure: threading.ExceptHookArgs) -> None:
    """Log the end of a thread instead of printing its traceback, which may contain foreign text."""
    logging.getLogger("rosout").error("a connection failed: %r", failure.exc_value)
