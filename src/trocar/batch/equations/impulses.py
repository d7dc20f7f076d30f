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
"""

from __future__ import annotations

from collections.abc import Sequence

from trocar.batch.equations.arm import Row, add_along, along
from trocar.batch.equations.dynamics import Matrix
from trocar.batch.equations.limits import velocity_bounds
from trocar.batch.graph import Node, absolute, maximum, minimum, outside, shortcuts, sign, within
from trocar.spatial import Array

RESTING_SPEED = 1e-9  # velocities below this count as rest [rad/s, m/s]


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
        """Nodes that the force depends on, besides itself: velocities along a."""
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
    """The limits of one joint at position q."""

    def __init__(self, a: Array, force: Node, q: Node, limits: tuple[float, float], dt: Node) -> None:
        super().__init__(a, force)
        self.limits = limits
        self._least, self._most = velocity_bounds(q, *limits, dt)

    def _bounded_force(self, rate: Node) -> Node:
        free = rate - self.force * self._yield
        return self.force + (minimum(maximum(free, self._least), self._most) - rate) * self._gain


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


def hold_at_rest(forces: Sequence[BoundedForce], effort: list[Node], v: Sequence[Node]) -> None:
    """For an arm at rest, start with the friction that balances its efforts, which include the current forces."""
    fastest = absolute(v[0])
    for x in v[1:]:
        fastest = maximum(fastest, absolute(x))
    resting = maximum(sign(RESTING_SPEED - fastest), 0.0)
    holding = [force for force in forces if isinstance(force, Friction)]
    short = [*effort, *(force.force for force in holding)]
    for force in holding:
        force.hold(effort, resting)
    full = [*effort, *(force.force for force in holding)]
    results = shortcuts(within([(x, -RESTING_SPEED, RESTING_SPEED) for x in v]), full, short)
    effort[:] = results[: len(effort)]
    for force, result in zip(holding, results[len(effort) :], strict=True):
        force.force = result
