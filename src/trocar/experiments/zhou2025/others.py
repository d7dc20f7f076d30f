"""Gravity compensation of one dVRK-Si PSM on others, and with a model that is wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trocar.experiments.zhou2025 import runs
from trocar.identification.si_parameters import completed
from trocar.identification.si_static_table import identified, measured
from trocar.mechanics import Mechanism, load_mechanism
from trocar.spatial import Array

OTHER = np.radians(-45.0)  # where PSM1 and PSM2 of a Si cart are mounted


@dataclass(frozen=True)
class Drawn:
    """Number of arms that stay still for 5 s: level; pitched, compensated for it; pitched, compensated as if level."""

    same: int
    told: int
    untold: int


def arms_drawn(model: Mechanism, count: int, seed: int = 0) -> Drawn:
    """Arms with the model's gravity, scattered as the measured gravity is, compensated by the model."""
    rng = np.random.default_rng(seed)
    fit, scatter = identified(), measured().covariance
    arm = model.arm
    told = load_mechanism(runs.ARM, runs.MODEL, mounting=OTHER)
    held = np.zeros(3, dtype=int)
    for _ in range(count):
        x = rng.multivariate_normal(np.concatenate([fit.coefficients, fit.offset]), scatter)
        other = completed(runs.ARM, "drawn", replace(fit, coefficients=x[:5], offset=x[5:]))
        q = rng.uniform(arm.lower, arm.upper)
        q[3:] = 0.0
        for i, (mounting, compensation) in enumerate(((0.0, model), (OTHER, told), (OTHER, model))):
            sim = runs.simulator_of(other, mounting=mounting)
            held[i] += stays(sim, compensation, q)
    return Drawn(*held.tolist())


def stays(sim: runs.Simulator, model: Mechanism, q: Array) -> bool:
    """True if the arm stays at q (7,) for 5 s under open-loop compensation."""
    sim.reset(q)
    for k in range(round(runs.STILL / sim.timestep)):
        if k % 10 == 0:
            if (np.abs(sim.q - q)[:3] > runs.DRIFT).any():
                return False
            tau = runs.held_by(model, sim.q)
        sim.step(tau)
    return bool((np.abs(sim.q - q)[:3] <= runs.DRIFT).all())


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
    Fo = true - model.gravity(q)[:, :3]
    cases: list[tuple[str, Array]] = [
        ("links 10 % too light", 0.9 * (true - Fo) + Fo),
        ("links 10 % too heavy", 1.1 * (true - Fo) + Fo),
    ]
    others: list[tuple[str, dict[str, Any]]] = [
        *((f"instrument {1e3 * mass:+.0f} g", {"added_mass": mass}) for mass in (0.1, -0.1, 0.3)),
        *((f"mounting {pitch:+.0f} deg", {"mounting": np.radians(pitch)}) for pitch in (5.0, -5.0)),
    ]
    for name, option in others:
        cases.append((name, runs.holding(load_mechanism(runs.ARM, runs.MODEL, **option), q)))
    cases += [
        ("the dVRK's masses", runs.holding(load_mechanism(runs.ARM, "saw"), q)),
        ("no compensation", np.zeros_like(true)),
    ]
    found = []
    for name, tau in cases:
        used = np.abs(tau - true) / band
        found.append(Wrong(name, float((used <= 1.0).all(-1).mean()), used))
    return found
