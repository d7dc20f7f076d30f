"""The linear problem: efforts = X theta, in coordinates theta that are well scaled and say which signs are allowed.

Links are in units of their prior: the pseudo-inertia of body k is P = r Q r' with P0 = r r' its prior and Q symmetric
(ten numbers, orthonormal), so that Q = 1 is the prior. Friction elements, viscous terms and rotors are not negative. An
element whose friction changes with position has two coordinates, its values at both ends of what the joint limits (or
the recording, where it goes beyond) allow, so that it takes out energy all along. Coordinates other than those of links
are scaled to columns of unit norm.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trocar.arms.parameters import Drive, Inertia, Parameters
from trocar.identification.consistency import Prior, in_units_of
from trocar.identification.recipe import Weights
from trocar.mechanics import Mechanism
from trocar.mechanics.inertia import NAMES, standard
from trocar.spatial import Array

_SYMMETRIC = tuple(zip(*np.triu_indices(4), strict=True))


@dataclass(frozen=True, kw_only=True)
class Design:
    """Regressor and efforts of the rows that are fitted.

    Attributes:
        names: (p,) of the parameters phi. M: (p, k), phi = M theta. theta_prior: (k,).
        X: (N, n, k), tau: (N, n), both divided by `scale` (n,), the norm of the effort of each column.
        links: bodies, ten coordinates each, first. positive: (k,) coordinates that must not be negative.
        friction: (k,) coordinates of friction.
        terms: (k,) what each belongs to, a link or a term of a drive such as `pitch.K2` or `pitch.hysteresis`.
        penalty: (k,) weights of the squares of theta - theta_prior.
    """

    names: tuple[str, ...]
    M: Array
    theta_prior: Array
    X: Array
    tau: Array
    scale: Array
    links: tuple[str, ...]
    positive: Array
    friction: Array
    terms: tuple[str, ...]
    penalty: Array

    def weighted(self, weights: Weights) -> Design:
        """The same problem with other weights."""
        return replace(self, penalty=penalties(weights, self.friction, self.terms, 10 * len(self.links)))

    def gram(self, rows: Array) -> tuple[Array, Array]:
        """X'X and X'(tau - X theta_prior) over some rows, summed over the columns."""
        X = self.X[rows].reshape(-1, self.X.shape[-1])
        rest = self.tau[rows].ravel() - X @ self.theta_prior
        return X.T @ X, X.T @ rest

    def grams(self, bin_of_row: Array, fitted: Array) -> list[tuple[Array, Array]]:
        """`gram` of each bin of rows, of those rows (N,) only that are fitted at all."""
        return [self.gram((bin_of_row == b) & fitted) for b in range(bin_of_row.max() + 1)]

    def predicted(self, theta: Array) -> Array:
        """Efforts (N, n) [N m, N]."""
        return np.asarray((self.X @ theta) * self.scale)


def design(
    mechanism: Mechanism,
    priors: Mapping[str, Prior],
    weights: Weights,
    Y: Array,
    tau: Array,
    s: Array,
) -> Design:
    """From the regressor Y (N, n, p) in the columns of the efforts tau (N, n), and the drives' coordinates s (N, m)."""
    names = mechanism.parameter_names
    place = {name: i for i, name in enumerate(names)}
    parameters = mechanism.parameters
    assert parameters is not None
    links = tuple(name for name in parameters.inertias if f"{name}.{NAMES[0]}" in place)
    columns: list[Array] = []
    prior_values: list[float] = []
    for link in links:
        rows = [place[f"{link}.{x}"] for x in NAMES]
        for a, b in _SYMMETRIC:
            E = np.zeros((4, 4))
            E[a, b] = E[b, a] = 1.0 if a == b else np.sqrt(0.5)
            column = np.zeros(len(names))
            column[rows] = in_units_of(priors[link].P) @ E.reshape(-1)
            columns.append(column)
            prior_values.append(float(a == b))
    positive, friction = [False] * len(columns), [False] * len(columns)
    terms = [link for link in links for _ in _SYMMETRIC]
    used = {place[f"{link}.{x}"] for link in links for x in NAMES}
    corners = mechanism.drives.A * mechanism.arm.lower, mechanism.drives.A * mechanism.arm.upper
    lower = np.minimum(np.minimum(*corners).sum(1), s.min(0))
    upper = np.maximum(np.maximum(*corners).sum(1), s.max(0))
    for name, i in place.items():
        if i in used:
            continue
        owner, _, term = name.partition(".")
        slope = place.get(name.removesuffix("F") + "slope") if term.startswith("hysteresis") else None
        if term.endswith("slope"):
            continue  # made together with its F
        d = [drive.name for drive in parameters.drives].index(owner) if slope is not None else 0
        ends = [(upper[d], -1.0), (-lower[d], 1.0)] if slope is not None else [(1.0, 0.0)]
        for at_zero, per_s in ends:
            column = np.zeros(len(names))
            length = upper[d] - lower[d] if slope is not None else 1.0
            column[i] = at_zero / length
            if slope is not None:
                column[slope] = per_s / length
            columns.append(column)
            prior_values.append(0.0)
            terms.append(f"{owner}.{term.partition('[')[0]}")
            friction.append(term.startswith("hysteresis") or term in ("Fv", "Fc"))
            positive.append(friction[-1] or term in ("Im", "amplitude", "mu"))
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
        theta_prior=np.array(prior_values),
        X=X / norm,
        tau=tau / scale,
        scale=scale,
        links=links,
        positive=np.array(positive),
        friction=np.array(friction),
        terms=tuple(terms),
        penalty=penalties(weights, np.array(friction), tuple(terms), count),
    )


def penalties(weights: Weights, friction: Array, terms: tuple[str, ...], link_coordinates: int) -> Array:
    """(k,): of link coordinates the second order of tr Q - log det Q at 1, of others what their kind and term have."""
    penalty = np.where(friction, weights.friction, weights.other) * [weights.held.get(term, 1.0) for term in terms]
    penalty[:link_coordinates] = 0.5 * weights.prior
    return np.asarray(penalty)


def with_values(template: Parameters, names: tuple[str, ...], phi: Array) -> Parameters:
    """The template with the numbers of phi; elements without friction are left out."""
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
    return replace(
        drive,
        **terms,
        hysteresis=tuple(dahl for dahl in elements if dahl.F > 1e-9 or dahl.slope),
    )
