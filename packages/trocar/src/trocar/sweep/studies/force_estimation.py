"""Sensorless force estimation: true forces at the tip against estimates from motor efforts.

Every row is one session of a PSM (`wang2019`) on a day with its own friction: each drive's friction is multiplied
by a factor whose logarithm has the standard deviation `day`. The arm follows smooth random joint paths in free motion
and then under a force at the wrist. Three estimates from the measured motion and effort:
the residual effort of the identified model, a momentum observer with the same model, and a learned model, ridge
regression of the residual effort on features of the motion, fitted to the free motion of this session.

Errors are root mean squares per component, in newtons and as a share of the range of the true force, in which published
neural networks reach 3.07 % on a dVRK Classic and 5.2 % on an Si (arXiv 2405.07453, 2012.01479).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from trocar import batch
from trocar.control.observers import wrist_force
from trocar.mechanics import Mechanism, load_mechanism
from trocar.spatial import Array
from trocar.sweep.results import Figures, Results

ROWS = 60
SET = "wang2019"
DT, EVERY = 1e-3, 5  # [s]; recorded at 200 Hz
STEPS = 6000  # of the free and of the loaded motion each
SKIPPED = 60  # samples at the start
STIFFNESS = 40.0  # natural frequency of position control [rad/s], critically damped
DAYS = (0.0, 0.1, 0.2)
PEAK = 4.0  # of the force per component [N]
GAIN = 20.0  # of the momentum observer [1/s]
RIDGE = 1e-3
NOISE = np.array([0.005, 0.005, 0.02])  # of the measured efforts of the first three joints [N m, N]
COVARIANCE = np.diag([0.03, 0.05, 0.14]) ** 2  # of the residual effort [N m, N], docs/observers.md
METHODS = ("residual", "observer", "learned")
PUBLISHED = {
    "neural network on a dVRK Classic": 3.07,
    "neural network on a dVRK Si": 5.2,
}  # arXiv 2405.07453, 2012.01479


def table(rows: int, seed: int) -> dict[str, Any]:
    return {"day": np.resize(DAYS, rows)}


def run(day: float, seed: int) -> dict[str, Any]:
    """RMS errors [N] and their shares of the range [%], by method; the range of the true force [N]."""
    nominal, mechanism = _arm()
    rng = np.random.default_rng(seed)
    drives = mechanism.tree.drives
    factors = np.exp(day * rng.normal(size=len(drives.Fc)))[:, None]
    today = nominal.with_parameters(Fc=drives.Fc[:, None] * factors, Fv=drives.Fv[:, None] * factors)
    free = _session(today, mechanism, _path(rng), np.zeros((STEPS, 3)), rng)
    force = _forces(rng)
    loaded = _session(today, mechanism, _path(rng), force, rng)
    true = force[::EVERY][SKIPPED:]
    weights = _learned(free)
    residual = loaded.residual
    estimates = {
        "residual": residual,
        "observer": _observed(mechanism, loaded),
        "learned": residual - _features(loaded) @ weights,
    }
    span = float(np.ptp(true))
    outcome: dict[str, Any] = {"range": span}
    for name, effort in estimates.items():
        error = wrist_force(mechanism, loaded.q, effort, COVARIANCE).value - true
        rms = float(np.sqrt((error**2).mean()))
        outcome |= {f"{name}_rms": rms, f"{name}_share": 100.0 * rms / span}
    return outcome


class _Session:
    """Motion (T, 7) and residual effort (T, 7) of a session: model minus measured motor effort."""

    def __init__(self, q: Array, dq: Array, tau: Array, mechanism: Mechanism) -> None:
        self.q, self.dq, self.tau = q, dq, tau
        self.ddq = np.gradient(dq, EVERY * DT, axis=0)
        self.residual = mechanism.inverse_dynamics(q, dq, self.ddq, friction=True) - tau


def _session(arms: Any, mechanism: Mechanism, path: Array, force: Array, rng: np.random.Generator) -> _Session:
    """Follow a path (T, 7) under forces (T, 3) on the wrist, base axes [N].

    The generated controller has no input for external efforts: they shift its reference, and are subtracted from the
    recorded effort, which leaves the effort of the motors.
    """
    assert mechanism.arm.wrist_point is not None
    M = np.diag(mechanism.mass_matrix(path[0]))
    kp, kd = M * STIFFNESS**2, 2.0 * M * STIFFNESS
    J = mechanism.jacobian(path, mechanism.arm.wrist_point)[:, :3, :3]
    outer = np.zeros((STEPS, 7))
    outer[:, :3] = np.einsum("tij,ti->tj", J, force)
    reference = (path + outer / kp)[:, :, None]
    law = batch.JointPD(reference, kp, kd, np.gradient(path, DT, axis=0)[:, :, None])
    _, log = arms.rollout(arms.state(reference[0]), law, DT, every=EVERY)
    q, dq, tau = (np.asarray(x)[:, :, 0][SKIPPED:] for x in (log.q, log.dq, log.tau))
    motors = tau - outer[::EVERY][SKIPPED:]
    motors[:, :3] += NOISE * rng.normal(size=(len(motors), 3))
    return _Session(q, dq, motors, mechanism)


def _observed(mechanism: Mechanism, session: _Session) -> Array:
    """Residual efforts (T, 7) of a momentum observer: r = K (p - integral of (tau + C' dq - g - f + r))."""
    dt, q, dq = EVERY * DT, session.q, session.dq
    M = mechanism.mass_matrix(q)
    p = np.einsum("tij,tj->ti", M, dq)
    # C' dq = dM/dt dq - C dq, with dM/dt from differences
    change = np.einsum("tij,tj->ti", np.gradient(M, dt, axis=0), dq)
    zero = np.zeros_like(q)
    drift = mechanism.inverse_dynamics(q, dq, zero, friction=True)  # C dq + g + f
    r, total = np.zeros_like(q), np.zeros(q.shape[1])
    for k in range(1, len(q)):
        total = total + dt * (session.tau[k] + change[k] - drift[k] + r[k - 1])
        r[k] = GAIN * (p[k] - p[0] - total)
    return r  # positive: an external effort that drives the joints


def _features(session: _Session) -> Array:
    """Features (T, k) of the motion, in which friction and inertia are linear: directions, speeds, accelerations."""
    sign = np.tanh(session.dq[:, :3] / np.array([0.02, 0.02, 0.002]))
    return np.column_stack([np.ones(len(sign)), sign, session.dq[:, :3], session.ddq[:, :3]])


def _learned(session: _Session) -> Array:
    """Weights (k, 7) of a ridge regression of the residual effort of a free motion."""
    X = _features(session)
    scale = np.where(X.std(axis=0) > 0.0, X.std(axis=0), 1.0)  # 1 for the constant feature
    A = X / scale
    weights = np.linalg.solve(A.T @ A + RIDGE * len(A) * np.eye(A.shape[1]), A.T @ session.residual)
    return np.asarray(weights / scale[:, None])


def _path(rng: np.random.Generator) -> Array:
    """Smooth random joint paths (STEPS, 7): sums of three sinusoids."""
    t = DT * np.arange(STEPS)[:, None]
    size = np.array([0.25, 0.2, 0.02, 0.2, 0.15, 0.15, 0.0])
    path = np.zeros((STEPS, 7)) + [0.0, 0.0, 0.15, 0.0, 0.0, 0.0, 0.4]
    for _ in range(3):
        rate, phase = 2.0 * np.pi * rng.uniform(0.1, 0.5, 7), rng.uniform(0.0, 2.0 * np.pi, 7)
        path = path + size / 2.0 * np.sin(rate * t + phase)
    return path


def _forces(rng: np.random.Generator) -> Array:
    """Smooth random forces (STEPS, 3) [N]."""
    t = DT * np.arange(STEPS)[:, None]
    rate, phase = 2.0 * np.pi * rng.uniform(0.2, 0.5, 3), rng.uniform(0.0, 2.0 * np.pi, 3)
    return np.asarray(PEAK * rng.uniform(0.5, 1.0, 3) * np.sin(rate * t + phase))


@cache
def _arm() -> tuple[Any, Mechanism]:
    mechanism = load_mechanism("PSM", SET)
    return batch.load(mechanism), mechanism


def findings(results: Results) -> list[tuple[str, str]]:
    lines, day = [], results["day"]
    for d in np.unique(day):
        at = day == d
        parts = [f"{name} {_median(results, name, at)}" for name in METHODS]
        lines.append((f"friction off by {d:.0%} (one standard deviation), {at.sum()} sessions", "; ".join(parts)))
    lines += [(f"published: {source}", f"{share:g} % of the range") for source, share in PUBLISHED.items()]
    return lines


def _median(results: Results, name: str, at: Array) -> str:
    rms, share = (float(np.median(results[f"{name}_{part}"][at])) for part in ("rms", "share"))
    return f"{rms:.2f} N = {share:.1f} %"


def figures(results: Results) -> Figures:
    from trocar.plots import panels

    figure, axes = panels((6.0, 3.2), 1, 1)
    day = results["day"]
    for k, name in enumerate(METHODS):
        values = [results[f"{name}_share"][day == d] for d in np.unique(day)]
        axes.boxplot(values, positions=np.arange(len(values)) + 0.25 * (k - 1), widths=0.2, showfliers=False)
    for share in PUBLISHED.values():
        axes.axhline(share, linestyle="--")
    axes.set_xticks(range(len(np.unique(day))), [f"{d:.0%}" for d in np.unique(day)])
    axes.set(xlabel="change of friction (one standard deviation)", ylabel="RMS error [% of the range]")
    return [(figure, "Residual, momentum observer and learned model, from left to right; dashed: published.")]
