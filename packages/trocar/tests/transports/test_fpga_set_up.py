"""Set-up joints of a Classic cart on their controller board: potentiometers, brakes, clutch buttons, lift and hands."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from tests.support.board_rig import BoardRig, loaded
from tools.boards.set_up import SetUpBoard
from trocar.transports.fpga import nominal
from trocar.transports.fpga.bedside import Bedside

OUTPUTS = {
    "no_mux_reset": {"low_duration": 0.0001},
    "mux_increment": {"high_duration": 0.0001},
    "control_PWM": {"is_PWM": True, "PWM_frequency": 40000.0},
    "disable_PWM": {},
}
BUTTONS = ("motor_up", "motor_down")
TYPES = {"ECM": "ECM", "PSM1": "PSM", "PSM2": "PSM", "PSM3": "Motorized PSM"}
NODE, BOARD = 2, 12
BITS = 5242.88  # per ampere
DATA = Path(os.environ.get("TROCAR_DATA", "")) / "dvrk_config_jhu"
measured = pytest.mark.skipif(not DATA.is_dir(), reason="needs the configuration files of a real dVRK")


def set_up_folder(folder):
    """Files of a system with PSM1 and the set-up joints in the form of release 2.4, with made-up potentiometers."""
    system = nominal.write_system(folder, loaded("PSM1"), ["PSM1"])
    content = json.loads(system.read_text())
    content["arms"].append({"name": "SUJ", "type": "SUJ_Classic", "IO": "IO1", "arm_file": "suj-mine.json"})
    system.write_text(json.dumps(content))
    actuators = [
        {
            "actuator_id": axis,
            "board_id": BOARD,
            "axis_id": axis,
            "drive": {
                "current_to_bits": {"offset": 32700 + 10 * axis, "scale": BITS},
                "bits_to_current": {"offset": -(32700 + 10 * axis) / BITS, "scale": 1.0 / BITS},
                "maximum_current": 2.2,
            },
            "potentiometer": {"bits_to_voltage": {"offset": 0.0, "scale": 4.5 / 65536}},
        }
        for axis in range(4)
    ]
    robot = {"name": "SUJ", "hardware_version": "QLA1", "only_IO": True, "actuators": actuators}
    places = [{"board_id": BOARD, "bit_id": k} for k in range(4)]
    buttons = [{"name": name, **place, "pressed_value": True} for name, place in zip(BUTTONS, places, strict=False)]
    outputs = [{"name": name, **place, **OUTPUTS[name]} for name, place in zip(OUTPUTS, places, strict=True)]
    (folder / "sawRobotIO1394-SUJ.json").write_text(
        json.dumps({"$version": 6, "robots": [robot], "digital_outputs": outputs, "digital_inputs": buttons})
    )
    rows = {"primary_offsets": -2.0, "primary_scales": 1.0, "secondary_offsets": -2.2, "secondary_scales": 1.1}
    arms = [
        {
            "name": name,
            "type": TYPES[name],
            "plug_number": plug,
            "brake_release_current": 2.2,
            **{key: [value] * 6 for key, value in rows.items()},
        }
        for plug, name in enumerate(TYPES, start=1)
    ]
    (folder / "suj-mine.json").write_text(json.dumps({"arms": arms}))
    return system


def check_potentiometers(rig, arms):
    rig.client.scan()
    board = SetUpBoard(rig.client, rig.configuration, rig.wait)
    for _ in range(2):  # the dVRK resets the multiplexer after every round
        positions = board.positions()
        for arm in arms:
            true = rig.scene.cart.q_setup[arm]
            np.testing.assert_allclose(positions[arm][:, : len(true)], [true, true], atol=2e-4)


def test_set_up_joints_are_read_with_the_writes_of_the_dvrk(tmp_path):
    check_potentiometers(BoardRig("PSM1", config=set_up_folder(tmp_path)), ["PSM1"])


@measured
def test_set_up_joints_of_a_real_cart_are_read_with_the_writes_of_the_dvrk():
    rig = BoardRig("PSM1", "ECM", config=DATA / "jhu-daVinci" / "system-SUJ-ECM-PSM1.json")
    check_potentiometers(rig, ["ECM", "PSM1", "PSM2", "PSM3"])


def test_outputs_of_files_before_release_2_4_have_other_names(tmp_path):
    system = set_up_folder(tmp_path)
    path = tmp_path / "sawRobotIO1394-SUJ.json"
    text = path.read_text()
    for new, old in {"no_mux_reset": "NoMuxReset", "mux_increment": "MuxIncrement"}.items():
        text = text.replace(new, old)
    path.write_text(text)
    rig = BoardRig("PSM1", config=system)
    rig.client.scan()
    rig.client.write(NODE, 6, 2 << 8 | 2)
    for _ in range(2):  # high and low
        rig.client.write(NODE, 6, 2 << 8)
        rig.client.write(NODE, 6, 2 << 8 | 2)
    rig.plant.step()
    rig.command({6: [0] * 4})
    assert int((rig.client.sample()[BOARD].positions >> 28 & 1) @ [1, 2, 4, 8]) == 2


def test_a_pulse_of_an_output_ends_by_itself():
    """Register 8 of a channel: high time << 16 | low time of its output [1/49.152 MHz]; AmpIO inverts the levels."""
    rig = BoardRig("PSM1")
    rig.client.scan()
    for bit, times in ((0, 4915 << 16), (1, 4915), (3, 4915 << 16 | 4915)):
        rig.client.write(0, 16 * (bit + 1) + 8, times)
    rig.client.write(0, 6, 0xF << 8 | 0xD)
    assert rig.client.read(0, 6) == 0xD
    rig.wait(0.01)
    rig.command({6: [0] * 4})
    assert rig.client.read(0, 6) == 0xE  # 0 fell, 1 rose; 2 stays without times, 3 alternates too fast to tell
    assert rig.client.sample()[6].inputs >> 12 & 15 == 0xE
    rig.wait(0.01)
    rig.command({6: [0] * 4})
    assert rig.client.read(0, 6) == 0xE


class SetUpRig(BoardRig):
    """A powered controller of set-up joints, and lines of the bedside port."""

    def __init__(self, folder):
        super().__init__("PSM1", config=set_up_folder(folder))
        bedside = Bedside(self.plant)
        self.say = lambda text: json.loads(bedside.answer(text.encode()))
        self.client.scan()
        # amplifiers of the IO file: command and sign of every plug
        robot = next(robot for robot in self.configuration.robots if robot.name == "SUJ")
        self.drives = [actuator.command for actuator in robot.actuators]
        self.client.write(NODE, 0, 0xF0000)
        self.run(300, enable=True)

    def run(self, cycles, currents=(0.0, 0.0, 0.0, 0.0), enable=False):
        """Cycles with currents [A] of the four plugs."""
        flags = 0x80000000 | (0x30000000 if enable else 0)
        bits = [round(d.offset + d.scale * i) & 0xFFFF for d, i in zip(self.drives, currents, strict=True)]
        for _ in range(cycles):
            self.client.sample()
            self.command({BOARD: [flags | bit for bit in bits]})

    def joints(self, arm):
        return np.array(self.say("joints")["set_up"][arm])


@pytest.fixture
def cart(tmp_path):
    rig = SetUpRig(tmp_path)
    before = rig.plant.scene.cart
    yield rig
    rig.plant.scene.cart = before  # the scene is shared with other tests
    rig.plant.scene.set_up("PSM1", before.q_setup["PSM1"])


def test_brakes_hold_the_set_up_joints_until_their_current_flows(cart):
    before, base = cart.joints("PSM1"), cart.scene.T_world_base("PSM1")
    goal = before[2] + 0.1
    assert "brakes" in cart.say(f"set_up PSM1 3 {goal} 0.2")["error"]
    cart.run(50, (2.2, 0.0, 0.0, 0.0))  # those of the ECM
    assert "brakes" in cart.say(f"set_up PSM1 3 {goal} 0.2")["error"]
    cart.run(50, (0.0, 2.2, 0.0, 0.0))
    assert "error" not in cart.say(f"set_up PSM1 3 {goal} 0.2")
    cart.run(350, (0.0, 2.2, 0.0, 0.0))
    np.testing.assert_allclose(cart.joints("PSM1"), before + 0.1 * (np.arange(6) == 2), atol=1e-12)
    assert np.abs(cart.scene.T_world_base("PSM1")[:3, 3] - base[:3, 3]).max() > 0.02
    # the client reads it after the brakes have closed
    cart.run(50)
    positions = SetUpBoard(cart.client, cart.configuration, cart.wait).positions()
    assert positions["PSM1"][:, 2] == pytest.approx(goal, abs=2e-4)
    assert "brakes" in cart.say(f"set_up PSM1 3 {goal} 0.2")["error"]


def test_a_motion_ends_when_the_brakes_close_and_the_current_is_measured(cart):
    before = cart.joints("PSM1")
    cart.run(30, (0.0, 2.2, 0.0, 0.0))
    cart.say(f"set_up PSM1 2 {before[1] + 0.2} 1.0")
    cart.run(750, (0.0, 2.2, 0.0, 0.0))
    currents = (cart.client.sample()[BOARD].currents - [drive.offset for drive in cart.drives]) / BITS
    np.testing.assert_allclose(currents, [0.0, 2.2, 0.0, 0.0], atol=0.02)
    cart.run(30)
    stopped = cart.joints("PSM1")
    assert 0.05 < stopped[1] - before[1] < 0.15
    cart.run(60, (0.0, 2.2, 0.0, 0.0))  # the hand has let go
    np.testing.assert_array_equal(cart.joints("PSM1"), stopped)


def test_set_up_joints_that_do_not_exist_or_leave_their_range_are_refused(cart):
    cart.run(30, (2.2, 2.2, 2.2, 2.2))
    for line in ("set_up PSM1 3 99", "set_up PSM1 7 0", "set_up MTMR 1 0", "set_up PSM3 1 0.1", "set_up PSM1 2 3.9"):
        assert "error" in cart.say(line)
    assert "SUJ_Classic" in json.loads(Bedside(BoardRig("PSM1").plant).answer(b"set_up PSM1 1 0"))["error"]


def duty(share):
    """Register of an output in its turn: low time, high time; the client swaps them."""
    return round(4000 * (1.0 - share)) << 16 | round(4000 * share)


@pytest.mark.parametrize(("share", "motion"), [(0.6, 1.0), (0.4, -1.0), (0.5, 0.0)])
def test_the_duty_cycle_drives_the_lift_of_the_motorized_arm_while_it_is_enabled(cart, share, motion):
    before = cart.joints("PSM3")
    address = 16 * (2 + 1) + 8
    cart.client.write(NODE, address, duty(share))
    cart.run(60)
    np.testing.assert_array_equal(cart.joints("PSM3"), before)  # disabled
    cart.client.write(NODE, 6, 8 << 8 | 8)
    cart.run(750)
    moved = cart.joints("PSM3") - before
    assert moved[0] == pytest.approx(0.01 * motion, abs=5e-4)
    np.testing.assert_array_equal(moved[1:], 0.0)


def test_buttons_of_clutch_and_lift_are_seen_by_the_client(cart):
    for name, (node, bit) in {"PSM1_SUJ_clutch": (0, 0), "motor_up": (NODE, 0), "motor_down": (NODE, 1)}.items():
        assert cart.client.read(node, 10) >> bit & 1
        cart.say(f"press {name}")
        assert not cart.client.read(node, 10) >> bit & 1
        cart.say(f"release {name}")
