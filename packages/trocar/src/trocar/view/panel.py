"""The parts that a page is made of: panels, the arm that they show, and their texts."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import viser

from trocar.robot import Robot
from trocar.robot.description import ArmDescription
from trocar.robot.messages import ArmFrame, Frame

if TYPE_CHECKING:
    from trocar.view.page import Page

Tab = tuple[str, viser.IconName | None]


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


class Panel:
    """A part of a page: `build` adds controls to it, `refresh` updates them.

    A new panel is a subclass in a file of `view/panels/`, added to the list of panels that a command opens.

    Attributes:
        page: the page, from `build` on.
        tab: title and icon of its tab; panels with the same tab share it. None: above the tabs.
        left: it is on the left of the scene. width: smallest width of that side [px].
        interval: real time between calls of `refresh` [s]; 0 for every drawing.
    A subclass sets them in its head, as in `class Depths(Panel, tab=("Depth", None), left=True)`.
    """

    page: Page
    tab: Tab | None = None
    left: ClassVar[bool] = False
    width: int = 0
    interval: ClassVar[float] = 0.1

    def __init_subclass__(cls, **attributes: Any) -> None:
        for name, value in attributes.items():
            setattr(cls, name, value)

    def build(self, page: Page) -> None:
        """Add the controls. The page has drawn its first frame."""

    def refresh(self, selection: Selection) -> None:
        """Follow the frame that the page shows, with its selected arm."""

    def arms(self, selected: str) -> Collection[str]:
        """Arms whose states `refresh` reads. Default: the selected one."""
        return (selected,)

    def close(self) -> None:
        """End threads."""

    @property
    def costly(self) -> str:
        """Name of a part that costs computing time and is on; the user can switch it off."""
        return ""


class RobotPanel(Panel):
    """A panel of a robot. Attributes: simulation: its client."""

    def __init__(self, robot: Robot) -> None:
        self.robot, self.simulation = robot, robot.simulation()


class TextPanel(Panel):
    """A panel that shows a text in HTML. Attributes: html: the control."""

    html: Any

    def text(self) -> str:
        """The current text, as HTML."""
        raise NotImplementedError

    def build(self, page: Page) -> None:
        self.html = page.add("html", "")
        TextPanel.refresh(self, page.selection)

    def refresh(self, selection: Selection) -> None:
        self.html.content = f'<div style="padding: 0.5em 1em; font-size: 85%">{self.text()}</div>'

    def arms(self, selected: str) -> Collection[str]:
        return ()


def plain(text: str) -> str:
    """Markdown that shows a text letter by letter, in one line: no formatting, links, pictures or HTML."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", " ".join(text.split()))


def length(metres: float) -> str:
    """A small length in the unit that fits it: nm, um or mm."""
    if abs(metres) < 1e-11:
        return "0 nm"
    for unit, size in (("nm", 1e-9), ("µm", 1e-6)):
        if abs(metres) < 1000 * size:
            return f"{metres / size:.2g} {unit}"
    return f"{1000 * metres:.3g} mm"
