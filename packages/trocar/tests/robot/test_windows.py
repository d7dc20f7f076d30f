"""Windows of the robot use the bus, the clients, its readings and its clock, and touch nothing behind them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.crtk_robot import started
from trocar.errors import TrocarError


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
