"""Advisory locks of open files, where the system has them."""

from __future__ import annotations

import errno
from typing import IO

try:
    import fcntl
except ModuleNotFoundError:  # Windows
    fcntl = None  # type: ignore[assignment]

AVAILABLE = fcntl is not None


def lock(file: IO[bytes] | int, *, wait: bool) -> None:
    """Lock a file, given as a stream or descriptor; the lock ends when the file is closed.

    Raises BlockingIOError if another process has the lock and `wait` is false, and another OSError if the system or the
    file system has no locks.
    """
    if fcntl is None:
        raise OSError(errno.ENOLCK, "this system has no file locks")
    fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
