"""Work of the motors and energy lost to friction, computed from MuJoCo's data after each step."""

from __future__ import annotations

import mujoco
import numpy as np

from trocar.simulation import Scene
from trocar.spatial import Array


class EnergyMeter:
    """Accumulates work and loss of all arms of a scene, many steps at once.

    The rows of dry friction in MuJoCo's constraints have a constant Jacobian: joints and fixed tendons. `disagreement`
    compares the result with the public `friction_effort` of every arm.

    Args:
        scene: in a state for which `forward` was called. steps: number of steps between two calls of `read`.

    Attributes:
        work: work of all motors [J]. lost: energy lost to friction [J]. Both since `reset`.
    """

    def __init__(self, scene: Scene, steps: int) -> None:
        model, data, stepped = scene.model, scene.data, tuple(scene.stepped.values())
        self._scene, self._data = scene, data
        self._m = m = max(arm.v.stop for arm in stepped)  # objects follow
        self._dry_rows = slice(data.ne, data.ne + data.nf)
        self._dry = np.array([_jacobian_row(model, data, row) for row in range(data.ne, data.ne + data.nf)])[:, :m]
        self._motors = np.zeros((model.nu, m))  # displacement of the motors = motors @ displacement of the links
        for arm in stepped:
            self._motors[arm.u, arm.v] = arm.joint_from_motor.T @ arm.D
        self._remembering = [(arm, dahl) for arm in stepped if (dahl := arm.forces.hysteresis) is not None]
        ends = np.cumsum([m, model.nu, data.nf, m])
        self._parts = ends[:-1]
        self._rows = np.empty((steps, ends[-1]))
        self._qpos, self._ctrl, self._damper = data.qpos[:m], data.ctrl, data.qfrc_damper[:m]
        self.reset()

    def reset(self) -> None:
        """Start from the scene's current state."""
        self.work = self.lost = 0.0
        self._k, self._before = 0, self._qpos.copy()

    def add(self) -> None:
        """Record the step just taken."""
        dry = self._data.efc_force[self._dry_rows]
        row = self._rows[self._k]
        np.concatenate((self._qpos, self._ctrl, dry, self._damper), out=row)
        for arm, dahl in self._remembering:
            row[-self._m :][arm.v] += dahl.force(arm.qpos, arm.qvel)
        self._k += 1

    def read(self) -> None:
        """Update `work` and `lost` to the last step."""
        qpos, ctrl, dry, damper = np.split(self._rows[: self._k], self._parts, axis=1)
        moved = np.diff(np.vstack([self._before, qpos]), axis=0)
        self.work += float(np.sum(ctrl * (moved @ self._motors.T)))
        self.lost -= float(np.sum(dry * (moved @ self._dry.T)) + np.sum(damper * moved))
        self._k, self._before = 0, qpos[-1].copy()

    def disagreement(self) -> float:
        """Largest difference from `friction_effort` of an arm in the last step, before `read` [N m, N]."""
        _, _, dry, damper = np.split(self._rows[self._k - 1], self._parts)
        force = dry @ self._dry + damper
        arms = zip(self._scene.stepped.values(), self._scene.arms.values(), strict=True)
        return max(float(np.abs(arm.E.T @ force[arm.v] + seen.friction_effort()).max()) for arm, seen in arms)


def _jacobian_row(model: mujoco.MjModel, data: mujoco.MjData, row: int) -> Array:
    found = np.zeros(model.nv)
    mujoco.mj_mulJacTVec(model, data, found, np.eye(data.nefc)[row])
    return found
