"""Joint limits: inelastic stops.

A joint may reach its limit within a step but not pass it: its velocity is at least (lower - q) / dt and at most
(upper - q) / dt. Where one is exceeded, an impulse on that joint sets it to the bound; the other joints follow through
M^-1. A joint that is beyond its limit, because it was put there, comes back by a tenth of the way in each step.
"""

from __future__ import annotations

from collections.abc import Sequence

from trocar.batch.equations.factorisation import Factor
from trocar.batch.graph import Node, maximum, minimum
from trocar.spatial import Array

RECOVERY = 0.1


def stopped(q: Sequence[Node], v: Sequence[Node], lower: Array, upper: Array, factor: Factor, dt: Node) -> list[Node]:
    """Velocities after the impulses of the stops, one joint after the other."""
    graph, v = dt.graph, list(v)
    for j in range(len(v)):
        unit = [graph.constant(float(i == j)) for i in range(len(v))]
        response = factor.solved(unit)
        below, above = float(lower[j]) - q[j], float(upper[j]) - q[j]
        least = (minimum(below, 0.0) + RECOVERY * maximum(below, 0.0)) / dt
        most = (maximum(above, 0.0) + RECOVERY * minimum(above, 0.0)) / dt
        change = (minimum(maximum(v[j], least), most) - v[j]) / response[j]
        v = [x + change * y for x, y in zip(v, response, strict=True)]
    return v
