"""The boards of the dVRK-Si (dRAC): registers, tables of potentiometers, homing of a PSM."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from tests.support.board_rig import BoardRig, loaded, nominal_file
from tools.boards.client import BoardArm
from trocar.errors import TrocarError
from trocar.transports.fpga import nominal
from trocar.transports.fpga.bedside import Bedside
from trocar.transports.fpga.lookup import PotTable
from trocar.transports.fpga.registers import DRAC

DATA = Path(os.environ.get("TROCAR_DATA", "")) / "dvrk_config_jhu" / "jhu-dVRK-Si" / "system-PSM1.json"
OF_A_ROBOT = pytest.param(DATA, marks=pytest.mark.skipif(not DATA.is_file(), reason="needs dvrk_config_jhu"))
POWER_ON, RELAYS = 0xC0000, 0x30000


def si_rig(config=None):
    return BoardRig("PSM1", scene="dvrk_si", config=config)


def flash_text(client, node=0):
    """As the dVRK reads it: two writes and a read for every two characters."""
    words = []
    for address in range(16):
        for enable in (0, 1):
            client.write(node, 0xA002, enable << 28 | 1 << 24 | address)
        words.append(client.read(node, 0xA031).to_bytes(2, "little"))
    return b"".join(words).rstrip(b"\0").decode()


def test_a_drac_reports_ten_motors_and_seven_encoders():
    rig = si_rig()
    assert rig.client.scan() == {6: 0}
    assert rig.client.kinds[6] is DRAC
    assert DRAC.block == 59
    assert rig.status() >> 28 == 10
    sample = rig.client.sample()[6]
    assert (len(sample.motors), len(sample.positions), len(sample.pots)) == (10, 7, 10)
    own = rig.client.read_block(0, 0, 59)
    assert own[1] == sample.status
    np.testing.assert_array_equal(own[-10:], sample.motors)


@pytest.mark.parametrize(
    ("config", "text"), [(None, "ptrocar.cal"), pytest.param(DATA, "p327598.cal", marks=OF_A_ROBOT.marks)]
)
def test_the_flash_of_the_arm_names_its_calibration(config, text):
    rig = si_rig(config)
    rig.client.scan()
    assert flash_text(rig.client) == text


def test_the_instrument_is_in_two_registers_while_it_is_mounted():
    rig = si_rig()
    rig.client.scan()
    model = rig.client.read(0, 0xB012).to_bytes(4, "little")  # the client swaps the bytes
    assert int.from_bytes(model, "big") == 420006
    assert rig.client.read(0, 0xB013) == 1
    assert rig.client.read(0, 10) >> 9 & 1  # high: pressed
    Bedside(rig.plant).answer(b"remove PSM1")
    assert rig.client.read(0, 0xB013) == 255
    assert not rig.client.read(0, 10) >> 9 & 1


def test_amplifiers_wait_for_the_first_preload():
    rig = si_rig()
    rig.client.scan()
    rig.client.write(0, 0, RELAYS | POWER_ON)
    enable = {6: [0xB0008000] * 10}
    for _ in range(300):
        rig.command(enable)
    assert rig.status() & 0xC000F == 0xC0007
    assert not (rig.client.sample()[6].motors >> 29 & 1).any()
    rig.client.write(0, 0x14, 0x800000)
    rig.command(enable)
    rig.command(enable)
    assert rig.status() & 0xF == 0xF
    assert (rig.client.sample()[6].motors >> 29 & 1).all()
    rig.client.write(0, 0, 0x300000)  # reboot
    rig.client.generation += 1
    assert rig.status() & 0x8 == 0


@pytest.mark.parametrize("config", [None, OF_A_ROBOT])
def test_a_psm_of_the_si_homes_and_moves(config):
    rig = si_rig(config)
    truth = rig.scene.arms["PSM1"]
    assert truth.brakes
    arm = rig.arm("PSM1")
    np.testing.assert_allclose(arm.joints(), truth.q, atol=3e-3)  # half an entry of the tables
    goal = truth.q + [0.1, 0.1, 0.02, 0.2, 0.1, 0.1, -0.1]
    error = arm.move(goal, 700, 200)
    assert not truth.brakes
    assert np.abs(error[:2]).max() < 8e-3
    assert abs(error[2]) < 1e-3
    assert np.abs(error[3:]).max() < 8e-3
    np.testing.assert_allclose(truth.q, goal + error, atol=3e-3)


def test_velocities_are_measured_with_the_clock_of_the_si():
    rig = si_rig()
    arm = rig.arm("PSM1")
    client = BoardArm(rig.client, rig.configuration.robots[0])
    start = client.positions(rig.client.sample())
    rate = np.array([0.2, 0.2, 0.02, 0.2, 0.2, 0.2, 0.2])
    for k in range(300):
        arm.cycle(start + rate * k / 1500, rate)
    truth = rig.scene.arms["PSM1"]
    np.testing.assert_allclose(
        client.velocities(rig.client.sample()),
        np.linalg.solve(truth.arm.motors.coupling, truth.dq),
        rtol=0.05,
        atol=5e-3,
    )


def test_tables_are_inverted_to_the_nearest_known_entry():
    table = np.full((2, 4096), 31.4159)
    table[0, 3000:] = np.linspace(-1.0, 0.0, 1096)  # wraps around
    table[0, :1000] = np.linspace(0.001, 1.0, 1000)
    table[1, 100:4000] = np.linspace(0.3, -0.1, 3900)
    pots = PotTable("PSM1", table)
    for share in np.linspace(0.0, 1.0, 101):
        positions = np.array([-1.0 + 2.0 * share, -0.1 + 0.4 * share])
        bits = pots.bits(positions)
        assert np.abs(table[[0, 1], bits] - positions).max() < 1e-3
    assert pots.bits(np.array([-9.0, 9.0])).tolist() == [3000, 100]


def test_a_table_without_known_entries_is_refused():
    with pytest.raises(TrocarError, match="actuator 0 of PSM1 has no range"):
        PotTable("PSM1", np.full((1, 4096), 31.4159))


def test_si_files_need_an_si_scene():
    with pytest.raises(TrocarError, match=r"dRA1 boards.*Choose another scene"):
        BoardRig("PSM1", config=nominal_file("QLA1", "dvrk_si", "PSM1"))


def test_nominal_files_of_the_ecm_of_the_si_are_refused_with_the_reason(tmp_path):
    with pytest.raises(TrocarError, match=r"ECM_Si.*encoders of others are not published"):
        nominal.write_system(tmp_path, loaded("ECM", scene="dvrk_si"), ["ECM"])
