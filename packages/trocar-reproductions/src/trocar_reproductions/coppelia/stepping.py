"""When a served simulation takes its steps: at the triggers of synchronous clients, otherwise in real time."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import RLock

from trocar.errors import TrocarError
from trocar_reproductions.coppelia.remote_scene import RemoteScene, SceneRefusal

MAX_LAG = 0.25  # largest delay of a free-running simulation that is caught up [s]


class Stepping:
    """Steps of a scene that several clients share.

    While a client is synchronous, a step follows when every synchronous client has sent a trigger. Without one, a
    running simulation takes a step per period of real time. A guest, a client of the ZMQ API, is asked only while no
    other client is synchronous. A failed step stops the simulation, not the server.

    Args:
        scene: the scene. report: called with one line about each failure.
        wake: called by other threads than the one of `run_free` after they have changed the simulation.

    Attributes:
        lock: held while commands are executed and steps taken. steps: number of steps taken.
    """

    def __init__(
        self, scene: RemoteScene, report: Callable[[str], None], wake: Callable[[], None] = lambda: None
    ) -> None:
        self.scene, self.lock, self.steps, self.wake = scene, RLock(), 0, wake
        self._report = report
        self._triggered: dict[object, bool] = {}  # by synchronous client
        self._guests: set[object] = set()
        self._due = 0.0

    def synchronise(self, client: object, on: bool, *, guest: bool = False) -> None:
        """Let the simulation wait for the triggers of a client, or no longer."""
        if guest:
            self._guests.add(client)
        if on:
            self._triggered.setdefault(client, False)
        elif self._triggered.pop(client, None) is not None:
            self._step_if_all_triggered()

    def stop(self) -> None:
        """Stop the simulation. If it ran, this also ends the synchronous mode of all clients, as in CoppeliaSim."""
        ran = self.scene.running
        self.scene.stop()
        if ran:
            self._triggered.clear()

    def check_trigger(self, client: object) -> None:
        """Raise the reason if a client cannot ask for a step now."""
        if client not in self._triggered:
            raise SceneRefusal("a trigger needs the synchronous mode; call simxSynchronous or sim.setStepping first")
        if not self._advancing():
            raise SceneRefusal("a trigger needs a running simulation; call simxStartSimulation first")

    def trigger(self, client: object) -> None:
        """A synchronous client asks for the next step, unless the simulation was stopped after its request."""
        if client in self._triggered and self._advancing():
            self._triggered[client] = True
            self._step_if_all_triggered()

    def waits(self, client: object) -> bool:
        """A client has sent a trigger, and others have not."""
        return self._triggered.get(client, False)

    def others(self, client: object) -> bool:
        """Another client is synchronous."""
        return bool(self._deciding().keys() - {client})

    def settle(self) -> None:
        """Release the waiting clients after the simulation was stopped or paused."""
        if not self._advancing():
            self._triggered = dict.fromkeys(self._triggered, False)

    def delay(self) -> float | None:
        """Time until the next step of a free-running simulation [s]; None if none is due."""
        if self._triggered or not self._advancing():
            self._due = 0.0
            return None
        now = time.monotonic()
        self._due = max(self._due or now + self.scene.period, now - MAX_LAG)
        return max(0.0, self._due - now)

    def run_free(self) -> None:
        """Take the step that is due in a free-running simulation."""
        if self.delay() == 0.0:
            self._due += self.scene.period
            self._step()

    def _advancing(self) -> bool:
        return self.scene.running and not self.scene.paused

    def _deciding(self) -> dict[object, bool]:
        """Synchronous clients whose triggers count."""
        hosts = {client: sent for client, sent in self._triggered.items() if client not in self._guests}
        return hosts or self._triggered

    def _step_if_all_triggered(self) -> None:
        if self._triggered and all(self._deciding().values()):
            self._triggered = dict.fromkeys(self._triggered, False)
            self._step()

    def _step(self) -> None:
        try:
            self.scene.step()
            self.steps += 1
        except (TrocarError, Warning) as error:  # a warning only where warnings are errors
            self.stop()
            self._report(f"the simulation was stopped: {error}")
