"""Set-up joints through their controller board, with the writes of the dVRK (sawRobotIO1394, AmpIO)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tools.boards.client import BoardClient, Sample
from trocar.errors import TrocarError
from trocar.spatial import Array
from trocar.transports.fpga.edges import CLOCK
from trocar.transports.fpga.io_file import IOConfiguration
from trocar.transports.fpga.registers import OUTPUT_TIME, OUTPUTS, VALID
from trocar.transports.fpga.set_up import JOINTS, SET_UP

ALL = 0x0F  # outputs in a write: the dVRK reads them back and writes all four
SETTLING_CYCLES = 45  # 30 ms after a step of the multiplexer


class SetUpBoard:
    """A client of the set-up joints.

    Args:
        client: after `scan`. configuration: of the system file. wait: called after every cycle.
    """

    def __init__(self, client: BoardClient, configuration: IOConfiguration, wait: Callable[[], None]) -> None:
        self._client, self._wait = client, wait
        self._actuators = next(robot.actuators for robot in configuration.robots if robot.name == SET_UP)
        self._pots = configuration.set_up
        self.board = self._actuators[0].board
        self._node = client.nodes[self.board]
        self.outputs = {output.name: output for output in configuration.outputs if output.board == self.board}
        for output in self.outputs.values():
            high, low = (round(CLOCK * time) for time in (output.high, output.low))
            client.write(self._node, 16 * (output.bit + 1) + OUTPUT_TIME, low << 16 | high)

    def cycle(self, currents: Array | None = None) -> Sample:
        """Read the board and command currents [A] of the four brakes, by default none."""
        sample = self._client.sample()[self.board]
        amperes = np.zeros(len(self._actuators)) if currents is None else np.asarray(currents)
        bits = [
            round(each.command.offset + each.command.scale * current) & 0xFFFF
            for each, current in zip(self._actuators, amperes.tolist(), strict=True)
        ]
        self._client.command({self.board: [VALID | word for word in bits]})
        self._wait()
        return sample

    def set(self, name: str, high: bool) -> None:
        """Set an output; the others are written as they were read."""
        bit = 1 << self.outputs[name].bit
        levels = ~(self.cycle().inputs >> 12) & ALL
        levels = levels | bit if high else levels & ~bit
        self._client.write(self._node, OUTPUTS, ALL << 8 | ~levels & ALL)

    def positions(self) -> dict[str, Array]:
        """Positions (2, 6) of the set-up joints of every arm by their primary and secondary potentiometers [m, rad]."""
        volts = np.zeros((2, JOINTS, len(self._actuators)))
        self.set("mux_increment", False)
        self.set("no_mux_reset", False)
        for index in range(2 * JOINTS):
            for _ in range(SETTLING_CYCLES):
                sample = self.cycle()
            lines = int((sample.positions >> 28 & 1) @ [1, 2, 4, 8])
            if lines != index:
                raise TrocarError(f"the multiplexer is at {lines}, expected {index}")
            voltage = [each.voltage for each in self._actuators]
            volts[divmod(index, JOINTS)] = [v.offset + v.scale * b for v, b in zip(voltage, sample.pots, strict=True)]
            self.set("mux_increment", True)
        return {pots.arm: pots.offsets + pots.scales * volts[:, :, pots.plug - 1] for pots in self._pots}
