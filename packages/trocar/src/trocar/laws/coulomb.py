"""Coulomb friction of a drive that varies with its position and the load that it carries."""

from __future__ import annotations

from trocar.laws.graph import Node, absolute


def coulomb_friction(s: Node, load: Node, Fc: Node, Fx: Node, mu: Node) -> Node:
    """Largest friction at position s [rad, m] under a load [N m, N]; it may become negative beyond the joint limits."""
    return Fc + Fx * s + mu * absolute(load)
