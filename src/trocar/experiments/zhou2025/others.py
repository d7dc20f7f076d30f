"""Gravity compensation of one dVRK-Si PSM applied to others, and with wrong models."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from trocar.experiments.zhou2025 import runs
from trocar.identification.si.parameters import completed
from trocar.identification.si.static_table import identified, measured
from trocar.mechanics import Mechanism, load_mechanism
from trocar.spatial import Array

OTHER = np.radians(-45.0)  # mounting of PSM1 and PSM2 on a Si cart


@dataclass(frozen=True)
class Drawn:
    """Number of arms that stay still for 5 s: level; pitched, mounting known; pitched, compensated as if level."""

    same: int
    known: int
    unknown: int


def arms_drawn(model: Mechanism, count: int, seed: int = 0) -> Drawn:
    """Simulate arms drawn from the covariance of the measured gravity, compensated by the model."""
    rng = np.random.default_rng(seed)
    fit, scatter = identified(), measured().covariance
    arm = model.arm
    known = load_mechanism(runs.ARM, runs.MODEL, mounting=OTHER)
    held = np.zeros(3, dtype=int)
    for _ in range(count):
        x = rng.multivariate_normal(np.concatenate([fit.coefficients, fit.K0]), scatter)
        other = completed(runs.ARM, "drawn", replace(fit, coefficients=x[:5], K0=x[5:]))
        q = rng.uniform(arm.lower, arm.upper)
        q[3:] = 0.0
        for i, (mounting, compensation) in enumerate(((0.0, model), (OTHER, known), (OTHER, model))):
            sim = runs.still_simulator(other, mounting)
            held[i] += not runs.drifts(sim, q, partial(runs.held_by, compensation))
    return Drawn(*held.tolist())


@dataclass(frozen=True)
class Wrong:
    """An error of the model: its name, the share of poses at which the arm stays still, error over half-band (N, 3)."""

    name: str
    held: float
    used: Array


def sensitivity(model: Mechanism, poses: int = 2000) -> list[Wrong]:
    """Errors of a model relative to the static friction band of the true arm, here the model without them."""
    arm = model.arm
    q = np.random.default_rng(0).uniform(arm.lower, arm.upper, (poses, arm.n))
    true, band = runs.holding(model, q), runs.static_band(model, q)
    K0 = model.drives.constant[:3]

    def held(parameters: str = runs.MODEL, **option: Any) -> Array:
        return runs.holding(load_mechanism(runs.ARM, parameters, **option), q)

    cases = {
        "links 10 % too light": 0.9 * (true - K0) + K0,
        "links 10 % too heavy": 1.1 * (true - K0) + K0,
        **{f"instrument {1e3 * mass:+.0f} g": held(added_mass=mass) for mass in (0.1, -0.1, 0.3)},
        **{f"mounting {pitch:+.0f} deg": held(mounting=np.radians(pitch)) for pitch in (5.0, -5.0)},
        "the dVRK's masses": held("saw"),
        "no compensation": np.zeros_like(true),
    }
    used = {name: np.abs(tau - true) / band for name, tau in cases.items()}
    return [Wrong(name, float((share <= 1.0).all(-1).mean()), share) for name, share in used.items()]
