"""Gravity compensation: the motors carry the arm's weight, so that it floats."""

from __future__ import annotations

from trocar.control.controller import Controller, Setpoint, State, checked_mechanism, checked_period
from trocar.mechanics import Mechanism
from trocar.spatial import Array


class GravityCompensation(Controller):
    """tau = g(q): weight, springs, cables and constant forces.

    Alone it is the free mode: the arm can be moved by hand and stays where it is left. Added to position control it
    cancels the weight at the measured position, or with feed_forward=True at the reference position, which is free of
    measurement noise.

    Args:
        mechanism: the controller's model, which may differ from the simulated one. Its mounting, instrument and
            endoscope are compensated.
        period: [s]. Default: every step.
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
