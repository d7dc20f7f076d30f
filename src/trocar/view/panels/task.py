"""The task that a person plays: its episode in words, and its marks in the scene."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

import viser

from trocar.envs.live_task import LiveTask
from trocar.view.page import Page
from trocar.view.panel import Selection, TextPanel

TAB = ("Task", viser.Icon.TARGET)
MARK, RADIUS = (242, 204, 26), 1.5e-3  # colour and radius [m] of a mark


class TaskPanel(TextPanel, tab=TAB, left=True):
    """State of the episode, and the goal as small spheres.

    Args:
        task: on the robot. words: return the state of the episode.
    """

    def __init__(self, task: LiveTask, words: Callable[[], str]) -> None:
        self._task, self._words = task, words
        self._spheres: list[Any] = []

    def text(self) -> str:
        return "<br>".join(escape(line) for line in self._words().splitlines())

    def build(self, page: Page) -> None:
        super().build(page)
        self._draw()

    def refresh(self, selection: Selection) -> None:
        super().refresh(selection)
        self._draw()

    def _draw(self) -> None:
        marks = self._task.marks()
        scene = self.page.server.scene
        while len(self._spheres) > len(marks):
            self._spheres.pop().remove()
        for k in range(len(self._spheres), len(marks)):
            self._spheres.append(scene.add_icosphere(f"/task/mark{k}", RADIUS, MARK))
        for sphere, place in zip(self._spheres, marks, strict=True):
            sphere.position = tuple(place)
