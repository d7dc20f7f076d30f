"""Insert: drive a needle through tissue, from a marked entry to a marked exit."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from trocar.simulation import Scene
from trocar.simulation.skills.suturing import FURTHER, RATE, THROUGH
from trocar.spatial import Array, Values, pose
from trocar_learning.envs.arrays import chosen, length, points
from trocar_learning.envs.task import POINT, Memory, Policy, SceneOptions, named
from trocar_learning.envs.tasks.suture_task import ARM, GRIP, HEIGHT, SHAPE, SutureTask
from trocar_learning.envs.tasks.tip_script import Script, Tips, following
from trocar_learning.envs.world import World, Worlds

if TYPE_CHECKING:
    from trocar_learning.envs.task_env import TaskEnv

OFFSET = 2.5e-3  # largest distance of the marks from the arc at the start, along x and y [m]: that of Place
TOLERANCE, OUT = 2.5e-3, 1e-3
MARKS = ("entry", "exit")


class InsertTask(SutureTask):
    """Drive a gripped SH needle through tissue, in at one mark and out at the other.

    Success: the point has entered and left the tissue within 2.5 mm of the marks (Surgical Robotics Challenge 2023)
    and is at least 1 mm out of it (its evaluation), with the needle between the jaws and at most 3.3 N, for 0.5 s. The
    marks are up to 2.5 mm aside, the tolerance of Place.
    """

    observed: ClassVar[tuple[str, ...]] = (*SutureTask.observed, *named(POINT, "point", "direction", "entry", "exit"))
    duration: float = 9.0
    gripped: ClassVar[Mapping[str, float]] = MappingProxyType({ARM: GRIP})

    def scene(self, rng: np.random.Generator, options: SceneOptions) -> Scene:
        height = rng.uniform(*HEIGHT)
        self.offset = np.array([*rng.uniform(-OFFSET, OFFSET, 2), 0.0])
        half = np.sqrt(SHAPE.radius**2 - height**2)  # where the arc, which leans about the x axis, meets the surface
        self.entry, self.exit = self.offset - [half, 0.0, 0.0], self.offset + [half, 0.0, 0.0]
        return self.suture_scene(rng, options[ARM], height=height)

    def start(self, world: World, rng: np.random.Generator, sigma: float) -> Memory:
        memory = super().start(world, rng, sigma)
        # away: distances of the crossings from the marks, entry and exit [m]; NaN before they happen
        return memory | {"entry": self.entry, "exit": self.exit, "away": np.full(2, np.nan)}

    def _points(self, worlds: Worlds) -> Values:
        """Places (n, 3) of the needle's point."""
        return points(worlds.xp, worlds.poses("needle"), SHAPE.at(0.0)[0])

    def observation(self, worlds: Worlds) -> Values:
        """Pose of the needle (position, quaternion), place and direction of its point, marks of entry and exit."""
        direction = worlds.poses("needle")[:, :3, :3] @ SHAPE.at(0.0)[1]
        marks = worlds.memory["entry"], worlds.memory["exit"]
        return np.concatenate([super().observation(worlds), self._points(worlds), direction, *marks], -1)

    def after_period(self, worlds: Worlds) -> None:
        super().after_period(worlds)
        away = worlds.each(self._crossings)
        worlds.memory["away"] = np.where(np.isnan(away), worlds.memory["away"], away)

    def _crossings(self, world: World) -> Array:
        """Distances (2,) of the last crossings from their marks, NaN without one [m]."""
        tissue, away = self.tissue(world), np.full(2, np.nan)
        for event in tissue.events:
            if event.what in MARKS:
                X = np.asarray(tissue.thing.pose)[:3, 3] + event.X
                away[MARKS.index(event.what)] = np.linalg.norm((X - world.value(event.what))[:2])
        return away

    def failed(self, worlds: Worlds) -> Values:
        return super().failed(worlds) | (worlds.memory["away"] > TOLERANCE).any(-1)

    def solved(self, worlds: Worlds) -> Values:
        through = (worlds.memory["away"] <= TOLERANCE).all(-1) & (self.passed(worlds) >= OUT)
        return through & worlds.memory["held"] & ~SutureTask.failed(self, worlds)

    def reward(self, worlds: Worlds) -> Values:
        crossed = ~np.isnan(worlds.memory["away"])
        goal = chosen(np, crossed[:, 0], worlds.memory["exit"], worlds.memory["entry"])
        left = np.minimum(length(self._points(worlds) - goal) / 0.02, 1.0)
        return np.where(self.failed(worlds), -10.0, -left + crossed.sum(-1) - 2.0)

    def expert(self, env: TaskEnv) -> Policy:
        """The bite of the skills: above the entry, then a turn about the needle's own centre."""
        return following(self._driving(env))

    def pid(self, env: TaskEnv) -> Policy:
        """Straight lines with the needle's point: over the entry, to the deepest place of the arc, to the exit."""
        return following(self._pushing(env))

    def _driving(self, env: TaskEnv) -> Script:
        tips = Tips(env)
        yield from tips.wait(0.2)
        yield from tips.move(ARM, pose(p=self.offset) @ tips.T[ARM], 0.3)
        yield from tips.wait(0.2)
        T = env.world.T_world_object("needle")
        yield from tips.turn(ARM, T[:3, 3], T[:3, 2], THROUGH + FURTHER, RATE)
        yield from tips.rest()

    def _pushing(self, env: TaskEnv) -> Script:
        tips = Tips(env)
        yield from tips.wait(0.2)
        deepest = (self.entry + self.exit) / 2 - [0.0, 0.0, SHAPE.radius - HEIGHT[0]]
        for goal in (self.entry, deepest, self.exit + [0.0, 0.0, 2 * OUT]):
            point = self._points(env.world)[0]
            yield from tips.move(ARM, pose(p=goal - point) @ tips.T[ARM], 0.2)
        yield from tips.rest()
