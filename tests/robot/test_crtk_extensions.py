"""Commands of the CRTK specification beyond those of the dVRK: velocities, differences, interpolation, goals."""

import numpy as np
import pytest

from tests.support.crtk_robot import Events, started
from trocar.robot.interface import INTERFACES
from trocar.spatial import pose, rotation_vector

TURN = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])


@pytest.fixture
def psm():
    return started("PSM").psm("PSM")


def setpoint(arm):
    return arm.setpoint_jp()[0]


def tip(arm):
    return arm.setpoint_cp()[0]


def test_extensions_are_marked_in_the_table_and_nothing_of_the_dvrk_is():
    marked = {topic.name for topic in INTERFACES["PSM"].topics if topic.extension}
    goals = {"goal_js", "goal_cp", "goal_cv"}
    interpolated = {f"interpolate_{x}" for x in ("jp", "jr", "jv", "jf", "cp", "cr", "cv", "cf")}
    assert marked == goals | interpolated | {"servo_jv", "servo_cv", "servo_cr", "move_cr"}


def test_a_joint_velocity_stays_in_force_until_the_next_command_and_ends_at_the_limit(psm):
    robot, q = psm.robot, setpoint(psm)
    psm.servo_jv([0.2, 0, 0.01, 0, 0, 0])
    robot.run(0.5)
    np.testing.assert_allclose(setpoint(psm) - q, [0.1, 0, 0.005, 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(psm.measured_jv()[0][0], 0.2, rtol=0.02)
    np.testing.assert_allclose(psm.goal_js()[1], [0.2, 0, 0.01, 0, 0, 0])
    psm.hold()
    robot.run(0.1)
    np.testing.assert_allclose(setpoint(psm) - q, [0.1, 0, 0.005, 0, 0, 0], atol=1e-12)
    psm.servo_jv([0, 0, 0, 0, 0, 1e3])  # the wrist's velocity limit is 18.8 rad/s
    robot.step(3)
    np.testing.assert_allclose(setpoint(psm)[5], q[5] + 3 * np.radians(1080) / 1500)
    robot.run(0.2)
    assert setpoint(psm)[5] == pytest.approx(robot.controllers["PSM"].arm.upper[5])
    assert psm.setpoint_jv()[0][5] == pytest.approx(0.0)


def test_a_twist_moves_the_tip_along_and_about_axes_of_the_frame_of_reference(psm):
    robot, T = psm.robot, tip(psm)
    psm.servo_cv([0.01, -0.02, 0.005, 0, 0, 0.2])
    np.testing.assert_array_equal(psm.goal_cv()[0], 0)  # not yet
    robot.run(0.5)
    np.testing.assert_array_equal(psm.goal_cv()[0], [0.01, -0.02, 0.005, 0, 0, 0.2])
    np.testing.assert_allclose((tip(psm) - T)[:3, 3], [0.005, -0.01, 0.0025], atol=2e-6)
    np.testing.assert_allclose(rotation_vector(tip(psm)[:3, :3] @ T[:3, :3].T), [0, 0, 0.1], atol=1e-4)


def test_differences_add_up_for_servo_move_and_interpolation(psm):
    robot, T, events = psm.robot, tip(psm), Events(psm.robot, "PSM")
    by = pose(p=(0.004, 0, 0))
    psm.servo_cr(by)
    psm.servo_cr(by)  # before the first was executed
    robot.step(2)
    np.testing.assert_allclose((tip(psm) - T)[:3, 3], [0.008, 0, 0], atol=1e-9)
    psm.move_cr(by)
    robot.run(0.02)
    assert psm.is_busy()
    assert psm.move_cr(by).wait()
    np.testing.assert_allclose((tip(psm) - T)[:3, 3], [0.016, 0, 0], atol=1e-9)
    assert events.goals == [True]
    psm.interpolate_cr(by)
    robot.run(0.02)
    psm.interpolate_cr(pose(R=TURN))
    robot.step()
    np.testing.assert_allclose((psm.goal_cp()[0] - T)[:3, 3], [0.020, 0, 0], atol=1e-9)
    robot.run(2.0)
    np.testing.assert_allclose(tip(psm)[:3, :3], TURN @ T[:3, :3], atol=1e-9)
    assert events.goals == [True]
    assert events.busy == [False, True, False]


def test_interpolated_positions_follow_the_trajectory_of_a_move_without_being_busy(psm):
    robot, q, events = psm.robot, setpoint(psm), Events(psm.robot, "PSM")
    goal = q + [0.1, -0.05, 0.01, 0.2, 0, 0]
    psm.interpolate_jp(goal)
    paths = []
    for command in (None, lambda: psm.move_jp(q)):
        if command is not None:
            command()
        start = setpoint(psm)
        robot.run(0.2)
        paths.append(np.abs(setpoint(psm) - start))
        robot.run(2.0)
    np.testing.assert_allclose(*paths, atol=1e-9)
    assert events.busy == [False, True, False]  # of the move
    psm.interpolate_jr(goal - q)
    robot.step()
    np.testing.assert_allclose(psm.goal_js()[0], goal)
    robot.run(2.0)
    np.testing.assert_allclose(setpoint(psm), goal)


def test_interpolated_velocities_and_efforts_are_reached_in_a_tenth_of_a_second(psm):
    robot = psm.robot
    psm.interpolate_jv([0.1, 0, 0, 0, 0, 0])
    robot.run(0.05)
    assert psm.setpoint_jv()[0][0] == pytest.approx(0.05)
    robot.run(0.06)
    assert psm.setpoint_jv()[0][0] == pytest.approx(0.1)
    psm.interpolate_jf([0.2, 0, 0, 0, 0, 0])
    robot.run(0.05)
    assert psm.setpoint_jf()[0][0] == pytest.approx(0.1, rel=0.02)
    assert psm.goal_js()[2][0] == 0.2
    robot.run(0.06)
    assert psm.setpoint_jf()[0][0] == pytest.approx(0.2)
    psm.interpolate_cf([0, 0, 2.0, 0, 0, 0])
    robot.run(0.05)
    half = psm.setpoint_jf()[0][2]
    robot.run(0.06)
    assert psm.setpoint_jf()[0][2] == pytest.approx(2 * half, rel=0.05)
    psm.body.servo_cf(np.zeros(6))  # replaces the current motion
    robot.step(2)
    np.testing.assert_array_equal(psm.setpoint_jf()[0], 0)


def test_a_velocity_does_not_outlive_a_pause(psm):
    robot = psm.robot
    psm.servo_jv([0.2, 0, 0, 0, 0, 0])
    robot.run(0.1)
    psm.state_command("pause")
    robot.run(0.1)
    q = setpoint(psm)
    psm.state_command("resume")
    robot.run(0.1)
    np.testing.assert_array_equal(setpoint(psm), q)


def test_a_master_interpolates_a_wrench():
    mtm = started("MTMR").mtm("MTMR")
    mtm.interpolate_cf([0, 0, 0.5, 0, 0, 0])
    mtm.robot.run(0.15)
    assert mtm.robot.controllers["MTMR"].wrench[1][2] == pytest.approx(0.5)
