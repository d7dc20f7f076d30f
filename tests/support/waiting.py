"""Waiting for an event on a machine of any load: tests wait for what happens, never for a time in which it should."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

TIMEOUT = 300.0  # [s]; only a wait in vain takes so long

T = TypeVar("T")


def until(condition: Callable[[], T], what: str, pause: float = 0.005) -> T:
    """The first true result of a condition, evaluated every `pause` seconds; fails after `TIMEOUT`."""
    deadline = time.monotonic() + TIMEOUT
    while not (result := condition()):
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(pause)
    return result
