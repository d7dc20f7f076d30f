"""Potentiometers of the set-up joints of a Classic cart, behind the multiplexer of their controller.

Source: mtsIntuitiveResearchKitSUJ of sawIntuitiveResearchKit. The controller is a QLA. Each of its four analog inputs
belongs to one arm, and a multiplexer connects it to one of 16 voltages: six primary and six secondary potentiometers,
then supplies. Two digital outputs reset and step it; the A lines of the encoders report its position.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trocar.mechanics.cart import Cart
from trocar.spatial import Array
from trocar.transports.fpga.io_file import ActuatorScales, AmplifierChannel, IOConfiguration
from trocar.transports.fpga.registers import Boards

SET_UP = "SUJ"  # name of the robot in the IO file
RESET, STEP = "NoMuxReset", "MuxIncrement"  # its outputs
POSITIONS, JOINTS = 16, 6  # of the multiplexer; potentiometers of an arm
HIGH, LOW = 0.5, 3.5  # positions of an encoder with A high and with A and B low [counts]
MAX_BITS = 65535


class SetUpMultiplexer:
    """Analog inputs of the set-up joints.

    Attributes:
        channels: (4,) of the controller. index: position of the multiplexer. lines: (4,) encoder positions [counts].
    """

    def __init__(
        self, configuration: IOConfiguration, boards: Boards, cart: Cart, channel: Callable[[AmplifierChannel], int]
    ) -> None:
        self._boards, self._pots = boards, configuration.set_up
        actuators: tuple[ActuatorScales, ...] = next(
            (robot.actuators for robot in configuration.robots if robot.name == SET_UP), ()
        )
        self._voltages = [actuator.voltage for actuator in actuators]
        self.channels = np.array([channel(actuator) for actuator in actuators], dtype=int)
        self._outputs = {output.name: (boards.index(output.board), 1 << output.bit) for output in configuration.outputs}
        self.index = 0
        boards.on_output = self._switch
        self.sense(cart)

    @property
    def lines(self) -> Array:
        return np.where(self.index >> np.arange(len(self.channels)) & 1, HIGH, LOW)

    def _switch(self, board: int, mask: int, bits: int) -> None:
        """Digital outputs were written; the client inverts their levels."""
        for name, level in ((STEP, True), (RESET, False)):
            place, bit = self._outputs.get(name, (None, 0))
            if place == board and mask & bit and bool(~bits & bit) == level:
                self.index = min(self.index + 1, POSITIONS - 1) if name == STEP else 0

    def sense(self, cart: Cart | None) -> None:
        """Write the voltages of the selected potentiometers."""
        row, joint = divmod(self.index, JOINTS)
        for pots in self._pots:
            k = pots.plug - 1
            if cart is None or not 0 <= k < len(self.channels) or pots.arm not in cart.q_setup:
                continue
            q = cart.q_setup[pots.arm]
            volts = 0.0
            if row < 2 and joint < len(q) and pots.scales[row, joint]:
                volts = (q[joint] - pots.offsets[row, joint]) / pots.scales[row, joint]
            bits = (volts - self._voltages[k].offset) / self._voltages[k].scale
            self._boards.pots[self.channels[k]] = round(min(max(bits, 0.0), MAX_BITS))
