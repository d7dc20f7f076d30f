"""Marks over the arm: joints and loops, centres of mass, frames, forces, workspace, and labels that do not overlap.

Most marks are drawn once, as children of the bodies, and move with them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy
import viser
from numpy.typing import ArrayLike

from trocar.arms.arm import Arm, Loop
from trocar.mechanics.workspace import Workspace
from trocar.palette import CAUSES, NAMED, of_cause, rgb
from trocar.robot.description import ArmDescription
from trocar.spatial import Array, unit
from trocar.view.model_drawing import ModelDrawing
from trocar.view.page import BASE
from trocar.view.panel import Selection, length
from trocar.view.viser_internals import remove_node

DRIVEN, PASSIVE, FOLLOWER, LOOP = (rgb(NAMED[colour]) for colour in ("blue", "orange", "pink", "vermilion"))
MASS, RCM = (240, 200, 40), (220, 20, 60)
METRE_PER_NEWTON, MIN_FORCE = 0.03, 0.05  # length of arrows [m/N]; smallest force drawn [N]
MAX_ARROW = 0.3  # longest arrow of a force [m]; a grip of 40 N would leave the picture
CLOUD = 4096
SIZE = 0.8  # size of an arm that marks are scaled to [m]
HEIGHT, SPACING = 0.018, 0.035  # height of the letters, and distance between lines [m]
ASIDE = 0.05  # distance of a label from the thing it names [m]
FULL_SIZE = 0.7  # depth from which letters have their full height [m]
NEAR = 0.05  # a point at less than this depth counts as behind the camera [m]
CLOSE = 0.6  # fraction of the usual depth; letters closer than this may touch
LINE = 90, 98, 108

NAMES = {
    "joints and loops": "driven joints blue, passive ones orange, moved by a cable pink; loops vermilion",
    "remote centre": "the point where the shaft passes through the abdominal wall, and the insertion axis",
    "centres of mass": "of every body; the volume of a ball is proportional to the mass",
    "forces": f"push ({CAUSES['push']}), contacts ({CAUSES['contact']})",
    "gravity": f"direction of gravity ({CAUSES['gravity']})",
    "frames": "of every body, the base and the tip",
    "workspace": "positions that the tip can reach within joint limits",
    "labels": "names of the bodies",
}


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


class Overlays:
    """All marks of one arm of a drawing; call `show` for each of `NAMES` before `update`.

    Args:
        scale: of the arrows of forces.
    """

    def __init__(self, scene: viser.SceneApi, drawing: ModelDrawing, about: ArmDescription, scale: float = 1.0) -> None:
        self._scene, self._drawing, self.about, self._scale = scene, drawing, about, scale
        self._visible: dict[str, bool] = {}
        self._handles: dict[str, list[Any]] = {name: [] for name in NAMES}
        self._labels, self._named = Labels(scene, "/labels"), False  # the flag: bodies had names at the last update
        for add in (self._add_joints, self._add_centre, self._add_masses, self._add_frames, self._add_arrows):
            add()

    def show(self, name: str, visible: bool) -> None:
        """Show or hide the marks of a name."""
        if self._visible.get(name) is visible:
            return
        self._visible[name] = visible
        if name == "workspace" and visible and not self._handles[name]:
            self._add_cloud()
        for handle in self._handles[name]:
            handle.visible = visible

    def update(self, selection: Selection, view: Viewpoint = FROM_THE_SIDE) -> None:
        """Move the marks that are not fixed to a body; labels are arranged for a view."""
        state = selection.state
        seen = self._visible["forces"]
        aim(self._push, np.array([[state.T_tip[:3, 3], state.force]]), seen, self._scale)
        aim(self._contacts, selection.frame.contacts, seen, self._scale)
        labels, drawing = self._labels, self._drawing
        for body in self.about.arm.bodies if self._visible["labels"] or self._named else ():
            middle = drawing.middle(self.about.prefix + body.name)
            labels.put(body.name, body.name.replace("_", " "), middle, self._visible["labels"])
        self._named = self._visible["labels"]
        if state.rcm_error is not None:
            text = f"RCM, off by {length(state.rcm_error)}"
            labels.put("rcm", text, self.about.T_world_base[:3, 3], self._visible["remote centre"])
        if self._gravity_at is not None:
            g = np.linalg.norm(self.about.world_gravity)
            labels.put("gravity", f"g {g:.3g} m/s²", self._gravity_at, self._visible["gravity"])
        labels.arrange(view)

    def remove(self) -> None:
        self._labels.remove()
        for handles in self._handles.values():
            for handle in handles:
                remove_node(handle)  # bodies that another model lacks have taken their marks with them

    def _node(self, body: str) -> str:
        return self._drawing.node(self.about.prefix + body)

    def _mark(self, name: str, add: Callable[..., Any], node: str, *what: Any, **look: Any) -> Any:
        """Add a mark to the scene under the overlay of that name."""
        handle = add(node, *what, **look)
        self._handles[name].append(handle)
        return handle

    def _lines(self, name: str, node: str, ends: ArrayLike, colour: tuple[int, int, int], thickness: float) -> None:
        points = np.array([ends], dtype=np.float32)
        add = self._scene.add_line_segments
        self._mark(name, add, node, points, colors=colour, thickness=thickness, thickness_units="screen")

    def _add_joints(self) -> None:
        arm, scene, name = self.about.arm, self._scene, "joints and loops"
        driven = set(arm.driven.values())
        for body in arm.bodies:
            if body.kind == "revolute":
                colour = DRIVEN if body.name in driven else FOLLOWER if body.name in arm.transmissions else PASSIVE
                slender = body.name in ("roll", "wrist_pitch", "wrist_yaw", "finger_left", "finger_right")
                radius = SIZE * (0.006 if slender else 0.02)
                node = f"{self._node(body.name)}/joint"
                self._mark(name, scene.add_cylinder, node, radius=radius, height=5 * radius, color=colour)
        for loop in arm.loops:
            for side, a, b in _sides(arm, loop):
                self._lines(name, f"{self._node(side)}/{loop.name}", [a, b], LOOP, 5.0)
            node = f"{self._node(loop.body_a)}/{loop.name}_pin"
            self._mark(name, scene.add_icosphere, node, radius=0.025 * SIZE, color=LOOP, position=loop.point_a)

    def _add_centre(self) -> None:
        if self.about.arm.has_rcm:
            name = "remote centre"
            self._mark(name, self._scene.add_icosphere, f"{BASE}/rcm", radius=0.012 * SIZE, color=RCM)
            self._lines(name, f"{self._node('insertion')}/axis", [[0.0, 0.0, -0.5], [0.0, 0.0, 0.5]], RCM, 2.0)

    def _add_masses(self) -> None:
        model, prefix = self._drawing.model, self.about.prefix
        bodies = {body.name: model.body(prefix + body.name) for body in self.about.arm.bodies}
        largest = max(float(body.mass[0]) for body in bodies.values())
        for name, body in bodies.items():
            if body.mass[0] > 1e-6:
                look = {"radius": 0.07 * SIZE * (float(body.mass[0]) / largest) ** (1 / 3), "position": body.ipos}
                add, node = self._scene.add_icosphere, f"{self._node(name)}/com"
                self._mark("centres of mass", add, node, color=MASS, opacity=0.85, **look)

    def _add_frames(self) -> None:
        arm, add = self.about.arm, self._scene.add_frame
        look: dict[str, Any] = {"axes_length": 0.12 * SIZE, "axes_radius": 0.004 * SIZE}
        self._mark("frames", add, f"{BASE}/base", **look)
        for body in arm.bodies:
            self._mark("frames", add, f"{self._node(body.name)}/axes", **look)
        site = self._drawing.model.site(self.about.prefix + "tip")
        self._mark("frames", add, f"{self._node(arm.tip_body)}/tip", position=site.pos, wxyz=site.quat, **look)

    def _add_arrows(self) -> None:
        self._push = arrows(self._scene, f"{BASE}/push", "push", self._scale)
        self._contacts = arrows(self._scene, "/contacts", "contact", self._scale)
        self._handles["forces"] += [self._push, self._contacts]
        T, g = self.about.T_world_base, self.about.world_gravity
        self._gravity_at: Array | None = None
        if g.any():
            start = np.array([T[0, 3], T[1, 3], self._drawing.extent[1][2] + 0.05])
            self._gravity_at = start + 0.3 * SIZE * g / 9.81
            arrow = arrows(self._scene, "/gravity", "gravity")
            arrow.points = np.array([[start, self._gravity_at]], dtype=np.float32)
            self._handles["gravity"].append(arrow)

    def _add_cloud(self) -> None:
        points = Workspace(self.about.mechanism()).cloud(CLOUD, density="volume").points
        low, high = points.min(0), points.max(0)
        depth = (points[:, 2] - low[2]) / (high[2] - low[2])
        colours = np.stack([60 + 140 * depth, 130 + 60 * depth, 230 - 100 * depth], axis=1).astype(np.uint8)
        add, look = self._scene.add_point_cloud, {"point_size": 0.004 * SIZE, "point_shape": "circle"}
        self._mark("workspace", add, f"{BASE}/workspace", points, colours, **look)


def arrows(scene: viser.SceneApi, node: str, cause: str, scale: float = 1.0) -> Any:
    """Arrows in the colour of a cause, invisible until `aim` is called."""
    width = 0.006 * SIZE * scale
    look: dict[str, Any] = {"shaft_radius": width, "head_radius": 2 * width, "head_length": 3 * width}
    return scene.add_arrows(node, np.zeros((1, 2, 3)), linear_rgb(rgb(of_cause(cause))), visible=False, **look)


def aim(handle: Any, points_and_forces: Array, visible: bool, scale: float = 1.0) -> None:
    """Draw the forces [N] (k, 2, 3) that are large enough to be seen as arrows at their points [m]."""
    size = np.linalg.norm(points_and_forces[:, 1], axis=1)
    seen, size = points_and_forces[size > MIN_FORCE], size[size > MIN_FORCE]
    if visible and len(seen):
        length = scale * np.minimum(METRE_PER_NEWTON * size, MAX_ARROW)
        ends = seen[:, 0] + (length / size)[:, None] * seen[:, 1]
        handle.points = np.stack([seen[:, 0], ends], axis=1).astype(np.float32)
    handle.visible = bool(visible and len(seen))


def _sides(arm: Arm, loop: Loop) -> list[tuple[str, Array, Array]]:
    """The sides of a loop: a body, and the two points (3,) [m] in its frame at which it is connected."""
    up_a, up_b = (arm.carriers(name)[::-1] for name in (loop.body_a, loop.body_b))
    shared = next((name for name in up_a if name in up_b), None)
    sides, ends = [], []
    for chain, point in ((up_a, loop.point_a), (up_b, loop.point_b)):
        end = np.array(point)
        for name in chain:
            if name == shared:
                break
            sides.append((name, np.zeros(3), end))
            end = arm.body(name).placement[:3, 3]
        ends.append(end)
    if shared is not None:
        sides.append((shared, ends[0], ends[1]))
    return sides


def linear_rgb(colour: tuple[int, int, int]) -> tuple[int, int, int]:
    """A colour in linear RGB, which viser expects for arrows."""
    red, green, blue = (round(255 * (x / 255) ** 2.2) for x in colour)
    return red, green, blue


# -- labels ------------------------------------------------------------------------------------------------------------


class Labels:
    """Labels at moving points, stacked vertically in the picture, with lines to the things they name.

    The letters have a fixed size in the scene, so labels that do not overlap stay apart at every distance. Close to
    the camera they shrink with the depth, so that no label fills the picture.
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
            look: dict[str, Any] = {"font_size_mode": "scene", "font_scene_height": HEIGHT, "anchor": "center-left"}
            self._labels[name] = self._scene.add_label(f"{self._node}/{name}", text, visible=False, **look)
        self._labels[name].text, self._labels[name].visible = text, visible
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
            label, height = self._labels[name], HEIGHT * float(shrunk(place, view))
            label.position = place
            if abs(label.font_scene_height - height) > 0.02 * height:
                label.font_scene_height = height
        self._lines.points = np.stack([points, places], axis=1).astype(np.float32)

    def remove(self) -> None:
        for handle in (*self._labels.values(), self._lines):
            handle.remove()
        self._labels.clear()


def shrunk(points: Array, view: Viewpoint) -> Array:
    """Factors (...,) of the size of labels at points (..., 3) [m]: 1 far from the camera, less closer to it."""
    depth = (points - view.position) @ view.forward
    return np.asarray(np.clip(depth, NEAR, FULL_SIZE) / FULL_SIZE)


def apart(points: Array, view: Viewpoint) -> Array:
    """Places (n, 3) [m] of labels at points (n, 3): at the same depths, each at a different height in the picture."""
    away = points - view.position
    depth = away @ view.forward
    seen = depth > NEAR
    places = points + ASIDE * shrunk(points, view)[..., None] * np.cross(view.forward, view.up)
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
    # h[k + 1] - h[k] >= spacing: minus k times the spacing, the heights must not decrease
    result = np.empty(len(heights))
    result[order] = scipy.optimize.isotonic_regression(np.asarray(heights, dtype=float)[order] - steps).x + steps
    return result
