"""Processes of a measurement: each answers requests over a pipe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from trocar.errors import TrocarError
from trocar.transports.link import START_TIMEOUT, ConnectedProcess, receive, send

ANSWER_TIMEOUT = 600.0  # [s]


class Answering:
    """A process whose function gets a pipe first, sends None when it is ready, then one answer per request."""

    def __init__(self, target: Callable[..., None], *arguments: Any) -> None:
        self._process = ConnectedProcess(target, *arguments, name="trocar-bench")
        self._answer(START_TIMEOUT)

    def ask(self, request: Any) -> Any:
        send(self._process.pipe, request)
        return self._answer(ANSWER_TIMEOUT)

    def _answer(self, timeout: float) -> Any:
        try:
            if self._process.pipe.poll(timeout):
                return receive(self._process.pipe)
        except EOFError:
            pass
        raise TrocarError("a process of the measurement has ended or does not answer")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._process.kill()
