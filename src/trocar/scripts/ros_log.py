"""Log functions of rospy: loginfo, logwarn, ... with their variants _once and _throttle."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from trocar.scripts.session import FOREVER, NANOSECONDS, current

_last_times: dict[tuple[str, int], float] = {}


def reset() -> None:
    """Reset the state left by an earlier script."""
    _last_times.clear()


def _time() -> float:
    return current().now / NANOSECONDS


def _log(level: str, text: Any, arguments: tuple[Any, ...]) -> None:
    line = str(text) % arguments if arguments else str(text)
    stream = sys.stdout if level in ("DEBUG", "INFO") else sys.stderr
    print(f"[{level}] [{_time():.6f}]: {line}", file=stream, flush=True)


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
        if _time() - _last_times.get(place, -2 * FOREVER) >= period:
            _last_times[place] = _time()
            _log(level, msg, args)

    return log, once, throttled


def _silent(msg: Any, *args: Any, **_options: Any) -> None:
    """Debug messages are not shown, as with rospy's default level."""


LOGGERS: dict[str, Callable[..., None]] = {f"logdebug{variant}": _silent for variant in ("", "_once", "_throttle")}
for _name, _level in (("info", "INFO"), ("warn", "WARN"), ("err", "ERROR"), ("fatal", "FATAL")):
    for _variant, _function in zip(("", "_once", "_throttle"), _logger(_level), strict=True):
        LOGGERS[f"log{_name}{_variant}"] = _function
