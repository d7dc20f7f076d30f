"""Track by residual efforts on nominal computed torque, on robots drawn at 3 sigma."""

from __future__ import annotations

import numpy as np

from tools.learn.features import LinearFeatures
from tools.learn.reinforce import SacRecipe
from trocar.spatial import Array
from trocar_learning.envs import TaskEnv
from trocar_learning.envs.tasks.track import TrackTask

JOINTS = 6  # without the jaws, which do not move the tip
ERROR = (1e-3, 1e-3, 3e-4, 6e-3, 1.2e-2, 1.2e-2)  # scales of the joints' errors [rad, m]
RATE = (0.3, 0.3, 0.04, 0.6, 0.6, 0.6)  # of the velocities of the reference [rad/s, m/s]
SCALE = np.array([0.6, 0.6, 0.6, 0.2, 0.2, 0.2, 0.0])  # of the residual efforts
PERIOD = 0.02  # [s] between two samples of the reference

# Observation: 0 joints, 7 velocities, 14 efforts, 21 last action, 28 + 7 k reference in k periods (k = 0 to 4)
FEATURES = LinearFeatures(
    63,
    [
        *((scale, 0.0, (28 + k, k)) for k, scale in enumerate(ERROR)),  # error
        *((PERIOD * scale, 0.0, (35 + k, 28 + k)) for k, scale in enumerate(RATE)),  # velocity of the reference
        *((scale, 0.0, (7 + k,)) for k, scale in enumerate(RATE)),  # velocity
        *((SCALE[k], 0.0, (21 + k,)) for k in range(JOINTS)),  # last action
    ],
)


def reward(env: TaskEnv, action: Array) -> float:
    """The tip's squared error [mm^2], which the task judges, at most 9, and a small cost of effort."""
    assert isinstance(env.task, TrackTask)
    return -min((env.world.value("error") / 1e-3) ** 2, 9.0) - 0.01 * float(np.mean(np.square(action)))


def rms(env: TaskEnv) -> float:
    """Root mean square error of the tip over the judged time of an ended episode [m]."""
    assert isinstance(env.task, TrackTask)
    return float(env.task.rms(env.world)[0])


RECIPE = SacRecipe(
    task="Track",
    level="3sigma",
    features=FEATURES,
    scale=SCALE,
    reward=reward,
    score=lambda env, info: -1e3 * rms(env),
    steps=40_000,
    chunk=5_000,
    episodes=10,
    options={
        "learning_rate": 1e-3,
        "gamma": 0.9,  # an effort acts within 0.2 s
        "ent_coef": "auto_0.1",
        "batch_size": 256,
        "buffer_size": 100_000,
        "learning_starts": 1000,
        "train_freq": 4,
        "gradient_steps": 2,
        "policy_kwargs": {"net_arch": [64, 64]},
    },
)
