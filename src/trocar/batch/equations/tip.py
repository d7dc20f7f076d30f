"""Pose and Jacobian of the tip in the base frame."""

from __future__ import annotations

from trocar.batch.equations import vector
from trocar.batch.equations.arm import ArmEquations, carriers
from trocar.batch.equations.orientation import Frames, Orientations
from trocar.batch.equations.vector import Vector, cleaned
from trocar.batch.graph import Node


class TipKinematics:
    """The bodies that carry the tip, at the arm's joints.

    Attributes:
        position: position of the tip in base axes [m]. axes: x, y and z of the tip frame in base axes.
    """

    def __init__(self, arm: ArmEquations) -> None:
        graph, tree = arm.graph, arm.tree
        self._arm = arm
        chain = carriers(tree, [tree.tip_body])
        self._frames = Frames(graph, Orientations(tree, chain), arm.q)
        self._bodies = [self._frames.orientations.bodies[i] for i in chain]
        origin = vector.zero(graph)
        self._origins: list[Vector] = []
        for body in self._bodies:
            origin = vector.add(origin, self._frames.converted(self._frames.offset(body), body.parent_group, 0))
            self._origins.append(origin)
        last, T = self._bodies[-1], cleaned(tree.T_body_tip)
        R = cleaned(last.R @ T[:3, :3])
        reach = vector.constant(graph, cleaned(last.R @ T[:3, 3]))
        self.position = vector.add(origin, self._frames.converted(reach, last.group, 0))
        self.axes = [self._frames.converted(vector.constant(graph, R[:, k]), last.group, 0) for k in range(3)]

    def jacobian(self) -> list[list[Node]]:
        """Rows (6) of columns (m): twist of the tip, linear first, per rate of the joints that move it."""
        graph, joints = self._arm.graph, self._arm.tree.tip_joints
        J = [[graph.zero] * joints for _ in range(6)]
        for body, origin in zip(self._bodies, self._origins, strict=True):
            axis = self._frames.converted(self._frames.axis(body), body.group, 0)
            arm = vector.add(self.position, (-origin[0], -origin[1], -origin[2]))
            linear = vector.cross(axis, arm) if body.revolute else axis
            angular = axis if body.revolute else vector.zero(graph)
            for j, c in body.coupling:
                if j < joints:
                    for k, x in enumerate((*linear, *angular)):
                        J[k][j] = J[k][j] + c * x
        return J


def tip_pose(arm: ArmEquations) -> list[Node]:
    """Rows of the upper (3, 4) of the pose, one after the other."""
    tip = TipKinematics(arm)
    return [entry for k in range(3) for entry in (*(axis[k] for axis in tip.axes), tip.position[k])]


def tip_jacobian(arm: ArmEquations) -> list[list[Node]]:
    """Jacobian of the tip, see `TipKinematics.jacobian`."""
    return TipKinematics(arm).jacobian()
