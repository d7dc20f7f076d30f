"""Experiment on camera control: both masters move the ECM while the PSMs stay in place."""

from __future__ import annotations

import math

import numpy as np

from trocar.report import Claim
from trocar.robot import Robot
from trocar.robot.messages import Joy
from trocar.spatial import Array
from trocar.teleoperation import camera
from trocar.teleoperation.console_bench.bounds import own_bound
from trocar.teleoperation.console_bench.rig import Hand, angle_between, whole_robot
from trocar.teleoperation.teleop_ecm import CameraState
from trocar.teleoperation.wiring import Teleoperation


def camera_control(push: float = 3.0) -> list[Claim]:
    """Both masters move the ECM; hands pull them apart, then swing both to the side."""
    robot = whole_robot()
    teleoperation = Teleoperation(robot)
    assert teleoperation.camera is not None
    hands = {name: Hand(robot, name) for name in ("MTML", "MTMR")}
    for hand in hands.values():
        robot.every(1.0 / 1500, hand.act)
    robot.console().teleop_start()
    robot.bus.publish("console/emulate_camera", Joy(buttons=(1,)))
    robot.run(0.5)
    assert teleoperation.camera.state.following, teleoperation.camera.state
    tips = {name: robot.scene.arms[name].tip_pose() for name in ("PSM1", "PSM2", "PSM3")}
    q_start = robot.ecm().measured_jp()[0]
    apart = _apart(robot)
    for name, sign in (("MTML", -1.0), ("MTMR", 1.0)):
        hands[name].force = sign * push * np.array([1.0, 0.0, 0.0])
    robot.run(1.5)
    yielded = 0.5 * (_apart(robot) - apart)
    for name in hands:
        hands[name].force = np.array([push, 0.0, 0.0])
    robot.run(0.7)
    s = teleoperation.camera.state
    worst = formula_error(s.start, s.q, s.scale)
    turned = camera.view(s.q + _change(robot, s)) @ camera.view(s.q).T
    R = robot.controllers["MTML"].reports.measured_pose()[:3, :3]
    moved = np.abs(robot.ecm().measured_jp()[0] - q_start)[:2].max()
    still = max(float(np.linalg.norm(robot.scene.arms[name].tip_pose()[:3, 3] - T[:3, 3])) for name, T in tips.items())
    return [
        own_bound(
            "camera: half distance grows by", yielded, push / camera.SPRING + 1e-3, "m", f"{push:g} N on each master"
        ),
        own_bound(
            "camera: half distance grows by at least",
            yielded,
            0.3 * push / camera.SPRING,
            "m",
            "friction reduces it",
            True,
        ),
        own_bound("camera: joints against the published formula", worst, 1e-9, "rad, m"),
        own_bound(
            "camera: orientation error of the locked MTM", math.degrees(angle_between(R, turned.T @ s.R[0])), 3.0, "deg"
        ),
        own_bound("camera: rotation of the ECM", math.degrees(moved), 1.0, "deg", at_least=True),
        own_bound("camera: motion of the PSM tips in their bases", still, 1e-4, "m"),
    ]


def _change(robot: Robot, s: CameraState) -> Array:
    """Change (4,) of the ECM's joints for the current grips."""
    assert s.start is not None
    left, right = (robot.controllers[name].reports.measured_pose()[:3, 3] for name in ("MTML", "MTMR"))
    return camera.joint_change(camera.grips(left, right), s.start, s.q[3], s.scale)


def _apart(robot: Robot) -> float:
    left, right = (robot.controllers[name].reports.measured_cp().T[:3, 3] for name in ("MTML", "MTMR"))
    return float(np.linalg.norm(right - left))


def formula_error(start: camera.Grips | None, q: Array, scale_: float) -> float:
    """Largest difference from the published formula with arc cosines, over random grips."""
    assert start is not None
    rng, worst = np.random.default_rng(0), 0.0
    for _ in range(200):
        left, right = rng.uniform((0.05, -0.1, 0.3), (0.2, 0.1, 0.5)), rng.uniform((-0.2, -0.1, 0.3), (-0.05, 0.1, 0.5))
        now = camera.grips(left, right)
        ours = camera.joint_change(now, start, q[3], scale_, 0.1)
        worst = max(worst, float(np.abs(ours - _published_change(left, right, start, q[3], scale_, 0.1)).max()))
    return worst


def _published_change(L: Array, R: Array, start: camera.Grips, q4: float, scale_: float, offset: float) -> Array:
    """The dVRK's formula: angles by arc cosine, signs by cross products."""
    C = 0.5 * (L + R)
    up = np.cross(R - L, C)

    def signed(a: Array, b: Array, keep: tuple[float, float, float], normal: int) -> float:
        a, b = a * np.array(keep), b * np.array(keep)
        a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
        angle = math.acos(min(1.0, float(a @ b)))
        return -angle if np.cross(a, b)[normal] < 0.0 else angle

    a0 = -signed(start.middle, C, (1.0, 0.0, 1.0), 1)
    a1 = signed(start.middle, C, (0.0, 1.0, 1.0), 0)
    a3 = -signed(start.up, up, (1.0, 1.0, 0.0), 2)
    r = a3 + q4 + offset
    insertion = scale_ * (np.linalg.norm(start.middle) - np.linalg.norm(C))
    return np.array([a0 * math.cos(r) - a1 * math.sin(r), a1 * math.cos(r) + a0 * math.sin(r), insertion, a3])
