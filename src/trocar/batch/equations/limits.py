"""Joint limits: inelastic stops.

A joint may reach its limit within a step but not pass it: its velocity is at least (lower - q) / dt and at most
(upper - q) / dt. A joint that was placed beyond its limit returns by a tenth of the distance in each
step.
"""

from __future__ import annotations

from trocar.batch.graph import Node, maximum, minimum

RECOVERY = 0.1


def velocity_bounds(q: Node, lower: float, upper: float, dt: Node) -> tuple[Node, Node]:
    """Least and largest velocity of a joint over the next step."""
    below, above = lower - q, upper - q
    least = (minimum(below, 0.0) + RECOVERY * maximum(below, 0.0)) / dt
    most = (maximum(above, 0.0) + RECOVERY * minimum(above, 0.0)) / dt
    return least, most
