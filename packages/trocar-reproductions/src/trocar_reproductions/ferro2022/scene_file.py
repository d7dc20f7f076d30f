"""Scenes of CoppeliaSim as Ferro et al. 2022 published them: bodies, joints, loop closures and engine settings.

Fields follow the public sources of CoppeliaSim (coppeliaSimLib). A pose is that of an object in the frame of its
parent; below a joint, the joint's motion about or along its z axis comes first. A shape stores its principal inertias
divided by its mass.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import Any, TypeVar

import numpy as np
from scipy.spatial.transform import Rotation

from trocar.errors import TrocarError, UnknownName
from trocar.spatial import Array, pose
from trocar_reproductions.ferro2022.packed_file import blocks, unpacked

OBJECTS = ("JNT", "SHP", "DMY")  # joints, shapes and dummies; cameras, lights and graphs are skipped
JOINT_KINDS = {10: "revolute", 11: "prismatic", 12: "spherical"}
JOINT_MODES = {0: "passive", 1: "motion", 2: "inverse kinematics", 3: "dependent", 4: "motion", 5: "dynamic"}
ENGINES = {0: "Bullet", 1: "ODE", 2: "Vortex", 3: "Newton"}
# Settings that replace the stored step and iterations; the last preset uses the stored ones.
PRESETS = ("very accurate", "accurate", "fast", "very fast", "custom")
SHAPE_PARTS = ("Gsg", "Gst")  # a shape that consists of others, and a single one
MAX_DEPTH = 200  # objects between an object and the world


@dataclass(frozen=True, kw_only=True)
class CoppeliaObject:
    """An object of the scene: its name, id, the id of its parent (-1: the world) and its pose in the parent's frame."""

    name: str
    id: int
    parent: int
    T_parent: Array


Kind = TypeVar("Kind", bound=CoppeliaObject)


@dataclass(frozen=True, kw_only=True)
class CoppeliaJoint(CoppeliaObject):
    """A joint.

    Attributes:
        kind: "revolute", "prismatic" or "spherical". mode: the engine moves joints of mode "dynamic".
        lower, upper, position: [rad, m]. motor: True if its motor is on. loop: True if the motor controls the position.
        force: largest motor force [N m, N]. gains: P, I, D of the position loop; it commands P x error / physics step.
        speed: largest velocity that the loop commands [rad/s, m/s].
        erp, cfm: error reduction and softness of the joint in ODE.
    """

    kind: str
    mode: str
    lower: float
    upper: float
    position: float
    motor: bool
    loop: bool
    force: float
    gains: tuple[float, float, float]
    speed: float
    erp: float
    cfm: float

    def motion(self, position: float) -> Array:
        """Pose (4, 4) of the moving side in the frame of the joint."""
        if self.kind == "prismatic":
            return pose(np.eye(3), np.array([0.0, 0.0, position]))
        if self.kind == "revolute":
            return pose(Rotation.from_rotvec([0.0, 0.0, position]).as_matrix(), np.zeros(3))
        return np.eye(4)


@dataclass(frozen=True, kw_only=True)
class CoppeliaShape(CoppeliaObject):
    """A body.

    Attributes:
        mass: [kg]. com: centre of mass (3,) [m]; inertia: about it (3, 3) [kg m^2]; both in the frame of the shape.
        dynamic: True if the engine moves it; otherwise it is fixed to its parent and has no weight.
    """

    mass: float
    com: Array
    inertia: Array
    dynamic: bool


@dataclass(frozen=True, kw_only=True)
class CoppeliaDummy(CoppeliaObject):
    """A frame. `linked`: the id of the dummy with which it closes a loop, or -1."""

    linked: int


@dataclass(frozen=True, kw_only=True)
class CoppeliaScene:
    """A scene: engine settings and objects.

    Attributes:
        engine: physics engine. preset: its accuracy; only "custom" uses `physics_step` and `iterations`.
        gravity: (3,) [m/s^2]. time_step: simulation step [s]. physics_step: stored step of ODE [s].
        objects: by name.
    """

    path: str
    engine: str
    preset: str
    gravity: Array
    time_step: float
    physics_step: float
    iterations: int
    objects: Mapping[str, CoppeliaObject] = field(repr=False)

    def joint(self, name: str) -> CoppeliaJoint:
        """A joint by name."""
        return self._of(name, CoppeliaJoint, "joint")

    def shape(self, name: str) -> CoppeliaShape:
        """A body by name."""
        return self._of(name, CoppeliaShape, "shape")

    def pose(self, name: str, positions: Mapping[str, float] | None = None) -> Array:
        """Pose (4, 4) of an object in the world; joints at their stored positions unless `positions` gives another."""
        by_id = {one.id: one for one in self.objects.values()}
        here: CoppeliaObject | None = self._of(name, CoppeliaObject, "object")
        T = np.eye(4)
        for _ in range(MAX_DEPTH):
            if here is None:
                return T
            T = here.T_parent @ T
            above = by_id.get(here.parent)
            if isinstance(above, CoppeliaJoint):
                T = above.motion((positions or {}).get(above.name, above.position)) @ T
            here = above
        raise TrocarError(f"the scene {self.path}: the parents of '{name}' form a circle")

    def _of(self, name: str, kind: type[Kind], what: str) -> Kind:
        one = self.objects.get(name)
        if not isinstance(one, kind):
            known = sorted(other for other, value in self.objects.items() if isinstance(value, kind))
            raise UnknownName(f"{what} of {self.path}", name, known)
        return one


def load_scene_file(path: str | PathLike[str]) -> CoppeliaScene:
    """Read a binary scene of CoppeliaSim (.ttt)."""
    where = f"the scene {fspath(path)}"
    parts: dict[str, _Fields] = {}
    objects: dict[str, CoppeliaObject] = {}
    for block in blocks(unpacked(path), where):
        if block.name in ("DYN", "SIM"):
            parts[block.name] = _Fields(block.content, where, f"block '{block.name}'")
        elif block.name in OBJECTS:
            one = _object(block.name, _Fields(block.content, where, f"an object '{block.name}'"))
            if one.name in objects:
                raise TrocarError(f"{where} has two objects called '{one.name}'")
            objects[one.name] = one
    if lacking := {"DYN", "SIM"} - parts.keys():
        raise TrocarError(f"{where} has no block '{min(lacking)}': it is not a complete scene")
    dynamics = parts["DYN"]
    engine, *gravity, preset = dynamics.numbers("En3", "<i3fi")
    sizes_and_values = dynamics.numbers("OdN", "<2i5f3i")
    scene = CoppeliaScene(
        path=fspath(path),
        engine=dynamics.named("En3", ENGINES, engine),
        preset=dynamics.named("En3", dict(enumerate(PRESETS)), preset),
        gravity=np.array(gravity),
        time_step=parts["SIM"].number("Sts"),
        physics_step=sizes_and_values[2],
        iterations=int(sizes_and_values[7]),
        objects=objects,
    )
    for name in objects:
        scene.pose(name)  # refuses circles
    return scene


class _Fields:
    """The blocks of an object by name, with checks of their sizes and values."""

    def __init__(self, content: bytes, where: str, what: str) -> None:
        self._parts: dict[str, bytes] = {}
        self._where, self._what = where, what
        for block in blocks(content, where):
            self._parts.setdefault(block.name, block.content)

    def content(self, name: str) -> bytes:
        if name not in self._parts:
            raise self.error(f"has no field '{name}'")
        return self._parts[name]

    def numbers(self, name: str, layout: str) -> tuple[float, ...]:
        """Finite numbers of a field in the layout of `struct`."""
        content = self.content(name)
        if len(content) != struct.calcsize(layout):
            raise self.error(f"has a field '{name}' of {len(content)} bytes, expected {struct.calcsize(layout)}")
        values = struct.unpack(layout, content)
        if not np.isfinite(values).all():
            raise self.error(f"has a field '{name}' with a number that is not finite")
        return values

    def number(self, name: str) -> float:
        return self.numbers(name, "<f")[0]

    def whole(self, name: str) -> int:
        return int(self.numbers(name, "<i")[0])

    def named(self, name: str, names: Mapping[int, str], value: float) -> str:
        if int(value) not in names:
            raise self.error(f"has {int(value)} in field '{name}'; known: {', '.join(map(str, names))}")
        return names[int(value)]

    def frame(self, name: str) -> Array:
        w, x, y, z, *p = self.numbers(name, "<7f")
        return pose(self.turn(name, (w, x, y, z)), np.array(p))

    def turn(self, name: str, wxyz: tuple[float, ...]) -> Array:
        """Rotation of a quaternion, which is stored with six digits."""
        if abs(np.linalg.norm(wxyz) - 1.0) > 1e-3:
            raise self.error(f"has a quaternion in field '{name}' whose length is not 1")
        return Rotation.from_quat(wxyz, scalar_first=True).as_matrix()

    def text(self, name: str) -> str:
        content = self.content(name)
        if len(content) < 4 or struct.unpack_from("<i", content)[0] != len(content) - 4:
            raise self.error(f"has a text in field '{name}' of another length than it announces")
        return content[4:].decode("utf-8", "replace")

    def inside(self, name: str) -> _Fields:
        """The fields of the first part of a shape."""
        nested = _Fields(self.content(name), self._where, self._what)
        for part in SHAPE_PARTS:
            if part in nested._parts:
                return _Fields(nested.content(part), self._where, self._what)
        raise self.error(f"has a field '{name}' without {' or '.join(SHAPE_PARTS)}")

    def error(self, problem: str) -> TrocarError:
        return TrocarError(f"{self._where}: {self._what} {problem}")


def _object(kind: str, fields: _Fields) -> CoppeliaObject:
    ids = fields.numbers("Ids", "<2i")
    common: dict[str, Any] = {
        "name": fields.text("Nme"),
        "id": int(ids[0]),
        "parent": int(ids[1]),
        "T_parent": fields.frame("Cfq"),
    }
    if kind == "DMY":
        return CoppeliaDummy(**common, linked=fields.whole("Lli"))
    if kind == "SHP":
        geometry = fields.inside("Ge2")
        mass, (*com, w, x, y, z, a, b, c) = geometry.number("Mas"), geometry.numbers("Ine", "<10f")
        if mass <= 0.0:
            raise fields.error(f"('{common['name']}') has a mass of {mass:g} kg")
        R = geometry.turn("Ine", (w, x, y, z))
        inertia = mass * (R @ np.diag([a, b, c]) @ R.T)
        dynamic = bool(fields.content("Sss")[:1] >= b"\x80")
        return CoppeliaShape(**common, mass=mass, com=np.array(com), inertia=inertia, dynamic=dynamic)
    lower, extent = fields.numbers("Pmr", "<2f")
    flags = int(fields.numbers("Va9", "<B")[0])
    ode = fields.numbers("OdN", "<2i5fi")
    gain, integral, derivative = fields.numbers("Dp2", "<3f")
    return CoppeliaJoint(
        **common,
        kind=fields.named("Jtt", JOINT_KINDS, fields.whole("Jtt")),
        mode=fields.named("Jmd", JOINT_MODES, fields.whole("Jmd")),
        lower=lower,
        upper=lower + extent,
        position=fields.number("Prt"),
        motor=bool(flags & 16),
        loop=bool(flags & 32),
        force=fields.numbers("Dmp", "<2f")[1],
        gains=(gain, integral, derivative),
        speed=fields.number("Ulv"),
        erp=ode[2],
        cfm=ode[6],
    )
