"""Runs of teleoperation: one pair, the whole robot, the camera."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tools.scripted_runs.recorder import RunRecorder
from tools.scripted_runs.robots import CYCLE, dvrk, press, read, rotation, send
from trocar import Scene, SceneArm
from trocar.robot import Robot
from trocar.simulation import SimulatedArm
from trocar.spatial import Array
from trocar.teleoperation import PSMSettings, Teleoperation


class Hand:
    """An operator's hand: a spring between a master and a goal, and a constant force.

    Attributes:
        arm: the master. goal: pose (4, 4) in the master's base, or None. force: (3,) [N].
    """

    def __init__(self, robot: Robot, name: str) -> None:
        self.arm: SimulatedArm = robot.scene.arms[name]
        self.goal: Array | None = None
        self.force = np.zeros(3)
        robot.every(CYCLE, self.act)

    def grip(self) -> Array:
        """Take the current pose of the master as the goal, and return it."""
        self.goal = self.arm.tip_pose()
        return self.goal

    def act(self, _t: float) -> None:
        """Push the master for one cycle."""
        wrench = np.zeros(6)
        wrench[:3] = self.force
        if self.goal is not None:
            T, J = self.arm.mechanism.pose_and_jacobian(self.arm.q)
            v, E = J @ self.arm.dq, self.goal[:3, :3] @ T[:3, :3].T
            wrench[:3] += 200.0 * (self.goal[:3, 3] - T[:3, 3]) - 5.0 * v[:3]
            wrench[3:] += 0.25 * np.array([E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]]) - 0.01 * v[3:]
        self.arm.apply_wrench(wrench)


def teleoperation_of_a_pair(rec: RunRecorder) -> None:
    away = np.eye(4)
    away[0, 3] = 2.0
    arms = {
        "MTMR": SceneArm(arm="MTMR", base=np.eye(4), q=np.array([0.1, 0.3, -0.2, 0.0, 1.5, 0.0, 0.0])),
        "PSM1": SceneArm(arm="PSM", base=away, q=np.array([0.1, -0.1, 0.15, 0.0, 0.0, 0.0, 0.5])),
    }
    robot = Robot(Scene(arms, timestep=CYCLE, contacts=False), start="ready", speed="stepped")
    rec.watch(robot)
    R = robot.mtm("MTMR").measured_cp()[0][:3, :3] @ robot.psm("PSM1").local.measured_cp()[0][:3, :3].T
    base = np.eye(4)
    base[:3, :3], base[:3, 3] = R, (0.0, 0.0, 0.1)
    send(robot, "PSM1/set_base_frame", T=base, frame_id="camera")
    robot.step()
    Teleoperation(robot, PSMSettings(start_gripper_threshold=0.0))
    rec.watch_new_devices()
    hand, pair, console = Hand(robot, "MTMR"), robot.teleop_psm("MTMR_PSM1"), robot.console()
    console.teleop_start()
    robot.run(0.05)
    press(robot, "operator_present")

    def until(condition: Callable[[], bool], timeout: float) -> None:
        end = robot.time + timeout
        while not condition() and robot.time < end:
            robot.step()
        rec.note("until", [robot.now, bool(condition())])

    until(pair.is_following, 5.0)
    goal = hand.grip()
    start = goal.copy()
    for k in range(200):
        a = 2 * math.pi * k / 150
        goal[:3, :3] = start[:3, :3] @ rotation("z", 0.2 * math.sin(a))
        goal[:3, 3] = start[:3, 3] + [0.03 * math.sin(a), 0.02 * (1 - math.cos(a)), 0.02 * math.sin(2 * a)]
        hand.arm.gripper = 0.5 + 0.4 * math.sin(a)
        robot.step(15)
    console.teleop_set_scale(0.5)
    robot.run(0.3)
    press(robot, "clutch")
    robot.run(0.05)
    goal[0, 3] += 0.05
    robot.run(0.8)
    press(robot, "clutch", 0)
    until(pair.is_following, 3.0)
    pair.lock_translation(True)
    goal[1, 3] += 0.02
    robot.run(0.3)
    pair.lock_translation(False)
    pair.lock_rotation(True)
    robot.run(0.3)
    pair.lock_rotation(False)
    robot.run(0.5)
    until(pair.is_following, 3.0)
    pair.following_mtm_body_servo_cf([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    robot.run(0.3)
    pair.following_mtm_body_servo_cf(np.full(6, np.nan))
    robot.run(0.1)
    pair.set_scale(2.0)  # refused
    pair.set_align_MTM(False)
    robot.run(0.2)
    until(pair.is_following, 3.0)
    robot.psm("PSM1").disable()  # while it follows
    robot.run(0.3)
    console.teleop_start()
    until(pair.is_following, 10.0)
    pair.align_MTM()
    robot.run(0.3)
    pair.disable()
    robot.run(0.2)
    rec.note("state", [pair.current_state(), pair.desired_state(), pair.get_scale(), pair.alignment_offset()])
    rec.note_arms(robot)


def teleoperation_of_the_whole_robot(rec: RunRecorder) -> None:
    robot = dvrk(rec, start="ready", speed="stepped")
    teleoperation = Teleoperation(robot, PSMSettings(start_gripper_threshold=0.0))
    rec.watch_new_devices()
    console = robot.console()
    rec.note("selected", sorted(name for name in robot.devices if console.teleop_is_selected(name)))
    hands = {name: Hand(robot, name) for name in ("MTML", "MTMR")}
    console.teleop_start()
    press(robot, "operator_present")
    robot.run(2.5)
    for hand in hands.values():
        hand.grip()[:3, 3] += (0.03, 0.01, -0.02)
        hand.arm.gripper = 0.6
    robot.run(0.6)
    teleoperation.press("clutch")  # by foot, debounced
    robot.run(0.5)
    teleoperation.press("clutch", False)
    robot.run(0.8)
    teleoperation.press("clutch")  # a tap: other PSMs
    robot.run(0.1)
    teleoperation.press("clutch", False)
    robot.run(0.6)
    console.teleop_select("MTMR_PSM3")
    robot.run(0.6)
    console.teleop_unselect("MTML_PSM2")
    console.teleop_select("MTMR_PSM9")  # refused
    robot.run(0.2)
    press(robot, "operator_present", 0)
    robot.run(0.2)
    console.teleop_stop()
    robot.run(0.2)
    pairs = sorted(name for name, kind in robot.devices.items() if kind == "TELEOP_PSM")
    rec.note("state", {name: read(robot, f"{name}/current_state").value for name in pairs})
    rec.note_arms(robot)


def teleoperation_of_the_camera(rec: RunRecorder) -> None:
    robot = dvrk(rec, start="ready", speed="stepped")
    Teleoperation(robot)
    rec.watch_new_devices()
    hands = {name: Hand(robot, name) for name in ("MTML", "MTMR")}
    robot.console().teleop_start()
    press(robot, "camera")
    robot.run(0.5)
    camera = robot.teleop_ecm()
    rec.note("following", camera.is_following())
    for force_left, force_right, seconds in (
        ((-3, 0, 0), (3, 0, 0), 0.6),
        ((3, 0, 0), (3, 0, 0), 0.5),
        ((0, 2, 0), (0, -2, 0), 0.4),
        ((0, 0, 2), (0, 0, 2), 0.4),
    ):
        hands["MTML"].force, hands["MTMR"].force = np.array(force_left, float), np.array(force_right, float)
        robot.run(seconds)
    press(robot, "clutch")
    robot.run(0.2)
    press(robot, "clutch", 0)
    robot.run(0.2)
    camera.set_scale(0.4)
    camera.set_scale(-1.0)  # refused
    hands["MTML"].force[:] = hands["MTMR"].force[:] = (-2.0, 0.0, 0.0)
    robot.run(0.5)
    press(robot, "camera", 0)
    robot.run(0.2)
    camera.enable()
    robot.run(0.1)
    camera.disable()
    robot.run(0.1)
    rec.note("state", [camera.current_state(), camera.get_scale()])
    rec.note_arms(robot)


RUNS = (
    teleoperation_of_a_pair,
    teleoperation_of_the_whole_robot,
    teleoperation_of_the_camera,
)
