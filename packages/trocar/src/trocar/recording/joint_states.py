"""Assembly of the dVRK's joint state messages into rows of a recording.

A PSM publishes its jaw on a separate topic, `jaw/measured_js`: its states are interpolated to the times of the arm.
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
LATE = 1_000_000_000  # a jaw that is silent for longer is assumed to stay in place [ns]
MAX_WAITING = 10_000  # largest number of rows that wait for a state of the jaw


class Row(NamedTuple):
    """State of all joints of an arm at a time [ns]: q, dq, tau (n,) [rad, m; rad/s, m/s; N m, N]."""

    stamp: int
    q: Array
    dq: Array
    tau: Array


class JointStates:
    """Assembles messages of one arm, from a bag or from a robot, into rows.

    Joints are matched by name, or by position if the messages name none of them. A message that is not newer than the
    previous one is dropped. A row waits for the first state of the jaw that is not older than itself.

    Args:
        jaw: states of the jaw arrive separately.
    """

    def __init__(self, arm: Arm, jaw: bool) -> None:
        self._arm, self._apart = arm, jaw
        self._waiting: deque[tuple[int, tuple[str, ...], Array]] = deque(maxlen=MAX_WAITING)
        self._jaw: deque[tuple[int, Array]] = deque(maxlen=MAX_WAITING)
        self._columns: tuple[tuple[str, ...], int] = (), 0  # names and number of columns for which `_order` holds
        self._order: list[int] = []
        self._last = self._last_jaw = -1

    def add(self, stamp: int, names: Sequence[str], *state: Sequence[float]) -> list[Row]:
        """Rows completed by a state of the arm. Position, velocity and effort have a value for every joint."""
        values = _table("measured_js", state)
        if stamp <= self._last:
            return []
        self._last = stamp
        self._waiting.append((stamp, tuple(names), values))
        return self._complete()

    def add_jaw(self, stamp: int, *state: Sequence[float]) -> list[Row]:
        """Rows completed by a state of the jaw."""
        values = _table("jaw/measured_js", state)
        if stamp <= self._last_jaw or not values.size:
            return []
        self._last_jaw = stamp
        self._jaw.append((stamp, values[:, 0]))
        return self._complete()

    def rest(self) -> list[Row]:
        """Rows that still wait, with the jaw at its last position; none if the required jaw never arrived."""
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
        """State of the jaw (3,) at a time, interpolated; outside its times, the first or the last one."""
        while len(self._jaw) > 1 and self._jaw[1][0] <= stamp:
            self._jaw.popleft()
        (before, values), (after, later) = self._jaw[0], self._jaw[min(1, len(self._jaw) - 1)]
        if stamp <= before or after == before:
            return values
        return np.asarray(values + (later - values) * ((stamp - before) / (after - before)))


def recording_of(rows: Iterable[Row], arm: Arm, provenance: Mapping[str, Any]) -> Recording:
    """A recording, starting at time 0, of rows in the joints of an arm."""
    stamps, q, dq, tau = map(np.array, zip(*rows, strict=True))
    names: dict[str, Any] = {"joints": arm.joint_names, "joint_units": arm.joint_units}
    return Recording(t=1e-9 * (stamps - stamps[0]), q=q, dq=dq, tau=tau, **names, provenance=provenance)


def _table(topic: str, state: Sequence[Sequence[float]]) -> Array:
    position, velocity, effort = state
    if not len(position) == len(velocity) == len(effort):
        raise TrocarError(f"{topic}: a message lacks the position, velocity or effort of some joints")
    values = np.array(state, dtype=float)
    if not np.isfinite(values).all():
        raise TrocarError(f"{topic}: a message contains a number that is not finite")
    return values


def _order(names: Sequence[str], columns: int, joints: Sequence[str]) -> list[int]:
    plain = [name.split("/")[-1] for name in names]
    short = [name.removeprefix("outer_") for name in plain]
    places = {name: i for each in (plain, short) for i, name in enumerate(each)}
    if len(names) == columns and all(joint in places for joint in joints):
        return [places[joint] for joint in joints]
    if columns == len(joints) and not any(joint in places for joint in joints if joint != JAW):  # which we name
        return list(range(columns))
    got = ", ".join(names) if len(names) == columns else f"{columns} unnamed ones"
    raise TrocarError(f"the messages have the joints {got}; the arm has {', '.join(joints)}")
