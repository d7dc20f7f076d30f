"""Material of a tissue: layers and inclusions of another stiffness, and the stress in its cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trocar import checks
from trocar.errors import TrocarError, shown
from trocar.simulation.objects.solid import Box, Capsule, Cylinder, Sphere
from trocar.simulation.objects.tissue_grid import TissueGrid
from trocar.spatial import Array

SAMPLES = 8  # along each edge of a cell, for the share of it that an inclusion fills


@dataclass(frozen=True)
class Inclusion:
    """A part of a tissue with another stiffness, such as a vessel, fat or a tumour.

    A cell that it fills in part has the mean stiffness, so cells must be about as small as it is.

    Attributes:
        shape: in coordinates of the tissue [m]. young: [Pa].
    """

    shape: Box | Sphere | Capsule | Cylinder
    young: float

    def __post_init__(self) -> None:
        checks.positive("young of an inclusion", self.young, "Pa")
        if not isinstance(self.shape, Box | Sphere | Capsule | Cylinder):
            raise TrocarError(f"an inclusion is a Box, Sphere, Capsule or Cylinder, got {shown(self.shape)}")
        self.shape.geom()  # checks its numbers


def checked_layers(layers: Sequence[Sequence[float]], name: str) -> list[tuple[float, float]]:
    """Thickness [m] and Young's modulus [Pa] of every layer; an error if they are not positive."""
    pairs = []
    for layer in layers:
        if len(layer) != 2:
            raise TrocarError(f"a layer of {name} is a thickness [m] and a Young's modulus [Pa], got {shown(layer)}")
        thickness, young = layer
        pairs.append(
            (
                checks.positive(f"thickness of a layer of {name}", thickness, "m"),
                checks.positive(f"young of a layer of {name}", young, "Pa"),
            )
        )
    return pairs


def moduli(
    grid: TissueGrid, young: float, layers: Sequence[tuple[float, float]], inclusions: Sequence[Inclusion]
) -> Array:
    """Young's modulus (n,) of every cell [Pa]: the mean over the cell. Layers count from the face +z down."""
    if not layers and not inclusions:
        return np.full(len(grid.corners), float(young))
    u = (np.arange(SAMPLES) + 0.5) / SAMPLES
    inner = np.stack(np.meshgrid(u, u, u, indexing="ij"), axis=-1).reshape(-1, 3)
    first = grid.rest.reshape(-1, 3)[grid.corners[:, 0]]
    places = (first[:, None] + inner * grid.step).reshape(-1, 3)
    values, depth = np.full(len(places), float(young)), 0.0
    for thickness, stiffness in layers:
        below = grid.high[2] - places[:, 2]
        values[(below >= depth) & (below < depth + thickness)] = stiffness
        depth += thickness
    for inclusion in inclusions:
        values[inclusion.shape.contains(places)] = inclusion.young
    return np.asarray(values.reshape(len(first), -1).mean(axis=1))


def nominal_stress(F: Array, young: Array, poisson: float) -> Array:
    """Largest principal nominal stress (n,) [Pa], force per area at rest, of corotated linear cells.

    F: deformation gradients (n, 3, 3). young: (n,) [Pa].
    """
    squares = np.linalg.eigvalsh(np.einsum("nki,nkj->nij", F, F))
    strains = np.sqrt(np.maximum(squares, 0.0)) - 1.0
    shear = young / (2 * (1 + poisson))
    volume = 2 * shear * poisson / (1 - 2 * poisson) * strains.sum(axis=1)
    return np.asarray(volume + 2 * shear * strains.max(axis=1))
