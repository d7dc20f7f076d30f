"""Simulated time for the threads of a script: it advances only while all of them wait, to the first due time.

So a loop in a thread runs at exact simulated times, regardless of the machine's load. Threads not created with
`threading.Thread` may also wait, but time does not wait for them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

BLOCKED_TIMEOUT = 0.05  # real time after which a thread that neither waits nor ends counts as blocked [s]


@dataclass(eq=False)
class _Waiter:
    """A thread that waits until `ready` holds, at the latest at `end` [ns]."""

    ready: Callable[[], bool]
    end: int
    thread: threading.Thread = field(default_factory=threading.current_thread)
    done: bool = False


class ThreadTurns:
    """Scheduler of the script's threads: which compute, which wait, and which advances the robot.

    Args:
        now: the robot's clock [ns].
        advance: advances the robot until a condition holds, at most by a time [s].
        next_call: time of the next callback [ns], or None; due ones are run by `deliver`.
        deliver: runs the callbacks that are due.
    """

    def __init__(
        self,
        now: Callable[[], int],
        advance: Callable[[Callable[[], bool], float], object],
        next_call: Callable[[], int | None],
        deliver: Callable[[], None],
    ) -> None:
        self._now, self._advance, self._next_call, self._deliver = now, advance, next_call, deliver
        self._changed = threading.Condition()
        self._script = {threading.current_thread()}
        self._computing = {threading.current_thread()}
        self._waiters: list[_Waiter] = []
        self._advancing = False

    def begin(self, thread: threading.Thread) -> None:
        with self._changed:
            self._script.add(thread)
            self._computing.add(thread)

    def end(self, thread: threading.Thread) -> None:
        with self._changed:
            self._script.discard(thread)
            self._computing.discard(thread)
            self._changed.notify_all()

    def wait(self, ready: Callable[[], bool], end: int) -> None:
        """Wait until `ready` holds, at the latest until `end` [ns]."""
        waiter = _Waiter(ready, end)
        with self._changed:
            self._waiters.append(waiter)
            self._computing.discard(waiter.thread)
            self._changed.notify_all()
        try:
            while not waiter.done:
                if self._take_turn(waiter):
                    try:
                        self._let_time_pass()
                        with self._changed:
                            self._computing.add(waiter.thread)  # for the callbacks
                        self._deliver()
                    finally:
                        self._give_turn(waiter)
        finally:
            with self._changed:
                self._waiters.remove(waiter)
                if waiter.thread in self._script:
                    self._computing.add(waiter.thread)

    def _take_turn(self, waiter: _Waiter) -> bool:
        """True if this thread must advance the robot; otherwise returns after a change."""
        with self._changed:
            if waiter.done:
                return False
            if self._advancing or self._computing:
                if not self._changed.wait(BLOCKED_TIMEOUT) and not self._advancing:
                    self._computing.clear()
                return False
            self._advancing = True
            return True

    def _give_turn(self, waiter: _Waiter) -> None:
        """Wake the threads that are due."""
        with self._changed:
            self._advancing = False
            self._computing.discard(waiter.thread)
            innermost = {other.thread: other for other in self._waiters}
            for other in self._waiters:
                if not other.done and self._is_due(other):
                    other.done = True
                if other.done and innermost[other.thread] is other and other.thread in self._script:
                    self._computing.add(other.thread)
            self._changed.notify_all()

    def _let_time_pass(self) -> None:
        waiters = tuple(self._waiters)
        following = self._next_call()
        ends = [waiter.end for waiter in waiters] + ([] if following is None else [following])
        left = min(ends) - self._now()
        if left > 0:
            self._advance(lambda: self._called() or any(waiter.ready() for waiter in waiters), left / 1e9)

    def _called(self) -> bool:
        following = self._next_call()
        return following is not None and following <= self._now()

    def _is_due(self, waiter: _Waiter) -> bool:
        return waiter.ready() or self._now() >= waiter.end
