"""Gravity compensation of one dVRK-Si PSM applied to others, with wrong models, and to arms of another structure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trocar.arms import load_arm
from trocar.arms.parameters import Dahl, Drive, Inertia, Parameters, load_parameters
from trocar.experiments.zhou2025 import runs
from trocar.identification.si.gravity import identified, measured
from trocar.identification.si.parameters import completed
from trocar.mechanics import Mechanism, load_mechanism
from trocar.mechanics.inertia import barycentric, from_pseudo_inertia, pseudo_inertia, standard
from trocar.spatial import Array

OTHER = np.radians(-45.0)  # mounting of PSM1 and PSM2 on a Si cart
# Drives with half of their Coulomb friction as friction with memory, and its distances [rad, m], as
# identified on the Classic PSM. The friction of the cannula depends on depth and is unchanged.
HYSTERESIS = {"yaw": (2e-3, 2e-2), "pitch": (3e-3, 2e-2), "insertion": (1e-4, 1e-3)}
# Standard deviations of the random links: mass (relative), shear and stretch (relative), centre of mass [m].
MASS, SHAPE, CENTRE = 0.15, 0.10, 0.01
# ASSUMED: inertia of the instrument's shaft and wrist, which Table I lacks.
WRIST = {
    "roll": Inertia(mass=0.03, com=np.array([0.0, 0.0, -0.2]), I=np.diag([4e-4, 4e-4, 1e-6])),
    "wrist_pitch": Inertia(mass=0.003, com=np.array([0.004, 0.0, 0.0]), I=1e-7 * np.eye(3)),
}


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
            held[i] += not runs.drifts(sim, q, compensation.gravity)
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


def unlike(seed: int) -> Parameters:
    """An arm with the friction and gravity of Table II, but otherwise different from the identified model."""
    rng, arm, measured = np.random.default_rng(seed), load_arm(runs.ARM), load_parameters(runs.ARM, runs.TRUTH)
    inertias = {body: _drawn(inertia, rng) for body, inertia in measured.inertias.items()} | WRIST
    return replace(
        measured,
        name=f"unlike_{seed}",
        inertias={body.name: inertias[body.name] for body in arm.bodies if body.name in inertias},
        drives=tuple(_with_memory(drive) for drive in measured.drives),
    )


def _drawn(inertia: Inertia, rng: np.random.Generator) -> Inertia:
    """The inertia sheared, stretched, moved and scaled; it stays physically consistent."""
    A = np.eye(4)
    A[:3, :3] += SHAPE * rng.normal(size=(3, 3))
    A[:3, 3] = CENTRE * rng.normal(size=3)
    scale = np.exp(MASS * rng.normal())
    return standard(from_pseudo_inertia(scale * A @ pseudo_inertia(barycentric(inertia)) @ A.T))


def _with_memory(drive: Drive) -> Drive:
    deltas = HYSTERESIS.get(drive.name, ())
    if not deltas:
        return drive
    elements = tuple(Dahl(delta=delta, F=0.5 * drive.Fc / len(deltas)) for delta in deltas)
    return replace(drive, Fc=0.5 * drive.Fc, hysteresis=elements)
