"""PegTransfer: the ICRA 2026 competition, two arms that move pegs over a wall by handovers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from trocar.appearance.camera_place import CameraPlace
from trocar.errors import TrocarError, check_known
from trocar.simulation import Scene
from trocar.spatial import Array, Values
from trocar_learning.contest.layouts import LAYOUTS
from trocar_learning.contest.peg_board import (
    BASELINE,
    PEGS,
    VIEW,
    T_camera_world,
    T_world_camera,
    contest_scene,
    draw_setting,
)
from trocar_learning.envs.actions import TipIncrement
from trocar_learning.envs.arrays import pose_numbers
from trocar_learning.envs.task import POSE, Memory, Policy, SceneOptions, Task, named
from trocar_learning.envs.tasks.peg_rules import DURATION, PegRules
from trocar_learning.envs.tasks.transfer_script import TransferScript
from trocar_learning.envs.world import FREQUENCY, RATE, World, Worlds

if TYPE_CHECKING:
    from trocar_learning.envs.task_env import TaskEnv


class PegTransferTask(Task):
    """Move two pegs from the left of a wall to posts on its right, then back, and so on for 3 minutes.

    A point per peg placed in order after a handover; see `PegRules`. Success: both pegs have
    given a point, that is, are on the right. The episode continues until the time is over or a peg leaves the board.

    Args:
        variant: contest, or surrol: the board of SurRoL's bimanual peg transfer, without a wall.
    """

    observed: ClassVar[tuple[str, ...]] = (*named(POSE, "PSM1 tip", "PSM2 tip", *PEGS, "board"), "side", "time left")
    arms: ClassVar[Mapping[str, str]] = {"PSM1": "PSM", "PSM2": "PSM"}
    duration: float = DURATION
    force_arms: ClassVar[tuple[str, ...]] = ("PSM1", "PSM2")
    force_cycles: ClassVar[int] = FREQUENCY // RATE
    continues: ClassVar[bool] = True
    varies: ClassVar[bool] = True

    def __init__(self, variant: str = "contest") -> None:
        check_known("variant of the peg transfer", LAYOUTS, variant)
        self.variant, self.rules = variant, PegRules(LAYOUTS[variant])

    def scene(self, rng: np.random.Generator, options: SceneOptions) -> Scene:
        return contest_scene(draw_setting(rng, self.variant), options)

    def start(self, world: World, rng: np.random.Generator, sigma: float) -> Memory:
        world.scene.reset()
        return self.rules.start(world)

    def observation(self, worlds: Worlds) -> Values:
        """Measured tips, pegs and board, the side to fill, and the time left [s].

        Poses are positions [m] and quaternions in the optical frame of the left camera, as the competition has them.
        """
        xp, T_camera = worlds.xp, worlds.put(T_camera_world())
        poses = [worlds.tips(arm) for arm in self.arms] + [worlds.poses(name) for name in (*PEGS, "board")]
        numbers = [pose_numbers(xp, T_camera @ T) for T in poses]
        left = DURATION - worlds.times
        return xp.concatenate([*numbers, 1.0 * worlds.memory["target"][:, None], left[:, None]], -1)

    def camera(self, world: World, middle: Array) -> CameraPlace:
        """The competition's camera, which does not move."""
        return CameraPlace(T_world_camera(), VIEW, BASELINE)

    def after_period(self, worlds: Worlds) -> None:
        self.rules.judge(worlds)

    def solved(self, worlds: Worlds) -> Values:
        return worlds.memory["points"] >= len(PEGS)

    def failed(self, worlds: Worlds) -> Values:
        return worlds.memory["out"] > 0

    def reward(self, worlds: Worlds) -> Values:
        """A point counts 1."""
        return 1.0 * (worlds.memory["points"] - worlds.memory["before"])

    def details(self, worlds: Worlds) -> dict[str, Values]:
        """Points, and the time at which the peg of the last point stopped moving [s] (n,)."""
        return {"points": worlds.memory["points"], "last_point": worlds.memory["last"]}

    def expert(self, env: TaskEnv) -> Policy:
        """Grips, handover over the wall and placing, with the true poses."""
        return self._script(env).policy()

    def pid(self, env: TaskEnv) -> Policy:
        """The same motions and grips, but the jaws are not turned to the walls of the pegs."""
        return self._script(env, aligned=False).policy()

    def _script(self, env: TaskEnv, *, aligned: bool = True) -> TransferScript:
        if not all(isinstance(mode, TipIncrement) for mode in env.modes.values()):
            raise TrocarError(f"this policy acts by tip increments, not by {env.mode}; use the task's default mode")
        return TransferScript(env.world, self.rules, env.period, aligned=aligned)
