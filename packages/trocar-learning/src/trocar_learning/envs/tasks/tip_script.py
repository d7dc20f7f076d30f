"""Scripts of tip increments: experts that move tips along waypoints and close jaws."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.transform import Rotation

from trocar.errors import TrocarError
from trocar.spatial import Array, checked_pose, pose
from trocar_learning.envs.actions import TIP_SPEED, TURN_SPEED, TipIncrement
from trocar_learning.envs.task import Policy

if TYPE_CHECKING:
    from trocar_learning.envs.task_env import TaskEnv

Script = Iterator[Array]


def following(script: Script) -> Policy:
    """A policy that plays a script."""
    return lambda observation: next(script)


class Tips:
    """Commanded tip poses and openings of all arms of an environment, which a script changes by its actions.

    Attributes:
        T: commanded poses (4, 4) in the world by arm. opening: commanded openings of the jaws by arm [rad].
    """

    def __init__(self, env: TaskEnv) -> None:
        self._period, self._arms = env.period, tuple(env.modes)
        self.T: dict[str, Array] = {}
        self.opening: dict[str, float] = {}
        for arm, mode in env.modes.items():
            if not isinstance(mode, TipIncrement):
                raise TrocarError(f"this policy acts by tip increments, not by {env.mode}; use the task's default mode")
            self.T[arm], self.opening[arm] = mode.T.copy(), float(mode.q[6])

    def move(self, arm: str, T: Array, speed: float = 0.8) -> Script:
        """Move a tip on a straight line to T (4, 4), at a share of the largest speed."""
        goal = checked_pose(T)
        arrived = False
        while not arrived:
            speeds = TIP_SPEED * speed, TURN_SPEED * speed
            self.T[arm], way, turn, arrived = approached(self.T[arm], goal, *speeds, self._period)
            yield self._action(arm, way, turn)

    def turn(self, arm: str, centre: Array, axis: Array, angle: float, rate: float) -> Script:
        """Turn a tip by an angle [rad] about an axis (3,) through a centre (3,) of the world, at a rate [rad/s]."""
        start, steps = self.T[arm], max(1, round(abs(angle) / (rate * self._period)))
        for k in range(1, steps + 1):
            R = Rotation.from_rotvec(k / steps * angle * np.asarray(axis)).as_matrix()
            yield from self.move(arm, pose(R @ start[:3, :3], centre + R @ (start[:3, 3] - centre)), 1.0)

    def jaws(self, arm: str, opening: float, duration: float) -> Script:
        """Command an opening of the jaws [rad] and wait [s]."""
        self.opening[arm] = opening
        yield from self.wait(duration)

    def wait(self, duration: float) -> Script:
        """Keep all commands for a time [s]."""
        for _ in range(round(duration / self._period)):
            yield self._action(self._arms[0], np.zeros(3), np.zeros(3))

    def rest(self) -> Script:
        """Keep all commands for ever."""
        while True:
            yield from self.wait(1.0)

    def _action(self, moving: str, way: Array, turn: Array) -> Array:
        still, parts = (np.zeros(3), np.zeros(3)), []
        for arm in self._arms:
            own_way, own_turn = (way, turn) if arm == moving else still
            parts.append(TipIncrement.numbers(own_way, own_turn, self.opening[arm], self._period))
        return np.clip(np.concatenate(parts), -1.0, 1.0)


def approached(
    here: Array, goal: Array, speed: float, turn_speed: float, period: float
) -> tuple[Array, Array, Array, bool]:
    """A commanded tip pose (4, 4) one period nearer to a goal on a straight line, and whether it has arrived there.

    Returns the translation (3,) [m] and the rotation vector (3,) [rad] of this period as well. speed: [m/s].
    turn_speed: [rad/s]. period: [s].
    """
    way = goal[:3, 3] - here[:3, 3]
    turn = Rotation.from_matrix(goal[:3, :3] @ here[:3, :3].T).as_rotvec()
    duration = max(float(np.linalg.norm(way)) / speed, float(np.linalg.norm(turn)) / turn_speed)
    share = period / duration if duration > period else 1.0
    R = Rotation.from_rotvec(share * turn).as_matrix() @ here[:3, :3]
    return pose(R, here[:3, 3] + share * way), share * way, share * turn, share == 1.0
