"""Statistics of features, as LeRobot normalises with them: per episode, and of a whole data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from trocar.files import Json
from trocar.spatial import Array

QUANTILES = {"q01": 0.01, "q10": 0.1, "q50": 0.5, "q90": 0.9, "q99": 0.99}
Statistics = dict[str, Json]  # numbers as nested lists, by feature and figure


def of_array(values: Array, quantiles: bool = True) -> Json:
    """Figures (k,) over the rows of values (N, k)."""
    x = np.asarray(values, dtype=np.float64)
    figures: Json = {
        "min": x.min(axis=0).tolist(),
        "max": x.max(axis=0).tolist(),
        "mean": x.mean(axis=0).tolist(),
        "std": x.std(axis=0).tolist(),
        "count": [len(x)],
    }
    if quantiles:
        levels = np.quantile(x, list(QUANTILES.values()), axis=0)
        figures |= {name: level.tolist() for name, level in zip(QUANTILES, levels, strict=True)}
    return figures


def of_pixels(pixels: Array, frames: int, quantiles: bool = True) -> Json:
    """Figures (3, 1, 1) of colours (n, 3) from 0 to 1 of an episode of `frames` pictures."""
    figures = of_array(pixels, quantiles)
    nested = {name: [[[x]] for x in values] for name, values in figures.items() if name != "count"}
    return nested | {"count": [frames]}


def of_episode(arrays: Mapping[str, Array], quantiles: bool = True) -> Statistics:
    """Figures of all numbers of an episode."""
    return {name: of_array(values, quantiles) for name, values in arrays.items()}


def combined(episodes: Sequence[Statistics]) -> Statistics:
    """Figures of several episodes together.

    Minimum, maximum, mean and deviation are exact; quantiles are the mean of the episodes' quantiles, weighted by their
    length, which is how LeRobot combines them.
    """
    return {name: _together([figures[name] for figures in episodes]) for name in episodes[0]}


def _together(parts: Sequence[Json]) -> Json:
    stacked = {name: np.array([part[name] for part in parts], dtype=np.float64) for name in parts[0]}
    count = stacked["count"].reshape(-1, *[1] * (stacked["mean"].ndim - 1))
    total = count.sum()
    mean = (count * stacked["mean"]).sum(axis=0) / total
    spread = (count * (stacked["std"] ** 2 + (stacked["mean"] - mean) ** 2)).sum(axis=0) / total
    figures = {"min": stacked["min"].min(axis=0), "max": stacked["max"].max(axis=0), "mean": mean}
    figures |= {"std": np.sqrt(spread)}
    figures |= {name: (count * stacked[name]).sum(axis=0) / total for name in QUANTILES if name in stacked}
    result = {name: value.tolist() for name, value in figures.items()} | {"count": [int(total)]}
    return {name: result[name] for name in parts[0]}
