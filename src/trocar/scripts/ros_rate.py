"""The Rate of ROS: sleeps by the robot's clock."""

from __future__ import annotations

from trocar.scripts.session import NANOSECONDS, current
from trocar.transports.ros_time import Duration


class Rate:
    """Sleeps that run a loop at a rate [Hz]; a cycle that is too long restarts the schedule."""

    def __init__(self, hz: float, reset: bool = False) -> None:
        if not hz > 0:
            raise ValueError(f"a rate must be positive, got {hz}")
        self.sleep_dur = Duration(1.0 / hz)
        self._period = round(NANOSECONDS / hz)
        self._last = current().now

    def remaining(self) -> Duration:
        return Duration.of(self._last + self._period - current().now)

    def sleep(self) -> None:
        session = current()
        session.sleep_until(self._last + self._period)
        self._last += self._period
        if session.now - self._last > self._period:
            self._last = session.now
