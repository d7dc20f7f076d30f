"""Home an arm through the controller boards, as the dVRK does: power, encoders from potentiometers, a move, a hold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tools.boards.client import BoardArm, BoardClient
from trocar.arms import Arm
from trocar.errors import TrocarError
from trocar.spatial import Array
from trocar.transports.fpga.registers import POWER

POWER_CYCLES, POT_CYCLES = 300, 300  # the dVRK averages 1970 readings
RELEASE = 1.0  # share of a second in which brakes get their release current


class HomedArm:
    """A PD on the actuators of an arm, with the dVRK's gains.

    Args:
        client: after `scan`. arm: with the scales of its IO file. facts: gains and coupling of the arm.
        wait: called after every cycle, until the next is due.
    """

    def __init__(self, client: BoardClient, arm: BoardArm, facts: Arm, wait: Callable[[], None]) -> None:
        self._client, self._arm, self._facts, self._wait = client, arm, facts, wait
        self._kp, self._kd = np.array(facts.gains.kp), np.array(facts.gains.kd)
        self._motor_from_joint = np.linalg.inv(facts.motors.coupling)
        self._brakes = [brake.released for brake in arm.robot.brakes]
        self.errors: list[str] = []

    def power(self) -> None:
        """Switch on, wait for the amplifiers, and set the encoders from the potentiometers."""
        arm, client = self._arm, self._client
        arm.power(True)
        zero = np.zeros(arm.n)
        for _ in range(POWER_CYCLES):
            client.sample(arm.boards)
            client.command(arm.words(zero, enable=True))
            self._wait()
        readings = []
        for _ in range(POT_CYCLES):
            readings.append(arm.potentiometers(client.sample(arm.boards)))
            client.command(arm.words(zero))
            self._wait()
        arm.preload(np.mean(readings, axis=0))

    def joints(self) -> Array:
        """Measured joints [rad, m]."""
        return np.asarray(self._facts.motors.coupling @ self._arm.positions(self._client.sample(self._arm.boards)))

    def move(self, q: Array, cycles: int, hold: int = 0) -> Array:
        """Move to joints q in a number of cycles and hold; the error of the joints at the end."""
        goal = self._motor_from_joint @ q
        start = self._arm.positions(self._client.sample(self._arm.boards))
        for k in range(cycles + hold):
            x = min((k + 1) / cycles, 1.0)
            share = x**3 * (10.0 - 15.0 * x + 6.0 * x * x)
            rate = 0.0 if x >= 1.0 else 30.0 * x * x * (1.0 - x) ** 2 / cycles * self._facts.gains.rate
            self.cycle(start + share * (goal - start), rate * (goal - start))
        return self.joints() - q

    def cycle(self, goal: Array, rate: Array) -> None:
        """One cycle of the PD at the actuators."""
        arm, client = self._arm, self._client
        samples = client.sample(arm.boards)
        for number in arm.boards:
            if not samples[number].status & POWER or samples[number].status >> 23 & 1:
                raise TrocarError(f"board {number} lost power or its watchdog timed out: {samples[number].status:08x}")
        tau = self._kp * (goal - arm.positions(samples)) + self._kd * (rate - arm.velocities(samples))
        limit = self._facts.motors.effort
        client.command(arm.words(np.clip(tau, -limit, limit), self._brakes))
        self._wait()
