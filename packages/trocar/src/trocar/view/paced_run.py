"""A run in a thread of its own that a page shows: start, end and the latest frame."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import replace
from itertools import count
from typing import Self

from trocar.robot.messages import Frame
from trocar.robot.pace import Pace

END_TIMEOUT = 10.0  # real time for the end of the thread [s]


class PacedRun(ABC):
    """Base of runs.

    Frames are read-only copies made in the thread of the run.

    Attributes:
        pace: clock of the run; other threads may play, pause and set its speed. error: that ended the run.
    """

    _latest: Frame

    def __init__(self, speed: float, period: float, name: str) -> None:
        self.pace = Pace(speed, period=period)
        self._numbers = count(1)
        self.error: Exception | None = None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @abstractmethod
    def _run(self) -> None:
        """Simulate at the `pace` and keep `_latest` until `_closing` is set."""

    @property
    def ended(self) -> bool:
        """True if the run has reached its end."""
        return False

    def start(self) -> Self:
        """Start the run."""
        self._thread.start()
        return self

    def close(self) -> None:
        """End the run."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(END_TIMEOUT)

    def frame(self, arms: Collection[str] | None = None) -> Frame:
        """The latest moment."""
        pace = self.pace
        playing = pace.playing and not self.ended
        number = next(self._numbers)
        return replace(self._latest, number=number, playing=playing, speed=pace.speed, factor=pace.factor)
