"""Triangles of the shapes of a MuJoCo model, per body and colour, in the frame of the body."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import mujoco
import numpy as np
import trimesh

from trocar.spatial import Array

VISIBLE = (0, 1, 2)  # geom groups that are drawn
COLLISION = 3
SMOOTH = np.radians(40.0)  # edges sharper than this are shaded as sharp edges
FLOOR = 4.0  # side of the square drawn for an endless plane [m]
ROUND = 32  # corners of a circle


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
            shaded[look] = _shaded(geom_mesh(model, i))
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


def _shaded(mesh: trimesh.Trimesh) -> trimesh.Trimesh:
    """The mesh with vertices split at sharp edges, so that the browser shades edges sharp and the rest smooth."""
    mesh.merge_vertices()
    mesh.update_faces(mesh.nondegenerate_faces())
    return trimesh.graph.smooth_shade(mesh, angle=SMOOTH, facet_minarea=None)


def _colour(model: mujoco.MjModel, i: int) -> Array:
    """The geom's own colour, unless it has a material."""
    material = model.geom_matid[i]
    return np.array(model.geom_rgba[i] if material < 0 else model.mat_rgba[material], dtype=float)
