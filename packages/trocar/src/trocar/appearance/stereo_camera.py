"""A stereo camera in a scene: two parallel cameras with colour, depth, segmentation and point clouds."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from trocar.appearance.films import Picture
from trocar.appearance.lens import UNDISTORTED, Lens
from trocar.appearance.rendering import PicturedScene, new_studio
from trocar.appearance.studio import Studio
from trocar.errors import TrocarError, UnknownName, check_known
from trocar.mechanics.cart import Cart
from trocar.palette import of_cause, rgb
from trocar.spatial import Array, checked_pose, pose, rotation

NEAR, FAR = 2e-3, 5.0  # clipping distances [m]
BACKGROUND = "background"
METRE_PER_NEWTON = 0.01  # length of an arrow [m/N]: 1 N is as long as a jaw
MAX_LENGTH = 0.05  # of an arrow [m]; a longer one would leave the endoscope's picture
MIN_FORCE = 0.02  # that is drawn [N]
RADIUS = 0.0008  # of a shaft in the endoscope's picture [m]
CONTACT = tuple(part / 255 for part in rgb(of_cause("contact")))  # red, green, blue from 0 to 1
MARK, MARK_RADIUS = (0.95, 0.80, 0.10), 1.5e-3  # colour of a mark, and its radius [m]
HIDDEN = 4  # group of geoms that MuJoCo does not draw


@dataclass(frozen=True)
class Lighting:
    """Light of pictures that differs from the default.

    Attributes:
        brightness: factor of all lights. colour: factors of red, green, blue.
        turn: of the direction of the key and fill lights about the vertical [rad].
    """

    brightness: float = 1.0
    colour: tuple[float, float, float] = (1.0, 1.0, 1.0)
    turn: float = 0.0


@dataclass(frozen=True)
class CameraView:
    """Picture, depth and segmentation of one camera.

    Attributes:
        rgb: (height, width, 3). depth: (height, width) [m] along the optical axis; infinite for the background.
        segmentation: (height, width), index in `labels` of the item at each pixel, such as "PSM1/wrist_yaw".
        T_world_camera: optical frame (4, 4) in the world: x right, y down, z away. lens: its intrinsics.
    """

    rgb: Picture
    depth: Array
    segmentation: NDArray[np.int32]
    labels: tuple[str, ...]
    T_world_camera: Array
    lens: Lens

    def mask(self, name: str) -> NDArray[np.bool_]:
        """Mask (height, width) of a link ("PSM1/wrist_yaw"), a whole arm ("PSM1") or an object."""
        matching = [k for k, label in enumerate(self.labels) if label == name or label.startswith(f"{name}/")]
        if not matching:
            raise UnknownName("thing in the scene", name, sorted({label.split("/")[0] for label in self.labels}))
        return np.isin(self.segmentation, matching)

    def point_cloud(self) -> tuple[Array, Picture]:
        """Points (N, 3) [m] in the optical frame and their colours (N, 3), of all pixels that are not background."""
        seen = np.isfinite(self.depth)
        v, u = np.nonzero(seen)
        rays = self.lens.rays(np.stack([u, v], axis=-1).astype(float))
        return rays * self.depth[seen][:, None], self.rgb[seen]


class StereoCamera:
    """Two parallel cameras in a scene. Any thread may use them.

    The first picture in a thread takes longer, because OpenGL resources belong to one thread. The scene
    must not be stepped meanwhile.

    Args:
        T_world_middle: optical frame (4, 4) midway between the two cameras, x right, y down, z away; or a function that
            returns it. lens: of both cameras. baseline: distance between the cameras [m].
        shadows: draw shadows. samples: samples per pixel (0 means one). Both are slow without a graphics card.

    Attributes:
        lighting: set it before the first picture. Default: that of all pictures.
        marks: points (k, 3) in the world that are drawn as small spheres [m]. sky: the background is a sky, not black.
    """

    def __init__(
        self,
        scene: PicturedScene,
        T_world_middle: ArrayLike | Callable[[], Array],
        lens: Lens,
        baseline: float,
        *,
        shadows: bool = False,
        samples: int = 0,
    ) -> None:
        if not (np.isfinite(baseline) and baseline > 0):
            raise TrocarError(f"baseline must be positive [m], got {baseline!r}")
        self.scene, self.baseline, self.lens, self.shadows = scene, baseline, lens, shadows
        self.lighting: Lighting | None = None
        self.marks = np.zeros((0, 3))
        self.sky = False
        self._samples, self._own = samples, threading.local()
        self._middle = T_world_middle if callable(T_world_middle) else checked_pose(T_world_middle)
        # a distorted image is sampled from a pinhole image that is wide enough to contain it
        self._pinhole, self._map = _wider(self.lens)

    def T_world_middle(self) -> Array:
        """Optical frame (4, 4) midway between the two cameras in the world."""
        return self._middle() if callable(self._middle) else self._middle

    def T_world_camera(self, eye: str) -> Array:
        """Optical frame (4, 4) of the "left" or "right" camera in the world: x right, y down, z away."""
        check_known("eye", ("left", "right"), eye)
        aside = -self.baseline / 2 if eye == "left" else self.baseline / 2
        return self.T_world_middle() @ pose(p=[aside, 0.0, 0.0])

    def view(self, eye: str) -> CameraView:
        """Current picture, depth and segmentation of one camera."""
        T = self.T_world_camera(eye)
        stage = self._arrange()
        rgb, _ = self._render(stage.studio, T, depth=False)
        stage.studio.scene.ngeom = stage.count  # lines and marks have neither depth nor label
        colours, depth = self._render(stage.studio, T, segment=True)
        number = colours.astype(np.int32) @ np.array([1, 256, 65536], dtype=np.int32)
        segmentation = stage.label_of_id()[number]
        if self._map is not None:
            rgb, depth, segmentation = self._map.smooth(rgb), self._map.nearest(depth), self._map.nearest(segmentation)
        return CameraView(rgb, depth, segmentation, stage.labels, T, self.lens)

    def pair(self, forces: Array | None = None) -> tuple[Picture, Picture]:
        """Colour images (height, width, 3) of the left and the right camera, as a surgeon sees them.

        Args:
            forces: contact points [m] and forces [N] (k, 2, 3) in the world to draw as arrows. Default: none.
        """
        studio = self._arrange().studio
        if forces is not None:
            studio.add_arrows(arrow_ends(forces), CONTACT, RADIUS)
        return self._seen(studio, "left"), self._seen(studio, "right")

    def picture(self, eye: str) -> Picture:
        """Colour image (height, width, 3) of the "left" or "right" camera."""
        return self._seen(self._arrange().studio, eye)

    def _seen(self, studio: Studio, eye: str) -> Picture:
        image, _ = self._render(studio, self.T_world_camera(eye), depth=False)
        return image if self._map is None else self._map.smooth(image)

    def side_by_side(self, gap: int = 16) -> Picture:
        """Both colour images in one, the left eye on the left, with a white gap [pixels] between them."""
        left, right = self.pair()
        return np.hstack([left, np.full((left.shape[0], gap, 3), 255, dtype=np.uint8), right])

    def _arrange(self) -> _Stage:
        """The studio of this thread, with only the geoms in view: most of the robot is behind an endoscope."""
        scene, lens = self.scene, self._pinhole
        if not hasattr(self._own, "stage"):
            self._own.stage = _Stage(new_studio(scene, self._samples))
            if self.lighting is not None:
                _light(self._own.stage.studio.model, self.lighting)
        stage: _Stage = self._own.stage
        studio, moved = stage.studio, scene.cart is not stage.cart
        studio.arrange(scene.data.qpos, scene.fixed_poses() if moved else {})
        studio.cut(scene.model.flex_elemlayer)
        stage.cart = scene.cart
        studio.prepare((lens.width, lens.height))
        inside = _in_view(
            lens, self.T_world_middle(), studio.data.geom_xpos, studio.model.geom_rbound + self.baseline / 2
        )
        endless = studio.model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE
        studio.model.geom_group[:] = np.where(inside | endless, stage.groups, HIDDEN)
        studio.update(mujoco.MjvCamera(), self.shadows)
        for flag in (mujoco.mjtRndFlag.mjRND_REFLECTION, mujoco.mjtRndFlag.mjRND_HAZE):
            studio.scene.flags[flag] = False
        studio.scene.flags[mujoco.mjtRndFlag.mjRND_SKYBOX] = self.sky
        stage.count = studio.scene.ngeom
        studio.add_traces(scene.lines())
        studio.add_spheres(self.marks, MARK, MARK_RADIUS)
        return stage

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of everything that a segmentation can show, in the order of its numbers."""
        return self._arrange().labels

    def _render(self, studio: Studio, T: Array, *, segment: bool = False, depth: bool = True) -> tuple[Picture, Array]:
        """Pixels and depth [m] of the pinhole camera at T, upright."""
        for camera in studio.scene.camera:  # MuJoCo draws the mean of two cameras
            _aim(camera, T, self._pinhole)
        # MuJoCo's headlight is still at its own camera
        for light in studio.scene.lights[: studio.scene.nlight]:
            if light.headlight:
                light.pos, light.dir = T[:3, 3], T[:3, 2]
        studio.scene.flags[mujoco.mjtRndFlag.mjRND_SEGMENT] = segment
        studio.scene.flags[mujoco.mjtRndFlag.mjRND_IDCOLOR] = segment
        studio.context.readDepthMap = mujoco.mjtDepthMap.mjDEPTH_ZEROFAR
        image, buffer = studio.drawn(depth)
        if buffer is None:
            return image, np.empty(0)
        d = buffer.astype(float)  # 1 at the near end, 0 at the far end
        with np.errstate(divide="ignore"):
            return image, np.where(d > 0.0, NEAR * FAR / (NEAR + d * (FAR - NEAR)), np.inf)


class _Stage:
    """A studio of one thread.

    Attributes:
        labels: names of everything visible. groups: geom groups, as MuJoCo would draw them.
        cart: cart whose set-up joints the studio shows. count: of geoms in the picture without lines and marks.
    """

    def __init__(self, studio: Studio) -> None:
        self.studio = studio
        self.cart: Cart | None = None
        self.count = 0
        model = studio.model
        named = [model.body(k).name.removeprefix("object/") if k else "surroundings" for k in model.geom_bodyid]
        self.labels = tuple(dict.fromkeys((BACKGROUND, *named)))
        self._label_of_geom = [self.labels.index(name) for name in named]
        self.groups = model.geom_group.copy()

    def label_of_id(self) -> NDArray[np.int32]:
        """Label of each number in a segmented picture; 0 is the background."""
        scene = self.studio.scene
        labels = np.zeros(scene.ngeom + 2, dtype=np.int32)
        for geom in scene.geoms[: scene.ngeom]:
            if geom.segid >= 0 and geom.objtype == mujoco.mjtObj.mjOBJ_GEOM:
                labels[geom.segid + 1] = self._label_of_geom[geom.objid]
        return labels


def _light(model: mujoco.MjModel, lighting: Lighting) -> None:
    """Change the lights of a studio's model."""
    factors = lighting.brightness * np.array(lighting.colour)
    R = rotation("z", lighting.turn)
    for k in range(model.nlight):
        model.light_dir[k] = R @ model.light_dir[k]
        model.light_diffuse[k] = model.light_diffuse[k] * factors
    head = model.vis.headlight
    head.ambient, head.diffuse = head.ambient * factors, head.diffuse * factors


def _in_view(lens: Lens, T: Array, centres: Array, radii: Array) -> NDArray[np.bool_]:
    """Mask (n,) of the spheres that reach into the frustum of a camera at T."""
    corners = np.array([[-0.5, -0.5], [lens.width - 0.5, -0.5], [lens.width - 0.5, lens.height - 0.5]])
    (left, up, _), (right, _, _), (_, down, _) = lens.rays(corners)
    outward = np.array([[-1.0, 0.0, left], [1.0, 0.0, -right], [0.0, -1.0, up], [0.0, 1.0, -down], [0.0, 0.0, -1.0]])
    outward /= np.linalg.norm(outward, axis=1, keepdims=True)
    beyond = (centres - T[:3, 3]) @ T[:3, :3] @ outward.T
    return np.asarray((beyond < radii[:, None]).all(axis=1))


def _aim(camera: mujoco.MjvGLCamera, T: Array, lens: Lens) -> None:
    """MuJoCo's camera at an optical frame in the world, with the frustum of its intrinsics."""
    camera.pos, camera.forward, camera.up = T[:3, 3], T[:3, 2], -T[:3, 1]
    left, right = (NEAR * (edge - lens.cx) / lens.fx for edge in (-0.5, lens.width - 0.5))
    top, bottom = (NEAR * (lens.cy - edge) / lens.fy for edge in (-0.5, lens.height - 0.5))
    camera.frustum_near, camera.frustum_far = NEAR, FAR
    camera.frustum_center, camera.frustum_width = (left + right) / 2, (right - left) / 2
    camera.frustum_bottom, camera.frustum_top = bottom, top
    camera.orthographic = 0


class _Map:
    """Map from the pixels of a distorted image to a pinhole's."""

    def __init__(self, pixels: Array, width: int) -> None:
        u, v = pixels[..., 0], pixels[..., 1]
        low_u, low_v = np.floor(u).astype(int), np.floor(v).astype(int)
        self._low, self._width = low_v * width + low_u, width
        self._weight_u, self._weight_v = (u - low_u)[..., None], (v - low_v)[..., None]
        self._nearest = np.rint(v).astype(int) * width + np.rint(u).astype(int)

    def smooth(self, image: Picture) -> Picture:
        """Bilinear interpolation."""
        flat = image.reshape(-1, 3).astype(np.float32)
        a, b, i, w = self._weight_u, self._weight_v, self._low, self._width
        mixed = (1 - b) * ((1 - a) * flat[i] + a * flat[i + 1]) + b * ((1 - a) * flat[i + w] + a * flat[i + w + 1])
        return np.rint(mixed).astype(np.uint8)

    def nearest(self, image: NDArray) -> NDArray:
        """The nearest pixel: distances and labels must not be interpolated."""
        return np.asarray(image.reshape(-1)[self._nearest])


def _wider(lens: Lens) -> tuple[Lens, _Map | None]:
    """The pinhole whose image contains the whole distorted one, and the map to it; a pinhole lens is returned as is."""
    if not lens.distorted:
        return lens, None
    v, u = np.mgrid[: lens.height, : lens.width]
    at = lens.rays(np.stack([u, v], axis=-1).astype(float))[..., :2] * [lens.fx, lens.fy]
    low, high = np.floor(at.min((0, 1))) - 1, np.ceil(at.max((0, 1))) + 1
    width, height = ((high - low).astype(int) + 1).tolist()
    cx, cy = (-low).tolist()
    pinhole = replace(lens, width=width, height=height, cx=cx, cy=cy, distortion=UNDISTORTED)
    return pinhole, _Map(at - low, width)


def arrow_ends(points_and_forces: Array) -> Array:
    """Tails and heads (k, 2, 3) [m] of the arrows of points [m] and forces [N] (n, 2, 3) that are large enough."""
    forces = points_and_forces[:, 1]
    size = np.linalg.norm(forces, axis=1)
    seen = size > MIN_FORCE
    points, forces, size = points_and_forces[seen, 0], forces[seen], size[seen]
    length = np.minimum(METRE_PER_NEWTON * size, MAX_LENGTH)
    return np.stack([points, points + (length / size)[:, None] * forces], axis=1)
