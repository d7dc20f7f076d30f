"""Features of single kinds of arms: instruments, efforts, masters."""

import numpy as np
import pytest

from tests.support.crtk_robot import Events, busy, q_of, started
from trocar.robot import Sensors
from trocar.robot.controller.constants import PERIOD
from trocar.robot.messages import CartesianState, HalfPlaneGains, ImpedanceGoal, Joy
from trocar.spatial import rotation_vector

# -- tool and jaw ----------------------------------------------------------------------------------------------------


def test_without_a_tool_the_tip_is_not_reported_and_the_jaw_does_not_move(psm):
    robot, events = psm.robot, Events(psm.robot, "PSM")
    assert robot.bus.read("PSM/tool_type").value == "LARGE_NEEDLE_DRIVER_400006"
    psm.set_tool_present(False)
    robot.run(0.01)
    assert robot.bus.read("PSM/tool_type").value == ""
    assert robot.bus.read("PSM/IO/tool").buttons == (Joy.RELEASED,)
    assert not robot.bus.read("PSM/measured_cp").valid
    with pytest.raises(TimeoutError, match="PSM/measured_cp"):
        psm.measured_cp(wait_timeout=0.01)
    psm.jaw.open()
    robot.run(0.01)
    assert events.warnings == ["PSM: jaw_move_jp, arm not ready"]
    assert psm.move_jr([0.01, 0, 0, 0, 0, 0]).wait()  # joints need no tool


def test_a_tool_inserted_above_the_cannula_is_engaged_by_a_sweep(psm):
    robot, sweep = psm.robot, []
    assert psm.insert_jp(0.03).wait()
    psm.set_tool_present(False)
    robot.run(0.01)
    psm.set_tool_present(True)
    robot.run(0.01)
    assert psm.is_busy()
    assert not psm.is_homed()
    for _ in busy(psm.is_busy):
        robot.run(0.05)
        sweep.append(robot.scene.arms["PSM"].q[3])
    assert min(sweep) < -4.5
    assert max(sweep) > 4.5
    assert psm.is_homed()
    assert abs(q_of(psm)[3]) < 0.01


def test_jaw_and_tip_commands_of_one_cycle_are_both_executed_in_either_order(psm):
    T = psm.setpoint_cp()[0].copy()
    for k, angle in enumerate((0.1, 0.2)):
        T[0, 3] += 1e-3
        sends = [lambda: psm.servo_cp(T), lambda a=angle: psm.jaw.servo_jp(a)]
        for send in sends if k == 0 else reversed(sends):
            send()
        psm.robot.step()
        np.testing.assert_allclose(psm.jaw.setpoint_jp()[0], [angle], atol=1e-12)
        np.testing.assert_allclose(psm.setpoint_cp()[0], T, atol=1e-9)


def test_a_twist_and_a_wrench_of_the_tip_leave_velocity_and_effort_of_the_jaw_alone(psm):
    T, six = psm.setpoint_cp()[0], np.array([0.01, 0.0, 0.0, 0.0, 0.0, 0.0])
    psm.robot.bus.publish("PSM/servo_cs", CartesianState(T=T, twist=six, wrench=six))
    psm.jaw.servo_jp(0.4)
    psm.robot.step()
    assert psm.jaw.setpoint_jp()[0][0] == pytest.approx(0.4)
    assert np.abs(psm.setpoint_jv()[0]).max() > 0.0
    hardware = psm.robot.controllers["PSM"].hardware
    assert abs(hardware.setpoint_velocity()[6]) < 1e-15
    assert abs(hardware._effort_to_joint.dot(hardware._fed)[6]) < 1e-15


def test_closing_the_jaw_beyond_contact_presses(psm):
    assert psm.jaw.close().wait()
    psm.robot.run(0.3)
    assert psm.jaw.setpoint_jp()[0][0] == pytest.approx(np.radians(-20))
    assert psm.jaw.measured_jf()[0][0] < -0.1


def test_a_pressed_clutch_frees_the_arm_and_its_release_holds_it(psm):
    robot, sim = psm.robot, psm.robot.scene.arms["PSM"]
    psm.use_gravity_compensation(True)
    robot.press_clutch("PSM")
    robot.step()
    assert psm.is_busy()
    assert robot.bus.read("PSM/arm_clutch").buttons == (Joy.PRESSED,)
    sim.apply_wrench([2.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    robot.run(0.3)
    sim.apply_wrench(np.zeros(6))
    assert abs(q_of(psm)[0]) > 0.02
    robot.press_clutch("PSM", False)
    robot.run(0.5)
    held = q_of(psm)
    robot.run(0.3)
    assert not psm.is_busy()
    np.testing.assert_allclose(q_of(psm), held, atol=1e-3)
    psm.disable(timeout=1)
    events = Events(robot, "PSM")
    robot.press_clutch("PSM")
    robot.step()
    assert events.warnings == ["PSM: arm not ready yet, manipulator clutch ignored"]


def test_no_pose_pulls_the_endoscope_into_the_cannula(robot):
    ecm = robot("ECM", sensors=Sensors.ideal()).ecm()
    q = q_of(ecm)
    q[2] = 0.02
    assert ecm.inverse_kinematics(q_of(ecm), ecm.local.forward_kinematics(q))[2] == 0.04


def test_the_goal_of_an_ecm_is_turned_until_its_shaft_points_away_from_the_rcm(robot):
    ecm = robot("ECM", sensors=Sensors.ideal()).ecm()
    goal = ecm.local.setpoint_cp()[0]
    goal[:3, 3] += [0.02, -0.015, -0.01]  # the orientation fits the old position only
    q = ecm.inverse_kinematics(q_of(ecm), goal)
    T = ecm.local.forward_kinematics(q)
    np.testing.assert_allclose(T[:3, 3], goal[:3, 3], atol=1e-9)
    turned = T[:3, :3] @ goal[:3, :3].T
    assert (
        abs((turned - turned.T)[[0, 1, 2], [1, 2, 0]] @ (T @ [0, 0, 1, 0])[[2, 0, 1]]) < 1e-9
    )  # no turn about the shaft
    reference = ecm.setpoint_cp()[0]
    reference[:3, 3] += [0.01, 0.01, 0.0]
    assert ecm.move_cp(reference).wait()
    np.testing.assert_allclose(ecm.setpoint_cp()[0][:3, 3], reference[:3, 3], atol=1e-9)


def test_a_jaw_that_was_never_commanded_closes_in_the_first_move(robot):
    for commanded in (False, True):
        robot_ = robot("psm", sensors=Sensors.ideal())
        psm = robot_.psm("PSM")
        q = np.array([*q_of(psm), 0.3])
        robot_.simulation().arm("PSM").place(q)
        if commanded:
            psm.jaw.move_jp([0.3]).wait()
        for expected in (0.3 * commanded, 0.3 * commanded):
            assert psm.move_jp(q_of(psm) + 0.02).wait()
            np.testing.assert_allclose(psm.jaw.setpoint_jp()[0], [expected], atol=1e-3)


# -- effort ----------------------------------------------------------------------------------------------------------


def test_in_effort_control_the_setpoint_is_the_measured_position(psm):
    psm.use_gravity_compensation(True)
    psm.servo_jf([0.3, 0, 0, 0, 0, 0])
    psm.robot.run(0.2)
    np.testing.assert_allclose(psm.setpoint_jp()[0], q_of(psm), atol=1e-12)
    assert q_of(psm)[0] > 0.005
    psm.hold()
    psm.robot.run(0.5)
    held = psm.setpoint_jp()[0]
    psm.robot.run(0.3)
    np.testing.assert_allclose(psm.setpoint_jp()[0], held, atol=1e-12)
    np.testing.assert_allclose(q_of(psm), held, atol=5e-3)


def test_free_with_gravity_compensation_stays_and_without_it_falls(robot):
    moved = {}
    for compensated in (True, False):
        mtm = robot("MTML").mtm("MTML")
        mtm.use_gravity_compensation(compensated)
        mtm.free()
        start = q_of(mtm)
        mtm.robot.run(0.5)
        moved[compensated] = np.abs(q_of(mtm) - start)[:3].max()
    assert moved[True] < 5e-3
    assert moved[False] > 0.1


@pytest.mark.parametrize("frame", ["body", "spatial"])
def test_a_served_wrench_is_what_the_robot_measures_at_rest(robot, frame):
    ecm = robot("ECM", sensors=Sensors.ideal()).ecm()
    ecm.use_gravity_compensation(False)
    robot_, sim = ecm.robot, ecm.robot.scene.arms["ECM"]
    wrench = np.array([1.0, -2.0, 3.0, 0.1, 0.2, -0.1])
    getattr(ecm, frame).servo_cf(wrench)
    robot_.run(2 * PERIOD)
    J = getattr(ecm, frame).jacobian()[0]
    np.testing.assert_allclose(sim.delivered, J.T @ wrench, atol=1e-4)
    measured = getattr(ecm, frame).measured_cf()[0]
    np.testing.assert_allclose(J.T @ measured, sim.tau, atol=1e-9)


def test_a_wrench_in_absolute_axes_has_the_axes_of_the_reference_frame(robot):
    robot = robot("dvrk", sensors=Sensors.ideal())
    mtm, sim = robot.mtm("MTMR"), robot.scene.arms["MTMR"]
    mtm.use_gravity_compensation(False)
    mtm.body_set_cf_orientation_absolute(True)
    mtm.body.servo_cf([0.0, 2.0, 0.0, 0.0, 0.0, 0.0])  # up, in HRSV: Y
    robot.run(2 * PERIOD)
    R = robot.controllers["MTMR"].reports.T_reference_base[:3, :3]
    J = sim.mechanism.jacobian(sim.q)[:3]
    np.testing.assert_allclose(sim.delivered[:3], (J.T @ R.T @ [0.0, 2.0, 0.0])[:3], atol=2e-3)


# -- master ----------------------------------------------------------------------------------------------------------


def test_a_locked_master_keeps_its_orientation_while_it_is_pushed(robot):
    robot = robot("MTMR")
    mtm, sim = robot.mtm("MTMR"), robot.scene.arms["MTMR"]
    R = mtm.measured_cp()[0][:3, :3]
    turned = {}
    for locked in (True, False):
        mtm.body.servo_cf(np.zeros(6))
        if locked:
            mtm.lock_orientation_as_is()
        robot.run(0.01)
        assert robot.bus.read("MTMR/orientation_locked").value == locked
        sim.apply_wrench([0.0, 1.0, 1.0, 0.01, 0.01, 0.01])
        robot.run(0.4)
        sim.apply_wrench(np.zeros(6))
        turned[locked] = np.linalg.norm(rotation_vector(mtm.measured_cp()[0][:3, :3] @ R.T))
        assert np.abs(q_of(mtm)[:3]).max() > 0.02  # its position yields
        mtm.unlock_orientation()
        robot.run(0.01)
    assert turned[True] < 0.1
    assert turned[False] > 0.3


def test_a_master_follows_poses_and_its_platform_turns_to_give_the_wrist_room(robot):
    robot = robot("MTMR", sensors=Sensors.ideal())
    mtm = robot.mtm("MTMR")
    assert mtm.move_jp([0.0, 0.3, 0.1, 0.2, 0.5, 0.5, 0.3]).wait()
    T = mtm.setpoint_cp()[0].copy()
    for _ in range(20):
        T[0, 3] += 5e-4
        mtm.servo_cp(T)
        robot.step(3)
        np.testing.assert_allclose(mtm.setpoint_cp()[0], T, atol=1e-8)
    assert abs(mtm.setpoint_jp()[0][5]) < 0.45
    far = mtm.forward_kinematics([0.3, 0.8, -0.3, -1.0, 2.0, 0.4, 3.0])
    assert mtm.move_cp(far).wait()  # too far for Newton's method
    np.testing.assert_allclose(mtm.setpoint_cp()[0], far, atol=1e-8)


def test_a_cartesian_impedance_pulls_the_master_to_its_goal(robot):
    robot = robot("MTMR")
    mtm = robot.mtm("MTMR")
    T = mtm.measured_cp()[0]
    gains = HalfPlaneGains(p=np.full(3, -200.0), d=np.full(3, -5.0))
    goal = T[:3, 3] + [0.0, 0.04, 0.0]
    mtm.servo_ci(
        ImpedanceGoal(
            force_R=np.eye(3),
            force_position=goal,
            torque_R=T[:3, :3],
            position_positive=gains,
            position_negative=gains,
        )
    )
    robot.run(1.5)
    assert np.linalg.norm(mtm.measured_cp()[0][:3, 3] - goal) < 0.015


def test_the_gripper_is_measured_and_its_closing_is_an_event(robot):
    robot = robot("MTML")
    mtm, closed = robot.mtm("MTML"), []
    robot.bus.subscribe("MTML/gripper/closed", lambda m: closed.append(m.value))
    robot.scene.arms["MTML"].gripper = 0.5
    robot.run(0.3)
    for opening, seconds in ((0.0, 0.1), (0.5, 0.3), (0.0, 0.3), (0.5, 0.3)):  # the first is too short to count
        robot.scene.arms["MTML"].gripper = opening
        robot.run(seconds)
        assert mtm.gripper.measured_jp()[0][0] == opening
    assert closed == [False, True, False]


def test_homing_without_an_adapter_is_reported_and_ends_when_it_is_attached():
    robot = started("PSM")
    psm, events = robot.psm("PSM"), Events(robot, "PSM")
    psm.emulate_adapter_present(False)
    robot.sleep(0.1)
    assert not psm.is_homed()
    psm.unhome()
    assert psm.enable(timeout=5.0)
    for attempt in (1, 2):
        assert not psm.home(timeout=5.0)
        assert psm.operating_state() == "ENABLED"
        assert not psm.is_busy()
        assert sum("no adapter" in text for text in events.warnings) == attempt
    psm.emulate_adapter_present(True)
    assert psm.home(timeout=5.0)
