"""A panel of `trocar view`: the height of the first arm's tip."""

from __future__ import annotations

import viser

from trocar.robot import Robot
from trocar.view.page import Page
from trocar.view.panel import Panel, Selection


class HeightPanel(Panel, tab=("My lab", viser.Icon.RULER), interval=0.2):
    """Height of a tip in the world."""

    def __init__(self, arm: str) -> None:
        self._arm = arm

    def build(self, page: Page) -> None:
        self._text = page.add("markdown", "")

    def refresh(self, selection: Selection) -> None:
        frame = selection.frame
        T = frame.scene.arms[self._arm].T_world_base @ frame.arms[self._arm].T_tip
        self._text.content = f"{self._arm}: tip {1e3 * T[2, 3]:.1f} mm above the floor"


def make_panel(robot: Robot) -> Panel:
    """The panel of a robot's first arm."""
    return HeightPanel(next(iter(robot.arms)))
