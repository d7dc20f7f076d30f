"""The arm that the page shows."""

from __future__ import annotations

from dataclasses import dataclass

from trocar.robot.description import ArmDescription
from trocar.robot.messages import ArmFrame, Frame


@dataclass(frozen=True)
class Selection:
    """One arm of a frame: the selected arm of a robot, or the only arm of a recording."""

    frame: Frame
    name: str

    @classmethod
    def of(cls, frame: Frame, selected: str) -> Selection:
        return cls(frame, selected if selected in frame.scene.arms else next(iter(frame.scene.arms)))

    @property
    def state(self) -> ArmFrame:
        return self.frame.arms[self.name]

    @property
    def about(self) -> ArmDescription:
        return self.frame.scene.arms[self.name]

    @property
    def alone(self) -> bool:
        return len(self.frame.scene.arms) == 1

    @property
    def title(self) -> str:
        """Its name, and its type if there are several arms."""
        return self.about.arm.name if self.alone else f"{self.name} ({self.about.arm.name})"
