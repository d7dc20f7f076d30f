"""A simulation as it goes on: arms, what drives each, the one that is chosen, and what is kept of it. No threads."""

from __future__ import annotations

import queue
from collections.abc import Mapping
from typing import Any

import numpy as np

from trocar.control import Setpoint, State
from trocar.errors import TrocarError, UnknownName
from trocar.recording import Recording
from trocar.spatial import Array
from trocar.viewer.driving import Driver, Mode, choices
from trocar.viewer.frame import Frame, History, contact_forces
from trocar.viewer.plant import Plant, Settings
from trocar.viewer.recorder import Recorder
from trocar.viewer.world import World

SHOWN = 8.0, 0.02  # history for plots: length and interval, simulated [s]


class Live:
    """What commands act on; targets, pushes and recordings are of the chosen arm, the others hold theirs."""

    def __init__(self, settings: Settings, controller: str | None, notices: queue.SimpleQueue[str]) -> None:
        self.world, self._notices = World(settings), notices
        usual = choices(Mode.joint)[0]
        self._drivers = {name: Driver(plant, controller or usual) for name, plant in self.world.plants.items()}
        self.name = self.world.first
        self._force = np.zeros(3)
        self._time0, self._number = 0.0, 0
        self._acted = False  # whether a step has been taken since the arms were put where they are
        self.history = History(*SHOWN)
        self._recorder: Recorder | None = None

    @property
    def plant(self) -> Plant:
        return self.world.plants[self.name]

    @property
    def driver(self) -> Driver:
        return self._drivers[self.name]

    def choose(self, name: str) -> None:
        if name not in self.world.plants:
            raise UnknownName("arm of the scene", name, self.world.plants)
        if name != self.name:
            self.push(np.zeros(3))
            self._end_recording("another arm is chosen")
            self.history.clear()
            self.name = name

    def step(self) -> None:
        efforts, states = {}, {}
        for name, plant in self.world.plants.items():
            sim = plant.sim
            states[name] = State(sim.time, sim.measured_q, sim.measured_dq)
            efforts[name] = self._drivers[name].effort(states[name])
        if self._force.any():
            self._load()
        self.world.step(efforts)
        self._acted = True
        self._keep(states[self.name])

    def _keep(self, state: State) -> None:
        sim, setpoint = self.plant.sim, self.driver.setpoint
        q_ref = setpoint.q if isinstance(setpoint, Setpoint) else state.q
        self.history.add(self._time0 + state.t, state.q, state.dq, sim.ddq, sim.tau, q_ref)
        if self._recorder is not None and not self._recorder.add(state, sim.ddq, sim.tau, q_ref):
            self._notices.put(f"recording stopped after {self._recorder.seconds:g} s; export it or start another")

    def snapshot(self, playing: bool, speed: float, factor: float) -> Frame:
        """This moment."""
        plant, driver = self.plant, self.driver
        sim, setpoint = plant.sim, driver.setpoint
        self._number += 1
        return Frame(
            number=self._number,
            plant=plant,
            driver=driver,
            time=self._time0 + sim.time,
            q=sim.q.copy(),
            dq=sim.dq.copy(),
            ddq=sim.ddq.copy() if self._acted else None,
            tau=sim.tau.copy() if self._acted else None,
            qpos=self.world.qpos,
            settings=self.world.settings,
            fixed=self.world.fixed,
            q_ref=setpoint.q.copy() if isinstance(setpoint, Setpoint) else None,
            T_tip=sim.tip_pose(),
            T_ref=None if driver.mode is not Mode.cartesian else setpoint.T.copy(),
            force=self._force.copy(),
            contacts=contact_forces(sim),
            touch=sim.contact_effort() if self._acted else None,
            rcm_error=sim.rcm_error() if sim.arm.has_rcm else None,
            loop_error=sim.loop_error() if sim.arm.loops else None,
            playing=playing,
            speed=speed,
            factor=factor if playing else 0.0,
        )

    def reset(self, q: Array | None = None) -> None:
        """Start again, the chosen arm at q (n,)."""
        self.world.reset(self.name, q)
        self._acted = False
        self._time0, self._force = 0.0, np.zeros(3)
        self.history.clear()
        self._drivers = {
            name: Driver(self.world.plants[name], driver.controller, driver.gains)
            for name, driver in self._drivers.items()
        }

    def drive(self, controller: str, gains: Mapping[str, float] | None) -> None:
        self._drivers[self.name] = Driver(self.plant, controller, gains)

    def aim(self, target: Array, playing: bool) -> None:
        mode, plant = self.driver.mode, self.plant
        if mode is Mode.joint:
            target = plant.within_limits(target)
            if not playing:
                plant.sim.place(target)
                self._acted = False
                self.drive(self.driver.controller, self.driver.gains)
        elif mode is Mode.cartesian:
            # the inverse says why a pose cannot be had, better than an arm that strains at its limits
            if plant.arm.tip_joints >= 6:
                plant.mechanism.inverse_kinematics(target, plant.sim.q)
            elif not plant.workspace.contains(target[:3, 3]):
                raise TrocarError("the target is out of reach")
        self.driver.aim(target)

    def push(self, force: Array) -> None:
        self._force = force
        self._load()

    def _load(self) -> None:
        """The force acts at the tip; the simulator wants a wrench at the origin of the body that carries it."""
        sim = self.plant.sim
        T_body_tip = sim.arm.T_body_tip
        lever = sim.tip_pose()[:3, :3] @ T_body_tip[:3, :3].T @ T_body_tip[:3, 3]
        sim.apply_wrench(np.concatenate([self._force, np.cross(lever, self._force)]))

    def change(self, settings: Mapping[str, Any]) -> None:
        """Other settings of the chosen arm, or of all, in the state that they are in; targets stay what they were."""
        old, drivers, was = self.world.plants, self._drivers, self.world.time
        world = self.world.changed(self.name, settings)
        if len(old) == 1:
            name = world.first  # the same, or an arm of the same number of joints
            drivers = {name: drivers[self.name]}
            self.name = name
        self.world = world
        self._time0 += was - world.time
        self._acted = False
        if self.plant is not old.get(self.name):
            self._end_recording("the arm that was recorded is another now")
        self._drivers = {
            name: drivers[name] if plant is old.get(name) else drivers[name].moved_to(plant)
            for name, plant in world.plants.items()
        }
        self.push(self._force)

    # -- recording ---------------------------------------------------------------------------------------------------

    @property
    def recording(self) -> bool:
        return self._recorder is not None

    def record(self) -> None:
        self._recorder = Recorder(self.plant.arm.n)

    def recorded(self) -> Recording:
        recorder, self._recorder = self._recorder, None
        if recorder is None:
            raise TrocarError("nothing is being recorded")
        return recorder.recording(self.plant.sim, self.driver.law)

    def _end_recording(self, why: str) -> None:
        if self._recorder is not None:
            self._recorder = None
            self._notices.put(f"recording ended: {why}")
