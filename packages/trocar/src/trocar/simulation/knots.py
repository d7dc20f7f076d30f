"""The kind of knot in a curve: an invariant that no motion of the curve without cutting can change.

A curve is first simplified in space: a corner is removed if no other piece of the curve crosses its triangle, so that
removing it is a motion without cutting. What is left has a handful of crossings in any projection. The invariant is the
Jones polynomial, from Kauffman's bracket. It tells a square knot from a granny knot, which the Alexander polynomial
does not, and left from right. It is multiplicative: the knot of several throws is the product of the throws.

L. H. Kauffman, State models and the Jones polynomial, Topology 26 (1987) 395; V. F. R. Jones, Annals of Mathematics
126 (1987) 335 (torus knots); K. Koniaris, M. Muthukumar, Phys. Rev. Lett. 66 (1991) 2211 (removal of
corners).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from trocar.errors import TrocarError
from trocar.simulation.objects.cutting import crosses
from trocar.spatial import Array

# A polynomial in one variable with integer coefficients, by exponent; exponents may be negative.
Polynomial = Mapping[int, int]
FAR = 10.0  # radius of the sphere on which an open curve is closed, over that of the curve
MAX_THROWS, MAX_TURNS = 4, 3  # of the knots that are recognised: number of throws, turns of one throw
MAX_CROSSINGS = 60  # of a simplified curve; the invariant of more would take minutes
# Direction of projection, and the next ones should two crossings coincide: arbitrary, so that no curve is aligned.
VIEWS = np.array([[0.31, 0.53, 0.79], [-0.67, 0.22, 0.71], [0.83, -0.41, 0.37], [0.12, 0.91, -0.40]])
# Names of knots by their throws; those of opposite sign in all throws are mirror images of the same name.
NAMES = {
    (): "unknot",
    (1,): "overhand",
    (1, -1): "square",
    (1, 1): "granny",
    (2,): "double overhand",
    (2, -1): "surgeon's",
    (2, 1): "surgeon's granny",
    (2, 1, -1): "surgeon's square",
}


@dataclass(frozen=True)
class Knot:
    """A knot in a curve.

    Attributes:
        throws: turns of every throw, positive if right-handed, in falling order of size: (1,) is an overhand knot,
            (1, -1) a square knot, (2, -1) a surgeon's knot. None if the knot is no sequence of throws.
        jones: coefficients of the Jones polynomial by exponent of its variable t.
    """

    throws: tuple[int, ...] | None
    jones: Polynomial

    @property
    def name(self) -> str:
        """ "unknot", "overhand", "square", "granny", "surgeon's", ..., its throws, or "other"."""
        if self.throws is None:
            return "other"
        mirrored = tuple(sorted((-turns for turns in self.throws), key=_order))
        return NAMES.get(self.throws) or NAMES.get(mirrored) or " ".join(f"{turns:+d}" for turns in self.throws)


def knot(points: ArrayLike, *, closed: bool = False) -> Knot:
    """The knot in a curve through points (n, 3).

    Args:
        closed: the last point is joined to the first. Otherwise both ends are continued away from the middle of the
            curve and joined far outside, so they should be outside the knot.
    """
    curve = np.asarray(points, dtype=float)
    if curve.ndim != 2 or curve.shape[1:] != (3,) or len(curve) < 3 or not np.isfinite(curve).all():
        raise TrocarError(f"a curve needs at least 3 finite points (n, 3), got an array {curve.shape}")
    polynomial = _jones(simplified(curve if closed else _closed(curve)))
    return Knot(_known().get(frozenset(polynomial.items())), MappingProxyType(polynomial))


def simplified(curve: Array) -> Array:
    """A closed curve with the same knot as that through points (n, 3), with as few corners as removing them gives."""
    curve, removed = np.array(curve, dtype=float), True
    while removed:
        removed, i = False, 0
        while i < len(curve) > 3:
            around = np.roll(curve, 1 - i, axis=0)  # corner i is the second point
            # all pieces but those that end in the triangle's corners
            if not crosses(around[3:], around[:3]).any():
                curve, removed = np.delete(curve, i, axis=0), True
            else:
                i += 1
    return curve


def _closed(curve: Array) -> Array:
    """A closed curve: both ends continued outwards, and joined on a sphere around the curve."""
    centre = curve.mean(axis=0)
    radius = FAR * float(np.linalg.norm(curve - centre, axis=1).max())
    first, last = (_unit(end - centre) for end in (curve[0], curve[-1]))
    # A third place between them that is far from both, also if they are opposite.
    third = np.cross(first, last)
    if np.linalg.norm(third) < 1e-3:
        third = np.cross(first, np.eye(3)[np.argmin(np.abs(first))])
    far = [centre + radius * last, centre + 3.0 * radius * _unit(third), centre + radius * first]
    return np.concatenate([curve, far])


def _unit(v: Array) -> Array:
    length = float(np.linalg.norm(v))
    return np.asarray(v / length) if length > 0.0 else np.array([1.0, 0.0, 0.0])


# -- crossings ---------------------------------------------------------------------------------------------------------


def crossings(curve: Array) -> tuple[list[tuple[int, int, int, int]], int]:
    """Crossings of the projection of a closed curve through points (n, 3), and its writhe.

    A crossing is its four edges counterclockwise, from the one that enters below; edges are numbered along the curve.
    """
    for view in VIEWS:
        z = _unit(view)
        x = _unit(np.cross(z, [0.0, 0.0, 1.0]))
        seen = curve @ np.stack([x, np.cross(z, x), z], axis=1)
        along = np.roll(seen, -1, axis=0) - seen
        i, j = np.triu_indices(len(seen), k=2)
        near = (i > 0) | (j < len(seen) - 1)  # the first and the last piece share a corner
        i, j = i[near], j[near]
        turn = along[i, 0] * along[j, 1] - along[i, 1] * along[j, 0]
        apart = seen[j] - seen[i]
        with np.errstate(divide="ignore", invalid="ignore"):
            s = (apart[:, 0] * along[j, 1] - apart[:, 1] * along[j, 0]) / turn
            t = (apart[:, 0] * along[i, 1] - apart[:, 1] * along[i, 0]) / turn
        crossing = (s > 0.0) & (s < 1.0) & (t > 0.0) & (t < 1.0)
        edges = np.minimum.reduce([s, 1.0 - s, t, 1.0 - t])[crossing]
        if not edges.size or edges.min() > 1e-9:  # no crossing at a corner
            break
    else:
        raise TrocarError("the curve touches itself: its knot is not defined")
    i, j, s, t, turn, apart = (values[crossing] for values in (i, j, s, t, turn, apart))
    above = apart[:, 2] + t * along[j, 2] - s * along[i, 2] < 0.0  # piece i is above piece j
    signs = np.where(turn > 0.0, 1, -1) * np.where(above, 1, -1)
    count = len(i)
    if count > MAX_CROSSINGS:
        raise TrocarError(f"the curve has {count} crossings, at most {MAX_CROSSINGS} are evaluated")
    passes = np.empty(2 * count, dtype=int)
    passes[np.argsort(np.concatenate([i + s, j + t]))] = np.arange(2 * count)  # place of each pass along the curve
    labelled = []
    for k, (first, second) in enumerate(zip(passes[:count].tolist(), passes[count:].tolist(), strict=True)):
        over, under = (first, second) if above[k] else (second, first)
        enter, leave = under, (under + 1) % (2 * count)
        right, left = (over + 1) % (2 * count), over
        if signs[k] < 0:
            right, left = left, right
        labelled.append((enter, right, leave, left))
    return labelled, int(signs.sum())


# -- invariant ---------------------------------------------------------------------------------------------------------


def _jones(curve: Array) -> dict[int, int]:
    """Jones polynomial of a closed curve: (-A^3)^-writhe times Kauffman's bracket, at t = A^-4."""
    labelled, writhe = crossings(curve)
    bracket = _bracket(labelled)
    sign = -1 if writhe % 2 else 1
    exact = {exponent - 3 * writhe: sign * coefficient for exponent, coefficient in bracket.items()}
    return {-exponent // 4: coefficient for exponent, coefficient in exact.items()}


def _bracket(labelled: Sequence[tuple[int, int, int, int]]) -> dict[int, int]:
    """Kauffman's bracket of a diagram, by exponent of A; 1 for a circle.

    Crossings are resolved one after the other. The state is a sum over the ways in which the open edges are connected;
    neighbours along the curve come first, which keeps the number of open edges small.
    """
    state: dict[tuple[tuple[int, int], ...], Counter[int]] = {(): Counter({0: 1})}
    left, open_edges = list(labelled), set[int]()
    while left:
        crossing = max(left, key=lambda edges: len(open_edges.intersection(edges)))
        left.remove(crossing)
        open_edges.symmetric_difference_update(crossing if len(set(crossing)) == 4 else _once(crossing))
        a, b, c, d = crossing
        after: dict[tuple[tuple[int, int], ...], Counter[int]] = {}
        for arcs, polynomial in state.items():
            for shift, joined in ((1, ((a, b), (c, d))), (-1, ((a, d), (b, c)))):
                ends, circles = _joined(arcs, joined)
                term = Counter({exponent + shift: value for exponent, value in polynomial.items()})
                for _ in range(circles):
                    term = _times(term, {2: -1, -2: -1})
                after.setdefault(ends, Counter()).update(term)
        state = after
    (bracket,) = state.values()
    if not labelled:
        return dict(bracket)
    return _quotient(bracket, {2: -1, -2: -1})  # the last circle counts 1


def _once(edges: Sequence[int]) -> set[int]:
    return {edge for edge in edges if edges.count(edge) == 1}


def _joined(
    arcs: tuple[tuple[int, int], ...], more: tuple[tuple[int, int], ...]
) -> tuple[tuple[tuple[int, int], ...], int]:
    """Arcs between open edges after joining more of them, and the number of circles that closed."""
    other = {end: begin for arc in arcs for begin, end in (arc, arc[::-1])}
    circles = 0
    for begin, end in more:
        if begin == end or other.get(begin) == end:
            other.pop(begin, None)
            other.pop(end, None)
            circles += 1
            continue
        far, near = other.pop(begin, None), other.pop(end, None)
        u, v = begin if far is None else far, end if near is None else near
        other[u], other[v] = v, u
    return tuple(sorted((begin, end) for begin, end in other.items() if begin < end)), circles


def _times(one: Polynomial, other: Polynomial) -> Counter[int]:
    product = Counter[int]()
    for exponent, value in one.items():
        for shift, factor in other.items():
            product[exponent + shift] += value * factor
    return Counter({exponent: value for exponent, value in product.items() if value})


def _quotient(dividend: Polynomial, divisor: Polynomial) -> dict[int, int]:
    """Exact quotient by a polynomial whose leading coefficient is 1 or -1."""
    rest, quotient = dict(dividend), {}
    top = max(divisor)
    while rest := {exponent: value for exponent, value in rest.items() if value}:
        exponent = max(rest) - top
        quotient[exponent] = rest[max(rest)] * divisor[top]
        for shift, factor in divisor.items():
            rest[exponent + shift] = rest.get(exponent + shift, 0) - quotient[exponent] * factor
    return quotient


# -- throws ------------------------------------------------------------------------------------------------------------


@cache
def _known() -> dict[frozenset[tuple[int, int]], tuple[int, ...]]:
    """Throws by Jones polynomial, of all knots of at most MAX_THROWS throws."""
    turns = sorted((turn for turn in range(-MAX_TURNS, MAX_TURNS + 1) if turn), key=_order)
    known: dict[frozenset[tuple[int, int]], tuple[int, ...]] = {}
    for count in range(MAX_THROWS + 1):
        for throws in combinations_with_replacement(turns, count):
            polynomial: Polynomial = {0: 1}
            for turn in throws:
                polynomial = _times(polynomial, throw_jones(turn))
            known.setdefault(frozenset(polynomial.items()), throws)
    return known


def throw_jones(turns: int) -> dict[int, int]:
    """Jones polynomial of one throw, the torus knot T(2, 2 turns + 1): an overhand knot has one turn."""
    n = 2 * abs(turns) + 1
    numerator = Counter({abs(turns): 1})
    numerator[abs(turns) + 3] -= 1
    numerator[abs(turns) + n + 1] -= 1
    numerator[abs(turns) + n + 2] += 1
    right = _quotient(numerator, {2: -1, 0: 1})
    return right if turns > 0 else {-exponent: value for exponent, value in right.items()}


def _order(turns: int) -> tuple[int, bool]:
    """Larger throws first, right-handed before left-handed ones."""
    return -abs(turns), turns < 0
