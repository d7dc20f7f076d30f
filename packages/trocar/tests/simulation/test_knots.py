"""The knot invariant on curves whose knot is known, however they lie in space."""

from __future__ import annotations

import numpy as np
import pytest

from trocar.errors import TrocarError
from trocar.simulation.knots import crossings, knot, throw_jones
from trocar.spatial import Array

t = np.linspace(0.0, 2.0 * np.pi, 160, endpoint=False)


def torus(p: int, q: int) -> Array:
    """The torus knot T(p, q), right-handed for positive q."""
    r = 2.0 + np.cos(q * t)
    return np.stack([r * np.cos(p * t), r * np.sin(p * t), -np.sin(q * t)], axis=1)


def overhand(turns: int = 1) -> Array:
    """An open curve along x with a throw in it: the torus knot T(2, 2 turns + 1), cut open on its outside."""
    curve = torus(2, int(np.sign(turns)) * (2 * abs(turns) + 1))
    curve = np.roll(curve, -int(np.argmax(curve[:, 0])), axis=0)[1:-1]
    return np.concatenate([[[9.0, -6.0, 0.0]], curve[::-1] if curve[0, 1] > curve[-1, 1] else curve, [[9.0, 6.0, 0.0]]])


def tied(*throws: int) -> Array:
    """An open curve with several throws, one after the other along y."""
    return np.concatenate([overhand(turns) + [0.0, 14.0 * k, 0.0] for k, turns in enumerate(throws)])


def drawn_turn(rng: np.random.Generator) -> Array:
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return q * np.linalg.det(q)


KNOTS = [
    ((1,), "overhand"),
    ((-1,), "overhand"),
    ((1, -1), "square"),
    ((-1, 1), "square"),
    ((1, 1), "granny"),
    ((-1, -1), "granny"),
    ((2,), "double overhand"),
    ((2, -1), "surgeon's"),
    ((-2, 1), "surgeon's"),
    ((2, 1), "surgeon's granny"),
    ((2, -1, 1), "surgeon's square"),
    ((2, -2), "+2 -2"),
]


@pytest.mark.parametrize(("throws", "name"), KNOTS)
def test_throws_are_recognised_in_any_position(throws: tuple[int, ...], name: str):
    rng = np.random.default_rng(abs(hash(throws)) % 1000)
    curve = tied(*throws)
    for _ in range(4):
        # an affine map of positive determinant is a motion without cutting
        stretch = drawn_turn(rng) @ np.diag(rng.uniform(0.4, 2.5, 3)) @ drawn_turn(rng)
        found = knot(curve @ stretch.T + rng.normal(size=3))
        assert found.name == name
        assert found.throws is not None
        assert sorted(found.throws) == sorted(throws)


@pytest.mark.parametrize("turns", [1, 2, 3, -1, -2])
def test_jones_polynomials_of_torus_knots_are_those_in_closed_form(turns: int):
    found = knot(torus(2, int(np.sign(turns)) * (2 * abs(turns) + 1)), closed=True)
    assert dict(found.jones) == throw_jones(turns)


def test_jones_polynomials_of_other_knots_are_those_of_the_knot_tables():
    # KnotInfo: figure eight 4_1, and T(3, 4), which is 8_19
    s = 2.0 + np.cos(2.0 * t)
    eight = np.stack([s * np.cos(3.0 * t), s * np.sin(3.0 * t), np.sin(4.0 * t)], axis=1)
    found = knot(eight, closed=True)
    assert dict(found.jones) == {-2: 1, -1: -1, 0: 1, 1: -1, 2: 1}
    assert found.name == "other"
    assert dict(knot(torus(3, 4), closed=True).jones) == {3: 1, 5: 1, 8: -1}


def test_a_tangle_that_is_not_knotted_is_the_unknot():
    rng = np.random.default_rng(3)
    path = np.cumsum(rng.normal(size=(24, 3)), axis=0)
    there_and_back = np.concatenate([path, path[::-1] + 1e-3 * np.array([1.0, 0.7, 0.4])])
    labelled, _ = crossings(there_and_back)
    assert len(labelled) > 20
    found = knot(there_and_back, closed=True)
    assert found.name == "unknot"
    assert dict(found.jones) == {0: 1}


def test_bad_curves_are_refused():
    with pytest.raises(TrocarError, match="at least 3 finite points"):
        knot([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
