"""A run in a thread of its own that a page shows: start, end, pause, speed and the latest frame."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import Self

from trocar.robot.messages import Frame

END_TIMEOUT = 10.0  # real time for the end of the thread [s]


class PacedRun(ABC):
    """Base of runs.

    Frames are read-only copies made in the thread of the run.

    Attributes:
        playing, speed: of the run; other threads may set them. factor: achieved ratio of simulated to real time.
        error: that ended the run.
    """

    _latest: Frame

    def __init__(self, speed: float, name: str) -> None:
        self.playing, self.speed, self.factor = True, speed, 0.0
        self.error: Exception | None = None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @abstractmethod
    def _run(self) -> None:
        """Simulate and keep `_latest` until `_closing` is set."""

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
        return self._latest
