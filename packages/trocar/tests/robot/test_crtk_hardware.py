"""Hardware interface of the controllers: roll of a master, potentiometers, observers, set-up joints."""

import numpy as np
import pytest

import trocar as tr
from tests.support.crtk_robot import Events, started
from trocar.errors import TrocarError
from trocar.robot.controller.actuators import Servo
from trocar.robot.controller.constants import PERIOD
from trocar.simulation.forces.faults import EncoderBias


def test_homing_a_master_finds_its_roll_at_the_lower_limit():
    robot = started("MTMR", start="off")
    robot.scene.arms["MTMR"].place([0.1, 0.2, 0.0, 0.3, 0.5, 0.0, 2.0])
    mtm, told = robot.mtm("MTMR"), []
    robot.bus.subscribe("MTMR/status", lambda message: told.append(message.value))
    assert mtm.enable(5)
    robot.run(0.01)
    assert robot.bus.read("MTMR/measured_js").stamp == 0  # no encoder is known yet
    assert mtm.home(15)
    states = [text.split()[-1] for text in told if "current state" in text]
    search = ["CALIBRATING_ROLL", "ROLL_CALIBRATED", "RESETTING_ROLL_ENCODER", "ROLL_ENCODER_RESET"]
    assert states[2:] == ["CALIBRATING_ENCODERS_FROM_POTS", "ENCODERS_BIASED", *search, "HOMING", "HOMED"]
    assert "MTMR: found roll lower limit" in told
    truth = robot.scene.arms["MTMR"].q
    np.testing.assert_allclose(mtm.measured_jp()[0], truth, atol=np.radians(1.0))
    np.testing.assert_allclose(truth, 0.0, atol=np.radians(4.0))
    mtm.disable()
    before = robot.time
    assert mtm.enable(5)
    assert mtm.home(15)
    assert robot.time - before < 2.0  # the roll is known


@pytest.mark.parametrize(("bias", "state"), [(np.radians(4.5), "ENABLED"), (np.radians(5.5), "FAULT")])
def test_an_encoder_that_contradicts_its_potentiometer_is_a_fault_after_10_ms(bias, state):
    robot = started("PSM")
    psm, events = robot.psm("PSM"), Events(robot, "PSM")
    robot.scene.arms["PSM"].inject(EncoderBias(motor="yaw", bias=bias))
    robot.step(14)
    early = psm.operating_state()
    robot.step(6)
    robot.scene.arms["PSM"].inject()  # the scene is shared
    assert early == "ENABLED"
    assert psm.operating_state() == state
    expected = ["PSM: IO: inconsistency between encoders and potentiometers"] if state == "FAULT" else []
    assert events.errors == expected


def test_a_position_beyond_the_limits_is_clipped_and_its_tracking_error_is_no_fault():
    robot = started("PSM")
    psm, arm = robot.psm("PSM"), robot.controllers["PSM"].arm
    q = psm.setpoint_jp()[0]
    psm.servo_jp([2.0, *q[1:]])  # a step of 1.6 rad; 0.5 rad are allowed
    robot.run(1.0)
    assert psm.operating_state() == "ENABLED"
    assert psm.measured_jp()[0][0] == pytest.approx(arm.upper[0], abs=0.02)


def test_the_observer_adds_the_filtered_effort_that_its_mass_does_not_explain():
    arm = tr.load_arm("PSM_Si")
    servo, bare = Servo([arm]), Servo([arm], observed=False)
    servo.on[:] = bare.on[:] = True
    servo.q_ref[:] = bare.q_ref[:] = 0.001
    still = np.zeros(7)
    pid = bare.efforts(still, still)
    np.testing.assert_allclose(servo.efforts(still, still), pid)  # nothing observed yet
    # At rest the observer filters its own output, which is an integral of cut-off frequency times the PID's output.
    for k in range(1, 5):
        cutoff = np.array([50, 50, 20, 10, 10, 10, 10])
        np.testing.assert_allclose(servo.efforts(still, still), pid * (1 + k * cutoff * PERIOD), rtol=0.02)
    servo.in_effort[:] = True
    servo.efforts(still, still)
    servo.stop(slice(0, 7))
    servo.on[:] = True
    np.testing.assert_allclose(servo.efforts(still, still), pid)  # forgotten with the motors off


def test_observers_remove_the_position_error_of_an_si_arm_and_can_be_switched_off():
    errors = {}
    for observers in (True, False):
        robot = started("PSM_Si", observers=observers)
        psm = robot.psm("PSM_Si")
        psm.move_jr([0.2, -0.1, 0.02, 0, 0, 0]).wait()
        robot.run(0.3)
        errors[observers] = np.abs(psm.setpoint_jp()[0] - psm.measured_jp()[0])[:3]
    assert (errors[True] < 0.2 * errors[False]).all()
    assert (errors[False][:2] > 5e-4).all()


def test_set_up_joints_move_by_hand_only_while_their_clutch_is_pressed():
    robot = started("dvrk", arms=["PSM1"])
    pressed = []
    robot.bus.subscribe("PSM1/IO/SUJ_clutch", lambda message: pressed.append(message.buttons[0]))
    suj = robot.suj()
    q = suj.PSM1.measured_jp()[0]
    there = q + np.array([0.01, *[0.0] * (len(q) - 1)])
    with pytest.raises(TrocarError, match="press its SUJ clutch"):
        robot.move_set_up_joints("PSM1", there)
    robot.press_set_up_clutch("PSM1")
    before = robot.bus.read("SUJ/PSM1/local/measured_cp").T
    robot.move_set_up_joints("PSM1", there)
    np.testing.assert_allclose(suj.PSM1.measured_jp()[0], there)
    moved = robot.bus.read("SUJ/PSM1/local/measured_cp").T[:3, 3] - before[:3, 3]
    np.testing.assert_allclose(np.linalg.norm(moved), 0.01, atol=1e-6)
    robot.press_set_up_clutch("PSM1", False)
    with pytest.raises(TrocarError, match="brakes"):
        robot.move_set_up_joints("PSM1", q)
    assert pressed == [0, 1, 0]
    with pytest.raises(TrocarError, match="arm on the cart"):
        robot.press_set_up_clutch("MTML")


def test_the_arms_of_the_set_up_joints_take_state_commands():
    robot = started("dvrk", arms=["PSM1"])
    warned, states = [], []
    robot.bus.subscribe("SUJ/warning", lambda message: warned.append(message.value))
    robot.bus.subscribe("SUJ/PSM1/operating_state", states.append)
    for word in ("enable", "dance"):
        robot.suj().PSM1.state_command(word)
        robot.step(2)
    assert len(states) == 2
    assert [text for text in warned if "dance" in text]
    assert robot.bus.call("SUJ/PSM1/operating_state").is_homed
