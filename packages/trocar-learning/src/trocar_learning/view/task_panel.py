"""The task that a person plays: its episode in words, and its marks in the scene."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

import viser

from trocar.view.mark_spheres import MarkSpheres
from trocar.view.page import Page
from trocar.view.panel import Selection, TextPanel
from trocar_learning.envs.live_task import LiveTask

TAB = ("Task", viser.Icon.TARGET)
RADIUS = 1.5e-3  # of a mark [m]


class TaskPanel(TextPanel, tab=TAB, left=True):
    """State of the episode, and the goal as small spheres.

    Args:
        task: on the robot. words: return the state of the episode.
    """

    def __init__(self, task: LiveTask, words: Callable[[], str]) -> None:
        self._task, self._words = task, words

    def text(self) -> str:
        return "<br>".join(escape(line) for line in self._words().splitlines())

    def build(self, page: Page) -> None:
        super().build(page)
        self._spheres = MarkSpheres(page.server.scene, "/task/mark", RADIUS)
        self._spheres.draw(self._task.marks())

    def refresh(self, selection: Selection) -> None:
        super().refresh(selection)
        self._spheres.draw(self._task.marks())
