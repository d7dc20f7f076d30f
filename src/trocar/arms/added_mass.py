"""A heavier or lighter instrument, given as a mass difference, since no source publishes instrument masses.

The instrument of a set is part of its body "insertion". The difference is added at that body's centre of mass with
its radii of gyration: mass and inertia are scaled by the same factor.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trocar.arms.arm import Arm
from trocar.arms.parameters import Inertia, Parameters
from trocar.errors import TrocarError


def with_added_mass(parameters: Parameters | None, arm: Arm, mass: float) -> Parameters:
    """A copy of the set with an instrument that is heavier (+) or lighter (-) by `mass` [kg]."""
    body = None if parameters is None else parameters.inertias.get("insertion")
    if parameters is None or body is None or arm.carries != "instrument":
        raise TrocarError(
            f"{arm.name} carries no instrument whose mass could differ; an ECM takes endoscope=, a mass [kg]"
        )
    if isinstance(mass, bool) or not (np.isfinite(mass) and body.mass + mass > 0):
        raise TrocarError(
            f"added_mass must be finite and above {-body.mass:.3g} kg (the body's whole mass), got {mass!r}"
        )
    scale = (body.mass + mass) / body.mass
    heavier = Inertia(mass=body.mass + mass, com=body.com.copy(), I=scale * body.I)
    return replace(parameters, inertias={**parameters.inertias, "insertion": heavier})
