"""Approach: bring open jaws around a needle at a given place of its arc."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from trocar.simulation.objects.solid import Needle
from trocar.simulation.skills.needle_frames import REACH, grip_frame
from trocar.spatial import Array, pose, quaternion
from trocar_learning.envs.task import Policy
from trocar_learning.envs.tasks.lift_task import ABOVE
from trocar_learning.envs.tasks.needle_pick import OPEN, NeedlePickTask
from trocar_learning.envs.tasks.tip_script import Script, Tips, following
from trocar_learning.envs.world import World

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

    duration: float = 6.0
    goal_tolerance = TOLERANCE

    def start(self, world: World, rng: np.random.Generator, sigma: float) -> None:
        super().start(world, rng, sigma)
        angle, here = rng.uniform(*GRIPPED), world.scene.T_world_tip("PSM")
        placed = world.scene.objects["needle"]
        thing = placed.thing
        assert isinstance(thing, Needle)
        options = [grip_frame(thing, angle, -np.pi / 2, side) for side in (1, -1)]
        self.T_needle_grip = max(options, key=lambda T: float(np.trace(here[:3, :3].T @ (placed.pose @ T)[:3, :3])))

    def grip(self, world: World) -> Array:
        return world.once("grip", "needle", lambda: world.T_world_object("needle") @ self.T_needle_grip).copy()

    def achieved(self, world: World) -> Array:
        return world.T_world_tip("PSM")[:3, 3]

    def desired(self, world: World) -> Array:
        return self.grip(world)[:3, 3]

    def observation(self, world: World) -> Array:
        """Tip pose of the grip (position, quaternion)."""
        T = self.grip(world)
        return np.concatenate([T[:3, 3], quaternion(T[:3, :3])])

    def errors(self, world: World) -> tuple[float, float]:
        """Distance [m] and angle [rad] of the tip from the grip."""
        return world.once("errors", "PSM", lambda: self._errors(world))

    def _errors(self, world: World) -> tuple[float, float]:
        T, goal = world.T_world_tip("PSM"), self.grip(world)
        cosine = (float(np.vdot(T[:3, :3], goal[:3, :3])) - 1.0) / 2.0  # half of the trace of R' R_goal, less 1
        return math.dist(T[:3, 3], goal[:3, 3]), math.acos(min(max(cosine, -1.0), 1.0))

    def solved(self, world: World) -> bool:
        distance, turn = self.errors(world)
        return distance <= TOLERANCE and turn <= MAX_TURN and world.scene.arms["PSM"].q[-1] > MIN_OPENING

    def reward(self, world: World) -> float:
        distance, turn = self.errors(world)
        return -min(distance / 0.1 + turn / np.pi, 1.0)

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
            if R is None and self.errors(env.world)[0] > TOLERANCE:
                # the rail has pushed the jaws along the wire, away from itself: there is more room on that side
                pushed = float(T[:3, 0] @ (env.world.T_world_tip("PSM")[:3, 3] - self.grip(env.world)[:3, 3]))
                yield from tips.move("PSM", pose(T[:3, :3], tips.T["PSM"][:3, 3] + [0.0, 0.0, RETREAT]), 0.5)
                tips.opening["PSM"] = NARROW
                aside = min(max(aside + math.copysign(ASIDE, pushed), -MAX_ASIDE), MAX_ASIDE)
