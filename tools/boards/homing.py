"""Home an arm through the controller boards, as the dVRK does: power, encoders from potentiometers, a move, a hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.linalg import block_diag

from tools.boards.client import BoardArm, BoardClient, Samples
from trocar.arms import Arm
from trocar.errors import TrocarError
from trocar.spatial import Array
from trocar.transports.fpga.registers import POWER

TIMED_OUT = 1 << 23  # watchdog, in the status
POWER_CYCLES, POT_CYCLES = 250, 200  # the dVRK averages 1970 readings


class HomedArm:
    """A PD on the actuators of arms, with the dVRK's gains.

    Args:
        client: after `scan`. arm: with the scales of the IO files. facts: gains and coupling of every arm.
        wait: called after every cycle of `power` and `move`, until the next is due.
    """

    def __init__(self, client: BoardClient, arm: BoardArm, facts: Sequence[Arm], wait: Callable[[], None]) -> None:
        self._client, self._arm, self._wait = client, arm, wait
        self._kp, self._kd = (np.concatenate([getattr(each.gains, key) for each in facts]) for key in ("kp", "kd"))
        self._limit = np.concatenate([each.motors.effort for each in facts])
        self._joint_from_motor = block_diag(*(each.motors.coupling for each in facts))
        self._motor_from_joint = np.linalg.inv(self._joint_from_motor)
        self._rate = facts[0].gains.rate
        self._zero = np.zeros(arm.n)
        self.positions = arm.positions

    def power(self) -> None:
        """Switch on, wait for the amplifiers, and set the encoders from the potentiometers."""
        arm, readings = self._arm, []
        arm.power(True)
        for _ in range(POWER_CYCLES):
            self._client.sample(arm.boards)
            self._client.write_block(arm.block(self._zero, enable=True))
            self._wait()
        for _ in range(POT_CYCLES):
            readings.append(arm.potentiometers(self._client.sample(arm.boards)))
            self._client.write_block(arm.block(self._zero))
            self._wait()
        arm.preload(np.mean(readings, axis=0))

    def joints(self) -> Array:
        """Measured joints [rad, m]."""
        return np.asarray(self._joint_from_motor @ self._arm.positions(self._client.sample(self._arm.boards)))

    def move(self, q: Array, cycles: int, hold: int = 0) -> Array:
        """Move to joints q in a number of cycles and hold; the error of the joints at the end."""
        goal = self._motor_from_joint @ q
        start = self._arm.positions(self._client.sample(self._arm.boards))
        for k in range(cycles + hold):
            x = min((k + 1) / cycles, 1.0)
            share = x**3 * (10.0 - 15.0 * x + 6.0 * x * x)
            rate = 0.0 if x >= 1.0 else 30.0 * x * x * (1.0 - x) ** 2 / cycles * self._rate
            self.cycle(start + share * (goal - start), rate * (goal - start))
        return self.joints() - q

    def control(self, samples: Samples, goal: Array, rate: Array) -> Array:
        """Command words of the PD at the actuators; raises if a board has no power or its watchdog acted."""
        arm = self._arm
        statuses = arm.statuses(samples)
        if ((statuses & (POWER | TIMED_OUT)) != POWER).any():
            raise TrocarError(f"boards {arm.boards} lost power or their watchdog timed out: {statuses}")
        tau = self._kp * (goal - arm.positions(samples)) + self._kd * (rate - arm.velocities(samples))
        return arm.block(np.minimum(np.maximum(tau, -self._limit), self._limit), arm.released)

    def cycle(self, goal: Array, rate: Array) -> None:
        """One cycle of the PD."""
        self._client.write_block(self.control(self._client.sample(self._arm.boards), goal, rate))
        self._wait()
