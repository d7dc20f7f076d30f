"""Debounced pedals of the console."""

from __future__ import annotations

from dataclasses import dataclass

DEBOUNCE = 0.2  # delay before clutch, camera and coag are reported [s]; sawRobotIO1394
DEBOUNCED = ("clutch", "camera", "coag")
ROUNDING = 1e-9  # rounding error of times [s]
RELEASED, PRESSED, CLICKED = 0, 1, 2


@dataclass
class Pedal:
    """One switch. Presses and releases are reported after `debounce`; a shorter press is a click.

    Attributes:
        debounce: delay [s]; 0 reports immediately. reported: last reported state, RELEASED or PRESSED.
    """

    debounce: float = DEBOUNCE
    reported: int = RELEASED
    _down: bool = False
    _since: float | None = None  # time of a change that is not reported yet [s]

    def step(self, t: float, down: bool) -> int | None:
        """Process the switch at time t [s]; return PRESSED, RELEASED or CLICKED if one is to be reported, else None."""
        if down != self._down:
            self._down = down
            if down and self.reported == RELEASED:
                self._since = t
            elif not down and self.reported == RELEASED and self._since is not None:
                self._since = None
                return CLICKED  # released before the press was reported
            else:
                self._since = None if down else t
        if self._since is None or t - self._since < self.debounce - ROUNDING:
            return None
        self._since, self.reported = None, PRESSED if down else RELEASED
        return self.reported
