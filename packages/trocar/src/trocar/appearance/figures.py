"""Matplotlib figures of arms: links drawn as lines, workspace and manipulability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from trocar.arms.structure import GimballedArm, RollingShaft, WristedShaft
from trocar.mechanics.mechanism import Mechanism
from trocar.mechanics.reach import HALF_PI
from trocar.mechanics.singularities import manipulability
from trocar.mechanics.workspace import Volume, Workspace, shared_volume
from trocar.plots import COLOURS, style
from trocar.spatial import Array

__all__ = ["cloud_figure", "draw", "link_points", "manipulability_figure", "shared_figure"]

VIEWS = {"from above": (0, 1), "from the front": (0, 2), "from the side": (1, 2)}
AXIS = ("x [m]", "y [m]", "z [m]")
LIMITS, SINGULAR, SHARED = "white", COLOURS[1], COLOURS[2]
BODIES = {
    "#3F5F8A": ("yaw", "outer_yaw"),
    "#D9A441": ("back", "upper_arm"),
    "#7A8794": ("front",),
    "#5E9F6E": ("bottom", "middle", "forearm"),
    "#CC79A7": ("crank", "rod", "yaw_bar"),
    "#56B4E9": ("top", "back_bar"),
    "#4A4E57": ("end",),
    "#8A6BB1": ("carriage",),
    "#8A8F98": ("insertion",),
    "#D55E00": ("counterweight",),
}
COLOUR_OF_BODY = {body: colour for colour, bodies in BODIES.items() for body in bodies}


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


def cloud_figure(mechanism: Mechanism, count: int = 16384, voxel: float = 0.01, seed: int = 0) -> Figure:
    """Tips within the joint limits, uniform in volume, in space and along each base axis, with the mechanism at home.

    Coloured by the manipulability relative to the largest: dark tips are near a singularity.
    """
    workspace = Workspace(mechanism)
    cloud = workspace.cloud(count, density="volume", seed=seed)
    colour = manipulability(mechanism, cloud.q)
    colour /= colour.max()
    volume = workspace.volume(voxel, seed=seed)
    with style():
        figure = Figure(figsize=(10.0, 8.6))
        space = figure.add_subplot(2, 2, 2, projection="3d")
        dots: dict[str, Any] = {"c": colour, "cmap": "viridis", "linewidths": 0, "rasterized": True}
        space.scatter(*cloud.points.T, s=2.5, alpha=0.6, **dots)
        _draw(space, mechanism, np.eye(4), (0, 1, 2))
        space.set(title="in space", xlabel=AXIS[0], ylabel=AXIS[1], zlabel=AXIS[2])
        space.set_aspect("equal")
        space.view_init(elev=20, azim=-40)
        for place, (title, (i, j)) in zip((1, 3, 4), VIEWS.items(), strict=True):
            axes = figure.add_subplot(2, 2, place)
            dots_drawn = axes.scatter(cloud.points[:, i], cloud.points[:, j], s=2.0, alpha=0.5, **dots)
            _draw(axes, mechanism, np.eye(4), (i, j))
            axes.set(title=title, xlabel=AXIS[i], ylabel=AXIS[j], aspect="equal")
        opaque = ScalarMappable(dots_drawn.norm, dots_drawn.cmap)
        figure.colorbar(opaque, ax=figure.axes, shrink=0.5, label="manipulability, relative to the largest")
        what = "wrist point, exactly" if isinstance(mechanism.arm.structure, WristedShaft) else "exactly"
        reach = f"{1e3 * volume.value:.2f} ± {1e3 * volume.error:.2f} litres"
        figure.suptitle(f"{mechanism.arm.name}: the tip reaches {reach} ({what}: {1e3 * workspace.wrist_volume:.3f})")
    return figure


def manipulability_figure(mechanism: Mechanism, points: int = 241) -> Figure:
    """Manipulability in the planes of joints that it depends on, with the singular curves and the joint limits.

    PSM: pitch and insertion, wrist pitch and insertion. ECM: pitch and insertion. MTM: shoulder and elbow, wrist.
    """
    arm = mechanism.arm
    if isinstance(arm.structure, GimballedArm):
        planes = {(1, 2): ((-2.2, 2.8), (-2.4, 1.8)), (4, 5): ((-2.0, 3.6), (-2.0, 2.0))}
    else:
        planes = {(1, 2): ((-1.9, 1.9), (-0.02, arm.upper[2] + 0.02)), (4, 2): ((-1.9, 1.9), (-0.06, 0.09))}
    if isinstance(arm.structure, RollingShaft):
        del planes[4, 2]
    with style():
        figure = Figure(figsize=(10.0 if len(planes) == 2 else 5.4, 4.4))
        grid = figure.subplots(1, len(planes), squeeze=False)[0]
        for axes, (joints, window) in zip(grid, planes.items(), strict=True):
            _map(axes, mechanism, joints, window, points)
        if isinstance(arm.structure, GimballedArm):
            _master_curves(arm.structure, *grid)
        else:
            for side in (-1, 1):
                grid[0].axvline(side * HALF_PI, color=SINGULAR, label="cos q2 = 0" if side > 0 else None)
        if isinstance(arm.structure, WristedShaft):
            _wrist_curves(arm.structure, *grid)
        for axes in (axes for axes in figure.axes if axes.get_legend_handles_labels()[1]):
            axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, fontsize="small")
        figure.suptitle(f"{arm.name}: manipulability; dashed: joint limits")
    return figure


def shared_figure(workspaces: Sequence[Workspace], voxel: float = 0.01, seed: int = 0) -> Figure:
    """Clouds of several arms in one world, with their mechanisms, and the part that all of them reach."""
    shared = shared_volume(workspaces, voxel, seed=seed)
    with style():
        figure = Figure(figsize=(12.0, 4.8))
        space = figure.add_subplot(1, 2, 1, projection="3d")
        front = figure.add_subplot(1, 2, 2)
        colours = [colour for colour in COLOURS if colour != SHARED]
        for number, (workspace, colour) in enumerate(zip(workspaces, colours, strict=False), start=1):
            points = workspace.cloud(4096, density="volume", seed=seed).points
            mechanism, volume = workspace.mechanism, workspace.volume(voxel, seed=seed)
            look: dict[str, Any] = {"color": colour, "linewidths": 0, "rasterized": True}
            space.scatter(*points.T, s=1.5, alpha=0.25, **look)
            front.scatter(points[:, 0], points[:, 2], s=2.0, alpha=0.3, **look)
            front.plot([], [], "o", color=colour, label=_volume_label(f"{number}: {mechanism.arm.name}", volume))
            if isinstance(mechanism, Mechanism):
                _draw(space, mechanism, workspace.T_world_base, (0, 1, 2))
                _draw(front, mechanism, workspace.T_world_base, (0, 2))
        _draw_shared(space, front, shared)
        space.set(xlabel=AXIS[0], ylabel=AXIS[1], zlabel=AXIS[2])
        space.set_aspect("equal")
        space.set_box_aspect(None, zoom=0.9)
        space.view_init(elev=22, azim=-60)
        front.set(xlabel=AXIS[0], ylabel=AXIS[2], aspect="equal")
        columns = min(3, len(workspaces) + 1)
        front.legend(loc="lower center", bbox_to_anchor=(0.5, 1.04), ncols=columns, fontsize="small")
    return figure


def _volume_label(name: str, volume: Volume) -> str:
    return f"{name}, {1e3 * volume.value:.2f} ± {1e3 * volume.error:.3f} l"


def _draw_shared(space: Any, front: Any, shared: Volume) -> None:
    """The shared part: its voxels in space, its extent along the line of sight from the front."""
    front.plot([], [], "s", color=SHARED, label=_volume_label("shared", shared))
    if not len(shared.points):
        return
    space.scatter(*shared.points.T, s=3.0, alpha=0.35, color=SHARED, linewidths=0, rasterized=True)
    cells = [np.unique(shared.points[:, i].round(9)) for i in (0, 2)]
    edges = [np.arange(c.min() - 0.5 * shared.voxel, c.max() + shared.voxel, shared.voxel) for c in cells]
    depth, *_ = np.histogram2d(shared.points[:, 0], shared.points[:, 2], bins=edges)
    shade = np.ma.masked_equal(shared.voxel * depth.T, 0.0)
    mesh = front.pcolormesh(*edges, shade, cmap="Greens", vmin=0.0, alpha=0.75, zorder=2, rasterized=True)
    opaque = ScalarMappable(mesh.norm, mesh.cmap)
    front.figure.colorbar(opaque, ax=front, shrink=0.6, label="shared extent along y [m]")


def _draw(axes: Any, mechanism: Mechanism, T_world_base: Array, dimensions: tuple[int, ...]) -> None:
    """The links at home, projected on the given axes of the world, and the base origin (PSM, ECM: the RCM)."""
    place: dict[str, Any] = {"T_world_base": T_world_base, "dimensions": dimensions}
    draw(axes, mechanism, mechanism.arm.home, width=2.4, zorder=5, **place)
    axes.plot(*[[T_world_base[i, 3]] for i in dimensions], "o", color="k", ms=4.5, zorder=10)


def _map(axes: Any, mechanism: Mechanism, joints: tuple[int, int], window: Any, points: int) -> None:
    """Manipulability over two joints beyond their limits, the others at zero (the insertion at its middle)."""
    arm = mechanism.arm
    across, up = (np.linspace(low, high, points) for low, high in window)
    q = np.zeros((points, points, arm.n))
    q[..., 2] = 0.5 * (arm.lower[2] + arm.upper[2])
    q[..., joints[0]], q[..., joints[1]] = np.meshgrid(across, up)
    if isinstance(arm.structure, GimballedArm) and joints == (4, 5):
        q[..., 1] = 0.5
    value = manipulability(mechanism, q)
    mesh = axes.pcolormesh(across, up, value, cmap="viridis", shading="gouraud", norm=PowerNorm(0.5))
    axes.figure.colorbar(mesh, ax=axes, label="manipulability")
    low, high = arm.lower[list(joints)], arm.upper[list(joints)]
    axes.add_patch(Rectangle((low[0], low[1]), *(high - low), fill=False, ec=LIMITS, lw=1.4, ls="--", zorder=4))
    labels = [f"{arm.joints[j].name.replace('_', ' ')} q{j + 1} [{arm.joints[j].unit}]" for j in joints]
    axes.set(xlabel=labels[0], ylabel=labels[1], xlim=window[0], ylim=window[1])
    axes.grid(False)


def _wrist_curves(lengths: WristedShaft, left: Any, right: Any) -> None:
    for axes in (left, right):
        axes.axhline(-lengths.offset, color=COLOURS[3], label="L = 0")
    left.axhline(-lengths.offset - lengths.wrist, color=COLOURS[5], label="L cos q5 + a = 0 (q5 = 0)")
    q5 = np.linspace(-1.9, 1.9, 801)
    depth = np.where(np.abs(np.cos(q5)) > 0.02, -lengths.wrist / np.cos(q5), np.nan)
    right.plot(q5, depth - lengths.offset, color=COLOURS[5], label="L cos q5 + a = 0")


def _master_curves(lengths: GimballedArm, left: Any, right: Any) -> None:
    q2, q3 = np.meshgrid(np.linspace(-2.2, 2.8, 401), np.linspace(-2.4, 1.8, 401))
    u = lengths.upper_arm * np.sin(q2) + lengths.r * np.cos(q2 + q3 + lengths.gamma)
    left.contour(q2, q3, u, [0.0], colors=SINGULAR, linewidths=1.4)
    left.plot([], [], color=SINGULAR, label="u = 0")
    for k in (-1, 0):
        value = HALF_PI + k * np.pi - lengths.gamma
        left.axhline(value, color=COLOURS[3], label="cos(q3 + γ) = 0" if k else None)
    corners = [(q5, side * HALF_PI) for q5 in (0.0, np.pi) for side in (-1, 1)]
    right.plot(*np.transpose(corners), "o", color=COLOURS[5], label="cos q6 = sin q5 = 0")
