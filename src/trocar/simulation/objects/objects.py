"""What the instrument touches: rigid objects, fixed or free, and soft slabs, in the model of the arm.

Objects come after the joints of the arm in the engine's model, and touch the arm's collision shapes and each other.
In a contact of an object with the arm the numbers of the object hold.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from trocar.arms import Arm
from trocar.errors import TrocarError
from trocar.simulation.objects.primitives import Capsule, Obstacle
from trocar.spatial import Array, checked_pose, pose, quaternion

OBJECT = "object/"  # prefix of their names in the engine's model
GROUP = 0  # of their geoms: seen, and none of the arm's
# MuJoCo's contacts yield the more the lighter a body is. With the arm's own settings, jaws that squeeze a needle of
# 0.2 g with 10 N sink 0.4 mm into it; with these 0.05 mm.
HARD_SOLREF, HARD_SOLIMP = (0.002, 1.0), (0.99, 0.999, 1e-4, 0.5, 2.0)
# Of soft bodies: harder, and the solver does not find its way between light nodes and light fingers.
SOFT_SOLIMP = (0.9, 0.95, 1e-3, 0.5, 2.0)
# A contact of given stiffness: MuJoCo's force is that of a spring and a damper if it is this far from hard.
SPRING_IMPEDANCE = 0.1
# Largest k h^2 and b h of such a contact, h the timestep: as of a time constant of two steps, MuJoCo's least.
RESOLVED_K, RESOLVED_B = 0.25, 1.0
HARDEST = 0.9999  # MuJoCo's largest impedance
FIXED_PRIORITY = 1  # of the geoms of fixed objects; the lighter a free one is, the higher its own
# Of a finger about its pin [kg m^2]: a gram at 3 mm. One that only follows the other has next to none in the
# parameters, and its coupling would give way to the least contact.
FINGER_INERTIA = 1e-8
STEEL = 7.9e3  # [kg/m^3]
# Needed to hold a needle: a cone that is round, and friction ten times harder than the normal contact. With the
# pyramid and equal hardness, MuJoCo's defaults, a needle creeps out of the jaws.
IMPRATIO = 10.0
# The solver of soft bodies reports too few iterations below about 150 at the arm's tolerance.
SOFT_ITERATIONS = 300


@dataclass(frozen=True)
class Solid:
    """A rigid object.

    Attributes:
        name: its own among the objects.
        shape: one solid shape, or several that move together, in coordinates of the object [m].
        pose: T_base_object (4, 4) at reset; without one the shape is in coordinates of the base.
        mass: [kg], spread evenly over the volume; None fixes the object to the base.
        friction: coefficient of Coulomb friction. torsional: that of spinning about the normal [m]; 0 for none.
        stiffness, damping: of its contact with the instrument [N/m, N s/m]; assumed. None for a contact as hard as the
            step allows, for light things that are free or squeezed; a tip that slides over such a thing chatters.
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
        _check_name(self.name)
        if self.mass is not None and not (np.isfinite(self.mass) and self.mass > 0):
            raise TrocarError(f"mass of {self.name} must be positive, or None for a fixed object, got {self.mass!r}")
        _check_not_negative(self, "friction", "torsional", "damping")
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
            "group": GROUP,
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


@dataclass(frozen=True)
class SoftSlab:
    """A soft block of linear elastic tetrahedra whose lower face is fixed to the base. Needs accuracy="discrete".

    Attributes:
        name: its own among the objects.
        size: edges (3,) [m] along its axes. pose: T_base_slab (4, 4) of its centre; z points to the free face.
        young: [Pa]. poisson: below 0.5. damping: time constant of its viscosity [s].
        density: [kg/m^3]. spacing: largest edge of the grid [m]; the cost grows with the number of nodes.
        friction: coefficient of Coulomb friction. colour: (red, green, blue).
    """

    name: str
    size: ArrayLike
    pose: ArrayLike = field(default_factory=lambda: np.eye(4))
    young: float = 3e4
    poisson: float = 0.45
    damping: float = 0.01
    density: float = 1000.0
    spacing: float = 5e-3
    friction: float = 0.3
    colour: tuple[float, float, float] = (0.80, 0.42, 0.38)

    def __post_init__(self) -> None:
        _check_name(self.name)
        size = np.asarray(self.size, dtype=float)
        if size.shape != (3,) or not (np.isfinite(size) & (size > 0)).all():
            raise TrocarError(f"size of {self.name} must be three positive lengths [m], got {self.size!r}")
        for name in ("young", "density", "spacing"):
            if not (np.isfinite(getattr(self, name)) and getattr(self, name) > 0):
                raise TrocarError(f"{name} of {self.name} must be positive, got {getattr(self, name)!r}")
        if not 0 <= self.poisson < 0.5:
            raise TrocarError(f"poisson of {self.name} must be at least 0 and below 0.5, got {self.poisson!r}")
        _check_not_negative(self, "friction", "damping")
        checked_pose(self.pose)

    @property
    def count(self) -> tuple[int, int, int]:
        """Nodes along each edge."""
        x, y, z = (max(2, 1 + int(np.ceil(edge / self.spacing - 1e-9))) for edge in np.asarray(self.size, dtype=float))
        return x, y, z

    def add_to(self, spec: mujoco.MjSpec) -> None:
        size, T, count = np.asarray(self.size, dtype=float), np.asarray(self.pose, dtype=float), self.count
        base = spec.worldbody.add_body(name=OBJECT + self.name, pos=T[:3, 3], quat=quaternion(T[:3, :3]))
        # the skin of a flex stands out by its radius: the grid is that much smaller
        radius = 1e-3 * float(size.min())
        spacing = (size - 2 * radius) / (np.array(count) - 1)
        flex = base.make_flex(
            name=OBJECT + self.name,
            type="grid",
            dim=3,
            count=count,
            spacing=spacing,
            radius=radius,
            mass=self.density * float(size.prod()),
        )
        flex.young, flex.poisson, flex.damping = self.young, self.poisson, self.damping
        flex.selfcollide = mujoco.mjtFlexSelf.mjFLEXSELF_NONE
        flex.priority, flex.condim, flex.friction = FIXED_PRIORITY, 3, [self.friction, 0.0, 0.0]
        flex.solref, flex.solimp = HARD_SOLREF, SOFT_SOLIMP
        flex.group, flex.rgba = GROUP, [*self.colour, 1.0]
        lowest = -(size[2] / 2 - radius)
        for node in list(base.bodies):
            if node.pos[2] < lowest + 1e-9:
                for joint in list(node.joints):
                    spec.delete(joint)


Object = Solid | SoftSlab


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


def add_objects(spec: mujoco.MjSpec, objects: Sequence[Object], accuracy: str) -> None:
    """Add objects to the model of one arm or several, and the settings of the solver that contact needs."""
    names = [thing.name for thing in objects]
    for name in names:
        if names.count(name) > 1:
            raise TrocarError(f"two objects are called {name!r}")
    soft = [thing.name for thing in objects if isinstance(thing, SoftSlab)]
    if soft and accuracy != "discrete":
        raise TrocarError(f'{soft[0]} is soft: it needs accuracy="discrete", not {accuracy!r}')
    for thing in objects:
        thing.add_to(spec)
    if not objects:
        return
    friction_cone(spec)
    spec.option.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_MIDPHASE)
    if soft:
        spec.option.iterations = SOFT_ITERATIONS


def firm_fingers(spec: mujoco.MjSpec, arm: Arm, with_inertia: Container[str]) -> None:
    """Add inertia to followers that have none, in the model of an arm whose instrument touches things.

    Args:
        with_inertia: names of the bodies whose inertia is in the parameters.
    """
    for follower in arm.transmissions:
        if follower not in with_inertia:
            spec.joint(follower).armature += FINGER_INERTIA


def friction_cone(spec: mujoco.MjSpec) -> None:
    """The settings of the solver for things that touch."""
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = IMPRATIO


def set_stiffness(model: mujoco.MjModel, objects: Sequence[Object], tips: Sequence[int]) -> None:
    """Give contacts with the bodies `tips` (ids, at the tips of arms) the stiffness and damping stated, about.

    With several arms it is that for their mean weight; contacts with other bodies are of that order. Of two objects
    that touch, the numbers of the lighter hold.

    MuJoCo's contact force at rest is f = -(k r + b v) / R, R = W (1 - d) / d with the impedance d and the weight W of
    the two bodies: k = K R, b = B R, whatever R. A large one, d = 0.1, makes f that of a spring and a damper, right
    for the arm against something fixed. They would throw a body off that is so light that they turn it round within a
    step. But with a small R acceleration is k r + b v at most, whatever the mass and however many points touch, so
    for a free body R is so small that the timestep h resolves these two: k h^2 <= 1/4, b h <= 1. Its stiffness at
    rest is the same; its damping is at least critical, b^2 >= 4 k, or it would hop.

    Damping must not be too large either: convex friction lifts a sliding tip by friction * b v / k. More than it is
    pressed in, and the contact is lost every other step.
    """
    h, d = model.opt.timestep, SPRING_IMPEDANCE
    free = [thing for thing in objects if isinstance(thing, Solid) and thing.mass is not None]
    masses = sorted({thing.mass for thing in free if thing.mass is not None}, reverse=True)
    for thing in objects:
        if isinstance(thing, SoftSlab):
            continue
        body = model.body(OBJECT + thing.name)
        geoms = slice(int(body.geomadr[0]), int(body.geomadr[0] + body.geomnum[0]))
        if thing.mass is not None:
            model.geom_priority[geoms] = FIXED_PRIORITY + 1 + masses.index(thing.mass)
        if thing.stiffness is None:
            continue
        K, B = thing.stiffness, thing.damping
        W = model.body_invweight0[body.id, 0] + model.body_invweight0[list(tips), 0].mean()
        R = W * (1.0 - d) / d
        hard = min(RESOLVED_K / (K * h**2), RESOLVED_B / (B * h) if B else np.inf)
        if thing.mass is not None and hard < R:
            R, B = hard, max(B, 2.0 * np.sqrt(K / hard))
        D = min(W / (W + R), HARDEST)
        model.geom_solref[geoms] = [-K * R * D, -B * R * D]  # MuJoCo divides both by d
        model.geom_solimp[geoms] = [D, D, 1e-3, 0.5, 2.0]


class PlacedObject:
    """An object where it is now."""

    def __init__(self, thing: Object, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        self.thing, self._model, self._data = thing, model, data
        body = model.body(OBJECT + thing.name)
        self.body = int(body.id)
        free = isinstance(thing, Solid) and thing.mass is not None
        self._q = int(model.jnt_qposadr[body.jntadr[0]]) if free else None
        self._v = int(model.jnt_dofadr[body.jntadr[0]]) if free else None

    @property
    def pose(self) -> Array:
        """T_base_object (4, 4). Set it to move a free object, which is then at rest; fixed and soft ones refuse."""
        if self._q is None:
            return np.array(self.thing.pose, dtype=float)
        position, turn = np.split(self._data.qpos[self._q : self._q + 7], [3])
        R = np.empty(9)
        mujoco.mju_quat2Mat(R, turn / np.linalg.norm(turn))
        return pose(R.reshape(3, 3), position)

    @pose.setter
    def pose(self, T: ArrayLike) -> None:
        if self._q is None or self._v is None:
            raise TrocarError(f"{self.thing.name} is not free to be moved")
        T = checked_pose(T)
        self._data.qpos[self._q : self._q + 7] = [*T[:3, 3], *quaternion(T[:3, :3])]
        self._data.qvel[self._v : self._v + 6] = 0.0
        mujoco.mj_forward(self._model, self._data)

    @property
    def twist(self) -> Array:
        """Velocity (6,) of its origin [m/s] and angular velocity [rad/s], base axes; zero if it is not free."""
        if self._v is None:
            return np.zeros(6)
        v, w = np.split(self._data.qvel[self._v : self._v + 6], 2)
        return np.concatenate([v, self.pose[:3, :3] @ w])  # MuJoCo's angular velocity is in the body

    @property
    def vertices(self) -> Array:
        """Nodes (k, 3) of a soft object in the base [m]; none of a rigid one."""
        if isinstance(self.thing, Solid):
            return np.empty((0, 3))
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_flex(self._model, self._data)
        flex = mujoco.mj_name2id(self._model, mujoco.mjtObj.mjOBJ_FLEX, OBJECT + self.thing.name)
        first, count = int(self._model.flex_vertadr[flex]), int(self._model.flex_vertnum[flex])
        return np.array(self._data.flexvert_xpos[first : first + count])


def _volumes(thing: Solid) -> list[float]:
    """[m^3] of each shape, as MuJoCo has it."""
    spec = mujoco.MjSpec()
    for shape in thing.shapes:
        spec.worldbody.add_body().add_geom(density=1.0, **shape.geom())
    return [float(mass) for mass in spec.compile().body_mass[1:]]


def _check_name(name: str) -> None:
    if not name or not isinstance(name, str):
        raise TrocarError(f"an object needs a name, got {name!r}")


def _check_not_negative(thing: Object, *names: str) -> None:
    for name in names:
        value = getattr(thing, name)
        if not (np.isfinite(value) and value >= 0):
            raise TrocarError(f"{name} of {thing.name} must be finite and not negative, got {value!r}")
