"""Log functions of rospy: loginfo, logwarn, ... with their variants _once and _throttle."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from trocar.scripts.session import FOREVER, NANOSECONDS, current

_said: dict[tuple[str, int], float] = {}


def reset() -> None:
    """Reset the state left by an earlier script."""
    _said.clear()


def _time() -> float:
    return current().now / NANOSECONDS


def _log(level: str, text: Any, arguments: tuple[Any, ...]) -> None:
    shown = str(text) % arguments if arguments else str(text)
    stream = sys.stdout if level in ("DEBUG", "INFO") else sys.stderr
    print(f"[{level}] [{_time():.6f}]: {shown}", file=stream, flush=True)


def _logger(level: str) -> tuple[Callable[..., None], Callable[..., None], Callable[..., None]]:
    def log(msg: Any, *args: Any, **_options: Any) -> None:
        _log(level, msg, args)

    def once(msg: Any, *args: Any) -> None:
        throttled(FOREVER, msg, *args)

    def throttled(period: float, msg: Any, *args: Any) -> None:
        """At most once per period [s] and line of the script."""
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_globals.get("__name__") == __name__:
            frame = frame.f_back
        place = frame.f_code.co_filename, frame.f_lineno
        if _time() - _said.get(place, -2 * FOREVER) >= period:
            _said[place] = _time()
            _log(level, msg, args)

    return log, once, throttled


def logdebug(msg: Any, *args: Any, **_options: Any) -> None:
    """Debug messages are not shown, as with rospy's default level."""


logdebug_once = logdebug_throttle = logdebug
loginfo, loginfo_once, loginfo_throttle = _logger("INFO")
logwarn, logwarn_once, logwarn_throttle = _logger("WARN")
logerr, logerr_once, logerr_throttle = _logger("ERROR")
logfatal, logfatal_once, logfatal_throttle = _logger("FATAL")
