"""Pictures without a window: of a simulator, a scene, an arm or a cart.

Light, background and floor are added to a copy of the model; the simulated one is never changed.
"""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias, cast

import mujoco
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from trocar.appearance.films import Picture
from trocar.appearance.kinematic_model import FLOOR, kinematic_arm, kinematic_cart
from trocar.appearance.studio import TRACE_SEGMENTS, Studio, Trace, check_size
from trocar.arms import Arm
from trocar.errors import TrocarError, check_known
from trocar.mechanics.cart import Cart
from trocar.palette import ACCENT
from trocar.spatial import Array

# name: (azimuth, elevation) of the viewing direction [deg]; at azimuth 180 the camera looks along -x, with +y to
# the right: the mechanism on the left, the instrument on the right.
CAMERAS: dict[str, tuple[float, float]] = {
    "iso": (146.0, -19.0),
    "side": (180.0, -4.0),
    "cart": (248.0, -10.0),
    "tip": (122.0, -10.0),
}
TIP_DISTANCE, TIP_FOCUS = 0.043, 0.002  # of the camera "tip" from the wrist; its focus above the tip [m]
LETTERS = 34  # ratio of picture height to letter height
GAP = 4  # around a name, and between two [pixels]
CLOSE = 0.25  # distance of any other close-up from the tip [m]
CART_LIGHT = np.array([-0.7, -1.3, -2.2])  # direction of the key light on a cart: from the front, where its arms are


View: TypeAlias = str | tuple[float, float] | mujoco.MjvCamera | None


class PicturedScene(Protocol):
    """Interface of a scene for drawing; `trocar.simulation.Scene` implements it."""

    model: mujoco.MjModel
    data: mujoco.MjData
    cart: Cart | None
    gravity: Array  # (3,) in the world [m/s^2]

    @property
    def spec(self) -> mujoco.MjSpec: ...

    @property
    def arms(self) -> Mapping[str, Any]: ...

    def T_world_base(self, arm: str) -> Array: ...

    def T_world_tip(self, arm: str) -> Array: ...

    def fixed_poses(self) -> dict[str, Array]: ...

    def lines(self) -> Sequence[Trace]: ...  # objects that are not in MuJoCo's model


class OfScene(Protocol):
    """An object with a scene, such as a `Simulator`."""

    @property
    def scene(self) -> PicturedScene: ...


def render(
    subject: PicturedScene | OfScene | Arm | Cart,
    camera: View = None,
    size: tuple[int, int] = (960, 720),
    *,
    at: str | None = None,
    distance: float | None = None,
    zoom: float = 1.0,
    q: Any = None,
    traces: Sequence[Trace] = (),
    shadows: bool = True,
    labels: bool = False,
) -> Picture:
    """Image (height, width, 3) of a simulator or scene in its current state, or of an arm or cart at given joints.

    Any thread may call it. If another thread steps the scene meanwhile, the drawn state is undefined.

    Args:
        camera: "iso", "side", "cart" or "tip" (close-up that follows wrist and jaws), a custom direction (azimuth,
            elevation) [deg], or a camera from `view`. Default: "cart" with a cart, else "iso".
        size: (width, height) [pixels].
        at: arm of a scene whose tip is in the centre, seen from `distance` [m]. zoom: above 1 for a closer view.
        q: joints (n,) of an `Arm`, or by name those of a `Cart` [rad, m]. Default: home.
        traces: lines to draw, such as the path of the tip.
        shadows: False takes a third of the time without a graphics card; close-ups never have shadows.
        labels: write the name of every arm at its first link.
    """
    check_size(size)
    if sum(len(trace.points) for trace in traces) > TRACE_SEGMENTS:
        raise TrocarError(f"the traces of a picture can have at most {TRACE_SEGMENTS} points in total; remove some")
    if isinstance(subject, Arm | Cart):
        return _model_picture(subject, camera, size, zoom, q, traces, shadows, labels)
    if q is not None:
        raise TrocarError("q is for pictures of an Arm or a Cart; a simulator or scene is drawn in its current state")
    scene = _scene(subject)
    # at the scale of the jaws the shadow map is too coarse
    near = camera == "tip" or (at is not None and (distance or CLOSE) <= CLOSE)
    from_where = _camera(scene, camera, size, at, distance, zoom)
    place = studio(scene)
    place.arrange(scene.data.qpos, scene.fixed_poses())
    place.cut(scene.model.flex_elemlayer)
    picture = place.picture(scene.data.qpos, from_where, size, [*scene.lines(), *traces], shadows and not near)
    if not labels:
        return picture
    points = {}  # the first moving links, which are farther apart than the tips
    for name, arm in scene.arms.items():
        points[name] = (scene.T_world_base(name) @ arm.body_pose(arm.arm.bodies[0].name))[:3, 3]
    return labelled(picture, place.scene, points)


def view(
    subject: PicturedScene | OfScene,
    camera: str | tuple[float, float] | None = None,
    size: tuple[int, int] = (960, 720),
) -> mujoco.MjvCamera:
    """The camera that `render` would use; change it and pass it to `render`."""
    return _camera(_scene(subject), camera, size, None, None, 1.0)


def new_studio(scene: PicturedScene, samples: int = 8) -> Studio:
    """Light, background and floor around a copy of a scene.

    The floor is that of the cart, or one below a single arm that is mounted upright.
    """
    home = np.array(scene.data.qpos)
    floor: float | str | None = None
    if scene.cart is not None:
        floor = FLOOR
    elif len(scene.arms) == 1:
        (arm,) = (simulated.arm for simulated in scene.arms.values())
        home[: len(arm.bodies)] = arm.E @ np.array(arm.home)
        length = float(np.linalg.norm(scene.gravity))
        floor = "below" if length > 0.0 and scene.gravity[2] < -0.999 * length else None
    studio = Studio(scene.spec, home, floor, samples)
    if scene.cart is not None:
        studio.model.light("key").dir = CART_LIGHT / np.linalg.norm(CART_LIGHT)
    return studio


class _Studios(threading.local):
    """Studios by scene and thread, because OpenGL resources belong to one thread."""

    def __init__(self) -> None:
        self.by_scene: weakref.WeakKeyDictionary[Any, Studio] = weakref.WeakKeyDictionary()


_STUDIOS = _Studios()


def studio(scene: PicturedScene) -> Studio:
    """The studio of a scene, created once per thread."""
    if scene not in _STUDIOS.by_scene:
        _STUDIOS.by_scene[scene] = new_studio(scene)
    return _STUDIOS.by_scene[scene]


def _scene(subject: PicturedScene | OfScene) -> PicturedScene:
    return cast(PicturedScene, getattr(subject, "scene", subject))


def _direction(camera: str | tuple[float, float] | None, on_cart: bool) -> tuple[float, float]:
    if camera is None:
        return CAMERAS["cart" if on_cart else "iso"]
    if isinstance(camera, str):
        check_known("camera", CAMERAS, camera)
        return CAMERAS[camera]
    return camera


def _camera(
    scene: PicturedScene, camera: View, size: tuple[int, int], at: str | None, distance: float | None, zoom: float
) -> mujoco.MjvCamera:
    if isinstance(camera, mujoco.MjvCamera):
        return camera
    direction = _direction(camera, scene.cart is not None)
    if at is None and camera == "tip":
        if len(scene.arms) > 1:
            raise TrocarError(f"at= must name the arm whose tip is shown: {', '.join(scene.arms)}")
        at = next(iter(scene.arms))
    if at is None:
        return studio(scene).view(direction, zoom, size[0] / size[1])
    result = mujoco.MjvCamera()
    result.azimuth, result.elevation = direction
    tip = scene.T_world_tip(at)
    result.lookat = tip[:3, 3] - (TIP_FOCUS if camera == "tip" else 0.0) * tip[:3, 2]
    result.distance = distance or (TIP_DISTANCE if camera == "tip" else CLOSE)
    return result


def _model_picture(
    subject: Arm | Cart,
    camera: View,
    size: tuple[int, int],
    zoom: float,
    q: Any,
    traces: Sequence[Trace],
    shadows: bool,
    labels: bool,
) -> Picture:
    """A picture of an arm or cart that is not simulated."""
    if isinstance(subject, Cart):
        spec, qpos = kinematic_cart(subject, q)
        first = {name: f"{name}/{subject.arm(name).bodies[0].name}" for name in subject.arms}
    else:
        spec, qpos = kinematic_arm(subject, q)
        first = {subject.name: subject.bodies[0].name}
    cart = isinstance(subject, Cart)
    place = Studio(spec, qpos, FLOOR if cart else None)
    try:
        from_where: mujoco.MjvCamera = camera
        if not isinstance(camera, mujoco.MjvCamera):
            from_where = place.view(_direction(camera, cart), zoom, size[0] / size[1])
        # light from above, over the viewer's left shoulder
        azimuth = math.radians(from_where.azimuth - 40.0)
        place.model.light("key").dir = np.array([np.cos(azimuth), np.sin(azimuth), -1.4]) / math.hypot(1.0, 1.4)
        picture = place.picture(qpos, from_where, size, traces, shadows)
        points = {name: np.array(place.data.body(body).xpos) for name, body in first.items()}
        return labelled(picture, place.scene, points) if labels else picture
    finally:
        if place.context is not None:
            place.context.free()


def pixels(scene: mujoco.MjvScene, points: Array, size: tuple[int, int]) -> Array:
    """Pixels (N, 2), x right and y down, of points (N, 3) [m] in the world; NaN behind the camera.

    scene: as drawn last; its camera is used. size: (width, height) of the picture.
    """
    cameras = scene.camera  # two, of a stereo pair; the same unless stereo is on
    eye = np.mean([np.array(c.pos) for c in cameras], axis=0)
    ahead, up = np.array(cameras[0].forward), np.array(cameras[0].up)
    top, bottom, near = cameras[0].frustum_top, cameras[0].frustum_bottom, cameras[0].frustum_near
    way = np.asarray(points, dtype=float) - eye
    depth = way @ ahead
    half = (top - bottom) / 2 / near  # of the height of the picture, at a depth of 1
    with np.errstate(divide="ignore", invalid="ignore"):
        x, y = (np.where(depth > 0, way @ axis / depth, np.nan) for axis in (np.cross(ahead, up), up))
    width, height = size
    return np.stack([width / 2 + x * height / 2 / half, height / 2 - y * height / 2 / half], axis=-1)


def labelled(picture: Picture, scene: mujoco.MjvScene, names: Mapping[str, Array]) -> Picture:
    """The picture with a name at each point (3,) [m] in the world; names that would overlap move up."""
    image = Image.fromarray(picture)
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(max(10, image.height // LETTERS))
    places = pixels(scene, np.array(list(names.values())).reshape(-1, 3), image.size)
    taken: list[tuple[float, float, float, float]] = []
    for name, (x, y) in sorted(zip(names, places.tolist(), strict=True), key=lambda item: -item[1][1]):
        if not (0 <= x < image.width and 0 <= y < image.height):
            continue
        left, top, right, bottom = draw.textbbox((x, y), name, font, anchor="mm")
        box = (left - GAP, top - GAP, right + GAP, bottom + GAP)
        while any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in taken):
            box = (box[0], box[1] - GAP, box[2], box[3] - GAP)
        taken.append(box)
        draw.rounded_rectangle(box, GAP, fill=ACCENT)
        draw.text(((box[0] + box[2]) / 2, (box[1] + box[3]) / 2), name, "white", font, anchor="mm")
    return np.asarray(image)
