"""Home an arm through the controller boards, as the dVRK does: power, encoders from potentiometers, a move, a hold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tools.boards.client import BoardArm, BoardClient, Sample
from trocar.arms import Arm
from trocar.errors import TrocarError
from trocar.spatial import Array
from trocar.transports.fpga.registers import POWER

POWER_CYCLES, POT_CYCLES = 250, 200  # the dVRK averages 1970 readings
Words = dict[int, list[int]]


class HomedArm:
    """A PD on the actuators of an arm, with the dVRK's gains.

    Args:
        client: after `scan`. arm: with the scales of its IO file. facts: gains and coupling of the arm.
        wait: called after every cycle of `power` and `move`, until the next is due.
    """

    def __init__(self, client: BoardClient, arm: BoardArm, facts: Arm, wait: Callable[[], None]) -> None:
        self._client, self._arm, self._facts, self._wait = client, arm, facts, wait
        self._kp, self._kd = np.array(facts.gains.kp), np.array(facts.gains.kd)
        self._motor_from_joint = np.linalg.inv(facts.motors.coupling)
        self._brakes = [brake.released for brake in arm.robot.brakes]
        self._zero = np.zeros(arm.n)
        self._readings: list[Array] = []
        self.positions, self.switch_on = arm.positions, lambda: arm.power(True)

    def wait_for_power(self, _samples: dict[int, Sample]) -> Words:
        """Command words that enable the amplifiers."""
        return self._arm.words(self._zero, enable=True)

    def calibrate(self, samples: dict[int, Sample]) -> Words:
        """Take a reading of the potentiometers; command words without current."""
        self._readings.append(self._arm.potentiometers(samples))
        return self._arm.words(self._zero)

    def preload(self) -> None:
        """Set the encoders to the mean of the readings."""
        self._arm.preload(np.mean(self._readings, axis=0))

    def power(self) -> None:
        """Switch on, wait for the amplifiers, and set the encoders from the potentiometers."""
        self.switch_on()
        for phase, cycles in ((self.wait_for_power, POWER_CYCLES), (self.calibrate, POT_CYCLES)):
            for _ in range(cycles):
                self._client.command(phase(self._client.sample(self._arm.boards)))
                self._wait()
        self.preload()

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

    def control(self, samples: dict[int, Sample], goal: Array, rate: Array) -> Words:
        """Command words of the PD at the actuators; raises if a board has no power or its watchdog acted."""
        arm = self._arm
        for number in arm.boards:
            if not samples[number].status & POWER or samples[number].status >> 23 & 1:
                raise TrocarError(f"board {number} lost power or its watchdog timed out: {samples[number].status:08x}")
        tau = self._kp * (goal - arm.positions(samples)) + self._kd * (rate - arm.velocities(samples))
        limit = self._facts.motors.effort
        return arm.words(np.clip(tau, -limit, limit), self._brakes)

    def cycle(self, goal: Array, rate: Array) -> None:
        """One cycle of the PD."""
        self._client.command(self.control(self._client.sample(self._arm.boards), goal, rate))
        self._wait()
