"""A live simulation in a thread of its own: in real time, and never waiting for whoever looks at it.

The thread owns the simulator. Others read `session.frame`, the latest moment, and ask for things by commands, which
the thread carries out between two steps.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from trocar.control import Setpoint, State
from trocar.errors import TrocarError
from trocar.recording import Recording
from trocar.simulation import Diverged
from trocar.spatial import Array
from trocar.viewer.driving import Driver, Mode, choices
from trocar.viewer.frame import Frame, History, contact_forces
from trocar.viewer.plant import TIMESTEP, Plant, Settings
from trocar.viewer.recorder import Recorder

PUBLISH = 1.0 / 60.0  # real time between two frames [s]
SLICE = 0.02  # real time spent on steps before looking at commands [s]
MOST_LAG = 0.25  # real time that is caught up; beyond, the simulation is slower than asked for [s]
REST = 0.002  # [s]
SHOWN = 8.0, 0.02  # history for plots: length and interval, simulated [s]
SPEEDS = (0.05, 10.0)


class Session:
    """A simulation that plays, pauses, steps and takes commands.

    Attributes:
        frame: the latest moment. history: what plots show.
        notices: what the user should be told (text), to be taken from the queue.
    """

    def __init__(self, settings: Settings | None = None, controller: str | None = None) -> None:
        self._plant = Plant(settings or Settings())
        self._driver = Driver(self._plant, controller or choices(Mode.joint)[0])
        self._force = np.zeros(3)
        self._playing, self._speed, self._factor, self._due = False, 1.0, 0.0, 0.0
        self._time0, self._number = 0.0, 0
        self._home = np.array(self._plant.arm.home)
        self._acted = False  # whether a step has been taken since the arm was put where it is
        self._recorder: Recorder | None = None
        self._commands: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._wake, self._closing = threading.Event(), False
        self.notices: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.history = History(*SHOWN)
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

    def settled(self, timeout: float = 10.0) -> Frame:
        """The frame after every command given so far."""
        done = threading.Event()

        def command() -> None:
            self.frame = self._snapshot()
            done.set()

        self._post(command)
        if not done.wait(timeout):
            raise TrocarError(f"the simulation did not answer within {timeout:g} s")
        return self.frame

    def play(self) -> None:
        self._post(lambda: self._set(playing=True))

    def pause(self) -> None:
        self._post(lambda: self._set(playing=False))

    def step(self, steps: int = 1) -> None:
        """Pause, and advance by so many timesteps."""

        def command() -> None:
            self._set(playing=False)
            for _ in range(steps):
                self._step()

        self._post(command)

    def set_speed(self, speed: float) -> None:
        """Simulated time per real time."""
        low, high = SPEEDS
        self._post(lambda: self._set(speed=float(np.clip(speed, low, high))))

    def reset(self, q: Array | None = None) -> None:
        """Start again at q (n,), home without, at rest."""
        self._post(lambda: self._reset(self._home if q is None else np.array(q, dtype=float)))

    def aim(self, target: Array) -> None:
        """Give the target of the mode: q (n,), T (4, 4) or tau (n,). A paused arm is put at joint targets at once."""
        self._post(lambda: self._aim(np.array(target, dtype=float)))

    def drive(self, controller: str, gains: Mapping[str, float] | None = None) -> None:
        """Change to another controller, from where the arm is."""

        def command() -> None:
            self._driver = Driver(self._plant, controller, gains)

        self._post(command)

    def retune(self, gains: Mapping[str, float]) -> None:
        self._post(lambda: self._driver.retune(gains))

    def push(self, force: Array) -> None:
        """Force (3,) on the tip [N], base axes, until changed."""
        self._post(lambda: self._push(np.array(force, dtype=float)))

    def change(self, **settings: Any) -> None:
        """Other settings (counterweight, friction, gravity, instrument, ...), the arm going on from where it is."""
        self._post(lambda: self._change(settings))

    def record(self) -> None:
        """Start recording."""

        def command() -> None:
            self._recorder = Recorder(self._plant.arm.n)

        self._post(command)

    def recorded(self, timeout: float = 10.0) -> Recording:
        """End recording and return what was recorded."""
        answer: queue.SimpleQueue[Recording | TrocarError] = queue.SimpleQueue()

        def command() -> None:
            recorder, self._recorder = self._recorder, None
            try:
                if recorder is None:
                    raise TrocarError("nothing is being recorded")
                answer.put(recorder.recording(self._plant.sim, self._driver.law))
            except TrocarError as error:
                answer.put(error)

        self._post(command)
        try:
            result = answer.get(timeout=timeout)
        except queue.Empty:
            raise TrocarError(f"the simulation did not answer within {timeout:g} s") from None
        if isinstance(result, TrocarError):
            raise result
        return result

    @property
    def recording(self) -> bool:
        return self._recorder is not None

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
            except TrocarError as error:
                self.notices.put(str(error))
            done = True
        if done:
            self._due = min(self._due, TIMESTEP)

    def _advance(self, until: float) -> float:
        """Steps that are due, for as long as there is time; the time simulated [s]."""
        began = self._plant.sim.time
        try:
            while self._due >= TIMESTEP and time.perf_counter() < until:
                self._due -= TIMESTEP
                self._step()
        except (TrocarError, Diverged) as error:
            self._stumble(error)
            return 0.0
        return self._plant.sim.time - began

    def _step(self) -> None:
        sim = self._plant.sim
        state = State(sim.time, sim.measured_q, sim.measured_dq)
        tau = self._driver.effort(state)
        if self._force.any():
            self._load()
        sim.step(tau)
        self._acted = True
        setpoint = self._driver.setpoint
        q_ref = setpoint.q if isinstance(setpoint, Setpoint) else state.q
        self.history.add(self._time0 + state.t, state.q, state.dq, sim.ddq, sim.tau, q_ref)
        if self._recorder is not None and not self._recorder.add(state, sim.ddq, sim.tau, q_ref):
            self.notices.put(f"recording stopped after {self._recorder.seconds:g} s; export it or start another")

    def _snapshot(self) -> Frame:
        sim, setpoint = self._plant.sim, self._driver.setpoint
        self._number += 1
        return Frame(
            number=self._number,
            plant=self._plant,
            driver=self._driver,
            time=self._time0 + sim.time,
            q=sim.q.copy(),
            dq=sim.dq.copy(),
            ddq=sim.ddq.copy() if self._acted else None,
            tau=sim.tau.copy() if self._acted else None,
            qpos=sim.data.qpos.copy(),
            q_ref=setpoint.q.copy() if isinstance(setpoint, Setpoint) else None,
            T_tip=sim.tip_pose(),
            T_ref=None if self._driver.mode is not Mode.cartesian else setpoint.T.copy(),
            force=self._force.copy(),
            contacts=contact_forces(sim),
            rcm_error=sim.rcm_error() if sim.arm.has_rcm else None,
            loop_error=sim.loop_error() if sim.arm.loops else None,
            playing=self._playing,
            speed=self._speed,
            factor=self._factor if self._playing else 0.0,
        )

    def _set(self, *, playing: bool | None = None, speed: float | None = None) -> None:
        if playing is not None:
            self._playing, self._due = playing, 0.0
        if speed is not None:
            self._speed = speed

    def _close(self) -> None:
        self._closing = True

    def _reset(self, q: Array) -> None:
        self._plant.sim.reset(q)
        self._acted = False
        self._time0, self._force = 0.0, np.zeros(3)
        self.history.clear()
        self._driver = Driver(self._plant, self._driver.controller, self._driver.gains)

    def _aim(self, target: Array) -> None:
        mode, plant = self._driver.mode, self._plant
        if mode is Mode.joint:
            target = plant.within_limits(target)
            if not self._playing:
                plant.sim.place(target)
                self._acted = False
                self._driver = Driver(plant, self._driver.controller, self._driver.gains)
        elif mode is Mode.cartesian:
            # the inverse says why a pose cannot be had, better than an arm that strains at its limits
            if plant.arm.tip_joints >= 6:
                plant.mechanism.inverse_kinematics(target, plant.sim.q)
            elif not plant.workspace.contains(target[:3, 3]):
                raise TrocarError("the target is out of reach")
        self._driver.aim(target)

    def _push(self, force: Array) -> None:
        self._force = force
        self._load()

    def _load(self) -> None:
        """The force acts at the tip; the simulator wants a wrench at the origin of the body that carries it."""
        sim = self._plant.sim
        T_body_tip = sim.arm.T_body_tip
        lever = sim.tip_pose()[:3, :3] @ T_body_tip[:3, :3].T @ T_body_tip[:3, 3]
        sim.apply_wrench(np.concatenate([self._force, np.cross(lever, self._force)]))

    def _change(self, settings: Mapping[str, Any]) -> None:
        old = self._plant
        plant = Plant(replace(old.settings, **settings))
        if plant.arm.n != old.arm.n:
            raise TrocarError("another arm needs a viewer of its own: trocar view ARM")
        plant.sim.reset(plant.within_limits(old.sim.q), old.sim.dq)
        self._time0 += old.sim.time
        self._plant, self._acted = plant, False
        self._home = plant.within_limits(np.array(plant.arm.home))
        self._driver = Driver(plant, self._driver.controller, self._driver.gains)
        self._push(self._force)
        if self._recorder is not None:
            self._recorder = None
            self.notices.put("recording ended: the arm that was recorded is another now")

    def _stumble(self, error: Exception) -> None:
        """A run that cannot go on: pause, say why, put the arm back home."""
        self._playing = False
        self.notices.put(f"{error}. Paused; the arm is back at home")
        self._reset(self._home)
