"""FaultAdapt: stop in time after a fault, and only then."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from trocar.simulation.forces.faults import EncoderBias, Fault, MotorLoss
from trocar.spatial import Array, Values
from trocar_learning.envs.task import HELD, Memory, Policy
from trocar_learning.envs.tasks.reach import joint_pid
from trocar_learning.envs.tasks.reference_task import RESIDUAL_BANDWIDTH, ModelResidual, ReferenceTask
from trocar_learning.envs.world import World, Worlds

if TYPE_CHECKING:
    from trocar_learning.envs.task_env import TaskEnv

ONSET = (1.5, 2.5)  # [s]
REACTION = 1.0  # time in which the arm must be stopped [s]
MAX_DEVIATION = 5e-3  # of the tip [m]
HEALTHY = 0.3  # share of episodes without a fault
REMAINING = (0.2, 0.5)  # of a weak motor's effort
BIAS = ((0.012, 0.03), (0.012, 0.03), (1.5e-3, 4e-3))  # of the encoders of the first three motors [rad, rad, m]
# Residuals beyond which the expert stops [N m, N m, N], and jumps of an encoder in a control period [rad, rad, m].
MAX_RESIDUAL = np.array([0.06, 0.09, 0.35])
MAX_JUMP = np.array([6e-3, 6e-3, 8e-4])


class FaultAdaptTask(ReferenceTask):
    """Stop a moving arm after a fault: a weak motor or a biased encoder of the first three joints.

    A broken cable of the counterweight is left out: its weight of 3.8 N exceeds the residual effort of the insertion.

    The last number of an action stops the reference for good if it is positive. No fault occurs in 30 % of the
    episodes. Success: the arm is stopped at most 1 s after the fault and not before it, and the tip stays within 5 mm
    of its reference from the fault until 0.5 s after the stop; without a fault the arm is never stopped. 5 mm is the
    tolerance of SurRoL's tasks.
    """

    duration: float = ONSET[1] + REACTION + HELD + 0.1
    extra: ClassVar[tuple[str, ...]] = ("stop",)
    batched: ClassVar[bool] = False

    def start(self, world: World, rng: np.random.Generator, sigma: float) -> Memory:
        memory = super().start(world, rng, sigma)
        onset, motor = rng.uniform(*ONSET), int(rng.integers(3))
        healthy, weak = rng.uniform() < HEALTHY, bool(rng.integers(2))
        name = world.arms["PSM"].arm.motors.names[motor]
        remaining, bias = rng.uniform(*REMAINING), rng.uniform(*BIAS[motor]) * rng.choice([-1.0, 1.0])
        fault: Fault = MotorLoss(motor=name, remaining=remaining, at=onset)
        if not weak:
            fault = EncoderBias(motor=name, bias=float(bias), at=onset)
        if not healthy:
            world.inject("PSM", fault)
        return memory | {"onset": np.inf if healthy else onset, "lost": False}

    def act(self, world: World, extra: Array) -> None:
        if extra[0] > 0.0:
            world.memory["stopped"] = np.minimum(world.memory["stopped"], world.time)

    def after_period(self, worlds: Worlds) -> None:
        memory = worlds.memory
        memory["error"] = self.tip_errors(worlds)
        stopped, since = worlds.xp.isfinite(memory["stopped"]), worlds.times - memory["onset"]
        late = (memory["error"] > MAX_DEVIATION) | (~stopped & (since > REACTION))
        memory["lost"] = memory["lost"] | worlds.xp.where(since < 0.0, stopped, late)

    def privileged(self, worlds: Worlds) -> Values:
        return 1.0 * (worlds.times >= worlds.memory["onset"])[:, None]

    def solved(self, worlds: Worlds) -> Values:
        memory, xp = worlds.memory, worlds.xp
        healthy, over = ~xp.isfinite(memory["onset"]), worlds.times > self.duration - HELD
        return ~memory["lost"] & xp.where(healthy, over, xp.isfinite(memory["stopped"]))

    def failed(self, worlds: Worlds) -> Values:
        return worlds.memory["lost"]

    def reward(self, worlds: Worlds) -> Values:
        error = worlds.xp.clip(worlds.memory["error"] / MAX_DEVIATION, None, 1.0)
        return worlds.xp.where(worlds.memory["lost"], -10.0, -error)

    def expert(self, env: TaskEnv) -> Policy:
        """Stops if a momentum observer or a jump of an encoder shows a fault; cancels the observed effort."""
        world = env.world
        residual = ModelResidual(env, world.scene.arms["PSM"].mechanism)
        last = world.state("PSM")

        def policy(observation: object) -> Array:
            nonlocal last
            residual.update()
            state = world.state("PSM")
            jump = np.abs(state.q - last.q - 0.5 * env.period * (state.dq + last.dq))[:3]
            alarm = world.time > 0.3 and bool(
                (jump > MAX_JUMP).any() or (np.abs(residual.observed[:3]) > MAX_RESIDUAL).any()
            )
            last = state
            tau = np.clip((residual.efforts() - residual.observed) / residual.limits, -1.0, 1.0)
            return np.append(tau, 1.0 if alarm else -1.0)

        return policy

    def pid(self, env: TaskEnv) -> Policy:
        """PID of every joint in addition to the nominal law; it never stops."""
        return joint_pid(env, partial(self.reference, env.world), RESIDUAL_BANDWIDTH)
