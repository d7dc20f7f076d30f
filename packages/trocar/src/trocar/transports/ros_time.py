"""ROS times and durations: integer seconds and nanoseconds."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar, Self

from trocar.errors import TrocarError

NANOSECONDS = 1_000_000_000


@functools.total_ordering
class _Stamp:
    """Seconds and nanoseconds, stored as a number of nanoseconds."""

    def __init__(self, secs: float = 0, nsecs: int = 0) -> None:
        self._total = round(secs * NANOSECONDS) + int(nsecs)

    @classmethod
    def of(cls, nanoseconds: int) -> Self:
        return cls(0, int(nanoseconds))

    @classmethod
    def from_sec(cls, seconds: float) -> Self:
        return cls(seconds)

    from_seconds = from_sec

    @property
    def secs(self) -> int:
        return self._total // NANOSECONDS

    @secs.setter
    def secs(self, value: int) -> None:
        self._total = int(value) * NANOSECONDS + self.nsecs

    @property
    def nsecs(self) -> int:
        return self._total % NANOSECONDS

    @nsecs.setter
    def nsecs(self, value: int) -> None:
        self._total = self.secs * NANOSECONDS + int(value)

    def set(self, secs: int, nsecs: int) -> None:
        self._total = int(secs) * NANOSECONDS + int(nsecs)

    def is_zero(self) -> bool:
        return self._total == 0

    def to_sec(self) -> float:
        return self._total / NANOSECONDS

    def to_nsec(self) -> int:
        return self._total

    def __bool__(self) -> bool:
        return self._total != 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Stamp) and self._total == other._total

    def __lt__(self, other: Any) -> bool:
        return self._total < other._total if isinstance(other, _Stamp) else NotImplemented

    def __add__(self, other: Any) -> Any:
        kind = _SUMS.get((type(self), type(other)))
        return NotImplemented if kind is None else kind.of(self._total + other._total)

    def __sub__(self, other: Any) -> Any:
        kind = _DIFFERENCES.get((type(self), type(other)))
        return NotImplemented if kind is None else kind.of(self._total - other._total)

    def __hash__(self) -> int:
        return hash(self._total)

    def __repr__(self) -> str:
        return f"rospy.{type(self).__name__}[{self._total}]"

    def __str__(self) -> str:
        return str(self._total)


class Duration(_Stamp):
    """A duration."""

    def __neg__(self) -> Duration:
        return Duration.of(-self._total)

    def __abs__(self) -> Duration:
        return Duration.of(abs(self._total))

    def __mul__(self, factor: float) -> Duration:
        return Duration.of(round(self._total * factor))

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Any:
        if isinstance(divisor, Duration):
            return self._total / divisor.to_nsec()
        return Duration.of(round(self._total / divisor))


class Time(_Stamp):
    """A time by the robot's clock.

    Attributes:
        clock: returns the robot's clock [ns], for `now`; set while a script runs.
    """

    clock: ClassVar[Callable[[], int] | None] = None

    @classmethod
    def now(cls) -> Time:
        if cls.clock is None:
            raise TrocarError("the stand-ins for ROS and dvrk work only inside trocar run: trocar run SCRIPT.py")
        return Time.of(cls.clock())


# Results of + and - by the types of both sides.
_SUMS = {(Time, Duration): Time, (Duration, Time): Time, (Duration, Duration): Duration}
_DIFFERENCES = {(Time, Time): Duration, (Time, Duration): Time, (Duration, Duration): Duration}


def seconds_of(value: Any) -> float:
    """A number of seconds or a Duration, in seconds."""
    return value.to_sec() if isinstance(value, _Stamp) else float(value)
