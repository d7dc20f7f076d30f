"""Contact forces as arrows in close-up pictures, in the colour that contacts have everywhere."""

from __future__ import annotations

import numpy as np

from trocar.palette import of_cause, rgb
from trocar.spatial import Array

METRE_PER_NEWTON = 0.01  # length of an arrow [m/N]: 1 N is as long as a jaw
MAX_LENGTH = 0.05  # of an arrow [m]; a longer one would leave the endoscope's picture
MIN_FORCE = 0.02  # that is drawn [N]
RADIUS = 0.0008  # of a shaft in the endoscope's picture [m]
CONTACT = tuple(part / 255 for part in rgb(of_cause("contact")))  # red, green, blue from 0 to 1


def arrow_ends(points_and_forces: Array) -> Array:
    """Tails and heads (k, 2, 3) [m] of the arrows of points [m] and forces [N] (n, 2, 3) that are large enough."""
    forces = points_and_forces[:, 1]
    size = np.linalg.norm(forces, axis=1)
    seen = size > MIN_FORCE
    points, forces, size = points_and_forces[seen, 0], forces[seen], size[seen]
    length = np.minimum(METRE_PER_NEWTON * size, MAX_LENGTH)
    return np.stack([points, points + (length / size)[:, None] * forces], axis=1)
