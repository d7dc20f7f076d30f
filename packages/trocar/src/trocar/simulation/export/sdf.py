"""Arms as SDF for Gazebo: a tree of links with mimic joints, position controllers, the stereo endoscope, and a world.

Gazebo's engines do not close kinematic loops (gz-physics issue 25). A mimic joint of SDF 1.11 replaces each loop or
cable: the engine bullet-featherstone enforces it, dartsim ignores it (gz-physics issue 432).
Drake reads its own element, `drake:mimic`. For Gazebo Classic, whose engines close loops, see `sdf_classic`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from xml.etree.ElementTree import Element

import numpy as np
import scipy

from trocar.appearance.endoscope_camera import BASELINE, FAR, NEAR, R_TIP_OPTICAL, VIEW
from trocar.appearance.lens import Lens
from trocar.appearance.sketch import MATERIALS
from trocar.arms.arm import Arm, poses_at_zero
from trocar.arms.parameters import Drive, Inertia
from trocar.errors import TrocarError
from trocar.mechanics import Mechanism
from trocar.simulation.export.links import ROOT, Link, fixed_links, flat, link_name, links, own_inertias, upper_triangle
from trocar.simulation.export.meshes import Mesh
from trocar.simulation.export.urdf import placed
from trocar.simulation.export.xml import add, add_texts, document, numbers, texts
from trocar.simulation.scene import Scene
from trocar.simulation.simulated_arm import SimulatedArm
from trocar.spatial import Array, pose, roll_pitch_yaw, rotation

VERSION = "1.11"
DRAKE = "http://drake.mit.edu"  # namespace of Drake's own elements, which others ignore
BANDWIDTH = 20.0  # bandwidth of the position controllers [rad/s]
# Gazebo's camera looks along x with z up; the optical frame has x right, y down, z away.
R_OPTICAL_CAMERA = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]])
DISC = np.diag([0.51, 0.51, 1.0])  # inertia of a disc relative to that about its axis; 0.5 for zero thickness
# Mass [kg] and moment [kg m^2] of such a link; where there are rotors, at least a sixth of the smallest one.
# Engines that solve constraints by a few iterations need neighbours of similar weight: with 0.1 g and 1e-8 kg m^2 the
# model explodes in Gazebo Classic.
MIN_MASS, MIN_MOMENT = 2e-3, 1e-5


def with_discs(simulated: SimulatedArm) -> dict[str, Inertia]:
    """Inertia of every body: that of the parameters, or that of a disc about the joint's axis, in place of a rotor.

    The inertia of the PSM's wrist was identified as part of the link "insertion"; its joints move the inertia of their
    motors, which SDF cannot express, and an explicit integrator needs some on every link. The moments of
    the discs are fitted so that the mass matrix of the joints that drive these links is closest to that of their rotors
    at q = 0.
    """
    arm, inertias = simulated.arm, dict(own_inertias(simulated))
    bare = [body.name for body in arm.bodies if body.name not in inertias]
    moments = dict.fromkeys(bare, MIN_MOMENT)
    turning = [name for name in bare if arm.body(name).kind == "revolute"]
    drives = simulated.mechanism.drives
    rotors = drives.A.T @ np.diag(drives.Im) @ drives.A
    driven = [arm.driven[name] in turning for name in arm.joint_names]
    joints = np.flatnonzero(np.array(driven) & (np.diag(rotors) > 0.0))
    if joints.size:
        rotors = rotors[np.ix_(joints, joints)]
        columns = [_rates(arm, name)[:, joints] for name in turning]
        upper = np.triu_indices(len(joints))
        # weights between absolute and relative errors: each joint then has its rotor inertia within a factor of two
        size = np.outer(np.diag(rotors), np.diag(rotors))[upper] ** 0.25
        design = np.stack([(W.T @ DISC @ W)[upper] / size for W in columns], axis=1)
        fit = scipy.optimize.lsq_linear(
            design, rotors[upper] / size, bounds=(float(np.diag(rotors).min()) / 6.0, np.inf)
        )
        if not fit.success:
            raise TrocarError(f"the moments of the links of {arm.name} without inertia were not found: {fit.message}")
        moments |= dict(zip(turning, fit.x, strict=True))
    discs = {name: Inertia(mass=MIN_MASS, com=np.zeros(3), I=I * DISC) for name, I in moments.items()}
    for name in bare:  # its mass is part of a link that carries it
        host = next(carrier for carrier in reversed(arm.carriers(name)) if carrier in inertias)
        inertias[host] = replace(inertias[host], mass=inertias[host].mass - MIN_MASS)
    return {body.name: inertias.get(body.name) or discs[body.name] for body in arm.bodies}


def _rates(arm: Arm, name: str) -> Array:
    """Angular velocity (3, n) of a body in its own axes per joint velocity, at q = 0."""
    T, W = poses_at_zero(arm.bodies), np.zeros((3, arm.n))
    for body in map(arm.body, arm.carriers(name)):
        if body.kind == "revolute":
            W += np.outer(T[body.name][:3, 2], [body.coupling.get(joint, 0.0) for joint in arm.joint_names])
    return np.asarray(T[name][:3, :3].T @ W)


def frame_text(T: Array) -> str:
    """A pose (4, 4) as SDF writes it: x y z [m], roll pitch yaw [rad]."""
    return numbers([*T[:3, 3], *roll_pitch_yaw(T[:3, :3])])


def upright(scene: Scene) -> Array | None:
    """Pose (4, 4) in Gazebo's world, z up, of a model with tilted gravity; None if it is upright."""
    down = scene.gravity / max(float(np.linalg.norm(scene.gravity)), 1e-9)
    pitch = math.atan2(-down[1], -down[2])
    return None if abs(pitch) < 1e-12 else pose(rotation("x", pitch))


def add_controllers(
    model: Element, scene: Scene, start: Mapping[str, Array], inertias: Mapping[str, Mapping[str, Inertia]]
) -> None:
    """A position controller for every independent joint, which holds `start` until it receives a command.

    A PID of BANDWIDTH for the joint's inertia in this file at `start`, with the weight there as feed-forward,
    limited to the joint's effort.
    """
    for name, simulated in scene.arms.items():
        prefix = scene.stepped[name].prefix
        loads = joint_loads(simulated, start[name], inertias[name])
        for joint, M, weight, target in zip(simulated.arm.joints, *loads, start[name], strict=True):
            plugin = _system(model, "joint-position-controller", "JointPositionController")
            P, I, D = pid_gains(M)
            add_texts(plugin, joint_name=flat(prefix + joint.name), p_gain=P, i_gain=I, d_gain=D)
            add_texts(plugin, i_max=joint.effort, i_min=-joint.effort, cmd_max=joint.effort, cmd_min=-joint.effort)
            add_texts(plugin, cmd_offset=weight, initial_position=target)
    _system(model, "joint-state-publisher", "JointStatePublisher")


def joint_loads(simulated: SimulatedArm, q: Array, inertias: Mapping[str, Inertia]) -> tuple[Array, Array]:
    """Inertia [kg m^2, kg] and weight [N m, N] of every joint (n,) at q with these inertias, without motors."""
    drives = tuple(replace(drive, Im=0.0) for drive in _without_springs(simulated))
    of_file = replace(simulated.parameters, inertias=dict(inertias), drives=drives, elastics=())
    mechanism = Mechanism(simulated.arm, of_file, gravity=simulated.gravity_vector)
    return np.diag(mechanism.mass_matrix(q)), mechanism.gravity(q)


def _without_springs(simulated: SimulatedArm) -> tuple[Drive, ...]:
    return tuple(replace(drive, K=0.0, K2=0.0, K0=0.0) for drive in simulated.parameters.drives)


def deviation(scene: Scene, start: Mapping[str, Array]) -> str:
    """A sentence on what the inertias of the file change at `start`: of the joint with the largest change."""
    inertia, weight = {}, {}
    for name, simulated in scene.arms.items():
        of_file = joint_loads(simulated, start[name], with_discs(simulated))
        bare = replace(simulated.parameters, elastics=(), drives=_without_springs(simulated))
        of_arm = Mechanism(simulated.arm, bare, gravity=simulated.gravity_vector)
        M, g = np.diag(of_arm.mass_matrix(start[name])), of_arm.gravity(start[name])
        for k, joint in enumerate(simulated.arm.joint_names):
            inertia[f"{name} {joint}"] = float(of_file[0][k] / M[k])
            weight[f"{name} {joint}"] = float(abs(of_file[1][k] - g[k]))
    heavier, sagging = max(inertia, key=lambda key: abs(np.log(inertia[key]))), max(weight, key=lambda key: weight[key])
    return (
        f"Where joints start, their inertia is up to {inertia[heavier]:.2g} times that of the arm ({heavier}), "
        f"their weight differs by {weight[sagging]:.2g} N m or N ({sagging})."
    )


def pid_gains(M: float) -> tuple[float, float, float]:
    """Gains P, I, D of a controller of BANDWIDTH for the inertia M."""
    return M * BANDWIDTH**2, M * BANDWIDTH**3 / 4, 2.0 * M * BANDWIDTH


def add_cameras(link: Element, name: str, T_link_tip: Array) -> None:
    """The two cameras of an endoscope on the link that carries its tip; images on the topics NAME/left, NAME/right."""
    lens = Lens.of_view(VIEW)
    for eye, aside in (("left", BASELINE / 2), ("right", -BASELINE / 2)):
        T = T_link_tip @ pose(R_TIP_OPTICAL @ R_OPTICAL_CAMERA, [aside, 0.0, 0.0])
        sensor = add(link, "sensor", name=f"{name}_{eye}", type="camera")
        add_texts(sensor, pose=frame_text(T), topic=f"{name}/{eye}", update_rate=30.0)
        camera = add(sensor, "camera")
        add_texts(camera, horizontal_fov=VIEW)
        add_texts(add(camera, "image"), width=str(lens.width), height=str(lens.height), format="R8G8B8")
        add_texts(add(camera, "clip"), near=NEAR, far=FAR)


def _system(parent: Element, file: str, name: str) -> Element:
    return add(parent, "plugin", filename=f"gz-sim-{file}-system", name=f"gz::sim::systems::{name}")


def sdf(scene: Scene, name: str, title: str, start: Mapping[str, Array], meshes: list[Mesh]) -> str:
    """Text of model.sdf; `title` describes the arms and parameters."""
    root = sdf_tree(scene, name, start, meshes)
    return document(root, [f"{title} See README.md.", deviation(scene, start), texts()["comments"]["sdf"]])


def sdf_tree(scene: Scene, name: str, start: Mapping[str, Array], meshes: list[Mesh]) -> Element:
    """Elements of model.sdf. Poses are those at q = 0, where every joint is zero.

    Args:
        start: joints (n,) of every arm, the targets of its controllers.
    """
    root = Element("sdf", version=VERSION)
    root.set("xmlns:drake", DRAKE)
    model = add(root, "model", name=name)
    T_world_root = upright(scene)
    if T_world_root is not None:
        add(model, "pose", frame_text(T_world_root))
    for fixed, T_root, shapes in fixed_links(scene, meshes):
        element, world = add(model, "link", name=fixed), fixed == ROOT
        if not world:
            add(element, "pose", frame_text(T_root))
        _visuals(element, shapes)
        joint = add(model, "joint", name="base_to_world" if world else f"{fixed}_fixed", type="fixed")
        add_texts(joint, parent="world" if world else ROOT, child=fixed)
    tree = links(scene, meshes)
    inertias = {arm: with_discs(simulated) for arm, simulated in scene.arms.items()}
    cameras: dict[str, Element] = {}
    for link in tree:
        T_base = scene.T_world_base(link.arm) if scene.stepped[link.arm].prefix else np.eye(4)
        T = T_base @ poses_at_zero(scene.arms[link.arm].arm.bodies)[link.body]
        cameras[f"{link.arm}/{link.body}"] = _link(model, link, T, inertias[link.arm][link.body])
    for link in tree:
        _joint(model, link)
    for arm, simulated in scene.arms.items():
        facts, prefix = simulated.arm, scene.stepped[arm].prefix
        frame = add(model, "frame", name=flat(prefix + "tip"), attached_to=link_name(prefix + facts.tip_body))
        add(frame, "pose", frame_text(facts.T_body_tip))
        if facts.carries == "endoscope":
            add_cameras(cameras[f"{arm}/{facts.tip_body}"], flat(prefix + "endoscope"), facts.T_body_tip)
    add_controllers(model, scene, start, inertias)
    return root


def _link(model: Element, link: Link, T: Array, inertia: Inertia) -> Element:
    element = add(model, "link", name=link.name)
    add(element, "pose", frame_text(T))
    inertial = add(element, "inertial")
    add_texts(inertial, pose=frame_text(pose(p=inertia.com)), mass=inertia.mass)
    add_texts(add(inertial, "inertia"), **upper_triangle(inertia.I))
    _visuals(element, link.meshes)
    for i, geom in enumerate(link.solids):
        collision = add(element, "collision", name=f"collision_{i}")
        T_geom, size, kind = placed(geom)
        add(collision, "pose", frame_text(T_geom))
        shape = add(add(collision, "geometry"), kind)
        if kind == "box":
            add_texts(shape, size=2.0 * size)
        else:
            add_texts(shape, radius=size[0], **({"length": 2.0 * size[1]} if kind == "capsule" else {}))
    return element


def _visuals(parent: Element, meshes: Iterable[Mesh]) -> None:
    for mesh in meshes:
        colour, specular, _ = MATERIALS[mesh.material]
        element = add(parent, "visual", name=mesh.material)
        add(add(add(element, "geometry"), "mesh"), "uri", f"assets/{mesh.file}")
        rgba, shine = [*colour, 1.0], [specular, specular, specular, 1.0]
        add_texts(add(element, "material"), ambient=rgba, diffuse=rgba, specular=shine)


def _joint(model: Element, link: Link) -> None:
    element = add(model, "joint", name=link.joint, type=link.kind)
    add_texts(element, parent=link.parent, child=link.name)
    axis = add(element, "axis")
    add(axis, "xyz", "0 0 1")
    if link.follows is not None:
        leader, factor = link.follows
        add_texts(add(axis, "mimic", joint=leader), multiplier=factor, offset=0.0, reference=0.0)
        add(element, "drake:mimic", joint=leader, multiplier=factor, offset="0")
    limit = add(axis, "limit")
    # a simulator starts joints at 0, and a start beyond a stop causes an impact
    add_texts(limit, lower=min(link.lower, 0.0), upper=max(link.upper, 0.0))
    if link.follows is None:
        add_texts(limit, effort=link.effort, velocity=link.velocity)
    if link.damping or link.friction:
        add_texts(add(axis, "dynamics"), damping=link.damping, friction=link.friction)
