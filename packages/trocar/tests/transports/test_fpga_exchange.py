"""Adapters and instruments on the controller boards: mounted, engaged by motion, exchanged while the arm is powered."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest

from tests.support.board_rig import PERIOD, BoardRig
from tools.boards.client import BoardArm
from trocar.arms import instruments
from trocar.transports.fpga.bedside import Bedside
from trocar.transports.fpga.discs import Discs

TOOL, ADAPTER, CHIP = 7, 10, 13  # bits and register of the second board of a PSM

RAMP, HOLD = 400, 60  # cycles of a turn


class ExchangeRig(BoardRig):
    """A powered PSM1, its client, and lines of the bedside port."""

    def __init__(self, *arms):
        super().__init__("PSM1", *arms)
        bedside = Bedside(self.plant)
        self.say = lambda text: json.loads(bedside.answer(text.encode()))
        self.homed = self.arm("PSM1")
        robot = next(robot for robot in self.configuration.robots if robot.name == "PSM1")
        self.io = BoardArm(self.client, robot)
        self.start, self.node = self.positions(), self.client.nodes[self.io.boards[1]]

    @property
    def psm(self):
        return self.plant.scene.arms["PSM1"]

    @property
    def discs(self):
        return self.plant.mounting.discs["PSM1"]

    def positions(self):
        return self.io.positions(self.client.sample(self.io.boards))

    def present(self, bit):
        """A switch as the client sees it: pressed is low."""
        return not self.client.read(self.node, 10) >> bit & 1

    def turn(self, *discs):
        """Turn the discs to angles [rad] with the PD of the client, and hold them."""
        now, goal = self.positions(), self.start.copy()
        goal[3:] = discs
        for k in range(RAMP + HOLD):
            self.homed.cycle(now + (goal - now) * min(1.0, k / RAMP), (goal - now) / (RAMP * PERIOD) * (k < RAMP))
        return self.positions()[3:]

    def engage(self):
        """Turn all discs through the angles of the instrument and back, as the dVRK does."""
        for angle in (-1.0, 1.0, 0.0):
            self.turn(*[angle] * 4)

    def read_chip(self):
        """Model of the instrument by its chip; 0 without one."""
        self.client.write(self.node, CHIP, 0x00800002)
        self.wait(0.4)
        self.client.read(self.node, CHIP)
        return int(self.client.read_block(self.node, 0x6000, 64)[9])

    def wait_for(self, instrument):
        """Cycles until the instrument is mounted; the scene is rebuilt meanwhile."""
        goal = self.positions()
        for cycles in range(5000):
            self.homed.cycle(goal, np.zeros(7))
            if self.say("joints")["instruments"]["PSM1"] == instrument:
                return cycles
        raise AssertionError(self.say("truth"))


def test_discs_are_free_without_a_tool_and_engage_adapter_and_tool_by_turning():
    rig = ExchangeRig()
    rig.say("remove PSM1")
    wrist = rig.psm.q[3:]
    assert not rig.present(TOOL)
    assert not rig.present(ADAPTER)
    np.testing.assert_allclose(rig.turn(*[-1.0] * 4), [-1.0] * 4, atol=0.05)  # free, the wrist stays
    np.testing.assert_allclose(rig.psm.q[3:], wrist, atol=0.02)
    rig.say("insert PSM1 adapter")
    assert rig.present(ADAPTER)
    assert not rig.present(TOOL)
    rig.turn(*[1.0] * 4)
    assert rig.say("insert PSM1")["pressed"]["PSM1_tool"]
    assert rig.present(TOOL)
    assert not rig.discs.engaged.any()
    rig.turn(*[-1.0] * 4)
    assert rig.discs.all_engaged
    before = rig.psm.q[3]
    rig.turn(0.3, 0.0, 0.0, 0.5)
    assert abs(rig.psm.q[3] - before) > 0.3


def test_another_instrument_is_mounted_while_the_arm_is_held():
    rig = ExchangeRig("ECM")  # an arm whose rows of the model must follow
    rig.turn(0.3, 0.2, 0.1, 0.3)
    ecm = rig.plant.scene.arms["ECM"].q
    coupling = rig.psm.arm.motors.coupling
    assert rig.read_chip() == 400006
    rig.arm("PSM1")  # reading the chip took longer than the watchdog waits
    assert "error" in rig.say("insert PSM1 400093")  # one is mounted
    rig.say("remove PSM1 tool")
    assert rig.present(ADAPTER)
    assert not rig.present(TOOL)
    before, joints = rig.positions(), rig.psm.q
    assert "error" not in rig.say("insert PSM1 400093")
    rig.wait_for("PROGRASP_FORCEPS_400093")
    # neither the arm nor the free discs moved, and the client sees the new tool
    np.testing.assert_allclose(rig.positions(), before, atol=5e-3)
    np.testing.assert_allclose(rig.psm.q[:3], joints[:3], atol=2e-3)
    np.testing.assert_allclose(rig.plant.scene.arms["ECM"].q, ecm, atol=1e-3)
    assert rig.present(TOOL)
    assert not rig.discs.engaged.any()
    rig.engage()
    assert rig.discs.all_engaged
    # the client moves the wrist with the coupling of the new instrument
    other = rig.psm.arm.motors.coupling
    assert np.abs(other - coupling).max() > 0.01
    q = np.array([0.4, -0.3, 0.2, 0.5])
    discs = rig.turn(*np.linalg.solve(other, [*rig.start[:3], *q])[3:])
    np.testing.assert_allclose(rig.psm.q[3:], q, atol=0.02)
    np.testing.assert_allclose(other[3:, 3:] @ discs, rig.psm.q[3:], atol=0.01)
    assert rig.read_chip() == 400093


def test_every_exchange_is_refused_or_seen():
    rig = ExchangeRig()
    for line in (
        "insert PSM1 999999",
        "insert PSM1 secret.toml",
        "insert ECM",
        "remove PSM1 adapter",
        "insert PSM1 a b",
    ):
        assert "error" in rig.say(line)
    rig.say("remove PSM1")
    assert rig.say("truth")["instruments"] == {"PSM1": None}
    assert "error" not in rig.say("insert PSM1 MARYLAND_BIPOLAR_FORCEPS_400172")
    rig.wait_for("MARYLAND_BIPOLAR_FORCEPS_400172")
    assert not rig.say("joints").get("refused")


def test_a_tool_cannot_engage_before_its_adapter():
    discs = Discs()
    instrument = np.full(4, 1.0)
    discs.remove_tool(instrument)
    discs.remove_adapter()
    discs.adapter = discs.tool = True

    def turn(effort):
        return discs.step(np.full(4, effort), instrument, 0.01)

    while turn(0.1).min() < 2.0:
        pass
    assert not discs.engaged.any()  # the adapter's discs stand at 0
    while turn(-0.1).max() > -0.5:
        pass
    for _ in range(300):
        turn(0.1)
    assert discs.all_engaged


@pytest.mark.parametrize(("scene", "arm"), [("dvrk", "PSM"), ("dvrk_si", "PSM_Si")])
def test_every_instrument_can_be_mounted_and_is_named_by_its_chip(scene, arm):
    rig = BoardRig("PSM1", scene=scene)
    rig.client.scan()
    mounting, board = rig.plant.mounting, rig.configuration.chips["PSM1"]
    for instrument in instruments.names(arm):
        mounting.remove("PSM1", "tool")
        mounting.insert("PSM1", instrument)
        while not mounting.discs["PSM1"].tool:
            mounting.update()
            assert not mounting.refused
            time.sleep(1e-3)
        assert mounting.instruments() == {"PSM1": instrument}
        assert f"{int.from_bytes(rig.boards.chips[board][0xA4:0xA8], 'big')}" in instrument
        coupling = rig.plant.scene.arms["PSM1"].arm.motors.coupling
        np.testing.assert_allclose(coupling @ rig.plant.actuators("PSM1"), rig.plant.scene.arms["PSM1"].q, atol=1e-9)


@pytest.mark.parametrize("held", [True, False])
def test_a_hand_and_a_gripper_keep_their_arm_after_an_exchange(held):
    rig = ExchangeRig("MTMR")
    rig.say("gripper MTMR 0.4")
    if held:
        rig.say("hold MTMR")
    rig.say("remove PSM1")
    rig.say("insert PSM1 400093")
    rig.wait_for("PROGRASP_FORCEPS_400093")
    assert rig.plant.scene.arms["MTMR"].gripper == pytest.approx(0.4)
    if held:
        assert rig.plant.hands["MTMR"].arm is rig.plant.scene.arms["MTMR"]
