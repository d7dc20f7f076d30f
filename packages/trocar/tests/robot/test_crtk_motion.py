"""Moves and servo commands: busy, goals, limits, refusals."""

import re

import numpy as np
import pytest

from tests.support.crtk_robot import Events, busy, q_of
from trocar.robot import messages as m
from trocar.robot.controller.constants import PERIOD

# -- busy and moves --------------------------------------------------------------------------------------------------


def test_a_move_reaches_its_goal_within_the_published_velocities(psm):
    events, start = Events(psm.robot, "PSM"), q_of(psm)
    velocities = []
    handle = psm.move_jp(start + [0.5, -0.3, 0.03, 0.5, -0.4, 0.3])
    assert handle.is_busy()
    for _ in busy(handle.is_busy):
        psm.robot.step(15)
        velocities.append(np.abs(psm.setpoint_jv()[0]))
    limits = [joint.velocity for joint in psm.robot.scene.arms["PSM"].arm.joints[:6]]
    assert (np.max(velocities, axis=0) <= np.array(limits) + 1e-9).all()
    np.testing.assert_allclose(psm.setpoint_jp()[0], start + [0.5, -0.3, 0.03, 0.5, -0.4, 0.3], atol=1e-12)
    assert events.goals == [True]
    assert events.busy == [False, True, False]


def test_a_zero_length_move_is_busy_and_then_idle(psm):
    events = Events(psm.robot, "PSM")
    assert psm.move_jp(psm.setpoint_jp()[0]).wait(timeout=1)
    assert events.busy == [False, True, False]


def test_a_new_move_replaces_the_goal_without_an_idle_moment_or_a_jump(psm):
    events, start = Events(psm.robot, "PSM"), q_of(psm)
    psm.move_jp(start + [0.4, 0.0, 0.0, 0.0, 0.0, 0.0])
    psm.robot.run(0.3)
    handle = psm.move_jp(start + [0.0, 0.2, 0.0, 0.0, 0.0, 0.0])
    q = [psm.setpoint_jp()[0]]
    for _ in busy(handle.is_busy):
        psm.robot.step()
        q.append(psm.setpoint_jp()[0])
    assert np.abs(np.diff(q, 2, axis=0)[:, :2]).max() < 2.0 * np.radians(90) * PERIOD**2 * 1.01
    assert events.busy == [False, True, False]
    assert events.goals == [True]
    np.testing.assert_allclose(q[-1], start + [0.0, 0.2, 0.0, 0.0, 0.0, 0.0], atol=1e-4)


def test_a_relative_move_during_a_move_adds_to_its_goal(psm):
    start = psm.setpoint_jp()[0]
    step = np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.0])
    psm.move_jr(step)
    psm.robot.run(0.1)
    assert psm.move_jr(step).wait()
    np.testing.assert_allclose(psm.setpoint_jp()[0], start + 2 * step, atol=1e-12)


def test_a_servo_command_interrupts_a_move_and_stays_in_force(psm):
    events, start = Events(psm.robot, "PSM"), q_of(psm)
    psm.move_jr([0.4, 0.0, 0.0, 0.0, 0.0, 0.0])
    psm.robot.run(0.2)
    goal = psm.setpoint_jp()[0]
    psm.servo_jp(goal)
    psm.robot.run(1.0)
    assert events.goals == [False]
    assert not psm.is_busy()
    np.testing.assert_allclose(psm.setpoint_jp()[0], goal, atol=1e-12)
    assert 0.01 < q_of(psm)[0] - start[0] < 0.2


def test_only_the_last_servo_command_of_a_cycle_counts(psm):
    start = psm.setpoint_jp()[0]
    for step in (0.3, 0.001, 0.002):
        psm.servo_jp(start + [step, 0, 0, 0, 0, 0])
    psm.robot.step()
    np.testing.assert_allclose(psm.setpoint_jp()[0][0], start[0] + 0.002, atol=1e-12)


def test_relative_servo_commands_of_a_cycle_add_up(psm):
    start = psm.setpoint_jp()[0]
    for _ in range(3):
        psm.servo_jr([0.001, 0, 0, 0, 0, 0])
    psm.robot.step()
    np.testing.assert_allclose(psm.setpoint_jp()[0][0], start[0] + 0.003, atol=1e-12)


def test_goals_beyond_the_limits_are_clipped_not_refused(psm):
    events, arm = Events(psm.robot, "PSM"), psm.robot.scene.arms["PSM"].arm
    assert psm.move_jp([9.0, 0.0, 0.12, 0.0, 0.0, -9.0]).wait()
    np.testing.assert_allclose(psm.setpoint_jp()[0][[0, 5]], [arm.joints[0].upper, arm.joints[5].lower], atol=1e-9)
    assert len(events.warnings) == 1
    assert re.search("goal beyond the joint limits, clipped: yaw 9 to .*, wrist_yaw -9 to", events.warnings[0])
    assert psm.jaw.move_jp(9.0).wait()
    np.testing.assert_allclose(psm.jaw.setpoint_jp()[0], [arm.joints[6].upper], atol=1e-9)


def test_the_ratio_scales_velocity_and_acceleration_of_moves(psm):
    def seconds():
        began = psm.robot.time
        assert psm.move_jr([0.2, 0, 0, 0, 0, 0]).wait()
        assert psm.move_jr([-0.2, 0, 0, 0, 0, 0]).wait()
        return psm.robot.time - began

    fast = seconds()
    psm.trajectory_j_set_ratio(0.25)
    psm.robot.step()
    assert psm.trajectory_j_get_ratio() == 0.25
    assert seconds() == pytest.approx(2 * fast, rel=0.02)  # by acceleration alone: the square root of 4
    events = Events(psm.robot, "PSM")
    psm.trajectory_j_set_ratio(1.5)
    psm.robot.step()
    assert events.warnings == ["PSM: trajectory_j_set_ratio, ratio must be within ]0;1], received 1.5"]
    assert psm.trajectory_j_get_ratio() == 0.25
    psm.trajectory_j_set_ratio(5e-321)  # no move would ever end
    psm.robot.step()
    assert len(events.warnings) == 2
    assert psm.trajectory_j_get_ratio() == 0.25


def test_inserting_moves_the_insertion_alone(psm):
    start = psm.setpoint_jp()[0]
    assert psm.insert_jp(0.15).wait()
    np.testing.assert_allclose(psm.setpoint_jp()[0], [*start[:2], 0.15, *start[3:]], atol=1e-12)


# -- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("send", "said"),
    [
        (lambda p: p.servo_jp([0.0] * 5), "servo_jp, expected 6 joint values, received 5"),
        (lambda p: p.move_jp([0.0] * 7), "move_jp, expected 6 joint values, received 7"),
        (lambda p: p.servo_jp([np.nan] * 6), "servo_jp, received a value that is not finite"),
        (lambda p: p.servo_jf([np.inf] * 6), "servo_jf, received a value that is not finite"),
        (lambda p: p.servo_cp(np.full((4, 4), np.nan)), "servo_cp, the pose has a value that is NaN or infinite"),
        (lambda p: p.move_cp(2 * np.eye(4)), "move_cp, the pose does not end with the row 0 0 0 1"),
        (lambda p: p.body.servo_cf([1.0, 2.0]), "body_servo_cf, expected 6 finite values"),
        (lambda p: p.body.servo_cf([1e308, *[0.0] * 5]), "body_servo_cf, expected 6 finite values within 1e+09"),
        (lambda p: p.servo_jp([-1e300] * 6), "servo_jp, received a value that is not finite or beyond 1e+09"),
        (lambda p: p.jaw.servo_jp([0.1, 0.2]), "jaw_servo_jp, expected 1 finite value"),
    ],
)
def test_wrong_content_is_answered_with_a_warning_and_changes_nothing(psm, send, said):
    events, before = Events(psm.robot, "PSM"), psm.setpoint_js()
    psm.robot.run(0.01)
    send(psm)
    psm.robot.run(0.05)
    assert len(events.warnings) == 1
    assert events.warnings[0].startswith(f"PSM: {said}")
    np.testing.assert_allclose(psm.setpoint_jp()[0], before[0], atol=1e-12)
    assert not psm.is_busy()


def test_a_move_that_would_take_hours_is_refused(psm):
    events, start = Events(psm.robot, "PSM"), psm.setpoint_jp()[0]
    psm.robot.bus.publish("PSM/trajectory_j/set_ratio_a", m.Float(value=1e-6))
    for _ in range(75):
        psm.servo_jr([0.1 / 1500, *[0.0] * 5])
        psm.robot.step()
    psm.move_jp(start)
    psm.robot.run(0.05)
    assert ["takes too long" in said for said in events.errors + events.warnings] == [True]
    assert not psm.is_busy()


def test_an_arm_that_is_not_ready_warns_at_most_every_two_seconds(robot):
    robot = robot(start="off")
    psm, events = robot.psm("PSM"), Events(robot, "PSM")
    for _ in range(45):
        psm.servo_jp(np.zeros(6))
        robot.run(0.1)
    assert events.warnings[0] == "PSM: servo_jp, arm not ready"
    assert len(events.warnings) == 3
    assert "errors)" in events.warnings[1]


def test_cartesian_control_needs_the_instrument_past_the_cannula(psm):
    events = Events(psm.robot, "PSM")
    assert psm.insert_jp(0.03).wait()
    before = psm.setpoint_jp()[0]
    psm.servo_cp(psm.setpoint_cp()[0])
    psm.robot.run(0.1)
    said = "PSM: tool/endoscope needs to be inserted past the cannula to switch to cartesian space"
    assert events.warnings == [said]
    np.testing.assert_allclose(psm.setpoint_jp()[0], before, atol=1e-12)
    assert psm.jaw.open().wait()  # the jaw needs the tool, not the depth
    assert psm.insert_jp(0.1).wait()
    assert psm.move_cp(psm.setpoint_cp()[0]).wait()


def test_a_pose_that_cannot_be_solved_is_an_error_and_the_goal_is_not_reached(psm):
    events, T = Events(psm.robot, "PSM"), psm.setpoint_cp()[0].copy()
    T[:3, 3] *= 20.0
    before = psm.setpoint_jp()[0]
    psm.move_cp(T)
    psm.robot.run(0.1)
    assert events.errors[0].startswith("PSM: unable to solve inverse kinematics")
    assert events.goals == [False]
    assert psm.is_enabled()
    assert not psm.is_busy()
    np.testing.assert_allclose(psm.setpoint_jp()[0], before, atol=1e-12)
