"""Reach by joint efforts: the policy drives yaw, pitch and insertion; friction holds the wrist."""

from __future__ import annotations

import math

import numpy as np

from tools.learn.features import LinearFeatures
from tools.learn.reinforce import SacRecipe
from trocar.spatial import Array
from trocar_learning.envs import TaskEnv
from trocar_learning.envs.tasks.reach import ReachTask

# Observation: 0 joints, 7 velocities, 14 efforts, 21 last action, 28 tip, 31 goal
FEATURES = LinearFeatures(
    34,
    [
        *((scale, offset, (k,)) for k, (scale, offset) in enumerate([(0.4, 0.0), (0.3, 0.0), (0.04, 0.13)])),
        *((0.2, 0.0, (k,)) for k in (4, 5)),
        *((scale, 0.0, (7 + k,)) for k, scale in enumerate((0.5, 0.5, 0.08))),
        *((scale, 0.0, (21 + k,)) for k, scale in enumerate((0.3, 0.3, 0.15))),
        *((0.03, 0.0, (28 + k, 31 + k)) for k in range(3)),
        *((0.05, offset, (31 + k,)) for k, offset in enumerate((0.0, 0.0, -0.12))),
    ],
)
SCALE = np.array([0.35, 0.3, 0.15, 0.0, 0.0, 0.0, 0.0])  # of the motors' efforts; the expert uses up to 0.3
NEAR = 0.01  # distance below which the reward steepens [m]


def reward(env: TaskEnv, action: Array) -> float:
    """The task's own -distance / 0.1 m, steeper near the goal, and a small cost of effort."""
    assert isinstance(env.task, ReachTask)
    distance = float(env.task.distance(env.world)[0])
    return -distance / 0.1 - math.tanh(distance / NEAR) - 0.02 * float(np.mean(np.square(action)))


RECIPE = SacRecipe(
    task="Reach",
    level="nominal",
    features=FEATURES,
    scale=SCALE,
    reward=reward,
    score=lambda env, info: float(info["is_success"]),
    steps=100_000,
    chunk=5_000,
    episodes=60,
    enough=1.0,
    options={
        "learning_rate": 1e-3,
        "gamma": 0.98,
        "batch_size": 256,
        "buffer_size": 100_000,
        "learning_starts": 2000,
        "train_freq": 4,
        "gradient_steps": 2,
        "policy_kwargs": {"net_arch": [128, 128]},
    },
)
