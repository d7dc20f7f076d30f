"""The live robot: time, control laws, changes of the scene, snapshots, frames, recordings, failures."""

from __future__ import annotations

import dataclasses
import re
import threading
import time
from pathlib import Path

import mujoco
import numpy as np
import pytest
from arms.test_own_arm import own_arm, own_parameters

import trocar as tr
from tests.support.crtk_robot import Events, started
from tests.support.waiting import TIMEOUT, until
from trocar.arms import instruments
from trocar.errors import TrocarError
from trocar.robot import Robot
from trocar.robot.controller.states import MAX_COMMANDS
from trocar.robot.description import contact_forces
from trocar.robot.laws import LAWS, SERVO
from trocar.robot.messages import JointState
from trocar.robot.recorder import Recorder
from trocar.robot.robot import MAX_CYCLES
from trocar.robot.settings import ArmSettings
from trocar.simulation import Box, Solid

PERIOD = 1.0 / 1500.0
J3 = 2
POSE = np.array([0.1, 0.1, 0.14, 0.2, 0.3, -0.2, 0.0])  # away from the singular pose at home
GOAL = np.array([0.2, -0.1, 0.14, 0.3, 0.2, -0.2])
CARTESIAN = [name for name, law in LAWS.items() if law.cartesian]


def robot_of(arm="PSM", speed="stepped", **settings):
    return Robot(ArmSettings(arm=arm, **settings).build(), start="ready", speed=speed)


@pytest.fixture
def robot():
    return started("PSM", speed="stepped")


@pytest.fixture
def frictionless():
    return robot_of(friction=False)


@pytest.fixture
def real():
    with robot_of(speed="real") as robot:
        yield robot


def state(robot, arm="PSM"):
    return robot.simulation().frame().arms[arm]


def about(robot, arm="PSM"):
    return robot.simulation().frame().scene.arms[arm]


def after(robot, seconds, arm="PSM"):
    robot.run(seconds)
    return state(robot, arm)


def wait(condition):
    until(condition, "the robot")


# -- time ------------------------------------------------------------------------------------------------------------


def test_a_robot_of_one_arm_is_opened_by_the_arms_name():
    named, built = Robot("PSM", start="ready"), Robot(ArmSettings(arm="PSM").build(), start="ready")
    assert named.arms == built.arms == ("PSM",)
    for robot in (named, built):
        robot.psm("PSM").move_jp([0.1, 0.1, 0.12, 0.0, 0.0, 0.0])
        robot.run(0.2)
    np.testing.assert_array_equal(named.scene.data.qpos, built.scene.data.qpos)


def test_time_of_a_real_robot_passes_only_while_it_plays(real):
    sim = real.simulation()
    wait(lambda: sim.frame().time > 0.05)
    assert sim.frame().playing
    sim.pause()
    frame = sim.frame()
    time.sleep(0.1)
    assert (sim.frame().time, sim.frame().playing, sim.frame().factor) == (frame.time, False, 0.0)
    sim.step(7)
    assert sim.frame().time == pytest.approx(frame.time + 7 * PERIOD)
    sim.play()
    wait(lambda: sim.frame().time > frame.time + 0.05)


def test_a_robot_can_start_paused_and_its_speed_can_change():
    with Robot(ArmSettings().build(), start="ready", speed=2.0, playing=False) as robot:
        sim = robot.simulation()
        time.sleep(0.05)
        assert (sim.frame().time, sim.frame().speed) == (0.0, 2.0)
        sim.set_speed(0.25)
        began = time.perf_counter()
        sim.play()
        wait(lambda: sim.frame().time > 0.1)
        assert time.perf_counter() - began > 0.35  # 0.4 s, less what is caught up
        assert sim.frame().speed == 0.25


def test_a_waiting_client_of_a_paused_robot_waits_until_it_plays(real):
    real.pause()
    done = threading.Event()
    waiting = threading.Thread(target=lambda: (real.sleep(0.02), done.set()))
    waiting.start()
    assert not done.wait(0.15)
    real.play()
    assert done.wait(TIMEOUT)
    waiting.join()


def test_the_newest_commands_to_a_paused_robot_are_kept_and_dropped_ones_are_reported():
    robot = started("PSM")
    events = Events(robot, "PSM")
    q = robot.bus.read("PSM/setpoint_js").position
    for k in range(MAX_COMMANDS + 50):
        robot.bus.publish("PSM/servo_jp", JointState(position=q + (0.001 if k == MAX_COMMANDS + 49 else 0.0)))
    robot.step()
    assert events.warnings == [f"PSM: dropped 50 commands: at most {MAX_COMMANDS} wait for a control cycle"]
    np.testing.assert_allclose(robot.bus.read("PSM/setpoint_js").position, q + 0.001, atol=1e-12)
    robot.bus.publish("PSM/servo_jp", JointState(position=q))
    robot.step()
    assert len(events.warnings) == 1


def test_a_paused_fast_robot_is_advanced_by_steps_alone_and_a_stepped_one_can_play():
    robot = started("PSM")
    robot.pause()
    robot.sleep(1.0)
    assert robot.scene.time == 0.0
    robot.step(3)
    assert robot.scene.time == pytest.approx(3 * PERIOD)
    robot = started("PSM", speed="stepped")
    robot.simulation().play()
    robot.sleep(0.1)
    assert robot.scene.time == pytest.approx(0.1)


def test_a_slow_reader_of_a_frame_does_not_delay_the_robot(real):
    frame = real.simulation().frame()
    wait(lambda: real.simulation().frame().time > frame.time + 0.05)
    assert frame.arms["PSM"].q.shape == (7,)


def test_closing_ends_long_stepping():
    robot = robot_of(speed="real")
    errors = []

    def step():
        try:
            robot.simulation().step(MAX_CYCLES)
        except TrocarError as error:
            errors.append(str(error))

    stepping = threading.Thread(target=step)
    stepping.start()
    time.sleep(0.1)
    robot.close()
    stepping.join(TIMEOUT)
    assert ["closed" in error for error in errors] == [True]
    with pytest.raises(TrocarError, match="closed"):
        robot.play()


# -- control laws ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", LAWS)
def test_an_arm_follows_its_commands_under_every_law(frictionless, law):
    frictionless.simulation().arm("PSM").place(POSE)
    frictionless.simulation().arm("PSM").set_law(law)
    psm = frictionless.psm("PSM")
    assert psm.move_jp(GOAL).wait() is False  # stepped: the wait does not advance
    moved = after(frictionless, 2.5)
    np.testing.assert_allclose(moved.q[:6], GOAL, atol=2e-3 if LAWS[law].make else 0.02)
    np.testing.assert_allclose(moved.q_ref[:6], GOAL, atol=1e-9)
    np.testing.assert_allclose(moved.target[:6], GOAL, atol=1e-9)
    assert moved.law == law
    assert not psm.is_busy()
    assert psm.is_enabled()


@pytest.mark.parametrize("law", CARTESIAN)
def test_the_tip_and_the_jaw_go_to_their_targets_under_a_cartesian_law(frictionless, law):
    sim, psm = frictionless.simulation().arm("PSM"), frictionless.psm("PSM")
    sim.place(POSE)
    sim.set_law(law)
    T = psm.measured_cp()[0].copy()
    T[:3, 3] += [0.01, -0.01, 0.005]
    psm.move_cp(T)
    frictionless.run(1.5)
    psm.jaw.move_jp(0.3)
    moved = after(frictionless, 1.5)
    np.testing.assert_allclose(moved.T_tip[:3, 3], T[:3, 3], atol=1e-3)
    np.testing.assert_allclose(moved.T_ref, T, atol=1e-5)
    assert moved.q[6] == pytest.approx(0.3, abs=2e-3)


def test_the_law_of_the_dvrk_is_bit_for_bit_the_same_after_another_one():
    def moved(robot):
        robot.psm("PSM").move_jp(GOAL)
        robot.run(0.5)
        return np.array(robot.scene.data.qpos)

    robot = started("PSM", speed="stepped")
    expected = moved(robot)
    robot = started("PSM", speed="stepped")
    arm = robot.simulation().arm("PSM")
    arm.set_law("computed torque")
    arm.set_law(SERVO)
    np.testing.assert_array_equal(moved(robot), expected)


def test_gains_scale_those_of_the_dvrk(robot):
    arm = robot.simulation().arm("PSM")
    offsets = []
    for kp in (0.5, 1.0):
        arm.set_law(SERVO, {"kp": kp})
        arm.place(POSE)
        arm.push([20.0, 0.0, 0.0])
        offsets.append(np.abs(after(robot, 1.0).q - state(robot).q_ref)[0])
    assert offsets[0] > 1.5 * offsets[1]
    assert state(robot).gains == {"kp": 1.0, "ki": 1.0, "kd": 1.0}


def test_every_law_runs_with_its_gains_at_their_ends_on_every_arm():
    for name in tr.ARMS:
        robot = robot_of(name)
        for law, kind in LAWS.items():
            for end in ("minimum", "maximum"):
                gains = {gain: getattr(limits, end) for gain, limits in kind.gains.items()}
                robot.simulation().arm(name).set_law(law, gains)
                assert dict(after(robot, 0.004, name).gains) == gains


def test_an_arm_yields_to_a_push_by_its_impedance(frictionless):
    """Held by an impedance of 200 N/m, the tip yields by F / K."""
    arm = frictionless.simulation().arm("PSM")
    arm.place(POSE)
    arm.set_law("impedance", {"stiffness": 200.0, "damping": 80.0})
    rest = after(frictionless, 0.5).T_tip[:3, 3]
    force = np.array([0.6, -0.4, 0.5])
    arm.push(force)
    pushed = after(frictionless, 2.0)
    np.testing.assert_allclose(pushed.T_tip[:3, 3] - rest, force / 200.0, atol=3e-4)
    np.testing.assert_array_equal(pushed.force, force)
    arm.push(np.zeros(3))
    assert not state(frictionless).force.any()


def test_a_fault_names_the_bodies_that_touch():
    block = Solid("block", Box([0.0, 0.0, -0.17], [0.1, 0.1, 0.02]))
    robot = Robot(tr.load_scene("psm", timestep=1 / 1500, objects=[block]), start="ready")
    psm, events = robot.psm("PSM"), Events(robot, "PSM")
    assert psm.move_jp([0.0, 0.0, 0.12, 0.0, 0.0, 0.0]).wait()
    psm.move_jp([0.0, 0.0, 0.23, 0.0, 0.0, 0.0])
    assert robot.wait_for(lambda: psm.operating_state() == "FAULT", 3.0)
    assert re.search("mask .*: 0 0 1 0 0 0 0; .*(jaw|finger).* touches block|block touches", events.errors[-1])


def test_a_dvrk_that_is_pushed_too_hard_faults_and_can_be_powered_again(robot):
    arm, psm, events = robot.simulation().arm("PSM"), robot.psm("PSM"), Events(robot, "PSM")
    robot.run(0.01)
    arm.push([150.0, 0.0, 0.0])
    robot.run(1.0)
    assert psm.operating_state() == "FAULT"
    assert "tracking error" in events.errors[-1]
    arm.push(np.zeros(3))
    for command in ("enable", "home"):
        psm.state_command(command)
        robot.run(2.5)
    assert psm.is_homed()
    psm.move_jp(GOAL)
    np.testing.assert_allclose(after(robot, 2.5).q[:6], GOAL, atol=0.03)


def test_efforts_of_a_client_act_as_they_are_sent_under_every_law(robot):
    tau = np.array([0.5, 0.0, 1.0, 0.0, 0.0, 0.0])
    for law in LAWS:
        robot.simulation().arm("PSM").set_law(law)
        robot.psm("PSM").servo_jf(tau)
        moved = after(robot, PERIOD)
        np.testing.assert_allclose(moved.tau[:6], tau, atol=1e-9)
        np.testing.assert_allclose(moved.target[:6], tau, atol=1e-12)
        assert moved.q_ref is None


@pytest.mark.parametrize("arm", tr.ARMS)
def test_gravity_compensation_holds_an_arm_without_efforts(arm):
    """Zero efforts plus gravity compensation, from home and from elsewhere: within 1e-3 rad and 1e-4 m for 2 s."""
    robot = robot_of(arm)
    facts, client = about(robot, arm).arm, robot.arm(arm)
    client.use_gravity_compensation(True)
    for q in (facts.home, facts.lower + 0.6 * (facts.upper - facts.lower)):
        robot.simulation().arm(arm).place(q)
        client.servo_jf(np.zeros(facts.tip_joints))
        moved = after(robot, 2.0, arm)
        most = np.array([1e-3 if unit == "rad" else 1e-4 for unit in facts.joint_units])
        assert (np.abs(moved.q - q) < most).all(), moved.q - q


def test_an_arm_without_published_gains_runs_under_computed_torque():
    arm = own_arm()
    scene = tr.Scene({"own": tr.SceneArm(arm=arm, parameters=own_parameters())}, timestep=PERIOD)
    robot = Robot(scene, start="ready", speed="stepped")
    client, frame = robot.arm("own"), robot.simulation().frame()
    assert frame.arms["own"].law == "computed torque"
    goal = 0.5 * (arm.lower + arm.upper) * 0.9 + 0.1 * np.array(arm.home)
    client.move_jp(goal)
    moved = after(robot, 3.0, "own")
    np.testing.assert_allclose(moved.q_ref, goal, atol=1e-9)
    np.testing.assert_allclose(moved.q, goal, atol=0.02)
    with pytest.raises(TrocarError, match="no published PID gains"):
        robot.simulation().arm("own").set_law(SERVO)


# -- places and changes ------------------------------------------------------------------------------------------------


def test_place_moves_the_arm_instantly_within_its_limits_and_it_holds(robot):
    arm, upper = robot.simulation().arm("PSM"), about(robot).arm.upper
    robot.psm("PSM").move_jp(-GOAL)
    robot.run(0.1)
    arm.place([*GOAL, 0.3])
    np.testing.assert_allclose(state(robot).q, [*GOAL, 0.3], atol=1e-12)
    np.testing.assert_allclose(after(robot, 1.0).q, [*GOAL, 0.3], atol=0.01)
    assert not robot.psm("PSM").is_busy()
    arm.place(np.full(7, 9.0))
    np.testing.assert_allclose(state(robot).q, upper)
    assert state(robot).tau is None  # no step was taken yet


def test_without_the_counterweight_the_insertion_carries_the_instruments_weight(frictionless):
    arm = frictionless.simulation().arm("PSM")
    arm.set_law("computed torque")
    with_weight = after(frictionless, 1.0)
    arm.change(counterweight=False)
    without = after(frictionless, 1.0)
    g = [tr.load_mechanism("PSM", counterweight=c).gravity(without.q)[J3] for c in (True, False)]
    assert abs(g[1] - g[0]) > 1.0
    assert with_weight.tau[J3] == pytest.approx(g[0], abs=0.05)
    assert without.tau[J3] == pytest.approx(g[1], abs=0.05)


def test_a_change_keeps_the_state_the_commands_and_the_push_and_time_continues():
    robot = robot_of()
    sim, arm, psm = robot.simulation(), robot.simulation().arm("PSM"), robot.psm("PSM")
    arm.set_law("PD + gravity", {"kp": 0.3})
    arm.push([0.5, 0.0, 0.0])
    psm.move_jp(GOAL)
    robot.run(0.3)
    before = sim.frame()
    arm.change(friction=False)
    after_change = sim.frame()
    for name in ("q", "dq", "q_ref"):
        a, b = getattr(after_change.arms["PSM"], name), getattr(before.arms["PSM"], name)
        np.testing.assert_allclose(a, b, atol=1e-9)
    assert after_change.time == before.time
    assert not after_change.scene.arms["PSM"].friction
    assert after_change.arms["PSM"].force.tolist() == [0.5, 0.0, 0.0]
    assert (state(robot).law, state(robot).gains["kp"]) == ("PD + gravity", 0.3)
    assert psm.is_busy()
    np.testing.assert_allclose(after(robot, 2.0).q[:6], GOAL, atol=0.03)


@pytest.mark.parametrize("law", [SERVO, "feedback linearisation"])
def test_every_instrument_can_be_mounted_while_the_arm_moves(law):
    robot = robot_of()
    arm, psm = robot.simulation().arm("PSM"), robot.psm("PSM")
    arm.place(POSE)
    arm.set_law(law)
    for k, name in enumerate(instruments.names("PSM")[::7]):
        psm.move_jp(POSE[:6] + 0.05 * (-1) ** k)
        robot.run(0.1)
        before = state(robot)
        arm.change(instrument=name)
        facts = about(robot).arm
        assert facts.instrument == name
        np.testing.assert_allclose(state(robot).q, np.clip(before.q, facts.lower, facts.upper), atol=1e-9)
        assert robot.bus.read("PSM/tool_type").value == instruments.load_instrument(name, "PSM").name
        robot.run(0.05)
        T = tr.load_mechanism("PSM", instrument=name).forward_kinematics(state(robot).q)
        np.testing.assert_allclose(psm.measured_cp()[0], T, atol=2e-3)
        assert psm.is_enabled()


def test_an_instrument_from_a_file_is_mounted_if_it_is_given_as_a_path(robot, tmp_path):
    with pytest.raises(TrocarError, match=r"nowhere\.toml"):
        robot.simulation().arm("PSM").change(instrument=Path("nowhere.toml"))


def test_gravity_turns_for_all_arms(robot):
    robot.simulation().change(gravity=(0.0, -9.81, 0.0))
    np.testing.assert_allclose(about(robot).gravity_vector, (0.0, -9.81, 0.0))
    np.testing.assert_allclose(about(robot).mechanism().gravity_vector, (0.0, -9.81, 0.0))
    np.testing.assert_allclose(robot.scene.arms["PSM"].mechanism.gravity_vector, (0.0, -9.81, 0.0))


def test_windows_stay_connected_when_the_scene_of_a_running_robot_changes(real):
    psm, seen = real.psm("PSM"), []
    real.bus.subscribe("PSM/measured_js", seen.append)
    real.simulation().arm("PSM").change(friction=False, instrument="400093")
    count = len(seen)
    wait(lambda: len(seen) > count + 5)
    assert psm.move_jp(GOAL).wait(timeout=20.0)
    np.testing.assert_allclose(psm.measured_jp()[0], GOAL, atol=0.03)


def test_a_reset_restarts_time_and_brings_faulted_arms_back(robot):
    start, arm = state(robot).q, robot.simulation().arm("PSM")
    robot.psm("PSM").move_jp(GOAL)
    robot.run(0.5)
    arm.push([150.0, 0.0, 0.0])
    robot.run(1.0)
    assert robot.psm("PSM").operating_state() == "FAULT"
    now = robot.now
    robot.simulation().reset()
    assert robot.now >= now  # the robot's clock goes on
    frame = robot.simulation().frame()
    assert frame.time == 0.0
    np.testing.assert_allclose(frame.arms["PSM"].q, start, atol=1e-12)
    assert not frame.arms["PSM"].force.any()
    robot.run(0.1)
    assert robot.psm("PSM").is_homed()
    np.testing.assert_allclose(state(robot).q, start, atol=0.01)


# -- snapshots -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "law"), [("PSM", SERVO), ("PSM", "impedance"), ("MTMR", SERVO), ("PSM_Si", SERVO)])
def test_restoring_a_snapshot_is_bit_exact(name, law):
    robot = started(name, speed="stepped")
    arm, sim = robot.arm(name), robot.simulation()
    sim.arm(name).set_law(law)
    n = about(robot, name).arm.tip_joints
    arm.move_jp(np.array(about(robot, name).arm.home[:n]) + 0.1)
    robot.run(0.2345)  # in the middle of a move
    snapshot = sim.snapshot()

    def rest():
        rows = []
        for _ in range(20):
            robot.run(0.01)
            js = arm.measured_js()
            rows.append(np.concatenate([robot.scene.data.qpos, *js[:3], arm.setpoint_jp()[0]]))
        return np.array(rows), arm.is_busy()

    first, busy = rest()
    arm.servo_jf(np.zeros(n))
    sim.arm(name).push([1.0, 0.0, 0.0])
    robot.run(0.3)
    now = robot.now
    sim.restore(snapshot)
    assert now <= robot.now < now + 10**7
    again, busy_again = rest()
    np.testing.assert_array_equal(again, first)
    assert busy_again == busy


def test_a_snapshot_also_brings_back_an_earlier_scene_and_law():
    robot = robot_of()
    sim = robot.simulation()
    snapshot = sim.snapshot()
    robot.run(0.1)
    expected = np.array(robot.scene.data.qpos)
    sim.arm("PSM").change(instrument="400093", friction=False)
    sim.arm("PSM").set_law("computed torque")
    robot.run(0.1)
    sim.restore(snapshot)
    assert about(robot).friction
    robot.run(0.1)
    np.testing.assert_array_equal(robot.scene.data.qpos, expected)
    with pytest.raises(TrocarError, match="a snapshot of this robot"):
        sim.restore("yesterday")


# -- arguments are checked first ------------------------------------------------------------------------------------

NAN = float("nan")
BAD = {
    "speed NaN": (lambda s, a: s.set_speed(NAN), "speed must be a number from 0.05 to 10, got nan"),
    "speed too high": (lambda s, a: s.set_speed(11.0), "speed must be"),
    "speed no number": (lambda s, a: s.set_speed("fast"), "speed must be"),
    "no steps": (lambda s, a: s.step(0), "whole number, 1 to 90000, got 0"),
    "half a step": (lambda s, a: s.step(1.5), "whole number, 1 to 90000, got 1.5"),
    "too many steps": (lambda s, a: s.step(90_001), "whole number, 1 to 90000, got 90001"),
    "place too long": (lambda s, a: a.place(np.zeros(8)), "q must be 7 finite numbers"),
    "place NaN": (lambda s, a: a.place([NAN] * 7), "q must be 7 finite numbers"),
    "place no numbers": (lambda s, a: a.place("home"), "q must be 7 finite numbers"),
    "force NaN": (lambda s, a: a.push([NAN, 0, 0]), "force must be three finite numbers"),
    "force too large": (lambda s, a: a.push([1e13, 0, 0]), "force must be at most"),
    "gain NaN": (lambda s, a: a.set_law(SERVO, {"kp": NAN}), "kp of PID .* must be a number from 0 to 2"),
    "gain too high": (lambda s, a: a.set_law(SERVO, {"kp": 3.0}), "kp of PID"),
    "gain of another": (lambda s, a: a.set_law(SERVO, {"stiffness": 3.0}), "stiffness"),
    "gains no mapping": (lambda s, a: a.set_law(SERVO, [1.0]), "gains must be numbers by name"),
    "unknown law": (lambda s, a: a.set_law("PIDD"), "Did you mean 'PID"),
    "law no text": (lambda s, a: a.set_law([]), r"control law \[\] is unknown"),
    "unknown option": (lambda s, a: a.change(parameters="gondokaryono2019"), "'parameters' is unknown"),
    "gravity NaN": (lambda s, a: s.change(gravity=(0, 0, NAN)), "gravity must be three finite numbers"),
    "gravity huge": (lambda s, a: s.change(gravity=(0, 0, 1e300)), "gravity must be at most"),
    "friction no flag": (lambda s, a: a.change(friction="no"), "friction must be True or False"),
    "unknown instrument": (lambda s, a: a.change(instrument="SPOON"), "SPOON"),
    "file of an instrument as a text": (lambda s, a: a.change(instrument="/etc/own.toml"), "Path of a file"),
    "set-up joints without a cart": (lambda s, a: a.change(set_up=[0.0]), "not on a cart"),
    "unknown arm": (lambda s, a: s.arm("PSM4").push(np.zeros(3)), "service 'simulation/PSM4/push' is unknown"),
    "not recorded": (lambda s, a: a.recorded(), "PSM is not being recorded"),
    "period NaN": (lambda s, a: s.robot.every(NAN, print), "a period of at least"),
    "action no function": (lambda s, a: s.robot.every(0.1, "print"), "a function of time"),
}


@pytest.fixture(scope="module")
def shared():
    with Robot(ArmSettings().build(), start="ready", speed="real", playing=False) as robot:
        yield robot


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_argument_is_refused_by_name_and_changes_nothing(shared, case):
    action, message = BAD[case]
    sim = shared.simulation()
    before = sim.frame()
    with pytest.raises(TrocarError, match=message):
        action(sim, sim.arm("PSM"))
    now = sim.frame()
    assert (now.time, now.speed, now.scene, now.playing) == (before.time, 1.0, before.scene, False)
    for name in ("q", "target", "force"):
        np.testing.assert_array_equal(getattr(now.arms["PSM"], name), getattr(before.arms["PSM"], name))
    assert (now.arms["PSM"].law, now.arms["PSM"].gains) == (before.arms["PSM"].law, before.arms["PSM"].gains)


# -- failures --------------------------------------------------------------------------------------------------------


def errors_of(robot):
    said = []
    robot.bus.subscribe("simulation/error", lambda message: said.append(message.value))
    return said


def test_a_diverging_run_pauses_reports_it_and_goes_back_to_the_start(real):
    said, home = errors_of(real), about(real).arm.home

    def explode():
        real.before_cycle.clear()
        real.scene.data.qvel[:] = 1e9

    real.before_cycle.append(explode)
    wait(lambda: said)
    assert "diverged" in said[0]
    assert "back at their start" in said[0]
    assert not real.playing
    assert isinstance(real.error, TrocarError)
    with pytest.raises(TrocarError, match="diverged"):
        real.sleep(1.0)
    np.testing.assert_allclose(state(real).q, home, atol=1e-9)
    real.play()
    real.sleep(0.05)
    assert real.error is None
    assert len(said) == 1


def test_diverging_steps_also_raise_in_the_caller(real):
    real.pause()
    home = about(real).arm.home

    def explode():
        real.before_cycle.clear()
        real.scene.data.qvel[:] = 1e9

    real.before_cycle.append(explode)
    with pytest.raises(TrocarError, match="diverged"):
        real.simulation().step(100)
    np.testing.assert_allclose(state(real).q, home, atol=1e-9)


class Broken:
    period = None

    def __call__(self, state, setpoint):
        raise np.linalg.LinAlgError("singular")


class NotFinite(Broken):
    def __call__(self, state, setpoint):
        return np.full(7, np.nan)


@pytest.mark.parametrize(("law", "text"), [(Broken, "singular"), (NotFinite, "not finite")])
def test_a_law_that_fails_is_replaced_and_the_arm_is_held(real, monkeypatch, law, text):
    said, home = errors_of(real), about(real).arm.home
    kind = LAWS["computed torque"]
    monkeypatch.setattr("trocar.robot.laws.LAWS", {**LAWS, "broken": type(kind)("", {}, lambda m, g: law())})
    real.simulation().arm("PSM").set_law("broken")
    wait(lambda: said)
    assert text in said[0]
    assert not real.playing
    assert state(real).law == SERVO
    real.play()
    real.sleep(0.2)
    np.testing.assert_allclose(state(real).q, home, atol=5e-3)


def test_an_action_that_fails_is_removed_and_reported_and_others_can_be_ended(real):
    said, calls = errors_of(real), []

    def broken(now):
        raise ZeroDivisionError("a bug")

    real.every(0.01, broken)
    wait(lambda: said)
    assert "ZeroDivisionError('a bug')" in said[0]
    assert not real.playing
    stop = real.every(0.01, calls.append)
    real.play()
    wait(lambda: len(calls) > 3)
    stop()
    count = len(calls)
    real.sleep(0.05)
    assert len(calls) == count
    assert len(said) == 1


def test_in_fast_time_the_error_of_an_action_reaches_the_caller():
    robot = started("PSM")
    robot.every(0.01, lambda now: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        robot.sleep(0.1)
    robot.sleep(0.1)  # the action is gone


def test_an_action_may_use_the_services_of_its_own_robot():
    robot = started("PSM", speed="stepped")
    frames = []
    robot.every(PERIOD, lambda now: frames.append(robot.simulation().frame().time))
    robot.step(3)
    assert len(set(frames)) == 3


def test_services_from_many_threads_leave_the_robot_in_one_of_their_states(real):
    laws, failures = list(LAWS), []

    def work(k):
        arm, psm = real.simulation().arm("PSM"), real.psm("PSM")
        try:
            for i in range(20):
                arm.set_law(laws[(k + i) % len(laws)])
                psm.move_jp(0.02 * GOAL * i)
                arm.push([0.01 * i, 0.0, 0.0])
                real.simulation().frame()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert real.error is None
    assert state(real).law in LAWS
    assert state(real).force[0] == pytest.approx(0.19)


# -- recordings ------------------------------------------------------------------------------------------------------


def test_a_recording_equals_the_motion(robot):
    arm = robot.simulation().arm("PSM")
    arm.set_law("computed torque")
    robot.psm("PSM").move_jp([0.1, 0.0, 0.13, 0.0, 0.0, 0.0])
    arm.record()
    moved = after(robot, 0.3)
    recording = arm.recorded()
    assert recording.provenance["arm"] == "PSM"
    assert "ComputedTorque" in recording.provenance["controller"]
    assert recording.t[-1] == pytest.approx(0.3, abs=4 * PERIOD)
    np.testing.assert_allclose(np.diff(recording.t), 3 * PERIOD)
    np.testing.assert_allclose(recording.q[-1], moved.q, atol=1e-2)
    np.testing.assert_allclose(recording.commands["q"][-1], moved.q_ref, atol=1e-2)
    # q, dq, ddq and tau of a row belong to one step: the equations hold, up to friction
    mechanism = about(robot).mechanism()
    left = recording.tau - mechanism.effort_bias - mechanism.inverse_dynamics(recording.q, recording.dq, recording.ddq)
    friction = np.abs(mechanism.friction(recording.q[0], np.ones(7)))
    friction = friction + np.abs(mechanism.friction(recording.q[0], -np.ones(7)))
    assert (np.abs(left) <= friction + 0.02).all()


def test_recording_does_not_change_the_motion():
    def moved(record):
        robot = started("PSM", speed="stepped")
        if record:
            robot.simulation().arm("PSM").record()
            robot.simulation().arm("PSM").history()
        robot.psm("PSM").move_jp(GOAL)
        robot.run(0.3)
        robot.simulation().frame()
        return robot.scene.data.qpos.tolist(), robot.psm("PSM").measured_jf()[0].tolist()

    assert moved(True) == moved(False)


def test_a_recording_restarts_at_a_reset_and_ends_at_a_change():
    robot, warned = robot_of(), []
    robot.bus.subscribe("simulation/warning", lambda message: warned.append(message.value))
    arm = robot.simulation().arm("PSM")
    arm.record()
    robot.run(0.1)
    robot.simulation().reset()
    robot.run(0.05)
    assert arm.recorded().t[-1] < 0.06
    arm.record()
    arm.change(friction=False)
    assert warned == ["the recording of PSM has ended: the simulation was changed"]
    with pytest.raises(TrocarError, match="not being recorded"):
        arm.recorded()


def test_the_engines_effort_is_that_of_the_equations(frictionless):
    """Without friction nothing is left of the history's efforts."""
    arm = frictionless.simulation().arm("PSM")
    arm.set_law("computed torque")
    arm.place([0.1, 0.1, 0.14, 0.2, 0.3, -0.2, 0.2])
    arm.history()
    frictionless.psm("PSM").move_jp([0.5, -0.2, 0.16, 0.5, 0.0, 0.2])
    frictionless.run(0.3)
    rows = arm.history().arrays()
    left = rows["applied_tau"] - about(frictionless).mechanism().inverse_dynamics(rows["q"], rows["dq"], rows["ddq"])
    assert np.abs(rows["dq"][:, 0]).max() > 0.1
    # after the first step, in which the load on the constraints builds up
    assert (np.abs(left[1:]).max(0) < 1e-4 * np.maximum(np.abs(rows["applied_tau"]).max(0), 0.01)).all()


# -- frames and the local device -------------------------------------------------------------------------------------


def test_a_frame_is_a_copy(robot):
    frame = robot.simulation().frame()
    q, qpos = frame.arms["PSM"].q.copy(), frame.qpos.copy()
    robot.psm("PSM").move_jp(GOAL)
    robot.run(0.5)
    np.testing.assert_array_equal(frame.arms["PSM"].q, q)
    np.testing.assert_array_equal(frame.qpos, qpos)
    later = robot.simulation().frame()
    assert later.number > frame.number
    assert later.scene is frame.scene
    assert np.abs(later.qpos - qpos).max() > 0.01


def test_a_description_builds_its_scene_again():
    robot = robot_of()
    robot.simulation().arm("PSM").change(instrument="400093", friction=False)
    scene = robot.simulation().frame().scene
    built = scene.build(contacts=False)
    assert built.model.nq == len(robot.simulation().frame().qpos)
    assert built.arms["PSM"].arm.instrument == about(robot).arm.instrument == "PROGRASP_FORCEPS_400093"
    assert not scene.arms["PSM"].settings.build().arms["PSM"].options.friction


def test_the_simulation_is_local():
    robot = started("PSM")
    assert not any(name.startswith("simulation") for name in (*robot.bus.topics, *robot.bus.services, *robot.devices))
    assert robot.bus.read("simulation/frame").arms["PSM"].law == SERVO
    with pytest.raises(TrocarError, match="must serve exactly"):
        robot.add_device("other", "PSM")


def test_frames_are_immutable(robot):
    robot.simulation().arm("PSM").push([0.1, 0.0, 0.0])
    robot.step(2)
    frame = robot.simulation().frame()
    for value in (frame, frame.arms["PSM"]):
        arrays = [array for array in vars(value).values() if isinstance(array, np.ndarray)]
        assert len(arrays) > 1
        for array in arrays:
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0.0
        with pytest.raises(dataclasses.FrozenInstanceError):
            value.qpos = value.q = None
    for mapping in (frame.arms, frame.scene.arms, frame.scene.fixed, frame.arms["PSM"].gains):
        with pytest.raises(TypeError):
            mapping["PSM"] = None


def test_the_contact_force_equals_the_weight_of_the_object():
    """A ball at rest on a plane: one upward force at the contact, equal to its weight."""
    xml = """<mujoco><worldbody><geom type='plane' size='1 1 1'/>
      <body pos='0 0 0.0999'><freejoint/><geom type='sphere' size='0.1' mass='2'/></body></worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 2000)
    ((point, force),) = contact_forces(model, data)
    np.testing.assert_allclose(point[:2], 0.0, atol=1e-6)
    np.testing.assert_allclose(force, [0.0, 0.0, 2 * 9.81], rtol=1e-3, atol=1e-3)


def test_a_recorder_keeps_the_last_rows_at_its_interval_and_restarts_at_a_reset():
    recorder = Recorder(seconds=1.0, interval=0.1)

    def add(t, value):
        if recorder.due(t):
            recorder.add(t, *(np.array([float(value)]) for _ in Recorder.NAMES))

    for t in (0.0, 5.0, 5.01):  # of a run before
        add(t, 0)
    assert len(recorder.arrays()["t"]) == 2
    add(0.0, 1)
    assert recorder.arrays()["q"].tolist() == [[1.0]]
    for k in range(1, 200):
        add(0.05 * k, k)
    arrays = recorder.arrays()
    np.testing.assert_allclose(np.diff(arrays["t"]), 0.1)
    assert len(arrays["t"]) == 10
    assert arrays["q"][-1, 0] == 198.0
