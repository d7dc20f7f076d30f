"""The port, where the instrument enters the body: forces of abdominal wall and seal on the arm.

The cannula is fixed to the arm's last link before the insertion and pivots with it. The body wall holds it by a spring
and a damper across its axis, at a point that is the remote centre only if the arm was set up well. The seal in the
cannula causes friction on the instrument's shaft.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.simulation.arm_slice import ArmSlice
from trocar.spatial import Array

SEAL = {"seal_slide": "insertion", "seal_turn": "roll"}  # tendon: joint


@dataclass(frozen=True, kw_only=True)
class Port:
    """A port in a body wall.

    Attributes:
        offset: (3,) position of the hole in the relaxed wall relative to the remote centre, base axes [m].
        stiffness: lateral stiffness of the wall [N/m]; assumed, not measured. damping: [N s/m]; assumed.
        friction: Coulomb friction of the seal on the shaft [N]: 0.25 to 3 N, by the kind of trocar (van den Dobbelsteen
            et al. 2007, six trocars with a 5 mm instrument). In rotation it acts at the shaft's radius.
        viscous: viscous friction on the shaft [N s/m], in rotation at its radius; assumed.
    """

    offset: ArrayLike = (0.0, 0.0, 0.0)
    stiffness: float = 1000.0
    damping: float = 20.0
    friction: float = 1.0
    viscous: float = 2.0

    def __post_init__(self) -> None:
        checks.three_numbers("offset of a port", self.offset, "[m]")
        checks.attributes(self, "a port", not_negative=("stiffness", "damping", "friction", "viscous"))


class PortForces:
    """Generalised forces of the wall on the cannula; those of the seal are in the model."""

    def __init__(self, arm_slice: ArmSlice, port: Port) -> None:
        self.port, self._slice, arm = port, arm_slice, arm_slice.arm
        self._model, self._data = arm_slice.engine.model, arm_slice.engine.data
        self._offset = np.asarray(port.offset, dtype=float)
        self._insertion = arm_slice.body("insertion")
        link = arm.body("insertion")
        while link.parent is not None and link.kind == "prismatic":
            link = arm.body(link.parent)
        self._cannula = arm_slice.body(link.name)
        self._J = np.zeros((3, self._model.nv))
        self._tendons = [arm_slice.tendon(name) for name, joint in SEAL.items() if joint in arm.joint_names]
        self.wrench = np.zeros(6)

    def force(self, qpos: Array, qvel: Array) -> Array:
        """Generalised force on the arm's joints for the next step."""
        model, data, port = self._model, self._data, self.port
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        axis = data.xmat[self._insertion].reshape(3, 3)[:, 2]
        on_axis, centre = data.xpos[self._insertion], data.xpos[self._slice.base]
        hole = centre + self._slice.to_world(self._offset)
        point = on_axis + axis * (axis @ (hole - on_axis))  # point of the cannula's axis nearest to the hole
        mujoco.mj_jac(model, data, self._J, None, point, self._cannula)
        v = self._J @ data.qvel
        F = port.stiffness * (hole - point) - port.damping * (v - axis * (axis @ v))
        # the base's origin is the remote centre
        turn = self._slice.to_base
        self.wrench = np.concatenate([turn(F), turn(np.cross(point - centre, F))])
        return np.asarray(self._J.T @ F)[self._slice.v]

    def seal(self) -> Array:
        """Force along the shaft [N], positive into the body, and torque about it [N m], on the instrument."""
        data, result = self._data, np.zeros(2)
        friction = data.efc_type == mujoco.mjtConstraint.mjCNSTR_FRICTION_TENDON
        for k, tendon in enumerate(self._tendons):
            rows = friction & (data.efc_id == tendon)
            damping = np.ravel(self._model.tendon_damping[tendon])[0]
            result[k] = data.efc_force[rows].sum() - damping * data.ten_velocity[tendon]
        return result
