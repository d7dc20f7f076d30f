"""Equations of motion of the links, M(q) ddq + b(q, dq) = tau, over orientation groups.

For a body with origin acceleration a, and omega and alpha of its group, a point r of the body has the acceleration
a + B r with B = [alpha] + [omega]^2 ([.] the cross-product matrix). With mass m, first moment h = m c and inertia L
about its origin, it needs

    force   m a + B h                 moment about its origin   h x a + L alpha + omega x L omega

The last two terms depend only on the group, so the L of all bodies in a group are summed first and act as one couple,
whose effort is its component along the axes of the groups' angles. Forces are summed from the tips to the base; the
effort of a joint is the component along its axis, and tau = E' tau_tree.

M is computed from composite bodies: for each joint, the inertia of all bodies it carries gives the force and moment of
a unit acceleration, which are projected on the axes of the joints before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trocar.batch.equations import vector
from trocar.batch.equations.orientation import Frames, GroupedBody, form
from trocar.batch.equations.vector import Symmetric, Vector
from trocar.laws.graph import Node, total

Matrix = list[list[Node]]


@dataclass(frozen=True)
class BodyInertia:
    """Mass [kg], first moment [kg m] and inertia about the body's origin [kg m^2], in axes of its group."""

    mass: Node
    h: Vector
    L: Symmetric

    def __add__(self, other: BodyInertia) -> BodyInertia:
        return BodyInertia(self.mass + other.mass, vector.add(self.h, other.h), vector.add_symmetric(self.L, other.L))


Inertias = Mapping[int, BodyInertia]


def bias(frames: Frames, inertias: Inertias, dq: Sequence[Node], gravity: Vector) -> list[Node]:
    """b (n): velocity and gravity efforts at zero acceleration [N m, N]; gravity in base axes [m/s^2]."""
    graph, bodies = frames.graph, frames.orientations.bodies
    omega, alpha = _rates(frames, dq)
    B = [_point_acceleration(w, d) for w, d in zip(omega, alpha, strict=True)]
    acceleration: dict[int, Vector] = {-1: (-gravity[0], -gravity[1], -gravity[2])}
    for i, body in bodies.items():
        at = body.parent_group
        a = vector.add(acceleration[body.parent], _matrix_product(B[at], frames.offset(body)))
        if not body.revolute:
            sliding = 2.0 * form(graph, body.coupling, dq)
            a = vector.add(a, vector.scale(sliding, vector.cross(omega[at], frames.axis(body))))
        acceleration[i] = frames.converted(a, at, body.group)

    force: dict[int, Vector] = {}
    moment: dict[int, Vector] = {}
    lumped = {
        group: [inertias[i].L for i, b in bodies.items() if b.group == group and i in inertias]
        for group in range(len(B))
    }
    for i, body in bodies.items():
        force[i] = moment[i] = vector.zero(graph)
        if i in inertias:
            own, a = inertias[i], acceleration[i]
            force[i] = vector.add(vector.scale(own.mass, a), _matrix_product(B[body.group], own.h))
            moment[i] = vector.cross(own.h, a)
    tau = _couples(frames, lumped, omega, alpha, len(dq))
    for i, body in reversed(bodies.items()):
        effort = vector.dot(frames.axis(body), moment[i] if body.revolute else force[i])
        for j, c in body.coupling:
            tau[j] = tau[j] + c * effort
        if body.parent >= 0:
            f = frames.converted(force[i], body.group, body.parent_group)
            n = frames.converted(moment[i], body.group, body.parent_group)
            n = vector.add(n, vector.cross(frames.offset(body), f))
            force[body.parent] = vector.add(force[body.parent], f)
            moment[body.parent] = vector.add(moment[body.parent], n)
    return tau


def _rates(frames: Frames, dq: Sequence[Node]) -> tuple[list[Vector], list[Vector]]:
    """Angular velocity of each group and its angular acceleration at zero ddq, in group axes."""
    graph = frames.graph
    omega, alpha = [vector.zero(graph)], [vector.zero(graph)]
    for index, group in enumerate(frames.orientations.groups[1:], start=1):
        w, d = frames.inward(index, omega[group.parent]), frames.inward(index, alpha[group.parent])
        rate = form(graph, group.angle, dq)
        omega.append((w[0], w[1], w[2] + rate))
        alpha.append((d[0] + w[1] * rate, d[1] - w[0] * rate, d[2]))
    return omega, alpha


def _point_acceleration(w: Vector, d: Vector) -> Matrix:
    """B = [alpha] + [omega]^2."""
    xx, yy, zz, xy, xz, yz = w[0] * w[0], w[1] * w[1], w[2] * w[2], w[0] * w[1], w[0] * w[2], w[1] * w[2]
    return [
        [-(yy + zz), xy - d[2], xz + d[1]],
        [xy + d[2], -(xx + zz), yz - d[0]],
        [xz - d[1], yz + d[0], -(xx + yy)],
    ]


def _matrix_product(B: Matrix, v: Vector) -> Vector:
    x, y, z = (vector.dot((row[0], row[1], row[2]), v) for row in B)
    return x, y, z


def _couples(
    frames: Frames, lumped: Mapping[int, Sequence[Symmetric]], omega: Sequence[Vector], alpha: Sequence[Vector], n: int
) -> list[Node]:
    """Efforts (n) of the couples L alpha + omega x L omega of all groups."""
    graph, groups = frames.graph, frames.orientations.groups
    couple = [vector.zero(graph) for _ in groups]
    tau = [graph.zero] * n
    for index in reversed(range(1, len(groups))):
        if lumped[index]:
            L = lumped[index][0]
            for other in lumped[index][1:]:
                L = vector.add_symmetric(L, other)
            w = omega[index]
            own = vector.add(vector.symmetric_product(L, alpha[index]), vector.cross(w, vector.symmetric_product(L, w)))
            couple[index] = vector.add(couple[index], own)
        for j, c in groups[index].angle:
            tau[j] = tau[j] + c * couple[index][2]
        parent = groups[index].parent
        couple[parent] = vector.add(couple[parent], frames.outward(index, couple[index]))
    return tau


def mass_matrix(frames: Frames, inertias: Inertias, n: int) -> Matrix:
    """M (n, n) of the links, symmetric."""
    graph, bodies = frames.graph, frames.orientations.bodies
    M = [[graph.zero] * n for _ in range(n)]
    nothing = BodyInertia(graph.zero, vector.zero(graph), (graph.zero,) * 6)
    composite = {i: inertias.get(i, nothing) for i in bodies}
    for i, body in reversed(bodies.items()):
        own, axis = composite[i], frames.axis(body)
        if body.revolute:
            force, moment = vector.cross(axis, own.h), vector.symmetric_product(own.L, axis)
        else:
            force, moment = vector.scale(own.mass, axis), vector.cross(own.h, axis)
        _project(frames, M, body, force, moment)
        if body.parent >= 0:
            h = frames.converted(own.h, body.group, body.parent_group)
            L = frames.converted_symmetric(own.L, body.group, body.parent_group)
            moved = BodyInertia(own.mass, *vector.shifted(own.mass, h, L, frames.offset(body)))
            composite[body.parent] = composite[body.parent] + moved
    return M


def _project(frames: Frames, M: Matrix, body: GroupedBody, force: Vector, moment: Vector) -> None:
    """Add the efforts at the joint of a body and at all joints before it, per unit acceleration of that joint."""
    at = body
    while True:
        effort = vector.dot(frames.axis(at), moment if at.revolute else force)
        for j, c in body.coupling:
            for k, d in at.coupling:
                M[j][k] = M[j][k] + (c * d) * effort
                if at is not body:
                    M[k][j] = M[k][j] + (c * d) * effort
        if at.parent < 0:
            return
        force = frames.converted(force, at.group, at.parent_group)
        moment = frames.converted(moment, at.group, at.parent_group)
        moment = vector.add(moment, vector.cross(frames.offset(at), force))
        at = frames.orientations.bodies[at.parent]


class Factor:
    """M = L' D L of a symmetric positive definite matrix, unrolled, eliminated from the tips to the base.

    Zeros cost nothing: entries of L between independent branches of the tree are zero and remain so in this order.
    """

    def __init__(self, M: Matrix) -> None:
        n, graph = len(M), M[0][0].graph
        A = [list(row) for row in M]
        self._L: Matrix = [[graph.zero] * n for _ in range(n)]
        self._inverse_D: list[Node] = [graph.zero] * n
        for k in reversed(range(n)):
            self._inverse_D[k] = 1.0 / A[k][k]
            for i in range(k):
                self._L[k][i] = A[k][i] * self._inverse_D[k]
                for j in range(i + 1):
                    A[i][j] = A[i][j] - self._L[k][i] * A[k][j]

    def solved(self, b: Sequence[Node]) -> list[Node]:
        """x with M x = b."""
        n, L, x = len(b), self._L, list(b)
        for k in reversed(range(n)):
            for i in range(k):
                x[i] = x[i] - L[k][i] * x[k]
        x = [x[k] * self._inverse_D[k] for k in range(n)]
        for k in range(n):
            for i in range(k):
                x[k] = x[k] - L[k][i] * x[i]
        return x

    def inverse(self, scale: Node) -> Matrix:
        """scale M^-1, symmetric: equal entries are one node. Cheaper than n solutions."""
        n, graph = len(self._L), scale.graph
        N = [[graph.constant(float(i == j)) for j in range(n)] for i in range(n)]  # L^-1
        for i in range(n):
            for j in range(i):
                N[i][j] = -total(graph, (self._L[i][k] * N[k][j] for k in range(j, i)))
        scaled = [[x * (scale * d) for x, d in zip(row, self._inverse_D, strict=True)] for row in N]
        columns = [[graph.zero] * n for _ in range(n)]
        for i in range(n):
            for j in range(i + 1):
                columns[i][j] = columns[j][i] = total(graph, (N[i][k] * scaled[j][k] for k in range(j + 1)))
        return columns
