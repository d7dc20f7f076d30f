"""A MuJoCo model drawn in the scene of a page: meshes are sent once, then only the poses of bodies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np
import viser

from trocar.palette import NAMED, rgb
from trocar.spatial import Array, quaternion
from trocar.view.meshes import COLLISION, BodyMesh, body_meshes, geom_keys
from trocar.view.viser_internals import move_nodes

MIN_CHANGE = 1e-6  # smallest change of a pose that is sent [m, -]
GHOST = rgb(NAMED["vermilion"])  # colour of the model compared with, the same as its curves
TELLS_APART = 0.002  # displacement below which two drawings of a body cover each other: about a pixel [m]


class ModelDrawing:
    """One model under one node of the scene; `update` moves its bodies to a `qpos`.

    Args:
        root: node, such as "/arm". spec: model with every visual shape, as `Scene.spec`.
        ghost: draw it transparent and in one colour, for comparison with another.
    """

    def __init__(self, scene: viser.SceneApi, root: str, spec: mujoco.MjSpec, *, ghost: bool = False) -> None:
        self._scene, self._root, self._ghost = scene, root, ghost
        self._nodes: dict[str, Any] = {}
        self._meshes: list[tuple[BodyMesh, Any]] = []  # with their handles
        self._looks: dict[str, list[bytes]] = {}
        self._opacity, self._collision, self._count = 1.0, False, 0
        self._top = scene.add_frame(root, show_axes=False)
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
            if name not in self._nodes:
                self._nodes[name] = self._scene.add_frame(
                    self.node(name), show_axes=False, position=self.data.xpos[body], wxyz=self.data.xquat[body]
                )
        for mesh in body_meshes(model, bodies=looks.keys() - same):
            if not (self._ghost and mesh.group == COLLISION):
                self._add(mesh)
        self._place_fixed()
        self.extent = self._extent()

    def hang(self, fixed: Mapping[str, Array]) -> None:
        """Put bodies that only set-up joints move at poses (4, 4) in the world, by name."""
        for name, T in fixed.items():
            body = self.model.body(name)
            body.pos, body.quat = T[:3, 3], quaternion(T[:3, :3])
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

    def update(self, qpos: Array) -> None:
        """Move every body. The model may have more joints than `qpos`; the extra ones come last."""
        self.data.qpos[: len(qpos)] = qpos
        mujoco.mj_kinematics(self.model, self.data)
        poses = _newly(self.data.xpos, self._sent[0]), _newly(self.data.xquat, self._sent[1])
        move_nodes(self._scene, self._moving, *poses)

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
        self._opacity = opacity
        for mesh, handle in self._meshes:
            if mesh.group != COLLISION and not self._ghost:
                handle.opacity = _opacity(mesh, opacity)

    def show_collision(self, visible: bool) -> None:
        """Draw the collision shapes instead of the visible ones, or switch back."""
        self._collision = visible
        for mesh, handle in self._meshes:
            handle.visible = (mesh.group == COLLISION) == visible

    def remove(self) -> None:
        self._top.remove()

    def _extent(self) -> tuple[Array, Array]:
        """Corners (3,) [m] of the box around the visible shapes, in the compiled pose."""
        seen = [(m.vertices, self.data.body(m.body)) for m, _ in self._meshes if m.group != COLLISION]
        every = np.vstack([v @ body.xmat.reshape(3, 3).T + body.xpos for v, body in seen] or [np.zeros((1, 3))])
        return every.min(0), every.max(0)

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
            visible=(mesh.group == COLLISION) == self._collision,
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
