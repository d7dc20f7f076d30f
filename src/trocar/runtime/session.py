"""A live simulation in a thread of its own, in real time.

The thread owns the simulation. Others read `session.frame`, the latest moment, and give commands, which the thread
carries out between two steps.
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

PUBLISH = 1.0 / 60.0  # real time between two frames [s]
SLICE = 0.02  # real time spent on steps before looking at commands [s]
MOST_LAG = 0.25  # real time that is caught up; beyond, the simulation is slower than requested [s]
REST = 0.002  # [s]
SPEEDS = (0.05, 10.0)  # simulated per real time
PATIENCE = 60.0  # to wait for an answer: rebuilding a scene on a busy machine takes its time [s]

MOST_WAITING = 10_000  # commands

T = TypeVar("T")


class Session(Commands[Future[None]]):
    """A simulation that plays, pauses, steps and takes commands from any thread.

    A command returns a future at once. Its arguments are checked in the caller's thread: a wrong one raises a
    `TrocarError` and changes nothing. What fails later in the simulation's thread is the exception of the future and
    a message to the user; the simulation goes on.

    Attributes:
        arms: names of the arms. messages: what the user should know. error: what ended the thread, if anything did.
    """

    def __init__(self, settings: Settings | None = None, controller: str = DEFAULT_CONTROLLER) -> None:
        self._live = Live(settings, controller)
        self.messages = self._live.messages
        self.joints = self._live.joints
        self.arms = tuple(self.joints)
        self.error: BaseException | None = None
        self._playing, self._speed, self._factor, self._due = False, 1.0, 0.0, 0.0
        self._stepping = False  # a step is being taken, or has failed
        self._commands: queue.SimpleQueue[tuple[Callable[[Live], Any], Future[Any], bool]] = queue.SimpleQueue()
        self._gate, self._ended = threading.Lock(), False  # no command may enter after the last was taken out
        self._wake, self._closing = threading.Event(), threading.Event()
        self._frame = self._live.frame()
        self._thread = threading.Thread(target=self._run, name="trocar-physics", daemon=True)

    # -- life ----------------------------------------------------------------------------------------------------------

    def start(self) -> Self:
        """Start the thread that simulates."""
        self._thread.start()
        return self

    def close(self) -> None:
        """Carry out what was asked for, except steps that are left over, and end the thread."""
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
        """The thread is alive and takes commands."""
        return self._thread.is_alive() and not self._ended

    # -- time ----------------------------------------------------------------------------------------------------------

    def play(self) -> Future[None]:
        """Let time run."""
        return self._do(lambda live: self._set_playing(True))

    def pause(self) -> Future[None]:
        """Stop time; commands are still carried out."""
        return self._do(lambda live: self._set_playing(False))

    def step(self, steps: int = 1) -> Future[None]:
        """Pause, and advance by a number of timesteps."""
        steps = arguments.count("steps", steps)

        def command(live: Live) -> None:
            self._set_playing(False)
            for _ in range(steps):
                if self._closing.is_set():
                    raise TrocarError("the simulation was closed before all steps were taken")
                self._step()

        return self._do(command)

    def set_speed(self, speed: float) -> Future[None]:
        """Set the simulated time per real time."""
        speed = arguments.number("speed", speed, *SPEEDS)
        return self._do(lambda live: self._set_speed(speed))

    # -- answers -------------------------------------------------------------------------------------------------------

    @property
    def frame(self) -> Frame:
        """The latest moment."""
        return self._frame

    def recorded(self, arm: str | None = None) -> Recording:
        """End the recording of an arm and return it."""
        name = self.name(arm)
        return self.ask(lambda live: live.recorded(name))

    @property
    def recording(self) -> tuple[str, ...]:
        """Names of the arms that are being recorded."""
        return self._live.recording

    def history(self, arm: str | None = None) -> Recorder:
        """The last seconds of an arm."""
        return self._live.history[self.name(arm)]

    def ask(self, question: Callable[[Live], T], timeout: float = PATIENCE) -> T:
        """Result (or error) of `question(live)`, run in the simulation's thread after every command given so far."""
        if threading.current_thread() is self._thread:  # an input asks: waiting would be for ever
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
        """The frame after every command given so far."""
        return self.ask(lambda live: self._publish(), timeout)

    # -- inside --------------------------------------------------------------------------------------------------------

    def _do(self, command: Callable[[Live], None]) -> Future[None]:
        return self._post(command, told=False)

    def _post(self, command: Callable[[Live], T], told: bool) -> Future[T]:
        """Queue a command; `told` if the caller waits for its error, so that the user need not be told too."""
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
        """Take no more commands; those that are left are refused."""
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
            if now - began > SLICE:  # the time that a long command took, such as a change, is not caught up
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
        """Carry out the commands given so far."""
        for _ in range(self._commands.qsize()):
            command, future, told = self._commands.get()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = command(self._live)
            except BaseException as error:
                try:
                    self._report(error, told)
                finally:  # who waits finds the message posted
                    future.set_exception(error)
            else:
                future.set_result(result)
            finally:
                if not future.done():  # an error was lost: nobody waits for ever
                    future.set_exception(TrocarError("the simulation did not say how the command ended"))

    def _report(self, error: BaseException, told: bool) -> None:
        """Deal with the error of a command; one that is no `Exception` ends the thread."""
        if not isinstance(error, Exception):
            raise error
        if self._stepping:
            self._recover(error)
        elif not (told and isinstance(error, TrocarError)):
            self.messages.post(_text(error), "error")

    def _advance(self, until: float) -> float:
        """Take the steps that are due, for as long as there is time; returns the simulated time [s]."""
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
        """Pause after a step that failed, and put the arms where they started, or hold them where they are."""
        self._stepping = False
        self._set_playing(False)
        try:
            if isinstance(error, Diverged):
                self._live.reset()
                done = f"{', '.join(self.arms)} back at the start"
            else:
                self._live.hold()
                done = f"{', '.join(self.arms)} held by {DEFAULT_CONTROLLER}"
        except Exception as another:  # whatever it is, the thread goes on and takes commands
            done = f"{', '.join(self.arms)} left as they are: {_text(another)}"
        self.messages.post(f"{_text(error)}. Paused; {done}", "error")

    def _publish(self) -> Frame:
        self._frame = self._live.frame(self._playing, self._speed, self._factor)
        return self._frame

    def _publish_or_pause(self) -> None:
        """Publish a frame; where that fails, the last one stays and time stands."""
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
    """The message of an error that was raised on purpose; of any other also its kind."""
    return str(error) if isinstance(error, TrocarError) else repr(error)
