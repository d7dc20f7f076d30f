"""The world of a task: readings of a scene; an environment steps its own under the control loop of the live robot."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

import numpy as np

from trocar.arms import Arm
from trocar.control import State
from trocar.robot.controller.actuators import Sensors
from trocar.robot.controller.constants import FREQUENCY, PERIOD
from trocar.robot.controller.hardware import Hardware
from trocar.robot.controller.loop import ControlLoop
from trocar.robot.controller.tip import Tip
from trocar.simulation import Scene
from trocar.simulation.forces.faults import Fault
from trocar.spatial import Array, inverse

__all__ = ["FREQUENCY", "PERIOD", "SteppedWorld", "World"]

Value = TypeVar("Value")


class MeasuredArm(Protocol):
    """Sensors of an arm, and its set-point."""

    @property
    def arm(self) -> Arm: ...

    @property
    def q(self) -> Array: ...

    @property
    def dq(self) -> Array: ...

    def setpoint(self) -> Array: ...


class World(ABC):
    """A scene as a task reads it.

    Attributes:
        scene: the scene. arms: sensors by name. tips: kinematics of the tips by name.
        T_world_base: bases (4, 4) by name.
    """

    arms: Mapping[str, MeasuredArm]

    def __init__(self, scene: Scene, arms: Mapping[str, MeasuredArm]) -> None:
        self.scene, self.arms = scene, arms
        self.tips = {name: Tip(sensors.arm) for name, sensors in arms.items()}
        self.T_world_base = {name: scene.T_world_base(name) for name in scene.arms}
        self._readings: dict[tuple[str, str], tuple[int, Any]] = {}  # cycle and value of the last ones
        self._faults: dict[str, tuple[Fault, ...]] = {}

    @property
    @abstractmethod
    def cycle(self) -> int:
        """A number that changes with every control cycle."""

    @property
    def time(self) -> float:
        """[s] since the start of the episode."""
        return self.scene.time

    def state(self, arm: str) -> State:
        """Measured state of an arm."""
        hardware = self.arms[arm]
        return State(self.scene.time, hardware.q, hardware.dq)

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
        tip, part = self.tips[arm], self.arms[arm]
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
        tip, facts = self.tips[arm], self.arms[arm].arm
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
            "cycle": loop.cycle,
            "memories": [part.remembered() for part in parts],
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        for arm, faults in state["faults"].items():
            state["scene"].arms[arm].inject(*faults)
        SteppedWorld.__init__(self, state["scene"], state["sensors"])
        self._faults = state["faults"]
        self.loop.cycle = state["cycle"]
        parts = (self.loop, self.loop.servo, self.loop.sensors, *self.arms.values())
        for part, memory in zip(parts, state["memories"], strict=True):
            part.recall(memory)
