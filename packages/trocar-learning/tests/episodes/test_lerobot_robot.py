"""The dVRK as a robot of LeRobot, over ROS 2 and in process, with a stand-in for lerobot's base classes."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from types import ModuleType

import pytest

from tests.support.waiting import TIMEOUT, until
from trocar.errors import TrocarError
from trocar.robot import Robot

pytest.importorskip("cyclonedds", reason="pip install 'trocar[ros2]'")

from tests.support.repository import ROOT
from trocar.transports.ros2.bridge import Ros2Bridge

pytestmark = pytest.mark.xdist_group("dds")
SCENE = str(ROOT / "tests" / "support" / "run_scripts" / "psm1.toml")
DOMAIN = 1 + (os.getpid() + 40) % 80
STEP = 0.003  # [m]


@dataclass
class RobotConfig:
    id: str | None = None

    @classmethod
    def register_subclass(cls, name):
        return lambda kind: kind


class BaseRobot:
    def __init__(self, config):
        self.id = config.id


@pytest.fixture
def package(monkeypatch):
    """The package lerobot_robot_dvrk on base classes with the interface of lerobot's."""
    robots, cameras, cameras_utils = (
        ModuleType(name) for name in ("lerobot.robots", "lerobot.cameras", "lerobot.cameras.utils")
    )
    robots.Robot, robots.RobotConfig, cameras.CameraConfig = BaseRobot, RobotConfig, object
    cameras_utils.make_cameras_from_configs = lambda configs: {}
    for module in (ModuleType("lerobot"), robots, cameras, cameras_utils):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.syspath_prepend(str(ROOT / "packages" / "lerobot-robot-dvrk"))
    for name in [name for name in sys.modules if name.startswith("lerobot_robot_dvrk")]:
        monkeypatch.delitem(sys.modules, name)
    import lerobot_robot_dvrk

    return lerobot_robot_dvrk


def check_motion(robot):
    """The tip follows actions of a data set along x, sent until it has arrived."""
    robot.connect()
    try:
        first = robot.get_observation()
        assert set(first) == set(robot.observation_features)
        named = {name.replace("_pose.", "_sp.").replace("_jaw", "_jaw_sp"): value for name, value in first.items()}
        action = {name: named[name] for name in robot.action_features}
        action["psm1_sp.position.x"] += STEP

        def arrived():
            sent = robot.send_action(action)
            moved = robot.get_observation()["psm1_pose.position.x"] - first["psm1_pose.position.x"]
            return sent == pytest.approx(action, abs=1e-6) and moved == pytest.approx(STEP, abs=0.3 * STEP)

        until(arrived, "the tip", 0.02)
    finally:
        robot.disconnect()


def test_the_same_code_drives_a_served_robot_and_one_in_process(package):
    config = package.DvrkConfig(connection="ros2", domain=DOMAIN, arms=["PSM1"], timeout=TIMEOUT)
    with Robot(SCENE, speed="real", start="ready") as served, Ros2Bridge(served, domain=DOMAIN):
        check_motion(package.Dvrk(config))
    config = package.DvrkConfig(connection="process", scene=SCENE, arms=["PSM1"])
    check_motion(package.Dvrk(config))


def test_a_connection_that_fails_closes_what_it_opened(package, monkeypatch):
    closed = []

    class Part:
        bus = None

        def __init__(self, name, works=True):
            self.name, self.works = name, works

        def connect(self):
            if not self.works:
                raise OSError("no camera")

        def disconnect(self):
            closed.append(self.name)

        close = disconnect

    monkeypatch.setattr("trocar.robot.Robot", lambda *_, **__: Part("robot"))
    monkeypatch.setattr(package.dvrk.ArmTopics, "wait", lambda *_: None)
    for config, reason in (({"max_step": 0.0}, "max_step must be"), ({"max_turn": float("nan")}, "max_turn must be")):
        with pytest.raises(TrocarError, match=reason):
            package.Dvrk(package.DvrkConfig(connection="process", **config)).connect()
    assert closed == ["robot", "robot"]
    closed.clear()
    robot = package.Dvrk(package.DvrkConfig(connection="process"))
    robot.cameras = {"left": Part("left"), "right": Part("right", works=False)}
    with pytest.raises(OSError, match="no camera"):
        robot.connect()
    assert closed == ["left", "robot"]
    assert not robot.is_connected
    robot.cameras["right"].works = True
    robot.connect()
    closed.clear()
    robot.disconnect()
    assert sorted(closed) == ["left", "right", "robot"]


def test_a_robot_that_is_not_there_is_named(package):
    config = package.DvrkConfig(connection="ros2", domain=DOMAIN + 1, arms=["PSM1"], timeout=0.1)
    robot = package.Dvrk(config)
    with pytest.raises(TrocarError, match=r"ROS 2 has no PSM1 within 0.1 s"):
        robot.connect()
    assert not robot.is_connected
    with pytest.raises(RuntimeError, match="not connected"):
        robot.get_observation()
    with pytest.raises(ValueError, match="ros2 or process"):
        package.Dvrk(package.DvrkConfig(connection="usb")).connect()
