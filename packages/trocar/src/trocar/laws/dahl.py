"""Friction with memory, after Dahl: an effort (F + slope s) z along a coordinate s, with a state z in [-1, 1]."""

from __future__ import annotations

from collections.abc import Callable

from trocar.laws.graph import Node, absolute, exp, sign


def dahl_state(z: Node, path: Node, rate: Node, exponential: Callable[[Node], Node] = exp) -> Node:
    """z after a monotone path ds [rad, m]: z+ = d + (z - d) exp(-|ds| / delta), d = sign(ds), at any speed.

    Args:
        rate: -1 / delta, the negative inverse of the length over which z changes; or that of another `exponential`.
    """
    d = sign(path)
    return d + (z - d) * exponential(rate * absolute(path))


def dahl_effort(z: Node, s: Node, F: Node, slope: Node) -> Node:
    """Effort that the motors need against the friction, with the sign of motion [N m, N]."""
    return (F + slope * s) * z
