"""Place: bring the point of a gripped needle to a marked entry."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from trocar.simulation import Scene, SceneArm
from trocar.simulation.objects.solid import Box, Solid, needle
from trocar.simulation.skills.needle_frames import arc_pose, grip_frame
from trocar.simulation.skills.suture_setting import BASE, LEAN, SIZE, gripping_joints
from trocar.spatial import Array, Values, inverse, pose
from trocar_learning.envs.arrays import angle, distance, dot, points, pose_numbers
from trocar_learning.envs.task import POINT, POSE, Memory, Policy, SceneOptions, Task, named
from trocar_learning.envs.tasks.suture_task import SHAPE, drawn_turn
from trocar_learning.envs.tasks.tip_script import Script, Tips, following
from trocar_learning.envs.world import PERIOD, World, Worlds

if TYPE_CHECKING:
    from trocar_learning.envs.task_env import TaskEnv

MARK = 5e-3  # largest distance of the entry from the middle of the phantom, along x and y [m]
ENTERING = np.radians(205.0)  # angle of the needle's point on its arc at the entry
AWAY_LOW, AWAY_HIGH = np.array([-0.02, -0.015, 0.02]), np.array([0.01, 0.015, 0.035])  # start, from the goal [m]
TURNED = np.radians(30.0)  # largest rotation of the start from the goal
GRIPPED = np.radians([-70.0, -50.0])  # from the middle of the needle
FRICTION = (0.5, 0.8)
TOLERANCE, MAX_TURN = 2.5e-3, np.radians(10.0)
ABOVE = 1e-3  # the expert's goal, above the surface [m]
GRIP = 0.0  # commanded opening [rad]; 0.7 mm of wire hold the jaws open by 0.11 rad
GENTLE = 0.4  # of the expert: share of the largest speed
WAY = np.array([0.0, 0.0, 8e-3])  # of the expert's waypoint, from the goal [m]


class PlaceTask(Task):
    """Bring the point of an SH needle in the jaws to a marked entry on a rigid phantom, ready to enter.

    Success: the point is within 2.5 mm of the mark (task 1 of the AccelNet Surgical Robotics Challenge 2023), its
    direction within 10 degrees of the planned one (SurgicAI's Place in its whole sequence), and the needle between the
    jaws, for 0.5 s. Start, grip, friction and mark are drawn.
    """

    observed: ClassVar[tuple[str, ...]] = (
        *named(POSE, "needle"),
        *named(POINT, "point", "direction", "mark", "planned"),
    )
    duration: float = 8.0
    force_arms: ClassVar[tuple[str, ...]] = ("PSM",)
    varies: ClassVar[bool] = True
    goal_tolerance = TOLERANCE
    gripped: ClassVar[Mapping[str, float]] = MappingProxyType({"PSM": GRIP})

    def scene(self, rng: np.random.Generator, options: SceneOptions) -> Scene:
        self.mark = np.array([*rng.uniform(-MARK, MARK, 2), 0.0])
        self.direction = self._placed(0.0)[:3, :3] @ SHAPE.at(0.0)[1]
        away = drawn_turn(rng, TURNED)
        goal, friction = self._placed(ABOVE), rng.uniform(*FRICTION)
        T = pose(away @ goal[:3, :3], goal[:3, 3] + rng.uniform(AWAY_LOW, AWAY_HIGH))
        curved = needle("needle", T, size="SH", friction=friction)
        q = gripping_joints(T @ grip_frame(curved, rng.uniform(*GRIPPED), side=-1))
        phantom = Solid("phantom", Box((0.0, 0.0, -SIZE[2] / 2), SIZE), colour=(0.80, 0.42, 0.38))
        arm = SceneArm(arm="PSM", base=BASE, q=q, **options["PSM"])
        return Scene({"PSM": arm}, objects=[phantom, curved], timestep=PERIOD, overlaps=True)

    def _placed(self, height: float) -> Array:
        """Pose (4, 4) of the needle with its point at a height above the mark [m]."""
        T = arc_pose(0.0, ENTERING, LEAN)
        point = T @ np.append(SHAPE.at(0.0)[0], 1.0)
        return pose(T[:3, :3], T[:3, 3] + self.mark + [0.0, 0.0, height] - point[:3])

    def start(self, world: World, rng: np.random.Generator, sigma: float) -> Memory:
        world.scene.reset()
        return {"mark": self.mark, "direction": self.direction, "held": True, "drops": 0}

    def achieved(self, worlds: Worlds) -> Values:
        return points(worlds.xp, worlds.poses("needle"), SHAPE.at(0.0)[0])

    def desired(self, worlds: Worlds) -> Values:
        return worlds.memory["mark"]

    def _directions(self, worlds: Worlds) -> Values:
        """Directions (n, 3) of the needle's point in the world."""
        return worlds.poses("needle")[:, :3, :3] @ worlds.put(SHAPE.at(0.0)[1])

    def observation(self, worlds: Worlds) -> Values:
        """Pose of the needle (position, quaternion), place and direction of its point, mark, planned direction."""
        point = [self.achieved(worlds), self._directions(worlds)]
        planned = [worlds.memory["mark"], worlds.memory["direction"]]
        return worlds.xp.concatenate([pose_numbers(worlds.xp, worlds.poses("needle")), *point, *planned], -1)

    def after_period(self, worlds: Worlds) -> None:
        self.note_held(worlds, worlds.held("PSM", "needle"))

    def errors(self, worlds: Worlds) -> tuple[Values, Values]:
        """Distances (n,) of the point from the mark [m], angles (n,) of its direction to the planned one [rad]."""
        away = distance(worlds.xp, self.achieved(worlds), self.desired(worlds))
        return away, angle(worlds.xp, dot(self._directions(worlds), worlds.memory["direction"]))

    def solved(self, worlds: Worlds) -> Values:
        away, turn = self.errors(worlds)
        return worlds.memory["held"] & (away <= TOLERANCE) & (turn <= MAX_TURN)

    def reward(self, worlds: Worlds) -> Values:
        away, turn = self.errors(worlds)
        return -worlds.xp.clip(away / 0.1 + turn / np.pi, None, 1.0)

    def expert(self, env: TaskEnv) -> Policy:
        """Waypoint above the mark, descent, corrections; the pose of the needle in the jaws is read every time."""
        return following(self._placing(env, turning=True))

    def pid(self, env: TaskEnv) -> Policy:
        """The same motions, with the position of the point but without its direction."""
        return following(self._placing(env, turning=False))

    def _placing(self, env: TaskEnv, turning: bool) -> Script:
        tips, placed, goal = Tips(env), env.world.scene.objects["needle"], self._placed(ABOVE)

        def towards(T_needle: Array) -> Array:
            if turning:
                return T_needle @ inverse(placed.pose) @ tips.T["PSM"]
            way = (T_needle @ np.append(SHAPE.at(0.0)[0], 1.0))[:3] - self.achieved(env.world)[0]
            return pose(tips.T["PSM"][:3, :3], tips.T["PSM"][:3, 3] + way)

        yield from tips.wait(0.2)
        yield from tips.move("PSM", towards(pose(goal[:3, :3], goal[:3, 3] + WAY)), GENTLE)
        while True:
            yield from tips.wait(0.3)
            yield from tips.move("PSM", towards(goal), GENTLE)
