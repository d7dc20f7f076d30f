"""Ordinary and weighted least squares in base parameters, with standard deviations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trocar.errors import TrocarError
from trocar.mechanics.recursion import BaseParameters
from trocar.spatial import Array


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
    R: Array = np.linalg.qr(flat / scale, mode="r")  # type: ignore[assignment]
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
