"""The view of a stereo endoscope, rendered from frames in a separate thread."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import mujoco
import numpy as np
from PIL import Image

from trocar.appearance import Picture
from trocar.appearance.endoscope_camera import VIEW, StereoEndoscope
from trocar.appearance.lens import Lens
from trocar.mechanics.cart import Cart
from trocar.robot.description import SceneDescription
from trocar.robot.messages import Frame
from trocar.spatial import Array, pose, quaternion

SIZE = 320, 240  # of one picture [pixels]
INTERVAL = 1 / 8  # real time between two pairs of pictures [s]
QUALITY = 80  # of JPEG files


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
        self._scene: _PicturedFrame | None = None
        self._endoscope: StereoEndoscope | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="trocar-endoscope")  # owns OpenGL's context

    def __call__(self, frame: Frame) -> tuple[Picture, Picture]:
        """The latest pictures (height, width, 3), without waiting; requests those of a frame if anything moved."""
        before, pending = self._requested, self._pending
        moved = before is None or before.scene is not frame.scene or not np.array_equal(before.qpos, frame.qpos)
        moved = moved or (before is not None and not np.array_equal(before.contacts, frame.contacts))
        if moved and (pending is None or (pending.done() and pending.exception() is None)):
            self._requested, self._pending = frame, self._thread.submit(self._render, frame)
        return self._pair

    def jpegs(self) -> tuple[bytes, bytes]:
        """The latest pictures of the left and the right eye as JPEG files; the same object until they change."""
        pair = self._pair
        if self._jpegs is None or self._jpegs[0] is not pair:
            left, right = (_jpeg(picture) for picture in pair)
            self._jpegs = pair, (left, right)
        return self._jpegs[1]

    def T_world_camera(self, frame: Frame) -> Array:
        """Optical frame (4, 4) of the left camera in the world: x right, y down, z away. Waits for the picture."""
        return self._thread.submit(lambda: self._placed(frame).T_world_camera("left")).result()

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown(cancel_futures=True)

    def _placed(self, frame: Frame) -> StereoEndoscope:
        if self._scene is None or self._endoscope is None or self._scene.spec is not frame.scene.spec:
            self._scene = _PicturedFrame(frame.scene)
            self._endoscope = StereoEndoscope(self._scene, self.arm, Lens.of_view(VIEW, *self.size))
        self._scene.show(frame)
        return self._endoscope

    def _render(self, frame: Frame) -> None:
        began = time.perf_counter()
        try:
            self._pair = self._placed(frame).pair(frame.contacts)
        except Exception as error:  # of OpenGL: the page continues without the picture
            self.report(f"the endoscope's picture cannot be rendered: {error}")
            raise
        time.sleep(max(0.0, self._interval - (time.perf_counter() - began)))


class _PicturedFrame:
    """The scene of frames as `appearance` draws it; see `PicturedScene`."""

    def __init__(self, scene: SceneDescription) -> None:
        self.spec, self.arms, self.gravity = scene.spec, scene.arms, scene.arguments["gravity"]
        self.cart: Cart | None = scene.arguments["cart"]
        self._model = scene.spec.copy().compile()
        self.data = mujoco.MjData(self._model)
        self._description: SceneDescription | None = None

    def show(self, frame: Frame) -> None:
        """Move everything to a frame of the same model."""
        if self._description is not frame.scene:  # set-up joints may have moved
            self._description, self.arms = frame.scene, frame.scene.arms
            self.cart = frame.scene.arguments["cart"]
            for name, T in frame.scene.fixed.items():
                body = self._model.body(name)
                body.pos, body.quat = T[:3, 3], quaternion(T[:3, :3])
        self.data.qpos[:] = frame.qpos
        mujoco.mj_kinematics(self._model, self.data)

    def T_world_base(self, arm: str) -> Array:
        return self.arms[arm].T_world_base

    def T_world_tip(self, arm: str) -> Array:
        site = self.data.site(f"{self.arms[arm].prefix}tip")
        return pose(site.xmat.reshape(3, 3), site.xpos)

    def fixed_poses(self) -> dict[str, Array]:
        return dict(self._description.fixed) if self._description is not None else {}


def _jpeg(picture: Picture) -> bytes:
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "JPEG", quality=QUALITY)
    return file.getvalue()
