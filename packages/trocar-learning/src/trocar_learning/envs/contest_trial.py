"""A live robot in the peg transfer of the ICRA 2026 competition: the competition's topics, and its rules.

The poses of both arms are relative to the left camera. A trial begins with the first motion of an arm and lasts three
minutes by the robot's clock.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from trocar.closing import Closable
from trocar.errors import check_known
from trocar.robot.messages import Pose
from trocar.robot.robot import Robot
from trocar.simulation import Scene
from trocar.spatial import inverse
from trocar_learning.contest import contest_scene, seeded_setting
from trocar_learning.contest.peg_board import HAND, PEGS, T_camera_world, layout_of
from trocar_learning.envs.live_task import LiveWorld
from trocar_learning.envs.tasks.peg_rules import DURATION, PegRules, ending
from trocar_learning.envs.world import Info

SCENE = "peg_transfer"
CAMERA_FRAME = "stereo_left_optical"  # frame of the poses
# Topics of each arm, as the competition lists them; those of the cameras are stereo/{left,right}/...
ARM_TOPICS = (
    *("measured_cp", "servo_cp", "move_cp", "measured_js", "servo_jp", "move_jp"),
    *("jaw/measured_js", "jaw/servo_jp", "jaw/move_jp"),
)
LOOK = 0.02  # period in which the trial is judged [s]
ENDOSCOPE = "ECM"  # of a robot with one, poses are relative to its tip
TURNED = 1e-5  # change of the camera that changes the poses [m, rad]
MOVED = 1e-4  # change of a joint set-point that begins the trial [rad, m]


def drawn_scene(seed: int, **options: Any) -> Scene:
    """The scene with the board and the pegs of a seed, as in the environment; options: of `contest_scene`."""
    return contest_scene(seeded_setting(seed), **options)


class ContestTrial(Closable):
    """A trial of a robot whose scene is the peg transfer, until `close`.

    Attributes:
        topics: names of the competition's topics of both arms. begun: an arm was commanded to move. over: the time is
            up, or a peg left the workspace. time: since the begin [s]. path: length of each tip's path by arm [m].
            peak_force: largest force of the objects on an instrument [N].
    """

    def __init__(self, robot: Robot) -> None:
        self._robot, self._arms = robot, tuple(HAND.values())
        check_known("arm of the robot", robot.arms, *self._arms)
        self.topics = tuple(f"{arm}/{topic}" for arm in self._arms for topic in ARM_TOPICS)
        self._T_camera = np.zeros((4, 4))
        self._rules, self._world = PegRules(layout_of(robot.scene)), LiveWorld(robot)
        self.begun = self.over = False
        arms = [arm for arm in robot.scene.arms if arm in self._arms]
        self.time, self.path, self.peak_force = 0.0, dict.fromkeys(arms, 0.0), 0.0
        with robot.bus.lock:
            self._refer()
            self._start = {arm: robot.readings(arm).joint_setpoint() for arm in self._arms}
            self._begin()
        self._stop = robot.every(LOOK, self._look)

    def _begin(self) -> None:
        world = self._world
        world.begin(self._rules.start(world), time=world.scene.time)
        self._tips = {arm: world.T_world_tip(arm)[:3, 3] for arm in self._arms}

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
        robot, world = self._robot, self._world
        self._refer()
        if not self.begun:
            now = {arm: robot.readings(arm).joint_setpoint() for arm in self._start}
            if all(np.abs(now[arm] - q).max() < MOVED for arm, q in self._start.items()):
                return
            self.begun = True
            self._begin()
        if self.over:
            return
        for arm, before in self._tips.items():
            tip = world.T_world_tip(arm)[:3, 3]
            self.path[arm] += math.dist(tip, before)
            self._tips[arm] = tip
            self.peak_force = max(self.peak_force, world.contact_force(arm))
        self._rules.judge(world)
        self.time = world.time
        self.over = bool(self.ended) or self.time >= DURATION

    @property
    def ended(self) -> str:
        """Reason for which the trial ended before its time; "" if it did not."""
        return ending(self._world.memory)

    def info(self) -> Info:
        """Figures of the trial so far, by the names of `TaskEnv`."""
        points, last, drops = (self._world.value(name).item() for name in ("points", "last", "drops"))
        success = points >= len(PEGS)
        figures = {"time": self.time, "path": sum(self.path.values()), "peak_force": self.peak_force, "drops": drops}
        return {"is_success": success, "first_success": success, **figures, "points": points, "last_point": last}

    def close(self) -> None:
        """End the trial."""
        self._stop()

    def __str__(self) -> str:
        """The score so far in one line."""
        info, path = self.info(), " + ".join(f"{1e3 * length:.0f}" for length in self.path.values())
        ended = f"; {self.ended}" if self.ended else ""
        return (
            f"{info['points']} points, last at {info['last_point']:.1f} s, {info['drops']} drops, "
            f"path {path} mm, peak force {self.peak_force:.2f} N, after {self.time:.1f} s{ended}"
        )
