"""The worlds of a task: readings of n scenes; an environment steps its own under the control loop of the live robot."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

from trocar.arms import Arm
from trocar.batch.worlds.layout import FINGERS
from trocar.batch.worlds.status import BOTH_FINGERS, OTHER_PART
from trocar.control import State
from trocar.errors import TrocarError
from trocar.robot.controller.actuators import Sensors
from trocar.robot.controller.constants import FREQUENCY, PERIOD
from trocar.robot.controller.hardware import Hardware
from trocar.robot.controller.loop import ControlLoop
from trocar.robot.controller.tip import Tip
from trocar.simulation import Scene
from trocar.simulation.forces.faults import Fault
from trocar.spatial import Array, ArrayModule, Values, inverse

__all__ = ["FREQUENCY", "PERIOD", "RATE", "SteppedWorld", "World", "Worlds"]

RATE = 50  # control rate of the tasks [Hz]
FINGER_BITS = {finger: 2**k for k, finger in enumerate(FINGERS)}

Value = TypeVar("Value")
Memory: TypeAlias = dict[str, Any]  # what a task remembers of an episode, by name
Observation: TypeAlias = Any  # an array, or arrays by name
Info: TypeAlias = dict[str, Any]  # figures of an episode or of several by name, as of Gymnasium
Transition: TypeAlias = tuple[Observation, float, bool, bool, Info]  # what `step` of an environment returns


class MeasuredArm(Protocol):
    """Sensors of an arm, and its set-point."""

    @property
    def arm(self) -> Arm: ...

    @property
    def q(self) -> Array: ...

    @property
    def dq(self) -> Array: ...

    def setpoint(self) -> Array: ...


class Worlds(ABC):
    """n worlds as a task reads and judges them: arrays with a leading axis n, NumPy's or torch's on Warp's devices.

    Attributes:
        n: number of worlds. xp: numpy or torch. elapsed: (n,) control periods since the start of the episodes.
        memory: what the task remembers of the current episodes, by name (n, ...).
        forces: (n,) largest contact force on an instrument of `Task.force_arms` in the last control period [N].
    """

    n: int
    xp: ArrayModule
    elapsed: Values
    memory: Memory
    forces: Values

    @property
    @abstractmethod
    def times(self) -> Values:
        """[s] (n,) since the start of the episodes."""

    @abstractmethod
    def put(self, values: Values) -> Values:
        """An array of the worlds' kind and precision, on their device."""

    @abstractmethod
    def true_tips(self, arm: str) -> Values:
        """Tips (n, 4, 4) of the simulated arms in the world."""

    @abstractmethod
    def tips(self, arm: str) -> Values:
        """Tips (n, 4, 4) in the world from the measured joints."""

    @abstractmethod
    def tips_at(self, arm: str, q: Values) -> Values:
        """Tips (n, 4, 4) in the world at joints (n, 6 or more)."""

    @abstractmethod
    def true_jaws(self, arm: str) -> Values:
        """Openings (n,) of the simulated jaws [rad]."""

    @abstractmethod
    def poses(self, thing: str) -> Values:
        """Poses (n, 4, 4) of an object in the world."""

    @abstractmethod
    def velocities(self, thing: str) -> Values:
        """Velocities (n, 3) of the origin of a free object, world's axes [m/s]."""

    @abstractmethod
    def touching(self, arm: str, thing: str) -> Values:
        """Parts (n,) of an arm that touch an object: bits of `trocar.batch.worlds.status`."""

    def touched(self, arm: str, thing: str) -> Values:
        """Worlds (n,) in which any part of an arm touches an object."""
        return self.touching(arm, thing) != 0

    def held(self, arm: str, thing: str) -> Values:
        """Worlds (n,) in which both fingers of an arm touch an object."""
        return (self.touching(arm, thing) & BOTH_FINGERS) == BOTH_FINGERS

    def each(self, read: Callable[[World], Any]) -> Values:
        """What a function reads of each world, (n, ...): only of tasks that are not `batched`."""
        raise TrocarError("these worlds have no scenes; the task needs Task.batched = False")


class World(Worlds):
    """A scene as a task reads it: n = 1, and for scripted policies its readings without the leading axis.

    Attributes:
        scene: the scene. arms: sensors by name. kinematics: of the tips by name. T_world_base: bases (4, 4) by name.
    """

    n = 1
    xp = np
    arms: Mapping[str, MeasuredArm]

    def __init__(self, scene: Scene, arms: Mapping[str, MeasuredArm]) -> None:
        self.scene, self.arms = scene, arms
        self.begin({})
        self.kinematics = {name: Tip(sensors.arm) for name, sensors in arms.items()}
        self.T_world_base = {name: scene.T_world_base(name) for name in scene.arms}
        self._readings: dict[tuple[str, str], tuple[int, Any]] = {}  # cycle and value of the last ones
        self._faults: dict[str, tuple[Fault, ...]] = {}

    @property
    @abstractmethod
    def cycle(self) -> int:
        """A number that changes with every control cycle."""

    def begin(self, memory: Memory, time: float = 0.0) -> None:
        """Start an episode with what its task remembers, at a time of the scene [s]."""
        self._begin = time
        judged = {"periods solved": 0, "first success": False}
        self.memory = {name: np.array(value)[None] for name, value in {**judged, **memory}.items()}
        self.elapsed, self.forces = np.zeros(1, dtype=np.int64), np.zeros(1)

    def value(self, name: str) -> Values:
        """A remembered value of the task, without the leading axis."""
        return self.memory[name][0]

    @property
    def time(self) -> float:
        """[s] since the start of the episode."""
        return self.scene.time - self._begin

    @property
    def times(self) -> Array:
        return np.array([self.time])

    def put(self, values: Values) -> Array:
        return np.asarray(values)

    def true_tips(self, arm: str) -> Array:
        return self.T_world_tip(arm)[None]

    def tips(self, arm: str) -> Array:
        return self.T_world_measured(arm)[None]

    def tips_at(self, arm: str, q: Array) -> Array:
        tip = self.kinematics[arm]
        return (self.T_world_base[arm] @ tip.pose(q[0, : tip.n]))[None]

    def true_jaws(self, arm: str) -> Array:
        return self.scene.arms[arm].q[-1:]

    def poses(self, thing: str) -> Array:
        return self.T_world_object(thing)[None]

    def velocities(self, thing: str) -> Array:
        return self.scene.objects[thing].twist[None, :3]

    def touching(self, arm: str, thing: str) -> Array:
        return np.array([self.once("touching", arm, lambda: self._touching(arm)).get(thing, 0)])

    def _touching(self, arm: str) -> dict[str, int]:
        parts: dict[str, int] = {}
        for contact in self.scene.touching(arm):
            if contact.link_and_object is not None:
                link, thing = contact.link_and_object
                parts[thing] = parts.get(thing, 0) | FINGER_BITS.get(link.name, OTHER_PART)
        return parts

    def each(self, read: Callable[[World], Any]) -> Array:
        return np.array(read(self))[None]

    def state(self, arm: str) -> State:
        """Measured state of an arm."""
        hardware = self.arms[arm]
        return State(self.time, hardware.q, hardware.dq)

    def once(self, what: str, of: str, read: Callable[[], Value]) -> Value:
        """A reading of this cycle: `read` is called once, the first time that `what` `of` an arm or object is asked."""
        cycle, value = self._readings.get((what, of), (-1, None))
        if cycle != self.cycle:
            value = read()
            self._readings[what, of] = self.cycle, value
        return value

    def forget(self) -> None:
        """Forget the readings of this cycle: arms or objects were placed elsewhere."""
        self._readings.clear()

    def T_world_measured(self, arm: str) -> Array:
        """Tip (4, 4) in the world from the measured joints."""
        tip, part = self.kinematics[arm], self.arms[arm]
        return self.once("measured", arm, lambda: self.T_world_base[arm] @ tip.pose(part.q[: tip.n])).copy()

    def T_world_tip(self, arm: str) -> Array:
        """Tip (4, 4) in the world, of the simulated arm."""
        return self.once("tip", arm, lambda: self.T_world_base[arm] @ self.scene.arms[arm].tip_pose()).copy()

    def T_world_object(self, name: str) -> Array:
        """Pose (4, 4) of an object in the world."""
        return self.once("object", name, lambda: self.scene.objects[name].pose).copy()

    def joints(self, arm: str, T_world: Array, seed: Array) -> Array:
        """Joints (n,) for a tip pose (4, 4) in the world, clipped to the limits, with the seed's jaw.

        Raises TrocarError if there are none.
        """
        tip, facts = self.kinematics[arm], self.arms[arm].arm
        q = seed.copy()
        q[: tip.n] = tip.joints(inverse(self.T_world_base[arm]) @ T_world, seed[: tip.n])[: tip.n]
        return np.asarray(np.clip(q, facts.lower, facts.upper))

    def contact_force(self, arm: str) -> float:
        """Magnitude of the force of all objects on the instrument [N]."""
        return self.once("force", arm, self.scene.arms[arm].contact_force)

    def inject(self, arm: str, *faults: Fault) -> None:
        """Inject faults without memory into an arm; unlike those of a scene, they are pickled."""
        self._faults[arm] = faults
        self.scene.arms[arm].inject(*faults)


class SteppedWorld(World):
    """The simulated side of an environment: scene, 1500 Hz loop and motors of every arm.

    Attributes:
        loop: the dVRK's control loop on the scene. arms: motors and sensors by name.
    """

    arms: Mapping[str, Hardware]

    def __init__(self, scene: Scene, sensors: Sensors) -> None:
        self._options = sensors
        self.loop = loop = ControlLoop(scene, tuple(scene.arms), sensors, supported=False)
        super().__init__(scene, {name: Hardware(name, loop, part) for name, part in loop.parts.items()})

    @property
    def cycle(self) -> int:
        return self.loop.cycle

    def __getstate__(self) -> dict[str, Any]:
        """State for copies and other processes, in which an episode continues bit for bit."""
        loop = self.loop
        parts = (loop, loop.servo, loop.sensors, *self.arms.values())
        return {
            "scene": self.scene,
            "sensors": self._options,
            "faults": self._faults,
            "episode": (self.memory, self.elapsed, self.forces),
            "cycle": loop.cycle,
            "memories": [part.remembered() for part in parts],
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        for arm, faults in state["faults"].items():
            state["scene"].arms[arm].inject(*faults)
        SteppedWorld.__init__(self, state["scene"], state["sensors"])
        self._faults = state["faults"]
        self.memory, self.elapsed, self.forces = state["episode"]
        self.loop.cycle = state["cycle"]
        parts = (self.loop, self.loop.servo, self.loop.sensors, *self.arms.values())
        for part, memory in zip(parts, state["memories"], strict=True):
            part.recall(memory)
