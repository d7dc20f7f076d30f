"""Contact of the tip with surfaces: an elastic, damped normal force and Coulomb friction that sticks.

With the gap d, the normal n and the velocity v_n of the tip along it, the normal force is that of a spring and a damper
at the end of the step and never pulls:

    f = max(0, -k (d + dt v_n) - c v_n)

Both are implicit, so any stiffness is stable. With v_n = free + w f, w = dt n'J M^-1 J'n, this is
f = max(0, (-k d - g free) / (1 + g w)), g = c + k dt. Friction acts along two tangents, each bounded by friction times
the normal force.
"""

from __future__ import annotations

from collections.abc import Sequence

from trocar.batch.contact import Plane, TipSurface
from trocar.batch.equations import vector
from trocar.batch.equations.arm import ArmEquations
from trocar.batch.equations.impulses import BoundedForce
from trocar.batch.equations.tip import TipKinematics
from trocar.batch.equations.vector import Vector
from trocar.batch.graph import Node, maximum, minimum, sign, sqrt


class Normal(BoundedForce):
    """The normal force of one contact."""

    def __init__(self, a: Sequence[Node], force: Node, gap: Node, stiffness: Node, damping: Node, dt: Node) -> None:
        super().__init__(a, force)
        # no force at a distance: without contact the spring is unloaded
        self._spring, self._resistance = stiffness * gap, damping + stiffness * dt

    def _bounded_force(self, rate: Node) -> Node:
        free = rate - self.force * self._yield
        return maximum(-(self._spring + self._resistance * free), 0.0) / (1.0 + self._resistance * self._yield)


class Tangential(BoundedForce):
    """Friction of one contact along one tangent."""

    def __init__(self, a: Sequence[Node], force: Node, normal: Normal, friction: Node) -> None:
        super().__init__(a, force)
        self._normal, self._friction = normal, friction

    def follows(self, v: Sequence[Node]) -> list[Node]:
        return [*super().follows(v), self._normal.force]

    def _bounded_force(self, rate: Node) -> Node:
        bound = self._friction * self._normal.force
        return maximum(minimum(self.force - rate * self._gain, bound), -bound)


def contact_forces(arm: ArmEquations, surfaces: Sequence[TipSurface], dt: Node) -> list[BoundedForce]:
    """Normal force and two tangential forces of each surface."""
    if not surfaces:
        return []
    tip = TipKinematics(arm)
    J = tip.jacobian()[:3]
    zeros = [arm.graph.zero] * (arm.n - len(J[0]))
    forces: list[BoundedForce] = []
    for k, surface in enumerate(surfaces):
        gap, n = _gap(arm, k, surface, tip.position)
        rows = [[vector.dot(axis, column) for column in zip(*J, strict=True)] + zeros for axis in (n, *_tangents(n))]
        inputs = [arm.graph.input(f"contact{k}@{i}") for i in range(3)]
        stiffness, damping, friction = (_parameter(arm, k, name) for name in ("stiffness", "damping", "friction"))
        normal = Normal(rows[0], inputs[0], gap, stiffness, damping, dt)
        forces += [normal, *(Tangential(rows[i], inputs[i], normal, friction) for i in (1, 2))]
    return forces


def _gap(arm: ArmEquations, k: int, surface: TipSurface, p: Vector) -> tuple[Node, Vector]:
    """Distance of the tip from a surface, negative inside [m], and the normal there."""
    if isinstance(surface, Plane):
        n = _vector(arm, k, "normal")
        return vector.dot(n, p) - _parameter(arm, k, "offset"), n
    centre = _vector(arm, k, "centre")
    out = p[0] - centre[0], p[1] - centre[1], p[2] - centre[2]
    distance = sqrt(vector.dot(out, out) + 1e-24)  # the normal at the centre is zero, not infinite
    return distance - _parameter(arm, k, "radius"), vector.scale(1.0 / distance, out)


def _tangents(n: Vector) -> tuple[Vector, Vector]:
    """Two unit vectors that form a right-handed frame with a unit vector, without branches."""
    x, y, z = n
    s = 1.0 - 2.0 * maximum(sign(-z), 0.0)  # the sign of z, 1 at zero
    a = -1.0 / (s + z)
    b = x * y * a
    return (1.0 + s * (x * x * a), s * b, -(s * x)), (b, s + y * y * a, -y)


def _parameter(arm: ArmEquations, k: int, name: str, index: str = "") -> Node:
    return arm.graph.input(f"contact{k}.{name}@{index}", fixed=True)


def _vector(arm: ArmEquations, k: int, name: str) -> Vector:
    x, y, z = (_parameter(arm, k, name, str(i)) for i in range(3))
    return x, y, z
