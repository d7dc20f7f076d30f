"""Sticking Coulomb friction, joint stops and contact: bounded forces, solved by projected Gauss-Seidel sweeps.

A force f along a coordinate a.q changes the velocity over a step of length dt by dt f M^-1 a'. Friction f = -phi with
|phi| <= F makes a.v zero, or is +/-F if that is not enough. A stop is the force that keeps the velocity of its joint
within bounds, and zero if the velocity is within them anyway:

    friction    phi+ = clip(phi + a.v / w, -F, F)                               w = dt a M^-1 a'
    stop        f+   = f + (clip(v_j - w f, least, most) - v_j) / w

for one coordinate after the other, each time with v+ = v + dt (f+ - f) M^-1 a': first all but the stops in reverse
order, then all. The forces of the previous step are the initial guess. For an arm at rest the initial guess is the
friction that balances its efforts, which is already the solution if the arm stays at rest: a load below Coulomb
friction moves nothing.

The tip touches a surface with an elastic, damped normal force. With the gap d, the normal n and the velocity v_n of the
tip along it, it is that of a spring and a damper at the end of the step and never pulls:

    f = max(0, -k (d + dt v_n) - c v_n)

Both are implicit, so any stiffness is stable. With v_n = free + w f, w = dt n'J M^-1 J'n, this is
f = max(0, (-k d - g free) / (1 + g w)), g = c + k dt. Friction acts along two tangents, each bounded by friction times
the normal force.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from trocar.batch.contact import Plane, TipSurface
from trocar.batch.equations import vector
from trocar.batch.equations.arm import ArmEquations, Row, TipKinematics, add_along, add_outer, along
from trocar.batch.equations.dynamics import Matrix
from trocar.batch.equations.vector import Vector
from trocar.laws.dahl import dahl_effort, dahl_state
from trocar.laws.graph import Node, absolute, exp2, maximum, minimum, outside, shortcuts, sign, sqrt, within
from trocar.spatial import Array

RESTING_SPEED = 1e-9  # velocities below this count as rest [rad/s, m/s]
RECOVERY = 0.1  # fraction of the distance by which a joint that was placed beyond its limit returns in each step
_PARALLEL = 1e-12
LOG2_E = math.log2(math.e)


class BoundedForce:
    """A force along a coordinate a.q, solved in the sweeps.

    Attributes:
        a: direction (n,), numbers or nodes. force: first that of the previous step, an input, then that of this step
    """

    def __init__(self, a: Row, force: Node) -> None:
        self.a, self.force = a, force

    def prepare(self, mobility: Matrix) -> None:
        """Change of velocity per unit force over a step, of all joints and along a; mobility: dt M^-1."""
        graph = self.force.graph
        self._push = [along(graph, self.a, row) for row in mobility]
        self._yield = along(graph, self.a, self._push)
        self._gain = 1.0 / self._yield

    def follows(self, v: Sequence[Node]) -> list[Node]:
        """Nodes other than itself that the force depends on: velocities along a."""
        return [x for c, x in zip(self.a, v, strict=True) if not x.graph.node(c).is_zero]

    def improved(self, v: list[Node]) -> list[Node]:
        """Set the force that the coordinate needs at velocities v, and return the velocities with it."""
        new = self._bounded_force(along(v[0].graph, self.a, v))
        change, self.force = new - self.force, new
        return [x + change * y for x, y in zip(v, self._push, strict=True)]

    def _bounded_force(self, rate: Node) -> Node:
        raise NotImplementedError


class Friction(BoundedForce):
    """Coulomb friction of at most `bound`; the force is that on the joints, -phi."""

    def __init__(self, a: Array, force: Node, bound: Node) -> None:
        super().__init__(a, force)
        self._bound, self._square = bound, float(a @ a)

    def _bounded_force(self, rate: Node) -> Node:
        return maximum(minimum(self.force - rate * self._gain, self._bound), -self._bound)

    def hold(self, effort: list[Node], resting: Node) -> None:
        """At rest, balance the efforts along a within the bound; `resting` is 1 at rest, else 0."""
        load = along(resting.graph, self.a, effort) * (1.0 / self._square)
        held = maximum(minimum(self.force - load, self._bound), -self._bound)
        change = resting * (held - self.force)
        self.force = self.force + change
        add_along(effort, change, self.a)


class Stop(BoundedForce):
    """The inelastic limits of one joint at position q: it may reach them within a step but not pass them."""

    def __init__(self, a: Array, force: Node, q: Node, limits: tuple[float, float], dt: Node) -> None:
        super().__init__(a, force)
        self.limits = limits
        below, above = limits[0] - q, limits[1] - q
        self._least = (minimum(below, 0.0) + RECOVERY * maximum(below, 0.0)) / dt
        self._most = (maximum(above, 0.0) + RECOVERY * minimum(above, 0.0)) / dt

    def _bounded_force(self, rate: Node) -> Node:
        free = rate - self.force * self._yield
        return self.force + (minimum(maximum(free, self._least), self._most) - rate) * self._gain


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


# -- friction of the drives --------------------------------------------------------------------------------------------


def coulomb_frictions(arm: ArmEquations, contacts: Sequence[BoundedForce], external: Sequence[Node]) -> list[Friction]:
    """Coulomb friction of all coordinates that have it; drives along the same one add up.

    contacts: with their forces of the previous step. external: efforts (n) of applied wrenches, or none.
    """
    rows: list[tuple[Array, Node]] = []
    for d, a in enumerate(arm.A):
        bound = _coulomb(arm, d, contacts, external)
        if bound.is_zero:
            continue
        for k, (b, others) in enumerate(rows):
            weight = float(a @ b / (b @ b))
            if np.abs(a - weight * b).max() < _PARALLEL:
                rows[k] = b, others + abs(weight) * bound
                break
        else:
            rows.append((a, bound))
    return [Friction(a, arm.graph.input(f"friction@{k}"), bound) for k, (a, bound) in enumerate(rows)]


def _coulomb(arm: ArmEquations, d: int, contacts: Sequence[BoundedForce], external: Sequence[Node]) -> Node:
    """Bound Fc + Fx s + mu |L (g - external)| of a drive, not below zero."""
    Fc, Fx, mu = (arm.parameter(term, d) for term in ("Fc", "Fx", "mu"))
    bound = Fc
    if not Fx.is_zero:
        # beyond the joint limits this may become negative
        bound = maximum(Fc + Fx * arm.along(arm.A[d], arm.q), 0.0)
    if not mu.is_zero:
        load = [g - t for g, t in zip(arm.g, external, strict=True)] if external else list(arm.g)
        for contact in contacts:
            add_along(load, -contact.force, contact.a)
        bound = bound + mu * absolute(arm.along(arm.tree.drives.L[d], load))
    return bound


def damping(arm: ArmEquations) -> Matrix:
    """Viscous friction (n, n) of all drives."""
    B = [[arm.graph.zero] * arm.n for _ in range(arm.n)]
    for d, row in enumerate(arm.A):
        add_outer(B, arm.parameter("Fv", d), row)
    return B


class DahlElements:
    """Friction with memory. The force is held over a step; the states then follow its displacement exactly.

    Attributes:
        z: (k) inputs, the states of the elements that have a force, in [-1, 1]. index: (k) in the mechanism's order.
    """

    def __init__(self, arm: ArmEquations) -> None:
        self._arm = arm
        drives, pattern = arm.tree.drives, arm.parameters.pattern
        self.index = [e for e in range(len(drives.dahl_drive)) if pattern["dahl_F"][e] or pattern["dahl_slope"][e]]
        self._rows = [arm.A[int(drives.dahl_drive[e])] for e in self.index]
        self.z = [arm.graph.input(f"z@{e}") for e in self.index]

    def subtract_effort(self, tau: list[Node]) -> None:
        """Subtract the friction efforts (F + slope s) z from tau."""
        arm = self._arm
        by_drive: dict[int, Node] = {}
        for e, row, z in zip(self.index, self._rows, self.z, strict=True):
            effort = dahl_effort(
                z, arm.along(row, arm.measured), arm.parameter("dahl_F", e), arm.parameter("dahl_slope", e)
            )
            drive = int(arm.tree.drives.dahl_drive[e])
            by_drive[drive] = by_drive.get(drive, arm.graph.zero) + effort
        for drive, effort in by_drive.items():
            add_along(tau, -effort, arm.A[drive])

    def moved(self, path: Sequence[Node]) -> list[Node]:
        """States after the joints moved by `path` (n); GPUs have the exponential of base 2 in hardware."""
        arm = self._arm
        return [
            dahl_state(z, arm.along(row, path), -LOG2_E / arm.parameter("dahl_delta", e), exp2)
            for e, row, z in zip(self.index, self._rows, self.z, strict=True)
        ]


# -- contact -----------------------------------------------------------------------------------------------------------


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
    return _parameter(arm, k, name, "0"), _parameter(arm, k, name, "1"), _parameter(arm, k, name, "2")


# -- solution ----------------------------------------------------------------------------------------------------------


def swept(forces: Sequence[BoundedForce], v: Sequence[Node], mobility: Matrix) -> list[Node]:
    """Velocities after the sweeps of the forces; v already includes the forces of the previous step.

    A force is skipped if nothing that it depends on has changed since it was last set.
    """
    for force in forces:
        force.prepare(mobility)
    velocity = list(v)
    settled: dict[BoundedForce, list[Node]] = {}
    for force in (*reversed(forces), *forces):
        if settled.get(force) != force.follows(velocity):
            velocity = force.improved(velocity)
            settled[force] = force.follows(velocity)
    return velocity


def stopped(
    stops: Sequence[Stop], q: Sequence[Node], v: Sequence[Node], mobility: Matrix, dt: Node
) -> tuple[list[Node], list[Node], list[Node]]:
    """Velocities with the forces of the stops, the path of the joints over the step, and their positions after it.

    No stop acts if none acted in the previous step and all joints stay within their limits without it.
    """
    path = [dt * x for x in v]
    reached = [x + d for x, d in zip(q, path, strict=True)]
    if not stops:
        return list(v), path, reached
    acting = outside(
        [(x, *stop.limits) for x, stop in zip(reached, stops, strict=True)] + [(stop.force, 0.0, 0.0) for stop in stops]
    )
    velocity = list(v)
    for stop in stops:
        stop.prepare(mobility)
        velocity = stop.improved(velocity)
    moved = [dt * x for x in velocity]
    full = [*velocity, *moved, *(x + d for x, d in zip(q, moved, strict=True)), *(stop.force for stop in stops)]
    n = len(v)
    results = shortcuts(acting, full, [*v, *path, *reached, *(v[0].graph.zero for _ in stops)])
    for stop, force in zip(stops, results[3 * n :], strict=True):
        stop.force = force
    return results[:n], results[n : 2 * n], results[2 * n : 3 * n]


def hold_at_rest(holding: Sequence[Friction], effort: list[Node], v: Sequence[Node]) -> None:
    """For an arm at rest, start with the friction that balances its efforts, which include the current forces."""
    fastest = absolute(v[0])
    for x in v[1:]:
        fastest = maximum(fastest, absolute(x))
    resting = maximum(sign(RESTING_SPEED - fastest), 0.0)
    short = [*effort, *(force.force for force in holding)]
    for force in holding:
        force.hold(effort, resting)
    full = [*effort, *(force.force for force in holding)]
    results = shortcuts(within([(x, -RESTING_SPEED, RESTING_SPEED) for x in v]), full, short)
    effort[:] = results[: len(effort)]
    for force, result in zip(holding, results[len(effort) :], strict=True):
        force.force = result
