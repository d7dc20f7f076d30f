"""Joint states of the dVRK, as they arrive, put together to rows of a recording.

A PSM publishes its jaw apart, as `jaw/measured_js`: it is interpolated to the times of the arm.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from trocar.arms import Arm
from trocar.errors import TrocarError
from trocar.recording.recording import Recording
from trocar.spatial import Array

JAW = "jaw"
LATE = 1_000_000_000  # a jaw that is silent for longer is taken to stay where it was [ns]
MOST_WAITING = 10_000  # rows without a jaw


class Row(NamedTuple):
    """State of all joints of an arm at a time [ns]: q, dq, tau (n,) [rad, m; rad/s, m/s; N m, N]."""

    stamp: int
    q: Array
    dq: Array
    tau: Array


class JointStates:
    """Puts messages of one arm together to rows, whether they come from a bag or from a robot.

    Joints are matched by name, or by place if the messages name none of them. Messages that are not newer than the one
    before are dropped. A row waits for the first state of the jaw that is not older than itself.

    Args:
        jaw: states of the jaw come apart.
    """

    def __init__(self, arm: Arm, jaw: bool) -> None:
        self._arm, self._apart = arm, jaw
        self._waiting: deque[tuple[int, tuple[str, ...], Array]] = deque(maxlen=MOST_WAITING)
        self._jaw: deque[tuple[int, Array]] = deque(maxlen=MOST_WAITING)
        self._columns: tuple[tuple[str, ...], int] = (), 0  # that `_order` is of
        self._order: list[int] = []
        self._last = self._last_jaw = -1

    def add(self, stamp: int, names: Sequence[str], *state: Sequence[float]) -> list[Row]:
        """Rows that a state of the arm completes. Position, velocity and effort have a value for every joint."""
        values = _table("measured_js", state)
        if stamp <= self._last:
            return []
        self._last = stamp
        self._waiting.append((stamp, tuple(names), values))
        return self._complete()

    def add_jaw(self, stamp: int, *state: Sequence[float]) -> list[Row]:
        """Rows that a state of the jaw completes."""
        values = _table("jaw/measured_js", state)
        if stamp <= self._last_jaw or not values.size:
            return []
        self._last_jaw = stamp
        self._jaw.append((stamp, values[:, 0]))
        return self._complete()

    def rest(self) -> list[Row]:
        """Rows that still wait, the jaw staying where it was last; none without a jaw that they need."""
        return self._complete(late=-1)

    def _complete(self, late: int = LATE) -> list[Row]:
        rows = []
        while self._waiting and (not self._apart or self._jaw):
            stamp, names, values = self._waiting[0]
            if self._apart:
                if self._last_jaw < stamp and self._last - self._last_jaw <= late:
                    break
                values = np.column_stack([values, self._jaw_at(stamp)])
                names = (*names, JAW)
            self._waiting.popleft()
            if (names, values.shape[1]) != self._columns:
                self._order = _order(names, values.shape[1], self._arm.joint_names)
                self._columns = names, values.shape[1]
            rows.append(Row(stamp, *values[:, self._order]))
        return rows

    def _jaw_at(self, stamp: int) -> Array:
        """State of the jaw (3,) at a time, interpolated; its first or last one outside of its times."""
        while len(self._jaw) > 1 and self._jaw[1][0] <= stamp:
            self._jaw.popleft()
        (before, values), (after, later) = self._jaw[0], self._jaw[min(1, len(self._jaw) - 1)]
        if stamp <= before or after == before:
            return values
        return np.asarray(values + (later - values) * ((stamp - before) / (after - before)))


def recording_of(rows: Iterable[Row], arm: Arm, provenance: Mapping[str, Any]) -> Recording:
    """A recording from time 0 of rows in the joints of an arm."""
    stamps, q, dq, tau = zip(*rows, strict=True)
    return Recording(
        t=1e-9 * (np.array(stamps) - stamps[0]),
        q=np.array(q),
        dq=np.array(dq),
        tau=np.array(tau),
        joints=arm.joint_names,
        joint_units=arm.joint_units,
        provenance=provenance,
    )


def _table(topic: str, state: Sequence[Sequence[float]]) -> Array:
    position, velocity, effort = state
    if not len(position) == len(velocity) == len(effort):
        raise TrocarError(f"{topic}: a message has no position, velocity and effort of every joint")
    values = np.array(state, dtype=float)
    if not np.isfinite(values).all():
        raise TrocarError(f"{topic}: a message has a number that is not finite")
    return values


def _order(names: Sequence[str], columns: int, joints: Sequence[str]) -> list[int]:
    """Columns of a message, one for each joint of the arm."""
    plain = [name.split("/")[-1] for name in names]
    found = {name: i for i, name in enumerate(plain)} | {name.removeprefix("outer_"): i for i, name in enumerate(plain)}
    if len(names) == columns and all(joint in found for joint in joints):
        return [found[joint] for joint in joints]
    if columns == len(joints):
        return list(range(columns))
    given = ", ".join(names) if len(names) == columns else f"{columns} of them"
    raise TrocarError(f"the messages have the joints {given}; the arm has {', '.join(joints)}")
