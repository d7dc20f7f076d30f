"""NeedlePick: lift a needle by friction between the jaws."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from trocar.simulation import Scene, SceneArm
from trocar.simulation.objects.solid import Box, Needle, Solid, needle
from trocar.simulation.skills.needle_frames import REACH, grip_frame
from trocar.spatial import Array, pose, rotation
from trocar_learning.envs.task import SceneOptions
from trocar_learning.envs.tasks.lift_task import LiftTask
from trocar_learning.envs.world import PERIOD, World

START = np.array([0.0, 0.0, 0.08, 0.0, 0.0, 0.0, 0.6])  # joints [rad, m]
PLACE, HEIGHT = 0.02, -0.125  # of the needle: largest distance aside, height below the remote centre [m]
TURN = np.radians(60.0)  # largest turn of the tray
LIFT, TOLERANCE = 0.02, 5e-3  # [m]
OPEN, GRIP = 0.6, 0.13  # openings before and at the grip [rad]: 1 mm of wire holds the jaws open by 0.15 rad


class NeedlePickTask(LiftTask):
    """Lift a needle of 1 mm wire, which lies across two rails, by friction alone.

    Success: the needle is between the jaws and within 5 mm (SurRoL's NeedlePick) of its place 20 mm higher (the lift of
    ORBIT-Surgical), for 0.5 s. Tray and needle are turned by up to 60 degrees and moved by up to 20 mm.
    """

    duration: float = 8.0
    force_arms: ClassVar[tuple[str, ...]] = ("PSM",)
    varies: ClassVar[bool] = True
    goal_tolerance = TOLERANCE
    thing: ClassVar[str] = "needle"
    lift: ClassVar[float] = LIFT
    opening: ClassVar[float] = OPEN
    closed: ClassVar[float] = GRIP
    reach: ClassVar[float] = REACH

    def scene(self, rng: np.random.Generator, options: SceneOptions) -> Scene:
        x, y = rng.uniform(-PLACE, PLACE, 2)
        T = pose(rotation("z", rng.uniform(-TURN, TURN)), [x, y, HEIGHT])
        slid = pose(rotation("z", rng.uniform(-0.15, 0.15)), [*rng.uniform(-1e-3, 1e-3, 2), 0.0])
        rails = [Box((0.0, side, -4.5e-3), (0.03, 0.008, 0.008)) for side in (-0.01, 0.01)]
        tray = Solid("tray", [*rails, Box((0.0, 0.0, -9.5e-3), (0.03, 0.028, 0.002))], T)
        lying = needle("needle", T @ slid @ pose(p=[-0.0115, 0.0, 0.0]))
        arm = SceneArm(arm="PSM", base=np.eye(4), q=START, **options["PSM"])
        return Scene({"PSM": arm}, objects=[tray, lying], timestep=PERIOD)

    def grip(self, world: World) -> Array:
        """Tip pose (4, 4) in the world of jaws around the middle of the needle; the nearer of two."""
        placed, here = world.scene.objects["needle"], world.T_world_measured("PSM")
        thing = placed.thing
        assert isinstance(thing, Needle)
        options = [placed.pose @ grip_frame(thing, 0.0, -np.pi / 2, side) for side in (1, -1)]
        return np.asarray(max(options, key=lambda T: float(np.trace(here[:3, :3].T @ T[:3, :3]))))
