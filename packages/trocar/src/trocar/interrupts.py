"""Ctrl-C and the processes of a command: a terminal sends it to all of them."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker


@contextmanager
def deaf_processes() -> Iterator[None]:
    """Let processes that are started in this block ignore Ctrl-C from their first instruction on; the parent ends them.

    One that handles it by itself prints a traceback if it comes while its modules are imported.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # its start would unblock the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
