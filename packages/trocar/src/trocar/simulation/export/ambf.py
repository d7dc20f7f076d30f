"""Arms as description files (ADF) of the AMBF simulator: every link with its inertia, and closed loops.

AMBF simulates single rigid bodies with constraints (Bullet). A loop is a point-to-point constraint beside the joints of
the tree. Inertia is diagonal in a frame with its own orientation, the inertial offset. AMBF builds the frames of a
joint from its two axes in these frames, by the shortest rotation between vectors; it takes angles below 0.1 rad for 0
and above 3.13 rad for pi. The principal axes are therefore named in an order that avoids both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from trocar.appearance.sketch import MATERIALS
from trocar.arms.parameters import Inertia
from trocar.errors import TrocarError
from trocar.mechanics.arm_kinematics import ArmKinematics
from trocar.simulation.export.links import ROOT, Link, link_name, links
from trocar.simulation.export.meshes import BASE, Mesh, obj
from trocar.simulation.export.sdf import joint_loads, pid_gains, upright, with_discs
from trocar.simulation.export.urdf import placed
from trocar.simulation.export.yaml import yaml_text
from trocar.simulation.scene import Scene
from trocar.spatial import Array, pose, roll_pitch_yaw, rotation_vector, unit

LIBRARY = "materials.mtl"
Z = np.array([0.0, 0.0, 1.0])
FRAME_AXIS = {"revolute": Z, "fixed": Z, "prismatic": np.array([1.0, 0.0, 0.0])}  # of Bullet's constraints
MIN_ANGLE, MAX_ANGLE = 0.12, 3.1  # between vectors whose rotation AMBF computes exactly [rad]
SPECK = 1e-3  # radius of a shape on a link that has none, because AMBF requires one [m]


def ambf_files(scene: Scene, name: str, title: str, start: Array, meshes: list[Mesh]) -> dict[str, str]:
    """Contents of the folder ambf/ of the model of a single arm: NAME.yaml and a mesh for every link.

    Args:
        title: describes the arm and parameters. start: joints (n,) at which the bodies are placed.
    """
    ((_, simulated),) = scene.arms.items()
    arm, tree = simulated.arm, links(scene, meshes)
    inertias = with_discs(simulated)
    R = _principal_axes(tree, inertias, arm.transmissions)
    T_world_root = upright(scene)
    poses = {ROOT: np.eye(4), **{link_name(body): T for body, T in ArmKinematics(arm).poses(start).items()}}
    world = np.eye(4) if T_world_root is None else T_world_root
    fixed = tuple(mesh for mesh in meshes if mesh.link == BASE)
    nothing = Inertia(mass=0.0, com=np.zeros(3), I=np.zeros((3, 3)))  # AMBF fixes a body without mass
    published = {f"publish {what}": True for what in ("children names", "joint names", "joint positions")}
    bodies = {ROOT: _body(ROOT, nothing, R[ROOT], world, fixed, ()) | published}
    for link in tree:
        inertia = inertias[link.body]
        bodies[link.name] = _body(link.name, inertia, R[link.name], world @ poses[link.name], link.meshes, link.solids)
    loads, _ = joint_loads(simulated, start, inertias)
    gains = {joint: pid_gains(M) for joint, M in zip(arm.joint_names, loads, strict=True)}
    values = dict(zip(arm.joint_names, start.tolist(), strict=True))
    joints = {link.joint: _joint(link, R, arm.transmissions, gains, values) for link in tree}
    for loop in arm.loops:
        ends = {"parent": f"BODY {link_name(loop.body_a)}", "child": f"BODY {link_name(loop.body_b)}"}
        pivots = {"parent pivot": _xyz(loop.point_a), "child pivot": _xyz(loop.point_b)}
        axes = {"parent axis": _xyz(Z), "child axis": _xyz(Z)}  # read, but without effect
        joints[f"{loop.name}_loop"] = {"name": f"{loop.name}_loop", **ends, **axes, **pivots, "type": "p2p"}
    content: dict[str, Any] = {
        "bodies": [f"BODY {body}" for body in bodies],
        "joints": [f"JOINT {joint}" for joint in joints],
        "high resolution path": "./meshes/",
        "low resolution path": "./meshes/",
        "ignore inter-collision": True,
        "namespace": f"/ambf/env/{name.lower()}/",
        **{f"BODY {body}": entry for body, entry in bodies.items()},
        **{f"JOINT {joint}": entry for joint, entry in joints.items()},
    }
    of_links = {ROOT: fixed, **{link.name: link.meshes for link in tree}}
    files = {f"meshes/{link}.obj": obj(shapes, LIBRARY) for link, shapes in of_links.items() if shapes}
    files |= {f"meshes/{LIBRARY}": _materials(meshes), f"{name.lower()}.yaml": yaml_text(content, title)}
    return {f"ambf/{path}": text for path, text in files.items()}


def _principal_axes(
    tree: list[Link], inertias: Mapping[str, Inertia], transmissions: Mapping[str, str]
) -> dict[str, Array]:
    """Axes (3, 3) of every link in its own frame in which its inertia is diagonal, and AMBF's joints are exact."""
    axes: dict[str, Array] = {}
    own: dict[str, Link] = {link.name: link for link in tree}
    for name in (ROOT, *own):
        _, V = np.linalg.eigh(inertias[own[name].body].I) if name in own else (None, np.eye(3))
        V = V * np.linalg.det(V)
        for turn in Rotation.create_group("O").as_matrix():  # the 24 ways to name right-handed axes
            R = V @ turn
            pairs = [
                (FRAME_AXIS[_kind(link, transmissions)], R.T @ link.T_parent[:3, 2])
                for link in tree
                if link.parent == name
            ]
            if name in own:
                pairs.append((R.T @ Z, axes[own[name].parent].T @ own[name].T_parent[:3, 2]))
            if all(_is_exact(a, b) for a, b in pairs):
                axes[name] = R
                break
        else:
            raise TrocarError(f"AMBF cannot express the joints of link '{name}' with its principal axes of inertia")
    return axes


def _kind(link: Link, transmissions: Mapping[str, str]) -> str:
    """Kind of a link's joint in AMBF, which has no slide that follows another joint."""
    return "fixed" if link.body in transmissions and link.kind == "prismatic" else link.kind


def _is_exact(a: Array, b: Array) -> bool:
    angle = float(np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b))
    return angle < 1e-7 or MIN_ANGLE < angle < MAX_ANGLE


def _body(
    name: str, inertia: Inertia, R: Array, T_world: Array, meshes: tuple[Mesh, ...], solids: Iterable[Any]
) -> dict[str, Any]:
    moments = np.diag(R.T @ inertia.I @ R)
    shapes = [_shape(geom) for geom in solids]
    speck = {"shape": "Sphere", "geometry": {"radius": SPECK}}
    return {
        "name": name,
        **({"mesh": f"{name}.obj"} if meshes else speck),
        "mass": inertia.mass,
        "inertia": {f"i{axis}": moment for axis, moment in zip("xyz", moments, strict=True)},
        "inertial offset": _location(pose(R, inertia.com)),
        "location": _location(T_world),
        "scale": 1.0,
        "damping": {"linear": 0.0, "angular": 0.0},
        "compound collision shape": shapes or [speck | {"offset": _location(np.eye(4))}],
    }


def _shape(geom: Any) -> dict[str, Any]:
    """A box, a sphere, or a cylinder of the full length of a capsule."""
    T, size, kind = placed(geom)
    geometry: dict[str, Any]
    if kind == "box":
        geometry = _xyz(2.0 * size)
    else:
        geometry = {"radius": size[0]}
        if kind == "capsule":
            geometry |= {"height": 2.0 * (size[1] + size[0]), "axis": "Z"}
    shape = {"box": "Box", "capsule": "Cylinder", "sphere": "Sphere"}[kind]
    return {"shape": shape, "geometry": geometry, "offset": _location(T)}


def _joint(
    link: Link,
    R: Mapping[str, Array],
    transmissions: Mapping[str, str],
    gains: Mapping[str, tuple[float, float, float]],
    values: Mapping[str, float],
) -> dict[str, Any]:
    """The joint of a link; one that a loop moves is passive, a slide that a cable moves is fixed at its value."""
    kind = _kind(link, transmissions)
    pivot, axis = link.T_parent[:3, 3], link.T_parent[:3, 2]
    leader, factor = link.follows or (link.joint, 1.0)
    coupled = link.body in transmissions
    if kind == "fixed":
        pivot = pivot + factor * values[leader] * axis
    in_parent, in_child = R[link.parent].T @ axis, R[link.name].T @ Z
    R_zero = R[link.parent].T @ link.T_parent[:3, :3] @ R[link.name]
    across = np.cross(in_child, in_parent)
    angle = np.arctan2(np.linalg.norm(across), in_child @ in_parent)
    shortest = np.eye(3) if angle < MIN_ANGLE else Rotation.from_rotvec(angle * unit(across)).as_matrix()
    joint = {
        "name": link.joint,
        "parent": f"BODY {link.parent}",
        "child": f"BODY {link.name}",
        "parent axis": _xyz(axis),
        "parent pivot": _xyz(pivot),
        "child axis": _xyz(Z),
        "child pivot": _xyz(np.zeros(3)),
        "offset": rotation_vector(R_zero @ shortest.T) @ in_parent,
        "type": kind,
        "damping": link.damping,
    }
    if kind == "fixed" or (link.follows and not coupled):
        return joint | {"passive": True}
    P, I, D = gains[leader]
    return joint | {"joint limits": {"low": link.lower, "high": link.upper}, "controller": {"P": P, "I": I, "D": D}}


def _materials(meshes: Iterable[Mesh]) -> str:
    lines = []
    for material in sorted({mesh.material for mesh in meshes}):
        (r, g, b), specular, _ = MATERIALS[material]
        lines += [f"newmtl {material}", f"Ka {r} {g} {b}", f"Kd {r} {g} {b}", f"Ks {specular} {specular} {specular}"]
    return "\n".join(lines) + "\n"


def _xyz(values: Iterable[float]) -> dict[str, float]:
    return dict(zip("xyz", values, strict=True))


def _location(T: Array) -> dict[str, Any]:
    """A pose (4, 4): position [m], angles about the fixed axes x, y, z [rad]."""
    roll, pitch, yaw = roll_pitch_yaw(T[:3, :3])
    return {"position": _xyz(T[:3, 3]), "orientation": {"r": roll, "p": pitch, "y": yaw}}
