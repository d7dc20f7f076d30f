"""Windows of the robot use the bus, the clients, its readings and its clock, and touch nothing behind them."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import trocar
from tests.support.crtk_robot import started
from trocar.errors import TrocarError

SOURCE = Path(trocar.__file__).parent
INSIDE = "trocar.robot.controller"  # the room's own part; windows may import its constants
HOSTS = ("robot", "envs")  # rooms that step control loops; all others are windows


def outside():
    """Paths and syntax trees of all modules outside the rooms that step control loops."""
    for path in sorted(SOURCE.rglob("*.py")):
        if path.relative_to(SOURCE).parts[0] not in HOSTS:
            yield path.relative_to(SOURCE), ast.parse(path.read_text(encoding="utf-8"))


def test_no_module_outside_the_room_uses_the_controllers_of_a_robot():
    uses = [
        f"{path}:{node.lineno}"
        for path, tree in outside()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "controllers" and "robot" in ast.unparse(node.value)
    ]
    assert uses == []


def test_no_module_outside_the_room_imports_a_controller():
    allowed = {f"{INSIDE}.constants"}
    uses = [
        f"{path}:{node.lineno} {node.module}"
        for path, tree in outside()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(INSIDE) and node.module not in allowed
    ]
    assert uses == []


def test_readings_agree_with_the_topics():
    robot = started("dvrk")
    for name in robot.arms:
        robot.sleep(0.01)
        readings, arm = robot.readings(name), robot.arm(name)
        n = readings.arm.tip_joints
        np.testing.assert_allclose(readings.measured_pose(), arm.measured_cp()[0], atol=1e-12)
        np.testing.assert_allclose(readings.setpoint_pose(), arm.setpoint_cp()[0], atol=1e-12)
        np.testing.assert_allclose(readings.joints[:n], arm.measured_jp()[0])
        np.testing.assert_allclose(readings.joint_setpoint()[:n], arm.setpoint_jp()[0])
        assert readings.tip_ready
        state = robot.bus.read(f"{name}/operating_state")
        assert readings.flags == (state.state == "ENABLED", state.is_homed, state.is_busy)
        assert (readings.gripper is not None) == (robot.devices[name] == "MTM")
    with pytest.raises(TrocarError, match="Did you mean 'PSM"):
        robot.readings("PSM4")
