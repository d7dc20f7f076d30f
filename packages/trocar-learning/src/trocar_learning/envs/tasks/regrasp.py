"""Regrasp: take a needle that tissue holds, near its point."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from trocar.simulation import Scene
from trocar.simulation.skills.hands import Hands
from trocar.simulation.skills.needle_frames import REACH, arc_pose, grip_frame
from trocar.simulation.skills.suture_setting import LEAN, gripping_joints
from trocar.simulation.skills.suturing import REGRASP, RETREAT, best_grip
from trocar.spatial import Array, Values, pose
from trocar_learning.envs.arrays import dot, length, points
from trocar_learning.envs.task import POINT, Memory, Policy, SceneOptions, named
from trocar_learning.envs.tasks.suture_task import ARM, GRIP, HEIGHT, OPEN, SHAPE, SutureTask, drawn_turn
from trocar_learning.envs.tasks.tip_script import Script, Tips, following
from trocar_learning.envs.world import World, Worlds

if TYPE_CHECKING:
    from trocar_learning.envs.task_env import TaskEnv

THROUGH = np.radians([-5.0, 5.0])  # angle of the needle's point on its arc: just past the exit side's horizontal
AWAY_LOW, AWAY_HIGH = np.array([-0.008, -0.008, 0.0]), np.array([0.008, 0.008, 0.012])  # start, from the way [m]
TURNED = np.radians(30.0)  # largest rotation of the start from the grip
TOLERANCE, MAX_TURN = 2e-3, 0.7  # [m], [rad]
BACK = pose(p=[0.0, 0.0, -RETREAT])


class RegraspTask(SutureTask):
    """Grip an SH needle, which is through the tissue and held by it alone, 20 degrees behind its point.

    Success: the needle is between the jaws, gripped within 2 mm of that place and with the jaws within 0.7 rad of
    across the wire (SurgicAI's Regrasp in its whole sequence), with at most 3.3 N, for 0.5 s. The jaws start open,
    20 mm away and turned by up to 30 degrees.
    """

    observed: ClassVar[tuple[str, ...]] = (*SutureTask.observed, *named(POINT, "grip", "wire"))
    duration: float = 6.0

    def scene(self, rng: np.random.Generator, options: SceneOptions) -> Scene:
        height, angle = rng.uniform(*HEIGHT), rng.uniform(*THROUGH)
        grip = arc_pose(height, angle, LEAN) @ grip_frame(SHAPE, REGRASP, side=-1) @ BACK
        away = pose(drawn_turn(rng, TURNED) @ grip[:3, :3], grip[:3, 3] + rng.uniform(AWAY_LOW, AWAY_HIGH))
        q = gripping_joints(away)
        q[-1] = OPEN
        return self.suture_scene(rng, {**options[ARM], "q": q}, height=height, angle=angle)

    def start(self, world: World, rng: np.random.Generator, sigma: float) -> Memory:
        memory = super().start(world, rng, sigma)
        self.tissue(world).pass_through()
        return memory

    def places(self, worlds: Worlds) -> tuple[Values, Values]:
        """Places (n, 3) of the grip on the needle and directions (n, 3) of the wire there, in the world."""
        T = worlds.poses("needle")
        place, along = SHAPE.at((SHAPE.arc / 2 - REGRASP) * SHAPE.radius)
        return points(worlds.xp, T, place), T[:, :3, :3] @ along

    def observation(self, worlds: Worlds) -> Values:
        """Pose of the needle (position, quaternion), place of the grip and direction of the wire there."""
        return np.concatenate([super().observation(worlds), *self.places(worlds)], -1)

    def errors(self, worlds: Worlds) -> tuple[Values, Values]:
        """Distances (n,) of the jaws from the place of the grip [m], angles (n,) of wire and jaws' x axis [rad]."""
        T, (place, along) = worlds.true_tips(ARM), self.places(worlds)
        away = length(points(worlds.xp, T, [0.0, 0.0, REACH]) - place)
        return away, np.arccos(np.minimum(np.abs(dot(T[:, :3, 0], along)), 1.0))

    def solved(self, worlds: Worlds) -> Values:
        away, turn = self.errors(worlds)
        return worlds.memory["held"] & (away <= TOLERANCE) & (turn <= MAX_TURN) & ~self.failed(worlds)

    def reward(self, worlds: Worlds) -> Values:
        away, turn = self.errors(worlds)
        reward = -np.minimum(away / 0.05 + turn / np.pi, 1.0) - ~worlds.memory["held"]
        return np.where(self.failed(worlds), -10.0, reward)

    def expert(self, env: TaskEnv) -> Policy:
        """The grip of the skill, approached along the jaws."""
        T = best_grip(Hands(env.world.scene), ARM, env.world.T_world_object("needle"), SHAPE, REGRASP)
        return following(self._gripping(env, T))

    def pid(self, env: TaskEnv) -> Policy:
        """The same motions, with the position of the grip but without its orientation."""
        R = env.world.T_world_measured(ARM)[:3, :3]
        return following(self._gripping(env, pose(R, self.places(env.world)[0][0] - REACH * R[:, 2])))

    def _gripping(self, env: TaskEnv, T: Array) -> Script:
        tips = Tips(env)
        tips.opening[ARM] = OPEN
        yield from tips.move(ARM, T @ BACK)
        yield from tips.wait(0.2)
        yield from tips.move(ARM, T, 0.5)
        yield from tips.wait(0.2)
        yield from tips.jaws(ARM, GRIP, 0.6)
        yield from tips.rest()
