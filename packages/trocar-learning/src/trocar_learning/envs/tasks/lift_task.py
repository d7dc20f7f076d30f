"""Tasks in which an arm grips an object and lifts it to a goal above its place, by friction alone."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from trocar.spatial import Array, ArrayModule, Values, pose
from trocar_learning.envs.arrays import length, pose_numbers
from trocar_learning.envs.task import POINT, POSE, Memory, Policy, Task, named
from trocar_learning.envs.tasks.tip_script import Script, Tips, following
from trocar_learning.envs.world import World, Worlds

if TYPE_CHECKING:
    from trocar_learning.envs.task_env import TaskEnv

ABOVE = 0.02  # of the expert's waypoint [m]
RAISED = 3e-3  # height over its place from which an object that is let go counts as dropped [m]


def carrying_reward(xp: ArrayModule, tip: Values, place: Values, goal: Values, farthest: float = 1.0) -> Values:
    """Reward (n,) of a thing that a tip (n, 3) carries to a goal (n, 3), largest for the tip at the thing.

    Args:
        place: of the thing (n, 3). farthest: distance from which on the reward is constant [m].
    """
    return -xp.clip(length(place - goal) + 0.2 * length(tip - place), None, farthest) / 0.1


class LiftTask(Task):
    """Grip a thing with the jaws of the PSM and bring it to its goal.

    Success: the thing is between the jaws and within `goal_tolerance` of its goal, for 0.5 s.

    Attributes:
        thing: name of the object. lift: height of the goal over its place [m]. opening, closed: commanded openings
        before and at the grip [rad]. reach: distance of the gripped point from the tip, along the jaws [m].
    """

    observed: ClassVar[tuple[str, ...]] = (*named(POSE, "thing"), *named(POINT, "goal"))
    thing: ClassVar[str]
    lift: ClassVar[float]
    opening: ClassVar[float]
    closed: ClassVar[float]
    reach: ClassVar[float]

    def start(self, world: World, rng: np.random.Generator, sigma: float) -> Memory:
        world.scene.reset()
        place = world.T_world_object(self.thing)[:3, 3]
        return {"goal": place + [0.0, 0.0, self.lift], "low": place[2], "held": False, "drops": 0}

    def achieved(self, worlds: Worlds) -> Values:
        return worlds.poses(self.thing)[:, :3, 3]

    def observation(self, worlds: Worlds) -> Values:
        """Pose of the thing (position, quaternion) and its goal."""
        xp = worlds.xp
        return xp.concatenate([pose_numbers(xp, worlds.poses(self.thing)), worlds.memory["goal"]], -1)

    def after_period(self, worlds: Worlds) -> None:
        raised = self.achieved(worlds)[:, 2] > worlds.memory["low"] + RAISED
        self.note_held(worlds, worlds.held("PSM", self.thing), raised)

    def solved(self, worlds: Worlds) -> Values:
        away = length(self.achieved(worlds) - self.desired(worlds))
        return worlds.memory["held"] & (away <= self.goal_tolerance)

    def reward(self, worlds: Worlds) -> Values:
        tip = worlds.true_tips("PSM")[:, :3, 3]
        return carrying_reward(worlds.xp, tip, self.achieved(worlds), self.desired(worlds))

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
