"""Episodes of a scripted expert whose actions are disturbed, with the actions that lead back to its path.

A network that imitates undisturbed episodes does not know how to return to them (Laskey et al. 2017, DART).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from trocar.spatial import Array
from trocar_learning.envs import TaskEnv
from trocar_learning.envs.actions import TIP_SPEED, TURN_SPEED, TipIncrement

GAIN, MAX_RETURN = 0.3, 0.5  # share of the deviation that an action removes; its largest part of an action
BURSTS, LENGTH = 0.06, (4, 12)  # probability per period that a disturbance begins; its periods
SIZE = np.array([0.5, 0.5, 0.4, 0.2, 0.2, 0.2, 0.0])  # largest disturbance of an action


def noisy_episodes(env: TaskEnv, first: int, count: int) -> Iterator[tuple[Array, Array]]:
    """Observations (N, m) and undisturbed actions (N, n) of the successful ones of some seeds; one arm."""
    for seed in range(first, first + count):
        rng = np.random.default_rng([seed, 2])
        x, info = env.reset(seed=seed)
        (mode,) = env.modes.values()
        assert isinstance(mode, TipIncrement)
        act, path, rows, over = env.expert(), mode.T.copy(), list[Any](), False
        noise, left = np.zeros(7), 0
        while not over:
            own = act(x)
            label = np.clip(own + np.append(_back(path, mode.T, env.period), 0.0), -1.0, 1.0)
            path = _moved(path, own, env.period)
            if left == 0 and rng.uniform() < BURSTS:
                noise, left = SIZE * rng.uniform(-1.0, 1.0, 7), int(rng.integers(*LENGTH))
            rows.append((x, label))
            x, _, terminated, truncated, info = env.step(np.clip(label + noise * (left > 0), -1.0, 1.0))
            left, over = max(left - 1, 0), terminated or truncated
        if info["is_success"]:
            yield np.array([row[0] for row in rows]), np.array([row[1] for row in rows])


def _back(path: Array, T: Array, period: float) -> Array:
    """The part (6,) of an action that leads from T (4, 4) back to the expert's pose (4, 4)."""
    way = (path[:3, 3] - T[:3, 3]) / (period * TIP_SPEED)
    turn = Rotation.from_matrix(path[:3, :3] @ T[:3, :3].T).as_rotvec() / (period * TURN_SPEED)
    return np.clip(GAIN * np.concatenate([way, turn]), -MAX_RETURN, MAX_RETURN)


def _moved(T: Array, action: Array, period: float) -> Array:
    """The pose (4, 4) after an action, as `TipIncrement` moves it."""
    moved = T.copy()
    moved[:3, 3] += period * TIP_SPEED * action[:3]
    moved[:3, :3] = Rotation.from_rotvec(period * TURN_SPEED * action[3:6]).as_matrix() @ T[:3, :3]
    return moved
