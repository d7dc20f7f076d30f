"""A MuJoCo model drawn in the scene of a page: meshes are sent once, then only the poses of bodies."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import mujoco
import numpy as np
import trimesh
import viser

from trocar.appearance.kinematic_model import hang
from trocar.palette import NAMED, rgb
from trocar.simulation.objects.scene_object import OBJECT
from trocar.spatial import Array
from trocar.view.soft_drawing import SoftDrawing
from trocar.view.viser_internals import move_nodes

VISIBLE = (0, 1, 2)  # geom groups that are drawn
COLLISION = 3
SMOOTH = np.radians(40.0)  # edges sharper than this are shaded as sharp edges
FLOOR = 4.0  # side of the square drawn for an endless plane [m]
ROUND = 32  # corners of a circle
MIN_CHANGE = 1e-6  # smallest change of a pose that is sent [m, -]
GHOST = rgb(NAMED["vermilion"])  # colour of the model compared with, the same as its curves
TELLS_APART = 0.002  # displacement below which two drawings of a body cover each other: about a pixel [m]


class ModelDrawing:
    """One model under one node of the scene; `update` moves its bodies to a `qpos`.

    Args:
        root: node, such as "/arm". spec: model with every visual shape, as `Scene.spec`.
        ghost: draw it transparent and in one colour, for comparison with another.

    Attributes:
        extent: corners (3,) [m] of the box around the visible shapes, in the compiled pose.
        soft: surfaces of soft bodies.
    """

    def __init__(self, scene: viser.SceneApi, root: str, spec: mujoco.MjSpec, *, ghost: bool = False) -> None:
        self._scene, self._root, self._ghost = scene, root, ghost
        self._nodes: dict[str, Any] = {}
        self._meshes: list[tuple[BodyMesh, Any]] = []  # with their handles
        self._looks: dict[str, list[bytes]] = {}
        self._opacity, self._collision, self._count = 1.0, False, 0
        self._absent = frozenset[str]()
        self._top = scene.add_frame(root, show_axes=False)
        self.soft = SoftDrawing(scene, root, GHOST if ghost else None)
        self.become(spec)

    def become(self, spec: mujoco.MjSpec) -> None:
        """Draw another model instead of this one; bodies that look the same are kept."""
        model = spec.copy().compile()
        looks = geom_keys(model)
        same = {name for name, look in looks.items() if self._looks.get(name) == look}
        for mesh, handle in self._meshes:
            if mesh.body not in same:
                handle.remove()
        self._meshes = [(mesh, handle) for mesh, handle in self._meshes if mesh.body in same]
        for name in self._nodes.keys() - looks.keys():
            self._nodes.pop(name).remove()
        self.model, self.data, self._looks = model, mujoco.MjData(model), looks
        mujoco.mj_kinematics(self.model, self.data)
        for body in range(1, model.nbody):
            name = model.body(body).name
            part = name.startswith(OBJECT) and not looks[name]  # of a soft object: it is drawn as a surface
            if name not in self._nodes and not part:
                self._nodes[name] = self._scene.add_frame(
                    self.node(name), show_axes=False, position=self.data.xpos[body], wxyz=self.data.xquat[body]
                )
        for mesh in body_meshes(model, bodies=looks.keys() - same):
            if not (self._ghost and mesh.group == COLLISION):
                self._add(mesh)
        self.soft.become(model, 0.35 if self._ghost else self._opacity)
        self._place_fixed()
        seen = [(m.vertices, self.data.body(m.body)) for m, _ in self._meshes if m.group != COLLISION]
        every = np.vstack([v @ body.xmat.reshape(3, 3).T + body.xpos for v, body in seen] or [np.zeros((1, 3))])
        self.extent = every.min(0), every.max(0)

    def hang(self, fixed: Mapping[str, Array]) -> None:
        """Put bodies that only set-up joints move at poses (4, 4) in the world, by name."""
        hang(self.model, fixed)
        mujoco.mj_kinematics(self.model, self.data)
        self._place_fixed()

    def _place_fixed(self) -> None:
        """Place the bodies that are welded to the world, and list those that move."""
        self._moving = []
        # positions and orientations of all bodies that were sent to the browsers; NaN: none yet
        self._sent = np.full((self.model.nbody, 3), np.nan), np.full((self.model.nbody, 4), np.nan)
        for name, node in self._nodes.items():
            body = self.model.body(name).id
            if self.model.body_weldid[body]:
                self._moving.append((body, node))
            else:
                node.position, node.wxyz = self.data.xpos[body], self.data.xquat[body]

    def update(self, qpos: Array, layers: Array | None = None) -> None:
        """Move every body, and leave out elements of soft bodies that were removed; layers: see `Frame`.

        The model may have more joints than `qpos`; the extra ones come last.
        """
        self.data.qpos[: len(qpos)] = qpos
        mujoco.mj_kinematics(self.model, self.data)
        poses = _newly(self.data.xpos, self._sent[0]), _newly(self.data.xquat, self._sent[1])
        move_nodes(self._scene, self._moving, *poses)
        if layers is not None and layers.size:
            self.soft.cut(layers)
        self.soft.update(self.data)

    def hide_where_on(self, other: ModelDrawing) -> None:
        """Hide the bodies that coincide with those of another drawing, within about a pixel.

        If both were drawn, their surfaces would flicker through each other.
        """
        for mesh, handle in self._meshes:
            if self._looks.get(mesh.body) != other._looks.get(mesh.body):  # for example another instrument
                handle.visible = True
                continue
            here, there = (
                body.xmat.reshape(3, 3) @ mesh.corners.T + body.xpos[:, None]
                for body in (drawing.data.body(mesh.body) for drawing in (self, other))
            )
            handle.visible = bool(np.linalg.norm(here - there, axis=0).max() > TELLS_APART)

    def node(self, body: str) -> str:
        """Name of the scene node that moves with a body; child nodes move along."""
        return f"{self._root}/{body}"

    def middle(self, body: str) -> Array:
        """Middle (3,) [m] of the visible shapes of a body, in the world; its origin if it has none."""
        pose = self.data.body(body)
        corners = [mesh.corners for mesh, _ in self._meshes if mesh.body == body and mesh.group != COLLISION]
        if not corners:
            return np.array(pose.xpos)
        low, high = np.min(np.vstack(corners), axis=0), np.max(np.vstack(corners), axis=0)
        return np.asarray(pose.xmat.reshape(3, 3) @ ((low + high) / 2) + pose.xpos)

    def shapes(self) -> dict[str, str]:
        """Scene nodes that are shapes: name of the node -> its body."""
        return {handle.name: mesh.body for mesh, handle in self._meshes}

    def see_through(self, opacity: float) -> None:
        """Set the opacity of all shapes; 1 is opaque."""
        if opacity == self._opacity:
            return
        self._opacity = opacity
        for mesh, handle in self._meshes:
            if mesh.group != COLLISION and not self._ghost:
                handle.opacity = _opacity(mesh, opacity)
        if not self._ghost:
            self.soft.see_through(opacity)

    def show_collision(self, visible: bool) -> None:
        """Draw the collision shapes instead of the visible ones, or switch back."""
        if visible is self._collision:
            return
        self._collision = visible
        self._show()

    def leave_out(self, bodies: Iterable[str]) -> None:
        """Draw all bodies but these."""
        if self._absent != (absent := frozenset(bodies)):
            self._absent = absent
            self._show()

    def _show(self) -> None:
        for mesh, handle in self._meshes:
            handle.visible = self._is_shown(mesh)

    def _is_shown(self, mesh: BodyMesh) -> bool:
        return (mesh.group == COLLISION) == self._collision and mesh.body not in self._absent

    def remove(self) -> None:
        self._top.remove()

    def _add(self, mesh: BodyMesh) -> None:
        above = self.node(mesh.body) if mesh.body in self._nodes else self._root  # the world has no node
        self._count += 1  # a name is never reused: the removal of the old node may still be on its way to a browser
        handle = self._scene.add_mesh_simple(
            f"{above}/shape_{self._count}",
            mesh.vertices,
            mesh.faces,
            color=GHOST if self._ghost else np.round(255 * mesh.rgba[:3]).astype(np.uint8),
            opacity=0.35 if self._ghost else _opacity(mesh, 1.0 if mesh.group == COLLISION else self._opacity),
            cast_shadow=not self._ghost,
            receive_shadow=not self._ghost,
            visible=self._is_shown(mesh),
        )
        self._meshes.append((mesh, handle))


def _newly(now: Array, sent: Array) -> dict[int, Any]:
    """Rows that differ from those sent, as tuples by index; they count as sent from now on."""
    moved = np.flatnonzero(~(np.abs(now - sent) <= MIN_CHANGE).all(1))  # true also for NaN
    sent[moved] = now[moved]
    return dict(zip(moved.tolist(), map(tuple, now[moved].tolist()), strict=True))


def _opacity(mesh: BodyMesh, factor: float) -> float | None:
    value = float(mesh.rgba[3]) * factor
    return None if value >= 1.0 else value


# -- triangles, per body and colour, in the frame of the body ----------------------------------------------------------


@dataclass(frozen=True)
class BodyMesh:
    """Triangles of one body in one colour: vertices (V, 3) [m] in its frame, faces (F, 3), colour (4,) in [0, 1]."""

    body: str
    group: int
    vertices: Array
    faces: Array
    rgba: Array

    @cached_property
    def corners(self) -> Array:
        """Corners (8, 3) [m] of the box around it, in its body's frame."""
        ends = zip(self.vertices.min(0), self.vertices.max(0), strict=True)
        return np.array(np.meshgrid(*ends)).reshape(3, 8).T


def body_meshes(
    model: mujoco.MjModel, groups: tuple[int, ...] = (*VISIBLE, COLLISION), bodies: Container[str] | None = None
) -> list[BodyMesh]:
    """Meshes of all geoms of some groups, merged by body, group and colour. Default: all bodies."""
    parts: dict[tuple[str, int, tuple[float, ...]], list[trimesh.Trimesh]] = {}
    shaded: dict[bytes, trimesh.Trimesh] = {}  # arms of one kind have the same shapes
    for i in range(model.ngeom):
        body, group, rgba = model.body(model.geom_bodyid[i]).name, int(model.geom_group[i]), _colour(model, i)
        if group not in groups or rgba[3] == 0.0 or (bodies is not None and body not in bodies):
            continue
        look = _shape(model, i)
        if look not in shaded:
            mesh = geom_mesh(model, i)
            mesh.merge_vertices()
            mesh.update_faces(mesh.nondegenerate_faces())
            # vertices are split at sharp edges, so that the browser shades edges sharp and the rest smooth
            shaded[look] = trimesh.graph.smooth_shade(mesh, angle=SMOOTH, facet_minarea=None)
        T = trimesh.transformations.quaternion_matrix(model.geom_quat[i])
        T[:3, 3] = model.geom_pos[i]
        parts.setdefault((body, group, tuple(rgba)), []).append(shaded[look].copy().apply_transform(T))
    bodies_drawn = []
    for (body, group, colour), meshes in parts.items():
        merged: Any = trimesh.util.concatenate(meshes)
        bodies_drawn.append(BodyMesh(body, group, np.array(merged.vertices), np.array(merged.faces), np.array(colour)))
    return bodies_drawn


def geom_mesh(model: mujoco.MjModel, i: int) -> trimesh.Trimesh:
    """Triangles of geom i in its own frame; MuJoCo's sizes are half lengths and radii [m]."""
    size, kind = model.geom_size[i], mujoco.mjtGeom(model.geom_type[i])
    match kind:
        case mujoco.mjtGeom.mjGEOM_MESH:
            return trimesh.Trimesh(*_triangles(model, i), process=False)
        case mujoco.mjtGeom.mjGEOM_BOX:
            return trimesh.creation.box(2 * size)
        case mujoco.mjtGeom.mjGEOM_SPHERE | mujoco.mjtGeom.mjGEOM_ELLIPSOID:
            return trimesh.creation.icosphere(subdivisions=2).apply_scale(np.where(size > 0, size, size[0]))
        case mujoco.mjtGeom.mjGEOM_CYLINDER:
            return trimesh.creation.cylinder(radius=size[0], height=2 * size[1], sections=ROUND)
        case mujoco.mjtGeom.mjGEOM_CAPSULE:
            return trimesh.creation.capsule(radius=size[0], height=2 * size[1], count=[ROUND // 2, ROUND // 2])
        case mujoco.mjtGeom.mjGEOM_PLANE:
            x, y = (2 * s if s > 0 else FLOOR for s in size[:2])
            return trimesh.creation.box([x, y, 1e-4])
        case _:
            # a height field or a signed distance field: draw its bounding box
            centre, half = model.geom_aabb[i, :3], model.geom_aabb[i, 3:]
            return trimesh.creation.box(2 * np.maximum(half, 1e-4)).apply_translation(centre)


def geom_keys(model: mujoco.MjModel) -> dict[str, list[bytes]]:
    """Keys of the geoms of every body, by its name; bodies with equal keys have the same appearance."""
    keys: dict[str, list[bytes]] = {model.body(k).name: [] for k in range(model.nbody)}
    for i in range(model.ngeom):
        parts = (model.geom_group[i], model.geom_pos[i], model.geom_quat[i], _colour(model, i))
        placed = b"".join(np.asarray(part).tobytes() for part in parts)
        keys[model.body(model.geom_bodyid[i]).name].append(_shape(model, i) + placed)
    return keys


def _shape(model: mujoco.MjModel, i: int) -> bytes:
    """A key that is equal for geoms of the same shape."""
    parts = [model.geom_type[i], model.geom_size[i], model.geom_aabb[i]]
    if model.geom_type[i] == mujoco.mjtGeom.mjGEOM_MESH:
        parts += _triangles(model, i)
    return b"".join(np.asarray(part).tobytes() for part in parts)


def _triangles(model: mujoco.MjModel, i: int) -> tuple[Array, Array]:
    """Vertices (V, 3) [m] and faces (F, 3) of a geom that is a mesh."""
    k = model.geom_dataid[i]
    v, f = model.mesh_vertadr[k], model.mesh_faceadr[k]
    return model.mesh_vert[v : v + model.mesh_vertnum[k]], model.mesh_face[f : f + model.mesh_facenum[k]]


def _colour(model: mujoco.MjModel, i: int) -> Array:
    """The geom's own colour, unless it has a material."""
    material = model.geom_matid[i]
    return np.array(model.geom_rgba[i] if material < 0 else model.mat_rgba[material], dtype=float)
