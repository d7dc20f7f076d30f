"""Log of a node on the terminal: foreign text without control characters, in short lines, at a limited rate."""

from __future__ import annotations

import logging
import sys
import threading
import time
from typing import Any

from trocar.errors import one_line

MAX_LINES = 10  # of the log in a burst
LINE_INTERVAL = 1.0  # after which another line is allowed [s]


class TerminalHandler(logging.Handler):
    """Writes warnings and errors to standard error: one line each, at most one per second after a burst of ten."""

    def __init__(self, *_options: object) -> None:
        super().__init__(logging.WARNING)
        self._left, self._refilled, self._hidden = float(MAX_LINES), time.monotonic(), 0

    def emit(self, record: logging.LogRecord) -> None:
        now = time.monotonic()
        self._left = min(self._left + (now - self._refilled) / LINE_INTERVAL, float(MAX_LINES))
        self._refilled = now
        if self._left < 1.0:
            self._hidden += 1
            return
        self._left -= 1.0
        hidden, self._hidden = self._hidden, 0
        if hidden:
            print(f"ROS: {hidden} more messages; see ROS's log files", file=sys.stderr)
        print(f"ROS: {record.levelname.lower()}: {one_line(record.getMessage())}", file=sys.stderr, flush=True)


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
