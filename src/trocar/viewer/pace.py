"""Advice where the simulation is slower than asked for."""

from __future__ import annotations

from collections.abc import Sequence

from trocar.runtime.controllers import Mode
from trocar.runtime.frame import Frame

SLOW = 0.9  # of the requested speed
PATIENCE = 2.0  # real time for which it must be slow: a start, or a change, takes its time [s]


class Pace:
    """Notices that the simulation has been slower than asked for, for a while."""

    def __init__(self) -> None:
        self._since: float | None = None

    def advice(self, frame: Frame, now: float, costly: Sequence[str] = ()) -> str:
        """Markdown that says so, with what to switch off; empty while all is well.

        Args:
            now: real time [s]. costly: what the page draws and could leave out, the most expensive first.
        """
        slow = frame.live and frame.playing and frame.factor < SLOW * frame.speed
        if not slow:
            self._since = None
            return ""
        if self._since is None:
            self._since = now
        if now - self._since < PATIENCE:
            return ""
        cartesian = [
            name for name, arm in frame.arms.items() if arm.control is not None and arm.control.mode is Mode.cartesian
        ]
        off = [*costly, *(f"the cartesian mode of {name}" for name in cartesian)]
        if frame.scene.settings.objects is not None:
            off.append("objects (start without --touch)")
        remedy = f"Switch off {', '.join(off)}; or set" if off else "Set"
        return (
            f"**Slower than asked for**: {frame.factor:.2f} instead of {frame.speed:.2f} × real time. "
            f"{remedy} the speed to {max(frame.factor, 0.05):.2f}."
        )
