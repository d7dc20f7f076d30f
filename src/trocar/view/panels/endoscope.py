"""The view of an endoscope beside the scene."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import viser

from trocar.appearance import Picture
from trocar.spatial import quaternion
from trocar.view.endoscope import EndoscopeRenderer
from trocar.view.page import Page
from trocar.view.panel import Panel, Tab
from trocar.view.selection import Selection

GAP = 6  # between pictures [px]
WIDTH = 560  # of a single picture [px]
TAB: Tab = ("Endoscope", viser.Icon.EYE)


class EndoscopePanel(Panel):
    """Pictures of an endoscope: the left eye above the right one. In the scene they would cover a narrow window.

    Args:
        eyes: number of pictures. through: offer to move the camera of the scene along with the endoscope.
        tab: title and icon of its tab.
    """

    left: ClassVar[bool] = True
    interval: ClassVar[float] = 1 / 15

    def __init__(self, renderer: EndoscopeRenderer, eyes: int = 2, *, through: bool = False, tab: Tab = TAB) -> None:
        self.renderer, self._eyes, self._through = renderer, eyes, through
        self.tab, self.width = tab, WIDTH if eyes == 1 else 0

    def build(self, page: Page) -> None:
        gui = page.server.gui
        self._page, self.renderer.report = page, page.post
        self.visible: Any = gui.add_checkbox("Draw the view", True)
        self.image: Any = gui.add_image(_stacked(self.renderer(page.selection.frame)[: self._eyes]), format="jpeg")
        self.through: Any = gui.add_checkbox("Look through the endoscope", False, visible=self._through)
        self._pictures: Sequence[Picture] = ()

    def refresh(self, selection: Selection) -> None:
        frame = selection.frame
        self.image.visible = bool(self.visible.value)
        if not self.visible.value or self.renderer.arm not in frame.scene.arms:
            return
        pictures = self.renderer(frame)
        if pictures is not self._pictures:
            self._pictures = pictures
            self.image.image = _stacked(pictures[: self._eyes])
        if self.through.value:
            T = self.renderer.T_world_camera(frame)
            for client in self._page.server.get_clients().values():
                with client.atomic():
                    client.camera.position, client.camera.wxyz = T[:3, 3], quaternion(T[:3, :3])

    @property
    def costly(self) -> str:
        return "the endoscope's view" if self.visible.value else ""

    def close(self) -> None:
        self.renderer.close()


def _stacked(pictures: Sequence[Picture]) -> Picture:
    gap = np.full((GAP, pictures[0].shape[1], 3), 255, dtype=np.uint8)
    return np.vstack([part for picture in pictures for part in (picture, gap)][:-1])
