"""Payload and force estimates under day-to-day changes of friction.

The friction of a robot changes from day to day, but the model is identified once. Every row simulates one day: the
friction of each drive of a PSM (`wang2019`) is multiplied by a factor whose logarithm has the standard deviation `day`.
The arm carries a mass along a path, which is estimated from the residual effort of the model; then a force acts on the
wrist along the same path without the mass and is estimated in the same way. Uses compiled steps of `trocar.batch`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from trocar import batch
from trocar.control.observers import PointMass, estimate_payload, wrist_force
from trocar.mechanics import Mechanism, load_mechanism
from trocar.spatial import Array
from trocar.sweep.results import Figures, Results

ROWS = 1000
BATCH = 64
SET = "wang2019"
DT, STEPS, EVERY = 1e-3, 3000, 10  # [s]; recorded at 100 Hz
SKIPPED = 30  # samples skipped at the start
STIFFNESS = 40.0  # natural frequency of position control [rad/s], critically damped
DAYS = (0.0, 0.1, 0.2, 0.4)
# standard deviations of the residual effort of models on a robot [N m, N], docs/observers.md
COVARIANCE = np.diag([0.03, 0.05, 0.14]) ** 2
CALM = 0.3  # the force is the median over samples with joint speeds above this fraction of their mean


def table(rows: int, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {"day": np.resize(DAYS, rows), "mass": rng.uniform(0.0, 0.15, rows), "force": rng.uniform(0.0, 3.0, rows)}


def run(day: Array, mass: Array, force: Array, seed: Array) -> dict[str, Array]:
    """Estimated mass [kg] and its deviation; estimated and true force (3,), base axes [N]; force error [N]."""
    nominal, mechanism, reference, kp, kd = _bench()
    N, drives = len(day), mechanism.tree.drives
    rngs = [np.random.default_rng(k) for k in seed]
    factors = np.array([np.exp(d * rng.normal(size=len(drives.Fc))) for d, rng in zip(day, rngs, strict=True)]).T
    directions = np.array([rng.normal(size=3) for rng in rngs])
    true = force[:, None] * np.array([v / np.linalg.norm(v) for v in directions])
    today = nominal.with_parameters(Fc=drives.Fc[:, None] * factors, Fv=drives.Fv[:, None] * factors)
    carried, estimates = today.with_parameters(payload=mass), []
    q, dq, ddq, tau = _run(carried, np.repeat(reference[:, :, None], N, axis=-1), kp, kd)
    tree = mechanism.tree
    x, y, z = (float(v) for v in tree.T_body_tip[:3, 3])
    unit = PointMass(mechanism, tree.names[tree.tip_body], (x, y, z)).effort(q, dq, ddq)
    for k in range(N):
        residual = (tau[:, k] - mechanism.inverse_dynamics(q[:, k], dq[:, k], ddq[:, k], friction=True))[:, :3]
        estimates.append(estimate_payload(residual, unit[:, k, :3], COVARIANCE, window=len(residual)))
    estimate = _force(today, mechanism, reference, kp, kd, true)
    return {
        "mass_estimate": np.array([x.mass for x in estimates]),
        "mass_deviation": np.array([x.deviation for x in estimates]),
        "force_true": true,
        "force_estimate": estimate,
        "force_error": np.linalg.norm(estimate - true, axis=1),
    }


def _force(arms: Any, mechanism: Mechanism, reference: Array, kp: Array, kd: Array, true: Array) -> Array:
    """Forces (N, 3) at the wrist point estimated from the motion under the true forces (N, 3) [N].

    The generated controller has no input for external efforts: they are applied as a shift of its reference and
    subtracted from the recorded effort, which leaves the effort of the motors.
    """
    assert mechanism.arm.wrist_point is not None
    J = mechanism.jacobian(reference, mechanism.arm.wrist_point)[:, :3, :3]
    outer = np.zeros((STEPS, arms.n, len(true)))
    outer[:, :3] = np.einsum("tij,ki->tjk", J, true)
    q, dq, ddq, tau = _run(arms, reference[:, :, None] + outer / kp[:, None], kp, kd)
    motors = tau - outer[::EVERY].transpose(0, 2, 1)[SKIPPED:]
    residual = mechanism.inverse_dynamics(q, dq, ddq, friction=True) - motors
    values = wrist_force(mechanism, q, residual, COVARIANCE).value
    speed = np.abs(dq[..., :3])
    moving = (speed > CALM * speed.mean((0, 1))).all(-1)
    return np.array([np.median(values[moving[:, k], k], axis=0) for k in range(len(true))])


def _run(arms: Any, reference: Array, kp: Array, kd: Array) -> tuple[Array, Array, Array, Array]:
    """q, dq, ddq and effort (T, N, 7) of arms that follow references (T, 7, N), without the transient at the start."""
    start = arms.state(reference[0])
    _, log = arms.rollout(start, batch.JointPD(reference, kp, kd, np.gradient(reference, DT, axis=0)), DT, every=EVERY)
    q, dq, ddq, tau = (np.asarray(x).transpose(0, 2, 1)[SKIPPED:] for x in (log.q, log.dq, log.ddq, log.tau))
    return q, dq, ddq, tau


@cache
def _bench() -> tuple[Any, Mechanism, Array, Array, Array]:
    """The arm, its equations, the path (T, 7) and the gains (7,) of position control."""
    mechanism = load_mechanism("PSM", SET)
    t = DT * np.arange(STEPS)[:, None]
    size = np.array([0.4, 0.3, 0.03, 0.3, 0.2, 0.2, 0.0])
    w = 2.0 * np.pi * np.array([0.5, 0.7, 0.6, 0.4, 0.5, 0.3, 1.0])
    reference = np.array([0.0, 0.0, 0.15, 0.0, 0.0, 0.0, 0.4]) + size * np.sin(w * t)
    M = np.diag(mechanism.mass_matrix(reference[0]))
    return batch.load(mechanism), mechanism, reference, M * STIFFNESS**2, 2.0 * M * STIFFNESS


def findings(results: Results) -> list[tuple[str, str]]:
    lines = []
    day, mass, force = results["day"], _mass_error(results), results["force_error"]
    for d in np.unique(day):
        at = day == d
        text = f"mass {np.sqrt((mass[at] ** 2).mean()):.1f} g RMS, force {np.sqrt((force[at] ** 2).mean()):.2f} N RMS"
        lines.append((f"friction off by {d:.0%} (one standard deviation), {at.sum()} days", text))
    return lines


def _mass_error(results: Results) -> Array:
    return np.asarray((results["mass_estimate"] - results["mass"]) * 1e3)


def figures(results: Results) -> Figures:
    from trocar.plots import panels

    figure, (left, right) = panels((9.0, 3.2), 1, 2)
    day, mass, force = results["day"], _mass_error(results), results["force_error"]
    kinds = np.unique(day)
    for axes, values, label in ((left, mass, "error of the mass [g]"), (right, force, "error of the force [N]")):
        axes.boxplot([values[day == d] for d in kinds], whis=(5, 95), showfliers=False)
        axes.set_xticks(range(1, len(kinds) + 1), [f"{d:.0%}" for d in kinds])
        axes.set(xlabel="change of friction (one standard deviation)", ylabel=label)
    return [(figure, "Errors of the estimates; boxes hold half of the days, whiskers 90 %.")]
