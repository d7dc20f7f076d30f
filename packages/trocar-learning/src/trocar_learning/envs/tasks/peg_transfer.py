"""PegTransfer: the ICRA 2026 competition, two arms that move pegs over a wall by handovers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.spatial.transform import Rotation

from trocar.appearance.camera_place import CameraPlace
from trocar.errors import TrocarError, check_known
from trocar.simulation import Scene
from trocar.spatial import Array, quaternion
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
from trocar_learning.contest.referee import DURATION, Referee
from trocar_learning.contest.transfer_script import TransferScript
from trocar_learning.envs.actions import TIP_SPEED, TURN_SPEED, TipIncrement, jaw_action
from trocar_learning.envs.task import Policy, Task
from trocar_learning.envs.world import World

if TYPE_CHECKING:
    from trocar_learning.envs.task_env import TaskEnv


class PegTransferTask(Task):
    """Move two pegs from the left of a wall to posts on its right, then back, and so on for 3 minutes.

    A point per peg placed in order after a handover; see `trocar_learning.contest.Referee`. Success: both pegs have
    given a point, that is, are on the right. The episode continues until the time is over or a peg leaves the board.

    Args:
        variant: contest, or surrol: the board of SurRoL's bimanual peg transfer, without a wall.
    """

    arms: ClassVar[Mapping[str, str]] = {"PSM1": "PSM", "PSM2": "PSM"}
    duration: float = DURATION
    continues: ClassVar[bool] = True
    varies: ClassVar[bool] = True

    def __init__(self, variant: str = "contest") -> None:
        check_known("variant of the peg transfer", LAYOUTS, variant)
        self.variant = variant

    def scene(self, rng: np.random.Generator, options: Mapping[str, Mapping[str, Any]]) -> Scene:
        return contest_scene(draw_setting(rng, self.variant), options)

    def start(self, world: World, rng: np.random.Generator, sigma: float) -> None:
        world.scene.reset()
        self.referee = Referee(world.scene)
        self._points, self._T_camera_world = 0, T_camera_world()

    def observation(self, world: World) -> Array:
        """Measured tips, pegs and board, the side to fill, and the time left [s].

        Poses are positions [m] and quaternions in the optical frame of the left camera, as the competition has them.
        """
        poses = [world.T_world_measured(arm) for arm in self.arms]
        poses += [world.scene.objects[name].pose for name in (*PEGS, "board")]
        poses = [self._T_camera_world @ T for T in poses]
        numbers = [np.concatenate([T[:3, 3], quaternion(T[:3, :3])]) for T in poses]
        return np.concatenate([*numbers, [self.referee.target, DURATION - world.time]])

    def camera(self, world: World, middle: Array) -> CameraPlace:
        """The competition's camera, which does not move."""
        return CameraPlace(T_world_camera(), VIEW, BASELINE)

    def after_period(self, world: World, force: float) -> None:
        self._points = self.referee.score.points
        self.referee.update(world.scene)

    def solved(self, world: World) -> bool:
        return self.referee.score.points >= len(PEGS)

    def failed(self, world: World) -> bool:
        return bool(self.referee.score.ended)

    def reward(self, world: World) -> float:
        """A point counts 1."""
        return float(self.referee.score.points - self._points)

    def drops(self) -> int:
        return self.referee.score.drops

    def details(self) -> dict[str, Any]:
        score = self.referee.score
        return {"points": score.points, "last_point": score.last_time, "peak_force": score.peak_force}

    def expert(self, env: TaskEnv) -> Policy:
        """Grips, handover over the wall and placing, with the true poses."""
        return _following(env, TransferScript(env.world.scene, self.referee, env.period))

    def pid(self, env: TaskEnv) -> Policy:
        """The same motions and grips, but the jaws are not turned to the walls of the pegs."""
        return _following(env, TransferScript(env.world.scene, self.referee, env.period, aligned=False))


def _following(env: TaskEnv, script: TransferScript) -> Policy:
    """Increments that follow the commands of a script."""
    if not all(isinstance(mode, TipIncrement) for mode in env.modes.values()):
        raise TrocarError(f"this policy acts by tip increments, not by {env.mode}; use the task's default mode")
    steps, before = script.play(), {arm: T.copy() for arm, T in script.T.items()}

    def policy(observation: object) -> Array:
        next(steps)
        parts = []
        for arm in env.modes:
            T, T_before = script.T[arm], before[arm]
            way = (T[:3, 3] - T_before[:3, 3]) / (TIP_SPEED * env.period)
            turn = Rotation.from_matrix(T[:3, :3] @ T_before[:3, :3].T).as_rotvec() / (TURN_SPEED * env.period)
            parts.append(np.concatenate([way, turn, [jaw_action(script.opening[arm])]]))
            before[arm] = T
        return np.clip(np.concatenate(parts), -1.0, 1.0)

    return policy
