"""Advice for a simulation that runs slower than requested."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from trocar.runtime.controllers import Mode
from trocar.runtime.frame import Frame
from trocar.runtime.session import SPEEDS

SLOW = 0.9  # of the requested speed
PATIENCE = 2.0  # real time of the average: after a start or a change, the speed needs time to settle [s]


class Pace:
    """Detects that the simulation has been slower than requested for a while."""

    def __init__(self) -> None:
        self._began: float | None = None  # real time when it started to play [s]
        self._seen: deque[tuple[float, float]] = deque()  # real times [s], and speeds per requested speed

    def advice(self, frame: Frame, now: float, costly: Sequence[str] = ()) -> str:
        """A warning in Markdown with what to switch off; empty while the simulation keeps up.

        Args:
            now: real time [s]. costly: drawings that the page can switch off, the most expensive first.
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
        # share of one core: a Cartesian controller takes about 0.3, the endoscope's view 0.12, curves 0.02
        off = [*(f"the cartesian mode of {name}" for name in cartesian), *costly]
        if frame.scene.settings.objects is not None:
            off.append("objects (start without --touch)")
        remedy = f"Switch off {', '.join(off)}; or set" if off else "Set"
        return (
            f"**Slower than requested**: {factor:.2f} instead of {frame.speed:.2f} × real time. "
            f"{remedy} the speed to {max(factor, SPEEDS[0]):.2f}."
        )
