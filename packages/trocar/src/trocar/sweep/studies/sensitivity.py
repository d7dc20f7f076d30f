"""Sensitivity of the tip to every parameter.

One parameter of a PSM (`wang2019`) is changed at a time: mass, centre of mass and inertia of a link; rotor inertia,
friction and stiffness of a drive. The arm follows a path under the dVRK's PID; the result is the distance of its tip
from the tip of the unchanged arm. Uses compiled steps of `trocar.batch`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from trocar import batch
from trocar.mechanics import load_mechanism
from trocar.spatial import Array
from trocar.sweep.results import Figures, Results
from trocar.sweep.studies.monte_carlo import tip_positions, wave
from trocar.sweep.table import grid

ROWS = 200
BATCH = 64
SET = "wang2019"
DT, STEPS, EVERY = 1e-3, 2000, 20  # [s]
CHANGES = (-0.1, -0.05, 0.05, 0.1)  # relative
OFFSET = 0.01  # shift of a centre of mass at a change of 1 [m]: a centre of mass has no natural scale
DRIVES = ("Im", "Fv", "Fc", "K", "K2")
PLOTTED = 20


def names() -> list[str]:
    """Parameters that are not zero: LINK.mass, LINK.com_x, LINK.inertia; DRIVE.Fc, ..."""
    tree = load_mechanism("PSM", SET).tree
    links = [name for name, mass in zip(tree.names, tree.mass, strict=True) if mass > 0]
    every = [f"{link}.{what}" for link in links for what in ("mass", "com_x", "com_y", "com_z", "inertia")]
    for term in DRIVES:
        values = zip(tree.drives.names, getattr(tree.drives, term), strict=True)
        every += [f"{drive}.{term}" for drive, value in values if value != 0]
    return every


def table(rows: int, seed: int) -> dict[str, Any]:
    """All parameters with all changes; fewer `rows` mean fewer changes."""
    parameters = names()
    count = min(max(1, round(rows / len(parameters))), len(CHANGES))
    return grid(parameter=parameters, change=CHANGES[-count:])


def run(parameter: Array, change: Array) -> dict[str, Array]:
    """RMS and largest distance of the tip from that of the unchanged arm [m]."""
    arms, reference, nominal = _bench()
    changed = arms.with_parameters(**_changed(arms, parameter, change))
    start = changed.state(np.tile(reference[0][:, None], len(change)))
    _, log = changed.rollout(start, batch.JointPID(reference), DT, every=EVERY)
    assert log is not None
    moved = np.linalg.norm(tip_positions(arms, log.q) - nominal, axis=1)
    return {"tip_rms": np.sqrt((moved**2).mean(0)), "tip_max": moved.max(0)}


def _changed(arms: Any, parameter: Array, change: Array) -> dict[str, Array]:
    """Parameters (..., N) of N arms with one change each."""
    tree, N = arms.mechanism.tree, len(change)
    parameters = {name: np.repeat(getattr(tree, name)[..., None], N, axis=-1) for name in ("mass", "com", "inertia")}
    parameters |= {name: np.repeat(getattr(tree.drives, name)[:, None], N, axis=-1) for name in DRIVES}
    for k, (name, x) in enumerate(zip(parameter, change, strict=True)):
        owner, _, term = str(name).partition(".")
        if term in DRIVES:
            parameters[term][tree.drives.names.index(owner), k] *= 1.0 + x
        elif term.startswith("com_"):
            parameters["com"][tree.names.index(owner), "xyz".index(term[-1]), k] += OFFSET * x
        else:
            parameters[term][tree.names.index(owner), ..., k] *= 1.0 + x
    return parameters


@cache
def _bench() -> tuple[Any, Array, Array]:
    """The arm, its reference (T, 7) and the positions of its tip (T, 3, 1) [m]."""
    arms = batch.load("PSM", parameters=SET)
    reference = wave(DT * np.arange(STEPS), np.ones(1))[0][..., 0]
    _, log = arms.rollout(arms.state(reference[0][:, None]), batch.JointPID(reference), DT, every=EVERY)
    assert log is not None
    return arms, reference, tip_positions(arms, log.q)


def ranking(results: Results) -> list[tuple[str, float]]:
    """Parameters with the RMS change of the tip for 10 % (1 mm of a centre of mass) [m], most sensitive first."""
    parameter, change, rms = results["parameter"], results["change"], results["tip_rms"]
    sizes = {}
    for name in dict.fromkeys(parameter.tolist()):
        at = parameter == name
        sizes[name] = float((rms[at] / np.abs(change[at])).mean() * 0.1)
    return sorted(sizes.items(), key=lambda pair: -pair[1])


def findings(results: Results) -> list[tuple[str, str]]:
    return [(f"10 % of {name}", f"the tip moves by {rms * 1e6:.1f} um RMS") for name, rms in ranking(results)[:8]]


def figures(results: Results) -> Figures:
    from trocar.plots import panels

    top = ranking(results)[:PLOTTED][::-1]
    figure, axes = panels((7.0, 0.22 * len(top) + 1.0))
    axes.barh([name for name, _ in top], [rms * 1e6 for _, rms in top])
    axes.set(xlabel="RMS change of the tip's position for 10 % [um]", xscale="log")
    return [(figure, "The most sensitive parameters. For a centre of mass, 10 % is a shift by 1 mm.")]
