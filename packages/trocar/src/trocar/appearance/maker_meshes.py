"""The manufacturer's meshes instead of the built-in shapes, from a checkout of `dvrk_model` (jhu-dvrk/dvrk_model).

Set the environment variable TROCAR_DVRK_MODEL to that folder. The place of each mesh is read from the URDF (xacro)
files of the checkout, at q = 0. Only the appearance changes. Those meshes are not part of trocar or of any export.
"""

from __future__ import annotations

import math
import os
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

from trocar.appearance.sketch import VISUAL
from trocar.arms import ARMS, Arm
from trocar.arms.arm import poses_at_zero
from trocar.arms.tables import read, stem
from trocar.errors import TrocarError, one_line, shown
from trocar.files import read_whole
from trocar.spatial import Array, inverse, pose, quaternion, rotation

VARIABLE = "TROCAR_DVRK_MODEL"
READABLE = (".stl", ".STL", ".obj", ".OBJ")  # formats that MuJoCo reads; it does not read Collada (.dae)
# An exported surface need not be closed, and has no mass here anyway.
SHELL = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
MAX_JOINTS = 1000  # of a description
MAX_NUMBER = 1e4  # in a description [m, rad]


@dataclass(frozen=True)
class MakerMesh:
    """A mesh file of the checkout: `body` that carries it (None: fixed), its pose in the base at q = 0, its scale."""

    body: str | None
    path: Path
    T_base_mesh: Array
    scale: tuple[float, float, float]


def checkout() -> Path | None:
    """The folder given by TROCAR_DVRK_MODEL; None if it is not set."""
    folder = os.environ.get(VARIABLE)
    return Path(folder) if folder else None


def replace_shapes(spec: mujoco.MjSpec, arm: Arm, folder: Path) -> None:
    """Replace the built-in visual shapes by the checkout's meshes, on bodies that have one."""
    meshes, T_base = maker_meshes(arm, folder), poses_at_zero(arm.bodies)
    bodies = {mesh.body: spec.worldbody if mesh.body is None else spec.body(mesh.body) for mesh in meshes}
    for body in bodies.values():
        for geom in [g for g in body.geoms if g.group == VISUAL["group"]]:
            spec.delete(geom)
    kind = mujoco.mjtGeom.mjGEOM_MESH
    for i, mesh in enumerate(meshes):
        name = f"maker_{i}"
        T = mesh.T_base_mesh if mesh.body is None else inverse(T_base[mesh.body]) @ mesh.T_base_mesh
        spec.add_mesh(name=name, file=str(mesh.path.resolve()), scale=mesh.scale, inertia=SHELL)
        place = {"pos": T[:3, 3], "quat": quaternion(T[:3, :3])}
        bodies[mesh.body].add_geom(type=kind, meshname=name, material="cast", **place, **VISUAL)


def maker_meshes(arm: Arm, folder: Path) -> list[MakerMesh]:
    """Every readable mesh of an arm in a checkout; raises an error if there is none."""
    if arm.name not in ARMS:
        raise TrocarError(f"dvrk_model has no meshes of {arm.name}; unset {VARIABLE}")
    described = read(stem(arm.name))["dvrk_model"]
    macros = described["macros"]
    source = folder / described["file"]
    if not source.is_file():
        remedy = "name the top folder of a dvrk_model checkout, or unset it"
        raise TrocarError(f"{VARIABLE}={folder} has no {described['file']}: {remedy}")
    T_root = pose(R=rotation("z", described.get("turn", 0.0)))
    links, T = _read(source, macros[arm.name] if isinstance(macros, dict) else macros, {described["root"]: T_root})
    meshes, missing = [], []
    for link, body in described["links"].items():
        for filename, T_link_mesh, scale in links.get(link, ()):
            path = _readable(folder, filename)
            if path is None:
                missing.append(filename)
            elif link in T:
                meshes.append(MakerMesh(body or None, path, T[link] @ T_link_mesh, scale))
                _check(meshes[-1])
    if not meshes:
        named = f" ({', '.join(missing[:3])}, ... are missing as .stl or .obj)" if missing else ""
        raise TrocarError(f"{VARIABLE}={folder} has no readable mesh of {arm.name}{named}")
    return meshes


def _check(mesh: MakerMesh) -> None:
    """Raise an error if MuJoCo cannot use a mesh."""
    spec = mujoco.MjSpec()
    spec.add_mesh(name="mesh", file=str(mesh.path.resolve()), scale=mesh.scale, inertia=SHELL)
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="mesh")
    try:
        spec.compile()
    except ValueError as error:
        raise TrocarError(f"{VARIABLE}: the mesh {mesh.path.name} cannot be used: {one_line(str(error))}") from None


def _readable(folder: Path, filename: str) -> Path | None:
    """The file of a package:// address, or one of the same name in a readable format."""
    path = folder / filename.split("package://dvrk_model/")[-1]
    candidates = [path, *(path.with_suffix(suffix) for suffix in READABLE)]
    return next((p for p in candidates if p.suffix in READABLE and p.is_file()), None)


Visual = tuple[str, Array, tuple[float, float, float]]


def _read(source: Path, macros: Sequence[str], T: dict[str, Array]) -> tuple[dict[str, list[Visual]], dict[str, Array]]:
    """Visual meshes (file name, pose on the link, scale) by link, and poses of the links in our base at q = 0.

    macros: those that make up the arm. T: pose of the root link.
    """
    try:
        tree = ElementTree.fromstring(read_whole(source, "description"))
    except (ElementTree.ParseError, ValueError, LookupError) as error:  # also of an unknown encoding
        raise TrocarError(f"{source} is not XML: {one_line(str(error))}") from None
    links: dict[str, list[Visual]] = {}
    joints: list[tuple[str, str, Array]] = []
    for macro in (e for e in tree.iter() if e.tag.endswith("}macro") and e.get("name") in macros):
        for link in macro.iter("link"):
            links.setdefault(_plain(link.get("name")), []).extend(_visuals(link))
        for joint in macro.iter("joint"):
            parent, child = joint.find("parent"), joint.find("child")
            if parent is not None and child is not None:
                joints.append((_plain(parent.get("link")), _plain(child.get("link")), _origin(joint)))
    if len(joints) > MAX_JOINTS:
        raise TrocarError(f"{source} has {len(joints)} joints in the macros of one arm, more than {MAX_JOINTS}")
    for _ in joints:  # joints may be listed in any order
        for parent_link, child_link, T_parent_child in joints:
            if parent_link in T and child_link not in T:
                T[child_link] = T[parent_link] @ T_parent_child
    return links, T


def _visuals(link: ElementTree.Element) -> Iterator[Visual]:
    for visual in link.iter("visual"):
        mesh = visual.find("geometry/mesh")
        if mesh is not None and mesh.get("filename"):
            x, y, z = _numbers(mesh.get("scale", "1 1 1"))
            yield str(mesh.get("filename")), _origin(visual), (x, y, z)


def _origin(element: ElementTree.Element) -> Array:
    """Pose (4, 4) of an <origin>: translation, then roll, pitch, yaw about fixed axes [m, rad]."""
    origin = element.find("origin")
    if origin is None:
        return np.eye(4)
    roll, pitch, yaw = _numbers(origin.get("rpy", "0 0 0"))
    R = rotation("z", yaw) @ rotation("y", pitch) @ rotation("x", roll)
    return pose(R=R, p=_numbers(origin.get("xyz", "0 0 0")))


def _numbers(text: str) -> tuple[float, float, float]:
    """Three numbers; of xacro's expressions, only those of pi that occur there, such as ${-PI/2}, are supported."""
    words = re.findall(r"-?\$\{[^}]*\}|\S+", text)
    if len(words) != 3:
        return 0.0, 0.0, 0.0  # a parameter of the macro, such as ${xyz}, whose default is zero
    x, y, z = (_number(word) for word in words)
    return x, y, z


def _number(word: str) -> float:
    match = re.fullmatch(r"(-?)\$\{\s*(-?)\s*PI(_2|\s*/\s*[1-9]\d{0,5})?\s*\}", word)
    if match:
        divisor = 2.0 if match[3] == "_2" else float(match[3].strip(" /")) if match[3] else 1.0
        return math.pi / divisor * (-1.0 if (match[1] == "-") != (match[2] == "-") else 1.0)
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not abs(value) <= MAX_NUMBER:
        raise TrocarError(f"{VARIABLE}: cannot use the number {shown(word)} of the checkout's description")
    return value


def _plain(name: str | None) -> str:
    return (name or "").replace("${prefix}", "")
