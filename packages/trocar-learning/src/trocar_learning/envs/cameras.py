"""Images of an episode: a stereo camera in the scene of a task, rendered in a thread of its own.

An image shows the state at the beginning of a control period and is rendered while that period is simulated, so it is
one period old when it is observed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from trocar import checks
from trocar.appearance.camera_place import CameraPlace
from trocar.appearance.films import Picture
from trocar.appearance.stereo_camera import Lighting
from trocar.appearance.studio import Trace
from trocar.errors import TrocarError, check_known, check_type
from trocar.mechanics import Cart
from trocar.simulation import Scene
from trocar.spatial import Array, pose

KINDS = ("stereo", "depth", "segmentation")
AWAY, ABOVE = 0.085, 0.06  # of a camera from what it looks at [m]
TILTED, ROUND = 0.3, np.radians(130.0)  # share of a shaft that leans; angle from it to the camera, seen from above
UPRIGHT = np.radians(-70.0)  # direction to the camera otherwise
MAX_DEPTH = 5.0  # [m]; the background has it, too

Moment = tuple[Array, Array, Array]  # positions of the engine, optical frame (4, 4), marks (k, 3) [m]


def beside(at: Array, shaft: Array) -> Array:
    """Optical frame (4, 4) that looks at a point (3,) [m], from the side that an instrument does not hide.

    Args:
        shaft: (3,) from the tip to the remote centre, in the world.
    """
    tilted = np.linalg.norm(shaft[:2]) > TILTED * np.linalg.norm(shaft)
    angle = np.arctan2(shaft[1], shaft[0]) + ROUND if tilted else UPRIGHT
    return looking(at, at + [*(AWAY * np.array([np.cos(angle), np.sin(angle)])), ABOVE])


def looking(at: Array, eye: Array) -> Array:
    """Optical frame (4, 4) at `eye` (3,) that looks at a point (3,), with a level x axis [m]."""
    z = (at - eye) / np.linalg.norm(at - eye)
    x = np.cross(z, [0.0, 0.0, 1.0])
    x /= np.linalg.norm(x)
    return pose(np.stack([x, np.cross(z, x), z], axis=1), eye)


@dataclass(frozen=True)
class ImageOptions:
    """Images of an observation.

    Attributes:
        kinds: of `KINDS`. size: (width, height) [pixels]. rate: largest number of new images per second.
    """

    kinds: tuple[str, ...]
    size: tuple[int, int]
    rate: float

    @classmethod
    def of(cls, images: str | Sequence[str], size: Any, rate: Any) -> ImageOptions:
        """Checked options."""
        check_type("images", images, str | list | tuple, f"{', '.join(KINDS)}, or several of them")
        kinds = (images,) if isinstance(images, str) else tuple(images)
        check_known("kind of image", KINDS, *kinds)
        return cls(kinds, checks.picture_size("image_size", size), checks.positive("image_rate", rate, "Hz"))

    def shapes(self) -> dict[str, tuple[tuple[int, ...], type, float]]:
        """Shape, type and largest value of every image, by its name in an observation."""
        width, height = self.size
        entries: dict[str, tuple[tuple[int, ...], type, float]] = {}
        if "stereo" in self.kinds:
            entries |= dict.fromkeys(("left", "right"), ((height, width, 3), np.uint8, 255))
        if "depth" in self.kinds:
            entries["depth"] = (height, width), np.float32, MAX_DEPTH
        if "segmentation" in self.kinds:
            entries["segmentation"] = (height, width), np.uint8, 255
        return entries


@dataclass
class SceneAt:
    """A scene at positions of its own: the simulation goes on while a picture is drawn. See `PicturedScene`."""

    model: mujoco.MjModel
    data: mujoco.MjData
    cart: Cart | None
    gravity: Array
    _scene: Scene

    @classmethod
    def of(cls, scene: Scene) -> SceneAt:
        """A scene at its current positions."""
        at = cls(scene.model, mujoco.MjData(scene.model), scene.cart, scene.gravity, scene)
        at.data.qpos[:] = scene.data.qpos
        return at

    @property
    def spec(self) -> mujoco.MjSpec:
        return self._scene.spec

    @property
    def arms(self) -> Mapping[str, Any]:
        return self._scene.arms

    def T_world_base(self, arm: str) -> Array:
        return self._scene.T_world_base(arm)

    def T_world_tip(self, arm: str) -> Array:
        mujoco.mj_kinematics(self.model, self.data)
        site = self.data.site(f"{self._scene.stepped[arm].prefix}tip")
        return pose(site.xmat.reshape(3, 3), site.xpos)

    def fixed_poses(self) -> dict[str, Array]:
        return self._scene.fixed_poses()

    def lines(self) -> list[Trace]:
        return self._scene.lines()


class EpisodeCamera:
    """The stereo camera of an episode.

    Args:
        place: its place, asked for before every image. marks: points (k, 3) to draw [m], as they are then.
    """

    def __init__(
        self,
        scene: Scene,
        place: Callable[[], CameraPlace],
        marks: Callable[[], Array],
        size: tuple[int, int],
        lighting: Lighting | None = None,
    ) -> None:
        self._scene, self._place, self._marks = scene, place, marks
        seen = place()
        self._T = seen.T_world_middle
        self._drawn = SceneAt.of(scene)
        self.camera = seen.camera(self._drawn, size, lambda: self._T)
        self.camera.lighting = lighting

    def moment(self) -> Moment:
        """The state of this moment from which pictures can be drawn later."""
        return np.array(self._scene.data.qpos), self._place().T_world_middle, self._marks()

    def look(self, moment: Moment | None = None) -> None:
        """Take the positions of a moment; call it while no picture is drawn. Default: this moment."""
        self._drawn.data.qpos[:], self._T, self.camera.marks = self.moment() if moment is None else moment

    @property
    def T_world_middle(self) -> Array:
        """Optical frame (4, 4) of the last `look`, midway between the two cameras: x right, y down, z away."""
        return self._T

    def picture(self) -> Picture:
        """The left camera's picture of the moment of the last `look`."""
        return self.camera.picture("left")

    def images(self, kinds: Sequence[str]) -> dict[str, Array]:
        """Images of that moment by name: left, right, depth [m] and segmentation of the left camera."""
        images: dict[str, Array] = {}
        if "stereo" in kinds:
            images["left"], images["right"] = self.camera.pair()
        if "depth" in kinds or "segmentation" in kinds:
            view = self.camera.view("left")
            if "depth" in kinds:
                images["depth"] = np.minimum(view.depth, MAX_DEPTH).astype(np.float32)
            if "segmentation" in kinds:
                images["segmentation"] = view.segmentation.astype(np.uint8)
        return images

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the numbers of a segmentation."""
        return self.camera.labels


class Images:
    """The latest images of an environment, drawn by one thread, which owns OpenGL's resources."""

    def __init__(self, options: ImageOptions) -> None:
        self._options = options
        self._camera: EpisodeCamera | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="trocar-images")
        self._process = os.getpid()
        self._pending: Future[dict[str, Array]] | None = None
        self._latest: dict[str, Array] = {}
        self._taken = 0  # images of this episode

    def begin(self, camera: EpisodeCamera) -> None:
        """Start an episode, with an image of its first state."""
        self.collect()
        self._camera, self._taken = camera, 0
        self.request(0.0)
        self.collect()

    def memory(self) -> tuple[int, dict[str, Array]]:
        """The state of this object without its resources, for `resume`."""
        return self._taken, self.collect()

    def resume(self, camera: EpisodeCamera, memory: tuple[int, dict[str, Array]]) -> None:
        """Continue an episode whose `memory` was kept."""
        self._camera, (self._taken, self._latest) = camera, memory

    def request(self, time: float) -> None:
        """Draw the current state if an image is due at this time of the episode [s]."""
        if os.getpid() != self._process:
            raise TrocarError("a forked process cannot draw; make the environment in the process that steps it")
        if self._camera is not None and time >= self._taken / self._options.rate - 1e-9:
            self._taken = int(time * self._options.rate + 1e-6) + 1
            self._camera.look()
            self._pending = self._thread.submit(self._camera.images, self._options.kinds)

    def collect(self) -> dict[str, Array]:
        """Copies of the latest images."""
        if self._pending is not None:
            self._latest, self._pending = self._pending.result(), None
        return {name: image.copy() for name, image in self._latest.items()}

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the numbers of a segmentation."""
        return () if self._camera is None else self._camera.labels

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown()
