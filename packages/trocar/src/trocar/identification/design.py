"""The linear problem: efforts = X theta, in well-scaled coordinates theta with known sign constraints.

Links are in units of their prior: the pseudo-inertia of body k is P = r Q r' with P0 = r r' its prior and Q symmetric
(ten numbers, orthonormal), so that Q = 1 is the prior. Friction elements, viscous terms and rotors are not negative.
Coulomb friction that changes with position (Fc and Fx) and such Dahl elements have two coordinates: their values at
both ends of the joint limits (or of the recording, if that is wider), for elements half a delta beyond. If both are
positive, friction is passive: it returns no more energy than it stores (docs/dynamics.md). Coordinates other than those
of links are scaled to columns of unit norm.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from trocar.arms.parameters import Drive, Inertia, Parameters
from trocar.identification.consistency import Prior, in_units_of
from trocar.identification.recipes.recipe import Weights
from trocar.mechanics import Mechanism
from trocar.mechanics.inertia import NAMES, standard
from trocar.spatial import Array

FRICTION = ("hysteresis", "Fv", "Fc", "mu")
POSITIVE = (*FRICTION, "Im", "amplitude")
_SYMMETRIC = np.triu_indices(4)


@dataclass(frozen=True, kw_only=True)
class Design:
    """Regressor and efforts of the fitted rows.

    Attributes:
        names: (p,) of the parameters phi. M: (p, k), phi = M theta. theta_prior: (k,).
        X: (N, n, k), tau: (N, n), both divided by `scale` (n,), the norm of the effort of each column.
        links: bodies, ten coordinates each, first.
        terms: (k,) owner of each coordinate, a link or a term of a drive such as `pitch.K2` or `pitch.hysteresis`.
        penalty: (k,) weights of the squares of theta - theta_prior.
    """

    names: tuple[str, ...]
    M: Array
    theta_prior: Array
    X: Array
    tau: Array
    scale: Array
    links: tuple[str, ...]
    terms: tuple[str, ...]
    penalty: Array

    @cached_property
    def positive(self) -> Array:
        """(k,) coordinates that must not be negative."""
        return np.array([term.partition(".")[2] in POSITIVE for term in self.terms])

    def curvature(self, theta: Array) -> Array:
        """Half the second derivatives (k, k) of the penalties of `consistent` at theta: log det for links."""
        H, (i, j) = np.diag(self.penalty), _SYMMETRIC
        scale = np.where(i == j, 1.0, np.sqrt(0.5))
        E = np.zeros((10, 4, 4))
        E[np.arange(10), i, j] = E[np.arange(10), j, i] = scale
        for k in range(len(self.links)):
            own = slice(10 * k, 10 * k + 10)
            S = np.linalg.solve(np.einsum("a,aij->ij", theta[own], E), E)  # Q^-1 dQ of each coordinate
            H[own, own] = self.penalty[10 * k] * np.einsum("aij,bji->ab", S, S)
        return H

    def weighted(self, weights: Weights) -> Design:
        """A copy of the problem with different weights."""
        return replace(self, penalty=penalties(weights, self.terms))

    def gram(self, rows: Array) -> tuple[Array, Array]:
        """X'X and X'(tau - X theta_prior), over a mask of rows (N,) or of rows and columns (N, n)."""
        X = self.X[rows].reshape(-1, self.X.shape[-1])
        rest = self.tau[rows].ravel() - X @ self.theta_prior
        return X.T @ X, X.T @ rest

    def grams(self, bin_of_row: Array, fitted: Array) -> list[tuple[Array, Array]]:
        """`gram` of each bin of rows, restricted to fitted rows and columns (N, n)."""
        return [self.gram((bin_of_row == b)[:, None] & fitted) for b in range(bin_of_row.max() + 1)]

    def predicted(self, theta: Array) -> Array:
        """Efforts (N, n) [N m, N]."""
        return np.asarray((self.X @ theta) * self.scale)


def design(
    mechanism: Mechanism, priors: Mapping[str, Prior], weights: Weights, Y: Array, tau: Array, s: Array
) -> Design:
    """Build from the regressor Y (N, n, p) in the columns of efforts tau (N, n), and drive coordinates s (N, m)."""
    names = mechanism.parameter_names
    place = {name: i for i, name in enumerate(names)}
    parameters = mechanism.parameters
    assert parameters is not None
    links = tuple(name for name in parameters.inertias if f"{name}.{NAMES[0]}" in place)
    columns = [column for link in links for column in _link_columns(link, priors[link].P, place)]
    terms = [link for link in links for _ in range(10)]
    corners = mechanism.drives.A * mechanism.arm.lower, mechanism.drives.A * mechanism.arm.upper
    lower = np.minimum(np.minimum(*corners).sum(1), s.min(0))
    upper = np.maximum(np.maximum(*corners).sum(1), s.max(0))
    drives = [drive.name for drive in parameters.drives]
    delta = {
        f"{d.name}.hysteresis[{k}].F": dahl.delta for d in parameters.drives for k, dahl in enumerate(d.hysteresis)
    }
    for name, i in place.items():
        owner, _, term = name.partition(".")
        # a link's parameter; a slope is handled together with its F
        slope = place.get(f"{owner}.Fx" if term == "Fc" else name.removesuffix("F") + "slope")
        if term in NAMES or term.endswith("slope") or (term == "Fx" and f"{owner}.Fc" in place):
            continue
        entries = [{i: 1.0}]
        if slope is not None:
            d, margin = drives.index(owner), 0.5 * delta.get(name, 0.0)
            low, high = lower[d] - margin, upper[d] + margin
            length = high - low
            entries = [{i: high / length, slope: -1.0 / length}, {i: -low / length, slope: 1.0 / length}]
        for entry in entries:
            column = np.zeros(len(names))
            column[list(entry)] = list(entry.values())
            columns.append(column)
            terms.append(f"{owner}.{term.partition('[')[0]}")
    M = np.array(columns).T
    scale = np.linalg.norm(tau, axis=0)
    X = (Y / scale[:, None]) @ M
    count = 10 * len(links)
    norm = np.linalg.norm(X.reshape(-1, X.shape[-1]), axis=0)
    norm[:count] = 1.0
    norm[norm == 0] = 1.0
    return Design(
        names=names,
        M=M / norm,
        theta_prior=np.append(np.tile(_SYMMETRIC[0] == _SYMMETRIC[1], len(links)), np.zeros(len(terms) - count)),
        X=X / norm,
        tau=tau / scale,
        scale=scale,
        links=links,
        terms=tuple(terms),
        penalty=penalties(weights, tuple(terms)),
    )


def _link_columns(link: str, P0: Array, place: Mapping[str, int]) -> Iterator[Array]:
    """Parameters phi (p,) of each of a link's ten coordinates."""
    basis = in_units_of(P0)
    for a, b in zip(*_SYMMETRIC, strict=True):
        E = np.zeros((4, 4))
        E[a, b] = E[b, a] = 1.0 if a == b else np.sqrt(0.5)
        column = np.zeros(len(place))
        column[[place[f"{link}.{x}"] for x in NAMES]] = basis @ E.reshape(-1)
        yield column


def penalties(weights: Weights, terms: tuple[str, ...]) -> Array:
    """Penalties (k,): second order of tr Q - log det Q at 1 for links, the weight of their kind for others."""

    def penalty(term: str) -> float:
        _, _, kind = term.partition(".")
        weight = weights.friction if kind in FRICTION else weights.other
        return weight * weights.held.get(term, 1.0) if kind else 0.5 * weights.prior

    return np.array([penalty(term) for term in terms])


def with_values(template: Parameters, names: tuple[str, ...], phi: Array) -> Parameters:
    """The template with the numbers of phi; elements with zero friction are omitted."""
    value = dict(zip(names, (float(x) for x in phi), strict=True))
    inertias: dict[str, Inertia] = {
        link: standard(np.array([value[f"{link}.{x}"] for x in NAMES])) for link in template.inertias
    }
    return replace(
        template,
        inertias=inertias,
        drives=tuple(_filled(drive, value) for drive in template.drives),
        elastics=tuple(replace(e, amplitude=value[f"{e.name}.amplitude"]) for e in template.elastics),
    )


def _filled(drive: Drive, value: Mapping[str, float]) -> Drive:
    elements = [
        replace(
            dahl,
            F=max(0.0, value[f"{drive.name}.hysteresis[{k}].F"]),
            slope=value.get(f"{drive.name}.hysteresis[{k}].slope", 0.0),
        )
        for k, dahl in enumerate(drive.hysteresis)
    ]
    terms: dict[str, Any] = {term: value[f"{drive.name}.{term}"] for term in drive.terms}
    return replace(drive, **terms, hysteresis=tuple(dahl for dahl in elements if dahl.F > 1e-9 or dahl.slope))
