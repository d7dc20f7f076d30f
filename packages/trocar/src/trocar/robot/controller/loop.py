"""The 1500 Hz loop over all arms: sensors, PID, engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trocar.errors import TrocarError
from trocar.robot.bus import Bus
from trocar.robot.controller.actuators import ActuatorSensors, Sensors, Servo
from trocar.robot.controller.compensated_wrist import CompensatedWrist
from trocar.robot.controller.constants import FREQUENCY, PERIOD
from trocar.robot.controller.memory import Remembering
from trocar.simulation import Scene
from trocar.spatial import Array


class ControlLoop(Remembering):
    """Arrays over all actuators of the controlled arms, and the steps of the scene.

    Args:
        scene: its timestep must be 1/1500 s. arms: names of the controlled arms. epoch: time at the start [ns].
        supported: support the weight of arms with their motors off and of uncontrolled arms.
        observed: enable disturbance observers on the arms that have them.

    Attributes:
        cycle: number of the current cycle, from 1. applied: (N,) actuator efforts of the last step [N m, N].
        q, dq: (N,) measured positions and velocities of the joints, in the order of the actuators [rad, m; /s].
        parts: actuators of every arm.
    """

    MEMORY = ("applied", "q", "dq")

    def __init__(
        self,
        scene: Scene,
        arms: Sequence[str],
        sensors: Sensors,
        epoch: int = 0,
        supported: bool = True,
        observed: bool = True,
    ) -> None:
        if abs(scene.timestep - PERIOD) > 1e-9:
            raise TrocarError(
                f"the dVRK controls at 1500 Hz; the scene must have timestep=1/1500, got {scene.timestep:g}"
            )
        facts = [scene.arms[name].arm for name in arms]
        self.options, self._epoch, self._supported, self._observed = sensors, epoch, supported, observed
        self.bus = Bus(lambda: self.now)
        self.servo, self.sensors = Servo(facts, observed), ActuatorSensors(facts, sensors)
        ends = np.cumsum([0, *(arm.n for arm in facts)]).tolist()
        self.parts = {name: slice(a, b) for name, a, b in zip(arms, ends, ends[1:], strict=False)}
        self.cycle = 1
        self.applied = np.zeros(ends[-1])
        self._wrists: dict[str, CompensatedWrist] = {}
        self._bind(scene)

    def adopt(self, scene: Scene) -> None:
        """Continue with a changed copy of the scene. Positions and velocities of the joints stay the same."""
        facts = [scene.arms[name].arm for name in self.parts]
        self.servo.load(facts, self._observed)
        self.sensors.load(facts)
        self._bind(scene)

    def _bind(self, scene: Scene) -> None:
        self.scene, N = scene, len(self.applied)
        self._positions = np.zeros((N, scene.model.nq))
        self._velocities = np.zeros((N, scene.model.nv))
        self._joint_from_motor = np.zeros((N, N))
        for name in self.parts:
            arm, stepped, part = scene.arms[name].arm, scene.stepped[name], self.parts[name]
            A = np.linalg.inv(arm.motors.coupling) @ stepped.D_measured
            self._positions[part, stepped.q] = A
            self._velocities[part, stepped.v] = A
            self._joint_from_motor[part, part] = arm.motors.coupling
        self._driven = [(scene.stepped[name], part) for name, part in self.parts.items()]
        self._idle = tuple(name for name in scene.arms if name not in self.parts)
        self._qpos, self._qvel = scene.data.qpos, scene.data.qvel
        self.measure()
        self._compensate(scene)

    def _compensate(self, scene: Scene) -> None:
        """Compensate the wrists of arms with this option; those that were compensated keep their history."""
        before, self._wrists = self._wrists, {}
        for name, part in self.parts.items():
            simulated = scene.arms[name]
            cables = simulated.options.compensated_cables
            if cables is not None:
                wrist = before.get(name)
                if wrist is None or wrist.cables is not cables:
                    wrist = CompensatedWrist(simulated.arm, cables, part)
                    wrist.begin(self.q[part])
                self._wrists[name] = wrist

    def remembered(self) -> dict[str, Any]:
        return super().remembered() | {"_wrists": {name: w.remembered() for name, w in self._wrists.items()}}

    def recall(self, memory: dict[str, Any]) -> None:
        super().recall({name: value for name, value in memory.items() if name != "_wrists"})
        for name, remembered in memory["_wrists"].items():
            self._wrists[name].recall(remembered)

    @property
    def now(self) -> int:
        """The robot's clock [ns], greater than 0."""
        return self._epoch + self.cycle * 10**9 // FREQUENCY

    @property
    def time(self) -> float:
        """[s]."""
        return 1e-9 * self.now

    def place(self, arms: Sequence[str]) -> None:
        """Read the sensors of arms that were placed elsewhere."""
        s = self._positions.dot(self._qpos)
        for name in arms:
            self.sensors.place(self.parts[name], s[self.parts[name]])
        self.q, self.dq = self._joint_from_motor.dot(self.sensors.q), self._joint_from_motor.dot(self.sensors.dq)
        for name in self._wrists.keys() & set(arms):
            self._wrists[name].begin(self.q[self.parts[name]])

    def measure(self) -> None:
        s, ds = self._positions.dot(self._qpos), self._velocities.dot(self._qvel)
        for name, (stepped, part) in zip(self.parts, self._driven, strict=True):
            if stepped.faults is not None:
                arm = self.scene.arms[name]
                encoders = np.linalg.solve(arm.arm.motors.coupling, arm.measured_q)
                self.sensors.compare_pots(s[part], encoders, part)
                s[part] = encoders
                ds[part] = np.linalg.solve(arm.arm.motors.coupling, arm.measured_dq)
        self.sensors.measure(s, ds)
        self.q, self.dq = self._joint_from_motor.dot(self.sensors.q), self._joint_from_motor.dot(self.sensors.dq)

    def act(self) -> Array:
        """Compute the efforts, step the engine and read the sensors; mask (N,) of the actuators that lost track."""
        servo, sensors = self.servo, self.sensors
        q, dq = sensors.q, sensors.dq
        if self._wrists:
            q, dq = q.copy(), dq.copy()
            for wrist in self._wrists.values():
                wrist.shift(servo, q, dq)
        self.applied = servo.efforts(q, dq)
        lost = servo.lost()
        for name, (stepped, part) in zip(self.parts, self._driven, strict=True):
            efforts = self.applied[part]
            if self._supported and not servo.on[part.start]:
                efforts = efforts + stepped.motor_from_joint.dot(self._support(name))
            stepped.command_motors(efforts)
        for name in self._idle:
            self.scene.stepped[name].command(self._support(name))
        self.scene.advance()
        self.cycle += 1
        self.measure()
        return lost

    def _support(self, name: str) -> Array:
        """Joint efforts (n,) that carry the weight of an arm, if arms are supported."""
        arm = self.scene.arms[name]
        return arm.mechanism.gravity(arm.q) if self._supported else np.zeros(arm.n)
