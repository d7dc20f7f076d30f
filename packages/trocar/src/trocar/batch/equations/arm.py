"""The equations of one arm as a graph: mass matrix, bias and gravity with rotors, springs and cables; its tip."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from trocar.batch.equations import vector
from trocar.batch.equations.dynamics import BodyInertia, Matrix, bias, mass_matrix
from trocar.batch.equations.orientation import Frames, GroupedBody, Orientations
from trocar.batch.equations.simplification import shortest
from trocar.batch.equations.vector import UPPER, Symmetric, Vector, cleaned
from trocar.batch.parameters import BatchParameters
from trocar.laws.cables import cable_torque
from trocar.laws.graph import Graph, Node, cos, sin, sqrt, total
from trocar.mechanics.tree_arrays import TreeArrays
from trocar.spatial import Array


class ArmEquations:
    """M(q) ddq + b(q, dq) = tau of an arm without friction, in nodes of one graph.

    Args:
        tree: the mechanism as arrays; geometry and transmission become constants. parameters: become inputs.
        graph: graph that already has the inputs q and dq. Default: a new one.
        q: other positions than the inputs.

    Attributes:
        q, dq: inputs (n). measured: (n) positions at the encoders, q unless a part of the arm replaces them.
        A: (m, n), drive positions s = A q.
    """

    def __init__(
        self,
        tree: TreeArrays,
        parameters: BatchParameters,
        graph: Graph | None = None,
        q: Sequence[Node] | None = None,
    ) -> None:
        self.tree, self.parameters = tree, parameters
        self.graph = Graph() if graph is None else graph
        self.n = len(tree.joints)
        self.A = cleaned(tree.drives.A)
        self.q, self.dq = self.inputs("q") if q is None else list(q), self.inputs("dq")
        self.measured = list(self.q)

    def inputs(self, name: str, fixed: bool = False) -> list[Node]:
        """One input per joint."""
        return [self.graph.input(f"{name}@{j}", fixed) for j in range(self.n)]

    def parameter(self, name: str, *index: int) -> Node:
        return self.parameters.node(self.graph, name, *index)

    def along(self, row: Array, x: Sequence[Node]) -> Node:
        """row . x."""
        return along(self.graph, row, x)

    # -- motion ------------------------------------------------------------------------------------------------------

    @cached_property
    def M(self) -> Matrix:
        """Mass matrix (n, n), including rotors."""
        M = mass_matrix(self.frames, self._inertias, self.n)
        for d, row in enumerate(self.A):
            add_outer(M, self.parameter("Im", d), row)
        lower = shortest([M[i][j] for i in range(self.n) for j in range(i + 1)])
        return [[lower[max(i, j) * (max(i, j) + 1) // 2 + min(i, j)] for j in range(self.n)] for i in range(self.n)]

    @cached_property
    def b(self) -> list[Node]:
        """Coriolis, centrifugal and potential efforts (n)."""
        return shortest(self._with_potentials(bias(self.frames, self._inertias, self.dq, self._gravity)))

    @cached_property
    def g(self) -> list[Node]:
        """Potential efforts (n) only."""
        at_rest = [self.graph.zero] * self.n
        return shortest(self._with_potentials(bias(self.frames, self._inertias, at_rest, self._gravity)))

    @cached_property
    def frames(self) -> Frames:
        massive = [i for i in range(len(self.tree.names)) if self.parameters.pattern["mass"][i]]
        if self.parameters.pattern["payload"]:
            massive.append(self.tree.tip_body)
        return Frames(self.graph, Orientations(self.tree, carriers(self.tree, massive)), self.q)

    @property
    def _gravity(self) -> Vector:
        return self.parameter("gravity", 0), self.parameter("gravity", 1), self.parameter("gravity", 2)

    @cached_property
    def _inertias(self) -> dict[int, BodyInertia]:
        inertias = {
            i: _about_origin(body, self.parameter("mass", i), self._vector("com", i), self._tensor(i))
            for i, body in self.frames.orientations.bodies.items()
            if self.parameters.pattern["mass"][i]
        }
        if self.parameters.pattern["payload"]:
            tip = self.tree.tip_body
            body, T = self.frames.orientations.bodies[tip], cleaned(self.tree.T_body_tip)
            payload_com = self._vector("payload_com")
            com = vector.add(vector.product(T[:3, :3], payload_com), vector.constant(self.graph, T[:3, 3]))
            nothing: Symmetric = (self.graph.zero,) * 6
            load = _about_origin(body, self.parameter("payload"), com, nothing)
            inertias[tip] = inertias[tip] + load if tip in inertias else load
        return inertias

    def _tensor(self, body: int) -> Symmetric:
        xx, xy, xz, yy, yz, zz = (self.parameter("inertia", body, *entry) for entry in UPPER)
        return xx, xy, xz, yy, yz, zz

    def _vector(self, name: str, *index: int) -> Vector:
        x, y, z = (self.parameter(name, *index, k) for k in range(3))
        return x, y, z

    # -- potentials --------------------------------------------------------------------------------------------------

    def add_drive_potentials(self, tau: list[Node]) -> None:
        """Add constant forces and stiffnesses of the drives, at the encoders."""
        for d, row in enumerate(self.A):
            s = self.along(row, self.measured)
            K0, K, K2 = (self.parameter(term, d) for term in ("K0", "K", "K2"))
            effort = K0 + K * s + K2 * (s * s)
            add_along(tau, effort, row)

    def _with_potentials(self, tau: list[Node]) -> list[Node]:
        """Add the efforts of the other potentials: constant forces, stiffnesses, lever springs and cables."""
        q, tau = self.q, list(tau)
        self.add_drive_potentials(tau)
        springs, cables = self.tree.springs, self.tree.cables
        columns = springs.stiffness, springs.r, springs.h, springs.rest, springs.offset
        for j, (k, r, h, rest, offset) in zip(springs.joint, np.transpose(columns).tolist(), strict=True):
            angle = (np.pi + offset) - q[j]
            length = sqrt((r * r + h * h) - (2.0 * r * h) * cos(angle))
            tau[j] = tau[j] - (k * r * h) * (length - rest) * sin(angle) / length
        for c, j in enumerate(cables.joint):
            numbers = cables.lower[c], cables.upper[c], *cables.coefficients[c]
            lower, upper, *coefficients = (self.graph.constant(float(x)) for x in numbers)
            tau[j] = tau[j] + cable_torque(q[j], lower, upper, coefficients)
        return tau


Row = Array | Sequence[Node]  # weights of the joints in a coordinate: numbers or nodes


def along(graph: Graph, row: Row, x: Sequence[Node]) -> Node:
    """row . x."""
    return total(graph, (graph.node(c) * v for c, v in zip(row, x, strict=True)))


def add_along(tau: list[Node], effort: Node, row: Row) -> None:
    """Add row' effort to tau."""
    for j, c in enumerate(row):
        tau[j] = tau[j] + effort.graph.node(c) * effort


def add_outer(M: Matrix, factor: Node, row: Array) -> None:
    """Add factor row' row to M."""
    for i in np.flatnonzero(row):
        for j in np.flatnonzero(row):
            M[i][j] = M[i][j] + float(row[i] * row[j]) * factor


def carriers(tree: TreeArrays, bodies: Sequence[int]) -> list[int]:
    """The bodies and all their ancestors."""
    carrying = set()
    for body in bodies:
        while body >= 0:
            carrying.add(int(body))
            body = int(tree.parents[body])
    return sorted(carrying)


def _about_origin(body: GroupedBody, mass: Node, com: Vector, I: Symmetric) -> BodyInertia:
    """Inertia about the body's origin in axes of its group, from that about the centre of mass in axes of the body."""
    c = vector.product(body.R, com)
    h, L = vector.shifted(mass, vector.zero(mass.graph), vector.turned_constant(body.R, I), c)
    return BodyInertia(mass, h, L)


# -- tip ---------------------------------------------------------------------------------------------------------------


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

    def pose(self) -> list[Node]:
        """Rows of the upper (3, 4) of the pose, one after the other."""
        return [entry for k in range(3) for entry in (*(axis[k] for axis in self.axes), self.position[k])]
