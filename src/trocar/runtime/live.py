"""A simulation that accepts commands between its steps. It has no threads: the caller owns it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from trocar.control import Setpoint, State, TipMotion
from trocar.errors import TrocarError
from trocar.recording import Recording
from trocar.runtime.commands import Commands
from trocar.runtime.controllers import DEFAULT_CONTROLLER
from trocar.runtime.description import SceneDescription
from trocar.runtime.driver import Driver, within_limits
from trocar.runtime.frame import ArmFrame, ControlStatus, Frame, contact_forces
from trocar.runtime.messages import Messages
from trocar.runtime.recorder import Recorder
from trocar.runtime.settings import OF_ARM, RECORDED, Settings
from trocar.simulation import Scene, SimulatedArm
from trocar.spatial import Array

SHOWN = 8.0, 0.02  # history for plots: length and interval, simulated [s]
LONGEST = 120.0  # a recording keeps this much of its end [s]


class Live(Commands[None]):
    """The arms of a scene, each under its own controller. A rejected command raises an error.

    Attributes:
        scene: the simulated scene, replaced by `change`. description: its description.
        drivers: controller and target of every arm.
        messages: messages to the user. history: recent rows of every arm, for plots.
    """

    def __init__(self, settings: Settings | None = None, controller: str = DEFAULT_CONTROLLER) -> None:
        self.messages = Messages()
        self.settings = settings or Settings()
        self.scene: Scene = self.settings.build()
        self.description = SceneDescription.of(self.scene, self.settings)
        self.joints = {name: arm.n for name, arm in self.scene.arms.items()}
        self.history = {name: Recorder(*SHOWN) for name in self.joints}
        self._start = {name: arm.q for name, arm in self.scene.arms.items()}
        self.drivers = {name: Driver(arm, controller) for name, arm in self.scene.arms.items()}
        self._forces = dict.fromkeys(self.joints, np.zeros(3))
        self._recorders: dict[str, Recorder] = {}
        self._inputs: dict[str, tuple[Callable[[Live], None], int]] = {}  # source and steps between calls
        self._status: dict[str, str] = {}
        self._number = self._steps = 0
        self._stepped = False  # a step was taken since the arms were placed

    # -- time --------------------------------------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """Simulated time since the last reset [s]."""
        return self.scene.time

    def step(self) -> None:
        """Advance by one timestep."""
        self._read_inputs()
        states = {name: State(arm.time, arm.measured_q, arm.measured_dq) for name, arm in self.scene.arms.items()}
        efforts = {name: driver.effort(states[name]) for name, driver in self.drivers.items()}
        self.scene.step(efforts)
        self._stepped = True
        self._steps += 1
        for name, arm in self.scene.arms.items():
            self._keep(name, arm, states[name])

    def hold(self) -> None:
        """Hold every arm in place with the default controller, without pushes and inputs."""
        self._inputs.clear()
        for name in self.joints:
            self.push_tip(name, np.zeros(3))
            self.change_driver(name, DEFAULT_CONTROLLER)

    # -- effects of the commands, whose arguments `Commands` has checked -----------------------------------------------

    def _do(self, command: Callable[[Live], None]) -> None:
        command(self)

    def restart(self, q: Mapping[str, Array]) -> None:
        """Restart, with some arms at q (n,) [rad, m]."""
        start = {name: within_limits(arm, q.get(name, self._start[name])) for name, arm in self.scene.arms.items()}
        before = self.scene.snapshot()
        try:
            self.scene.reset(start)
        except TrocarError:  # changed set-up joints or instruments may overlap there
            self.scene.restore(before)
            raise
        self._stepped = False
        self._forces = dict.fromkeys(self.joints, np.zeros(3))
        for name, driver in self.drivers.items():
            self.change_driver(name, driver.controller, driver.gains)

    def change_driver(self, name: str, controller: str, gains: Mapping[str, float] | None = None) -> None:
        """Give an arm a new driver, which holds it in place."""
        self.drivers[name] = Driver(self.scene.arms[name], controller, gains)

    def put_arm(self, name: str, q: Array) -> None:
        """Place an arm at q (n,) [rad, m]."""
        arm = self.scene.arms[name]
        arm.place(within_limits(arm, q))
        self._stepped = False
        driver = self.drivers[name]
        self.change_driver(name, driver.controller, driver.gains)

    def push_tip(self, name: str, force: Array) -> None:
        """Push the tip of an arm with a force (3,) [N] in base axes."""
        self.scene.arms[name].apply_wrench([*force, 0.0, 0.0, 0.0])
        self._forces[name] = force

    def apply_changes(self, name: str, changes: Mapping[str, Any]) -> None:
        """Change the options of an arm, its set-up joints, or gravity."""
        settings, scene = self.settings.changed(name, changes), self.scene
        own = {key: value for key, value in changes.items() if key in OF_ARM}
        if own or "gravity" in changes:
            scene = scene.changed({name: own}, changes.get("gravity"))
        if "set_up" in changes:
            scene.set_up(name, changes["set_up"])
        drivers = {
            other: driver if driver.mechanism is scene.arms[other].mechanism else driver.moved_to(scene.arms[other])
            for other, driver in self.drivers.items()
        }
        if scene is not self.scene:
            self._stepped = False
            for ended in self._recorders:
                self.messages.post(f"recording of {ended} ended: the simulation was changed")
            self._recorders.clear()
        self.settings, self.scene, self.drivers = settings, scene, drivers
        self.description = SceneDescription.of(scene, settings)
        for other, force in self._forces.items():
            self.push_tip(other, force)

    def start_recording(self, name: str) -> None:
        """Start a new recording of an arm."""
        self._recorders[name] = Recorder(LONGEST, RECORDED)

    def recorded(self, arm: str | None = None) -> Recording:
        """Stop the recording of an arm and return it."""
        name = self.name(arm)
        if name not in self._recorders:
            raise TrocarError(f"{name} is not being recorded")
        return self._recorders.pop(name).recording(self.scene.arms[name], self.drivers[name].law)

    @property
    def recording(self) -> tuple[str, ...]:
        """Names of the arms that are being recorded."""
        return tuple(self._recorders)

    def connect_input(self, name: str, source: Callable[[Live], None] | None, steps: int = 1) -> None:
        """Call a source at an interval of steps; None disconnects it."""
        self._inputs.pop(name, None)
        if source is not None:
            self._inputs[name] = source, steps

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the connected inputs."""
        return tuple(self._inputs)

    def put_status(self, name: str, text: str | None) -> None:
        """Set a line of the status; None removes it."""
        self._status.pop(name, None)
        if text is not None:
            self._status[name] = str(text)

    # -- frames ------------------------------------------------------------------------------------------------------

    def frame(self, playing: bool = False, speed: float = 1.0, factor: float = 0.0) -> Frame:
        """The current frame."""
        self._number += 1
        return Frame(
            number=self._number,
            time=self.time,
            arms=MappingProxyType({name: self._arm_frame(name, arm) for name, arm in self.scene.arms.items()}),
            qpos=np.array(self.scene.data.qpos),
            scene=self.description,
            contacts=contact_forces(self.scene.model, self.scene.data),
            status=MappingProxyType(dict(self._status)),
            playing=playing,
            speed=speed,
            factor=factor if playing else 0.0,
        )

    def _arm_frame(self, name: str, arm: SimulatedArm) -> ArmFrame:
        driver = self.drivers[name]
        setpoint = driver.setpoint
        return ArmFrame(
            q=arm.q,
            dq=arm.dq,
            T_tip=arm.tip_pose(),
            ddq=arm.ddq if self._stepped else None,
            tau=arm.tau if self._stepped else None,
            control=ControlStatus(
                driver.controller, MappingProxyType(dict(driver.gains)), driver.reference.target.copy()
            ),
            q_ref=setpoint.q.copy() if isinstance(setpoint, Setpoint) else None,
            T_ref=setpoint.T.copy() if isinstance(setpoint, TipMotion) else None,
            force=self._forces[name].copy(),
            contact_effort=np.array(arm.contact_effort()) if self._stepped else None,
            rcm_error=arm.rcm_error() if arm.arm.has_rcm else None,
            loop_error=arm.loop_error() if arm.arm.loops else None,
        )

    # -- internals ---------------------------------------------------------------------------------------------------

    def _read_inputs(self) -> None:
        for name, (source, steps) in tuple(self._inputs.items()):
            if self._steps % steps:
                continue
            try:
                source(self)
            except Exception as error:
                self.disconnect(name)
                self.messages.post(f"input {name} failed and was disconnected: {error!r}", "error")

    def _keep(self, name: str, arm: SimulatedArm, state: State) -> None:
        """Add a step to the history and the recording of an arm."""
        setpoint = self.drivers[name].setpoint
        q_ref = setpoint.q if isinstance(setpoint, Setpoint) else state.q
        for recorder in (self.history[name], self._recorders.get(name)):
            if recorder is not None:
                recorder.add(state.t, state.q, state.dq, arm.ddq, arm.measured_tau, arm.tau, q_ref)
