"""The endoscope's picture of a robot, rendered in a separate thread from a copy of its scene."""

from __future__ import annotations

import io
import time
from concurrent.futures import Future, ThreadPoolExecutor

import mujoco
import numpy as np
from PIL import Image

from trocar.appearance import Picture
from trocar.appearance.endoscope_camera import VIEW, StereoEndoscope
from trocar.appearance.lens import Lens
from trocar.simulation import Scene
from trocar.spatial import Array

SIZE = 640, 480  # [pixels]
QUALITY = 80  # of JPEG files
INTERVAL = 1 / 15  # least real time between two pictures [s]


class RobotEndoscope:
    """Left picture of the endoscope. A call with a state requests a picture and returns the latest one.

    Contact forces are drawn as arrows.

    Args:
        scene: a copy of the robot's scene that is used only here. arm: the ECM's name.

    Attributes:
        error: the reason why no picture can be rendered, or "".
    """

    def __init__(self, scene: Scene, arm: str = "ECM") -> None:
        self._scene, self._endoscope = scene, StereoEndoscope(scene, arm, Lens.of_view(VIEW, *SIZE))
        self._pair: tuple[Picture, Picture] = (np.full((SIZE[1], SIZE[0], 3), 40, dtype=np.uint8),) * 2
        self._encoded: tuple[tuple[Picture, Picture], tuple[bytes, bytes]] | None = None
        self._pending: Future[None] | None = None
        self.error = ""
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="trocar-endoscope")  # owns OpenGL's context

    def __call__(self, qpos: Array, contacts: Array | None = None) -> Picture:
        """The latest picture (height, width, 3); request one at joint positions of the model.

        Args:
            contacts: points [m] and forces [N] (k, 2, 3) in the world to draw.
        """
        if not self.error and (self._pending is None or self._pending.done()):
            self._pending = self._thread.submit(self._render, qpos, contacts)
        return self._pair[0]

    def jpegs(self) -> tuple[bytes, bytes]:
        """The latest pictures of the left and the right eye as JPEG files; the same object until they change."""
        pair = self._pair
        if self._encoded is None or self._encoded[0] is not pair:
            left, right = (_jpeg(picture) for picture in pair)
            self._encoded = pair, (left, right)
        return self._encoded[1]

    def T_world_camera(self, qpos: Array) -> Array:
        """Optical frame (4, 4) of the left camera in the world: x right, y down, z away. Waits for the picture."""
        return self._thread.submit(self._place, qpos).result()

    def close(self) -> None:
        self._thread.shutdown(cancel_futures=True)

    def _place(self, qpos: Array) -> Array:
        self._scene.data.qpos[:] = qpos
        mujoco.mj_kinematics(self._scene.model, self._scene.data)
        return self._endoscope.T_world_camera("left")

    def _render(self, qpos: Array, contacts: Array | None) -> None:
        began = time.perf_counter()
        try:
            self._place(qpos)
            self._pair = self._endoscope.pair(contacts)
        except Exception as error:  # of OpenGL: the page continues without the picture
            self.error = f"the endoscope's picture cannot be rendered: {error}"
        time.sleep(max(0.0, INTERVAL - (time.perf_counter() - began)))


def _jpeg(picture: Picture) -> bytes:
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "JPEG", quality=QUALITY)
    return file.getvalue()
