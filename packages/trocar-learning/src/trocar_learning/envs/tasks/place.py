"""Place: bring the point of a gripped needle to a marked entry."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from trocar.simulation import Scene, SceneArm
from trocar.simulation.manipulation import held_by
from trocar.simulation.objects.solid import Box, Solid, needle
from trocar.simulation.skills.needle_frames import arc_pose, grip_frame
from trocar.simulation.skills.suture_setting import BASE, LEAN, SIZE, gripping_joints
from trocar.spatial import Array, inverse, pose, quaternion
from trocar_learning.envs.task import Policy, Task
from trocar_learning.envs.tasks.suture_task import SHAPE, drawn_turn
from trocar_learning.envs.tasks.tip_script import Script, Tips, following
from trocar_learning.envs.world import PERIOD, World

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

    duration: float = 8.0
    force_arms: ClassVar[tuple[str, ...]] = ("PSM",)
    varies: ClassVar[bool] = True
    goal_tolerance = TOLERANCE
    gripped: ClassVar[Mapping[str, float]] = MappingProxyType({"PSM": GRIP})

    def scene(self, rng: np.random.Generator, options: Mapping[str, Mapping[str, Any]]) -> Scene:
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

    def start(self, world: World, rng: np.random.Generator, sigma: float) -> None:
        world.scene.reset()
        self.holds, self.lost = True, 0

    def achieved(self, world: World) -> Array:
        point, _ = self._point(world)
        return point.copy()

    def desired(self, world: World) -> Array:
        return self.mark

    def _point(self, world: World) -> tuple[Array, Array]:
        """Place [m] and direction of the needle's point in the world."""
        return world.once("point", "needle", lambda: _pointed(world.T_world_object("needle")))

    def observation(self, world: World) -> Array:
        """Pose of the needle (position, quaternion), place and direction of its point, mark, planned direction."""
        T = world.T_world_object("needle")
        return np.concatenate([T[:3, 3], quaternion(T[:3, :3]), *self._point(world), self.mark, self.direction])

    def after_period(self, world: World, force: float) -> None:
        before, self.holds = self.holds, held_by(world.scene, "PSM") == "needle"
        self.lost += before and not self.holds

    def drops(self) -> int:
        return int(self.lost)

    def errors(self, world: World) -> tuple[float, float]:
        """Distance of the point from the mark [m], angle of its direction to the planned one [rad]."""
        place, direction = self._point(world)
        turn = math.acos(min(max(float(direction.dot(self.direction)), -1.0), 1.0))
        return math.dist(place, self.mark), turn

    def solved(self, world: World) -> bool:
        distance, turn = self.errors(world)
        return self.holds and distance <= TOLERANCE and turn <= MAX_TURN

    def reward(self, world: World) -> float:
        distance, turn = self.errors(world)
        return -min(distance / 0.1 + turn / np.pi, 1.0)

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
            way = (T_needle @ np.append(SHAPE.at(0.0)[0], 1.0))[:3] - self.achieved(env.world)
            return pose(tips.T["PSM"][:3, :3], tips.T["PSM"][:3, 3] + way)

        yield from tips.wait(0.2)
        yield from tips.move("PSM", towards(pose(goal[:3, :3], goal[:3, 3] + WAY)), GENTLE)
        while True:
            yield from tips.wait(0.3)
            yield from tips.move("PSM", towards(goal), GENTLE)


def _pointed(T_needle: Array) -> tuple[Array, Array]:
    """Place [m] and direction of the point of a needle at a pose (4, 4)."""
    place, direction = SHAPE.at(0.0)
    return (T_needle @ [*place, 1.0])[:3], T_needle[:3, :3] @ direction
