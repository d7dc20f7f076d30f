"""The session of a script: its robot, its clock, and the order in which its callbacks run.

Core clients wait through the session instead of the robot, so that the script's callbacks run while it waits and never
inside a step of the simulation: a callback may send commands and wait like any other code. In fast time the clock
advances only while all threads of the script wait, to the first due time: a loop in a thread runs at exact simulated
times, regardless of the machine's load. Time does not wait for threads not created with `threading.Thread`.
"""

from __future__ import annotations

import heapq
import itertools
import math
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trocar.errors import TrocarError
from trocar.robot.bus import Bus
from trocar.scripts.polls import Polls
from trocar.scripts.robot_messages import RobotMessages
from trocar.transports.ros_time import NANOSECONDS, Time

if TYPE_CHECKING:
    from trocar.robot.robot import Robot

APIS = ("1", "2.0", "2.2", "2.4")  # releases of the Python packages crtk and dvrk
FOREVER = 1e9  # [s]
BLOCKED_TIMEOUT = 0.05  # real time after which a thread that neither waits nor ends counts as blocked [s]


@dataclass(eq=False)
class _Waiter:
    """A thread that waits until `ready` holds, at the latest at `end` [ns]."""

    ready: Callable[[], bool]
    end: int
    thread: threading.Thread = field(default_factory=threading.current_thread)
    done: bool = False


class ThreadTurns:
    """Scheduler of the threads of a session's script: which compute, which wait, and which advances the robot."""

    def __init__(self, session: Session) -> None:
        self._session = session
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
                        self._session.deliver()
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
                if not other.done and (other.ready() or self._session.now >= other.end):
                    other.done = True
                if other.done and innermost[other.thread] is other and other.thread in self._script:
                    self._computing.add(other.thread)
            self._changed.notify_all()

    def _let_time_pass(self) -> None:
        session, waiters = self._session, tuple(self._waiters)

        def called() -> bool:
            return session.next_call() <= session.now

        left = min(session.next_call(), *(waiter.end for waiter in waiters)) - session.now
        if left > 0:
            session.robot.wait_for(lambda: called() or any(waiter.ready() for waiter in waiters), left / 1e9)


class Session:
    """A robot for one script.

    Args:
        robot: the robot, in fast or real time. api: release of the interface, one of `APIS`.
        fast: time passes only while all threads of the script wait; otherwise a thread delivers callbacks.

    Attributes:
        stopping: the script or Ctrl-C requested the end of the node.
        turns: scheduler of the script's threads in fast time.
        messages: errors and warnings of the robot. polls: counts readings between two waits.
    """

    def __init__(self, robot: Robot, api: str = "2.4", *, fast: bool = True) -> None:
        self.robot, self.api, self.fast = robot, api, fast
        self.messages = RobotMessages(robot)
        self.polls = Polls(self)
        self.stopping = False
        self._calls: deque[Callable[[], None]] = deque()
        self._timers: list[tuple[int, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._shutdown_callbacks: list[Callable[[], None]] = []
        self._closed = False
        self._thread: threading.Thread | None = None
        self.turns: ThreadTurns | None = None
        if fast:
            self.turns = ThreadTurns(self)
        else:
            self._thread = threading.Thread(target=self._run, name="callbacks", daemon=True)
            self._thread.start()

    @property
    def bus(self) -> Bus:
        return self.robot.bus

    @property
    def now(self) -> int:
        """The robot's clock [ns]."""
        return self.robot.now

    @property
    def tuples(self) -> bool:
        """True if getters return (value, time of measurement)."""
        return self.api == "2.4"

    # -- waiting -------------------------------------------------------------------------------------------------------

    def sleep(self, seconds: float, *, stoppable: bool = True) -> None:
        """Wait for a time by the robot's clock [s]; ends early when the session stops, if it is stoppable."""
        self.wait_for(lambda: False, seconds, stoppable=stoppable)

    def sleep_until(self, end: int) -> None:
        """Wait until the robot's clock has reached `end` [ns]."""
        self.wait_for(lambda: False, (end - self.now) / NANOSECONDS)

    def check_running(self) -> None:
        """Raise an error if the robot has stopped before the session."""
        if not self._closed:
            self.robot.check_running()

    def wait_for(self, condition: Callable[[], bool], timeout: float, *, stoppable: bool = True) -> bool:
        """Wait until a condition holds; False after `timeout` by the robot's clock [s], or when the session stops."""
        end = self.now + int(min(timeout, FOREVER) * NANOSECONDS)
        with self.polls.waiting():
            if self.turns is None:
                holds = self._wait_in_real_time(condition, end, stoppable)
            else:
                self.deliver()
                if not condition():
                    self.turns.wait(lambda: condition() or self._ended(stoppable), end)
                holds = condition()
        if self._closed and not holds and threading.current_thread() not in (threading.main_thread(), self._thread):
            raise SystemExit  # a daemon thread of a script that has ended
        return holds

    def _wait_in_real_time(self, condition: Callable[[], bool], end: int, stoppable: bool) -> bool:
        delivers = threading.current_thread() is self._thread
        while not condition():
            if delivers:
                self.deliver()
            before = self.now
            if before >= end or self._ended(stoppable):
                return condition()
            due = max(self.next_call(), before + 1) if delivers else end
            left = (min(end, due) - before) / NANOSECONDS
            self.robot.wait_for(lambda: condition() or (delivers and bool(self._calls)) or self._ended(stoppable), left)
        return True

    def _ended(self, stoppable: bool) -> bool:
        return self._closed or (stoppable and self.stopping and threading.current_thread() is not self._thread)

    # -- callbacks -----------------------------------------------------------------------------------------------------

    def post(self, call: Callable[[], None]) -> None:
        """Run a callback of the script as soon as it waits, or in the thread of callbacks."""
        self._calls.append(call)

    def at(self, time: int, call: Callable[[], None]) -> None:
        """Run a callback when the robot's clock reaches a time [ns]."""
        heapq.heappush(self._timers, (time, next(self._numbers), call))

    def next_call(self) -> float:
        """Time of the next callback [ns]; 0: immediately, infinite: no callback is scheduled."""
        if self._calls:
            return 0
        return self._timers[0][0] if self._timers else math.inf

    def deliver(self) -> None:
        """Run the callbacks that are due."""
        while self._timers and self._timers[0][0] <= self.now:
            self._guarded(heapq.heappop(self._timers)[2])
        for _ in range(len(self._calls)):  # callbacks posted meanwhile run in the next round
            try:
                call = self._calls.popleft()
            except IndexError:  # another thread took it
                return
            self._guarded(call)

    def _guarded(self, call: Callable[[], None]) -> None:
        """Run a callback; an error is printed and the script continues, as in ROS."""
        try:
            with self.polls.computing():
                call()
        except Exception:
            print("error in a callback of the script:", file=sys.stderr)
            traceback.print_exc()

    def _run(self) -> None:
        while not self._closed:
            self.wait_for(lambda: False, 0.1)

    # -- end -----------------------------------------------------------------------------------------------------------

    def on_stop(self, callback: Callable[[], None]) -> None:
        self._shutdown_callbacks.append(callback)

    def stop(self) -> None:
        """Make every wait return and `is_shutdown` true; functions registered with `on_stop` run once."""
        self.stopping = True
        while self._shutdown_callbacks:
            self._guarded(self._shutdown_callbacks.pop(0))

    def close(self) -> None:
        """Stop, and end the thread of callbacks."""
        self.stop()
        self._closed = True
        self.messages.close()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=5.0)


_current: Session | None = None


def current() -> Session:
    """The session of the script that runs in this process."""
    if _current is None:
        if threading.current_thread() is not threading.main_thread():
            raise SystemExit  # a daemon thread of a script that has ended
        raise TrocarError("the stand-ins for ROS and dvrk work only inside trocar run: trocar run SCRIPT.py")
    return _current


def use(session: Session | None) -> None:
    global _current
    _current = session


def _clock() -> int:
    session = current()
    session.polls.count()
    return session.now


Time.clock = _clock
