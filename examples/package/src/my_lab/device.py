"""The input device `circle`: it pinches once, then moves the hand on a circle."""

from __future__ import annotations

import math

import numpy as np

from trocar.teleoperation.devices import DeviceKind, DeviceSample
from trocar.teleoperation.devices.device import OPEN, PassiveDevice

RADIUS, RATE = 0.02, 0.25  # [m], [1/s]


class Circle(PassiveDevice):
    """A hand that closes its gripper for half a second and then draws circles."""

    name = "circle"
    begin = "wait"
    help = "moves by itself on a circle of 40 mm"

    def __init__(self) -> None:
        self._begun: float | None = None

    def read(self, t: float) -> DeviceSample:
        self._begun = t if self._begun is None else self._begun
        s, turn = t - self._begun, 2.0 * math.pi * RATE
        if s < 0.5:
            return DeviceSample(np.zeros(6), gripper=0.0)
        v = RADIUS * turn * np.array([math.cos(turn * s), math.sin(turn * s), 0.0])
        return DeviceSample(np.concatenate([v, np.zeros(3)]), gripper=OPEN)


CIRCLE = DeviceKind(lambda index: Circle(), max_count=1)
