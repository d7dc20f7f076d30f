"""Rigid objects, fixed or free, and a suture needle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from trocar.errors import TrocarError
from trocar.simulation.objects.primitives import Capsule, Obstacle, check_numbers
from trocar.spatial import checked_pose, quaternion

OBJECT = "object/"  # prefix of the names of objects in the engine's model
OBJECT_GROUP = 0  # geom group of objects: visible, and not used by arms
# MuJoCo's contacts are softer for lighter bodies. With the arm's settings, jaws that squeeze a 0.2 g needle
# with 10 N penetrate it by 0.4 mm; with these, by 0.05 mm.
HARD_SOLREF, HARD_SOLIMP = (0.002, 1.0), (0.99, 0.999, 1e-4, 0.5, 2.0)
FIXED_PRIORITY = 1  # priority of the geoms of fixed objects; lighter free objects have higher ones
STEEL = 7.9e3  # [kg/m^3]


@dataclass(frozen=True)
class Solid:
    """A rigid object.

    Attributes:
        name: unique name.
        shape: one solid shape, or several that move together, in coordinates of the object [m].
        pose: T_base_object (4, 4) at reset. Default: the shape is in coordinates of the base.
        mass: [kg], spread evenly over the volume; None fixes the object to the base.
        friction: coefficient of Coulomb friction. torsional: coefficient of torsional friction about the normal [m].
        stiffness, damping: of its contact with the instrument [N/m, N s/m]; assumed. None makes the contact as stiff as
            the timestep allows, for light objects that are free or squeezed; a tip that slides over such an object
            chatters.
        colour: (red, green, blue).
    """

    name: str
    shape: Obstacle | Sequence[Obstacle]
    pose: ArrayLike = field(default_factory=lambda: np.eye(4))
    mass: float | None = None
    friction: float = 0.5
    torsional: float = 5e-4
    stiffness: float | None = 5e4
    damping: float = 50.0
    colour: tuple[float, float, float] = (0.80, 0.78, 0.72)

    def __post_init__(self) -> None:
        check_name(self.name)
        if self.mass is not None and not (np.isfinite(self.mass) and self.mass > 0):
            raise TrocarError(f"mass of {self.name} must be positive, or None for a fixed object, got {self.mass!r}")
        check_numbers(self, self.name, not_negative=("friction", "torsional", "damping"))
        if self.stiffness is not None and not (np.isfinite(self.stiffness) and self.stiffness > 0):
            raise TrocarError(f"stiffness of {self.name} must be positive, or None, got {self.stiffness!r}")
        checked_pose(self.pose)
        if not self.shapes:
            raise TrocarError(f"{self.name} has no shape")

    @property
    def shapes(self) -> tuple[Obstacle, ...]:
        """All its shapes."""
        return tuple(self.shape) if isinstance(self.shape, Sequence) else (self.shape,)

    def add_to(self, spec: mujoco.MjSpec) -> None:
        """Add its bodies and geoms to a MuJoCo model."""
        T = np.asarray(self.pose, dtype=float)
        body = spec.worldbody.add_body(name=OBJECT + self.name, pos=T[:3, 3], quat=quaternion(T[:3, :3]))
        looks = {
            "group": OBJECT_GROUP,
            "priority": FIXED_PRIORITY,
            "condim": 4 if self.torsional else 3,
            "friction": [self.friction, self.torsional, 0.0],
            "solref": HARD_SOLREF,
            "solimp": HARD_SOLIMP,
            "rgba": [*self.colour, 1.0],
        }
        for shape in self.shapes:
            body.add_geom(**looks, **shape.geom())
        if self.mass is None:
            return
        body.add_freejoint()
        volumes = _volumes(self)
        for geom, volume in zip(body.geoms, volumes, strict=True):
            geom.mass = self.mass * volume / sum(volumes)


def needle(
    name: str,
    pose: ArrayLike,
    *,
    diameter: float = 1e-3,
    radius: float = 11.5e-3,
    arc: float = np.pi,
    segments: int = 16,
    friction: float = 0.5,
) -> Solid:
    """A curved suture needle of steel as a chain of capsules.

    The defaults are a half circle of 36 mm. Its frame is at the centre of the circle, z normal to its plane; the arc is
    symmetric about the x axis, along which its middle lies.

    Args:
        pose: T_base_needle (4, 4) at reset. diameter: of the wire [m]. radius: of the circle [m]. arc: [rad].
    """
    angles = np.linspace(-arc / 2, arc / 2, segments + 1)
    points = radius * np.stack([np.cos(angles), np.sin(angles), np.zeros_like(angles)], axis=1)
    shapes = [Capsule(a, b, diameter / 2) for a, b in pairwise(points)]
    mass = STEEL * np.pi / 4 * diameter**2 * radius * arc
    return Solid(name, shapes, pose, mass=float(mass), friction=friction, stiffness=None, colour=(0.62, 0.65, 0.69))


def _volumes(thing: Solid) -> list[float]:
    """[m^3] of each shape, as MuJoCo has it."""
    spec = mujoco.MjSpec()
    for shape in thing.shapes:
        spec.worldbody.add_body().add_geom(density=1.0, **shape.geom())
    return [float(mass) for mass in spec.compile().body_mass[1:]]


def check_name(name: str) -> None:
    if not name or not isinstance(name, str):
        raise TrocarError(f"an object needs a name, got {name!r}")
