"""The arm that the page shows."""

from __future__ import annotations

from dataclasses import dataclass

from trocar.runtime.description import ArmDescription
from trocar.runtime.frame import ArmFrame, Frame


@dataclass(frozen=True)
class ShownArm:
    """One arm of a frame: the selected arm of the simulation, or the only arm of a recording."""

    frame: Frame
    name: str

    @classmethod
    def of(cls, frame: Frame, selected: str) -> ShownArm:
        return cls(frame, selected if frame.live else next(iter(frame.arms)))

    @property
    def state(self) -> ArmFrame:
        return self.frame.arms[self.name]

    @property
    def about(self) -> ArmDescription:
        return self.frame.scene.arms[self.name]

    @property
    def alone(self) -> bool:
        return len(self.frame.arms) == 1

    @property
    def title(self) -> str:
        """Its name, and its type if there are several arms."""
        return self.about.arm.name if self.alone else f"{self.name} ({self.about.arm.name})"


def length(metres: float) -> str:
    """A small length in the unit that fits it: nm, um or mm."""
    if abs(metres) < 1e-11:
        return "0 nm"
    for unit, size in (("nm", 1e-9), ("µm", 1e-6)):
        if abs(metres) < 1000 * size:
            return f"{metres / size:.2g} {unit}"
    return f"{1000 * metres:.3g} mm"
