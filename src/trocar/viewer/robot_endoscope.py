"""The endoscope's picture of a robot, rendered in a separate thread from a copy of its scene."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor

import mujoco
import numpy as np

from trocar.appearance import Picture
from trocar.appearance.endoscope_camera import VIEW, StereoEndoscope
from trocar.appearance.lens import Lens
from trocar.simulation import Scene
from trocar.spatial import Array

SIZE = 640, 480  # [pixels]
INTERVAL = 1 / 15  # least real time between two pictures [s]


class RobotEndoscope:
    """Left picture of the endoscope. A call with joint positions requests a picture and returns the latest one.

    Args:
        scene: a copy of the robot's scene that is used only here. arm: the ECM's name.

    Attributes:
        error: the reason why no picture can be rendered, or "".
    """

    def __init__(self, scene: Scene, arm: str = "ECM") -> None:
        self._scene, self._endoscope = scene, StereoEndoscope(scene, arm, Lens.of_view(VIEW, *SIZE))
        self._picture: Picture = np.full((SIZE[1], SIZE[0], 3), 40, dtype=np.uint8)
        self._pending: Future[None] | None = None
        self.error = ""
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="trocar-endoscope")  # owns OpenGL's context

    def __call__(self, qpos: Array) -> Picture:
        if not self.error and (self._pending is None or self._pending.done()):
            self._pending = self._thread.submit(self._render, qpos)
        return self._picture

    def T_world_camera(self, qpos: Array) -> Array:
        """Optical frame (4, 4) of the left camera in the world: x right, y down, z away. Waits for the picture."""
        return self._thread.submit(self._place, qpos).result()

    def close(self) -> None:
        self._thread.shutdown(cancel_futures=True)

    def _place(self, qpos: Array) -> Array:
        self._scene.data.qpos[:] = qpos
        mujoco.mj_kinematics(self._scene.model, self._scene.data)
        return self._endoscope.T_world_camera("left")

    def _render(self, qpos: Array) -> None:
        began = time.perf_counter()
        try:
            self._place(qpos)
            self._picture = self._endoscope.pair()[0]
        except Exception as error:  # of OpenGL: the page continues without the picture
            self.error = f"the endoscope's picture cannot be rendered: {error}"
        time.sleep(max(0.0, INTERVAL - (time.perf_counter() - began)))
