"""Effort of cables on a joint as a polynomial of its position, after Wang et al."""

from __future__ import annotations

from collections.abc import Sequence

from trocar.laws.graph import Node, maximum, minimum


def cable_torque(x: Node, lower: Node, upper: Node, coefficients: Sequence[Node]) -> Node:
    """Effort at position x [rad], highest power first; outside `lower` to `upper` that at the nearest end."""
    x, total = minimum(maximum(x, lower), upper), x.graph.zero
    for coefficient in coefficients:
        total = total * x + coefficient
    return total
