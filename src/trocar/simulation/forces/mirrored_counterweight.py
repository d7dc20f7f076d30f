"""The counterweight as Ferro et al. 2022 drive it: a PID makes it follow the tool, its force acts on the tool too."""

from __future__ import annotations

import numpy as np

from trocar.simulation.arm_slice import ArmSlice
from trocar.spatial import Array


class MirroredCounterweight:
    """PID on the gap between the insertion and the counterweight, equal forces on both.

    Force on the counterweight kp e + ki int(e) + kd e', e = ratio q3 - q_counterweight; the reaction, times the ratio,
    on the insertion. Softer than a rigid transmission, which is what shows in the transients of joint 3.
    """

    kp, ki, kd = 2.0e4, 2.0e4, 1.5e2  # [N/m, N/(m s), N s/m]: a 38 Hz, 60 % damped follower of 0.35 kg

    def __init__(self, arm_slice: ArmSlice, timestep: float) -> None:
        arm = arm_slice.arm
        follower = str(arm.counterweight)
        leader = arm.transmissions[follower]
        self._follower, self._leader = (arm_slice.dof(name) for name in (follower, leader))
        self._ratio = arm.body(follower).coupling["insertion"] / arm.body(leader).coupling["insertion"]
        self._timestep = timestep
        self._force = np.zeros(arm_slice.v.stop - arm_slice.v.start)
        self.memory = 0.0  # integral of the gap [m s]

    def reset(self) -> None:
        self.memory = 0.0

    def force(self, qpos: Array, qvel: Array) -> Array:
        """Generalised force on the arm's joints for the next step."""
        i, j, ratio = self._follower, self._leader, self._ratio
        gap = ratio * qpos[j] - qpos[i]
        self.memory += gap * self._timestep
        f = self.kp * gap + self.ki * self.memory + self.kd * (ratio * qvel[j] - qvel[i])
        self._force[i], self._force[j] = f, -ratio * f
        return self._force
