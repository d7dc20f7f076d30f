"""Soft bodies drawn in the scene of a page: their surfaces are sent again whenever they have deformed."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import viser

from trocar.simulation.objects.cutting import remaining_faces
from trocar.spatial import Array

MIN_MOTION = 1e-5  # smallest motion of a vertex that is sent [m]


class SoftDrawing:
    """Surfaces of all soft bodies of a model, under one node of the scene.

    Args:
        root: node, such as "/arm". colour: (3,) of 0 to 255 instead of their own.

    Attributes:
        handles: of the meshes.
    """

    def __init__(self, scene: viser.SceneApi, root: str, colour: Any = None) -> None:
        self._scene, self._root, self._colour, self._count = scene, root, colour, 0
        self.handles: list[Any] = []
        self._vertices: list[Array] = []  # numbers of the vertices of every surface in the model

    def become(self, model: mujoco.MjModel, opacity: float) -> None:
        """Draw the soft bodies of another model."""
        for handle in self.handles:
            handle.remove()
        self.handles, self._vertices, self._model, self._opacity = [], [], model, opacity
        self._layers = model.flex_elemlayer.copy()
        for flex in range(model.nflex):
            first, count = int(model.flex_shelldataadr[flex]), int(model.flex_shellnum[flex])
            self._add(flex, model.flex_shell[first : first + 3 * count])

    def cut(self, layers: Array) -> None:
        """Draw the soft bodies without elements that were removed; layers: see `Frame`."""
        if np.array_equal(layers, self._layers):
            return
        self._layers = np.array(layers)
        for handle in self.handles:
            handle.remove()
        self.handles, self._vertices = [], []
        for flex in range(self._model.nflex):
            self._add(flex, remaining_faces(self._model, flex, self._layers))

    def _add(self, flex: int, corners: Array) -> None:
        """Draw the triangles of a soft body, by the numbers of their corners."""
        model = self._model
        used, faces = np.unique(corners, return_inverse=True)
        own = np.round(255 * model.flex_rgba[flex, :3]).astype(np.uint8)
        self._count += 1  # a name is never reused: the removal of the old node may still be on its way to a browser
        handle = self._scene.add_mesh_simple(
            f"{self._root}/soft_{self._count}",
            np.zeros((len(used), 3), dtype=np.float32),
            faces.reshape(-1, 3).astype(np.uint32),
            color=own if self._colour is None else self._colour,
            opacity=None if self._opacity >= 1.0 else self._opacity,
            flat_shading=True,
            side="double",
        )
        self.handles.append(handle)
        self._vertices.append(int(model.flex_vertadr[flex]) + used)

    def update(self, data: mujoco.MjData) -> None:
        """Redraw the surfaces that have moved; positions of bodies must be up to date."""
        if not self.handles:
            return
        mujoco.mj_comPos(self._model, data)
        mujoco.mj_flex(self._model, data)
        for handle, rows in zip(self.handles, self._vertices, strict=True):
            vertices = data.flexvert_xpos[rows].astype(np.float32)
            if np.abs(vertices - handle.vertices).max(initial=0.0) > MIN_MOTION:
                handle.vertices = vertices

    def see_through(self, opacity: float) -> None:
        """Set the opacity of all surfaces; 1 is opaque."""
        self._opacity = opacity
        for handle in self.handles:
            handle.opacity = None if opacity >= 1.0 else opacity
