"""Drawn robots in running worlds: each world has that of its current episode."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trocar.spatial import Values
from trocar_learning.envs.worlds.drawn_robots import DrawnRobots

if TYPE_CHECKING:
    from trocar_learning.envs.worlds.task_worlds import TaskWorlds

# Arrays of the backend by those of `DrawnRobots`; every world has rows of its own.
OWN = {"F": "F", "slope": "slope", "rate": "dahl_rate", "constant": "constant", "bias": "bias"}


class WorldRobots:
    """Friction, encoders, noise and delays of the robots in the worlds of a task."""

    def __init__(self, worlds: TaskWorlds, robots: DrawnRobots) -> None:
        self._worlds = worlds
        worlds.batch.worlds.sense(robots.resolution)
        worlds.batch.worlds.own_friction()
        self._tables = {name: worlds.put(getattr(robots, name)) for name in (*OWN, "noise", "resting", "delay")}
        rows = worlds.put(np.zeros((worlds.n, worlds.size)))
        self._actions = [rows] * (robots.max_delay + 1)  # the latest first

    def start(self, mask: Values) -> None:
        """Put the robots of the current episodes into the masked worlds (n,), which are reset afterwards."""
        worlds, xp = self._worlds, self._worlds.xp
        row, wide = worlds.episode, mask[:, None]
        for name, array in OWN.items():
            own = worlds.array(array)
            own[...] = xp.where(wide, self._tables[name][row], own)
        resting = self._tables["resting"][row]
        self._actions = [xp.where(wide, resting, actions) for actions in self._actions]

    def delayed(self, actions: Values) -> Values:
        """Actions (n, size) that arrive in this period, when these are sent."""
        self._actions = [actions, *self._actions[:-1]]
        delay, arriving = self._tables["delay"][self._worlds.episode][:, None], self._actions[0]
        for late, earlier in enumerate(self._actions[1:], start=1):
            arriving = self._worlds.xp.where(delay == late, earlier, arriving)
        return arriving

    def effort_noise(self) -> Values:
        """Noise (n, motors) of the mean measured efforts of the last period [N m, N]."""
        worlds, noise = self._worlds, self._tables["noise"]
        period = worlds.xp.clip(worlds.elapsed, None, noise.shape[1] - 1)
        return noise[worlds.episode, period]
