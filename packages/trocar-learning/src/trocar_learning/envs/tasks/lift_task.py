"""Tasks in which an arm grips an object and lifts it to a goal above its place, by friction alone."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from trocar.simulation.manipulation import held_by
from trocar.spatial import Array, pose, quaternion
from trocar_learning.envs.task import Policy, Task
from trocar_learning.envs.tasks.tip_script import Script, Tips, following
from trocar_learning.envs.world import World

if TYPE_CHECKING:
    from trocar_learning.envs.task_env import TaskEnv

ABOVE = 0.02  # of the expert's waypoint [m]
RAISED = 3e-3  # height over its place from which an object that is let go counts as dropped [m]


class LiftTask(Task):
    """Grip a thing with the jaws of the PSM and bring it to its goal.

    Success: the thing is between the jaws and within `goal_tolerance` of its goal, for 0.5 s.

    Attributes:
        thing: name of the object. lift: height of the goal over its place [m]. opening, closed: commanded openings
        before and at the grip [rad]. reach: distance of the gripped point from the tip, along the jaws [m].
    """

    thing: ClassVar[str]
    lift: ClassVar[float]
    opening: ClassVar[float]
    closed: ClassVar[float]
    reach: ClassVar[float]

    def start(self, world: World, rng: np.random.Generator, sigma: float) -> None:
        world.scene.reset()
        place = world.T_world_object(self.thing)[:3, 3]
        self.goal, self._low = place + [0.0, 0.0, self.lift], float(place[2])
        self.lost, self.was_held, self.held_now = 0, False, False

    def achieved(self, world: World) -> Array:
        return world.T_world_object(self.thing)[:3, 3]

    def desired(self, world: World) -> Array:
        return self.goal

    def observation(self, world: World) -> Array:
        """Pose of the thing (position, quaternion) and its goal."""
        T = world.T_world_object(self.thing)
        return np.concatenate([T[:3, 3], quaternion(T[:3, :3]), self.goal])

    def after_period(self, world: World, force: float) -> None:
        self.held_now = held_by(world.scene, "PSM") == self.thing
        self.lost += self.was_held and not self.held_now and self.achieved(world)[2] > self._low + RAISED
        self.was_held = self.held_now

    def drops(self) -> int:
        return int(self.lost)

    def solved(self, world: World) -> bool:
        assert self.goal_tolerance is not None
        return self.held_now and float(np.linalg.norm(self.achieved(world) - self.goal)) <= self.goal_tolerance

    def reward(self, world: World) -> float:
        tip = world.T_world_tip("PSM")[:3, 3]
        away = float(np.linalg.norm(tip - self.achieved(world)))
        return -min(float(np.linalg.norm(self.achieved(world) - self.goal)) + 0.2 * away, 1.0) / 0.1

    @abstractmethod
    def grip(self, world: World) -> Array:
        """Tip pose (4, 4) in the world of jaws around the thing; the nearest of all."""

    def expert(self, env: TaskEnv) -> Policy:
        """Waypoint above the thing, descent, grip, lift to the goal."""
        return following(self._picking(env, self.grip(env.world)))

    def pid(self, env: TaskEnv) -> Policy:
        """The same motions, with the position of the grip but without its orientation."""
        point = (self.grip(env.world) @ [0.0, 0.0, self.reach, 1.0])[:3]
        R = env.world.T_world_measured("PSM")[:3, :3]
        return following(self._picking(env, pose(R, point - self.reach * R[:, 2])))

    def _picking(self, env: TaskEnv, T: Array) -> Script:
        tips = Tips(env)
        tips.opening["PSM"] = self.opening
        yield from tips.move("PSM", pose(T[:3, :3], T[:3, 3] + [0.0, 0.0, ABOVE]))
        yield from tips.wait(0.1)
        yield from tips.move("PSM", T, 0.5)
        yield from tips.wait(0.15)
        yield from tips.jaws("PSM", self.closed, 0.6)
        yield from tips.move("PSM", pose(T[:3, :3], T[:3, 3] + [0.0, 0.0, self.lift]), 0.5)
        yield from tips.rest()
