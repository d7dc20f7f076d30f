"""The handle that motions return."""

from __future__ import annotations

from typing import Any

from trocar.robot.clients.move_handle import time_of_command
from trocar.scripts.session import current
from trocar.transports.ros_time import Time


class wait_move_handle:
    """Waits for the end of the motion commanded when the handle was created."""

    def __init__(self, class_instance: Any, ral: Any = None) -> None:
        self._instance = class_instance
        self._start = Time.of(time_of_command(current(), class_instance.operating_state_topic))

    def wait(self, is_busy: bool = False, timeout: float = 30.0) -> bool:
        """Wait for the end of the motion, or with is_busy=True for its start; False after `timeout` [s]."""
        return bool(self._instance.wait_for_busy(is_busy=is_busy, start_time=self._start, timeout=timeout))

    def is_busy(self, timeout: float = 30.0) -> bool:
        """True until the motion has ended."""
        return bool(self._instance.is_busy(start_time=self._start))
