"""Pedals of the console: presses and releases are told late, once they have lasted."""

from __future__ import annotations

from dataclasses import dataclass

DEBOUNCE = 0.2  # that clutch, camera and coag must last before they are told [s]; sawRobotIO1394
DEBOUNCED = ("clutch", "camera", "coag")
ROUNDING = 1e-9  # of times [s]
RELEASED, PRESSED, CLICKED = 0, 1, 2


@dataclass
class Pedal:
    """One switch. A press and a release are reported after `debounce`; a press shorter than that is a click.

    Attributes:
        debounce: [s]; 0 reports at once. reported: the last state told, RELEASED or PRESSED.
    """

    debounce: float = DEBOUNCE
    reported: int = RELEASED
    _down: bool = False
    _since: float | None = None  # of a change that has not been told [s]

    def step(self, t: float, down: bool) -> int | None:
        """Take the switch at a time [s]: PRESSED, RELEASED or CLICKED if there is something to tell, else None."""
        if down != self._down:
            self._down = down
            if down and self.reported == RELEASED:
                self._since = t
            elif not down and self.reported == RELEASED and self._since is not None:
                self._since = None
                return CLICKED  # released before it was told
            else:
                self._since = None if down else t
        if self._since is None or t - self._since < self.debounce - ROUNDING:
            return None
        self._since, self.reported = None, PRESSED if down else RELEASED
        return self.reported
