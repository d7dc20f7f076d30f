"""Order of operations in a step for backends with branches: shortcuts with the same condition become one branch.

Nodes that only the full values of a branch need are computed inside it, so a step that skips it pays only for the
condition.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from trocar.batch.graph import Node


@dataclass(frozen=True)
class Branch:
    """Shortcuts with the same condition, and the nodes that only their full values need, in order of creation."""

    condition: Node
    shortcuts: Sequence[Node]
    inside: Sequence[Node]


def ordered(results: Sequence[Node], given: Collection[int]) -> list[Node | Branch]:
    """Nodes and branches that the results need, arguments first. Nodes with an index in `given` already exist."""
    always = _reached(results, given, lambda node: node.branch or node.args)
    conditions: dict[int, list[Node]] = {}
    for index in sorted(always):
        branch = always[index].branch
        if branch is not None:
            conditions.setdefault(branch[0].index, []).append(always[index])
    known = {*given, *always}
    inside = [_reached([node.args[0] for node in nodes], known, _args) for nodes in conditions.values()]
    seen: set[int] = set()
    for found in inside:  # a node needed by two branches belongs to neither
        always |= _reached([node for index, node in found.items() if index in seen], known, _args)
        seen |= set(found)
    first = {
        nodes[0].index: Branch(always[condition], nodes, [found[k] for k in sorted(found) if k not in always])
        for (condition, nodes), found in zip(conditions.items(), inside, strict=True)
    }
    later = {node.index for nodes in conditions.values() for node in nodes[1:]} | set(conditions)
    return [first.get(k, always[k]) for k in sorted(always) if k not in later]


def _args(node: Node) -> tuple[Node, ...]:
    return node.args


def _reached(
    start: Iterable[Node], given: Collection[int], opened: Callable[[Node], tuple[Node, ...]]
) -> dict[int, Node]:
    found: dict[int, Node] = {}
    pending = list(start)
    while pending:
        node = pending.pop()
        if node.index not in found and node.index not in given:
            found[node.index] = node
            pending.extend(opened(node))
    return found
