"""Arms that differ in structure from the identified model: hysteresis, load-dependent friction, other links."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trocar.arms import load_arm
from trocar.arms.parameters import Dahl, Drive, Inertia, Parameters, load_parameters
from trocar.experiments.zhou2025.runs import ARM, TRUTH
from trocar.mechanics.inertia import barycentric, from_pseudo_inertia, pseudo_inertia, standard

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


def unlike(seed: int) -> Parameters:
    """An arm with the friction and gravity of Table II, but otherwise different from the identified model."""
    rng, arm, measured = np.random.default_rng(seed), load_arm(ARM), load_parameters(ARM, TRUTH)
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
