"""Track: follow a motion with a wrong model."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from trocar.spatial import Array, Values
from trocar_learning.envs.arrays import squares
from trocar_learning.envs.task import Memory, Policy
from trocar_learning.envs.tasks.reach import joint_pid
from trocar_learning.envs.tasks.reference_task import RESIDUAL_BANDWIDTH, ModelResidual, ReferenceTask
from trocar_learning.envs.world import RATE, World, Worlds

if TYPE_CHECKING:
    from trocar_learning.envs.task_env import TaskEnv

MAX_RMS = 0.5e-3  # [m]
JUDGED = 2.0  # duration at the end over which the error is judged [s]


class TrackTask(ReferenceTask):
    """Follow a motion by residual efforts on computed torque with the nominal model.

    Success: root mean square error of the tip below 0.5 mm over the last 2 of 5 s. A calibrated dVRK reaches
    1 to 2 mm with a camera's help (Hwang et al. 2020), so that the dynamics must not add to it.
    """

    duration: float = 5.0
    held: ClassVar[float] = 0.0

    def start(self, world: World, rng: np.random.Generator, sigma: float) -> Memory:
        return super().start(world, rng, sigma) | {"squares": 0.0, "count": 0}

    def after_period(self, worlds: Worlds) -> None:
        memory = worlds.memory
        memory["error"] = self.tip_errors(worlds)
        judged = worlds.elapsed > round((self.duration - JUDGED) * RATE)
        memory["squares"] = memory["squares"] + judged * memory["error"] ** 2
        memory["count"] = memory["count"] + judged

    def rms(self, worlds: Worlds) -> Values:
        """Root mean square errors (n,) of the tip in the judged time so far [m]."""
        return (worlds.memory["squares"] / worlds.xp.clip(worlds.memory["count"], 1, None)) ** 0.5

    def solved(self, worlds: Worlds) -> Values:
        return (worlds.elapsed >= round(self.duration * RATE)) & (self.rms(worlds) < MAX_RMS)

    def reward(self, worlds: Worlds) -> Values:
        return -worlds.xp.clip(squares(worlds.xp, worlds.memory["error"] / 1e-3), None, 100.0)

    def expert(self, env: TaskEnv) -> Policy:
        """The model of the simulated arm, and its momentum observer."""
        residual = ModelResidual(env, env.world.scene.arms["PSM"].mechanism)

        def policy(observation: object) -> Array:
            residual.update()
            return np.clip((residual.efforts() - residual.observed) / residual.limits, -1.0, 1.0)

        return policy

    def pid(self, env: TaskEnv) -> Policy:
        """PID of every joint on the reference, in addition to the nominal law."""
        return joint_pid(env, partial(self.reference, env.world), RESIDUAL_BANDWIDTH)
