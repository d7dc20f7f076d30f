"""Line drawings of an arm: every link between its joints, in a plane or in space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trocar.mechanics import Mechanism
from trocar.spatial import Array

COLOUR_OF_BODY = {
    "yaw": "#3F5F8A",
    "outer_yaw": "#3F5F8A",
    "back": "#D9A441",
    "front": "#7A8794",
    "bottom": "#5E9F6E",
    "middle": "#5E9F6E",
    "upper_arm": "#D9A441",
    "forearm": "#5E9F6E",
    "crank": "#CC79A7",
    "rod": "#CC79A7",
    "top": "#56B4E9",
    "yaw_bar": "#CC79A7",
    "back_bar": "#56B4E9",
    "end": "#4A4E57",
    "carriage": "#8A6BB1",
    "insertion": "#8A8F98",
    "counterweight": "#D55E00",
}


def draw(
    axes: Any,
    mechanism: Mechanism,
    q: ArrayLike,
    alpha: float = 1.0,
    width: float = 3.0,
    *,
    T_world_base: Array | None = None,
    dimensions: Sequence[int] | None = None,
    **look: Any,
) -> None:
    """Draw the links at q [m].

    Args:
        axes: 3-D axes, or 2-D ones for a projection.
        T_world_base: pose of the base in the figure's axes. Default: base axes.
        dimensions: axes to draw. Default: all in space, y and z in a plane.
        look: other line settings.
    """
    if dimensions is None:
        dimensions = (0, 1, 2) if hasattr(axes, "get_zlim") else (1, 2)
    for name, points in link_points(mechanism, q).items():
        if T_world_base is not None:
            points = points @ T_world_base[:3, :3].T + T_world_base[:3, 3]
        colour = COLOUR_OF_BODY.get(name, "#9AA0A8")
        thick = width if name in COLOUR_OF_BODY and name != "insertion" else 0.6 * width
        marker = {"marker": "s", "ms": 2.6 * width} if name == "counterweight" else {"marker": "o", "ms": 0.8 * width}
        line = {"color": colour, "alpha": alpha, "lw": thick, "solid_capstyle": "round", **marker, **look}
        axes.plot(*points[:, list(dimensions)].T, **line)


def link_points(mechanism: Mechanism, q: ArrayLike) -> dict[str, Array]:
    """Joints and loop closures (k, 3) [m] on every link, in base axes, in an order that draws well."""
    arm, T = mechanism.arm, mechanism.poses(q)
    points: dict[str, list[Array]] = {body.name: [T[body.name][:3, 3]] for body in arm.bodies}
    for body in arm.bodies:
        # a sliding child marks its guide by its current position on the parent
        if body.parent is not None and body.name != arm.counterweight:
            points[body.parent].append(T[body.name][:3, 3])
    for loop in arm.loops:
        for body_name, point in ((loop.body_a, loop.point_a), (loop.body_b, loop.point_b)):
            points[body_name].append((T[body_name] @ [*point, 1.0])[:3])
    points[arm.tip_body].append(T["tip"][:3, 3])
    return {name: _along_longest(np.array(p)) for name, p in points.items()}


def _along_longest(points: Array) -> Array:
    """Points sorted along the line between the two that are farthest apart."""
    gaps = np.linalg.norm(points[:, None] - points[None], axis=-1)
    i, j = np.unravel_index(gaps.argmax(), gaps.shape)
    return points[np.argsort((points - points[i]) @ (points[j] - points[i]))]
