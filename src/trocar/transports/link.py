"""One end of the pipe between the process of a ROS node and the one it works for, for ROS 1 and ROS 2 alike."""

from __future__ import annotations

import contextlib
import gc
import itertools
import math
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from multiprocessing.connection import Connection
from typing import Any

from trocar.errors import TrocarError
from trocar.robot.messages import Message
from trocar.transports.protocol import PATIENCE, Answer, Call, Commands, Refused, packed, receive


class TooLong(TrocarError):
    """A value is too long to be sent."""


class Link:
    """Values to the other process from any thread, calls that wait for their answer, and messages from there.

    Args:
        longest: most bytes of a value to send. Default: any number.

    Attributes:
        closed: the other process has ended.
    """

    def __init__(self, pipe: Connection, longest: float = math.inf) -> None:
        self._pipe, self._sending, self._longest = pipe, threading.Lock(), longest
        self._numbers, self._calls = itertools.count(), dict[int, Future[Answer]]()
        self.closed = False

    def send(self, said: Any) -> None:
        """Send a value; sets `closed` if the other end is closed.

        Raises:
            TooLong: nothing was sent.
        """
        frame = packed(said)
        if len(frame) > self._longest:
            raise TooLong(f"it takes {len(frame)} bytes, more than {self._longest}")
        try:
            with self._sending:
                self._pipe.send_bytes(frame)
        except OSError:
            self.closed = True

    def command(self, messages: Sequence[tuple[str, Message]]) -> None:
        """Send messages to topics, in one value if it is not too long; one that is too long itself is refused."""
        try:
            self.send(Commands(tuple(messages)))
        except TooLong as error:
            if len(messages) == 1:
                self.send(Refused(messages[0][0], f"the message is too long: {error}"))
                return
            for message in messages:
                self.command((message,))

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
        try:
            self.send(Call(number, service, arguments))
            said = call.result(PATIENCE)
        finally:
            del self._calls[number]
        if said.error:
            raise TrocarError(said.error)
        return said.result

    def publications(self) -> Iterator[Any]:
        """Values from the other process until it ends; answers to calls are delivered meanwhile."""
        gc.freeze()  # a full collection of all endpoints would delay messages by milliseconds
        while not self.closed:
            said = self.receive()
            if said is not None:
                yield said

    def receive(self) -> Any:
        """The next value from the other process. None: it has ended, or an answer to a call was delivered."""
        said = next(received(self._pipe), None)
        if isinstance(said, Answer):
            call = self._calls.get(said.number)
            if call is not None:
                call.set_result(said)
            return None
        self.closed = said is None
        return said


def received(pipe: Connection) -> Iterator[Any]:
    """Values from a pipe until None arrives or the other process ends."""
    with contextlib.suppress(EOFError, OSError):
        while (said := receive(pipe)) is not None:
            yield said
