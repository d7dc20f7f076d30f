"""Another instrument as a load: no source gives what instruments weigh, so what is known is a difference.

The instrument of a set is part of its body "insertion". Another one adds to that body, or takes from it, at its
centre of mass and with its radii of gyration: mass and inertia are scaled.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trocar.arms.arm import Arm
from trocar.arms.parameters import Inertia, Parameters
from trocar.errors import TrocarError


def with_added_mass(parameters: Parameters | None, arm: Arm, mass: float) -> Parameters:
    """The set with an instrument heavier (+) or lighter (-) by `mass` [kg] than its own."""
    body = None if parameters is None else parameters.inertias.get("insertion")
    if parameters is None or body is None or arm.carries != "instrument":
        raise TrocarError(
            f"{arm.name} carries no instrument whose mass could differ; an ECM takes endoscope=, a mass [kg]"
        )
    if isinstance(mass, bool) or not (np.isfinite(mass) and body.mass + mass > 0):
        raise TrocarError(f"added_mass must be finite and above {-body.mass:.3g} kg, all that there is, got {mass!r}")
    scale = (body.mass + mass) / body.mass
    heavier = Inertia(mass=body.mass + mass, com=body.com.copy(), I=scale * body.I)
    return replace(parameters, inertias={**parameters.inertias, "insertion": heavier})
