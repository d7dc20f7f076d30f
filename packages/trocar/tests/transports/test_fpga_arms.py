"""Arms on the controller boards: homing by a client, calibration that cancels, faults, hands, instruments."""

from __future__ import annotations

import gc
import json
import os
import weakref
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tests.support.board_rig import PERIOD, BoardRig, loaded
from tests.support.waiting import until
from tools.boards import requests
from tools.boards.client import BoardArm
from trocar.errors import TrocarError
from trocar.transports.fpga import nominal
from trocar.transports.fpga.bedside import Bedside
from trocar.transports.fpga.chip import chip_memory
from trocar.transports.fpga.io_file import read_io_file
from trocar.transports.fpga.json_table import read_commented_json
from trocar.transports.fpga.system_file import pedals, read_system

DATA = Path(os.environ.get("TROCAR_DATA", "")) / "dvrk_config_jhu"
CLASSIC = DATA / "jhu-dVRK"
measured = pytest.mark.skipif(not CLASSIC.is_dir(), reason="needs the configuration files of a real dVRK")


@pytest.mark.parametrize(
    ("name", "hardware", "goal", "tolerance"),
    [
        ("PSM1", "QLA1", [0.1, -0.1, 0.12, 0.2, 0.1, -0.1, 0.3], 0.01),
        ("PSM1", "DQLA", [-0.1, 0.1, 0.15, 0.0, 0.0, 0.0, 0.2], 0.01),
        ("ECM", "QLA1", [0.1, 0.1, 0.1, 0.1], 0.01),
        ("MTML", "QLA1", [0.0] * 7, 0.07),  # the dVRK accepts 4 degrees
        ("MTMR", "QLA1", [0.0] * 7, 0.07),
    ],
)
def test_a_client_homes_and_holds(name, hardware, goal, tolerance):
    q = {name: [0.2, 0.2, -0.1, 0.5, 0.3, 0.2, 0.5]} if name.startswith("MTM") else None
    rig = BoardRig(name, hardware=hardware, q=q)
    arm = rig.arm(name)
    truth = rig.scene.arms[name]
    # power-on and calibration move nothing, and potentiometers and encoders agree with the arm
    measured_q = arm.joints()
    np.testing.assert_allclose(measured_q, truth.q, atol=4e-3)
    error = arm.move(np.array(goal), 1000, 300)
    assert np.abs(error).max() < tolerance
    np.testing.assert_allclose(truth.q, arm.joints(), atol=8e-3)  # a count of a master's roll is 6 mrad


@measured
@pytest.mark.parametrize("name", ["PSM1", "MTML"])
def test_the_calibration_of_a_real_arm_cancels(name):
    rig = BoardRig("MTML", "PSM1", config=CLASSIC / "system-MTML-PSM1-Teleop.json")
    arm = rig.arm(name)
    truth = rig.scene.arms[name]
    np.testing.assert_allclose(arm.joints(), truth.q, atol=4e-3)
    io_arm = BoardArm(rig.client, next(r for r in rig.configuration.robots if r.name == name))
    currents = []
    for _ in range(300):  # without a command, the client measures no current
        currents.append(io_arm.currents(rig.client.sample()))
        rig.command(io_arm.words(np.zeros(7)))
    assert np.abs(np.mean(currents, axis=0)).max() < 3e-4


def io_files():
    """IO files: nominal ones, and those of real arms if they are here."""
    rows = [nominal.io_file(name, loaded(name).arms[name].arm) for name in ("PSM1", "ECM", "MTML")]
    paths = [path for path in sorted(CLASSIC.glob("sawRobotIO1394-*.json")) if "gripper" not in path.name]
    return rows, paths


def test_dac_and_adc_round_trips_are_within_one_bit(tmp_path):
    rng = np.random.default_rng(3)
    rows, paths = io_files()
    for k, content in enumerate(rows):
        paths.append(tmp_path / f"sawRobotIO1394-{k}.json")
        paths[-1].write_text(json.dumps(content))
    for path in paths:
        for robot in read_io_file(path).robots:
            for actuator in robot.actuators:
                current = rng.uniform(-1.0, 1.0, 200)
                bits = np.rint(actuator.command.offset + actuator.command.scale * current)
                true = (bits - actuator.command.offset) / actuator.command.scale  # what the plant applies
                reported = np.rint((true - actuator.feedback.offset) / actuator.feedback.scale)
                back = actuator.feedback.offset + actuator.feedback.scale * reported
                assert np.abs(back - true).max() <= abs(actuator.feedback.scale)
                assert np.abs(true - current).max() <= abs(1.0 / actuator.command.scale)


def test_a_current_of_the_client_is_the_current_of_the_motor():
    rig = BoardRig("PSM1")
    arm = rig.arm("PSM1")
    words = BoardArm(rig.client, rig.configuration.robots[0])
    tau = np.array([0.2, -0.2, 0.5, 0.01, 0.0, 0.0, 0.0])
    rig.command(words.words(tau))
    per_effort = [each.current for each in rig.configuration.robots[0].actuators]
    np.testing.assert_allclose(rig.plant.current, tau * per_effort, atol=2e-4)
    del arm


def test_firmware_velocities_follow_the_arm():
    rig = BoardRig("PSM1")
    arm = rig.arm("PSM1")
    client = BoardArm(rig.client, rig.configuration.robots[0])
    start = client.positions(rig.client.sample())
    goal = start + np.array([0.1, 0.1, 0.01, 0.1, 0.1, 0.1, 0.1])
    for k in range(300):
        arm.cycle(start + (goal - start) * k / 300, (goal - start) / (300 * PERIOD))
    true = np.linalg.solve(rig.scene.arms["PSM1"].arm.motors.coupling, rig.scene.arms["PSM1"].dq)
    np.testing.assert_allclose(client.velocities(rig.client.sample()), true, rtol=0.05, atol=5e-3)


# -- faults ------------------------------------------------------------------------------------------------------------


def held(rig, name="PSM1"):
    arm = rig.arm(name)
    goal = BoardArm(rig.client, rig.configuration.robots[0]).positions(rig.client.sample())
    for _ in range(30):
        arm.cycle(goal, np.zeros_like(goal))
    return arm, goal


def test_a_lost_client_stops_the_motors_and_the_arm_is_held():
    rig = BoardRig("PSM1")
    arm, goal = held(rig)
    before = rig.scene.arms["PSM1"].q
    rig.wait(0.1)
    with pytest.raises(TrocarError, match="watchdog"):
        arm.cycle(goal, np.zeros(7))
    assert not rig.boards.on.any()
    rig.wait(3600.0)  # time passes at once
    rig.client.sample()
    np.testing.assert_allclose(rig.scene.arms["PSM1"].q, before, atol=0.02)


def test_a_failed_amplifier_stops_with_its_supply():
    rig = BoardRig("PSM1")
    arm = rig.arm("PSM1")
    arm.move(arm.joints(), 100)
    rig.plant.failed[6, 0] = 1.2
    for _ in range(30):
        arm.cycle(arm.positions(rig.client.sample()), np.zeros(7))
    assert rig.plant.current[0] == pytest.approx(1.2)
    rig.client.write(63, 0, 0x80000)  # the dVRK removes the power
    rig.command({6: [0] * 4, 7: [0] * 4})
    speed = abs(rig.scene.arms["PSM1"].dq[0])
    for _ in range(300):
        rig.command({6: [0] * 4, 7: [0] * 4})
    assert rig.plant.current[0] == 0.0
    assert abs(rig.scene.arms["PSM1"].dq[0]) < speed  # it coasts


def test_power_loss_is_reported():
    rig = BoardRig("PSM1")
    arm, goal = held(rig)
    rig.client.write(1, 0, 0x80000)  # as by a second program
    with pytest.raises(TrocarError, match="lost power"):
        arm.cycle(goal, np.zeros(7))


def test_an_unsupported_arm_sinks_without_current_and_a_supported_one_does_not():
    drops = {}
    for supported in (True, False):
        rig = BoardRig("PSM1", supported=supported)
        q = rig.scene.arms["PSM1"].q
        rig.arm("PSM1")
        drops[supported] = np.abs(rig.scene.arms["PSM1"].q - q).max()
    assert drops[True] < 1e-3
    assert drops[False] > 0.02


def test_an_arm_sags_as_a_whole_once_two_of_its_motors_have_current():
    """The PID of the dVRK starts on all joints at once; a joint without error gets no current and sags, too."""
    rig = BoardRig("PSM1")
    rig.arm("PSM1")
    arm, truth = BoardArm(rig.client, rig.configuration.robots[0]), rig.scene.arms["PSM1"]
    q = truth.q
    for roll, moved in ((0.0, False), (0.05, True)):  # torque of the motor [N m]
        for _ in range(150):
            rig.client.sample(arm.boards)
            rig.client.write_block(arm.block(np.array([0.05, 0, 0, roll, 0, 0, 0])))
            rig.wait()
        assert (abs(truth.q - q)[1] > 1e-3) == moved  # the pitch has no current


def test_lost_counts_separate_encoder_and_potentiometer():
    rig = BoardRig("PSM1")
    rig.arm("PSM1")
    client = BoardArm(rig.client, rig.configuration.robots[0])
    samples = rig.client.sample()
    assert np.abs(client.positions(samples) - client.potentiometers(samples)).max() < 5e-3
    Bedside(rig.plant).answer(b"slip 6 0 20000")
    rig.command(client.words(np.zeros(7)))
    samples = rig.client.sample()
    assert abs(client.positions(samples) - client.potentiometers(samples))[0] > np.radians(5.0)


def test_brakes_of_the_ecm_hold_until_current_flows():
    rig = BoardRig("ECM")
    arm = rig.arm("ECM")
    truth = rig.scene.arms["ECM"]
    assert truth.brakes
    arm.move(truth.q, 10)
    assert not truth.brakes
    rig.wait(0.1)
    rig.client.sample()
    rig.command({4: [0x80008000] * 4, 5: [0x80008000] * 4})
    assert truth.brakes


# -- people ------------------------------------------------------------------------------------------------------------


def lines(rig):
    bedside = Bedside(rig.plant)
    return lambda text: json.loads(bedside.answer(text.encode()))


def test_a_hand_moves_a_master_and_lets_it_go():
    rig = BoardRig("MTMR", q={"MTMR": [0.0, 0.3, -0.2, 0.0, 0.5, 0.0, 0.0]})
    say = lines(rig)
    tip = rig.scene.arms["MTMR"].tip_pose()[:3, 3]
    assert "error" not in say("move MTMR 0.03 0 0.02 0.5")
    for _ in range(1200):
        rig.plant.step()
    moved = np.array(say("truth")["arms"]["MTMR"]["tip"])[:3, 3] - tip
    np.testing.assert_allclose(moved, [0.03, 0.0, 0.02], atol=0.004)
    say("let_go MTMR")
    assert not rig.plant.hands


def test_a_hand_turns_the_grip_and_keeps_its_place():
    rig = BoardRig("MTMR", q={"MTMR": [0.0, 0.1, 0.0, 0.1, 0.1, 0.1, 0.1]})
    say, truth = lines(rig), rig.scene.arms["MTMR"]
    rig.client.scan()
    say("hold MTMR")
    before = truth.tip_pose()
    for rotation in ([0.3, 0.0, 0.0], [0.0, 0.3, 0.0], [0.0, 0.0, -0.3]):
        start = truth.tip_pose()[:3, :3]
        say("turn MTMR {} {} {} 0.5".format(*rotation))
        for _ in range(900):
            rig.plant.step()
        turned = Rotation.from_matrix(truth.tip_pose()[:3, :3] @ start.T).as_rotvec()
        np.testing.assert_allclose(turned, rotation, atol=0.1)
    np.testing.assert_allclose(truth.tip_pose()[:3, 3], before[:3, 3], atol=5e-3)


@pytest.mark.parametrize("name", ["MTML", "MTMR"])
def test_a_held_master_is_aligned_well_within_the_dvrks_tolerance(name):
    for wrist in ([0.01, 0.54, -0.43, 0.54], [0.3, 0.4, 0.3, 0.5], [-0.29, -0.24, 0.38, -0.49]):
        rig = BoardRig(name, q={name: [0.0, 0.1, 0.0, 0.1, 0.1, 0.1, 0.1]})
        arm, truth = rig.arm(name), rig.scene.arms[name]
        rig.plant.hold(name)
        tip = truth.tip_pose()[:3, 3]
        goal = np.array([0.0, 0.1, 0.0, *wrist])
        arm.move(goal, 700, 300)
        R = truth.mechanism.forward_kinematics(goal)[:3, :3].T @ truth.tip_pose()[:3, :3]
        assert Rotation.from_matrix(R).magnitude() < np.radians(4.0)  # the dVRK starts teleoperation below 5 degrees
        np.testing.assert_allclose(truth.tip_pose()[:3, 3], tip, atol=5e-3)


def test_pedals_head_sensor_and_gripper_are_seen_by_the_client():
    rig = BoardRig("MTMR", "PSM1")
    rig.client.scan()
    say = lines(rig)
    assert rig.client.read(1, 10) & 1
    assert say("press clutch")["pressed"]["clutch"]
    assert not rig.client.read(1, 10) & 1
    say("release clutch")
    assert rig.client.read(1, 10) & 1
    say("press dvrk_head_sensor")
    assert not rig.client.read(0, 10) >> 3 & 1
    gripper = next(r for r in rig.configuration.robots if r.name == "MTMR_gripper").actuators[0]
    for angle in (0.0, 0.3, 1.0):
        say(f"gripper MTMR {angle}")
        rig.plant.step()
        rig.command({2: [0x80008000] * 4})
        bits = rig.client.sample()[gripper.board].pots[gripper.axis]
        volts = gripper.voltage.scale * bits
        assert gripper.potentiometer.offset + gripper.potentiometer.scale * volts == pytest.approx(angle, abs=1e-3)


@pytest.mark.parametrize(
    "text", ["", "foo", "press", "press nothing", "move PSM1 a b c", "fail 1 1 1", "gripper PSM1 2"]
)
def test_lines_that_are_not_understood_are_answered_with_an_error(text):
    assert "error" in lines(BoardRig("PSM1"))(text)


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "name"), [("400006", "LARGE NEEDLE DRIVER"), ("400093", "PROGRASP FORCEPS")])
def test_the_chip_names_the_instrument(number, name):
    memory = chip_memory(number)
    assert memory[0x80:0x83] == b"997"
    assert int.from_bytes(memory[0xA4:0xA8], "big") == int(number)
    assert memory[0x160:0x17B].rstrip(b"\0").decode() == name


def test_the_chip_is_read_through_the_registers_after_its_time():
    rig = BoardRig("PSM1")
    rig.client.scan()
    rig.client.write(1, 13, 0x00800002)
    assert rig.client.read(1, 13) & 0x2000
    rig.wait(0.4)
    assert rig.client.read(1, 13) & 0x20F0 == 0
    words = rig.client.read_block(1, 0x6000, 64)
    assert int(words[9]) == 400006


def test_ampios_instrument_program_reads_the_whole_chip():
    """`instrument` of mechatronics-software: 2,048 bytes in blocks of 256, then the checks of the status."""
    rig = BoardRig("PSM1")
    rig.client.scan()
    memory = b""
    for control in (0x00000002, *[0x03] * 7):
        rig.client.write(1, 13, control)
        rig.wait(0.4)
        assert rig.client.read(1, 13) & 0x20F0 == 0
        memory += rig.client.read_block(1, 0x6000, 64).astype(">u4").tobytes()
    assert memory == chip_memory("400006")
    status = rig.client.read(1, 13)
    assert status & 1, "DS2505 interface not enabled (hardware problem)"
    assert status >> 1 & 3 == 1, "failed to communicate with DS2505"
    assert status >> 24 == 0x0B, "unknown device family code"
    rig.plant.mounting.remove("PSM1")
    rig.client.write(1, 13, 2)
    rig.wait(0.4)
    assert rig.client.read(1, 13) >> 1 & 3 == 3  # no presence pulse


def test_scenes_of_exchanged_instruments_are_freed_while_the_server_collects_nothing():
    rig = BoardRig("PSM1")
    mounting = rig.plant.mounting
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        scenes = []
        for number in ("400049", "400006", "400049"):
            mounting.remove("PSM1")
            mounting.insert("PSM1", number)
            until(lambda: mounting.update() or not mounting.changing, "the instrument")
            scenes.append(weakref.ref(rig.plant.scene))
        assert [scene() is None for scene in scenes] == [True, True, False]
    finally:
        gc.enable()
        gc.unfreeze()


def test_every_classic_instrument_has_a_chip():
    from trocar.arms import instruments

    for name in instruments.names("PSM"):
        assert len(chip_memory(name)) == 2048


def test_comments_in_files_are_ignored_but_not_in_texts(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{ /* x */ "a": "// no comment", // yes\n "b": "/* no */" }')
    assert read_commented_json(path, "file") == {"a": "// no comment", "b": "/* no */"}


def test_files_of_other_versions_or_formats_are_named(tmp_path):
    path = tmp_path / "io.json"
    path.write_text('{"$version": 7, "robots": []}')
    assert "version 7" in read_io_file(path).notes[0]
    path.write_text("<Config></Config>")
    with pytest.raises(TrocarError, match="XML"):
        read_io_file(path)
    path.write_text('{"arms": [{"name": "PSM1", "type": "PSM", "serial": "1"}]}')
    assert "sawRobotIO1394-PSM1-1.json" in read_system(path).notes[0]


def test_arms_with_another_name_on_the_boards_and_arms_that_the_dvrk_simulates(tmp_path):
    system = nominal.write_system(tmp_path, loaded("PSM1"), ["PSM1"])
    content = json.loads(system.read_text())
    content["arms"][0] |= {"name": "PSM2", "name_on_IO": "PSM1", "IO_file": "sawRobotIO1394-PSM1-trocar.json"}
    content["arms"].append({"name": "ECM", "type": "ECM", "simulation": "KINEMATIC", "arm_file": "ECM.json"})
    system.write_text(json.dumps(content))
    configuration = read_system(system)
    assert configuration.types == {"PSM2": "PSM"}
    assert [robot.name for robot in configuration.robots] == ["PSM2"]
    assert configuration.chips == {"PSM2": 7}
    assert "PSM2_tool" in {switch.name for switch in configuration.inputs}
    assert configuration.notes == ()


def test_files_are_also_searched_in_the_working_directory_and_named_by_the_ports(tmp_path, monkeypatch):
    """JHU's open-xr/system-SUJ-ECM-PSM1-PSM2-OpenXR-Teleop.json and system-PSM2-contact-sensor.json."""
    system = nominal.write_system(tmp_path, loaded("PSM1"), ["PSM1"])
    content = json.loads(system.read_text())
    content["IOs"][0]["configuration_files"] = ["contact.json"]
    switch = {"name": "contact", "board_id": 6, "bit_id": 5, "pressed_value": True}
    (tmp_path / "contact.json").write_text(json.dumps({"$version": "6", "digital_inputs": [switch]}))
    (tmp_path / "open-xr").mkdir()
    below = tmp_path / "open-xr" / system.name
    below.write_text(json.dumps(content))
    assert read_system(below).robots == ()
    monkeypatch.chdir(tmp_path)
    configuration = read_system(below)
    assert [robot.name for robot in configuration.robots] == ["PSM1"]
    assert "contact" in {switch.name for switch in configuration.inputs}


def test_set_up_joints_without_boards_are_no_arm(tmp_path):
    system = nominal.write_system(tmp_path, loaded("PSM1"), ["PSM1"])
    content = json.loads(system.read_text())
    content["arms"].append({"name": "SUJ", "type": "SUJ_Fixed", "kinematic": "suj-fixed.json"})
    system.write_text(json.dumps(content))
    configuration = read_system(system)
    assert configuration.types == {"PSM1": "PSM"}
    assert "SUJ_Fixed" in configuration.notes[0]


def test_arms_that_another_component_provides_have_no_boards(tmp_path):
    """JHU's system-MTMR-MTML-patient-cart-ROS.json."""
    system = nominal.write_system(tmp_path, loaded("PSM1"), ["PSM1"])
    content = json.loads(system.read_text())
    content["arms"].append({"name": "MTMR", "type": "MTM_GENERIC", "component": "OpenXR", "interface": "MTMR"})
    system.write_text(json.dumps(content))
    configuration = read_system(system)
    assert configuration.types == {"PSM1": "PSM"}
    assert configuration.notes == ("MTMR: arms of type MTM_GENERIC have no boards; MTMR is not simulated",)


def test_nominal_files_of_all_arms_have_different_boards(tmp_path):
    arms = ("MTML", "MTMR", "ECM", "PSM1", "PSM2", "PSM3")
    path = nominal.write_system(tmp_path, loaded(*arms), arms)
    configuration = read_system(path)
    assert sorted(configuration.boards) == list(range(12))
    assert configuration.notes == ()
    assert {switch.name for switch in configuration.inputs} >= {"clutch", "coag", "camera", "PSM2_tool"}


@pytest.mark.parametrize("name", ["PSM1", "ECM", "MTML", "MTMR"])
def test_the_axes_of_a_nominal_file_have_different_current_offsets(name):
    """sawRobotIO1394 (mtsRobot1394::CheckConfiguration) refuses an arm whose DAC offsets are all the same."""
    rig = BoardRig(name)
    robot = next(robot for robot in rig.configuration.robots if robot.name == name)
    offsets = [actuator.command.offset for actuator in robot.actuators]
    assert len(set(offsets)) == len(offsets)
    for actuator in robot.actuators:  # no current is no current in both directions
        assert actuator.feedback.offset + actuator.feedback.scale * actuator.command.offset == pytest.approx(0.0)


def test_the_gravity_file_of_a_master_fits_its_model():
    mechanism = loaded("MTMR").arms["MTMR"].mechanism
    parameters = np.array(nominal.gravity_file("MTMR", mechanism)["GC_controller"]["gc_dynamic_params_pos"])
    q = np.random.default_rng(5).uniform(-0.5, 0.5, (50, 7))
    error = nominal.gravity_regressor(q) @ parameters - mechanism.gravity(q)
    assert np.abs(error).max(axis=0) == pytest.approx(np.zeros(7), abs=8e-3)  # [N m], below the friction


def test_pedals_are_known_for_both_masters_and_boards():
    for side, first in (("L", 0), ("R", 2)):
        qla = {switch.name: switch for switch in pedals(f"sawRobotIO1394-MTM{side}-foot-pedals-QLA1.json")}
        assert (qla["clutch"].board, qla["clutch"].bit) == (first + 1, 0)
        dqla = {switch.name: switch for switch in pedals(f"sawRobotIO1394-MTM{side}-foot-pedals-DQLA.json")}
        assert (dqla["bicoag"].board, dqla["bicoag"].bit) == (first, 21)
    assert pedals("sawRobotIO1394-XYZ.json") is None


# -- protocols ------------------------------------------------------------------------------------------------------


def test_boards_commanded_one_by_one_move_together():
    rig = BoardRig("PSM1")
    rig.arm("PSM1")
    client = BoardArm(rig.client, rig.configuration.robots[0])
    steps = []
    for _ in range(20):
        before = rig.plant.time
        for node in (0, 1):
            rig.client.read_block(node, 0, 32)
        words = client.words(np.zeros(7))
        for node, board in enumerate((6, 7)):
            data = np.array([board << 8 | 6, *words[board], 0], dtype=">u4").tobytes()
            rig.send(requests.block_write(node, 0, data))
        steps.append(round((rig.plant.time - before) / PERIOD))
        rig.wait()
    assert steps[2:] == [1] * 18  # after the first cycles, which show how many boards there are


def test_a_master_is_held_while_only_its_roll_has_current():
    q = [0.2, 0.2, -0.1, 0.5, 0.3, 0.2, 0.5]
    rig = BoardRig("MTMR", q={"MTMR": q})
    arm = rig.arm("MTMR")
    client = BoardArm(rig.client, rig.configuration.robots[0])
    for _ in range(500):  # as while the dVRK searches the limit of the roll
        rig.command(client.words(np.array([0.0] * 6 + [-0.004])))
    np.testing.assert_allclose(rig.scene.arms["MTMR"].q[:6], q[:6], atol=0.05)
    assert rig.scene.arms["MTMR"].q[6] < 0.3
    del arm
