"""Base parameters: the parameter combinations on which the effort depends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr, solve_triangular

from trocar.spatial import Array


@dataclass(frozen=True)
class BaseParameters:
    """`Y @ phi == Y[..., independent] @ (B @ phi)` for every state.

    Attributes:
        independent: (b,) indices of columns of the regressor that are independent.
        B: (b, p), maps all parameters to base parameters.
    """

    independent: Array
    B: Array

    def __len__(self) -> int:
        return len(self.independent)


def base_parameters(
    regressor: Callable[[Array, Array, Array], Array], lower: Array, upper: Array, states: int = 400
) -> BaseParameters:
    """Base parameters by rank-revealing QR of the regressor stacked over random states.

    The rank is read from the singular values of the column-scaled stack, at a gap that must be wide.
    """
    rng = np.random.default_rng(0)
    q = rng.uniform(lower, upper, (states, len(lower)))
    dq, ddq = rng.normal(size=(2, *q.shape))
    W = regressor(q, dq, ddq)
    W = W.reshape(-1, W.shape[-1])
    scale = np.linalg.norm(W, axis=0)
    seen = scale > 1e-10 * scale.max()  # the other columns are zero up to rounding
    W = np.where(seen, W, 0.0) / np.where(seen, scale, 1.0)
    R, order = qr(W, mode="r", pivoting=True)
    values = np.linalg.svd(R[: W.shape[1]], compute_uv=False)  # equal to those of W, which is tall while R is small
    rank = int((values > 1e-9 * values[0]).sum())
    independent, dependent = np.sort(order[:rank]), order[rank:]
    # keep columns in the order of `independent`, so that names stay in reading order
    Q, R1 = np.linalg.qr(W[:, independent])
    K = solve_triangular(R1, Q.T @ W[:, dependent])
    B = np.zeros((rank, W.shape[1]))
    B[np.arange(rank), independent] = 1.0
    B[:, dependent] = np.where(seen[dependent], K * scale[dependent], 0.0) / scale[independent][:, None]
    return BaseParameters(independent, B)
