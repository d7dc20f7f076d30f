"""Pullout: draw a needle out of tissue, and its thread after it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from trocar.simulation import Scene
from trocar.simulation.skills.needle_frames import arc_pose, grip_frame
from trocar.simulation.skills.suture_setting import LEAN, gripping_joints
from trocar.simulation.skills.suturing import FREED, RATE, REGRASP
from trocar.spatial import Values, pose
from trocar_learning.envs.arrays import length
from trocar_learning.envs.task import POINT, Memory, Policy, SceneOptions, named
from trocar_learning.envs.tasks.suture_task import ARM, GRIP, HEIGHT, SHAPE, SutureTask
from trocar_learning.envs.tasks.tip_script import Script, Tips, following
from trocar_learning.envs.world import World, Worlds

if TYPE_CHECKING:
    from trocar_learning.envs.task_env import TaskEnv

THROUGH = np.radians([10.0, 25.0])  # angle of the needle's point on its arc: the jaws are free of the tissue
GOAL_LOW, GOAL_HIGH = np.array([-0.01, -0.02, 0.03]), np.array([0.01, -0.005, 0.04])  # from the start [m]
TOLERANCE = 5e-3
PULLING = 0.4  # of the expert: share of the largest speed, 20 mm/s


class PulloutTask(SutureTask):
    """Draw an SH needle, gripped 20 degrees behind its point, out of the tissue and bring it to a goal above.

    Success: the needle is out of the tissue and its thread in it, the needle is between the jaws and within 5 mm of
    the goal (SurgicAI's Pullout in its whole sequence; its 5 degrees are left out, the goal is a place), with at most
    3.3 N, for 0.5 s.
    """

    observed: ClassVar[tuple[str, ...]] = (*SutureTask.observed, *named(POINT, "goal"), "length outside")
    duration: float = 10.0
    goal_tolerance = TOLERANCE
    gripped: ClassVar[Mapping[str, float]] = MappingProxyType({ARM: GRIP})

    def scene(self, rng: np.random.Generator, options: SceneOptions) -> Scene:
        height, angle = rng.uniform(*HEIGHT), rng.uniform(*THROUGH)
        q = gripping_joints(arc_pose(height, angle, LEAN) @ grip_frame(SHAPE, REGRASP))  # the roll can turn it out
        return self.suture_scene(rng, {**options[ARM], "q": q}, height=height, angle=angle)

    def start(self, world: World, rng: np.random.Generator, sigma: float) -> Memory:
        memory = super().start(world, rng, sigma)
        self.tissue(world).pass_through()
        return memory | {"goal": self.achieved(world)[0] + rng.uniform(GOAL_LOW, GOAL_HIGH)}

    def achieved(self, worlds: Worlds) -> Values:
        return worlds.poses("needle")[:, :3, 3]

    def observation(self, worlds: Worlds) -> Values:
        """Pose of the needle (position, quaternion), its goal, length that is out of the tissue."""
        own = worlds.memory["goal"], self.passed(worlds)[:, None]
        return np.concatenate([super().observation(worlds), *own], -1)

    def _away(self, worlds: Worlds) -> Values:
        """Distances (n,) of the needle from its goal [m]."""
        return length(self.achieved(worlds) - self.desired(worlds))

    def solved(self, worlds: Worlds) -> Values:
        out = (self.passed(worlds) > SHAPE.length) & ~self.failed(worlds)
        return out & worlds.memory["held"] & (self._away(worlds) <= TOLERANCE)

    def reward(self, worlds: Worlds) -> Values:
        left = np.maximum(SHAPE.length - self.passed(worlds), 0.0) / SHAPE.length
        return np.where(self.failed(worlds), -10.0, -left - np.minimum(self._away(worlds) / 0.05, 1.0))

    def expert(self, env: TaskEnv) -> Policy:
        """The skill's turn about the needle's own centre until its tail is out, then a straight pull."""
        return following(self._pulling(env, turning=True))

    def pid(self, env: TaskEnv) -> Policy:
        """A straight pull to the goal."""
        return following(self._pulling(env, turning=False))

    def _pulling(self, env: TaskEnv, turning: bool) -> Script:
        tips, world = Tips(env), env.world
        yield from tips.wait(0.3)
        if turning:
            T = world.T_world_object("needle")
            angle = (SHAPE.length + FREED - self.passed(world)[0]) / SHAPE.radius
            yield from tips.turn(ARM, T[:3, 3], T[:3, 2], angle, RATE)
        while True:
            way = (self.desired(world) - self.achieved(world))[0]
            yield from tips.move(ARM, pose(p=way) @ tips.T[ARM], PULLING)
            yield from tips.wait(0.3)
