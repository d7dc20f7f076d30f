"""Reach: move the tip of a PSM to a point by joint efforts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from trocar.control import Setpoint, quintic
from trocar.errors import TrocarError
from trocar.spatial import Array, Values
from trocar_learning.envs.actions import JointEffort
from trocar_learning.envs.arrays import distance
from trocar_learning.envs.task import POINT, Memory, Policy, Task, named
from trocar_learning.envs.world import World, Worlds

if TYPE_CHECKING:
    from trocar_learning.envs.task_env import TaskEnv

LOWER = np.array([-0.6, -0.45, 0.08, 0.0, 0.0, 0.0, 0.3])  # of start and goal [rad, m]
UPPER = np.array([0.6, 0.45, 0.18, 0.0, 0.0, 0.0, 0.3])
MOVE = 1.2  # duration of the expert's motion [s]
BANDWIDTH = 10.0  # of the expert's computed torque at 50 Hz [rad/s]
# Fixed gains: those of a second-order loop of 8 rad/s on the joint inertias at home, with an integral.
INERTIA = np.array([0.45, 0.5, 1.2, 2e-3, 2e-3, 2e-3, 1e-3])  # rounded diagonal of M at home [kg m^2, kg]


class ReachTask(Task):
    """Move the tip to a point by joint efforts, against gravity and friction.

    Success: within 5 mm, the threshold of SurRoL's NeedleReach, for 0.5 s.
    """

    observed: ClassVar[tuple[str, ...]] = named(POINT, "tip", "goal")
    mode = "joint_effort"
    duration: float = 3.0
    goal_tolerance = 5e-3

    def start(self, world: World, rng: np.random.Generator, sigma: float) -> Memory:
        q, q_goal = rng.uniform(LOWER, UPPER), rng.uniform(LOWER, UPPER)
        world.scene.reset({"PSM": q})
        goal = world.scene.arms["PSM"].mechanism.forward_kinematics(q_goal)[:3, 3]
        return {"goal": goal, "q_goal": q_goal}

    def achieved(self, worlds: Worlds) -> Values:
        return worlds.true_tips("PSM")[:, :3, 3]

    def observation(self, worlds: Worlds) -> Values:
        return worlds.xp.concatenate([worlds.tips("PSM")[:, :3, 3], worlds.memory["goal"]], -1)

    def distance(self, worlds: Worlds) -> Values:
        """Distances (n,) of the tip from the goal [m]."""
        return distance(worlds.xp, self.achieved(worlds), self.desired(worlds))

    def solved(self, worlds: Worlds) -> Values:
        return self.distance(worlds) <= self.goal_tolerance

    def reward(self, worlds: Worlds) -> Values:
        return -self.distance(worlds) / 0.1

    def expert(self, env: TaskEnv) -> Policy:
        """Computed torque with the model of the simulated arm, along a quintic."""
        world, limits = env.world, effort_limits(env)
        mechanism, start = world.scene.arms["PSM"].mechanism, world.arms["PSM"].q.copy()
        path = quintic(start, world.value("q_goal"), MOVE)
        kp, kd = BANDWIDTH**2, 2.0 * BANDWIDTH

        def policy(observation: object) -> Array:
            state = world.state("PSM")
            at = path(min(world.time + 0.5 * env.period, MOVE))
            a = at.ddq + kd * (at.dq - state.dq) + kp * (at.q - state.q)
            tau = mechanism.inverse_dynamics(state.q, state.dq, a) + mechanism.friction(at.q, at.dq)
            return np.clip(tau / limits, -1.0, 1.0)

        return policy

    def pid(self, env: TaskEnv) -> Policy:
        """PID of every joint on the same quintic."""
        world = env.world
        path = quintic(world.arms["PSM"].q.copy(), world.value("q_goal"), MOVE)
        return joint_pid(env, lambda t: path(min(t, MOVE)))


def effort_limits(env: TaskEnv) -> Array:
    """Joint efforts (n,) of an action of ones [N m, N]."""
    (mode,) = env.modes.values()
    if not isinstance(mode, JointEffort):
        raise TrocarError(f"this policy acts by efforts, not by {env.mode}; make the environment with its default mode")
    return mode.limits


def joint_pid(env: TaskEnv, path: Callable[[float], Setpoint], bandwidth: float = 8.0) -> Policy:
    """PID with fixed gains on the joints of a PSM, at the control rate: kp = M w^2, kd = 2 M w, ki = M w^3 / 4."""
    world, limits, integral = env.world, effort_limits(env), np.zeros(7)
    w = bandwidth

    def policy(observation: object) -> Array:
        state = world.state("PSM")
        at = path(world.time)
        e = at.q - state.q
        integral[:] += e * env.period
        tau = INERTIA * (w**2 * e + 2.0 * w * (at.dq - state.dq) + 0.25 * w**3 * integral)
        return np.asarray(np.append(np.clip(tau / limits, -1.0, 1.0), np.zeros(len(env.task.extra))))

    return policy
