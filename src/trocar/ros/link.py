"""One end of the pipe between the process of a ROS node and the one it works for, for ROS 1 and ROS 2 alike."""

from __future__ import annotations

import contextlib
import gc
import itertools
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from multiprocessing.connection import Connection
from typing import Any

from trocar.errors import TrocarError
from trocar.ros.protocol import PATIENCE, Answer, Call, Publish, receive, send


class Link:
    """Values to the other process from any thread, calls that wait for their answer, and messages from there.

    Attributes:
        closed: the other process has ended.
    """

    def __init__(self, pipe: Connection) -> None:
        self._pipe, self._sending = pipe, threading.Lock()
        self._numbers, self._calls = itertools.count(), dict[int, Future[Answer]]()
        self.closed = False

    def send(self, said: Any) -> None:
        """Send a value; sets `closed` if the other end is closed."""
        try:
            with self._sending:
                send(self._pipe, said)
        except OSError:
            self.closed = True

    @contextlib.contextmanager
    def silent(self) -> Iterator[None]:
        """Let other threads that send wait until the end of the block."""
        with self._sending:
            yield

    def call(self, service: str, arguments: tuple[Any, ...]) -> Any:
        """Result of a service that the other process calls.

        Raises:
            TrocarError: the service rejects the call. TimeoutError: it does not answer.
        """
        number, call = next(self._numbers), Future[Answer]()
        self._calls[number] = call
        self.send(Call(number, service, arguments))
        try:
            said = call.result(PATIENCE)
        finally:
            del self._calls[number]
        if said.error:
            raise TrocarError(said.error)
        return said.result

    def publications(self) -> Iterator[Publish]:
        """Messages from the other process until it ends; answers to calls are delivered meanwhile."""
        gc.freeze()  # a full collection of all endpoints would delay messages by milliseconds
        for said in received(self._pipe):
            if isinstance(said, Answer):
                call = self._calls.get(said.number)
                if call is not None:
                    call.set_result(said)
            else:
                yield said
        self.closed = True


def received(pipe: Connection) -> Iterator[Any]:
    """Values from a pipe until None arrives or the other process ends."""
    with contextlib.suppress(EOFError, OSError):
        while (said := receive(pipe)) is not None:
            yield said
