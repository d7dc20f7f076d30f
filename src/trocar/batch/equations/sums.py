"""Sums in an order that suits fused multiply-adds.

Equations add partial sums such as (a b + c d) + (e f + g h): two products, two fused multiply-adds and an addition.
Term by term, ((a b + c d) + e f) + g h is one product and three fused multiply-adds. Partial sums that are used only
once are therefore dissolved, and their terms are added one by one: first terms that are not products, then products, in
each case those that are known early first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from trocar.batch.graph import Node, rebuilt, schedule

_SUMS = ("add", "subtract")
_SLOW = {"sin": 5, "cos": 5, "exp": 5, "exp2": 5, "sqrt": 5, "divide": 5}  # duration in additions


def regrouped(results: Sequence[Node]) -> list[Node]:
    """The results with their sums in this order; equal up to rounding."""
    nodes = schedule(results, stop=_is_fixed, branches=True)
    uses = Counter(node.index for node in results)
    in_sums: Counter[int] = Counter()
    for node in nodes:
        if not node.fixed:
            arguments = [arg.index for arg in (*node.args, *(node.branch or ()))]
            uses.update(arguments)
            if node.op in _SUMS:
                in_sums.update(arguments)
    return _Regrouping({k for k, count in in_sums.items() if uses[k] == 1}).of(nodes, results)


@dataclass
class _Regrouping:
    """Nodes with the sums in them regrouped.

    Attributes:
        single: indices of nodes that are used once, in a sum.
    """

    single: set[int]
    _new: dict[int, Node] = field(default_factory=dict)
    _times: dict[int, int] = field(default_factory=dict)

    def of(self, nodes: Sequence[Node], results: Sequence[Node]) -> list[Node]:
        for node in nodes:
            if node.fixed or not node.args:
                self._new[node.index] = node
            elif node.op not in _SUMS:
                self._new[node.index] = rebuilt(node, lambda arg: self._new[arg.index])
            elif node.index not in self.single:
                self._new[node.index] = self._sum(self._terms(node))
        return [self._new[node.index] for node in results]

    def _terms(self, node: Node) -> list[tuple[bool, Node]]:
        """New terms of a sum with their signs, True for minus."""
        terms: list[tuple[bool, Node]] = []
        pending = [(False, node)]
        while pending:
            minus, part = pending.pop()
            if part is node or (part.op in _SUMS and not part.fixed and part.index in self.single):
                first, second = part.args
                pending += [(minus != (part.op == "subtract"), second), (minus, first)]
            else:
                terms.append((minus, self._new[part.index]))
        return terms

    def _sum(self, terms: list[tuple[bool, Node]]) -> Node:
        ordered = sorted(terms, key=lambda term: (self._is_product(term[1]), self._time(term[1])))
        result = ordered[0][1].graph.zero
        for minus, term in ordered:
            result = result - term if minus else result + term
        return result

    @staticmethod
    def _is_product(node: Node) -> bool:
        return node.op == "multiply" and not node.fixed

    def _time(self, node: Node) -> int:
        """Duration of the longest path to a new node."""
        for at in schedule([node], stop=lambda at: at.fixed or at.index in self._times):
            if at.index not in self._times:
                busy = bool(at.args) and not at.fixed
                before = max((self._times[arg.index] for arg in at.args), default=0) if busy else 0
                self._times[at.index] = before + (_SLOW.get(at.op, 1) if busy else 0)
        return self._times[node.index]


def _is_fixed(node: Node) -> bool:
    return node.fixed
