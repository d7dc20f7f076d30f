"""Rigid objects, fixed or free: solid shapes, which are also the obstacles of collision checks, and a suture needle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import cos, sin
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.errors import TrocarError, check_known
from trocar.simulation.objects.scene_object import (
    ANYTHING,
    FIXED_PRIORITY,
    OBJECT,
    OBJECT_GROUP,
    SceneObject,
    check_name,
)
from trocar.spatial import Array, checked_pose, pose, quaternion

if TYPE_CHECKING:
    from trocar.simulation.scene import Scene


class Obstacle(Protocol):
    """A solid shape, in coordinates of the world or of the object it is part of."""

    def geom(self) -> dict[str, Any]:
        """Attributes of MuJoCo's geom."""


@dataclass(frozen=True)
class Box:
    """A box with edges of length `size` (3,) [m] about `centre` (3,) [m], rotated by R (3, 3)."""

    centre: ArrayLike
    size: ArrayLike
    R: ArrayLike | None = None

    def geom(self) -> dict[str, Any]:
        """Attributes of MuJoCo's geom."""
        R = checked_pose(pose(np.eye(3) if self.R is None else self.R))[:3, :3]
        half = checks.lengths("size of a box", self.size) / 2
        return {"type": mujoco.mjtGeom.mjGEOM_BOX, "pos": _point(self.centre), "quat": quaternion(R), "size": half}

    def contains(self, points: Array) -> Array:
        """Mask (n,) of the points (n, 3) [m] that are inside."""
        R = np.eye(3) if self.R is None else np.asarray(self.R, dtype=float)
        return np.asarray((np.abs((points - _point(self.centre)) @ R) <= np.asarray(self.size) / 2).all(axis=1))


@dataclass(frozen=True)
class Sphere:
    """A ball of `radius` [m] about `centre` (3,) [m]."""

    centre: ArrayLike
    radius: float

    def geom(self) -> dict[str, Any]:
        """Attributes of MuJoCo's geom."""
        return {"type": mujoco.mjtGeom.mjGEOM_SPHERE, "pos": _point(self.centre), "size": _radius(self.radius)}

    def contains(self, points: Array) -> Array:
        """Mask (n,) of the points (n, 3) [m] that are inside."""
        return np.asarray(np.linalg.norm(points - _point(self.centre), axis=1) <= self.radius)


@dataclass(frozen=True)
class _Rod:
    a: ArrayLike
    b: ArrayLike
    radius: float
    _kind: ClassVar[mujoco.mjtGeom]

    def geom(self) -> dict[str, Any]:
        """Attributes of MuJoCo's geom."""
        ends = [*_point(self.a), *_point(self.b)]
        if np.allclose(ends[:3], ends[3:], rtol=0.0, atol=1e-9):
            raise TrocarError("a rod needs two different ends; for a ball use Sphere")
        return {"type": self._kind, "fromto": ends, "size": _radius(self.radius)}

    def contains(self, points: Array) -> Array:
        """Mask (n,) of the points (n, 3) [m] that are inside."""
        a, along = _point(self.a), _point(self.b) - _point(self.a)
        u = (points - a) @ along / (along @ along)
        nearest = np.clip(u, 0.0, 1.0)
        if self._kind == mujoco.mjtGeom.mjGEOM_CYLINDER:
            nearest = np.where((u >= 0.0) & (u <= 1.0), u, np.inf)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.linalg.norm(points - a - nearest[:, None] * along, axis=1) <= self.radius)


class Capsule(_Rod):
    """A rod of `radius` [m] with round ends about the points a and b (3,) [m]."""

    _kind = mujoco.mjtGeom.mjGEOM_CAPSULE


class Cylinder(_Rod):
    """A rod of `radius` [m] with flat ends at the points a and b (3,) [m]."""

    _kind = mujoco.mjtGeom.mjGEOM_CYLINDER


def _point(p: ArrayLike) -> Array:
    return checks.three_numbers("a point", p, "[m]")


def _radius(radius: float) -> list[float]:
    return [float(checks.lengths("radius", radius, ())), 0.0, 0.0]


# MuJoCo's contacts are softer for lighter bodies. With the arm's settings, jaws that squeeze a 0.2 g needle
# with 10 N penetrate it by 0.4 mm; with these, by 0.05 mm.
HARD_SOLREF, HARD_SOLIMP = (0.002, 1.0), (0.99, 0.999, 1e-4, 0.5, 2.0)
# Impedance of a contact with given stiffness: at this value MuJoCo's force is that of a spring and a damper.
SPRING_IMPEDANCE = 0.1
# Largest k h^2 and b h of such a contact, h the timestep: a time constant of two steps, MuJoCo's minimum.
RESOLVED_K, RESOLVED_B = 0.25, 1.0
MAX_IMPEDANCE = 0.9999  # MuJoCo's largest impedance
MAX_SEGMENTS = 200  # capsules of a needle
STEEL = 7.9e3  # [kg/m^3]
# Contact of wires and threads held by friction. Friction creeps at v = W (1 - d) f / (d impratio b), with the impedance
# d, the weight W of the bodies and b = 1000 /s: under 1 N, a needle in the jaws creeps at 0.2 mm/s with HARD_SOLIMP and
# an impratio of 10, and at 1.2 um/s with these. Friction harder than this loses a needle that moves fast.
GRIP_SOLIMP, GRIP_IMPRATIO = (MAX_IMPEDANCE, MAX_IMPEDANCE, 1e-4, 0.5, 2.0), 50.0
DISCRETE_GRIP_IMPRATIO = 100.0  # friction of the discrete integrator creeps twice as fast


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
        checks.attributes(self, self.name, not_negative=("friction", "torsional", "damping"))
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
        alone = mujoco.MjSpec()  # for the volumes, as MuJoCo has them
        for shape in self.shapes:
            alone.worldbody.add_body().add_geom(density=1.0, **shape.geom())
        volumes = alone.compile().body_mass[1:].tolist()
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


def floor(name: str = "floor", height: float = 0.0, *, friction: float = 0.5) -> Solid:
    """A fixed floor, 4 m wide, with its top at a height [m] in the world."""
    thick = 0.1
    return Solid(name, Box((0.0, 0.0, -thick / 2), (4.0, 4.0, thick)), pose(p=[0.0, 0.0, height]), friction=friction)


@dataclass(frozen=True)
class Needle(Solid):
    """A curved needle as a chain of capsules, held by friction and able to pierce tissue; `needle` builds it.

    Its frame is at the centre of the circle, z normal to its plane. The arc is symmetric about the x axis; its point is
    at +arc/2 from it and its tail, where a thread is swaged, at -arc/2.

    Attributes:
        diameter: of the wire [m]. radius: of the circle [m]. arc: [rad].
    """

    diameter: float = 1e-3
    radius: float = 11.5e-3
    arc: float = np.pi

    @property
    def length(self) -> float:
        """Length along the arc [m]."""
        return self.radius * self.arc

    def at(self, s: float) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
        """Position [m] and direction towards the point, at arc length s [m] behind the point, in its frame."""
        angle = self.arc / 2 - s / self.radius
        c, d = cos(angle), sin(angle)
        return (self.radius * c, self.radius * d, 0.0), (-d, c, 0.0)

    def add_to(self, spec: mujoco.MjSpec) -> None:
        super().add_to(spec)
        discrete = spec.option.integrator == mujoco.mjtIntegrator.mjINT_DISCRETE
        spec.option.impratio = DISCRETE_GRIP_IMPRATIO if discrete else GRIP_IMPRATIO
        for geom in spec.body(OBJECT + self.name).geoms:
            # without contype it does not touch the surface of tissue, which it pierces
            geom.solimp, geom.contype, geom.conaffinity = GRIP_SOLIMP, 0, ANYTHING


# Needles by their makers' codes: length along the arc and diameter of the wire [m]; all are half circles.
NEEDLE_SIZES = {"SH": (26e-3, 0.7e-3), "CT-1": (36e-3, 1e-3)}


def needle(
    name: str,
    pose: ArrayLike,
    *,
    size: str | None = None,
    diameter: float = 1e-3,
    radius: float = 11.5e-3,
    arc: float = np.pi,
    segments: int = 16,
    friction: float = 0.5,
) -> Needle:
    """A curved suture needle of steel.

    Args:
        pose: T_base_needle (4, 4) at reset; see `Needle` for its frame.
        size: "SH" (26 mm, 0.7 mm wire) or "CT-1" (36 mm, 1 mm wire), half circles. Replaces diameter, radius and arc.
        diameter: of the wire [m]. radius: of the circle [m]. arc: [rad]. segments: capsules along the arc.
    """
    if size is not None:
        check_known("size of a needle", NEEDLE_SIZES, size)
        length, diameter = NEEDLE_SIZES[size]
        arc, radius = np.pi, length / np.pi
    diameter, radius, arc = (
        checks.positive(what, value, unit)
        for what, value, unit in (("diameter", diameter, "m"), ("radius", radius, "m"), ("arc", arc, "rad"))
    )
    if arc > 2 * np.pi:
        raise TrocarError(f"the arc of a needle is at most a full circle (2 pi), got {arc:g} rad")
    angles = np.linspace(-arc / 2, arc / 2, checks.count("segments", segments, high=MAX_SEGMENTS) + 1)
    points = radius * np.stack([np.cos(angles), np.sin(angles), np.zeros_like(angles)], axis=1)
    shapes = [Capsule(a, b, diameter / 2) for a, b in pairwise(points)]
    return Needle(
        name,
        shapes,
        pose,
        mass=float(STEEL * np.pi / 4 * diameter**2 * radius * arc),
        friction=friction,
        stiffness=None,
        colour=(0.62, 0.65, 0.69),
        diameter=diameter,
        radius=radius,
        arc=arc,
    )


# Practice objects: a plate below the tips of the instruments, with a block and a needle on it.
GAP = 0.02  # between the jaws and the plate [m]
PLATE = np.array([0.16, 0.16, 0.008])  # [m]
BLOCK, BLOCK_MASS = 0.01, 0.002  # edge [m], [kg]
WIRE = 1e-3  # diameter of the needle [m]
APART = 0.03  # distance of block and needle from the centre [m]
TISSUE, CLAY = (0.78, 0.42, 0.38), (0.25, 0.45, 0.65)


def practice_objects(scene: Scene) -> tuple[Solid, ...]:
    """Objects below all instruments of a scene in its current state; world frame, z up."""
    instruments = {name: arm.arm.jaw_length for name, arm in scene.arms.items() if arm.arm.jaw_length > 0}
    if not instruments:
        raise TrocarError("practice objects require an instrument: use a PSM or a scene with one")
    tips = np.array([scene.T_world_tip(name)[:3, 3] for name in instruments])
    return objects_below(tips, max(instruments.values()))


def objects_below(tips: Array, jaw_length: float) -> tuple[Solid, ...]:
    """Objects below tips (k, 3) of instruments, with jaws of a length [m]; world frame, z up."""
    x, y = tips[:, :2].mean(axis=0)
    top = float(tips[:, 2].min()) - jaw_length - GAP
    return (
        Solid("plate", Box(np.zeros(3), PLATE), pose(p=[x, y, top - PLATE[2] / 2]), colour=TISSUE),
        Solid(
            "block",
            Box(np.zeros(3), np.full(3, BLOCK)),
            pose(p=[x + APART, y, top + BLOCK / 2]),
            mass=BLOCK_MASS,
            colour=CLAY,
        ),
        needle("needle", pose(p=[x - APART, y, top + WIRE / 2]), diameter=WIRE),
    )
