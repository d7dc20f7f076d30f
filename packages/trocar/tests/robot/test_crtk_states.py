"""Operating states from power-on to fault, and the robot's clock."""

import numpy as np
import pytest

import trocar as tr
from tests.support.crtk_robot import Events, q_of
from trocar.errors import TrocarError
from trocar.robot import Robot
from trocar.robot.controller.constants import PERIOD
from trocar.simulation.forces.faults import MotorLoss

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


def test_homing_a_second_time_keeps_the_calibration_and_notifies_clients_again(psm):
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


def test_a_tracking_error_is_a_fault_and_switches_the_motors_off(robot):
    psm = robot(supported=False).psm("PSM")
    events = Events(psm.robot, "PSM")
    psm.servo_jp([0.0, 0.0, 0.19, 0.0, 0.0, 0.0])  # 70 mm at once; 50 mm are allowed
    psm.robot.run(0.01)
    assert psm.operating_state() == "FAULT"
    assert events.errors == ["PSM: PID: tracking error, mask (1 for error): 0 0 1 0 0 0 0"]
    assert not psm.is_homed()
    psm.robot.run(0.01)
    assert not psm.robot.scene.arms["PSM"].delivered.any()
    assert psm.enable(timeout=5)  # a retry
    assert psm.home(timeout=5)


def test_a_master_that_cannot_reach_its_home_position_is_at_fault(robot):
    robot = robot("MTML", start="off")
    arm, events = robot.scene.arms["MTML"], Events(robot, "MTML")
    arm.place([0.1, 0, 0, 0, 0, 0, 0])
    arm.inject(MotorLoss(motor="motor_1"))
    assert robot.mtm("MTML").enable(timeout=5)
    assert not robot.mtm("MTML").home(timeout=10)
    arm.inject()
    assert robot.mtm("MTML").operating_state() == "FAULT"
    assert events.errors == ["MTML: unable to reach home position during calibration on pots"]


TOO_LONG = "the motion takes too long at these ratios of velocity and acceleration"


def test_homing_at_ratios_that_take_too_long_is_a_fault_of_the_arm_alone(robot):
    robot = robot("MTML", start="off")
    master, events = robot.mtm("MTML"), Events(robot, "MTML")
    robot.scene.arms["MTML"].place(0.1 * np.ones(7))
    master.trajectory_j_set_ratio(1e-6)
    assert master.enable(timeout=5)
    assert not master.home(timeout=5)
    assert (master.operating_state(), events.errors) == ("FAULT", [f"MTML: {TOO_LONG}"])
    master.trajectory_j_set_ratio(1.0)
    assert master.enable(timeout=5)
    assert master.home(timeout=30)


def test_engaging_a_tool_at_ratios_that_take_too_long_is_a_fault_of_the_arm_alone(psm):
    assert psm.insert_jp(0.03).wait()
    psm.set_tool_present(False)
    psm.robot.run(0.01)
    events = Events(psm.robot, "PSM")
    psm.trajectory_j_set_ratio(1e-6)
    psm.set_tool_present(True)
    psm.robot.run(0.1)
    assert (psm.operating_state(), events.errors) == ("FAULT", [f"PSM: {TOO_LONG}"])


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


# -- time ------------------------------------------------------------------------------------------------------------


def test_waiting_advances_a_fast_robot_and_not_a_stepped_one(robot):
    fast = robot()
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
def test_in_real_time_a_thread_executes_commands(robot):
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
        Robot(tr.load_scene("psm", timestep=1e-3))


@pytest.mark.parametrize("options", [{"speed": "warp"}, {"speed": -1.0}, {"start": "half"}, {"arms": ["PSM9"]}])
def test_options_that_do_not_exist_are_refused(robot, options):
    with pytest.raises(TrocarError):
        robot(**options)


def test_arms_that_are_not_controlled_have_no_topics(robot):
    robot = robot("dvrk", arms=["PSM1", "ECM"])
    assert set(robot.controllers) == {"PSM1", "ECM"}
    assert not any(topic.startswith("PSM2/") for topic in robot.bus.topics)
    start = robot.scene.arms["PSM2"].q
    assert robot.psm("PSM1").move_jr([0.02, 0, 0, 0, 0, 0]).wait()
    np.testing.assert_allclose(robot.scene.arms["PSM2"].q, start, atol=1e-3)  # off, and supported


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


def test_gravity_compensation_uses_the_given_model(robot):
    robot = robot("PSM_Si")
    hardware = robot.controllers["PSM_Si"].hardware
    heavier = tr.load_mechanism("PSM_Si", added_mass=0.3)
    psm = robot.psm("PSM_Si")
    psm.free()
    robot.run(0.02)
    np.testing.assert_allclose(hardware.setpoint_effort(), hardware.sim.mechanism.gravity(hardware.q), atol=1e-3)
    robot.simulation().arm("PSM_Si").set_gravity_model(heavier)
    robot.run(0.02)
    np.testing.assert_allclose(hardware.setpoint_effort(), heavier.gravity(hardware.q), atol=1e-3)
    assert abs(heavier.gravity(hardware.q) - hardware.sim.mechanism.gravity(hardware.q)).max() > 1.0
