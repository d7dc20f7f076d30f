"""Shorter forms of equations: as polynomials, and with sums in an order that suits fused multiply-adds.

The recursion over the bodies repeats much work in every step. Written out as polynomials in sines, cosines, positions
and velocities, M and b of an arm with few orientation groups have few different monomials. Everything else is collected
in the coefficients, which depend on parameters only and are computed once. For the PSM this leaves a sixth of the
operations. For an arm with many groups, such as the MTM, the number of monomials explodes, and the recursion is kept.
A coefficient that vanishes for all parameters is recognised by its value at random parameters.

Equations add partial sums such as (a b + c d) + (e f + g h): two products, two fused multiply-adds and an addition.
Term by term, ((a b + c d) + e f) + g h is one product and three fused multiply-adds. Partial sums that are used only
once are therefore dissolved, and their terms are added one by one: first terms that are not products, then products, in
each case those that are known early first.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

from trocar.laws.graph import FUNCTIONS, Node, cos, is_fixed, rebuilt, schedule

MAX_TERMS = 250  # in one polynomial
ZERO = 1e-10  # relative size of a coefficient that is zero but for rounding
_NUMBERS: dict[str, Callable[..., float]] = FUNCTIONS | {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "negate": operator.neg,
    "min": min,
    "max": max,
    "above": lambda x, y: float(x > y),
}
Monomial = tuple[int, ...]  # indices of its factors, sorted


class TooManyTerms(Exception):
    """A polynomial has more than `MAX_TERMS` terms."""


@dataclass(frozen=True)
class Coefficient:
    """A fixed node, its value at random parameters, and the sum of the magnitudes of the terms in it."""

    node: Node
    value: float
    size: float

    def __add__(self, other: Coefficient) -> Coefficient:
        return Coefficient(self.node + other.node, self.value + other.value, self.size + other.size)

    def __mul__(self, other: Coefficient) -> Coefficient:
        return Coefficient(self.node * other.node, self.value * other.value, self.size * other.size)

    def __neg__(self) -> Coefficient:
        return Coefficient(-self.node, -self.value, self.size)


Polynomial = dict[Monomial, Coefficient]


def shortest(results: Sequence[Node]) -> list[Node]:
    """The results as polynomials with fixed coefficients, or unchanged if that takes fewer operations."""
    try:
        expansion = _Expansion(results)
    except TooManyTerms:
        return list(results)
    polynomials = [expansion.written_out(node) for node in results]
    return min(polynomials, list(results), key=_operations)


def _operations(results: Sequence[Node]) -> int:
    return sum(bool(node.args) and not node.fixed for node in schedule(results, stop=is_fixed))


class _Expansion:
    def __init__(self, results: Sequence[Node]) -> None:
        self._factors: dict[int, Node] = {}
        self._values: dict[int, float] = {}
        self._random = Random(0)
        self._polynomials: dict[int, Polynomial] = {}
        for node in schedule(results, stop=is_fixed):
            self._polynomials[node.index] = self._polynomial(node)

    def _polynomial(self, node: Node) -> Polynomial:
        if node.fixed:
            value = self._value(node)
            return {(): Coefficient(node, value, abs(value))} if not node.is_zero else {}
        parts = [self._polynomials[arg.index] for arg in node.args]
        match node.op:
            case "add":
                return _sum(*parts)
            case "subtract":
                return _sum(parts[0], _negative(parts[1]))
            case "negate":
                return _negative(parts[0])
            case "multiply":
                return self._product(*parts)
        self._factors[node.index] = node
        one = node.graph.constant(1.0)
        return {(node.index,): Coefficient(one, 1.0, 1.0)}

    def _value(self, node: Node) -> float:
        for at in schedule([node], stop=lambda at: at.index in self._values):
            if at.index in self._values:
                continue
            if at.op == "input":
                self._values[at.index] = self._random.uniform(0.5, 1.5)
            elif at.is_constant:
                self._values[at.index] = at.value
            else:
                self._values[at.index] = _NUMBERS[at.op](*(self._values[arg.index] for arg in at.args))
        return self._values[node.index]

    def _product(self, a: Polynomial, b: Polynomial) -> Polynomial:
        product: Polynomial = {}
        for x, p in a.items():
            for y, r in b.items():
                term = p * r
                for monomial, sign in self._reduced(tuple(sorted(x + y))):
                    _add(product, monomial, term if sign > 0 else -term)
        return _checked(product)

    def _reduced(self, monomial: Monomial) -> list[tuple[Monomial, int]]:
        """The monomial with squared sines replaced: sin^2 = 1 - cos^2."""
        for k, other in pairwise(monomial):
            if k == other and self._factors[k].op == "sin":
                rest = list(monomial)
                rest.remove(k)
                rest.remove(k)
                cosine = cos(self._factors[k].args[0])
                self._factors[cosine.index] = cosine
                squared = tuple(sorted([*rest, cosine.index, cosine.index]))
                return self._reduced(tuple(rest)) + [(m, -s) for m, s in self._reduced(squared)]
        return [(monomial, 1)]

    def written_out(self, node: Node) -> Node:
        terms = {monomial: term.node for monomial, term in self._polynomials[node.index].items()}
        return self._nested(terms) if terms else node.graph.zero

    def _nested(self, terms: dict[Monomial, Node]) -> Node:
        """The sum of the terms, the most frequent factor taken out first (Horner's scheme)."""
        counts = Counter(k for monomial in terms for k in set(monomial))
        if not counts:
            return terms[()]
        factor = max(counts, key=lambda k: (counts[k], -k))
        inside, rest = {}, {}
        for monomial, node in terms.items():
            if factor in monomial:
                at = monomial.index(factor)
                inside[monomial[:at] + monomial[at + 1 :]] = node
            else:
                rest[monomial] = node
        product = self._factors[factor] * self._nested(inside)
        return self._nested(rest) + product if rest else product


def _add(to: Polynomial, monomial: Monomial, term: Coefficient) -> None:
    to[monomial] = to[monomial] + term if monomial in to else term


def _sum(a: Polynomial, b: Polynomial) -> Polynomial:
    total = dict(a)
    for monomial, term in b.items():
        _add(total, monomial, term)
    return _checked(total)


def _checked(polynomial: Polynomial) -> Polynomial:
    significant = {monomial: term for monomial, term in polynomial.items() if abs(term.value) > ZERO * term.size}
    if len(significant) > MAX_TERMS:
        raise TooManyTerms
    return significant


def _negative(a: Polynomial) -> Polynomial:
    return {monomial: -term for monomial, term in a.items()}


# -- sums --------------------------------------------------------------------------------------------------------------

_SUMS = ("add", "subtract")
_SLOW = {"sin": 5, "cos": 5, "exp2": 5, "sqrt": 5, "divide": 5}  # duration in additions


def regrouped(results: Sequence[Node]) -> list[Node]:
    """The results with their sums in this order; equal up to rounding."""
    nodes = schedule(results, stop=is_fixed, branches=True)
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
        ordered = sorted(terms, key=lambda t: (t[1].op == "multiply" and not t[1].fixed, self._time(t[1])))
        result = ordered[0][1].graph.zero
        for minus, term in ordered:
            result = result - term if minus else result + term
        return result

    def _time(self, node: Node) -> int:
        """Duration of the longest path to a new node."""
        for at in schedule([node], stop=lambda at: at.fixed or at.index in self._times):
            if at.index not in self._times:
                busy = bool(at.args) and not at.fixed
                before = max((self._times[arg.index] for arg in at.args), default=0) if busy else 0
                self._times[at.index] = before + (_SLOW.get(at.op, 1) if busy else 0)
        return self._times[node.index]
