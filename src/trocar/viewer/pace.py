"""Advice where the simulation is slower than asked for."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from trocar.runtime.controllers import Mode
from trocar.runtime.frame import Frame
from trocar.runtime.session import SPEEDS

SLOW = 0.9  # of the requested speed
PATIENCE = 2.0  # real time over which it is averaged: a start, or a change, takes its time [s]


class Pace:
    """Notices that the simulation has been slower than asked for, for a while."""

    def __init__(self) -> None:
        self._began: float | None = None  # real time since when it plays [s]
        self._seen: deque[tuple[float, float]] = deque()  # real times [s], and speeds per requested speed

    def advice(self, frame: Frame, now: float, costly: Sequence[str] = ()) -> str:
        """Markdown that says so, with what to switch off; empty while all is well.

        Args:
            now: real time [s]. costly: what the page draws and could leave out, the most expensive first.
        """
        if not (frame.live and frame.playing):
            self._began = None
            self._seen.clear()
            return ""
        if self._began is None:
            self._began = now
        self._seen.append((now, frame.factor / frame.speed))
        while now - self._seen[0][0] > PATIENCE:
            self._seen.popleft()
        if now - self._began < PATIENCE:
            return ""
        ratio = sum(each for _, each in self._seen) / len(self._seen)
        if ratio > SLOW:
            return ""
        factor = ratio * frame.speed
        cartesian = [
            name for name, arm in frame.arms.items() if arm.control is not None and arm.control.mode is Mode.cartesian
        ]
        # of one core: a controller of the tip takes about 0.3, the endoscope's view 0.12, curves 0.02
        off = [*(f"the cartesian mode of {name}" for name in cartesian), *costly]
        if frame.scene.settings.objects is not None:
            off.append("objects (start without --touch)")
        remedy = f"Switch off {', '.join(off)}; or set" if off else "Set"
        return (
            f"**Slower than asked for**: {factor:.2f} instead of {frame.speed:.2f} × real time. "
            f"{remedy} the speed to {max(factor, SPEEDS[0]):.2f}."
        )
