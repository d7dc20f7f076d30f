"""The counterweight of Ferro et al. 2022: driven by a motor whose force reaches the tool with a delay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from trocar.simulation.arm_slice import ArmSlice
from trocar.spatial import Array


@dataclass(frozen=True, kw_only=True)
class Mirror:
    """Motor that makes the counterweight follow the insertion. Defaults: the published scene of Ferro et al. 2022.

    Attributes:
        gain: of the position loop, which commands the velocity gain x error / physics.
        physics, period: physics step and simulation step of their engine [s]. The scene's script runs once per period.
        force, speed: limits of the motor [N] and of the commanded velocity [m/s].
        cfm: softness of the motor in ODE [m/(N s)]. The scene's error reduction, ERP 0.6, acts on joint stops and loop
            closures, which are hard here; a velocity motor has no position error to reduce.
    """

    gain: float = 0.1
    physics: float = 5e-3
    period: float = 1e-2
    force: float = 50.0
    speed: float = 10.0
    cfm: float = 1e-5


class Mirrored(NamedTuple):
    """State of the motor.

    Attributes:
        steps: number of steps taken. force, velocity: motor force [N] and counterweight velocity [m/s] of the last
            step.
        total: sum of the forces in this period [N]. passed: force on the tool [N].
        target: position that the script demanded in this period [m].
    """

    steps: int = 0
    force: float = 0.0
    velocity: float = 0.0
    total: float = 0.0
    passed: float = 0.0
    target: float = 0.0


class MirroredCounterweight:
    """A motor that follows the insertion, and whose force acts on the tool one simulation step later.

    At the start of each period the script reads the insertion and sets the motor's target, and applies the mean motor
    force of the last period to the tool. So the counterweight's inertia acts on the tool delayed and filtered: joint 3
    oscillates after every jump. The motor expects the load of the physics step before.
    """

    def __init__(self, arm_slice: ArmSlice, timestep: float, mirror: Mirror) -> None:
        arm = arm_slice.arm
        follower = str(arm.counterweight)
        leader = arm.transmissions[follower]
        self._follower, self._leader = (arm_slice.dof(name) for name in (follower, leader))
        self._ratio = arm.body(follower).coupling["insertion"] / arm.body(leader).coupling["insertion"]
        self._engine, self._dof = arm_slice.engine, arm_slice.v.start + self._follower
        mass = float(self._engine.model.dof_M0[self._dof])
        self._inertia = mass / timestep  # [kg/s]
        self._reached = 1.0 / (1.0 + mass * mirror.cfm / mirror.physics)  # share of a velocity step, by the softness
        self._mirror, self._rate = mirror, mirror.gain / mirror.physics
        self._every = max(1, round(mirror.period / timestep))
        self._force = np.zeros(arm_slice.v.stop - arm_slice.v.start)
        self.memory = Mirrored()

    def reset(self) -> None:
        self.memory = Mirrored()

    def force(self, qpos: Array, qvel: Array) -> Array:
        """Generalised force on the arm's joints for the next step."""
        i, j, ratio, last, mirror = self._follower, self._leader, self._ratio, self.memory, self._mirror
        velocity = float(qvel[i])
        if last.steps:  # load of the last step: weight, and the motion of the arm that carries it
            load = last.force - self._inertia * (velocity - last.velocity)
        else:
            load = float(self._engine.data.qfrc_bias[self._dof])
        total, passed, target = last.total, last.passed, last.target
        if last.steps % self._every == 0:  # a period begins
            passed = total / self._every if last.steps else load
            total, target = 0.0, float(ratio * qpos[j])
        speed = min(max(self._rate * (target - qpos[i]), -mirror.speed), mirror.speed)
        force = self._reached * self._inertia * (speed - velocity) + load
        force = float(min(max(force, -mirror.force), mirror.force))
        self.memory = Mirrored(last.steps + 1, force, velocity, total + force, passed, target)
        self._force[i], self._force[j] = force, -ratio * passed
        return self._force
