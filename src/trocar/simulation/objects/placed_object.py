"""Objects of a running simulation: pose and velocity."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from trocar.errors import TrocarError
from trocar.simulation.objects.soft_slab import SoftSlab
from trocar.simulation.objects.solid import OBJECT, Solid
from trocar.spatial import Array, checked_pose, pose, quaternion


class PlacedObject:
    """An object of a scene in its current state."""

    def __init__(self, thing: Solid | SoftSlab, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        self.thing, self._model, self._data = thing, model, data
        body = model.body(OBJECT + thing.name)
        self.body = int(body.id)
        # views of its position and quaternion, and of its velocity; None if it is not free
        self._qpos = self._qvel = None
        if isinstance(thing, Solid) and thing.mass is not None:
            q, v = int(model.jnt_qposadr[body.jntadr[0]]), int(model.jnt_dofadr[body.jntadr[0]])
            self._qpos, self._qvel = data.qpos[q : q + 7], data.qvel[v : v + 6]

    @property
    def pose(self) -> Array:
        """T_base_object (4, 4). Set it to move a free object, which is then at rest; others raise an error."""
        if self._qpos is None:
            return np.array(self.thing.pose, dtype=float)
        position, turn = np.split(self._qpos, [3])
        R = np.empty(9)
        mujoco.mju_quat2Mat(R, turn / np.linalg.norm(turn))
        return pose(R.reshape(3, 3), position)

    @pose.setter
    def pose(self, T: ArrayLike) -> None:
        if self._qpos is None or self._qvel is None:
            raise TrocarError(f"{self.thing.name} is fixed or soft and cannot be moved")
        T = checked_pose(T)
        self._qpos[:], self._qvel[:] = [*T[:3, 3], *quaternion(T[:3, :3])], 0.0
        mujoco.mj_forward(self._model, self._data)

    @property
    def twist(self) -> Array:
        """Velocity (6,) of its origin [m/s] and angular velocity [rad/s], base axes; zero if it is not free."""
        if self._qvel is None:
            return np.zeros(6)
        v, w = np.split(self._qvel, 2)
        return np.concatenate([v, self.pose[:3, :3] @ w])  # MuJoCo's angular velocity is in the body

    @property
    def vertices(self) -> Array:
        """Nodes (k, 3) of a soft object in the base [m]; empty for a rigid one."""
        if isinstance(self.thing, Solid):
            return np.empty((0, 3))
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_flex(self._model, self._data)
        flex = mujoco.mj_name2id(self._model, mujoco.mjtObj.mjOBJ_FLEX, OBJECT + self.thing.name)
        first, count = int(self._model.flex_vertadr[flex]), int(self._model.flex_vertnum[flex])
        return np.array(self._data.flexvert_xpos[first : first + count])
