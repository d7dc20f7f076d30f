"""Tip pose and Jacobian of one state, for control loops: Pinocchio on the serial chain, a hundred times as quick as a
batch of one."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from trocar.arms import Arm
from trocar.spatial import Array


class PinocchioChain:
    """The dVRK's serial chain of an arm with its tip, for q (n,)."""

    def __init__(self, arm: Arm) -> None:
        self.model = pin.Model()
        parent = 0
        for body in arm.serial:
            joint = pin.JointModelRZ() if body.kind == "revolute" else pin.JointModelPZ()
            parent = self.model.addJoint(parent, joint, se3(body.placement), body.name)
        self._tip = self.model.addFrame(pin.Frame("tip", parent, se3(arm.T_last_tip), pin.FrameType.OP_FRAME))
        self.data = self.model.createData()
        rows = [[body.coupling.get(name, 0.0) for name in arm.joint_names] for body in arm.serial]
        self._E = np.array(rows)
        self._E_tip = np.ascontiguousarray(self._E[:, : arm.tip_joints])

    def pose(self, q: Array) -> Array:
        """Tip pose (4, 4) in the base."""
        pin.forwardKinematics(self.model, self.data, self._E.dot(q))
        return np.array(pin.updateFramePlacement(self.model, self.data, self._tip).homogeneous)

    def jacobian(self, q: Array) -> Array:
        """(6, m) of the tip, velocity of its origin first, base axes."""
        axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        return pin.computeFrameJacobian(self.model, self.data, self._E.dot(q), self._tip, axes).dot(self._E_tip)


def se3(T: Array) -> pin.SE3:
    """Pinocchio's form of a pose (4, 4)."""
    return pin.SE3(T[:3, :3].copy(), T[:3, 3].copy())
