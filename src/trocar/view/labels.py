"""Labels in the scene that do not overlap."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import viser

from trocar.spatial import Array, unit

HEIGHT, SPACING = 0.018, 0.035  # height of the letters, and distance between lines [m]
ASIDE = 0.05  # distance of a label from the thing it names [m]
NEAR = 0.05  # a point at less than this depth counts as behind the camera [m]
CLOSE = 0.6  # fraction of the usual depth; letters closer than this may touch
LINE = 90, 98, 108


class Viewpoint(NamedTuple):
    """Camera in the world: position [m], and unit vectors forward and up in the picture (3,)."""

    position: Array
    forward: Array
    up: Array

    @classmethod
    def of(cls, position: Array, look_at: Array, up_direction: Array) -> Viewpoint:
        forward = unit(np.asarray(look_at, dtype=float) - position)
        right = unit(np.cross(forward, up_direction))
        return cls(np.asarray(position, dtype=float), forward, np.cross(right, forward))


FROM_THE_SIDE = Viewpoint.of(np.array([100.0, 0.0, 0.0]), np.zeros(3), np.array([0.0, 0.0, 1.0]))


class Labels:
    """Labels at moving points, stacked vertically in the picture, with lines to the things they name.

    The letters have a fixed size in the scene, so labels that do not overlap stay apart at every distance.
    """

    def __init__(self, scene: viser.SceneApi, node: str) -> None:
        self._scene, self._node = scene, node
        self._labels: dict[str, Any] = {}
        self._points: dict[str, Array] = {}
        self._lines = scene.add_line_segments(
            f"{node}/lines", np.zeros((1, 2, 3)), LINE, thickness=1.0, thickness_units="screen", visible=False
        )

    def put(self, name: str, text: str, point: Array, visible: bool = True) -> None:
        """Name a point (3,) [m] in the world, or move and rename an existing label."""
        if name not in self._labels:
            self._labels[name] = self._scene.add_label(
                f"{self._node}/{name}",
                text,
                visible=False,
                font_size_mode="scene",
                font_scene_height=HEIGHT,
                anchor="center-left",
            )
        label = self._labels[name]
        if label.text != text:
            label.text = text
        label.visible = visible
        self._points[name] = np.array(point, dtype=float)

    def arrange(self, view: Viewpoint = FROM_THE_SIDE) -> None:
        """Spread the visible labels for a camera."""
        seen = [name for name, label in self._labels.items() if label.visible]
        self._lines.visible = bool(seen)
        if not seen:
            return
        points = np.array([self._points[name] for name in seen])
        places = apart(points, view)
        for name, place in zip(seen, places, strict=True):
            self._labels[name].position = place
        self._lines.points = np.stack([points, places], axis=1).astype(np.float32)

    def remove(self) -> None:
        for handle in (*self._labels.values(), self._lines):
            handle.remove()
        self._labels.clear()


def apart(points: Array, view: Viewpoint) -> Array:
    """Places (n, 3) [m] of labels at points (n, 3): at the same depths, each at a different height in the picture."""
    away = points - view.position
    depth = away @ view.forward
    seen = depth > NEAR
    places = points + ASIDE * np.cross(view.forward, view.up)
    if seen.any():
        heights = away[seen] @ view.up / depth[seen]
        # a single point close to the camera must not push the others out of the picture
        near = max(float(depth[seen].min()), CLOSE * float(np.median(depth[seen])))
        up = (spread(heights, SPACING / near) - heights) * depth[seen]
        places[seen] += up[:, None] * view.up
    return np.asarray(places)


def spread(heights: Array, spacing: float) -> Array:
    """The nearest heights (n,), in the same order, of which no two are closer than `spacing`; least squares."""
    order = np.argsort(heights, kind="stable")
    steps = spacing * np.arange(len(heights))
    # h[k + 1] - h[k] >= spacing: minus k times the spacing, the heights must not decrease. Runs that do get their mean.
    runs: list[tuple[float, int]] = []
    for value in np.asarray(heights, dtype=float)[order] - steps:
        mean, count = float(value), 1
        while runs and runs[-1][0] > mean:
            before, number = runs.pop()
            mean, count = (before * number + mean * count) / (number + count), number + count
        runs.append((mean, count))
    result = np.empty(len(heights))
    result[order] = np.concatenate([np.full(count, mean) for mean, count in runs]) + steps
    return result
