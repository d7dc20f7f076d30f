"""Handle of a motion: waits for its start and end."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trocar.robot.clients.device import Clock, StatefulDevice


def time_of_command(robot: Clock, state_topic: str) -> int:
    """Time [ns] that separates the operating states before a command sent now from those after it.

    In fast time a state may have been published at this moment, with a stamp later than the clock; it precedes the
    command.
    """
    last = robot.bus.read(state_topic)
    return max(robot.now, 0 if last is None else last.stamp)


class MoveHandle:
    """Returned by the move commands of an arm; holds the time of the command."""

    def __init__(self, device: StatefulDevice) -> None:
        self._device = device
        self._start = time_of_command(device.robot, f"{device.name()}/operating_state")

    def wait(self, is_busy: bool = False, timeout: float = 30.0) -> bool:
        """Wait for the end of the motion, or with is_busy=True for its start; False after `timeout` [s]."""
        return self._device.wait_for_busy(is_busy, self._start, timeout)

    def is_busy(self, timeout: float = 30.0) -> bool:
        """True until the motion has ended. Raises RuntimeWarning if it has not begun within `timeout` [s]."""
        return self._device.is_busy_since(self._start, timeout)
