"""Exact intervals of success rates."""

from __future__ import annotations

from trocar import checks

CONFIDENCE = 0.95


def clopper_pearson(successes: int, trials: int) -> tuple[float, float]:
    """Exact 95 % interval of a success rate (Clopper and Pearson)."""
    from scipy.stats import beta  # takes long to import

    n = checks.count("trials", trials)
    k = checks.count("successes", successes, 0, n)
    tail = (1.0 - CONFIDENCE) / 2.0
    low = 0.0 if k == 0 else float(beta.ppf(tail, k, n - k + 1))
    high = 1.0 if k == n else float(beta.ppf(1.0 - tail, k + 1, n - k))
    return low, high
