"""Insert: drive a needle through tissue, from a marked entry to a marked exit."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from trocar.simulation import Scene
from trocar.simulation.skills.suturing import FURTHER, RATE, THROUGH
from trocar.spatial import Array, pose
from trocar_learning.envs.task import Policy
from trocar_learning.envs.tasks.suture_task import ARM, GRIP, HEIGHT, MAX_FORCE, SHAPE, SutureTask
from trocar_learning.envs.tasks.tip_script import Script, Tips, following
from trocar_learning.envs.world import World

if TYPE_CHECKING:
    from trocar_learning.envs.task_env import TaskEnv

OFFSET = 2.5e-3  # largest distance of the marks from the arc at the start, along x and y [m]: that of Place
TOLERANCE, OUT = 2.5e-3, 1e-3


class InsertTask(SutureTask):
    """Drive a gripped SH needle through tissue, in at one mark and out at the other.

    Success: the point has entered and left the tissue within 2.5 mm of the marks (Surgical Robotics Challenge 2023)
    and is at least 1 mm out of it (its evaluation), with the needle between the jaws and at most 3.3 N, for 0.5 s. The
    marks are up to 2.5 mm aside, the tolerance of Place.
    """

    duration: float = 9.0
    gripped: ClassVar[Mapping[str, float]] = MappingProxyType({ARM: GRIP})

    def scene(self, rng: np.random.Generator, options: Mapping[str, Mapping[str, Any]]) -> Scene:
        height = rng.uniform(*HEIGHT)
        self.offset = np.array([*rng.uniform(-OFFSET, OFFSET, 2), 0.0])
        half = np.sqrt(SHAPE.radius**2 - height**2)  # where the arc, which leans about the x axis, meets the surface
        self.entry, self.exit = self.offset - [half, 0.0, 0.0], self.offset + [half, 0.0, 0.0]
        return self.suture_scene(rng, options[ARM], height=height)

    def start(self, world: World, rng: np.random.Generator, sigma: float) -> None:
        super().start(world, rng, sigma)
        self.away: dict[str, float] = {}

    def observation(self, world: World) -> Array:
        """Pose of the needle (position, quaternion), place and direction of its point, marks of entry and exit."""
        T, (place, direction) = self.T_needle(world), SHAPE.at(0.0)
        point = (T @ [*place, 1.0])[:3]
        return np.concatenate([super().observation(world), point, T[:3, :3] @ direction, self.entry, self.exit])

    def after_period(self, world: World, force: float) -> None:
        super().after_period(world, force)
        tissue = self.tissue(world)
        for event in tissue.events:
            if event.what in ("entry", "exit"):
                X = np.asarray(tissue.thing.pose)[:3, 3] + event.X
                mark = self.entry if event.what == "entry" else self.exit
                self.away[event.what] = float(np.linalg.norm((X - mark)[:2]))

    def failed(self, world: World) -> bool:
        return super().failed(world) or any(away > TOLERANCE for away in self.away.values())

    def solved(self, world: World) -> bool:
        through = len(self.away) == 2 and max(self.away.values()) <= TOLERANCE and self.passed(world) >= OUT
        return through and self.holds and self.strongest <= MAX_FORCE

    def reward(self, world: World) -> float:
        if self.failed(world):
            return -10.0
        point = (self.T_needle(world) @ [*SHAPE.at(0.0)[0], 1.0])[:3]
        goal = self.exit if "entry" in self.away else self.entry
        return -min(float(np.linalg.norm(point - goal)) / 0.02, 1.0) + len(self.away) - 2.0

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
        T = self.T_needle(env.world)
        yield from tips.turn(ARM, T[:3, 3], T[:3, 2], THROUGH + FURTHER, RATE)
        yield from tips.rest()

    def _pushing(self, env: TaskEnv) -> Script:
        tips = Tips(env)
        yield from tips.wait(0.2)
        deepest = (self.entry + self.exit) / 2 - [0.0, 0.0, SHAPE.radius - HEIGHT[0]]
        for goal in (self.entry, deepest, self.exit + [0.0, 0.0, 2 * OUT]):
            point = (self.T_needle(env.world) @ [*SHAPE.at(0.0)[0], 1.0])[:3]
            yield from tips.move(ARM, pose(p=goal - point) @ tips.T[ARM], 0.2)
        yield from tips.rest()
