"""Track: follow a motion with a wrong model."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from trocar.spatial import Array
from trocar_learning.envs.task import Policy
from trocar_learning.envs.tasks.reach import joint_pid
from trocar_learning.envs.tasks.reference_task import RESIDUAL_BANDWIDTH, ModelResidual, ReferenceTask
from trocar_learning.envs.world import World

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

    def start(self, world: World, rng: np.random.Generator, sigma: float) -> None:
        super().start(world, rng, sigma)
        self.squares: list[float] = []
        self.error = 0.0

    def after_period(self, world: World, force: float) -> None:
        self.error = self.tip_error(world)
        if world.time > self.duration - JUDGED:
            self.squares.append(self.error**2)

    def rms(self) -> float:
        """Root mean square error of the tip in the judged time so far [m]."""
        return float(np.sqrt(np.mean(self.squares))) if self.squares else 0.0

    def solved(self, world: World) -> bool:
        return world.time > self.duration - 1e-6 and self.rms() < MAX_RMS

    def reward(self, world: World) -> float:
        return -min((self.error / 1e-3) ** 2, 100.0)

    def expert(self, env: TaskEnv) -> Policy:
        """The model of the simulated arm, and its momentum observer."""
        residual = ModelResidual(env, env.world.scene.arms["PSM"].mechanism)

        def policy(observation: object) -> Array:
            residual.update()
            return np.clip((residual.efforts() - residual.observed) / residual.limits, -1.0, 1.0)

        return policy

    def pid(self, env: TaskEnv) -> Policy:
        """PID of every joint on the reference, in addition to the nominal law."""
        return joint_pid(env, self.reference, RESIDUAL_BANDWIDTH)
