"""Arms under the dVRK's controllers, through their clients: states, busy, motion, refusals, frames, sensors."""

import numpy as np
import pytest

import trocar as tr
from trocar import crtk
from trocar.crtk import Sensors
from trocar.crtk.controller.constants import PERIOD, SAFE_DISTANCE
from trocar.crtk.controller.sensors import ActuatorSensors
from trocar.crtk.controller.servo import Servo
from trocar.crtk.messages import CartesianImpedance, HalfPlaneGains, Joy
from trocar.errors import TrocarError
from trocar.spatial import inverse, rotation_vector

STATES = {"DISABLED", "ENABLED", "PAUSED", "FAULT"}


class Events:
    """Everything that a device says."""

    def __init__(self, robot, name):
        self.warnings, self.errors, self.states, self.goals = [], [], [], []
        for topic, kept in (("warning", self.warnings), ("error", self.errors)):
            robot.bus.subscribe(f"{name}/{topic}", lambda m, kept=kept: kept.append(m.value))
        robot.bus.subscribe(f"{name}/operating_state", self.states.append)
        robot.bus.subscribe(f"{name}/goal_reached", lambda m: self.goals.append(m.value))

    @property
    def busy(self):
        """Changes of is_busy."""
        flags = [state.is_busy for state in self.states]
        return [flag for k, flag in enumerate(flags) if k == 0 or flag != flags[k - 1]]


@pytest.fixture(scope="module")
def scenes():
    """Scenes by name, built once; a robot starts them anew."""
    built = {}

    def get(name):
        if name not in built:
            if name in tr.ARMS:
                built[name] = tr.Scene({name: tr.SceneArm(arm=name, base=np.eye(4))}, timestep=PERIOD)
            else:
                built[name] = tr.load_scene(name, timestep=PERIOD)
        built[name].reset()
        return built[name]

    return get


@pytest.fixture
def robot(scenes):
    """`robot(scene, ...)`: a robot of one of the scenes, ready unless told otherwise."""
    return lambda name="psm", start="ready", **options: crtk.Robot(scenes(name), start=start, **options)


@pytest.fixture
def psm(robot):
    return robot().psm("PSM")


def q_of(arm):
    return arm.measured_jp()[0]


# -- power-on and states ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scene", "name"), [("psm", "PSM"), ("ECM", "ECM"), ("MTML", "MTML")])
def test_an_arm_goes_from_off_to_homed_as_on_the_robot(robot, scene, name):
    robot = robot(scene, start="off")
    arm, desired, status = robot.arm(name), [], []
    robot.bus.subscribe(f"{name}/desired_state", lambda m: desired.append(m.value))
    robot.bus.subscribe(f"{name}/status", lambda m: status.append(m.value))
    assert (arm.operating_state(), arm.is_homed(), arm.is_busy()) == ("DISABLED", False, False)
    assert not robot.bus.read(f"{name}/measured_js").valid
    assert arm.enable(timeout=5)
    assert not robot.bus.read(f"{name}/measured_js").valid  # encoders are not biased yet
    assert arm.home(timeout=30)
    assert (arm.operating_state(), arm.is_homed(), arm.is_busy()) == ("ENABLED", True, False)
    assert desired == ["ENABLED", "HOMED"]
    assert f"{name}: encoders biased using 1970 potentiometer values" in status
    assert np.isfinite(q_of(arm)).all()


def test_homing_a_second_time_keeps_the_calibration_and_tells_clients_again(psm):
    before = psm.robot.bus.read("PSM/operating_state").stamp
    assert psm.home(timeout=1)
    psm.robot.run(0.01)
    assert psm.robot.bus.read("PSM/operating_state").stamp > before
    assert psm.disable(timeout=1)
    assert psm.enable(timeout=5)
    assert not psm.is_homed()
    started = psm.robot.time
    assert psm.home(timeout=5)
    assert psm.robot.time - started < 0.1  # the encoders are still biased


@pytest.mark.parametrize(
    ("state", "command"),
    [
        ("DISABLED", "home"),
        ("DISABLED", "pause"),
        ("DISABLED", "resume"),
        ("ENABLED", "resume"),
        ("PAUSED", "enable"),
        ("PAUSED", "home"),
        ("ENABLED", "dance"),
    ],
)
def test_a_state_command_that_is_not_valid_is_answered_with_a_warning(robot, state, command):
    robot = robot(start="off" if state == "DISABLED" else "ready")
    psm, events = robot.psm("PSM"), Events(robot, "PSM")
    if state == "PAUSED":
        psm.state_command("pause")
        robot.run(0.01)
    psm.state_command(command)
    robot.run(0.01)
    assert psm.operating_state() == state
    expected = "doesn't seem to be a valid state_command" if command == "dance" else "is not supported in state"
    assert expected in events.warnings[-1]


def test_pausing_interrupts_a_move_and_holds_the_arm_until_resume(psm):
    events = Events(psm.robot, "PSM")
    psm.move_jr([0.4, 0.0, 0.0, 0.0, 0.0, 0.0])
    psm.robot.run(0.4)
    psm.state_command("pause")
    psm.robot.run(0.5)
    assert psm.operating_state() == "PAUSED"
    assert events.goals == [False]
    held = q_of(psm)
    psm.move_jp(np.zeros(6))
    psm.robot.run(0.3)
    assert events.warnings == ["PSM: move_jp, arm not ready"]
    np.testing.assert_allclose(q_of(psm), held, atol=1e-3)
    psm.state_command("resume")
    psm.robot.run(0.01)
    assert psm.is_enabled()
    assert psm.is_homed()
    assert psm.move_jp([0, 0, 0.12, 0, 0, 0]).wait(timeout=5)


def test_a_tracking_error_is_a_fault_and_switches_the_motors_off(psm):
    events = Events(psm.robot, "PSM")
    psm.servo_jp([0.0, 0.0, 0.19, 0.0, 0.0, 0.0])  # 70 mm at once; 50 mm are allowed
    psm.robot.run(0.01)
    assert psm.operating_state() == "FAULT"
    assert events.errors == ["PSM: PID: tracking error, mask: 0 0 1 0 0 0 0"]
    assert not psm.is_homed()
    psm.robot.run(0.01)
    assert not psm.robot.scene.arms["PSM"].delivered.any() or psm.robot.scene.arms["PSM"].options.friction
    assert psm.enable(timeout=5)  # a retry
    assert psm.home(timeout=5)


def test_unhome_makes_the_next_homing_calibrate_again(psm):
    assert psm.unhome(timeout=1)
    events = Events(psm.robot, "PSM")
    psm.move_jp(np.zeros(6))
    psm.robot.run(0.01)
    assert events.warnings == ["PSM: move_jp, arm not ready"]
    started = psm.robot.time
    assert psm.home(timeout=5)
    assert psm.robot.time - started > 1.3  # 1970 readings


def test_brakes_hold_an_ecm_until_it_is_homed(robot):
    robot = robot("ECM", start="off", supported=False)
    ecm, arm = robot.ecm(), robot.scene.arms["ECM"]
    start = arm.q
    robot.run(0.3)
    assert arm.brakes
    np.testing.assert_allclose(arm.q[:3], start[:3], atol=1e-4)
    ecm.enable(timeout=5)
    assert arm.brakes
    ecm.home(timeout=5)
    assert not arm.brakes
    ecm.disable(timeout=1)
    assert arm.brakes


def test_an_arm_that_is_off_falls_unless_it_is_supported(robot):
    drops = {}
    for supported in (True, False):
        robot_ = robot("MTML", start="off", supported=supported)
        arm = robot_.scene.arms["MTML"]
        start = arm.q
        robot_.run(0.3)
        drops[supported] = np.abs(arm.q - start).max()
    assert drops[True] < 1e-3
    assert drops[False] > 0.05


def test_the_system_powers_and_homes_every_arm(robot):
    robot = robot("dvrk", start="off")
    arms = [robot.arm(name) for name in robot.controllers]
    robot.system().home()
    assert robot.wait_for(lambda: all(arm.is_homed() for arm in arms), 20)
    robot.system().power_off()
    assert robot.wait_for(lambda: all(arm.is_disabled() for arm in arms), 1)


# -- busy and moves --------------------------------------------------------------------------------------------------


def test_a_move_reaches_its_goal_within_the_published_velocities(psm):
    events, start = Events(psm.robot, "PSM"), q_of(psm)
    velocities = []
    handle = psm.move_jp(start + [0.5, -0.3, 0.03, 0.5, -0.4, 0.3])
    assert handle.is_busy()
    while handle.is_busy():
        psm.robot.step(15)
        velocities.append(np.abs(psm.setpoint_jv()[0]))
    limits = [joint.velocity for joint in psm.robot.scene.arms["PSM"].arm.joints[:6]]
    assert (np.max(velocities, axis=0) <= np.array(limits) + 1e-9).all()
    np.testing.assert_allclose(psm.setpoint_jp()[0], start + [0.5, -0.3, 0.03, 0.5, -0.4, 0.3], atol=1e-12)
    assert events.goals == [True]
    assert events.busy == [False, True, False]


def test_a_move_of_no_length_is_busy_and_then_idle(psm):
    events = Events(psm.robot, "PSM")
    assert psm.move_jp(psm.setpoint_jp()[0]).wait(timeout=1)
    assert events.busy == [False, True, False]


def test_a_new_move_replaces_the_goal_without_an_idle_moment_or_a_jump(psm):
    events, start = Events(psm.robot, "PSM"), q_of(psm)
    psm.move_jp(start + [0.4, 0.0, 0.0, 0.0, 0.0, 0.0])
    psm.robot.run(0.3)
    handle = psm.move_jp(start + [0.0, 0.2, 0.0, 0.0, 0.0, 0.0])
    q = [psm.setpoint_jp()[0]]
    while handle.is_busy():
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
    assert events.warnings == []
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


def test_a_tool_that_is_put_in_above_the_cannula_is_engaged_by_a_sweep(psm):
    robot, sweep = psm.robot, []
    assert psm.insert_jp(0.03).wait()
    psm.set_tool_present(False)
    robot.run(0.01)
    psm.set_tool_present(True)
    robot.run(0.01)
    assert psm.is_busy()
    assert not psm.is_homed()
    while psm.is_busy():
        robot.run(0.05)
        sweep.append(robot.scene.arms["PSM"].q[3])
    assert min(sweep) < -4.5
    assert max(sweep) > 4.5
    assert psm.is_homed()
    assert abs(q_of(psm)[3]) < 0.01


def test_jaw_and_tip_commands_of_one_cycle_are_both_carried_out_in_either_order(psm):
    T = psm.setpoint_cp()[0].copy()
    for k, angle in enumerate((0.1, 0.2)):
        T[0, 3] += 1e-3
        sends = [lambda: psm.servo_cp(T), lambda a=angle: psm.jaw.servo_jp(a)]
        for send in sends if k == 0 else reversed(sends):
            send()
        psm.robot.step()
        np.testing.assert_allclose(psm.jaw.setpoint_jp()[0], [angle], atol=1e-12)
        np.testing.assert_allclose(psm.setpoint_cp()[0], T, atol=1e-9)


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


def test_the_endoscope_is_never_drawn_into_the_cannula_by_a_pose(robot):
    ecm = robot("ECM", sensors=Sensors.ideal()).ecm()
    q = q_of(ecm)
    q[2] = 0.02
    assert ecm.inverse_kinematics(q_of(ecm), ecm.local.forward_kinematics(q))[2] == 0.04


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


# -- clients ---------------------------------------------------------------------------------------------------------


def test_every_topic_and_service_that_dvrk_python_opens_for_a_psm_is_there(psm):
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
    assert count == 17


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
    psm.robot.bus.publish("PSM/set_base_frame", crtk.messages.Pose(T=T, frame_id="table"))
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
    far = arm.local.measured_cp()[0] + np.diag([5.0, 5.0, 5.0], 1)[:, [3, 0, 1, 2]] * 0
    far[:3, 3] = 7.0
    assert arm.inverse_kinematics(q, far, extra=True)[1:] == (False, "inverse kinematics failed")


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
        assert np.abs(q_of(mtm)[:3]).max() > 0.02  # its position gives way
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
        CartesianImpedance(
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
    for opening in (0.5, 0.0, 0.5):
        robot.scene.arms["MTML"].gripper = opening
        robot.step()
        assert mtm.gripper.measured_jp()[0][0] == opening
    assert closed == [False, True, False]


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
    warnings = Events.__new__(Events)
    warnings.seen = []
    robot.bus.subscribe("SUJ/warning", lambda m: warnings.seen.append(m.value))
    suj.PSM1.move_jp([9.0] * 6)
    robot.step()
    assert "violates" in warnings.seen[0]


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
    ideal, real = robot(sensors=Sensors.ideal()), None
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
    from trocar.simulation.forces.faults import EncoderBias

    robot = robot(sensors=Sensors.ideal())
    robot.scene.arms["PSM"].inject(EncoderBias(motor="insertion", bias=0.002))
    robot.run(0.5)
    arm = robot.scene.arms["PSM"]
    np.testing.assert_allclose(q_of(robot.psm("PSM"))[2] - arm.q[2], 0.002, atol=1e-9)
    arm.inject()


# -- servo -----------------------------------------------------------------------------------------------------------


def test_the_servo_has_the_published_law():
    arm = tr.load_arm("PSM_Si")
    servo = Servo([arm])
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


def test_inside_a_deadband_neither_position_nor_velocity_act():
    servo = Servo([tr.load_arm("MTML")])
    servo.on[:] = True
    servo.q_ref[5:] = 0.014
    tau = servo.efforts(np.zeros(7), np.ones(7))
    assert not tau[5:].any()
    assert tau[:5].all()


# -- time ------------------------------------------------------------------------------------------------------------


def test_waiting_advances_a_fast_robot_and_not_a_stepped_one(robot):
    fast, started = robot(), None
    started = fast.time
    fast.sleep(0.1)
    assert fast.time - started == pytest.approx(0.1, abs=PERIOD)
    stepped = robot(speed="stepped")
    started = stepped.time
    assert not stepped.psm("PSM").move_jr([0.1, 0, 0, 0, 0, 0]).wait()
    assert stepped.time == started
    stepped.run(1.0)
    assert stepped.time - started == pytest.approx(1.0, abs=PERIOD)


def test_two_runs_of_the_same_script_are_identical(robot):
    results = []
    for _ in range(2):
        psm = robot().psm("PSM")
        psm.move_jr([0.2, 0.1, 0.01, 0.3, 0.2, 0.1]).wait()
        results.append(np.concatenate(psm.measured_js()[:3]))
    np.testing.assert_array_equal(*results)


@pytest.mark.xdist_group("wall_time")
def test_in_real_time_a_thread_carries_out_commands(robot):
    with robot(speed="real") as real:
        psm = real.psm("PSM")
        with pytest.raises(TrocarError, match="runs in real time"):
            real.step()
        assert psm.move_jr([0.02, 0, 0, 0, 0, 0]).wait(timeout=20)
        t = [psm.measured_js()[3] for _ in range(3)]
        assert t == sorted(t)
        assert psm.operating_state() == "ENABLED"
    assert real.error is None


def test_a_scene_with_another_timestep_is_refused():
    with pytest.raises(TrocarError, match="1/1500"):
        crtk.Robot(tr.load_scene("psm", timestep=1e-3))


@pytest.mark.parametrize("options", [{"speed": "warp"}, {"speed": -1.0}, {"start": "half"}, {"arms": ["PSM9"]}])
def test_options_that_do_not_exist_are_refused(robot, options):
    with pytest.raises(TrocarError):
        robot(**options)


def test_arms_that_are_not_controlled_have_no_topics(robot):
    robot = robot("dvrk", arms=["PSM1", "ECM"])
    assert set(robot.controllers) == {"PSM1", "ECM"}
    assert not any(topic.startswith("PSM2/") for topic in robot.bus.topics)
    assert robot.psm("PSM1").move_jr([0.02, 0, 0, 0, 0, 0]).wait()


@pytest.mark.parametrize("scene", ["dvrk", "dvrk_si"])
def test_the_whole_robot_has_its_devices_and_all_arms_move(robot, scene):
    robot = robot(scene)
    assert {"PSM1", "PSM2", "PSM3", "ECM", "MTML", "MTMR", "SUJ", "system", "console"} <= set(robot.devices)
    arms = [robot.arm(name) for name in robot.controllers]
    starts = [arm.setpoint_jp()[0] for arm in arms]
    handles = [arm.move_jr(np.where(np.arange(len(q)) == 2, 0.01, 0.05)) for arm, q in zip(arms, starts, strict=True)]
    assert all(handle.wait() for handle in handles)
    for arm, start in zip(arms, starts, strict=True):
        moved = q_of(arm) - start
        assert (np.abs(moved - np.where(np.arange(len(start)) == 2, 0.01, 0.05)) < 0.045).all(), arm.name()
