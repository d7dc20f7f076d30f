"""Reports of the robot: clients, frames, kinematics, other devices, sensors."""

import numpy as np
import pytest

import trocar as tr
from tests.support.crtk_robot import q_of, started
from trocar.robot import Sensors, messages
from trocar.robot.controller.actuators import ActuatorSensors, Servo
from trocar.robot.controller.constants import PERIOD, SAFE_DISTANCE
from trocar.robot.controller.tip import wrench
from trocar.robot.messages import Joy
from trocar.simulation.forces.faults import EncoderBias
from trocar.spatial import inverse

# -- clients ---------------------------------------------------------------------------------------------------------


def test_every_topic_and_service_that_dvrk_python_opens_for_a_psm_exists(psm):
    # dvrk.psm of dvrk_python 2.4: 19 publishers, 15 subscribers, 3 service clients
    bus = psm.robot.bus
    commands = [
        "state_command",
        "hold",
        "free",
        "servo_jp",
        "servo_jr",
        "servo_cp",
        "servo_jf",
        "move_jp",
        "move_jr",
        "move_cp",
        "body/servo_cf",
        "spatial/servo_cf",
        "body/set_cf_orientation_absolute",
        "use_gravity_compensation",
        "trajectory_j/set_ratio",
        "jaw/servo_jp",
        "jaw/move_jp",
        "jaw/servo_jf",
        "emulate_tool_present",
    ]
    reports = [
        "operating_state",
        "setpoint_js",
        "setpoint_cp",
        "measured_js",
        "measured_cp",
        "measured_cv",
        "body/measured_cf",
        "body/jacobian",
        "spatial/measured_cf",
        "spatial/jacobian",
        "local/measured_cp",
        "local/setpoint_cp",
        "trajectory_j/ratio",
        "jaw/measured_js",
        "jaw/setpoint_js",
    ]
    assert (len(commands), len(reports)) == (19, 15)
    assert {bus.topics[f"PSM/{name}"].direction for name in commands} == {"command"}
    assert all(bus.read(f"PSM/{name}").valid for name in reports)
    assert {"PSM/forward_kinematics", "PSM/inverse_kinematics", "PSM/local/forward_kinematics"} <= set(bus.services)


@pytest.mark.parametrize(("scene", "name", "n"), [("psm", "PSM", 6), ("ECM", "ECM", 4), ("MTML", "MTML", 7)])
def test_every_getter_of_a_client_returns_valid_data_with_the_time_of_measurement(robot, scene, name, n):
    robot = robot(scene)
    arm = robot.arm(name)
    robot.run(0.01)
    shapes = {"jp": (n,), "jv": (n,), "jf": (n,), "cp": (4, 4), "cv": (6,), "cf": (6,), "jacobian": (6, n)}
    count = 0
    for part in (arm, arm.body, arm.spatial, arm.local):
        for getter in [g for g in dir(part) if g.startswith(("measured_", "setpoint_", "jacobian"))]:
            *values, t = getattr(part, getter)()
            wanted = [(n,)] * 3 if getter.endswith("js") else [shapes[getter.split("_")[-1]]]
            assert [value.shape for value in values] == wanted, getter
            assert t == pytest.approx(robot.time)
            count += 1
    assert count == 18


# -- frames and kinematics -------------------------------------------------------------------------------------------


def test_instrument_poses_are_in_the_view_of_the_endoscope_and_local_ones_in_the_base(robot):
    robot = robot("dvrk", sensors=Sensors.ideal())
    scene, psm = robot.scene, robot.psm("PSM1")
    robot.run(0.5)  # until the arms have settled under their weight
    T_view_tip = inverse(scene.T_world_tip("ECM")) @ scene.T_world_tip("PSM1")
    np.testing.assert_allclose(psm.measured_cp()[0], T_view_tip, atol=1e-6)
    np.testing.assert_allclose(psm.local.measured_cp()[0], scene.arms["PSM1"].tip_pose(), atol=1e-6)
    assert robot.bus.read("PSM1/measured_cp").frame_id == "ECM"
    assert robot.bus.read("PSM1/local/measured_cp").frame_id == "PSM1_base"
    # the view turns with the endoscope, the base does not
    local, view = psm.local.measured_cp()[0], psm.measured_cp()[0]
    robot.ecm().move_jr([0.0, 0.05, 0.0, 0.0]).wait()
    np.testing.assert_allclose(psm.local.measured_cp()[0], local, atol=2e-4)
    assert np.abs(psm.measured_cp()[0] - view).max() > 0.01


def test_masters_are_reported_in_the_frame_of_the_display(robot):
    robot = robot("dvrk", sensors=Sensors.ideal())
    left, right = (robot.mtm(name).measured_cp()[0][:3, 3] for name in ("MTML", "MTMR"))
    assert left[0] > 0.1  # X of HRSV is to the left
    assert right[0] < -0.1
    assert robot.bus.read("MTML/measured_cp").frame_id == "HRSV"


def test_set_base_frame_moves_the_reported_pose_and_the_meaning_of_a_commanded_one(psm):
    T = np.eye(4)
    T[:3, 3] = [0.1, 0.2, 0.3]
    before = psm.setpoint_cp()[0]
    psm.robot.bus.publish("PSM/set_base_frame", messages.Pose(T=T, frame_id="table"))
    psm.robot.step()
    np.testing.assert_allclose(psm.setpoint_cp()[0], T @ before, atol=1e-12)
    assert psm.robot.bus.read("PSM/measured_cp").frame_id == "table"
    q = psm.setpoint_jp()[0]
    psm.servo_cp(T @ before)
    psm.robot.step()
    np.testing.assert_allclose(psm.setpoint_jp()[0], q, atol=1e-9)


@pytest.mark.parametrize(("scene", "name"), [("psm", "PSM"), ("ECM", "ECM"), ("MTML", "MTML")])
def test_kinematics_services_agree_with_the_reports(robot, scene, name):
    robot = robot(scene, sensors=Sensors.ideal())
    arm, mechanism = robot.arm(name), robot.scene.arms[name].mechanism
    q = q_of(arm)
    np.testing.assert_allclose(arm.forward_kinematics(q), arm.measured_cp()[0], atol=1e-12)
    np.testing.assert_allclose(arm.local.forward_kinematics(q), mechanism.forward_kinematics(robot.scene.arms[name].q))
    found, result, message = arm.inverse_kinematics(q, arm.local.measured_cp()[0], extra=True)
    assert (result, message) == (True, "")
    np.testing.assert_allclose(found, q, atol=1e-6)
    assert arm.forward_kinematics(np.zeros(len(q) + 1), extra=True)[1:] == (False, "too many joints")
    assert arm.inverse_kinematics(q[:-1], np.eye(4), extra=True)[1:] == (False, "incorrect number of joints")
    far = arm.local.measured_cp()[0].copy()
    far[:3, 3] = 7.0
    assert arm.inverse_kinematics(q, far, extra=True)[1:] == (False, "inverse kinematics failed")
    huge = np.append(q[:-1], -1e308)  # its square overflows
    assert arm.inverse_kinematics(huge, arm.local.measured_cp()[0], extra=True)[1] is False
    assert "within 1e+09" in arm.forward_kinematics(huge, extra=True)[2]


def test_forward_kinematics_of_fewer_joints_is_the_frame_of_that_link(psm):
    q = q_of(psm)
    T = psm.local.forward_kinematics(q[:4])
    np.testing.assert_allclose(np.linalg.norm(T[:3, 3]), abs(q[2] - 0.0156), atol=1e-9)
    np.testing.assert_allclose(psm.local.forward_kinematics([]), np.eye(4))


def test_body_jacobian_gives_the_twist_in_tip_axes(psm):
    psm.move_jr([0.3, 0.2, 0.02, 0.3, 0.2, 0.1])
    psm.robot.run(0.3)
    J, R = psm.body.jacobian()[0], psm.measured_cp()[0][:3, :3]
    v = J @ psm.measured_jv()[0]
    np.testing.assert_allclose(psm.measured_cv()[0], np.concatenate([R @ v[:3], R @ v[3:]]), atol=1e-12)


def test_an_instrument_is_kept_a_safe_distance_from_the_remote_centre(psm):
    T = psm.local.measured_cp()[0].copy()
    T[:3, 3] *= 0.03 / np.linalg.norm(T[:3, 3])
    q = psm.inverse_kinematics(q_of(psm), T)
    np.testing.assert_allclose(q[2] - 0.0156, SAFE_DISTANCE, atol=1e-9)


def test_a_cartesian_move_ends_at_its_pose(psm):
    T = psm.setpoint_cp()[0].copy()
    T[:3, 3] += [0.02, -0.01, -0.01]
    assert psm.move_cp(T).wait()
    np.testing.assert_allclose(psm.setpoint_cp()[0], T, atol=1e-9)


# -- set-up joints, console, system ----------------------------------------------------------------------------------


def test_set_up_joints_report_and_move_the_bases_of_the_arms(robot):
    robot = robot("dvrk")
    suj, q_setup = robot.suj(), np.array(robot.scene.cart.q_setup["PSM1"])
    np.testing.assert_allclose(suj.PSM1.measured_jp()[0], q_setup)
    np.testing.assert_allclose(suj.PSM1.local.measured_cp()[0], robot.scene.T_world_base("PSM1"))
    before = robot.psm("PSM1").measured_cp()[0]
    suj.PSM1.move_jp(q_setup + [0.02, 0, 0, 0, 0, 0])
    robot.step()
    moved = robot.psm("PSM1").measured_cp()[0]
    np.testing.assert_allclose(np.linalg.norm(moved[:3, 3] - before[:3, 3]), 0.02, atol=1e-3)
    suj.PSM1.move_jp(q_setup)
    robot.step()
    warnings = []
    robot.bus.subscribe("SUJ/warning", lambda m: warnings.append(m.value))
    suj.PSM1.move_jp([9.0] * 6)
    robot.step()
    assert "violates" in warnings[0]


def test_the_console_selects_pairs_that_share_no_arm(robot):
    robot = robot("dvrk")
    console = robot.console()
    assert console.teleop_is_selected("MTMR_PSM1")
    assert console.teleop_is_selected("MTML_PSM2")
    console.teleop_select("MTMR_PSM2")
    assert [console.teleop_is_selected(p) for p in ("MTMR_PSM1", "MTML_PSM2", "MTMR_PSM2")] == [False, False, True]
    assert console.teleop_get_scale() == 0.2
    console.teleop_set_scale(0.5)
    assert console.teleop_get_scale() == 0.5
    console.teleop_set_scale(7.0)
    assert console.teleop_get_scale() == 0.5
    console.teleop_start()
    assert robot.bus.read("console/teleop/enabled").value


def test_a_pedal_is_published_under_both_of_its_names(robot):
    robot = robot("MTML")
    robot.bus.publish("console/emulate_clutch", Joy(buttons=(Joy.PRESSED,)))
    for name in ("console/clutch", "footpedals/clutch"):
        assert robot.bus.read(name).buttons == (Joy.PRESSED,)


# -- sensors ---------------------------------------------------------------------------------------------------------


def test_encoders_report_whole_counts_and_the_velocity_between_them():
    arm = tr.load_arm("MTML")
    sensors = ActuatorSensors([arm], Sensors())
    resolution = 2 * np.pi / (np.array(arm.motors.gear) * np.array(arm.motors.encoder_counts))
    speed, s = np.full(7, 0.5), np.zeros(7)
    for _ in range(600):
        s = s + speed * PERIOD
        sensors.measure(s, speed)
    np.testing.assert_allclose(sensors.q / resolution, np.rint(sensors.q / resolution), atol=1e-6)
    assert (np.abs(sensors.q - s) <= resolution / 2 + 1e-12).all()
    np.testing.assert_allclose(sensors.dq, speed, rtol=1e-6)
    for _ in range(1500):  # at rest: no edge for a second
        sensors.measure(s, np.zeros(7))
    assert (np.abs(sensors.dq) <= resolution / 0.9).all()


def test_sensors_can_be_made_ideal(robot):
    ideal = robot(sensors=Sensors.ideal())
    ideal.run(0.05)
    arm = ideal.scene.arms["PSM"]
    q, dq, tau, _ = ideal.psm("PSM").measured_js()
    np.testing.assert_allclose(q, arm.q[:6], atol=1e-12)
    np.testing.assert_allclose(dq, arm.dq[:6], atol=1e-12)
    np.testing.assert_allclose(tau, arm.tau[:6], atol=1e-12)
    real = robot()
    real.run(0.05)
    bias = real.psm("PSM").measured_jf()[0] - real.scene.arms["PSM"].tau[:6]
    np.testing.assert_allclose(bias, real.scene.arms["PSM"].mechanism.effort_bias[:6], atol=0.03)


def test_the_contact_wrench_is_the_truth_and_not_the_estimate(robot):
    robot = robot("cart_classic")
    assert not robot.contact_wrench("PSM1").any()
    assert robot.psm("PSM1").body.measured_cf()[0].any()


def test_an_encoder_fault_shows_in_the_measured_joints(robot):
    robot = robot(sensors=Sensors.ideal())
    robot.scene.arms["PSM"].inject(EncoderBias(motor="insertion", bias=0.002))
    robot.run(0.5)
    arm = robot.scene.arms["PSM"]
    np.testing.assert_allclose(q_of(robot.psm("PSM"))[2] - arm.q[2], 0.002, atol=1e-9)
    arm.inject()


# -- servo -----------------------------------------------------------------------------------------------------------


def test_the_servo_has_the_published_law():
    arm = tr.load_arm("PSM_Si")
    servo = Servo([arm], observed=False)
    servo.on[:] = True
    servo.q_ref[:] = 0.003
    tau = servo.efforts(np.zeros(7), np.full(7, 0.1))
    expected = np.array(arm.gains.kp) * 0.003 - np.array(arm.gains.kd) * 0.1
    np.testing.assert_allclose(tau, np.clip(expected, -arm.motors.effort, arm.motors.effort), atol=1e-12)
    servo.q_ref[:] = 0.4
    servo.feed_forward[0] = 1.0
    tau = servo.efforts(np.zeros(7), np.zeros(7))
    assert tau[0] == 11.0  # the cap of 10 N m is before the feed-forward
    assert tau[3] == pytest.approx(arm.motors.effort[3])
    servo.checked[:] = True
    servo.q_ref[2] = 0.06
    servo.efforts(np.zeros(7), np.zeros(7))
    assert servo.lost().tolist() == [False, False, True, False, False, False, False]


def test_the_loop_moves_an_arm_as_the_pid_of_control_does(robot):
    robot = robot(sensors=Sensors.ideal())
    arm = robot.scene.arms["PSM"]
    goal = arm.q + [0.1, -0.05, 0.01, 0.2, 0.1, -0.1, 0.2]
    sim = tr.Simulator("PSM", timestep=PERIOD)
    sim.reset(arm.q)
    robot.psm("PSM").servo_jp(goal[:6])
    robot.psm("PSM").jaw.servo_jp(goal[6:])
    robot.run(0.3)
    tr.simulate(sim, tr.JointPID(sim.arm, clamp=True), tr.hold(goal), 0.3)
    np.testing.assert_allclose(arm.q, sim.q, atol=1e-9)
    np.testing.assert_allclose(arm.dq, sim.dq, atol=1e-7)


def test_inside_a_deadband_neither_position_nor_velocity_act():
    servo = Servo([tr.load_arm("MTML")])
    servo.on[:] = True
    servo.q_ref[5:] = 0.014
    tau = servo.efforts(np.zeros(7), np.ones(7))
    assert not tau[5:].any()
    assert tau[:5].all()
    servo.q_ref[5] = 0.025
    tau = servo.efforts(np.zeros(7), np.zeros(7))
    assert tau[5] == pytest.approx(0.4 * 0.010)  # the error minus the deadband of 0.015


@pytest.mark.parametrize("n", [4, 6, 7])
@pytest.mark.parametrize("singular", [False, True])
def test_a_wrench_is_that_of_the_pseudoinverse_also_of_a_singular_jacobian(n, singular):
    rng = np.random.default_rng(n)
    J, tau = rng.normal(size=(6, n)), rng.normal(size=n)
    if singular:
        J[:, 1] = J[4] = 0.0
    np.testing.assert_allclose(wrench(J, tau), np.linalg.pinv(J.T) @ tau, atol=1e-9)


def test_all_topics_of_a_cycle_report_the_same_measured_efforts():
    robot = started("PSM")
    first, second = (robot.bus.read("PSM/measured_js").effort for _ in range(2))
    np.testing.assert_array_equal(first, second)
    force = robot.bus.read("PSM/body/measured_cf").vector
    J = robot.bus.read("PSM/body/jacobian").values
    np.testing.assert_allclose(force, np.linalg.pinv(J.T) @ first, atol=1e-6)
    robot.step()
    assert (robot.bus.read("PSM/measured_js").effort != first).any()
