"""Conformance checks: the simulated arms pass them, and each defect fails its own check."""

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.support.crtk_robot import started
from tests.support.repository import SUPPORT
from trocar.cli import app
from trocar.robot import messages as m
from trocar.robot.conformance import Permission, Subject, checks_of, examine
from trocar.scripts.launcher import run_script
from trocar.scripts.session import Session

ONE_ARM = SUPPORT / "run_scripts" / "psm1.toml"
BUSY = {"move_busy", "zero_length_move", "replaced_goal", "last_sample", "jaw"}


def subject_of(robot, name, **options):
    arm = robot.controllers[name].arm
    limits = arm.lower[: arm.tip_joints], arm.upper[: arm.tip_joints]
    efforts = np.abs(np.linalg.inv(arm.motors.coupling).T) @ arm.motors.effort
    return Subject(robot, name, robot.devices[name], limits, efforts=efforts[: arm.tip_joints], **options)


def results(robot, name="PSM", permission=Permission.unbounded, **options):
    return list(examine(subject_of(robot, name, **options), permission))


def failed(robot, **options):
    return {result.check for result in results(robot, **options) if result.status == "failed"}


@pytest.mark.parametrize("name", ["PSM", "PSM_Si", "ECM", "MTMR"])
def test_simulated_arms_pass_every_check(name):
    found = results(started(name), name)
    assert [(result.check, result.status, result.reason) for result in found] == [
        (check.name, "passed", "") for check in checks_of(started(name).devices[name])
    ]


def test_without_permission_no_command_is_sent_and_skipped_checks_give_the_reason(monkeypatch):
    robot = started("PSM")
    subject = subject_of(robot, "PSM")
    monkeypatch.setattr(subject, "send", lambda *_: pytest.fail("a command was sent"))
    found = list(examine(subject, Permission.read))
    assert {result.status for result in found} == {"passed", "skipped"}
    skipped = {result.check: result.reason for result in found if result.status == "skipped"}
    assert set(skipped) == {check.name for check in checks_of("PSM") if check.needs > Permission.read}
    assert all(reason.startswith("not permitted: ") for reason in skipped.values())


@pytest.mark.parametrize(("rotation", "translation"), [(0.05, 0.005), (0.01, 0.001)])
def test_permitted_motion_stays_within_the_amplitude(rotation, translation):
    robot = started("PSM")
    subject = subject_of(robot, "PSM", rotation=rotation, translation=translation)
    start, seen = subject.setpoint, []
    robot.bus.subscribe("PSM/setpoint_js", lambda message: seen.append(message.position))
    assert all(result.status != "failed" for result in examine(subject, Permission.motion))
    widest = np.abs(np.array(seen) - start).max(axis=0)
    assert widest[-1] == pytest.approx(rotation, rel=0.01)
    assert (widest <= [1e-9, 1e-9, 1.01 * translation, 1e-9, 1e-9, 1.01 * rotation]).all()


def test_an_arm_that_is_off_is_not_moved_and_its_checks_are_skipped():
    found = {result.check: result for result in results(started("PSM", start="off"))}
    assert found["move_busy"].status == "skipped"
    assert found["move_busy"].reason == "the arm is not enabled, homed and idle: DISABLED, is_homed=False"
    assert not [result for result in found.values() if result.status == "failed"]


# -- defects -----------------------------------------------------------------------------------------------------------


def altered(robot, monkeypatch, topic, **change):
    """Replace the samples of one state topic."""
    line = robot.bus._lines[f"PSM/{topic}"]
    source = line.source
    monkeypatch.setattr(line, "source", lambda: replace(source(), **change))


@pytest.mark.parametrize(
    ("topic", "change", "check"),
    [
        ("measured_cv", {"stamp": 0}, "state_stamps"),
        ("spatial/measured_cf", {"stamp": 17}, "state_stamps"),
        ("body/measured_cf", {"vector": np.zeros(3)}, "sizes"),
        ("jaw/measured_js", {"position": np.zeros(2)}, "sizes"),
        ("measured_js", {"effort": np.zeros(7)}, "sizes"),
        ("local/measured_cp", {"T": np.diag([2.0, 1, 1, 1])}, "sizes"),
        ("local/measured_cp", {"T": np.block([[np.eye(3), np.full((3, 1), 120.0)], [0, 0, 0, 1]])}, "units"),
        ("local/measured_cp", {"frame_id": "world"}, "frames"),
        ("setpoint_cp", {"frame_id": "elsewhere"}, "frames"),
        ("local/measured_cv", {"frame_id": "ECM"}, "frames"),
        ("jaw/setpoint_js", {"frame_id": ""}, "frames"),
        ("body/measured_cf", {"frame_id": "PSM"}, "frames"),
        ("measured_js", {"effort": np.full(6, 1000.0)}, "units"),
        ("body/jacobian", {"values": np.ones((6, 6))}, "jacobian"),
        ("spatial/jacobian", {"values": np.zeros((6, 6))}, "jacobian"),
    ],
)
def test_a_defect_of_a_state_topic_fails_its_check_alone(topic, change, check, monkeypatch):
    robot = started("PSM")
    altered(robot, monkeypatch, topic, **change)
    assert failed(robot, permission=Permission.read) == {check}


def test_joint_positions_in_degrees_and_millimetres_fail_units(monkeypatch):
    robot = started("PSM")
    js = robot.bus.read("PSM/measured_js")
    altered(robot, monkeypatch, "measured_js", position=js.position * [57.3, 57.3, 1000, 57.3, 57.3, 57.3])
    assert "units" in failed(robot, permission=Permission.read)


@pytest.mark.parametrize("stamp", [0, 9])
def test_operating_states_with_stamp_0_or_a_repeated_one_fail_their_check_alone(stamp, monkeypatch):
    robot = started("PSM")
    monkeypatch.setattr("trocar.robot.bus.replace", lambda message, **change: replace(message, stamp=stamp))
    assert failed(robot) == {"operating_state_stamps"}


def test_an_operating_state_that_is_not_latched_fails_latching_alone(monkeypatch):
    robot = started("PSM")
    subscribe = robot.bus.subscribe

    def unlatched(name, callback):
        if not name.endswith("/operating_state"):
            return subscribe(name, callback)
        kept = []
        subscription = subscribe(name, lambda message: callback(message) if kept else None)
        kept.append(True)
        return subscription

    monkeypatch.setattr(robot.bus, "subscribe", unlatched)
    assert failed(robot) == {"latching"}


def test_moves_that_never_report_busy_fail_the_checks_of_busy(monkeypatch):
    robot = started("PSM")
    states = robot.controllers["PSM"].states
    set_states = states.set

    def never_busy(state=None, *, homed=None, busy=None):
        moving = robot.controllers["PSM"].substate == "HOMED"
        set_states(state, homed=homed, busy=False if moving else busy)

    monkeypatch.setattr(states, "set", never_busy)
    assert failed(robot) == BUSY


def test_zero_length_moves_that_are_skipped_fail_their_check_alone(monkeypatch):
    robot = started("PSM")
    arm = robot.controllers["PSM"]
    begin = arm.begin_move

    def only_if_far(goal):
        if arm.trajectory.active or np.abs(goal - arm.hardware.setpoint()).max() > 1e-9:
            begin(goal)

    monkeypatch.setattr(arm, "begin_move", only_if_far)
    assert failed(robot, permission=Permission.motion) == {"zero_length_move"}


def test_unclipped_limits_fail_clipping_alone(monkeypatch):
    robot = started("PSM")
    monkeypatch.setattr(robot.controllers["PSM"], "clipped", lambda q: np.array(q))
    assert failed(robot) == {"clipping"}


def test_a_goal_that_does_not_replace_the_running_one_fails_its_check_alone(monkeypatch):
    robot = started("PSM")
    arm = robot.controllers["PSM"]
    begin = arm.begin_move
    monkeypatch.setattr(arm, "begin_move", lambda goal: None if arm.trajectory.active else begin(goal))
    assert failed(robot, permission=Permission.motion) == {"replaced_goal"}


def test_an_idle_moment_between_two_moves_fails_the_check_of_replaced_goals(monkeypatch):
    robot = started("PSM")
    arm = robot.controllers["PSM"]
    begin = arm.begin_move

    def pausing(goal):
        if arm.trajectory.active:
            arm.states.set(busy=False)
        begin(goal)

    monkeypatch.setattr(arm, "begin_move", pausing)
    assert "replaced_goal" in failed(robot, permission=Permission.motion)


def test_operating_states_that_are_repeated_pass(monkeypatch):
    """As over ROS 2, for readers that do not request the last one."""
    robot = started("PSM")
    topic = "PSM/operating_state"

    def repeat():
        if robot.now // 10**6 % 50 == 0:
            robot.bus.publish(topic, robot.bus.read(topic))

    robot.after_cycle.append(repeat)
    try:
        assert failed(robot, permission=Permission.motion) == set()
    finally:
        robot.after_cycle.clear()


def test_wrong_content_that_is_ignored_without_a_warning_fails_the_checks_of_refusals(monkeypatch):
    robot = started("PSM")
    states = robot.controllers["PSM"].states
    warning = states.warning
    monkeypatch.setattr(states, "warning", lambda text: None if "expected" in text else warning(text))
    assert failed(robot, permission=Permission.motion) == {"wrong_content", "jaw"}


def test_a_paused_arm_that_ignores_moves_without_a_warning_fails_its_check_alone(monkeypatch):
    robot = started("PSM")
    arm = robot.controllers["PSM"]
    ready = arm.ready
    monkeypatch.setattr(arm, "ready", lambda *a: False if arm.substate == "PAUSED" else ready(*a))
    assert failed(robot, permission=Permission.motion) == {"wrong_state"}


def without_state_command(robot, monkeypatch, word, instead):
    """Replace the action of one state command."""
    arm = robot.controllers["PSM"]
    obey = arm.state_command
    monkeypatch.setattr(arm, "state_command", lambda given: instead(arm) if given == word else obey(given))


@pytest.mark.parametrize(
    ("word", "instead", "check"),
    [
        ("home", lambda arm: None, "repeated_commands"),
        ("pause", lambda arm: arm.states.set("PAUSED", homed=False), "pause_and_resume"),
    ],
)
def test_a_wrong_transition_fails_its_check(word, instead, check, monkeypatch):
    robot = started("PSM")
    without_state_command(robot, monkeypatch, word, instead)
    assert check in failed(robot, permission=Permission.motion)


def test_a_servo_command_that_makes_the_arm_busy_fails_its_check_alone(monkeypatch):
    robot = started("PSM")
    arm = robot.controllers["PSM"]
    servo = arm.servo_jp

    def busy_servo(*arguments):
        servo(*arguments)
        arm.states.set(busy=True)
        arm.states.set(busy=False)

    monkeypatch.setattr(arm, "servo_jp", busy_servo)
    assert failed(robot, permission=Permission.motion) == {"servo_is_idle"}


def test_an_arm_that_is_idle_before_its_last_sample_fails_that_check_alone(monkeypatch):
    robot = started("PSM")
    arm = robot.controllers["PSM"]

    def end_move(reached):
        arm.trajectory.stop()
        robot.bus.publish("PSM/goal_reached", m.Bool(value=reached))
        arm.states.set(busy=False)

    monkeypatch.setattr(arm, "end_move", end_move)
    assert failed(robot, permission=Permission.motion) == {"last_sample"}


def test_a_jaw_command_that_makes_the_arm_busy_or_moves_it_fails_jaw_alone(monkeypatch):
    robot = started("PSM")
    arm = robot.controllers["PSM"]
    servo = arm.jaw_servo_jp

    def busy_servo(position):
        servo(position)
        arm.states.set(busy=True)
        arm.states.set(busy=False)

    monkeypatch.setattr(arm, "jaw_servo_jp", busy_servo)
    assert failed(robot, permission=Permission.motion) == {"jaw"}


def test_an_arm_that_does_not_hold_after_it_was_free_fails_effort_control(monkeypatch):
    robot = started("PSM")
    monkeypatch.setattr(robot.controllers["PSM"], "hold", lambda: None)
    assert failed(robot) == {"effort_control"}


def test_an_arm_that_cannot_be_unhomed_fails_unhome_alone(monkeypatch):
    robot = started("PSM")
    without_state_command(robot, monkeypatch, "unhome", lambda arm: None)
    assert failed(robot) == {"unhome"}


def test_an_arm_that_follows_any_jump_fails_fault_alone(monkeypatch):
    robot = started("PSM")
    servo = robot.controllers["PSM"].hardware._servo
    monkeypatch.setattr(servo, "lost", lambda: np.zeros(len(servo.on), dtype=bool))
    assert failed(robot) == {"fault"}


# -- other devices ----------------------------------------------------------------------------------------------------


def of_device(robot, name, permission=Permission.unbounded):
    found = examine(Subject(robot, name, robot.devices[name]), permission)
    return {result.check: (result.status, result.reason) for result in found}


def test_console_system_and_set_up_joints_pass_their_checks():
    robot = started("dvrk")
    for name in ("system", "console", "footpedals", "SUJ", "SUJ/PSM1"):
        assert set(of_device(robot, name).values()) == {("passed", "")}, name


def test_defects_of_console_and_system_fail_their_checks(monkeypatch):
    robot = started("dvrk", arms=["PSM1"])
    bus = robot.bus

    def replaced(topic, event):
        """Make a command accept any value."""
        handler = lambda message: bus.publish(event, m.Float(value=message.value))  # noqa: E731
        monkeypatch.setattr(bus._lines[topic], "handler", handler)

    replaced("system/set_volume", "system/volume")
    replaced("console/teleop/set_scale", "console/teleop/scale")
    monkeypatch.setattr(bus._lines["console/emulate_coag"], "handler", None)
    monkeypatch.setattr(bus._lines["SUJ/PSM1/local/measured_cp"], "source", lambda: m.Pose(T=2 * np.eye(4), stamp=1))
    assert of_device(robot, "system")["volume"][0] == "failed"
    found = of_device(robot, "console")
    assert found["pedals"] == ("failed", "coag sends [], expected [1, 0]")
    assert found["teleop_scale"][0] == "failed"
    assert found["teleop_selection"] == ("skipped", "no pair of arms has been selected")
    assert of_device(robot, "SUJ/PSM1")["base_of_arm"][0] == "failed"


def test_valid_data_of_an_arm_that_is_off_fail_power_cycle_alone(monkeypatch):
    robot = started("PSM")
    line = robot.bus._lines["PSM/measured_js"]
    source = line.source
    monkeypatch.setattr(line, "source", lambda: replace(source(), stamp=robot.now))
    assert failed(robot) == {"power_cycle"}


def test_half_the_rate_fails_rates_alone(monkeypatch):
    robot = started("PSM")
    monkeypatch.setattr("trocar.robot.robot.PUBLISHED_CYCLES", 30)
    assert failed(robot, permission=Permission.read) == {"rates"}


def test_a_setpoint_velocity_in_degrees_fails_velocities_alone(monkeypatch):
    robot = started("PSM")
    line = robot.bus._lines["PSM/setpoint_js"]
    source = line.source
    monkeypatch.setattr(line, "source", lambda: replace(js := source(), velocity=57.3 * js.velocity))
    assert failed(robot, permission=Permission.motion) == {"velocities"}


@pytest.mark.parametrize(
    ("service", "answer", "check"),
    [
        ("forward_kinematics", m.KinematicsResult(np.eye(4), True), "forward"),
        ("inverse_kinematics", m.KinematicsResult(np.zeros(6), True), "inverse"),
        ("inverse_kinematics", m.KinematicsResult(np.zeros(6), False, "no"), "inverse"),
    ],
)
def test_a_service_with_a_wrong_answer_fails_its_check_alone(service, answer, check, monkeypatch):
    robot = started("PSM")
    monkeypatch.setitem(robot.bus._services, f"PSM/{service}", lambda *_: answer)
    assert failed(robot, permission=Permission.read) == {check}


def test_a_missing_service_and_a_missing_topic_fail_their_checks(monkeypatch):
    robot = started("PSM")
    monkeypatch.delitem(robot.bus._services, "PSM/actuator_to_joint_position")
    assert failed(robot, permission=Permission.read) == {"services"}
    monkeypatch.delitem(robot.bus._lines, "PSM/servo_cs")
    assert failed(robot, permission=Permission.read) == {"services", "topics"}


# -- command -----------------------------------------------------------------------------------------------------------


def call(*arguments):
    return CliRunner().invoke(app, ["crtk-check", *map(str, arguments)])


def test_the_command_lists_every_check_and_writes_them_to_a_file(tmp_path):
    file = tmp_path / "results.json"
    ran = call("--scene", ONE_ARM, "--arms", "PSM1", "--json", file)
    written = json.loads(file.read_text())
    assert ran.exit_code == 0, ran.output
    assert [row["check"] for row in written["results"]] == [check.name for check in checks_of("PSM")]
    every = checks_of("PSM")
    reading = sum(check.needs is Permission.read for check in every)
    assert written["summary"] == {"passed": reading, "failed": 0, "skipped": len(every) - reading}
    assert f"{reading} passed, 0 failed, {len(every) - reading} skipped" in ran.stdout
    assert ran.stdout.count("skipped") == len(every) - reading + 1


def test_the_command_exits_with_1_if_a_check_fails(monkeypatch):
    monkeypatch.setattr("trocar.robot.controller.power_on.PoweredArm.clipped", lambda self, q: np.array(q))
    ran = call("--scene", ONE_ARM, "--arms", "PSM1", "--allow-motion", "--unbounded")
    assert ran.exit_code == 1
    assert f"{len(checks_of('PSM')) - 1} passed, 1 failed, 0 skipped" in ran.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--amplitude", "0"], "--amplitude must be positive and finite, got 0.0"),
        (["--unbounded"], "--unbounded requires --allow-motion"),
        (
            ["--arms", "PSM7"],
            "device of the scene 'PSM7' is unknown. Did you mean 'PSM1'? Known: PSM1, system, console, footpedals.",
        ),
    ],
)
def test_wrong_options_of_the_command_give_one_line(options, said):
    ran = call("--scene", ONE_ARM, *options)
    assert (ran.exit_code, ran.stderr.strip()) == (2, f"error: {said}")


# -- handles -----------------------------------------------------------------------------------------------------------


def test_a_handle_made_at_the_moment_of_a_state_is_busy_until_its_own_move_has_ended():
    robot = started("PSM")
    psm = robot.psm("PSM")
    q, _ = psm.setpoint_jp()
    robot.controllers["PSM"].states.publish()  # stamp: now + 1 ns
    assert robot.bus.read("PSM/operating_state").stamp > robot.now
    handle = psm.move_jp(q + [0.02, 0, 0, 0, 0, 0])
    assert handle.is_busy()
    assert handle.wait()
    assert not handle.is_busy()
    np.testing.assert_allclose(psm.setpoint_jp()[0], q + [0.02, 0, 0, 0, 0, 0], atol=1e-9)


def test_a_handle_of_the_stand_in_starts_after_a_state_of_the_same_moment_too(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import crtk, dvrk\n"
        "from trocar.scripts.session import current\n"
        "arm = dvrk.psm(crtk.ral('x'), 'PSM')\n"
        "q, t = arm.setpoint_jp()\n"
        "q[0] += 0.02\n"
        "current().robot.controllers['PSM'].states.publish()\n"
        "handle = arm.move_jp(q)\n"
        "assert handle.is_busy()\n"
        "assert handle.wait()\n"
        "assert not handle.is_busy()\n"
    )
    session = Session(started("PSM"))
    try:
        assert run_script(session, script, [], None) == 0
    finally:
        session.close()
