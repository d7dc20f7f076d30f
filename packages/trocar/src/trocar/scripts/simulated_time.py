"""The modules `time` and `threading` for a script in fast mode: clocks, sleeps and time-outs follow the robot's clock.

Modules loaded earlier (numpy, asyncio, the viewer's server, ...) keep the real ones.
"""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Iterator
from types import ModuleType
from typing import Any, TextIO

from trocar.scripts.session import FOREVER, NANOSECONDS, Session

ANSWER_TIME = 0.5  # robot time of an answer to input() [s]


def modules(session: Session) -> dict[str, ModuleType]:
    """Replacements of `time` and `threading`."""
    return {"time": _time(session), "threading": _threading(session)}


def _time(session: Session) -> ModuleType:
    module = _copy(time)

    def sleep(seconds: float) -> None:
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        session.sleep(float(seconds), stoppable=False)

    def localtime(secs: float | None = None) -> time.struct_time:
        return time.localtime(session.now / NANOSECONDS if secs is None else secs)

    vars(module).update(sleep=sleep, localtime=localtime)

    def now() -> int:
        session.polls.count()
        return session.now

    for clock in ("time", "monotonic", "perf_counter"):
        setattr(module, clock, lambda: now() / NANOSECONDS)
        setattr(module, f"{clock}_ns", now)
    return module


def _threading(session: Session) -> ModuleType:
    module = _copy(threading)

    class SimulatedEvent(threading.Event):
        """An event with a `wait` in simulated time."""

        def wait(self, timeout: float | None = None) -> bool:
            session.wait_for(self.is_set, FOREVER if timeout is None else timeout, stoppable=False)
            return self.is_set()

    class SimulatedThread(threading.Thread):
        """A thread with a `join` in simulated time."""

        _ended = False

        def start(self) -> None:
            turns, run = session.turns, self.run
            assert turns is not None

            def whole_run() -> None:
                try:
                    run()
                finally:
                    self._ended = True
                    turns.end(self)

            self.run = whole_run  # type: ignore[method-assign]
            turns.begin(self)
            super().start()

        def join(self, timeout: float | None = None) -> None:
            limit = FOREVER if timeout is None else timeout
            if self.ident is not None:
                session.wait_for(lambda: self._ended, limit, stoppable=False)
            if self._ended or self.ident is None:
                super().join()

    class SimulatedTimer(SimulatedThread):
        """Calls a function after a simulated time [s]."""

        def __init__(self, interval: float, function: Any, args: Any = None, kwargs: Any = None) -> None:
            super().__init__(daemon=True)
            self.interval, self.function, self.args, self.kwargs = interval, function, args or [], kwargs or {}
            self.finished = SimulatedEvent()

        def cancel(self) -> None:
            self.finished.set()

        def run(self) -> None:
            if not self.finished.wait(self.interval):
                self.function(*self.args, **self.kwargs)
            self.finished.set()

    vars(module).update(Event=SimulatedEvent, Thread=SimulatedThread, Timer=SimulatedTimer)
    return module


class TimedInput:
    """Standard input in which every line takes some robot time, so that the last command has an effect."""

    def __init__(self, session: Session, source: TextIO) -> None:
        self._session, self._source = session, source

    def readline(self, size: int = -1) -> str:
        self._session.sleep(ANSWER_TIME, stoppable=False)
        return self._source.readline(size)

    def __iter__(self) -> Iterator[str]:
        return iter(self.readline, "")

    def fileno(self) -> int:
        if self._source.isatty():  # input() would read the terminal without asking this object
            raise io.UnsupportedOperation("standard input in fast time has no file number")
        return self._source.fileno()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)


def _copy(module: ModuleType) -> ModuleType:
    copied = ModuleType(module.__name__, module.__doc__)
    copied.__dict__.update(module.__dict__)
    return copied
