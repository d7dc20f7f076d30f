"""Spread of identified parameters: bootstrap against analytic covariance.

An ECM follows a periodic motion; like a measured effort, its effort has noise that is correlated over several samples.
Each row resamples the residual of the fit in blocks (moving-block bootstrap) and identifies again: base parameters by
weighted least squares, and the physically consistent set of `tr.identify`, converted to base parameters. The spread
over the rows is compared with the covariance that each method reports for the single recording.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import scipy

from trocar.identification import identify
from trocar.identification.estimators import base_estimate
from trocar.mechanics import load_mechanism
from trocar.recording import Recording
from trocar.spatial import Array
from trocar.sweep.results import Figures, Results

ROWS = 400
ARM, RATE, DURATION = "ECM", 100.0, 40.0  # [Hz], [s]
NOISE = np.array([0.15, 0.15, 0.6, 0.03])  # standard deviation of the effort's noise [N m, N]
MEMORY = 0.01  # correlation time of the noise [s]
BLOCK = 1.0  # block length of the bootstrap [s]: long compared with the noise, short compared with the motion


@dataclass(frozen=True)
class Fit:
    """Base parameters by one method. names, values, deviations: (b,). predicted: (N, n) effort of the fit [N m, N]."""

    names: tuple[str, ...]
    values: Array
    deviations: Array
    predicted: Array


def table(rows: int, seed: int) -> dict[str, Any]:
    return {"replicate": np.arange(rows)}


def run(replicate: int, seed: int) -> dict[str, Any]:
    """Base parameters by both methods from resampled residuals, and their analytic deviations."""
    recording, fits = original()
    results: dict[str, Any] = {}
    for method in METHODS:
        residual = np.asarray(recording.tau) - fits[method].predicted
        tau = fits[method].predicted + _resampled(residual, np.random.default_rng(seed))
        again = METHODS[method](replace(recording, tau=tau))
        results |= {method: again.values, f"{method}_deviations": again.deviations}
    return results


@cache
def original() -> tuple[Recording, dict[str, Fit]]:
    """The recording, and its fits by method."""
    mechanism = load_mechanism(ARM)
    t = np.arange(round(DURATION * RATE)) / RATE
    w = np.outer([2.0, 5.2], [1.0, 1.3, 1.55, 1.15])  # [rad/s]
    phase = np.array([0.0, 1.0])[:, None]
    size = np.array([0.5, 0.4, 0.05, 0.6]) * np.array([[1.0], [0.4]])  # [rad, m]
    angle = w * t[:, None, None] + phase
    q = np.array([0.0, 0.0, 0.12, 0.0]) + (size * np.sin(angle)).sum(1)
    dq, ddq = (size * w * np.cos(angle)).sum(1), -(size * w**2 * np.sin(angle)).sum(1)
    tau = mechanism.inverse_dynamics(q, dq, ddq, friction=True) + mechanism.effort_bias
    joints: Any = {"joints": mechanism.arm.joint_names, "joint_units": mechanism.arm.joint_units}
    recording = Recording(t=t, q=q, dq=dq, ddq=ddq, tau=tau + _noise(tau.shape), **joints)
    return recording, {method: fit(recording) for method, fit in METHODS.items()}


def _noise(shape: tuple[int, ...]) -> Array:
    """First-order correlated noise."""
    memory = np.exp(-1.0 / (RATE * MEMORY))
    white = np.random.default_rng(0).normal(size=shape)
    white[1:] *= np.sqrt(1.0 - memory**2)
    return NOISE * np.asarray(scipy.signal.lfilter([1.0], [1.0, -memory], white, axis=0))


def _resampled(residual: Array, rng: np.random.Generator) -> Array:
    """Random blocks of the residual (N, n), all joints together."""
    length = round(BLOCK * RATE)
    centred = residual - residual.mean(0)
    starts = rng.integers(0, len(residual) - length + 1, -(-len(residual) // length))
    return np.concatenate([centred[start : start + length] for start in starts])[: len(residual)]


def _least_squares(recording: Recording) -> Fit:
    mechanism, tau = load_mechanism(ARM), np.asarray(recording.tau)
    assert recording.ddq is not None
    Y = mechanism.regressor(recording.q, recording.dq, recording.ddq)
    estimate = base_estimate(Y, tau, mechanism.base_parameters, mechanism.parameter_names, 1.0 / NOISE)
    return Fit(estimate.names, estimate.values, estimate.standard_deviations, tau - estimate.residual)


def _consistent(recording: Recording) -> Fit:
    """Base parameters of links, rotors and viscous friction. The prior separates elements of dry friction."""
    identified = identify(recording, ARM, cross_validate=False)
    mechanism = identified.recipe.mechanism()
    names, base = mechanism.parameter_names, mechanism.base_parameters
    rows = [k for k, i in enumerate(base.independent) if "hysteresis" not in names[i]]
    value = dict(zip(identified.mechanism().parameter_names, identified.mechanism().parameter_vector, strict=True))
    known = [name for name in identified.names if "hysteresis" not in name]
    place = [identified.names.index(name) for name in known]
    B = base.B[rows][:, [names.index(name) for name in known]]
    return Fit(
        names=tuple(names[base.independent[k]] for k in rows),
        values=B @ np.array([value[name] for name in known]),
        deviations=np.sqrt(np.diag(B @ identified.covariance[np.ix_(place, place)] @ B.T)),
        predicted=identified.efforts(recording),
    )


METHODS = {"least_squares": _least_squares, "consistent": _consistent}


def ratios(results: Results, method: str) -> tuple[Array, Array]:
    """Spread over the rows over the analytic deviation of the recording (b,), and the standard errors of these ratios.

    A standard deviation estimated from R values has a relative error of 1 / sqrt(2 R). The analytic one is an estimate
    from one recording; the rows show its variation.
    """
    values, analytic = results[method], results[f"{method}_deviations"]
    ratio = values.std(0, ddof=1) / original()[1][method].deviations
    return ratio, ratio * np.sqrt(0.5 / len(values) + (analytic.std(0) / analytic.mean(0)) ** 2)


def findings(results: Results) -> list[tuple[str, str]]:
    lines = []
    for method in METHODS:
        ratio, error = ratios(results, method)
        within = int((np.abs(ratio - 1.0) <= 2.0 * error).sum())
        text = f"median {np.median(ratio):.3f} +- {np.median(error):.3f}, from {ratio.min():.2f} to {ratio.max():.2f}"
        agree = f"{within} of {len(ratio)} parameters are within two standard errors of 1"
        lines.append((f"{method.replace('_', ' ')}: bootstrap over analytic deviation", f"{text}; {agree}"))
    return lines


def figures(results: Results) -> Figures:
    from trocar.plots import panels

    figure, both = panels((9.0, 3.6), 1, 2)
    for axes, method in zip(both, METHODS, strict=True):
        fit = original()[1][method]
        spread = results[method].std(0, ddof=1)
        axes.loglog(fit.deviations, spread, "o", markersize=4)
        ends = [min(fit.deviations.min(), spread.min()), max(fit.deviations.max(), spread.max())]
        axes.loglog(ends, ends, "k-", linewidth=0.8)
        axes.set(title=method.replace("_", " "), xlabel="analytic deviation", ylabel="spread of the bootstrap")
    return [(figure, f"Base parameters of the {ARM}, each a point (SI units); on the line both deviations are equal.")]
