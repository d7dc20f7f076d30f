"""Carrying the arm's own weight, so that it floats."""

from __future__ import annotations

from trocar.control.controller import Controller, Setpoint, State, checked_mechanism, checked_period
from trocar.mechanics import Mechanism
from trocar.spatial import Array


class GravityCompensation(Controller):
    """tau = g(q): weight, springs, cables and constant forces.

    Alone it is the free mode: the arm stays where a hand leaves it. Added to position control it takes the weight off
    it: at the measured position, or with feed_forward=True at the one asked for, which no measurement disturbs.

    Args:
        mechanism: the model to compensate with, which need not be the one simulated. Its mounting, instrument and
            endoscope are those that are compensated.
        period: [s]; None for every step.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        period: float | None = None,
        *,
        feed_forward: bool = False,
    ) -> None:
        self._mechanism = checked_mechanism(mechanism)
        self.feed_forward = feed_forward
        self.period = checked_period(period)

    def __call__(self, state: State, setpoint: Setpoint) -> Array:
        return self._mechanism.gravity(setpoint.q if self.feed_forward else state.q)
