"""Set-up joints of a Classic cart on their controller board: potentiometers, brakes, clutch buttons, lift and hands."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.support.board_rig import BoardRig, loaded
from trocar.transports.fpga import nominal
from trocar.transports.fpga.bedside import Bedside

OUTPUTS = ("NoMuxReset", "MuxIncrement", "ControlPWM", "DisablePWM")
BUTTONS = ("MotorUp", "MotorDown")
TYPES = {"ECM": "ECM", "PSM1": "PSM", "PSM2": "PSM", "PSM3": "Motorized PSM"}
NODE, BOARD = 2, 12
BITS = 5242.88  # per ampere


def set_up_folder(folder):
    """Files of a system with PSM1 and the set-up joints, with made-up potentiometers."""
    system = nominal.write_system(folder, loaded("PSM1"), ["PSM1"])
    content = json.loads(system.read_text())
    content["arms"].append({"name": "SUJ", "type": "SUJ_Classic", "IO": "IO1", "arm_file": "suj-mine.json"})
    system.write_text(json.dumps(content))
    io_file = nominal.io_file("ECM", loaded("ECM").arms["ECM"].arm)
    robot = io_file["robots"][0] | {"name": "SUJ", "brakes": []}
    buttons = [{"name": name, "board_id": 12, "bit_id": k, "pressed_value": True} for k, name in enumerate(BUTTONS)]
    for actuator in robot["actuators"]:
        actuator["board_id"] = 12
    outputs = [{"name": name, "board_id": 12, "bit_id": k} for k, name in enumerate(OUTPUTS)]
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


def test_potentiometers_of_set_up_joints_are_read_through_the_multiplexer(tmp_path):
    rig = BoardRig("PSM1", config=set_up_folder(tmp_path))
    assert rig.client.scan() == {6: 0, 7: 1, 12: 2}
    true = rig.scene.cart.q_setup["PSM1"]
    rig.client.write(2, 6, 1 << 8 | 1)  # reset: the client inverts the level
    positions = np.zeros((2, 6))
    for index in range(12):
        rig.plant.step()
        rig.command({6: [0] * 4})
        sample = rig.client.sample()[12]
        lines = sample.positions >> 28 & 1
        assert int(lines @ [1, 2, 4, 8]) == index
        volts = sample.pots[1] * 4.5 / 65536
        row, joint = divmod(index, 6)
        positions[row, joint] = (-2.0 + volts) if row == 0 else (-2.2 + 1.1 * volts)
        rig.client.write(2, 6, 2 << 8)  # step
    np.testing.assert_allclose(positions, [true, true], atol=2e-4)


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
    cart.client.write(NODE, 6, 1 << 8 | 1)  # reset of the multiplexer
    for _ in range(2):
        cart.client.write(NODE, 6, 2 << 8)
    cart.run(3)
    volts = cart.client.sample()[BOARD].pots[1] * 4.5 / 65536
    assert volts - 2.0 == pytest.approx(goal, abs=2e-4)
    assert "brakes" in cart.say(f"set_up PSM1 3 {goal} 0.2")["error"]


def test_a_motion_ends_when_the_brakes_close_and_the_current_is_measured(cart):
    before = cart.joints("PSM1")
    cart.run(30, (0.0, 2.2, 0.0, 0.0))
    cart.say(f"set_up PSM1 2 {before[1] + 0.2} 1.0")
    cart.run(750, (0.0, 2.2, 0.0, 0.0))
    currents = cart.client.sample()[BOARD].currents.astype(int) - 32768
    np.testing.assert_allclose(np.abs(currents) / BITS, [0.0, 2.2, 0.0, 0.0], atol=0.02)
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
    for name, (node, bit) in {"PSM1_SUJ_clutch": (0, 0), "MotorUp": (NODE, 0), "MotorDown": (NODE, 1)}.items():
        assert cart.client.read(node, 10) >> bit & 1
        cart.say(f"press {name}")
        assert not cart.client.read(node, 10) >> bit & 1
        cart.say(f"release {name}")
