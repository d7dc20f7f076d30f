"""Names written into a picture, each at a point in space."""

from __future__ import annotations

from collections.abc import Mapping

import mujoco
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from trocar.appearance.films import Picture
from trocar.palette import ACCENT
from trocar.spatial import Array

LETTERS = 34  # ratio of picture height to letter height
GAP = 4  # around a name, and between two [pixels]


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
        while any(_overlap(box, other) for other in taken):
            box = (box[0], box[1] - GAP, box[2], box[3] - GAP)
        taken.append(box)
        draw.rounded_rectangle(box, GAP, fill=ACCENT)
        draw.text(((box[0] + box[2]) / 2, (box[1] + box[3]) / 2), name, "white", font, anchor="mm")
    return np.asarray(image)


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
