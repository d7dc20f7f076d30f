"""Orientation groups: bodies that always share an orientation, up to a constant rotation.

The axes of a group follow from those of its parent by R_group = R_parent C Rz(angle), with C constant and the angle a
linear form of q. Angles about parallel axes add up, so the bars of a parallelogram, which turn by +q2 and -q2, belong
to one group, or to that of their parent, exactly. The PSM's thirteen bodies have two rotating groups before the wrist.
All bodies of a group share their angular velocity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trocar.batch.equations import vector
from trocar.batch.equations.vector import Symmetric, Vector, cleaned
from trocar.laws.graph import Graph, Node, cos, sin, total
from trocar.mechanics.tree_arrays import TreeArrays
from trocar.spatial import Array

Form = tuple[tuple[int, float], ...]  # linear form of q: (joint, coefficient) of each term
_SAME = 1e-12


@dataclass(frozen=True)
class Group:
    """Axes that turn by `angle` about z, after the constant rotation C from the axes of the parent group."""

    parent: int
    C: Array
    angle: Form


@dataclass(frozen=True)
class GroupedBody:
    """A body of the tree within its group.

    Attributes:
        index: in the tree. parent: index in the tree, -1 for the base. revolute: rotates about its axis; otherwise
            slides along it.
        group: index. R: (3, 3) constant, axes of the body in axes of the group. coupling: q_tree as a form of q.
        parent_group: group of the parent. offset: (3,) origin in the parent, at zero, in axes of parent_group [m].
    """

    index: int
    parent: int
    revolute: bool
    group: int
    R: Array
    coupling: Form
    parent_group: int
    offset: Array

    @property
    def axis(self) -> Array:
        """Joint axis in axes of the group."""
        return np.asarray(self.R[:, 2])


class Orientations:
    """Groups of a tree, with the base as group 0, and their bodies, parents first.

    Args:
        bodies: indices of the required bodies, with all their ancestors.
    """

    def __init__(self, tree: TreeArrays, bodies: Sequence[int]) -> None:
        self.groups = [Group(-1, np.eye(3), ())]
        self.bodies: dict[int, GroupedBody] = {}
        for i in sorted(bodies):
            parent = int(tree.parents[i])
            group, R = (0, np.eye(3)) if parent < 0 else (self.bodies[parent].group, self.bodies[parent].R)
            placement = cleaned(tree.T_parent_joint[i])
            coupling = _form({j: float(c) for j, c in enumerate(tree.E[i])})
            offset = cleaned(R @ placement[:3, 3])
            C = cleaned(R @ placement[:3, :3])
            own, own_R = self._turned(group, C, coupling) if tree.revolute[i] else (group, C)
            self.bodies[i] = GroupedBody(i, parent, bool(tree.revolute[i]), own, own_R, coupling, group, offset)

    def path(self, group: int) -> list[int]:
        """The group and its parents, up to the base."""
        groups = [group]
        while groups[-1]:
            groups.append(self.groups[groups[-1]].parent)
        return groups

    def _turned(self, parent: int, C: Array, turn: Form) -> tuple[int, Array]:
        """Group of a body that turns from axes C of the parent group, and the body's rotation in it."""
        group, along = self.groups[parent], C[2, 2]
        if parent and abs(abs(along) - 1.0) < _SAME:
            # about the axis that turns the parent group: Rz(angle) C Rz(turn) = Rz(angle +/- turn) C
            angle = dict(group.angle)
            for j, c in turn:
                angle[j] = angle.get(j, 0.0) + float(np.sign(along)) * c
            summed = _form(angle)
            return (self._index(group.parent, group.C, summed), C) if summed else (group.parent, cleaned(group.C @ C))
        # C Rz(turn) = K Rz(+/- turn) K'C with axes K that depend on the axis alone: one group for all turns about it
        K = _axes(C[:, 2])
        rest = cleaned(K.T @ C)
        return self._index(parent, K, tuple((j, float(rest[2, 2]) * c) for j, c in turn)), rest

    def _index(self, parent: int, C: Array, angle: Form) -> int:
        for index, group in enumerate(self.groups):
            if index and group.parent == parent and group.angle == angle and np.allclose(group.C, C, atol=_SAME):
                return index
        self.groups.append(Group(parent, C, angle))
        return len(self.groups) - 1


class Frames:
    """The groups at symbolic joint positions: converts vectors and inertias between the axes of groups."""

    def __init__(self, graph: Graph, orientations: Orientations, q: Sequence[Node]) -> None:
        self.graph, self.orientations, self.q = graph, orientations, q
        angles = [form(graph, group.angle, q) for group in orientations.groups]
        self._turns = [(cos(angle), sin(angle)) for angle in angles]

    def offset(self, body: GroupedBody) -> Vector:
        """Origin of a body from that of its parent, in axes of the parent's group [m]."""
        r = vector.constant(self.graph, body.offset)
        if body.revolute:
            return r
        return vector.add(r, vector.scale(form(self.graph, body.coupling, self.q), self.axis(body)))

    def axis(self, body: GroupedBody) -> Vector:
        """Joint axis of a body in axes of its group."""
        return vector.constant(self.graph, body.axis)

    def inward(self, group: int, v: Vector) -> Vector:
        """Convert from the axes of a group's parent to those of the group."""
        u = vector.product(self.orientations.groups[group].C.T, v)
        c, s = self._turns[group]
        return c * u[0] + s * u[1], c * u[1] - s * u[0], u[2]

    def outward(self, group: int, v: Vector) -> Vector:
        """Convert from the axes of a group to those of its parent."""
        c, s = self._turns[group]
        return vector.product(self.orientations.groups[group].C, (c * v[0] - s * v[1], s * v[0] + c * v[1], v[2]))

    def converted(self, v: Vector, source: int, target: int) -> Vector:
        """Convert a vector from the axes of one group to those of another."""
        out, into = self._route(source, target)
        for group in out:
            v = self.outward(group, v)
        for group in into:
            v = self.inward(group, v)
        return v

    def converted_symmetric(self, S: Symmetric, source: int, target: int) -> Symmetric:
        """Convert a symmetric matrix from the axes of one group to those of another."""
        out, into = self._route(source, target)
        for group in out:
            S = vector.turned_about_z(*self._turns[group], S)
            S = vector.turned_constant(self.orientations.groups[group].C, S)
        for group in into:
            S = vector.turned_constant(self.orientations.groups[group].C.T, S)
            c, s = self._turns[group]
            S = vector.turned_about_z(c, -s, S)
        return S

    def _route(self, source: int, target: int) -> tuple[list[int], list[int]]:
        """Groups to leave, from the source on, and to enter, up to the target."""
        out, into = self.orientations.path(source), self.orientations.path(target)
        while out and into and out[-1] == into[-1]:
            out.pop()
            into.pop()
        return out, into[::-1]


def _axes(axis: Array) -> Array:
    """A rotation with z along an axis, in either direction; a permutation of the parent's axes if possible.

    Permutations have exact zeros, which fold.
    """
    k = int(np.argmax(np.abs(axis)))
    z = axis * np.sign(axis[k])
    x = np.cross(np.eye(3)[(k + 2) % 3], z)
    x /= np.linalg.norm(x)
    return cleaned(np.column_stack([x, np.cross(z, x), z]))


def form(graph: Graph, terms: Form, x: Sequence[Node]) -> Node:
    """The value of a linear form."""
    return total(graph, (c * x[j] for j, c in terms))


def _form(terms: dict[int, float]) -> Form:
    return tuple(sorted((j, c) for j, c in terms.items() if abs(c) > _SAME))
