"""Payload: notice a load, estimate its mass and carry it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from trocar.control.observers import PayloadObserver, PointMass
from trocar.spatial import Array, Values
from trocar_learning.envs.arrays import squares
from trocar_learning.envs.task import Memory, Policy
from trocar_learning.envs.tasks.reach import joint_pid
from trocar_learning.envs.tasks.reference_task import RESIDUAL_BANDWIDTH, ModelResidual, ReferenceTask
from trocar_learning.envs.world import World, Worlds

if TYPE_CHECKING:
    from trocar_learning.envs.task_env import TaskEnv

MASS = (0.02, 0.15)  # [kg]
MAX_ESTIMATE = 0.2  # [kg], of an action of 1
ONSET = (1.2, 2.2)  # [s]
REACTION = 1.0  # time until the estimate must be right [s]
MAX_MASS_ERROR, MAX_TIP_ERROR = 0.010, 1e-3  # [kg, m]
# standard deviations of the residual effort of models on a robot [N m, N], docs/observers.md
COVARIANCE = np.diag([0.03, 0.05, 0.14]) ** 2
FORGETTING = 0.15  # of the expert's estimate [s]


class PayloadTask(ReferenceTask):
    """Carry a load that appears at the tip while the arm moves, and estimate its mass.

    The weight of 20 to 150 g acts on the tip; its inertia, a tenth of the arm's or less, does not. The last number of
    an action is the estimated mass, from 0 (-1) to 200 g (1).
    Success: from at most 1 s after the onset, for 0.5 s, the estimate is within 10 g and the tip within 1 mm of its
    reference. 10 g is 0.1 N; the payload estimate on measured data of a PSM errs by 2.3 g (docs/observers.md).
    """

    duration: float = ONSET[1] + REACTION + 0.6
    extra: ClassVar[tuple[str, ...]] = ("mass",)
    batched: ClassVar[bool] = False

    def start(self, world: World, rng: np.random.Generator, sigma: float) -> Memory:
        memory = super().start(world, rng, sigma)
        return memory | {"mass": rng.uniform(*MASS), "onset": rng.uniform(*ONSET), "estimate": 0.0, "loaded": False}

    def act(self, world: World, extra: Array) -> None:
        world.memory["estimate"][:] = 0.5 * MAX_ESTIMATE * (1.0 + float(extra[0]))
        if not world.value("loaded") and world.time >= world.value("onset"):
            arm = world.scene.arms["PSM"]
            arm.apply_wrench(np.append(world.value("mass") * arm.gravity_vector, np.zeros(3)))
            world.memory["loaded"][:] = True

    def after_period(self, worlds: Worlds) -> None:
        worlds.memory["error"] = self.tip_errors(worlds)

    def privileged(self, worlds: Worlds) -> Values:
        return (worlds.memory["mass"] * worlds.memory["loaded"])[:, None]

    def solved(self, worlds: Worlds) -> Values:
        memory = worlds.memory
        right = abs(memory["estimate"] - memory["mass"]) <= MAX_MASS_ERROR
        return memory["loaded"] & right & (memory["error"] <= MAX_TIP_ERROR)

    def failed(self, worlds: Worlds) -> Values:
        return (worlds.times > worlds.memory["onset"] + REACTION + 0.02) & ~self.solved(worlds)

    def reward(self, worlds: Worlds) -> Values:
        memory = worlds.memory
        away = (memory["estimate"] - memory["mass"] * memory["loaded"]) / MAX_MASS_ERROR
        errors = squares(worlds.xp, memory["error"] / 1e-3) + squares(worlds.xp, away)
        return -worlds.xp.clip(errors, None, 100.0)

    def expert(self, env: TaskEnv) -> Policy:
        """A payload observer on the residual of a momentum observer, which is also cancelled."""
        world, model = env.world, env.world.scene.arms["PSM"].mechanism
        residual = ModelResidual(env, model)
        x, y, z = model.arm.T_body_tip[:3, 3].tolist()
        observer = PayloadObserver(
            PointMass(model, model.arm.tip_body, (x, y, z)),
            COVARIANCE,
            float(residual.observer.bandwidth[0]),
            FORGETTING,
        )

        def policy(observation: object) -> Array:
            residual.update()
            state = world.state("PSM")
            mass = observer.update(residual.observed, state.q, state.dq, np.zeros(7), env.period)
            tau = np.clip((residual.efforts() - residual.observed) / residual.limits, -1.0, 1.0)
            return np.append(tau, np.clip(2.0 * mass / MAX_ESTIMATE - 1.0, -1.0, 1.0))

        return policy

    def pid(self, env: TaskEnv) -> Policy:
        """PID of every joint in addition to the nominal law; its estimate is always 100 g."""
        return joint_pid(env, partial(self.reference, env.world), RESIDUAL_BANDWIDTH)
