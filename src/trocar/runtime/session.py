"""A live simulation in a separate thread, in real time.

The thread owns the simulation. Other threads read `session.frame`, the latest frame, and send commands, which the
thread executes between steps.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, Self, TypeVar

from trocar.errors import TrocarError
from trocar.recording import Recording
from trocar.runtime import arguments
from trocar.runtime.commands import Commands
from trocar.runtime.controllers import DEFAULT_CONTROLLER
from trocar.runtime.frame import Frame
from trocar.runtime.live import Live
from trocar.runtime.recorder import Recorder
from trocar.runtime.settings import TIMESTEP, Settings
from trocar.simulation import Diverged

PUBLISH = 1.0 / 60.0  # real time between frames [s]
SLICE = 0.02  # real time spent on steps before handling commands [s]
MOST_LAG = 0.25  # largest delay that is caught up; beyond it the simulation runs slower than requested [s]
REST = 0.002  # [s]
SPEEDS = (0.05, 10.0)  # ratio of simulated to real time
PATIENCE = 60.0  # longest wait for an answer: rebuilding a scene on a busy machine is slow [s]

MOST_WAITING = 10_000  # queued commands

T = TypeVar("T")


class Session(Commands[Future[None]]):
    """A simulation that plays, pauses, steps and accepts commands from any thread.

    A command returns a future at once. Its arguments are checked in the caller's thread: an invalid one raises a
    `TrocarError` and changes nothing. A later failure in the simulation's thread becomes the exception of the future
    and a message to the user; the simulation continues.

    Attributes:
        arms: names of the arms. messages: messages to the user. error: exception that ended the thread, if any.
    """

    def __init__(self, settings: Settings | None = None, controller: str = DEFAULT_CONTROLLER) -> None:
        self._live = Live(settings, controller)
        self.messages = self._live.messages
        self.joints = self._live.joints
        self.arms = tuple(self.joints)
        self.error: BaseException | None = None
        self._playing, self._speed, self._factor, self._due = False, 1.0, 0.0, 0.0
        self._stepping = False  # a step is in progress or has failed
        self._commands: queue.SimpleQueue[tuple[Callable[[Live], Any], Future[Any], bool]] = queue.SimpleQueue()
        self._gate, self._ended = threading.Lock(), False  # no command is queued after the last was removed
        self._wake, self._closing = threading.Event(), threading.Event()
        self._frame = self._live.frame()
        self._thread = threading.Thread(target=self._run, name="trocar-physics", daemon=True)

    # -- life ----------------------------------------------------------------------------------------------------------

    def start(self) -> Self:
        """Start the simulation thread."""
        self._thread.start()
        return self

    def close(self) -> None:
        """Execute pending commands, except remaining steps, and end the thread."""
        self._closing.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(timeout=10.0)
        else:
            self._end(None)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_error: object) -> None:
        self.close()

    @property
    def running(self) -> bool:
        """True if the thread is alive and accepts commands."""
        return self._thread.is_alive() and not self._ended

    # -- time ----------------------------------------------------------------------------------------------------------

    def play(self) -> Future[None]:
        """Start or continue the simulation."""
        return self._do(lambda live: self._set_playing(True))

    def pause(self) -> Future[None]:
        """Pause the simulation; commands are still executed."""
        return self._do(lambda live: self._set_playing(False))

    def step(self, steps: int = 1) -> Future[None]:
        """Pause and advance by a number of timesteps."""
        steps = arguments.count("steps", steps)

        def command(live: Live) -> None:
            self._set_playing(False)
            for _ in range(steps):
                if self._closing.is_set():
                    raise TrocarError("the simulation was closed before all steps were taken")
                self._step()

        return self._do(command)

    def set_speed(self, speed: float) -> Future[None]:
        """Set the ratio of simulated to real time."""
        speed = arguments.number("speed", speed, *SPEEDS)
        return self._do(lambda live: self._set_speed(speed))

    # -- answers -------------------------------------------------------------------------------------------------------

    @property
    def frame(self) -> Frame:
        """The latest frame."""
        return self._frame

    def recorded(self, arm: str | None = None) -> Recording:
        """Stop the recording of an arm and return it."""
        name = self.name(arm)
        return self.ask(lambda live: live.recorded(name))

    @property
    def recording(self) -> tuple[str, ...]:
        """Names of the arms that are being recorded."""
        return self._live.recording

    def history(self, arm: str | None = None) -> Recorder:
        """The recent history of an arm."""
        return self._live.history[self.name(arm)]

    def ask(self, question: Callable[[Live], T], timeout: float = PATIENCE) -> T:
        """Result (or error) of `question(live)`, run in the simulation's thread after all earlier commands."""
        if threading.current_thread() is self._thread:  # called by an input: waiting would deadlock
            return question(self._live)
        if self._thread.ident is None:
            raise TrocarError("the simulation is not running: start() the session first")
        future = self._post(question, told=True)
        try:
            return future.result(timeout)
        except TimeoutError:
            if future.done():  # the question's own error
                raise
            raise TrocarError(f"the simulation did not answer within {timeout:g} s") from None

    def settled(self, timeout: float = PATIENCE) -> Frame:
        """The frame after all earlier commands."""
        return self.ask(lambda live: self._publish(), timeout)

    # -- internals -----------------------------------------------------------------------------------------------------

    def _do(self, command: Callable[[Live], None]) -> Future[None]:
        return self._post(command, told=False)

    def _post(self, command: Callable[[Live], T], told: bool) -> Future[T]:
        """Queue a command. told: the caller waits for its error, so no message to the user is needed."""
        future: Future[T] = Future()
        with self._gate:
            if self._ended:
                raise self._refusal()
            if self._commands.qsize() >= MOST_WAITING:
                raise TrocarError(f"the simulation is busy: {MOST_WAITING} commands wait; try again later")
            self._commands.put((command, future, told))
        self._wake.set()
        return future

    def _run(self) -> None:
        error: BaseException | None = None
        try:
            self._loop()
        except BaseException as caught:
            error = caught
        finally:
            self._end(error)

    def _end(self, error: BaseException | None) -> None:
        """Accept no more commands and reject the remaining ones."""
        with self._gate:
            if self._ended:
                return
            self._ended, self.error = True, error
        self._frame = replace(self._frame, playing=False, factor=0.0)
        if error is not None:
            self.messages.post(f"the simulation has ended: {error!r}", "error")
        while not self._commands.empty():
            _, future, _ = self._commands.get()
            if future.set_running_or_notify_cancel():
                future.set_exception(self._refusal())

    def _refusal(self) -> TrocarError:
        return TrocarError(f"the simulation has ended{'' if self.error is None else f': {self.error!r}'}")

    def _loop(self) -> None:
        last = published = measured = time.perf_counter()
        simulated = 0.0
        while True:
            closing, began = self._closing.is_set(), time.perf_counter()
            self._obey()
            if closing:
                return
            now = time.perf_counter()
            if now - began > SLICE:  # the duration of a long command, such as a change, is not caught up
                last = now
            if self._playing:
                self._due = min(self._due + (now - last) * self._speed, MOST_LAG * self._speed)
                simulated += self._advance(now + SLICE)
            last = now
            if now - measured > 0.5:
                self._factor, simulated, measured = simulated / (now - measured), 0.0, now
            if now - published >= PUBLISH:
                published = now
                self._publish_or_pause()
            self._wake.wait(REST)
            self._wake.clear()

    def _obey(self) -> None:
        """Execute the queued commands."""
        for _ in range(self._commands.qsize()):
            command, future, told = self._commands.get()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = command(self._live)
            except BaseException as error:
                try:
                    self._report(error, told)
                finally:  # after the message was posted, for those who wait
                    future.set_exception(error)
            else:
                future.set_result(result)
            finally:
                if not future.done():  # the error was lost; do not wait forever
                    future.set_exception(TrocarError("the simulation did not report the result of the command"))

    def _report(self, error: BaseException, told: bool) -> None:
        """Handle the error of a command; one that is not an `Exception` ends the thread."""
        if not isinstance(error, Exception):
            raise error
        if self._stepping:
            self._recover(error)
        elif not (told and isinstance(error, TrocarError)):
            self.messages.post(_text(error), "error")

    def _advance(self, until: float) -> float:
        """Take the steps that are due within the time slice; returns the simulated time [s]."""
        began = self._live.time
        try:
            while self._due >= TIMESTEP and time.perf_counter() < until:
                self._due -= TIMESTEP
                self._step()
        except Exception as error:
            self._recover(error)
            return 0.0
        return self._live.time - began

    def _step(self) -> None:
        self._stepping = True
        self._live.step()
        self._stepping = False

    def _recover(self, error: Exception) -> None:
        """Pause after a failed step and return the arms to their start, or hold them in place."""
        self._stepping = False
        self._set_playing(False)
        try:
            if isinstance(error, Diverged):
                self._live.reset()
                done = f"{', '.join(self.arms)} back at the start"
            else:
                self._live.hold()
                done = f"{', '.join(self.arms)} held by {DEFAULT_CONTROLLER}"
        except Exception as another:  # in any case the thread continues and accepts commands
            done = f"{', '.join(self.arms)} left as they are: {_text(another)}"
        self.messages.post(f"{_text(error)}. Paused; {done}", "error")

    def _publish(self) -> Frame:
        self._frame = self._live.frame(self._playing, self._speed, self._factor)
        return self._frame

    def _publish_or_pause(self) -> None:
        """Publish a frame; if that fails, keep the last one and pause."""
        try:
            self._publish()
        except Exception as error:
            if self._playing:
                self._recover(error)

    def _set_playing(self, playing: bool) -> None:
        self._playing, self._due = playing, 0.0

    def _set_speed(self, speed: float) -> None:
        self._speed = speed


def _text(error: Exception) -> str:
    """The message of a TrocarError; for other errors also the type."""
    return str(error) if isinstance(error, TrocarError) else repr(error)
