"""PegLift: lift a peg off its post, the first part of PegTransfer."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from trocar.arms import load_arm
from trocar.simulation import Scene
from trocar.spatial import Array
from trocar_learning.contest.layouts import LAYOUTS, LEFT
from trocar_learning.contest.peg_board import PEGS, board, contest_arm, draw_setting, peg_on
from trocar_learning.contest.peg_grips import DEEP, OPEN, SQUEEZE, grips, touching
from trocar_learning.envs.task import SceneOptions
from trocar_learning.envs.tasks.lift_task import LiftTask
from trocar_learning.envs.world import PERIOD, World

JAW_LENGTH = load_arm("PSM").jaw_length  # [m]
GRIPS = np.array(grips(JAW_LENGTH))  # T_peg_tip (12, 4, 4)
CLEAR, TOLERANCE = 6e-3, 4e-3  # of the peg's goal over the posts [m]: within the tolerance it is clear of them by 2 mm


class PegLiftTask(LiftTask):
    """Lift a peg off its post by friction alone, with the PSM on the left of the peg transfer's board.

    Success: the peg is between the jaws and within 4 mm of its place 26 mm higher, for 0.5 s. The posts are 20 mm high:
    the peg's lower end is then at least 2 mm above them. Board, post and turn of the peg are drawn as in PegTransfer.
    """

    duration: float = 8.0
    force_arms: ClassVar[tuple[str, ...]] = ("PSM",)
    varies: ClassVar[bool] = True
    goal_tolerance = TOLERANCE
    thing: ClassVar[str] = PEGS[0]
    lift: ClassVar[float] = LAYOUTS["contest"].post_height + CLEAR
    opening: ClassVar[float] = OPEN
    closed: ClassVar[float] = touching(JAW_LENGTH) - SQUEEZE
    reach: ClassVar[float] = JAW_LENGTH - DEEP

    def scene(self, rng: np.random.Generator, options: SceneOptions) -> Scene:
        setting = draw_setting(rng)
        objects = [board(setting.T_world_board, LAYOUTS[setting.variant]), peg_on(setting, self.thing)]
        return Scene({"PSM": contest_arm(LEFT, options["PSM"])}, objects=objects, timestep=PERIOD)

    def grip(self, world: World) -> Array:
        """Tip pose (4, 4) in the world of jaws around a wall of the peg: the least turned, then the nearest."""
        here, T_peg = world.T_world_measured("PSM"), world.T_world_object(self.thing)
        options = [T_peg @ frame for frame in GRIPS]
        turned = np.array([np.vdot(here[:3, :3], T[:3, :3]) for T in options])
        away = np.array([np.linalg.norm(T[:3, 3] - here[:3, 3]) for T in options])
        # both grips of a wall have the same orientation
        return np.asarray(options[int(np.argmin(np.where(turned >= turned.max() - 1e-6, away, np.inf)))])
