"""Endoscopes as a load: mass and centre of mass of the camera on an ECM.

The dVRK's gravity compensation describes an endoscope by its mass and its centre of mass, on the insertion axis behind
the insertion frame. Its inertia is that of a cylinder about that point, the camera head, without the thin shaft.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trocar.arms.arm import Arm
from trocar.arms.instruments import GENERATIONS
from trocar.arms.parameters import Inertia, Parameters
from trocar.arms.tables import read
from trocar.errors import TrocarError, check_known


def endoscope_masses(arm: str) -> dict[str, float]:
    """Mass [kg] of every endoscope type of an ECM or ECM_Si; empty for other arms."""
    return dict(read(arm.lower())["endoscopes"]["mass"]) if GENERATIONS.get(arm) == "endoscopes" else {}


def endoscope_inertia(arm: Arm, endoscope: str | float) -> Inertia:
    """Inertia of an endoscope, by type or by mass [kg], in the frame of the body "roll"."""
    masses = endoscope_masses(arm.name)
    if not masses:
        raise TrocarError(f"{arm.name} carries no endoscope, got endoscope={endoscope!r}; omit it")
    if isinstance(endoscope, str):
        check_known(f"endoscope of {arm.name}", masses, endoscope)
        endoscope = masses[endoscope]
    if isinstance(endoscope, bool) or not (np.isfinite(endoscope) and endoscope > 0):
        raise TrocarError(f"endoscope must be one of {', '.join(masses)} or a positive mass [kg], got {endoscope!r}")
    table = read(arm.name.lower())["endoscopes"]
    mass, radius, length = float(endoscope), table["radius"], table["length"]
    across, along = mass * (3.0 * radius**2 + length**2) / 12.0, 0.5 * mass * radius**2
    behind = table["com"] - float(arm.body("roll").placement[2, 3])
    return Inertia(mass=mass, com=np.array([0.0, 0.0, behind]), I=np.diag([across, across, along]))


def with_endoscope(parameters: Parameters | None, arm: Arm, endoscope: str | float) -> Parameters:
    """A copy of the set with the given endoscope on the arm."""
    body = endoscope_inertia(arm, endoscope)
    if parameters is None:
        raise TrocarError(f"{arm.name} has no dynamic parameters, so an endoscope's mass has no effect; omit endoscope")
    return replace(parameters, inertias={**parameters.inertias, "roll": body})
