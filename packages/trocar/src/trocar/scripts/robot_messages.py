"""Errors and warnings of the robot while a script runs: printed on stderr, and named in time-outs."""

from __future__ import annotations

import sys
from functools import partial

from trocar.robot.messages import Message, String
from trocar.robot.robot import Robot

LEVELS = ("error", "warning")
REPEAT_INTERVAL = 2.0  # robot time within which the same text of a device is printed once [s]


class RobotMessages:
    """Prints every error and warning of the robot's devices, and keeps the last one of each device.

    A text that a device repeats within 2 s is counted, and the count is printed with the next line.
    """

    def __init__(self, robot: Robot) -> None:
        self._robot, self._start = robot, robot.now
        self._last: dict[str, tuple[int, str, str]] = {}  # time [ns], level and text, by device
        self._printed: dict[str, tuple[int, str, int]] = {}  # time [ns], text and its repetitions, by device
        self._subscriptions = [
            robot.bus.subscribe(name, partial(self._take, device, level))
            for name in robot.bus.topics
            for device, _, level in (name.rpartition("/"),)
            if level in LEVELS
        ]

    def close(self) -> None:
        """End the subscriptions; a second call does nothing."""
        while self._subscriptions:
            self._subscriptions.pop().close()

    def _take(self, device: str, level: str, message: Message) -> None:
        if message.stamp <= self._start or not isinstance(message, String):
            return  # the last message before the script
        text, now = message.value, self._robot.now
        self._last[device] = now, level, text
        since, before, repeats = self._printed.get(device, (0, "", 0))
        if text == before and now - since < 1e9 * REPEAT_INTERVAL:
            self._printed[device] = since, before, repeats + 1
            return
        more = f" ({repeats} more of the message before)" if repeats else ""
        self._printed[device] = now, text, 0
        elapsed = 1e-9 * (now - self._start)
        print(f"robot {level} at {elapsed:.2f} s: {text}{more}", file=sys.stderr, flush=True)

    def last(self, device: str) -> str:
        """The end of a sentence about a device: its last error or warning; empty if there was none."""
        name = device.split("/")[0]
        if name not in self._last:
            return ""
        time, level, text = self._last[name]
        return f"; last {level} {1e-9 * (self._robot.now - time):.2f} s before: {text}"
