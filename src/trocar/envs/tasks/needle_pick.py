"""NeedlePick: lift a needle by friction between the jaws."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from trocar.envs.task import Policy, Task
from trocar.envs.tasks.tip_script import Script, Tips, following
from trocar.envs.world import PERIOD, World
from trocar.simulation import Scene, SceneArm
from trocar.simulation.manipulation import held_by
from trocar.simulation.objects.solid import Box, Needle, Solid, needle
from trocar.simulation.skills.needle_frames import REACH, grip_frame
from trocar.spatial import Array, pose, quaternion, rotation

if TYPE_CHECKING:
    from trocar.envs.task_env import TaskEnv

START = np.array([0.0, 0.0, 0.08, 0.0, 0.0, 0.0, 0.6])  # joints [rad, m]
PLACE, HEIGHT = 0.02, -0.125  # of the needle: largest distance aside, height below the remote centre [m]
TURN = np.radians(60.0)  # largest turn of the tray
LIFT, TOLERANCE = 0.02, 5e-3  # [m]
OPEN, GRIP = 0.6, 0.13  # openings before and at the grip [rad]: 1 mm of wire holds the jaws open by 0.15 rad
ABOVE = 0.02  # of the expert's waypoint [m]


class NeedlePickTask(Task):
    """Lift a needle of 1 mm wire, which lies across two rails, by friction alone.

    Success: the needle is between the jaws and within 5 mm (SurRoL's NeedlePick) of its place 20 mm higher (the lift of
    ORBIT-Surgical), for 0.5 s. Tray and needle are turned by up to 60 degrees and moved by up to 20 mm.
    """

    duration: ClassVar[float] = 8.0
    force_arms: ClassVar[tuple[str, ...]] = ("PSM",)
    varies: ClassVar[bool] = True
    goal_tolerance = TOLERANCE

    def scene(self, rng: np.random.Generator, options: Mapping[str, Mapping[str, Any]]) -> Scene:
        x, y = rng.uniform(-PLACE, PLACE, 2)
        T = pose(rotation("z", rng.uniform(-TURN, TURN)), [x, y, HEIGHT])
        slid = pose(rotation("z", rng.uniform(-0.15, 0.15)), [*rng.uniform(-1e-3, 1e-3, 2), 0.0])
        rails = [Box((0.0, side, -4.5e-3), (0.03, 0.008, 0.008)) for side in (-0.01, 0.01)]
        tray = Solid("tray", [*rails, Box((0.0, 0.0, -9.5e-3), (0.03, 0.028, 0.002))], T)
        lying = needle("needle", T @ slid @ pose(p=[-0.0115, 0.0, 0.0]))
        arm = SceneArm(arm="PSM", base=np.eye(4), q=START, **options["PSM"])
        return Scene({"PSM": arm}, objects=[tray, lying], timestep=PERIOD)

    def start(self, world: World, rng: np.random.Generator, sigma: float) -> None:
        world.scene.reset()
        self.goal = self.achieved(world) + [0.0, 0.0, LIFT]
        self.lost, self.was_held, self.held_now = 0, False, False

    def achieved(self, world: World) -> Array:
        return world.T_world_object("needle")[:3, 3]

    def desired(self, world: World) -> Array:
        return self.goal

    def observation(self, world: World) -> Array:
        """Pose of the needle (position, quaternion) and its goal."""
        T = world.T_world_object("needle")
        return np.concatenate([T[:3, 3], quaternion(T[:3, :3]), self.goal])

    def after_period(self, world: World, force: float) -> None:
        self.held_now = held_by(world.scene, "PSM") == "needle"
        self.lost += self.was_held and not self.held_now and self.achieved(world)[2] > HEIGHT + 3e-3
        self.was_held = self.held_now

    def drops(self) -> int:
        return int(self.lost)

    def solved(self, world: World) -> bool:
        return self.held_now and float(np.linalg.norm(self.achieved(world) - self.goal)) <= TOLERANCE

    def reward(self, world: World) -> float:
        tip = world.T_world_tip("PSM")[:3, 3]
        away = float(np.linalg.norm(tip - self.achieved(world)))
        return -min(float(np.linalg.norm(self.achieved(world) - self.goal)) + 0.2 * away, 1.0) / 0.1

    def grip(self, world: World) -> Array:
        """Tip pose (4, 4) in the world of jaws around the middle of the needle; the nearer of two."""
        placed, here = world.scene.objects["needle"], world.T_world_measured("PSM")
        thing = placed.thing
        assert isinstance(thing, Needle)
        options = [placed.pose @ grip_frame(thing, 0.0, -np.pi / 2, side) for side in (1, -1)]
        return np.asarray(max(options, key=lambda T: float(np.trace(here[:3, :3].T @ T[:3, :3]))))

    def expert(self, env: TaskEnv) -> Policy:
        """Waypoint above the needle, descent, grip, lift to the goal."""
        return following(self._picking(env, self.grip(env.world)))

    def pid(self, env: TaskEnv) -> Policy:
        """The same motions, with the position of the grip but without its orientation."""
        grip = self.grip(env.world)
        wire = (grip @ [0.0, 0.0, REACH, 1.0])[:3]
        R = env.world.T_world_measured("PSM")[:3, :3]
        return following(self._picking(env, pose(R, wire - REACH * R[:, 2])))

    def _picking(self, env: TaskEnv, T: Array) -> Script:
        tips = Tips(env)
        tips.opening["PSM"] = OPEN
        yield from tips.move("PSM", pose(T[:3, :3], T[:3, 3] + [0.0, 0.0, ABOVE]))
        yield from tips.wait(0.1)
        yield from tips.move("PSM", T, 0.5)
        yield from tips.wait(0.15)
        yield from tips.jaws("PSM", GRIP, 0.6)
        yield from tips.move("PSM", pose(T[:3, :3], T[:3, 3] + [0.0, 0.0, LIFT]), 0.5)
        yield from tips.rest()
