"""A simulated dVRK in process: scene, arm controllers, bus and clock."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.closing import Closable
from trocar.errors import TrocarError, check_known, shown
from trocar.robot.bus import Bus
from trocar.robot.clients import devices as clients
from trocar.robot.controller.actuators import Sensors
from trocar.robot.controller.cart_and_console import SetUpJoints
from trocar.robot.controller.constants import FREQUENCY, PERIOD, PUBLISHED_CYCLES
from trocar.robot.controller.equipment import connect
from trocar.robot.controller.loop import ControlLoop
from trocar.robot.controller.patient_arms import ClutchedArm
from trocar.robot.controller.reports import Reports
from trocar.robot.interface import INTERFACES
from trocar.robot.messages import Message
from trocar.robot.pace import Pace, factor_of
from trocar.robot.simulation_server import SimulationServer
from trocar.simulation import Diverged, Scene, load_scene
from trocar.spatial import Array

# Client of an arm by its kind.
CLIENTS: dict[str, type[clients.ArmClient]] = {
    "PSM": clients.PSMClient,
    "ECM": clients.ECMClient,
    "MTM": clients.MTMClient,
    "ARM": clients.ArmClient,
}
MAX_CYCLES = 60 * FREQUENCY  # of one call of the service simulation/step: a minute; `Robot.run` has no limit
CHECKED = 3  # cycles between checks of a condition in a wait
POLL_INTERVAL = 0.001  # of a waiting thread in real time [s]
MIN_SPEED, MAX_SPEED = 0.05, 10.0  # ratio of simulated to real time

T = TypeVar("T")


class Robot(Closable):
    """A simulated dVRK under its own controllers.

    Args:
        scene: name or file of a scene, the name of an arm such as PSM, or a `Scene` with a timestep of 1/1500 s.
            Built in for this: dvrk, dvrk_si.
        speed: "fast", "real", "stepped" or the ratio of simulated to real time; see `trocar.robot`.
        playing: False starts a paused robot. Default: True, except for speed="stepped".
        start: "off" (arms without power, as after switching on) or "ready" (enabled, homed, tools engaged).
        arms: names of the arms to control. Default: all arms of the scene. The others are off.
        sensors: imperfections of the sensors.
        supported: an arm with its motors off stays in place, as if balanced or held by hand.
            False: gravity moves it, unless it has brakes.
        observers: enable the disturbance observers of the Si arms, as on the robot.

    Attributes:
        bus: every topic and service. devices: kind of interface by device name, such as {"PSM1": "PSM"}.
        controllers: controllers of the arms, by name.
        start_time: the robot's clock when it was switched on [ns].
        pace: timing of a robot in real time.
        error: exception that stopped a robot in real time, if any; `play` clears it.
        before_cycle, after_cycle: fast functions called before and after every control cycle, in its thread and with
            the bus locked.
    """

    def __init__(
        self,
        scene: str | PathLike[str] | Scene = "dvrk",
        *,
        speed: str | float = "fast",
        start: str = "off",
        playing: bool | None = None,
        arms: Sequence[str] | None = None,
        sensors: Sensors | None = None,
        supported: bool = True,
        observers: bool = True,
    ) -> None:
        check_known("start", ("off", "ready"), start)
        factor = factor_of(speed)
        self.pace = Pace(factor, speed != "stepped" if playing is None else playing)
        self._real = factor > 0.0  # a thread advances the simulation
        built = scene if isinstance(scene, Scene) else load_scene(scene, timestep=PERIOD)
        names = tuple(built.arms) if arms is None else tuple(arms)
        check_known("arm of the scene", built.arms, *names)
        if not names:
            raise TrocarError(f"a robot needs at least one arm; the scene has {', '.join(built.arms)}")
        self.start_time = time.time_ns() if self._real else 0
        self._loop = ControlLoop(built, names, sensors or Sensors(), self.start_time, supported, observers)
        self.bus: Bus = self._loop.bus
        self.before_cycle: list[Callable[[], None]] = []
        self.after_cycle: list[Callable[[], None]] = []
        equipment = connect(self._loop, names)
        self.devices, self.controllers, self._set_up = equipment.devices, equipment.controllers, equipment.set_up
        for controller in self.controllers.values():
            if start == "ready":
                controller.make_ready()
            else:
                controller.hardware.stop()
        self._actions: tuple[tuple[float, Callable[[float], None]], ...] = ()  # calls per cycle, call
        self._loop.cycle += 1  # messages published so far are in the past
        clock = {key: _weakly(getattr(self, key)) for key in ("play", "pause", "set_speed")}
        clock["step"] = _weakly(self._pause_and_step)
        self._simulation = SimulationServer(self._loop, self.controllers, self.pace, start == "ready", clock)
        self.bus.report = partial(self._simulation.tell, "error")
        self._arms = tuple(self.controllers.values())
        self._clients: WeakValueDictionary[tuple[Any, ...], Any] = WeakValueDictionary()
        self.error: BaseException | None = None
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        if self._real:
            # The thread and the services of the clock refer to the robot weakly, so it ends with its last reference.
            weakref.finalize(self, self._closing.set)
            cycles = weakref.ref(self), self.pace, self._closing
            self._thread = threading.Thread(target=_run, args=cycles, name="trocar-dvrk", daemon=True)
            self._thread.start()

    # -- time ----------------------------------------------------------------------------------------------------------

    @property
    def scene(self) -> Scene:
        """The simulated scene (ground truth). Hold `bus.lock` to read it while a robot runs in real time."""
        return self._loop.scene

    @property
    def now(self) -> int:
        """The robot's clock [ns], greater than 0."""
        return self._loop.now

    @property
    def time(self) -> float:
        """The robot's clock [s]."""
        return self._loop.time

    @property
    def playing(self) -> bool:
        """Time passes: by itself in real time, in waits otherwise."""
        return self.pace.playing

    def play(self) -> None:
        """Let time pass."""
        with self.bus.lock:
            if self._closing.is_set():
                raise TrocarError("the robot is closed")
            self.error = None
            self.pace.play()

    def pause(self) -> None:
        """Stop time. `step` and `run` still advance the robot; commands wait for the next cycle."""
        with self.bus.lock:
            self.pace.pause()

    def set_speed(self, speed: float) -> None:
        """Set the ratio of simulated to real time of a robot in real time."""
        if not self._real:
            raise TrocarError('this robot has no speed: it does not run in real time (speed="real")')
        factor = checks.number("speed", speed, MIN_SPEED, MAX_SPEED)
        with self.bus.lock:
            self.pace.set_speed(factor)

    def step(self, cycles: int = 1) -> None:
        """Advance by control cycles of 1/1500 s; a robot in real time must be paused."""
        if self._real and self.playing:
            raise TrocarError('this robot runs in real time; call sleep(), pause it, or use speed="stepped"')
        for _ in range(cycles):
            self._cycle()

    def _pause_and_step(self, cycles: int = 1) -> None:
        """The service: pause and advance; in real time a failed step stops the robot in an orderly state."""
        whole = checks.count("the number of cycles", cycles, high=MAX_CYCLES)
        self._check_caller()
        self.pause()
        try:
            for _ in range(whole):
                if self._closing.is_set():
                    raise TrocarError("the robot was closed before all steps were taken")
                self._cycle()
        except Exception as error:
            if not self._real:
                raise
            self._stop(error)
            raise TrocarError(_text(error)) from error

    def run(self, seconds: float) -> None:
        """Advance by a simulated time [s], rounded to cycles."""
        self.step(round(checks.number("seconds", seconds, 0.0, unit="s") * FREQUENCY))

    def sleep(self, seconds: float) -> None:
        """Wait for a time by the robot's clock [s]."""
        self.wait_for(lambda: False, seconds)

    def wait_for(self, condition: Callable[[], bool], timeout: float) -> bool:
        """Wait until a condition holds; False after `timeout` by the robot's clock [s].

        Raises:
            TrocarError: called in a callback or during a control cycle, or the robot has stopped.
        """
        deadline = self.now + round(checks.number("timeout", timeout, unit="s") * 1e9)
        self._check_caller()
        while not condition():
            self.check_running()
            if self.now >= deadline or not (self._real or self.playing):
                return False
            if self._real:
                time.sleep(POLL_INTERVAL)
            else:
                left = -(-(deadline - self.now) * FREQUENCY // 10**9)
                for _ in range(min(CHECKED, left)):
                    self._cycle()
        return True

    def check_running(self) -> None:
        """Raise an error if the robot was closed, or has stopped after an error; `play` continues it."""
        if self._closing.is_set():
            raise TrocarError("the robot is closed; create another one")
        if self.error is not None:
            reason = shown(self.error, 300)
            raise TrocarError(f"the robot has stopped: {reason}; robot.play() continues")

    def __getstate__(self) -> Any:
        raise TrocarError("a Robot cannot be pickled or copied; use robot.simulation().snapshot(), or pickle its scene")

    def close(self) -> None:
        """End the thread of a robot in real time."""
        self._closing.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=10.0)

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the controlled arms."""
        return tuple(self.controllers)

    def readings(self, arm: str) -> Reports:
        """Readings of an arm without messages, for windows that need them in every cycle. Hold `bus.lock`."""
        check_known("arm of the robot", self.controllers, arm)
        return self.controllers[arm].reports

    def simulation(self) -> clients.SimulationClient:
        """Client of the simulation itself: time, control laws, changes of the scene, frames, recordings."""
        return self._client(clients.SimulationClient)

    # -- clients -------------------------------------------------------------------------------------------------------

    def arm(self, name: str) -> clients.ArmClient:
        """Client of an arm: a `PSM`, `ECM` or `MTM` for these kinds."""
        check_known("arm of the robot", self.controllers, name)
        return self._client(CLIENTS[self.devices[name]], name)

    def psm(self, name: str) -> clients.PSMClient:
        """Client of a PSM, such as "PSM1"."""
        return self._client(clients.PSMClient, name, "PSM")

    def ecm(self, name: str = "ECM") -> clients.ECMClient:
        """Client of the endoscope arm."""
        return self._client(clients.ECMClient, name, "ECM")

    def mtm(self, name: str) -> clients.MTMClient:
        """Client of a master, "MTML" or "MTMR"."""
        return self._client(clients.MTMClient, name, "MTM")

    def suj(self) -> clients.SUJClient:
        """Client of the set-up joints; raises if there is no cart."""
        self._set_up_joints()
        return self._client(clients.SUJClient)

    def system(self) -> clients.SystemClient:
        """Client of the system: power, homing, sound."""
        return self._client(clients.SystemClient)

    def console(self) -> clients.ConsoleClient:
        """Client of the console: pedals, operator, teleoperation."""
        return self._client(clients.ConsoleClient)

    def teleop_psm(self, name: str) -> clients.TeleopPSMClient:
        """Client of a pair such as MTMR_PSM1, if `trocar.teleoperation` has added it to the bus."""
        return self._client(clients.TeleopPSMClient, name)

    def teleop_ecm(self, name: str = "MTML_MTMR_ECM") -> clients.TeleopECMClient:
        """Client of camera control, if `trocar.teleoperation` has added it to the bus."""
        return self._client(clients.TeleopECMClient, name)

    def _client(self, client: Callable[..., T], name: str = "", kind: str = "") -> T:
        """The client of a device, of a kind if given; the same one as long as it is used."""
        if kind:
            check_known(
                f"{kind} of the robot", [device for device in self.devices if self.devices[device] == kind], name
            )
        shared: T | None = self._clients.get((client, name))
        if shared is None:
            shared = self._clients[client, name] = client(self, name)
        return shared

    # -- hands ---------------------------------------------------------------------------------------------------------

    def press_clutch(self, arm: str, pressed: bool = True) -> None:
        """Press or release the clutch on the carriage of a PSM or ECM: while pressed, the arm can be moved by hand.

        `scene.arms[name].apply_wrench` applies a hand's force; `scene.arms[name].gripper` opens a master's gripper.
        """
        check_known("arm of the robot", self.controllers, arm)
        controller = self.controllers[arm]
        if not isinstance(controller, ClutchedArm):
            raise TrocarError(f"{arm} has no clutch; PSMs and ECMs have one")
        controller.post(lambda _: controller.press_clutch(pressed))

    def press_set_up_clutch(self, arm: str, pressed: bool = True) -> None:
        """Press or release the SUJ clutch of an arm on the cart: while pressed, its set-up joints are free."""
        with self.bus.lock:
            self._set_up_joints(arm).press_clutch(arm, pressed)

    def move_set_up_joints(self, arm: str, q_setup: ArrayLike) -> None:
        """Move the set-up joints (k,) [m, rad] of an arm by hand, instantly; its SUJ clutch must be pressed."""
        with self.bus.lock:
            self._set_up_joints(arm).move_by_hand(arm, q_setup)

    def _set_up_joints(self, *arms: str) -> SetUpJoints:
        if self._set_up is None:
            raise TrocarError("this scene has no cart and therefore no set-up joints")
        check_known("arm on the cart", self._set_up.mounts, *arms)
        return self._set_up

    # -- extensions ----------------------------------------------------------------------------------------------------

    def add_device(
        self,
        name: str,
        kind: str,
        *,
        states: Mapping[str, Callable[[], Message]] | None = None,
        commands: Mapping[str, Callable[[Any], None]] | None = None,
    ) -> None:
        """Add a device of another package to the bus, by its kind of interface."""
        check_known("kind of device", INTERFACES, kind)
        self.bus.add(name, INTERFACES[kind], states=states, commands=commands)
        self.devices[name] = kind

    def every(self, period: float, action: Callable[[float], None]) -> Callable[[], None]:
        """Call `action(time [s])` once per period [s], at least 1/1500 s, before the arms execute their commands.

        Calls coincide with control cycles: a period of 1 ms is two calls in three cycles. The bus is locked. Returns a
        function that ends the calls; so does an exception, which also pauses a robot in real time.
        """
        if not (isinstance(period, int | float) and PERIOD <= period < np.inf and callable(action)):
            raise TrocarError(
                f"every needs a period of at least 1/1500 s and a function of time, got {period!r}, {action!r}"
            )
        entry = 1.0 / (FREQUENCY * period), action

        def stop() -> None:
            with self.bus.lock:
                self._actions = tuple(other for other in self._actions if other is not entry)

        with self.bus.lock:
            self._actions = (*self._actions, entry)
        return stop

    def contact_wrench(self, arm: str) -> Array:
        """True wrench (6,) [N, N m] of all objects on the instrument of an arm at its tip, in axes of its base.

        The robot computes `measured_cf` from motor currents; that also includes weight, friction and inertia.
        """
        check_known("arm of the robot", self.controllers, arm)
        with self.bus.lock:
            return self.scene.arms[arm].contact_wrench()

    # -- inside --------------------------------------------------------------------------------------------------------

    def _check_caller(self) -> None:
        """Refuse to wait where the wait itself keeps the robot from advancing."""
        if self.bus.caller == threading.get_ident():
            raise TrocarError(
                "callbacks and functions called in a control cycle cannot wait for the robot or step it: time passes "
                "only after they return; set a threading.Event in the callback and wait in another thread"
            )

    def _cycle(self) -> None:
        self._check_caller()
        with self.bus.lock:
            self.bus.caller = threading.get_ident()
            try:
                self._advance()
            finally:
                self.bus.caller = None

    def _advance(self) -> None:
        """One control cycle."""
        for call in tuple(self.before_cycle):
            call()
        if self._set_up is not None:
            self._set_up.update()
        cycle = self._loop.cycle
        for entry in self._actions:
            share, action = entry
            if int(cycle * share) > int((cycle - 1) * share):
                try:
                    action(self._loop.time)
                except Exception:
                    self._actions = tuple(other for other in self._actions if other is not entry)
                    raise
        for controller in self._arms:
            controller.update()
        simulation = self._simulation
        simulation.act()
        rows = simulation.begin_rows()
        lost = self._loop.act()
        simulation.end_rows(rows)
        if np.count_nonzero(lost):
            for name, part in self._loop.parts.items():
                if lost[part].any():
                    mask = " ".join(str(int(flag)) for flag in lost[part])
                    touching = "; ".join(f"{one.first} touches {one.second}" for one in self.scene.touching(name))
                    self.controllers[name].fault(
                        f"PID: tracking error, mask (1 for error): {mask}{touching and f'; {touching}'}"
                    )
        if np.count_nonzero(self._loop.sensors.inconsistent):
            for controller in self._arms:
                controller.check_pots()
        if self._loop.cycle % PUBLISHED_CYCLES == 0:
            self.bus.publish_states()
        for call in tuple(self.after_cycle):
            call()

    def _paced_cycle(self) -> None:
        with self.bus.lock:
            if not self.playing:  # since this cycle was due
                return
            try:
                self._cycle()
            except Exception as error:
                self._stop(error)

    def _stop(self, error: Exception) -> None:
        """Pause after a failed cycle. If the simulation has diverged, the arms return to their start."""
        self.pause()
        self.error = error
        done = ""
        if isinstance(error, Diverged):
            try:
                self._simulation.reset()
                done = "; the arms are back at their start"
            except Exception as another:
                done = f"; the arms cannot return to their start: {_text(another)}"
        self._simulation.tell("error", f"{_text(error)}. The robot is paused{done}")


def _run(robot: weakref.ref[Robot], pace: Pace, closing: threading.Event) -> None:
    """The thread of a robot in real time."""

    def cycle() -> None:
        if (live := robot()) is not None:
            live._paced_cycle()

    try:
        pace.keep(cycle, closing)
    except BaseException as error:
        if (live := robot()) is not None:
            live.error = error


def _weakly(method: Callable[..., None]) -> Callable[..., None]:
    """A function that calls a method without keeping its object alive."""
    weak = weakref.WeakMethod(method)

    def call(*arguments: Any) -> None:
        bound = weak()
        if bound is None:
            raise TrocarError("the robot no longer exists; keep a reference to it")
        bound(*arguments)

    return call


def _text(error: Exception) -> str:
    return str(error) if isinstance(error, TrocarError) else repr(error)
