"""Approach: bring open jaws around a needle at a given place of its arc."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from trocar.simulation.objects.solid import Needle
from trocar.simulation.skills.needle_frames import REACH, grip_frame
from trocar.spatial import Array, Values, pose
from trocar_learning.envs.arrays import angle, distance, dot, pose_numbers
from trocar_learning.envs.task import POSE, Memory, Policy, named
from trocar_learning.envs.tasks.lift_task import ABOVE
from trocar_learning.envs.tasks.needle_pick import OPEN, NeedlePickTask
from trocar_learning.envs.tasks.tip_script import Script, Tips, following
from trocar_learning.envs.world import World, Worlds

if TYPE_CHECKING:
    from trocar_learning.envs.task_env import TaskEnv

GRIPPED = np.radians([-20.0, 20.0])  # from the middle of the needle; the rails carry the rest
TOLERANCE, MAX_TURN = 1e-3, np.radians(10.0)
MIN_OPENING = 0.3  # of jaws that still have to grip [rad]
# A finger that stands on a rail: height of the retreat, step and longest way along the wire [m], next opening [rad].
RETREAT, ASIDE, MAX_ASIDE, NARROW = 3e-3, 0.4e-3, 0.8e-3, 0.45


class ApproachTask(NeedlePickTask):
    """Bring the open jaws around a needle on rails, at a place of its arc that is drawn.

    Success: the tip is within 1 mm and 10 degrees of the grip (SurgicAI's Approach in its whole sequence), with the
    jaws open, for 0.5 s. The grip follows the needle if the jaws push it. Scene and start are those of NeedlePick.
    """

    observed: ClassVar[tuple[str, ...]] = named(POSE, "grip")
    duration: float = 6.0
    goal_tolerance = TOLERANCE

    def start(self, world: World, rng: np.random.Generator, sigma: float) -> Memory:
        memory = super().start(world, rng, sigma)
        spot, here = rng.uniform(*GRIPPED), world.scene.T_world_tip("PSM")
        placed = world.scene.objects["needle"]
        thing = placed.thing
        assert isinstance(thing, Needle)
        options = [grip_frame(thing, spot, -np.pi / 2, side) for side in (1, -1)]
        return memory | {"grip": max(options, key=lambda T: np.trace(here[:3, :3].T @ (placed.pose @ T)[:3, :3]))}

    def grips(self, worlds: Worlds) -> Values:
        """Tip poses (n, 4, 4) in the world of jaws around the drawn place."""
        return worlds.poses("needle") @ worlds.memory["grip"]

    def grip(self, world: World) -> Array:
        return np.asarray(self.grips(world)[0])

    def achieved(self, worlds: Worlds) -> Values:
        return worlds.true_tips("PSM")[:, :3, 3]

    def desired(self, worlds: Worlds) -> Values:
        return self.grips(worlds)[:, :3, 3]

    def observation(self, worlds: Worlds) -> Values:
        """Tip pose of the grip (position, quaternion)."""
        return pose_numbers(worlds.xp, self.grips(worlds))

    def errors(self, worlds: Worlds) -> tuple[Values, Values]:
        """Distances (n,) [m] and angles (n,) [rad] of the tip from the grip."""
        xp, T, goal = worlds.xp, worlds.true_tips("PSM"), self.grips(worlds)
        trace = dot(T[:, :3, :3].reshape(-1, 9), goal[:, :3, :3].reshape(-1, 9))  # of R' R_goal
        return distance(xp, T[:, :3, 3], goal[:, :3, 3]), angle(xp, (trace - 1.0) / 2.0)

    def solved(self, worlds: Worlds) -> Values:
        away, turn = self.errors(worlds)
        return (away <= TOLERANCE) & (turn <= MAX_TURN) & (worlds.true_jaws("PSM") > MIN_OPENING)

    def reward(self, worlds: Worlds) -> Values:
        away, turn = self.errors(worlds)
        return -worlds.xp.clip(away / 0.1 + turn / np.pi, None, 1.0)

    def expert(self, env: TaskEnv) -> Policy:
        """Waypoint above the grip, descent, then small corrections; back off and try beside it if a finger stands."""
        return following(self._approaching(env, None))

    def pid(self, env: TaskEnv) -> Policy:
        """The same motions, with the position of the grip but without its orientation."""
        return following(self._approaching(env, env.world.T_world_measured("PSM")[:3, :3]))

    def _approaching(self, env: TaskEnv, R: Array | None) -> Script:
        def goal() -> Array:
            T = self.grip(env.world)
            return T if R is None else pose(R, (T @ [0.0, 0.0, REACH, 1.0])[:3] - REACH * R[:, 2])

        tips = Tips(env)
        tips.opening["PSM"] = OPEN
        T = goal()
        yield from tips.move("PSM", pose(T[:3, :3], T[:3, 3] + [0.0, 0.0, ABOVE]))
        yield from tips.wait(0.1)
        aside = 0.0
        while True:
            T = goal()
            yield from tips.move("PSM", pose(T[:3, :3], T[:3, 3] + aside * T[:3, 0]), 0.5)
            yield from tips.wait(0.3)
            if R is None and self.errors(env.world)[0][0] > TOLERANCE:
                # the rail has pushed the jaws along the wire, away from itself: there is more room on that side
                pushed = float(T[:3, 0] @ (env.world.T_world_tip("PSM")[:3, 3] - self.grip(env.world)[:3, 3]))
                yield from tips.move("PSM", pose(T[:3, :3], tips.T["PSM"][:3, 3] + [0.0, 0.0, RETREAT]), 0.5)
                tips.opening["PSM"] = NARROW
                aside = min(max(aside + math.copysign(ASIDE, pushed), -MAX_ASIDE), MAX_ASIDE)
