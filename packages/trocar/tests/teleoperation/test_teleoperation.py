"""Teleoperation on a simulated robot: masters, PSMs, ECM, pedals and console on one bus."""

from dataclasses import replace

import numpy as np
import pytest

from tests.support.crtk_robot import started
from tests.support.teleop_rig import MASTER, PAIR, SLAVE, PairRig, angle_between
from trocar.errors import TrocarError
from trocar.robot.interface import INTERFACES
from trocar.robot.messages import Joy
from trocar.simulation.forces.faults import EncoderBias
from trocar.spatial import pose, rotation
from trocar.teleoperation import PSMSettings, Teleoperation


class Listener:
    """All messages of a device, and the goals that an arm is sent."""

    def __init__(self, robot, name):
        self.texts = {kind: [] for kind in ("error", "warning", "status")}
        for kind, texts in self.texts.items():
            robot.bus.subscribe(f"{name}/{kind}", lambda message, texts=texts: texts.append(message.value))


# -- masters -----------------------------------------------------------------------------------------------------------


def test_a_locked_orientation_is_kept_while_the_hand_moves_the_master():
    rig = PairRig()
    master = rig.robot.mtm(MASTER)
    master.use_gravity_compensation(True)
    master.body.servo_cf(np.zeros(6))
    rig.robot.step(2)
    master.lock_orientation_as_is()
    R = rig.hand.arm.tip_pose()[:3, :3]
    rig.hand.grasp()
    rig.hand.goal[:3, 3] += (0.06, -0.04, 0.05)
    rig.robot.run(1.5)
    assert np.linalg.norm(rig.hand.arm.tip_pose()[:3, 3] - rig.hand.goal[:3, 3]) < 0.02
    assert np.degrees(angle_between(rig.hand.arm.tip_pose()[:3, :3], R)) < 2.0
    # another orientation is turned to, no faster than the joints of a move
    goal = master.measured_cp()[0][:3, :3] @ rotation("y", 0.5)
    master.lock_orientation(goal)
    q = rig.hand.arm.q.copy()
    rig.robot.run(0.1)
    speed = np.abs(rig.hand.arm.q - q)[3:] / 0.1
    assert (speed <= 1.3 * np.array([joint.velocity for joint in rig.hand.arm.arm.joints[3:]])).all()
    rig.robot.run(1.0)
    assert np.degrees(angle_between(master.measured_cp()[0][:3, :3], goal)) < 2.0


def test_a_master_follows_a_stream_of_poses():
    rig = PairRig()
    master = rig.robot.mtm(MASTER)
    T = master.setpoint_cp()[0]
    for k in range(300):
        goal = T.copy()
        goal[0, 3] += 1e-4 * k
        master.servo_cp(goal)
        rig.robot.step()
    rig.robot.run(0.3)
    assert np.linalg.norm(master.setpoint_cp()[0][:3, 3] - goal[:3, 3]) < 1e-9
    assert np.linalg.norm(master.measured_cp()[0][:3, 3] - goal[:3, 3]) < 5e-3


# -- bus ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole():
    robot = started("dvrk", speed="stepped")
    return robot, Teleoperation(robot, PSMSettings(start_gripper_threshold=0.0))


def test_every_pair_and_the_camera_are_devices(whole):
    robot, teleoperation = whole
    assert {f"{m}_{p}" for m in ("MTML", "MTMR") for p in ("PSM1", "PSM2", "PSM3")} == set(teleoperation.pairs)
    for name, kind in [*((pair, "TELEOP_PSM") for pair in teleoperation.pairs), ("MTML_MTMR_ECM", "TELEOP_ECM")]:
        assert robot.devices[name] == kind
        assert {f"{name}/{topic.name}" for topic in INTERFACES[kind].topics} <= set(robot.bus.topics)
    assert robot.teleop_ecm().get_scale() == 0.2


def test_the_console_starts_pairs_and_pedals_stop_them(whole):
    robot, teleoperation = whole
    pair, console = robot.teleop_psm("MTMR_PSM1"), robot.console()
    console.teleop_start()
    robot.run(0.01)
    assert pair.desired_state() == "ALIGNING_MTM"  # no operator yet
    robot.bus.publish("console/emulate_operator_present", Joy(buttons=(1,)))
    while not (pair.is_following() and robot.teleop_psm("MTML_PSM2").is_following()):
        robot.step(15)
        assert robot.time < 5.0
    assert robot.teleop_psm("MTMR_PSM3").current_state() == "DISABLED"
    console.teleop_set_scale(0.4)
    robot.run(0.01)
    assert pair.get_scale() == 0.4
    # pedal by foot: reported 0.2 s later
    teleoperation.press("clutch")
    robot.run(0.15)
    assert pair.is_following()
    robot.run(0.1)
    assert not pair.is_following()
    assert robot.bus.read("MTMR/orientation_locked").value
    teleoperation.press("clutch", False)
    robot.run(0.8)
    assert pair.is_following()
    # camera: PSM pairs off, ECM on
    robot.bus.publish("console/emulate_camera", Joy(buttons=(1,)))
    robot.run(0.05)
    assert pair.current_state() == "DISABLED"
    assert robot.teleop_ecm().is_following()
    robot.bus.publish("console/emulate_camera", Joy(buttons=(0,)))
    robot.run(0.05)
    assert not robot.teleop_ecm().is_following()
    assert pair.desired_state() == "ENABLED"
    console.teleop_select("MTMR_PSM3")
    robot.run(0.05)
    assert pair.current_state() == "DISABLED"
    assert robot.teleop_psm("MTMR_PSM3").desired_state() == "ENABLED"
    console.teleop_stop()
    robot.run(0.05)
    assert {robot.teleop_psm(name).current_state() for name in teleoperation.pairs} == {"DISABLED"}


def test_the_error_of_a_robot_without_teleoperation_explains_how_to_add_it():
    with pytest.raises(TrocarError, match="Teleoperation"):
        started("MTMR").teleop_psm("MTMR_PSM1")


def test_a_tap_of_the_clutch_swaps_the_psms_of_a_master():
    robot = started("dvrk_si", speed="stepped")
    teleoperation = Teleoperation(robot, pairs=["MTMR_PSM1", "MTMR_PSM3", "MTML_PSM2"])
    teleoperation.press("clutch")
    robot.run(0.1)
    teleoperation.press("clutch", False)
    robot.run(0.05)
    assert {pair for pair in teleoperation.pairs if robot.console().teleop_is_selected(pair)} == {
        "MTMR_PSM3",
        "MTML_PSM2",
    }
    assert teleoperation.console.selected == {"MTMR_PSM3", "MTML_PSM2"}
    with pytest.raises(TrocarError, match="MTMR_PSM9"):
        Teleoperation(started("dvrk_si"), pairs=["MTMR_PSM9"])


def test_coag_is_the_operator_of_a_console_with_pedals_only():
    robot = started("MTMR", speed="stepped")
    Teleoperation(robot, input_type="PEDALS_ONLY")
    robot.bus.publish("console/emulate_coag", Joy(buttons=(1,)))
    assert robot.bus.read("console/operator_present").buttons == (1,)
    with pytest.raises(TrocarError, match="input_type"):
        Teleoperation(started("MTMR"), input_type="FEET")


def test_commands_of_a_pair_reach_it_over_the_bus():
    rig = PairRig()
    rig.follow()
    client, robot = rig.robot.teleop_psm(PAIR), rig.robot
    client.lock_translation(True)
    client.following_mtm_body_servo_cf([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    robot.run(0.01)
    assert robot.bus.read(f"{PAIR}/translation_locked").buttons == (1,)
    assert robot.controllers[MASTER].wrench[1].tolist() == [0, 0, 1, 0, 0, 0]
    assert np.allclose(client.alignment_offset() @ client.alignment_offset().T, np.eye(3))
    client.lock_rotation(True)
    robot.run(0.01)
    assert robot.bus.read(f"{MASTER}/orientation_locked").value
    client.set_align_MTM(False)
    robot.run(0.02)
    assert not client.is_following()  # it starts again
    assert rig.until(client.is_following, 1.0) < 1.0
    client.align_MTM()
    robot.run(0.02)
    assert client.current_state() == "ALIGNING_MTM"
    client.disable()
    robot.run(0.02)
    assert client.current_state() == "DISABLED"


# -- faults ------------------------------------------------------------------------------------------------------------


def holds(rig, seconds=0.3):
    """True if the PSM's set-point does not move."""
    before = rig.setpoint()
    rig.robot.run(seconds)
    return np.abs(rig.setpoint() - before).max() < 1e-9


def test_a_master_that_reports_nan_stops_the_psm():
    rig = PairRig()
    rig.follow()
    heard = Listener(rig.robot, PAIR)
    rig.hand.grasp()
    rig.hand.goal[0, 3] += 0.05
    rig.robot.run(0.1)
    rig.teleoperation.drive(MASTER, lambda sample: replace(sample, master=pose(p=(np.nan, 0, 0))))
    rig.robot.step(3)
    assert holds(rig)
    assert len(heard.texts["error"]) == 1
    assert "MTM measured_cp has a value that is not finite" in heard.texts["error"][0]
    rig.teleoperation.drive(MASTER, None)
    assert rig.until(lambda: rig.pair.state.following, 3.0) > 0.0
    assert rig.pair.state.following
    with pytest.raises(TrocarError, match="master"):
        rig.teleoperation.drive("PSM1", None)


def test_a_master_beyond_its_limits_stops_the_psm():
    rig = PairRig()
    rig.follow()
    heard = Listener(rig.robot, PAIR)
    rig.hand.arm.inject(EncoderBias(motor=rig.hand.arm.arm.motors.names[0], bias=3.0))
    rig.robot.step(3)
    assert holds(rig)
    assert "MTMR joint 1 (outer_yaw) is beyond its limit" in heard.texts["error"][0]
    assert not rig.pair.state.following
    rig.hand.arm.inject()


def test_a_psm_that_faults_disables_the_pair():
    rig = PairRig()
    rig.follow()
    heard = Listener(rig.robot, PAIR)
    rig.robot.controllers[SLAVE].fault("PID: tracking error, mask: 1 0 0 0 0 0 0")
    rig.robot.run(0.05)
    assert rig.pair.state.current == "DISABLED"
    assert any("tracking error" in text for text in heard.texts["error"])
    assert rig.robot.controllers[MASTER].mode == "position"  # the master holds
    # the operator at the console starts again: the PSM is enabled, homed and aligned with first
    rig.robot.console().teleop_start()
    rig.robot.run(0.01)
    assert rig.pair.state.current == "SETTING_ARMS_STATE"
    assert rig.until(lambda: rig.pair.state.following, 10.0) < 10.0


def test_random_commands_leave_a_pair_within_its_states():
    from trocar.robot import messages as m

    rig, rng = PairRig(), np.random.default_rng(0)
    rig.start()
    bus = rig.robot.bus
    for _ in range(300):
        match int(rng.integers(8)):
            case 0:
                bus.publish(
                    f"{PAIR}/state_command", m.String(value=str(rng.choice(["enable", "disable", "align_MTM", "x"])))
                )
            case 1:
                bus.publish(f"{PAIR}/set_scale", m.Float(value=float(rng.choice([0.1, 1.0, -1.0, np.nan, np.inf]))))
            case 2:
                bus.publish(f"{PAIR}/lock_rotation", m.Bool(value=bool(rng.integers(2))))
            case 3:
                bus.publish(f"{PAIR}/lock_translation", m.Bool(value=bool(rng.integers(2))))
            case 4:
                w = rng.choice([0.0, 1.0, np.nan], 6) if rng.integers(2) else np.zeros(3)
                bus.publish(f"{PAIR}/following/mtm/body/servo_cf", m.Wrench(vector=w))
            case 5:
                rig.press("clutch", bool(rng.integers(2)))
            case 6:
                bus.publish(
                    "console/emulate_clutch", m.Joy(buttons=tuple(rng.integers(0, 5, int(rng.integers(3))).tolist()))
                )
            case 7:
                rig.press(str(rng.choice(["operator_present", "camera"])), bool(rng.integers(2)))
        rig.robot.step(int(rng.integers(1, 12)))
        s = rig.pair.state
        assert s.current in ("DISABLED", "SETTING_ARMS_STATE", "ALIGNING_MTM", "ENABLED")
        assert not s.following or s.current == "ENABLED"
        assert 0.0 < s.scale <= 1.0
        assert np.isfinite(rig.setpoint()).all()
