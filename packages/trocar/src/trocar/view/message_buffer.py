"""viser's queue of outgoing messages, safe for several threads.

viser 1.1 sets an `asyncio.Event` from the thread that draws, which goes through the waiting connections while the
server's thread adds and removes some: "deque mutated during iteration" ends a drawing, now and then.
"""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field
from typing import Literal

from viser.infra import _infra
from viser.infra._async_message_buffer import AsyncMessageBuffer


class LoopEvent(asyncio.Event):
    """An event that any thread may set; only that of the event loop wakes those who wait.

    viser sets every event a second time, in the loop.
    """

    def __init__(self) -> None:
        super().__init__()
        self._elsewhere, self._thread = False, 0

    def is_set(self) -> bool:
        return self._elsewhere or super().is_set()

    def set(self) -> None:
        if threading.get_ident() == self._thread:
            super().set()
        else:
            self._elsewhere = True

    def clear(self) -> None:
        self._elsewhere = False
        super().clear()

    async def wait(self) -> Literal[True]:
        self._thread = threading.get_ident()
        return True if self._elsewhere else await super().wait()


@dataclass
class MessageBuffer(AsyncMessageBuffer):
    """viser's buffer with a `LoopEvent`."""

    message_event: asyncio.Event = field(default_factory=LoopEvent)


def install() -> None:
    """Let every server of viser in this process use these buffers."""
    setattr(_infra, "AsyncMessageBuffer", MessageBuffer)  # noqa: B010  # mypy
