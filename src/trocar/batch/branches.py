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


def ordered(results: Sequence[Node], inputs: Collection[int]) -> list[Node | Branch]:
    """Nodes and branches that the results need, arguments first. Nodes with an index in `given` already exist."""
    always = _reached(results, inputs, lambda node: node.branch or node.args)
    conditions: dict[int, list[Node]] = {}
    for index in sorted(always):
        branch = always[index].branch
        if branch is not None:
            conditions.setdefault(branch[0].index, []).append(always[index])
    known = {*inputs, *always}
    inside = [_reached([node.args[0] for node in nodes], known, _args) for nodes in conditions.values()]
    seen: set[int] = set()
    for reached in inside:  # a node needed by two branches belongs to neither
        always |= _reached([node for index, node in reached.items() if index in seen], known, _args)
        seen |= set(reached)
    first = {
        nodes[0].index: Branch(always[condition], nodes, [reached[k] for k in sorted(reached) if k not in always])
        for (condition, nodes), reached in zip(conditions.items(), inside, strict=True)
    }
    later = {node.index for nodes in conditions.values() for node in nodes[1:]} | set(conditions)
    return [first.get(k, always[k]) for k in sorted(always) if k not in later]


def _args(node: Node) -> tuple[Node, ...]:
    return node.args


def _reached(
    start: Iterable[Node], known: Collection[int], opened: Callable[[Node], tuple[Node, ...]]
) -> dict[int, Node]:
    nodes: dict[int, Node] = {}
    pending = list(start)
    while pending:
        node = pending.pop()
        if node.index not in nodes and node.index not in known:
            nodes[node.index] = node
            pending.extend(opened(node))
    return nodes
