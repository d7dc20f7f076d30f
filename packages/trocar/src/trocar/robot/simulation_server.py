"""The local device "simulation": control laws, changes of the scene, snapshots, recordings and frames.

It serves windows in the same process: the rows SIMULATION and SIMULATED_ARM of the interface. Its services run in the
caller's thread with the bus locked; they check their arguments first: a `TrocarError` means that nothing has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trocar.checks import finite
from trocar.errors import TrocarError, check_type
from trocar.mechanics import Mechanism
from trocar.mechanics.cart import Cart
from trocar.recording import Recording
from trocar.robot.controller.arm import ArmController
from trocar.robot.controller.constants import EFFORT, PUBLISHED_CYCLES
from trocar.robot.controller.loop import ControlLoop
from trocar.robot.controller.memory import Remembering
from trocar.robot.description import SceneDescription
from trocar.robot.frames import scene_frame, simulated_arm
from trocar.robot.interface import SIMULATED_ARM, SIMULATION
from trocar.robot.laws import SERVO, ActiveLaw, checked_gains, default_law
from trocar.robot.messages import ArmFrame, Frame, String
from trocar.robot.pace import Pace
from trocar.robot.recorder import Recorder
from trocar.robot.settings import RECORDED, checked_changes
from trocar.simulation import Scene
from trocar.simulation.engine import Snapshot
from trocar.spatial import Array

NAME = "simulation"
HISTORY, HISTORY_INTERVAL = 8.0, 0.02  # rows for plots: length and interval, simulated [s]
MAX_RECORDING = 120.0  # a recording keeps this much of its end [s]
MAX_INPUT = 1e6  # force or gravity, far beyond any use; products do not overflow [N, m/s^2]


@dataclass(frozen=True, eq=False)
class RobotSnapshot:
    """The complete state of a robot, which determines its future together with the commands it receives."""

    scene: Scene
    cart: Cart | None
    state: Snapshot
    grippers: Mapping[str, float]
    cycle: int
    parts: Sequence[dict[str, Any]]
    laws: Mapping[str, ActiveLaw]


class SimulationServer:
    """Services and frames of the simulation.

    Args:
        loop: scene, sensors and servo. controllers: of the arms. pace: of the robot's clock.
        ready: arms are enabled and homed after a reset; otherwise they are off.
        clock: services of the robot's clock: play, pause, step, set_speed.

    """

    def __init__(
        self,
        loop: ControlLoop,
        controllers: Mapping[str, ArmController],
        pace: Pace,
        ready: bool,
        clock: Mapping[str, Callable[..., None]],
    ) -> None:
        self._loop, self._controllers, self._pace, self._ready = loop, controllers, pace, ready
        self.bus, self._number, self._placed = loop.bus, 0, loop.cycle
        self._start = {name: arm.q for name, arm in loop.scene.arms.items()}
        self._described: tuple[Scene, Cart | None, SceneDescription] | None = None
        self._recordings: dict[str, Recorder] = {}
        self._histories: dict[str, Recorder] = {}
        self._laws = {}
        for name, controller in controllers.items():
            law = default_law(controller.hardware.sim.mechanism)
            self._laws[name] = ActiveLaw(controller, law, checked_gains(law, None))
        services: dict[str, Callable[..., Any]] = {"reset": self.reset, "change": self.change, **clock}
        services["replace"] = self.replace
        services |= {"snapshot": self.snapshot, "restore": self.restore, "frame": self.frame}
        self.bus.add(NAME, SIMULATION, states={"frame": self.frame}, services=services)
        for name in controllers:
            of_arm = ("set_law", "set_gravity_model", "place", "push", "record", "recorded", "history")
            functions: dict[str, Callable[..., Any]] = {key: partial(getattr(self, key), name) for key in of_arm}
            functions["change"] = partial(self.change_arm, name)
            self.bus.add(f"{NAME}/{name}", SIMULATED_ARM, services=functions)

    def tell(self, level: str, text: str) -> None:
        """Publish a message to the user: error, warning or status."""
        self.bus.publish(f"{NAME}/{level}", String(value=text))

    # -- control laws --------------------------------------------------------------------------------------------------

    def set_law(self, arm: str, name: str, gains: Mapping[str, float] | None = None) -> None:
        """An arm that is ready holds its position when its law changes."""
        values = checked_gains(name, gains)
        with self.bus.lock:
            controller, before = self._controllers[arm], self._laws[arm]
            if name == SERVO and len(controller.arm.gains.kp) != controller.n:
                raise TrocarError(f"{arm} ({controller.arm.name}) has no published PID gains; choose another law")
            law = ActiveLaw(controller, name, values)
            controller.hardware.tune(**(values if name == SERVO else {}))
            self._laws[arm] = law
            if before.name != name:
                controller.hardware.servo_again()
                controller.hold_here()

    def set_gravity_model(self, arm: str, mechanism: Mechanism | None) -> None:
        check_type("mechanism", mechanism, (Mechanism, type(None)), "a Mechanism or None")
        with self.bus.lock:
            self._controllers[arm].hardware.model = mechanism

    def act(self) -> None:
        """Efforts of the laws other than the dVRK's servo. An arm whose law fails is held by that servo."""
        for law in tuple(self._laws.values()):
            try:
                law.act()
            except Exception as error:
                arm = law.arm
                if default_law(arm.hardware.sim.mechanism) == SERVO:
                    self.set_law(arm.name, SERVO)
                else:
                    arm.fault(f"control law {law.name}: {error}")
                raise

    # -- arms ----------------------------------------------------------------------------------------------------------

    def place(self, arm: str, q: ArrayLike) -> None:
        with self.bus.lock:
            sim = self._loop.scene.arms[arm]
            goal = finite("q", q, (sim.n,), f"{sim.n} finite numbers [rad, m]")
            sim.place(np.clip(goal, sim.arm.lower, sim.arm.upper))
            self._read_again(arm)
            self._controllers[arm].hold_here()

    def push(self, arm: str, force: ArrayLike) -> None:
        value = _bounded("force", force, "N")
        with self.bus.lock:
            self._loop.scene.arms[arm].apply_wrench([*value, 0.0, 0.0, 0.0])

    def _read_again(self, *arms: str) -> None:
        """Read the sensors of arms that were placed elsewhere."""
        self._loop.place(arms)
        self._placed = self._loop.cycle
        for arm in arms:
            self._controllers[arm].reports.forget()

    # -- scene ---------------------------------------------------------------------------------------------------------

    def change_arm(self, arm: str, **options: Any) -> None:
        """State, setpoints, laws and pushes stay; recordings end unless only the set-up joints move."""
        q_setup = options.pop("set_up", None)
        checked_changes(options)
        with self.bus.lock:
            scene = self._loop.scene.changed({arm: options}) if options else self._loop.scene
            if q_setup is not None:
                scene.set_up(arm, q_setup)
            self._adopt(scene)

    def change(self, gravity: ArrayLike) -> None:
        value = _bounded("gravity", gravity, "m/s^2")
        with self.bus.lock:
            self._adopt(self._loop.scene.changed(gravity=value))

    def _adopt(self, scene: Scene) -> None:
        """Continue with a changed copy of the scene."""
        before = self._loop.scene
        if scene is before:
            return
        for name, stepped in scene.stepped.items():
            stepped.wrenches.memory = before.stepped[name].wrenches.memory
            stepped.gripper = before.stepped[name].gripper
            if scene.arms[name].arm.brakes and before.arms[name].brakes:
                scene.arms[name].brakes = True
        self._loop.adopt(scene)
        for controller in self._controllers.values():
            controller.adopt()
        self._placed = self._loop.cycle
        for name in self._recordings:
            self.tell("warning", f"the recording of {name} has ended: the simulation was changed")
        self._recordings.clear()

    def reset(self) -> None:
        """Restart at time 0: every arm at rest at its start and in its initial state, without pushes."""
        with self.bus.lock:
            scene = self._loop.scene
            before, arms = scene.snapshot(), scene.arms
            start = {name: np.clip(q, arms[name].arm.lower, arms[name].arm.upper) for name, q in self._start.items()}
            try:
                scene.reset(start)
            except TrocarError:  # changed set-up joints or instruments may overlap there
                scene.restore(before)
                raise
            self._read_again(*self._controllers)
            for controller in self._controllers.values():
                controller.restart(self._ready)

    def replace(self, scene: Scene) -> None:
        """Later resets return to the places of the arms in this scene."""
        check_type("scene", scene, Scene, "a Scene")
        with self.bus.lock:
            before = self._loop.scene
            if {name: arm.arm.name for name, arm in scene.arms.items()} != {
                name: arm.arm.name for name, arm in before.arms.items()
            }:
                raise TrocarError(f"the robot has the arms {', '.join(before.arms)}; the scene has others")
            if abs(scene.timestep - before.timestep) > 1e-9:
                raise TrocarError(f"the scene must have the robot's timestep, {before.timestep:g} s")
            self._adopt(scene)
            self._start = {name: arm.q for name, arm in scene.arms.items()}
            self._read_again(*self._controllers)
            for controller in self._controllers.values():
                controller.restart(self._ready)

    # -- snapshots -----------------------------------------------------------------------------------------------------

    def snapshot(self) -> RobotSnapshot:
        with self.bus.lock:
            loop = self._loop
            return RobotSnapshot(
                scene=loop.scene,
                cart=loop.scene.cart,
                state=loop.scene.snapshot(),
                grippers={name: stepped.gripper for name, stepped in loop.scene.stepped.items()},
                cycle=loop.cycle,
                parts=[part.remembered() for part in self._parts()],
                laws=dict(self._laws),
            )

    def restore(self, snapshot: RobotSnapshot) -> None:
        """Return to a snapshot of this robot; what follows is bit-for-bit the same.

        The robot's clock does not go back: it moves on by less than 10 ms, so that cycles have the same phase.
        """
        check_type("snapshot", snapshot, RobotSnapshot, "a snapshot of this robot")
        with self.bus.lock:
            loop = self._loop
            if set(snapshot.laws) != set(self._controllers):
                raise TrocarError("the snapshot is of a robot with other arms")
            if snapshot.scene.cart is not snapshot.cart:
                raise TrocarError("the set-up joints have moved since the snapshot; it cannot be restored")
            self._adopt(snapshot.scene)
            snapshot.scene.restore(snapshot.state)
            for name, opening in snapshot.grippers.items():
                snapshot.scene.stepped[name].gripper = opening
            loop.cycle += (snapshot.cycle - loop.cycle) % PUBLISHED_CYCLES
            self._laws = dict(snapshot.laws)
            for name, law in self._laws.items():
                self._controllers[name].hardware.tune(**(law.gains if law.name == SERVO else {}))
            for part, memory in zip(self._parts(), snapshot.parts, strict=True):
                part.recall(memory)
            self._placed = loop.cycle
            for controller in self._controllers.values():
                controller.reports.forget()
                controller.states.publish()

    def _parts(self) -> list[Remembering]:
        parts: list[Remembering] = [self._loop, self._loop.servo, self._loop.sensors]
        for name, arm in self._controllers.items():
            parts += [arm.hardware, arm.trajectory, arm.states, arm, self._laws[name]]
        return parts

    # -- recordings ----------------------------------------------------------------------------------------------------

    def record(self, arm: str) -> None:
        with self.bus.lock:
            self._recordings[arm] = Recorder(MAX_RECORDING, RECORDED)

    def recorded(self, arm: str) -> Recording:
        with self.bus.lock:
            if arm not in self._recordings:
                raise TrocarError(f"{arm} is not being recorded")
            return self._recordings.pop(arm).recording(self._loop.scene.arms[arm], self._laws[arm])

    def history(self, arm: str) -> Recorder:
        with self.bus.lock:
            if arm not in self._histories:
                self._histories[arm] = Recorder(HISTORY, HISTORY_INTERVAL)
            return self._histories[arm]

    def begin_rows(self) -> list[tuple[Any, ...]]:
        """State and reference of the arms with a row that is due, before a step."""
        scene, t = self._loop.scene, self._loop.scene.time
        return [
            (
                recorder,
                t,
                sim := scene.arms[name],
                sim.measured_q,
                sim.measured_dq,
                self._controllers[name].hardware.setpoint(),
            )
            for name, recorder in (*self._histories.items(), *self._recordings.items())
            if recorder.due(t)
        ]

    def end_rows(self, rows: list[tuple[Any, ...]]) -> None:
        """Complete the rows with the efforts and accelerations of the step."""
        for recorder, t, sim, q, dq, q_ref in rows:
            recorder.add(t, q, dq, sim.ddq, sim.measured_tau, sim.tau, q_ref)

    # -- frames --------------------------------------------------------------------------------------------------------

    def frame(self, arms: Collection[str] | None = None) -> Frame:
        """The current moment, with the state of some arms. Default: all."""
        with self.bus.lock:
            loop, pace = self._loop, self._pace
            scene = loop.scene
            self._number += 1
            names = scene.arms if arms is None else [name for name in scene.arms if name in arms]
            return scene_frame(
                scene,
                self._description(),
                {name: self._arm_frame(name) for name in names},
                stamp=loop.now,
                number=self._number,
                playing=pace.playing,
                speed=pace.speed,
                factor=pace.factor,
            )

    def _description(self) -> SceneDescription:
        scene = self._loop.scene
        if self._described is None or self._described[0] is not scene or self._described[1] is not scene.cart:
            self._described = scene, scene.cart, SceneDescription.of(scene)
        return self._described[2]

    def _arm_frame(self, name: str) -> ArmFrame:
        sim, stepped = self._loop.scene.arms[name], self._loop.cycle > self._placed
        push = self._loop.scene.stepped[name].wrenches.memory.get("tip")
        control: dict[str, Any] = {}
        if name in self._controllers:
            controller, law = self._controllers[name], self._laws[name]
            control = {"law": law.name, "gains": law.gains}
            if controller.hardware.tracks:
                control["q_ref"] = q_ref = controller.hardware.setpoint()
                control["T_ref"] = controller.tip.pose(q_ref[: controller.n_tip])
                control["target"] = controller.target().copy()
            elif controller.mode == EFFORT:
                control["target"] = controller.effort.copy()
        return simulated_arm(sim, stepped, force=np.zeros(3) if push is None else push[:3], **control)


def _bounded(name: str, value: ArrayLike, unit: str) -> Array:
    vector = finite(name, value, (3,), f"three finite numbers [{unit}]")
    if np.abs(vector).max() > MAX_INPUT:
        raise TrocarError(f"{name} must be at most {MAX_INPUT:g} {unit} along every axis, got {vector.tolist()}")
    return vector
