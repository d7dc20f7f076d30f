"""A MuJoCo model in the scene of a page: meshes sent once, then only the poses of bodies."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import viser

from trocar.palette import COLOURS, rgb
from trocar.spatial import Array
from trocar.viewer.meshes import COLLISION, BodyMesh, body_meshes

GHOST = rgb(COLOURS[1])  # of what is compared with, as its curves


class Drawing:
    """One model under one node of the scene; `update` puts its bodies where a `qpos` has them.

    Args:
        root: node, such as "/arm". spec: with every visual shape, as `Simulator.spec`.
        ghost: draw it see-through and in one colour, to be compared with another.
    """

    def __init__(self, scene: viser.SceneApi, root: str, spec: mujoco.MjSpec, *, ghost: bool = False) -> None:
        self.model = spec.copy().compile()
        self.data = mujoco.MjData(self.model)
        self._scene, self._root, self._ghost = scene, root, ghost
        self._nodes: dict[int, Any] = {}
        self._meshes: list[tuple[BodyMesh, Any]] = []
        self._top = scene.add_frame(root, show_axes=False)
        meshes = body_meshes(self.model)
        self.extent = self._extent(meshes)
        mujoco.mj_kinematics(self.model, self.data)
        for body in range(1, self.model.nbody):
            self._nodes[body] = scene.add_frame(
                self.node(self.model.body(body).name),
                show_axes=False,
                position=self.data.xpos[body],
                wxyz=self.data.xquat[body],
            )
        # what is welded to the world is told where it is once
        self._moving = [(body, node) for body, node in self._nodes.items() if self.model.body_weldid[body]]
        for mesh in meshes:
            if not (ghost and mesh.group == COLLISION):
                self._add(mesh)

    def update(self, qpos: Array) -> None:
        """Move every body; the model may have more joints than `qpos` has (they come last)."""
        self.data.qpos[: len(qpos)] = qpos
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)
        for body, node in self._moving:
            node.position, node.wxyz = self.data.xpos[body], self.data.xquat[body]

    def node(self, body: str) -> str:
        """Name of the scene's node that moves with a body; what is put below it moves too."""
        return f"{self._root}/{body}"

    def show(self, visible: bool) -> None:
        self._top.visible = visible

    def see_through(self, opacity: float) -> None:
        """1 is solid."""
        for mesh, handle in self._meshes:
            if mesh.group != COLLISION and not self._ghost:
                handle.opacity = _opacity(mesh, opacity)

    def show_collision(self, visible: bool) -> None:
        """Collision shapes instead of the visible ones, or not."""
        for mesh, handle in self._meshes:
            handle.visible = (mesh.group == COLLISION) == visible

    def remove(self) -> None:
        self._top.remove()

    def _extent(self, meshes: list[BodyMesh]) -> tuple[Array, Array]:
        """Corners (3,) of the box around what is visible, as the model is compiled [m]."""
        mujoco.mj_kinematics(self.model, self.data)
        points = [
            m.vertices @ self.data.xmat[m.body].reshape(3, 3).T + self.data.xpos[m.body]
            for m in meshes
            if m.group != COLLISION
        ]
        every = np.vstack(points) if points else np.zeros((1, 3))
        return every.min(0), every.max(0)

    def _add(self, mesh: BodyMesh) -> None:
        above = self._root if mesh.body == 0 else self._nodes[mesh.body].name
        handle = self._scene.add_mesh_simple(
            f"{above}/shape_{len(self._meshes)}",
            mesh.vertices,
            mesh.faces,
            color=GHOST if self._ghost else np.round(255 * mesh.rgba[:3]).astype(np.uint8),
            opacity=0.35 if self._ghost else _opacity(mesh, 1.0),
            cast_shadow=not self._ghost,
            receive_shadow=not self._ghost,
            visible=mesh.group != COLLISION,
        )
        self._meshes.append((mesh, handle))


def _opacity(mesh: BodyMesh, factor: float) -> float | None:
    value = float(mesh.rgba[3]) * factor
    return None if value >= 1.0 else value
