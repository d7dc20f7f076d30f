"""Loads of an arm that differ from those of its parameter set: the mass of an instrument, the endoscope on an ECM.

The instrument of a set is part of its body "insertion". No source publishes instrument masses, so a difference is
given. It is added at that body's centre of mass with its radii of gyration: mass and inertia have the same factor.

The dVRK's gravity compensation describes an endoscope by its mass and its centre of mass, on the insertion axis behind
the insertion frame. Its inertia is that of a cylinder about that point, the camera head, without the thin shaft.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trocar import checks
from trocar.arms.arm import Arm
from trocar.arms.instruments import GENERATIONS
from trocar.arms.parameters import Inertia, Parameters
from trocar.arms.tables import read
from trocar.errors import TrocarError, check_known, shown


def with_added_mass(parameters: Parameters | None, arm: Arm, mass: float) -> Parameters:
    """A copy of the set with an instrument that is heavier (+) or lighter (-) by `mass` [kg]."""
    body = None if parameters is None else parameters.inertias.get("insertion")
    if parameters is None or body is None or arm.carries != "instrument":
        raise TrocarError(
            f"{arm.name} carries no instrument whose mass could differ; an ECM takes endoscope=, a mass [kg]"
        )
    if not (checks.is_number(mass) and np.isfinite(mass) and body.mass + mass > 0):
        raise TrocarError(
            f"added_mass must be finite and above {-body.mass:.3g} kg (the body's whole mass), got {shown(mass)}"
        )
    scale = (body.mass + mass) / body.mass
    heavier = Inertia(mass=body.mass + mass, com=body.com.copy(), I=scale * body.I)
    return replace(parameters, inertias={**parameters.inertias, "insertion": heavier})


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
    if not (checks.is_number(endoscope) and np.isfinite(endoscope) and endoscope > 0):
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
