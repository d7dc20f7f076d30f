"""A live robot in the peg transfer of the ICRA 2026 competition: the competition's topics and a referee.

The poses of both arms are relative to the left camera. A trial begins with the first motion of an arm and lasts three
minutes by the robot's clock.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trocar.closing import Closable
from trocar.errors import check_known
from trocar.robot.messages import Pose
from trocar.robot.robot import Robot
from trocar.simulation import Scene
from trocar.spatial import inverse
from trocar_learning.contest import DURATION, Referee, Score, contest_scene, seeded_setting
from trocar_learning.contest.peg_board import HAND, T_camera_world

SCENE = "peg_transfer"
CAMERA_FRAME = "stereo_left_optical"  # frame of the poses
# Topics of each arm, as the competition lists them; those of the cameras are stereo/{left,right}/...
ARM_TOPICS = (
    *("measured_cp", "servo_cp", "move_cp", "measured_js", "servo_jp", "move_jp"),
    *("jaw/measured_js", "jaw/servo_jp", "jaw/move_jp"),
)
LOOK = 0.02  # period of the referee [s]
ENDOSCOPE = "ECM"  # of a robot with one, poses are relative to its tip
TURNED = 1e-5  # change of the camera that changes the poses [m, rad]
MOVED = 1e-4  # change of a joint set-point that begins the trial [rad, m]


def drawn_scene(seed: int, **options: Any) -> Scene:
    """The scene with the board and the pegs of a seed, as in the environment; options: of `contest_scene`."""
    return contest_scene(seeded_setting(seed), **options)


class ContestTrial(Closable):
    """A trial of a robot whose scene is the peg transfer, until `close`.

    Attributes:
        topics: names of the competition's topics of both arms.
    """

    def __init__(self, robot: Robot) -> None:
        self._robot, self._arms = robot, tuple(HAND.values())
        check_known("arm of the robot", robot.arms, *self._arms)
        self.topics = tuple(f"{arm}/{topic}" for arm in self._arms for topic in ARM_TOPICS)
        self._T_camera = np.zeros((4, 4))
        self._referee: Referee | None = None
        self._final: Score | None = None
        with robot.bus.lock:
            self._refer()
            self._start = {arm: robot.readings(arm).joint_setpoint() for arm in self._arms}
        self._stop = robot.every(LOOK, self._look)

    def _refer(self) -> None:
        """Make the poses of the arms relative to the camera, which an ECM can move."""
        robot = self._robot
        if ENDOSCOPE in robot.arms:
            T, frame = inverse(robot.scene.T_world_tip(ENDOSCOPE)), ENDOSCOPE
        else:
            T, frame = T_camera_world(), CAMERA_FRAME
        if np.abs(T - self._T_camera).max() > TURNED:
            self._T_camera = T
            for arm in self._arms:
                base = T @ robot.scene.T_world_base(arm)
                robot.bus.publish(f"{arm}/set_base_frame", Pose(T=base, frame_id=frame))

    def _look(self, time: float) -> None:
        robot = self._robot
        self._refer()
        if self._referee is None:
            now = {arm: robot.readings(arm).joint_setpoint() for arm in self._start}
            if all(np.abs(now[arm] - q).max() < MOVED for arm, q in self._start.items()):
                return
            self._referee = Referee(robot.scene)
        if self._final is None:
            score = self._referee.update(robot.scene)
            if score.ended or score.time >= DURATION:
                self._final = score

    @property
    def begun(self) -> bool:
        """An arm was commanded to move."""
        return self._referee is not None

    @property
    def over(self) -> bool:
        """The time is up, or a peg left the workspace."""
        return self._final is not None

    @property
    def score(self) -> Score:
        """The score so far."""
        return Score() if self._referee is None else self._referee.score

    def close(self) -> None:
        """End the referee."""
        self._stop()

    def __str__(self) -> str:
        """The score so far in one line."""
        score = self.score
        path = " + ".join(f"{1e3 * length:.0f}" for length in score.path.values()) or "0"
        ended = f"; {score.ended}" if score.ended else ""
        return (
            f"{score.points} points, last at {score.last_time:.1f} s, {score.drops} drops, "
            f"path {path} mm, peak force {score.peak_force:.2f} N, after {score.time:.1f} s{ended}"
        )
