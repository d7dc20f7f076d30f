"""The view of a stereo endoscope beside the scene, rendered from frames in a separate thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import viser

from trocar.appearance import Picture
from trocar.appearance.endoscope_camera import VIEW, StereoEndoscope
from trocar.appearance.films import jpeg
from trocar.appearance.lens import Lens
from trocar.robot.messages import Frame
from trocar.robot.pictured_frame import PicturedFrame
from trocar.spatial import Array, quaternion
from trocar.view.page import Page
from trocar.view.panel import Panel, Selection, Tab

SIZE = 320, 240  # of one picture [pixels]
INTERVAL = 1 / 8  # real time between two pairs of pictures [s]
QUALITY = 80  # of JPEG files
GAP = 6  # between pictures [px]
WIDTH = 340  # of a single picture [px]: the scene keeps 40 % of a window of 1024 px
TAB: Tab = ("Endoscope", viser.Icon.EYE)


def endoscope_of(frame: Frame) -> str | None:
    """Name of the first arm with an endoscope in a scene of several arms; None if there is none."""
    names = [name for name, about in frame.scene.arms.items() if about.arm.carries == "endoscope"]
    return names[0] if names and len(frame.scene.arms) > 1 else None


class EndoscopeRenderer:
    """Left and right pictures of an endoscope, with contact forces as arrows.

    Args:
        arm: name of the ECM. size: (width, height) of a picture [pixels]. interval: see `INTERVAL`.

    Attributes:
        report: called with the reason when pictures cannot be rendered.
    """

    def __init__(self, arm: str, size: tuple[int, int] = SIZE, interval: float = INTERVAL) -> None:
        self.arm, self.size, self._interval = arm, size, interval
        self.report: Callable[[str], object] = lambda text: None
        self._pair: tuple[Picture, Picture] = (np.full((size[1], size[0], 3), 40, dtype=np.uint8),) * 2
        self._jpegs: tuple[tuple[Picture, Picture], tuple[bytes, bytes]] | None = None
        self._requested: Frame | None = None
        self._pending: Future[None] | None = None
        self._placed: tuple[PicturedFrame, StereoEndoscope] | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="trocar-endoscope")  # owns OpenGL's context

    def __call__(self, frame: Frame) -> tuple[Picture, Picture]:
        """The latest pictures (height, width, 3), without waiting; requests those of a frame if anything moved."""
        before, pending = self._requested, self._pending
        still = (
            before is not None
            and before.scene is frame.scene
            and np.array_equal(before.qpos, frame.qpos)
            and np.array_equal(before.contacts, frame.contacts)
        )
        if not still and (pending is None or (pending.done() and pending.exception() is None)):
            self._requested, self._pending = frame, self._thread.submit(self._render, frame)
        return self._pair

    def jpegs(self) -> tuple[bytes, bytes]:
        """The latest pictures of the left and the right eye as JPEG files; the same object until they change."""
        pair = self._pair
        if self._jpegs is None or self._jpegs[0] is not pair:
            self._jpegs = pair, (jpeg(pair[0], QUALITY), jpeg(pair[1], QUALITY))
        return self._jpegs[1]

    def T_world_camera(self, frame: Frame) -> Array:
        """Optical frame (4, 4) of the left camera in the world: x right, y down, z away. Waits for the picture."""
        return self._thread.submit(lambda: self._at(frame).T_world_camera("left")).result()

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown(cancel_futures=True)

    def _at(self, frame: Frame) -> StereoEndoscope:
        """The endoscope in the scene of a frame; called in the thread."""
        if self._placed is None or self._placed[0].spec is not frame.scene.spec:
            scene = PicturedFrame(frame.scene)
            self._placed = scene, StereoEndoscope(scene, self.arm, Lens.of_view(VIEW, *self.size))
        self._placed[0].show(frame)
        return self._placed[1]

    def _render(self, frame: Frame) -> None:
        began = time.perf_counter()
        try:
            self._pair = self._at(frame).pair(frame.contacts)
        except Exception as error:  # of OpenGL: the page continues without the picture
            self.report(f"the endoscope's picture cannot be rendered: {error}")
            raise
        time.sleep(max(0.0, self._interval - (time.perf_counter() - began)))


class EndoscopePanel(Panel, left=True, interval=1 / 15):
    """Pictures of an endoscope: the left eye above the right one. In the scene they would cover a narrow window.

    Args:
        eyes: number of pictures. through: offer to move the camera of the scene along with the endoscope.
        tab: title and icon of its tab.
    """

    def __init__(self, renderer: EndoscopeRenderer, eyes: int = 2, *, through: bool = False, tab: Tab = TAB) -> None:
        self.renderer, self._eyes, self._through = renderer, eyes, through
        self.tab, self.width = tab, WIDTH if eyes == 1 else 0

    def build(self, page: Page) -> None:
        self.renderer.report = page.post
        self.visible = page.add("checkbox", "Draw the view", None, True)
        self._pictures: Sequence[Picture] = self.renderer(page.selection.frame)
        self.image = page.add("image", _stacked(self._pictures[: self._eyes]), format="jpeg")
        self.through = page.add("checkbox", "Look through the endoscope", None, False, visible=self._through)

    def arms(self, selected: str) -> Collection[str]:
        return ()

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
            for client in self.page.server.get_clients().values():
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
