"""Drift under gravity compensation over mountings, tools and masses.

The drift test of Zhou et al. (2025) at scale: a dVRK-Si PSM (`zhou2025_measured`) is released at rest under the gravity
compensation of the model `zhou2025` for five seconds. Rows differ in the pose, the mounting of the base, the model's
error of the mounting, an unmodelled mass at the tip (a heavier or another tool), and the dry friction. More than
1 degree or 1 mm counts as drift. Uses compiled steps of `trocar.batch`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from trocar import batch
from trocar.mechanics import load_mechanism
from trocar.spatial import Array
from trocar.sweep.results import Figures, Results

ROWS = 2000
BATCH = 128
ARM, TRUTH, MODEL = "PSM_Si", "zhou2025_measured", "zhou2025"
DT, SECONDS, HELD = 2e-3, 5.0, 10  # [s], [s], steps between updates of the compensation
LIMIT = np.array([np.radians(1.0), np.radians(1.0), 1e-3])  # drift [rad, rad, m]
MOUNTINGS = np.radians([0.0, -15.0, -45.0, -70.0])  # pitch of the base [rad]
G = 9.81  # [m/s^2]


def table(rows: int, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    arm = load_mechanism(ARM, MODEL).arm
    inside = 0.8 * rng.uniform(-0.5, 0.5, (3, rows)) + 0.5  # away from the joint limits
    pose = arm.lower[:3, None] + (arm.upper - arm.lower)[:3, None] * inside
    return {
        "yaw": pose[0],
        "pitch": pose[1],
        "insertion": pose[2],
        "mounting": rng.choice(MOUNTINGS, rows),
        "mounting_error": np.radians(rng.uniform(-10.0, 10.0, rows)),
        "added_mass": rng.uniform(0.0, 0.15, rows),
        "friction": rng.uniform(0.5, 1.5, rows),
    }


def run(
    yaw: Array,
    pitch: Array,
    insertion: Array,
    mounting: Array,
    mounting_error: Array,
    added_mass: Array,
    friction: Array,
) -> dict[str, Array]:
    """Largest distance from the start in five seconds by joint [rad, rad, m], and a flag for drift."""
    truth, model = _arms()
    N, drives = len(yaw), truth.mechanism.tree.drives
    q = np.zeros((truth.n, N))
    q[:3] = yaw, pitch, insertion
    arms = truth.with_parameters(
        gravity=_gravity(mounting + mounting_error),
        payload=added_mass,
        Fc=drives.Fc[:, None] * friction,
        dahl_F=drives.dahl_F[:, None] * friction,
        dahl_slope=drives.dahl_slope[:, None] * friction,
    )
    known = model.with_parameters(gravity=_gravity(mounting))
    state, moved = arms.state(q), np.zeros((3, N))
    for _ in range(round(SECONDS / DT / HELD)):
        tau = known.bias(state.q, np.zeros_like(q))  # at zero speed: gravity only
        state, _ = arms.rollout(state, tau, DT, HELD, log=False)
        moved = np.maximum(moved, np.abs(state.q - q)[:3])
    return {"drift": moved.T, "drifts": np.any(moved > LIMIT[:, None], axis=0)}


@cache
def _arms() -> tuple[Any, Any]:
    return batch.load(ARM, parameters=TRUTH), batch.load(ARM, parameters=MODEL)


def _gravity(pitch: Array) -> Array:
    """Gravity (3, N) in the axes of pitched bases [m/s^2], as with `mounting=` of `load_mechanism`."""
    unit = load_mechanism(ARM, MODEL, mounting=0.0).gravity_vector / G
    turned = load_mechanism(ARM, MODEL, mounting=np.pi / 2).gravity_vector / G
    return G * (unit[:, None] * np.cos(pitch) + turned[:, None] * np.sin(pitch))


def findings(results: Results) -> list[tuple[str, str]]:
    drifts, error, mass = results["drifts"], np.degrees(results["mounting_error"]), results["added_mass"]
    exact = (np.abs(error) < 2.0) & (mass < 0.02)
    lines = [("poses that drift", f"{drifts.mean():.1%} of {len(drifts)}")]
    if exact.any():
        text = f"{drifts[exact].mean():.1%} of {exact.sum()}"
        lines.append(("with a mounting known to 2 degrees and less than 20 g added", text))
    for low, high in ((0.0, 2.5), (2.5, 5.0), (5.0, 10.0)):
        at = (np.abs(error) >= low) & (np.abs(error) < high)
        if at.any():
            lines.append((f"mounting wrong by {low:g} to {high:g} degrees", f"{drifts[at].mean():.1%} of {at.sum()}"))
    return lines


def figures(results: Results) -> Figures:
    from trocar.plots import panels

    figure, (left, right) = panels((9.0, 3.4), 1, 2)
    error, mass, drifts = np.degrees(results["mounting_error"]), results["added_mass"] * 1e3, results["drifts"]
    edges = np.linspace(-10.0, 10.0, 11), np.linspace(0.0, 150.0, 11)
    count = np.histogram2d(error, mass, bins=edges)[0]
    share = np.histogram2d(error, mass, bins=edges, weights=drifts.astype(float))[0] / np.maximum(count, 1)
    image = left.pcolormesh(*edges, np.where(count > 0, share, np.nan).T, vmin=0.0, vmax=1.0)
    figure.colorbar(image, ax=left, label="share that drifts")
    left.set(xlabel="error of the mounting [deg]", ylabel="mass added at the tip [g]")
    mounting = np.degrees(results["mounting"])
    kinds = np.unique(mounting)
    right.bar(range(len(kinds)), [drifts[mounting == m].mean() for m in kinds])
    right.set_xticks(range(len(kinds)), [f"{m:.0f}" for m in kinds])
    right.set(xlabel="mounting [deg]", ylabel="share that drifts")
    return [(figure, "Share of poses that drift within five seconds, by model error and by mounting.")]
