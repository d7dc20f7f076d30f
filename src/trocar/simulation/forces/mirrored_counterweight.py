"""The counterweight of Ferro et al. 2022: driven by a motor whose force reaches the tool with a delay."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trocar.simulation.arm_slice import ArmSlice
from trocar.spatial import Array


class Mirrored(NamedTuple):
    """State of the motor.

    Attributes:
        steps: number of steps taken. force, velocity: motor force [N] and counterweight velocity [m/s] of the last
            step.
        total: sum of the forces in this period [N]. passed: force on the tool [N].
    """

    steps: int = 0
    force: float = 0.0
    velocity: float = 0.0
    total: float = 0.0
    passed: float = 0.0


class MirroredCounterweight:
    """A motor that follows the insertion, and whose force acts on the tool one simulation step later.

    In each physics step the motor gives the counterweight the velocity `rate` times its gap to the insertion, with
    unlimited force. The mean motor force of the last 10 ms period acts on the tool. So the counterweight's
    inertia acts on the tool delayed and filtered: joint 3 oscillates after every jump.
    """

    # CoppeliaSim's position control by default: velocity = 0.1 x error / physics step, which the paper sets to 5 ms
    rate = 0.1 / 5e-3  # [1/s]
    period = 1e-2  # simulation step of the paper [s]

    def __init__(self, arm_slice: ArmSlice, timestep: float) -> None:
        arm = arm_slice.arm
        follower = str(arm.counterweight)
        leader = arm.transmissions[follower]
        self._follower, self._leader = (arm_slice.dof(name) for name in (follower, leader))
        self._ratio = arm.body(follower).coupling["insertion"] / arm.body(leader).coupling["insertion"]
        self._engine, self._dof = arm_slice.engine, arm_slice.v.start + self._follower
        self._mass = float(self._engine.model.dof_M0[self._dof])
        self._timestep, self._every = timestep, max(1, round(self.period / timestep))
        self._force = np.zeros(arm_slice.v.stop - arm_slice.v.start)
        self.memory = Mirrored()

    def reset(self) -> None:
        self.memory = Mirrored()

    def force(self, qpos: Array, qvel: Array) -> Array:
        """Generalised force on the arm's joints for the next step."""
        i, j, ratio, last = self._follower, self._leader, self._ratio, self.memory
        gap = ratio * qpos[j] - qpos[i]
        if last.steps:  # load of the last step: weight, and the motion of the arm that carries it
            load = last.force - self._mass * (qvel[i] - last.velocity) / self._timestep
        else:
            load = float(self._engine.data.qfrc_bias[self._dof])
        force = self._mass * (self.rate * gap - qvel[i]) / self._timestep + load
        total, passed = last.total + force, last.passed
        if last.steps % self._every == 0:  # a period begins
            total, passed = force, last.total / self._every if last.steps else load
        self.memory = Mirrored(last.steps + 1, force, float(qvel[i]), total, passed)
        self._force[i], self._force[j] = force, -ratio * passed
        return self._force
