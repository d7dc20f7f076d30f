"""A twin that shadows a robot: it shows the measured state and predicts the effort. It sends no commands."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from trocar.control.observers import EffortStream
from trocar.errors import TrocarError
from trocar.recording import Recording
from trocar.recording.joint_states import JAW, JointStates, Row, recording_of
from trocar.robot.frames import DescribedArm
from trocar.robot.messages import Frame
from trocar.robot.settings import ArmSettings
from trocar.simulation.run import EFFORT_UNIT
from trocar.spatial import Array

MAX_ROWS = 500_000  # kept: 83 minutes at 100 Hz
BACK = 1_000_000_000  # a stamp older than the last one by more than this starts a new recording [ns]
MAX_REFUSALS = 20  # number of different message errors that are reported
MAX_MESSAGES = 100  # notices in all, from which a clock that goes back is no longer reported


class Efforts(NamedTuple):
    """The last seconds: times (N,) [s], efforts (N, n) [N m, N], measured (low-passed) and predicted."""

    t: Array
    measured: Array
    predicted: Array


class _Sample(NamedTuple):
    row: Row
    efforts: Array  # (2, n): measured, low-passed; predicted


class Shadow(DescribedArm):
    """The twin of one arm of a running robot. One thread passes messages to it; any thread may read.

    It cannot send anything. Its efforts are those of `EffortStream`, delayed by 36 ms.

    Args:
        settings: settings of the arm. topic: topic of the messages, such as PSM1/measured_js.

    Attributes:
        jaw: states of the jaw arrive separately, through `receive_jaw`.
        messages: notices to the user, oldest first, in a bounded number.
    """

    def __init__(self, settings: ArmSettings, topic: str = "") -> None:
        super().__init__(settings)
        self.messages: list[str] = []
        self._topic, self.jaw = topic, JAW in self.arm.joint_names
        self._lock = threading.Lock()
        self._refused: set[str] = set()
        self._begin()

    def _begin(self) -> None:
        self._states = JointStates(self.arm, self.jaw)
        self._stream = EffortStream(self.description.mechanism())
        self._samples: deque[_Sample] = deque(maxlen=MAX_ROWS)
        self._first = self._newest = -1
        self._heard: float | None = None

    def receive(self, stamp: int, names: Sequence[str], *state: Sequence[float]) -> None:
        """Process a state of the arm at a time [ns]: names of joints, and position, velocity and effort of each.

        A malformed message is reported and ignored. Stamp 0 marks invalid data, which are also ignored.
        """
        if stamp < self._newest - BACK and stamp > 0:
            if len(self.messages) < MAX_MESSAGES:
                self.messages.append("the robot's clock went back; a new recording was started")
            with self._lock:
                self._begin()
        self._newest = max(self._newest, stamp)
        self._take(stamp, lambda: self._states.add(stamp, names, *state))

    def receive_jaw(self, stamp: int, _names: Sequence[str], *state: Sequence[float]) -> None:
        """Process a state of the jaw, like `receive`."""
        self._take(stamp, lambda: self._states.add_jaw(stamp, *state))

    def _take(self, stamp: int, rows: Callable[[], list[Row]]) -> None:
        if stamp <= 0:
            return
        try:
            with self._lock:
                self._heard = time.monotonic()
                for row in rows():
                    self._add(row)
        except TrocarError as error:
            if str(error) not in self._refused and len(self._refused) < MAX_REFUSALS:
                self._refused.add(str(error))
                self.messages.append(f"{self._topic}: {error}")

    def _add(self, row: Row) -> None:
        if self._first < 0:
            self._first = row.stamp
        try:
            effort = self._stream.update(1e-9 * (row.stamp - self._first), row.q, row.dq, row.tau)
        except TrocarError:  # after a number of 1e300, the filter would be beyond all limits for thousands of rows
            self._stream = EffortStream(self.description.mechanism())
            raise
        self._samples.append(_Sample(row, np.array(effort)))

    @property
    def silent(self) -> float:
        """Time since the last message [s]; infinite before the first."""
        return np.inf if self._heard is None else time.monotonic() - self._heard

    def __len__(self) -> int:
        """Number of rows kept."""
        return len(self._samples)

    def recording(self) -> Recording:
        """Rows received so far, with the channels `predicted_tau` and `residual_tau` as computed live."""
        with self._lock:
            samples = list(self._samples)
        if len(samples) < 2:
            raise TrocarError(f"nothing was received from {self._topic or 'the robot'} yet")
        efforts = np.array([one.efforts for one in samples])
        about = {"arm": self.arm.name, "parameters": self.description.parameters.name, "topic": self._topic}
        recording = recording_of((one.row for one in samples), self.arm, about)
        extra = {"predicted_tau": efforts[:, 1], "residual_tau": efforts[:, 0] - efforts[:, 1]}
        return replace(recording, extra=extra, extra_units=dict.fromkeys(extra, EFFORT_UNIT))

    def efforts(self, seconds: float, count: int = 400) -> Efforts:
        """Efforts of the last seconds, thinned to at most `count` rows; empty arrays before the first row."""
        with self._lock:
            since = self._newest - seconds * 1e9
            chosen = list(takewhile(lambda one: one.row.stamp >= since, reversed(self._samples)))
            first = self._first
        chosen = chosen[:: max(1, -(-len(chosen) // count))][::-1]
        t = np.array([1e-9 * (one.row.stamp - first) for one in chosen])
        both = np.array([one.efforts for one in chosen]).reshape(-1, 2, self.arm.n)
        return Efforts(t, both[:, 0], both[:, 1])

    def frame(self, number: int = 0) -> Frame:
        """The arm at its last measured joints, or at home before the first message. Call it from one thread only."""
        with self._lock:
            last = self._samples[-1] if self._samples else None
            first = self._first
        home = np.array(self.arm.home)
        state = {"q": home, "dq": 0.0 * home}
        if last is not None:
            state = {"q": last.row.q, "dq": last.row.dq, "tau": last.row.tau}
        return self.framed(state, number=number, time=0.0 if last is None else 1e-9 * (last.row.stamp - first))
