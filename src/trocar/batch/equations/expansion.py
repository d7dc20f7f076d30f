"""Equations of motion as polynomials in sines, cosines, positions and velocities.

The recursion over the bodies repeats much work in every step. Written out, M and b of an arm with few orientation
groups have few different monomials. Everything else is collected in the coefficients, which depend on parameters only
and are computed once. For the PSM this leaves a sixth of the operations. For an arm with many groups, such as the MTM,
the number of monomials explodes, and the recursion is kept.

A coefficient that vanishes for all parameters is recognised by its value at random parameters.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random

from trocar.batch.graph import FUNCTIONS, Node, cos, schedule

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
    return sum(bool(node.args) and not node.fixed for node in schedule(results, stop=_is_fixed))


class _Expansion:
    def __init__(self, results: Sequence[Node]) -> None:
        self._factors: dict[int, Node] = {}
        self._values: dict[int, float] = {}
        self._random = Random(0)
        self._polynomials: dict[int, Polynomial] = {}
        for node in schedule(results, stop=_is_fixed):
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
                term = Coefficient(p.node * r.node, p.value * r.value, p.size * r.size)
                for monomial, sign in self._reduced(tuple(sorted(x + y))):
                    _add(product, monomial, term if sign > 0 else _minus(term))
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
    known = to.get(monomial)
    if known is not None:
        term = Coefficient(known.node + term.node, known.value + term.value, known.size + term.size)
    to[monomial] = term


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


def _minus(term: Coefficient) -> Coefficient:
    return Coefficient(-term.node, -term.value, term.size)


def _negative(a: Polynomial) -> Polynomial:
    return {monomial: _minus(term) for monomial, term in a.items()}


def _is_fixed(node: Node) -> bool:
    return node.fixed
