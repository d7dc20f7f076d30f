"""Solids that pass through a tissue between two steps: the engine finds no contact and reports nothing."""

from __future__ import annotations

import warnings

import mujoco
import numpy as np

from trocar.errors import Inaccurate
from trocar.simulation.objects.scene_object import OBJECT
from trocar.spatial import Array


class FastSolids:
    """Warns once if a free solid moves further in a step than a tissue is thick, and through it.

    Args:
        name, size, centre: of the tissue, edges (3,) and position (3,) of its box [m].
    """

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData, name: str, size: Array, centre: Array) -> None:
        self._model, self._data, self._name = model, data, name
        self._thickness, self._centre = float(size.min()), centre
        self._radius = float(np.linalg.norm(size)) / 2
        self._joints = np.flatnonzero(model.jnt_type == mujoco.mjtJoint.mjJNT_FREE)
        self._rates = model.jnt_dofadr[self._joints, None] + np.arange(3)
        self._places = model.jnt_qposadr[self._joints, None] + np.arange(3)
        self._warned = not len(self._joints)

    def check(self) -> None:
        """Look at the step just taken."""
        if self._warned:
            return
        ways = self._model.opt.timestep * self._data.qvel[self._rates]
        if np.vdot(ways, ways) < self._thickness**2:  # so is each of them
            return
        lengths = np.linalg.norm(ways, axis=1)
        for k in np.flatnonzero(lengths > self._thickness):
            # the place of its way that is nearest to the tissue
            back = self._data.qpos[self._places[k]] - self._centre
            share = min(max(float(back @ ways[k]) / lengths[k] ** 2, 0.0), 1.0)
            if np.linalg.norm(back - share * ways[k]) < self._radius:
                self._warned = True
                solid = self._model.body(self._model.jnt_bodyid[self._joints[k]]).name.removeprefix(OBJECT)
                warnings.warn(
                    f"{solid} moves {1e3 * lengths[k]:.3g} mm in a step at t = {self._data.time:.4g} s, further than "
                    f"{self._name} is thick, and can pass through it: use a smaller timestep or less speed",
                    Inaccurate,
                    stacklevel=5,
                )
                return
