"""Tracking error of a controller over the covariance of an identification.

PSMs with parameters sampled from the covariance of `wang2019_refit` follow one path under computed torque with the
nominal model: the controller uses the estimate, the arm is a possible robot. sigma = 0 is the estimate, 1 the
identified covariance, 3 three times its standard deviations; speed is the speed of the path. The simulation does not
limit efforts; an arm counts as saturated if it needs more than its motors provide. Uses compiled steps of
`trocar.batch`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from trocar import batch
from trocar.mechanics import load_mechanism
from trocar.spatial import Array
from trocar.sweep.drawn import DrawnArms
from trocar.sweep.results import Figures, Results

ROWS = 1000
BATCH = 128
SET = "wang2019_refit"
DT, STEPS, EVERY = 1e-3, 2000, 20  # [s]; recorded at 50 Hz
STIFFNESS = 400.0  # controller stiffness [1/s^2], critically damped
SETTLED = 0.5  # errors are evaluated from here on [s]
SIGMAS, SPEEDS = (1.0, 3.0), (1.0, 1.4)
CENTRE = np.array([0.0, 0.0, 0.12, 0.0, 0.0, 0.0, 0.4])  # centre of the path of a PSM [rad, m]
SIZE = np.array([0.5, 0.4, 0.04, 0.8, 0.5, 0.5, 0.0])  # [rad, m]
FREQUENCY = np.array([0.5, 0.7, 0.6, 0.9, 0.8, 1.1, 1.0])  # [Hz]


def table(rows: int, seed: int) -> dict[str, Any]:
    return {"sigma": np.resize(SIGMAS, rows), "speed": np.resize(np.repeat(SPEEDS, len(SIGMAS)), rows)}


def run(sigma: Array, speed: Array, seed: Array) -> dict[str, Array]:
    """Tracking errors of the tip [m], and largest effort over the motors' limits."""
    nominal, draws = _bench()
    samples = [draws.draw(s, k) for s, k in zip(sigma, seed, strict=True)]
    arms = draws.arms(nominal, np.array([phi for phi, _ in samples]))
    q, dq, ddq = wave(DT * np.arange(STEPS), speed)
    control = batch.ComputedTorque(q, STIFFNESS, 2.0 * np.sqrt(STIFFNESS), dq, ddq)
    _, log = arms.rollout(arms.state(q[0], dq[0]), control, DT, every=EVERY)
    assert log is not None
    error = np.linalg.norm(tip_positions(nominal, log.q) - tip_positions(nominal, q[::EVERY]), axis=1)[log.t >= SETTLED]
    tree = nominal.mechanism.tree
    effort = np.abs(np.einsum("ji,tjk->tik", tree.joint_from_motor, log.tau)) / tree.motor_effort[:, None]
    return {
        "tip_rms": np.sqrt((error**2).mean(0)),
        "tip_max": error.max(0),
        "peak_effort": effort.max((0, 1)),
        "saturated": (effort > 1.0).any((0, 1)),
        "draws": np.array([count for _, count in samples]),
        "tip_error": error[:: len(error) // 15].T,
    }


def wave(t: Array, speed: Array) -> tuple[Array, Array, Array]:
    """Position, velocity and acceleration (T, 7, N) of sinusoids of all joints of a PSM at N speeds [rad, m; per s]."""
    t, size = np.asarray(t)[:, None, None], SIZE[:, None]
    w = 2.0 * np.pi * FREQUENCY[:, None] * speed
    return CENTRE[:, None] + size * np.sin(w * t), size * w * np.cos(w * t), -size * w**2 * np.sin(w * t)


def tip_positions(arms: Any, q: Array) -> Array:
    """Tip positions (T, 3, N) [m] of joint values (T, n, N) of `trocar.batch` arms, base axes."""
    T, n, N = q.shape
    tips = arms.tip_pose(q.transpose(1, 0, 2).reshape(n, T * N))[:3, 3]
    return np.asarray(tips.reshape(3, T, N).transpose(1, 0, 2))


@cache
def _bench() -> tuple[Any, DrawnArms]:
    mechanism = load_mechanism("PSM", SET)
    return batch.load(mechanism), DrawnArms(mechanism)


def findings(results: Results) -> list[tuple[str, str]]:
    lines = []
    rms, saturated = results["tip_rms"] * 1e3, results["saturated"]
    for text, at in _groups(results):
        low, middle, high = np.quantile(rms[at], [0.05, 0.5, 0.95])
        share = f"{saturated[at].mean():.1%} saturate"
        lines.append((text, f"RMS tracking error {middle:.2f} mm, 90 % within {low:.2f} to {high:.2f} mm; {share}"))
    return lines


def _groups(results: Results) -> list[tuple[str, Array]]:
    sigma, speed = results["sigma"], results["speed"]
    pairs = sorted(set(zip(sigma.tolist(), speed.tolist(), strict=True)), key=lambda pair: (pair[1], -pair[0]))
    return [(f"{s:g} sigma, speed {v:g}", (sigma == s) & (speed == v)) for s, v in pairs]


def figures(results: Results) -> Figures:
    from trocar.plots import panels

    figure, (left, right) = panels((9.0, 3.2), 1, 2)
    rms, error = results["tip_rms"] * 1e3, results["tip_error"] * 1e3
    t = np.linspace(SETTLED, DT * STEPS, error.shape[1], endpoint=False)
    span = (rms.min(), np.quantile(rms, 0.995))  # a few arms with very low rotor inertia are outliers
    for text, at in _groups(results):
        left.hist(rms[at], bins=40, range=span, density=True, alpha=0.6, label=text)
        low, high = np.quantile(error[at], [0.05, 0.95], axis=0)
        right.fill_between(t, low, high, alpha=0.4, label=text)
    left.set(xlabel="RMS tracking error of the tip [mm]", ylabel="density of arms")
    right.set(xlabel="time [s]", ylabel="error of the tip [mm]")
    left.legend()
    return [(figure, "RMS tracking error, and the band of 90 % of the arms over time.")]
