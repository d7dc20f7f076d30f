"""Rigid objects, fixed or free, and a suture needle."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from trocar.arms.file_fields import MAX_LENGTH, MAX_MASS, Fields
from trocar.errors import TrocarError
from trocar.simulation.objects.primitives import Box, Capsule, Cylinder, Obstacle, Sphere, check_numbers
from trocar.simulation.objects.scene_object import (
    FIXED_PRIORITY,
    MIN_SIZE,
    OBJECT,
    OBJECT_GROUP,
    Reader,
    SceneObject,
    check_name,
    read_friction,
    read_looks,
    read_size,
)
from trocar.spatial import Array, checked_pose, quaternion

# MuJoCo's contacts are softer for lighter bodies. With the arm's settings, jaws that squeeze a 0.2 g needle
# with 10 N penetrate it by 0.4 mm; with these, by 0.05 mm.
HARD_SOLREF, HARD_SOLIMP = (0.002, 1.0), (0.99, 0.999, 1e-4, 0.5, 2.0)
# Impedance of a contact with given stiffness: at this value MuJoCo's force is that of a spring and a damper.
SPRING_IMPEDANCE = 0.1
# Largest k h^2 and b h of such a contact, h the timestep: a time constant of two steps, MuJoCo's minimum.
RESOLVED_K, RESOLVED_B = 0.25, 1.0
MAX_IMPEDANCE = 0.9999  # MuJoCo's largest impedance
STEEL = 7.9e3  # [kg/m^3]


@dataclass(frozen=True)
class Solid(SceneObject):
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

    def set_contact(self, model: mujoco.MjModel, tips: Sequence[int], priority: int) -> None:
        """Give contacts with the bodies `tips` (ids) approximately the stated stiffness and damping.

        With several arms the values hold for their mean weight; contacts with other bodies are of that order.

        MuJoCo's contact force at rest is f = -(k r + b v) / R, R = W (1 - d) / d with the impedance d and the weight W
        of the two bodies: k = K R, b = B R, for any R. A large R, d = 0.1, makes f that of a spring and a damper, which
        is right for the arm against a fixed object. Such a contact would eject a body so light that its velocity is
        reversed within a step. With a small R the acceleration is at most k r + b v, for any mass and any number of
        points, so for a free body R is so small that the timestep h resolves both: k h^2 <= 1/4, b h <= 1. Its
        stiffness at rest is the same; its damping is at least critical, b^2 >= 4 k, or it would bounce.

        Damping must not be too large either: convex friction lifts a sliding tip by friction * b v / k. If that exceeds
        its penetration, the contact is lost every other step.
        """
        body = model.body(OBJECT + self.name)
        geoms = slice(int(body.geomadr[0]), int(body.geomadr[0] + body.geomnum[0]))
        model.geom_priority[geoms] = priority
        if self.stiffness is None:
            return
        h, d, K, B = model.opt.timestep, SPRING_IMPEDANCE, self.stiffness, self.damping
        W = model.body_invweight0[body.id, 0] + model.body_invweight0[list(tips), 0].mean()
        R = W * (1.0 - d) / d
        hard = min(RESOLVED_K / (K * h**2), RESOLVED_B / (B * h) if B else np.inf)
        if self.mass is not None and hard < R:
            R, B = hard, max(B, 2.0 * np.sqrt(K / hard))
        D = min(W / (W + R), MAX_IMPEDANCE)
        model.geom_solref[geoms] = [-K * R * D, -B * R * D]  # MuJoCo divides both by d
        model.geom_solimp[geoms] = [D, D, 1e-3, 0.5, 2.0]


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


def _read_needle(fields: Fields, name: str, T: Array) -> Solid:
    return needle(name, T, friction=read_friction(fields))


def _reader(shape: Callable[[Fields], Obstacle]) -> Reader:
    """Reads an object of one shape about the origin, rods along z."""

    def read(fields: Fields, name: str, T: Array) -> Solid:
        mass = fields.number("mass", 0.0, least=0.0, most=MAX_MASS, unit="kg")  # none: fixed
        return Solid(name, shape(fields), T, mass=mass or None, **read_looks(fields))

    return read


def _length(fields: Fields, key: str) -> float:
    return fields.number(key, least=MIN_SIZE, most=MAX_LENGTH, unit="m")


def _rod(kind: type[Cylinder | Capsule], fields: Fields) -> Obstacle:
    half = np.array([0.0, 0.0, _length(fields, "length") / 2])
    return kind(-half, half, _length(fields, "radius"))


READERS: Mapping[str, Reader] = {
    "box": _reader(lambda fields: Box(np.zeros(3), read_size(fields))),
    "sphere": _reader(lambda fields: Sphere(np.zeros(3), _length(fields, "radius"))),
    "cylinder": _reader(partial(_rod, Cylinder)),
    "capsule": _reader(partial(_rod, Capsule)),
    "needle": _read_needle,
}
