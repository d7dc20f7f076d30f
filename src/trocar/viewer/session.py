"""A live simulation in a thread of its own: in real time, and never waiting for whoever looks at it.

The thread owns the simulation. Others read `session.frame`, the latest moment, and ask for things by commands, which
the thread carries out between two steps.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

import numpy as np

from trocar.errors import TrocarError
from trocar.recording import Recording
from trocar.simulation import Diverged
from trocar.spatial import Array
from trocar.viewer.frame import Frame, History
from trocar.viewer.live import Live
from trocar.viewer.plant import TIMESTEP, Settings

PUBLISH = 1.0 / 60.0  # real time between two frames [s]
SLICE = 0.02  # real time spent on steps before looking at commands [s]
MOST_LAG = 0.25  # real time that is caught up; beyond, the simulation is slower than asked for [s]
REST = 0.002  # [s]
SPEEDS = (0.05, 10.0)
PATIENCE = 60.0  # for an answer: a scene that is built anew on a busy machine takes its time [s]

T = TypeVar("T")


class Session:
    """A simulation that plays, pauses, steps and takes commands.

    Attributes:
        frame: the latest moment. history: what plots show. arms: what every arm carries, by its name.
        outlook: from where to look at them at first, and at what (3,) [m]; None for the usual.
        notices: what the user should be told (text), to be taken from the queue.
    """

    def __init__(self, settings: Settings | None = None, controller: str | None = None) -> None:
        self.notices: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._live = Live(settings or Settings(), controller, self.notices)
        self.arms = {name: plant.arm.carries for name, plant in self._live.world.plants.items()}
        self.outlook = self._live.world.outlook()
        self._playing, self._speed, self._factor, self._due = False, 1.0, 0.0, 0.0
        self._commands: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._wake, self._closing = threading.Event(), False
        self.frame = self._snapshot()
        self._thread = threading.Thread(target=self._run, name="trocar-physics", daemon=True)

    # -- from any thread -------------------------------------------------------------------------------------------

    def start(self) -> Session:
        self._thread.start()
        return self

    def close(self) -> None:
        """End the thread; what was asked for before is done first."""
        self._post(self._close)
        self._thread.join(timeout=10.0)

    @property
    def history(self) -> History:
        return self._live.history

    def settled(self, timeout: float = PATIENCE) -> Frame:
        """The frame after every command given so far."""

        def command() -> Frame:
            self.frame = self._snapshot()
            return self.frame

        return self._answer(command, timeout)

    def play(self) -> None:
        self._post(lambda: self._set(playing=True))

    def pause(self) -> None:
        self._post(lambda: self._set(playing=False))

    def step(self, steps: int = 1) -> None:
        """Pause, and advance by so many timesteps."""

        def command() -> None:
            self._set(playing=False)
            for _ in range(steps):
                self._live.step()

        self._post(command)

    def set_speed(self, speed: float) -> None:
        """Simulated time per real time."""
        low, high = SPEEDS
        self._post(lambda: self._set(speed=float(np.clip(speed, low, high))))

    def reset(self, q: Array | None = None) -> None:
        """Start again with all arms where they start, the chosen one at q (n,) if given, at rest."""
        self._post(lambda: self._live.reset(None if q is None else np.array(q, dtype=float)))

    def choose(self, arm: str) -> None:
        """The arm of a scene that targets, pushes, plots and recordings are of; the others hold theirs."""
        self._post(lambda: self._live.choose(arm))

    def aim(self, target: Array) -> None:
        """Give the target of the mode: q (n,), T (4, 4) or tau (n,). A paused arm is put at joint targets at once."""
        self._post(lambda: self._live.aim(np.array(target, dtype=float), self._playing))

    def drive(self, controller: str, gains: Mapping[str, float] | None = None) -> None:
        """Change to another controller, from where the arm is."""
        self._post(lambda: self._live.drive(controller, gains))

    def retune(self, gains: Mapping[str, float]) -> None:
        self._post(lambda: self._live.driver.retune(gains))

    def push(self, force: Array) -> None:
        """Force (3,) on the tip [N], base axes, until changed."""
        self._post(lambda: self._live.push(np.array(force, dtype=float)))

    def change(self, **settings: Any) -> None:
        """Other settings, the arm going on from where it is; what is refused becomes a notice.

        counterweight, friction, instrument: of the chosen arm. gravity: (3,) [m/s^2] in base axes, of a scene in the
        world. set_up: set-up joints (n,) [m, rad] of the chosen arm, on a cart. An arm alone takes all of `Settings`.
        """
        self._post(lambda: self._live.change(settings))

    def changed(self, **settings: Any) -> Frame:
        """As `change`, but waits for it: the frame after it, or an error that says why it is refused."""

        def command() -> Frame:
            self._live.change(settings)
            self.frame = self._snapshot()
            return self.frame

        return self._answer(command)

    def record(self) -> None:
        """Start recording."""
        self._post(self._live.record)

    def recorded(self, timeout: float = PATIENCE) -> Recording:
        """End recording and return what was recorded."""
        return self._answer(lambda: self._live.recorded(), timeout)

    @property
    def recording(self) -> bool:
        return self._live.recording

    def _answer(self, command: Callable[[], T], timeout: float = PATIENCE) -> T:
        """What a command returns or raises, after every command given so far."""
        answer: Future[T] = Future()

        def asked() -> None:
            try:
                answer.set_result(command())
            except TrocarError as error:
                answer.set_exception(error)

        self._post(asked)
        try:
            return answer.result(timeout)
        except TimeoutError:
            raise TrocarError(f"the simulation did not answer within {timeout:g} s") from None

    # -- in the thread ---------------------------------------------------------------------------------------------

    def _post(self, command: Callable[[], None]) -> None:
        self._commands.put(command)
        self._wake.set()

    def _run(self) -> None:
        last = published = measured = time.perf_counter()
        simulated = 0.0
        while not self._closing:
            self._obey()
            now = time.perf_counter()
            if self._playing:
                self._due = min(self._due + (now - last) * self._speed, MOST_LAG * self._speed)
                simulated += self._advance(now + SLICE)
            last = now
            if now - measured > 0.5:
                self._factor, simulated, measured = simulated / (now - measured), 0.0, now
            if now - published >= PUBLISH:
                published = now
                self.frame = self._snapshot()
            self._wake.wait(REST)
            self._wake.clear()

    def _obey(self) -> None:
        done = False
        while not self._commands.empty():
            command = self._commands.get()
            try:
                command()
            except Diverged as error:
                self._stumble(error)
            except TrocarError as error:
                self.notices.put(str(error))
            done = True
        if done:
            self._due = min(self._due, TIMESTEP)

    def _advance(self, until: float) -> float:
        """Steps that are due, for as long as there is time; the time simulated [s]."""
        began = self._live.world.time
        try:
            while self._due >= TIMESTEP and time.perf_counter() < until:
                self._due -= TIMESTEP
                self._live.step()
        except TrocarError as error:
            self._stumble(error)
            return 0.0
        return self._live.world.time - began

    def _snapshot(self) -> Frame:
        return self._live.snapshot(self._playing, self._speed, self._factor)

    def _set(self, *, playing: bool | None = None, speed: float | None = None) -> None:
        if playing is not None:
            self._playing, self._due = playing, 0.0
        if speed is not None:
            self._speed = speed

    def _close(self) -> None:
        self._closing = True

    def _stumble(self, error: Exception) -> None:
        """A run that cannot go on: pause, say why, put the arms back."""
        self._playing = False
        self.notices.put(f"{error}. Paused; {'the arm is' if len(self.arms) == 1 else 'all arms are'} back at home")
        self._live.reset()
