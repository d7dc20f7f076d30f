"""The parts that a page is made of."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, ClassVar

import viser

from trocar.view.selection import Selection

if TYPE_CHECKING:
    from trocar.view.page import Page

Tab = tuple[str, viser.IconName | None]


class Panel:
    """A part of a page: `build` adds controls to it, `refresh` updates them.

    A new panel is a subclass in a file of `view/panels/`, added to the list of panels that a command opens.

    Attributes:
        tab: title and icon of its tab; panels with the same tab share it. None: above the tabs.
        left: it is on the left of the scene. width: smallest width of that side [px].
        interval: real time between calls of `refresh` [s]; 0 for every drawing.
    """

    tab: Tab | None = None
    left: ClassVar[bool] = False
    width: int = 0
    interval: ClassVar[float] = 0.1

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
