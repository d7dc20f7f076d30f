"""Estimators: least squares in base parameters, and two in the coordinates of a Design.

The latter minimise the squared relative error of all columns, plus penalties. `consistent` has the log-det divergence
of every link from its prior and requires realisable bodies: positive definite pseudo-inertia (ensured by the log det),
mass below its limit, centre of mass in its box, rotors above their minimum. `expanded`, the fast one, has the second
order of that divergence and no constraints on links: a non-negative least-squares problem, for cross-validation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import scipy
from scipy.linalg import cho_factor, cho_solve

from trocar.errors import TrocarError
from trocar.identification.consistency import Prior, solve
from trocar.identification.design import Design
from trocar.mechanics.inertia import NAMES
from trocar.mechanics.recursion import BaseParameters
from trocar.spatial import Array

BAND = 1.0  # [Hz]


def expanded(problem: Design, G: Array, h: Array) -> Array:
    """theta (k,) from X'X and X'(tau - X theta_prior) of the fitted rows."""
    A = G + np.diag(problem.penalty)
    h = h + A @ problem.theta_prior
    N, F = np.flatnonzero(problem.positive), np.flatnonzero(~problem.positive)
    inner = cho_factor(A[np.ix_(F, F)])
    # Free coordinates are eliminated; the remaining unknowns are non-negative.
    coupling = A[np.ix_(N, F)]
    S = A[np.ix_(N, N)] - coupling @ cho_solve(inner, coupling.T)
    L = np.linalg.cholesky(S)
    theta = np.empty(len(h))
    theta[N], _ = scipy.optimize.nnls(
        L.T, np.linalg.solve(L, h[N] - coupling @ cho_solve(inner, h[F])), maxiter=100 * len(N)
    )
    theta[F] = cho_solve(inner, h[F] - coupling.T @ theta[N])
    return theta


def consistent(
    problem: Design,
    priors: Mapping[str, Prior],
    prior_weight: float,
    least_rotors: Mapping[str, float],
    G: Array,
    h: Array,
) -> tuple[Array, str]:
    """The physically consistent estimate theta (k,), from the G and h of `expanded`; and the solver's status.

    `least_rotors` are lower bounds of rotor inertias, by drive [kg m^2]. A status other than optimal is an error.
    """
    count = 10 * len(problem.links)
    penalty = np.where(np.arange(len(h)) < count, 0.0, problem.penalty)
    # Condensed: |R theta - d|^2 differs from the objective by a constant. Unexcited directions are excluded from R.
    values, axes = np.linalg.eigh(G + np.diag(penalty))
    excited = values > 1e-13 * values[-1]
    R = np.sqrt(values[excited])[:, None] * axes[:, excited].T
    d = (axes[:, excited].T @ h) / np.sqrt(values[excited]) + R @ problem.theta_prior
    theta = cp.Variable(len(h))
    constraints: list[cp.Constraint] = []
    divergence = 0.0
    for k, link in enumerate(problem.links):
        Q = cp.Variable((4, 4), symmetric=True)
        i, j = np.triu_indices(4)
        scale = np.where(i == j, 1.0, np.sqrt(2.0))
        constraints.append(
            theta[10 * k : 10 * k + 10] == cp.multiply(scale, cp.hstack([Q[a, b] for a, b in zip(i, j, strict=True)]))
        )
        divergence += cp.trace(Q) - cp.log_det(Q)
        phi = problem.M[[problem.names.index(f"{link}.{x}") for x in NAMES[:4]]] @ theta
        prior = priors[link]
        if np.isfinite(prior.largest_mass):
            constraints.append(phi[0] <= prior.largest_mass)
        if prior.lower is not None and prior.upper is not None:
            constraints += [phi[1:] >= prior.lower * phi[0], phi[1:] <= prior.upper * phi[0]]
    constraints.append(theta[problem.positive] >= 0)
    if least_rotors:
        rotors = [problem.names.index(f"{drive}.Im") for drive in least_rotors]
        constraints.append(problem.M[rotors] @ theta >= np.array(list(least_rotors.values())))
    objective = cp.sum_squares(R @ theta - d) + prior_weight * divergence
    advice = (
        ". The usual causes are constraints that no model can satisfy (masses, boxes of the prior), or a recording of "
        "another arm"
    )
    status = solve(cp.Problem(cp.Minimize(objective), constraints), "no physically consistent parameters", advice)
    values = np.asarray(theta.value)
    # The solver satisfies its bounds to 1e-9: friction that is zero at an end of its range must not become negative
    # there.
    return np.where(problem.positive, np.maximum(values, 0.0), values), status


@dataclass(frozen=True)
class BaseEstimate:
    """Least-squares estimate of base parameters.

    Attributes:
        names: (b,) name of the column of each; other parameters of the model are lumped in.
        values, standard_deviations: (b,). covariance: (b, b). residual: (N, n) unexplained effort.
    """

    names: tuple[str, ...]
    values: Array
    covariance: Array
    residual: Array

    @property
    def standard_deviations(self) -> Array:
        return np.sqrt(np.diag(self.covariance))


def base_estimate(
    Y: Array, tau: Array, base: BaseParameters, names: Sequence[str], weights: Array | None = None
) -> BaseEstimate:
    """Minimise the sum over joints of weights^2 |tau - Y phi|^2, Y (N, n, p), tau (N, n), weights (n,) or None for 1.

    The residual of each joint is treated as noise with the correlation time that it shows.
    """
    N, n = tau.shape
    w = np.ones(n) if weights is None else weights
    chosen = [names[i] for i in base.independent]
    X = Y[..., base.independent] * w[:, None]
    flat = X.reshape(N * n, -1)
    scale = np.linalg.norm(flat, axis=0)
    unseen = scale <= 1e-12 * scale.max()
    if unseen.any():
        raise TrocarError(f"the recording does not excite {', '.join(np.array(chosen)[unseen])}")
    R = np.asarray(np.linalg.qr(flat / scale, mode="r"))
    s = np.linalg.svd(R, compute_uv=False)
    if s[-1] < 1e-8 * s[0]:
        v = np.linalg.svd(R)[2][-1]
        worst = [chosen[i] for i in np.argsort(-np.abs(v))[:3] if abs(v[i]) > 0.2]
        raise TrocarError(f"the recording cannot separate {', '.join(worst)}: excite them independently")
    inverse = np.linalg.inv(R.T @ R)
    theta = np.linalg.lstsq(flat / scale, (tau * w).ravel(), rcond=None)[0]
    residual = tau - (X @ (theta / scale)) / w
    spread = sum(noise_variance(residual[:, j] * w[j]) * (X[:, j] / scale).T @ (X[:, j] / scale) for j in range(n)) * (
        N * n / (N * n - len(theta))
    )
    covariance = inverse @ spread @ inverse / np.outer(scale, scale)
    return BaseEstimate(tuple(chosen), theta / scale, covariance, residual)


def disturbance(X: Array, residual: Array, rows: Array, rate: float) -> Array:
    """Covariance (k, k) of X'e over some rows (N,), for stationary noise e with the spectrum of the residual (N,).

    The spectrum is averaged over bands of BAND, so that it includes the noise between the harmonics of the motion.
    """
    X, e = np.where(rows[:, None], X, 0.0), np.where(rows, residual, 0.0)
    count = len(e)
    width = 2 * round(0.5 * BAND * count / rate) + 1
    power = np.abs(np.fft.fft(e)) ** 2 / max(1, rows.sum())
    spectrum = scipy.ndimage.uniform_filter1d(power, width, mode="wrap")
    F = np.fft.fft(X, axis=0) * np.sqrt(spectrum)[:, None]
    return np.asarray((F.real.T @ F.real + F.imag.T @ F.imag) / count)


def noise_variance(residual: Array) -> float:
    """Variance of the white noise that would disturb slow signals as much as this residual (N,).

    It is the variance times the sum of the autocorrelation, up to its first negative value.
    """
    e = residual - residual.mean()
    length = len(e)
    spectrum = np.abs(np.fft.rfft(e, 2 * length)) ** 2
    correlation = np.fft.irfft(spectrum)[:length] / length
    if correlation[0] == 0:
        return 0.0
    below = np.flatnonzero(correlation < 0)
    end = int(below[0]) if below.size else length
    return float(correlation[0] + 2 * correlation[1:end].sum())
