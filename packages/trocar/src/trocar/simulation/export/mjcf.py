"""Arms as MJCF, in the layout of a model folder: NAME.xml with the complete dynamics.

Written from the specification that the simulator compiles, with the same numbers and with default classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.etree.ElementTree import Element, fromstring

import mujoco
import numpy as np

from trocar.appearance.arm_shapes import JAW
from trocar.appearance.sketch import COLLISION, MATERIALS
from trocar.simulation.engine import IMPEDANCE
from trocar.simulation.export.meshes import BASE, Mesh
from trocar.simulation.export.xml import add, document, filled, menagerie_style, numbers, quoted
from trocar.simulation.scene import Scene
from trocar.spatial import Array

GEOMS = {
    mujoco.mjtGeom.mjGEOM_BOX: "box",
    mujoco.mjtGeom.mjGEOM_CAPSULE: "capsule",
    mujoco.mjtGeom.mjGEOM_SPHERE: "sphere",
}
TOUCHED = (1, 2)  # bits of the collision masks of an arm alone: contype, conaffinity
FRICTION = (1.0, 0.005, 0.0001)  # MuJoCo's default


def mjcf(scene: Scene, name: str, title: str, start: Mapping[str, Array], meshes: list[Mesh]) -> str:
    """Text of NAME.xml. `ctrl` is the actuator effort; constant forces of the drives are the actuators' bias.

    Args:
        title: describes the arms and parameters. start: joints (n,) of every arm in the key frame "home".
    """
    spec = scene.spec
    stiff = (2.0 * scene.timestep, 1.0)
    root = Element("mujoco", model=name)
    add(root, "compiler", angle="radian", meshdir="assets", autolimits="true")
    settings = {key: getattr(spec.option, key) for key in ("timestep", "gravity")} | {"integrator": "implicitfast"}
    settings |= {key: getattr(spec.option, key) for key in ("tolerance", "iterations")}
    settings["cone"] = "elliptic" if spec.option.cone == mujoco.mjtCone.mjCONE_ELLIPTIC else None
    settings["impratio"] = _some(spec.option.impratio, unless=1.0)
    settings["jacobian"] = "sparse" if spec.option.jacobian == mujoco.mjtJacobian.mjJAC_SPARSE else None
    add(add(root, "option", **settings), "flag", island="disable", midphase="disable")
    contact = {key: COLLISION[key] for key in ("solref", "solimp", "rgba")}
    words = contact | {"stiff": stiff, "hard": IMPEDANCE, "contype": TOUCHED[0], "conaffinity": TOUCHED[1]}
    root.append(fromstring(filled("mjcf_defaults", name=quoted(name.lower()), **words)))
    _assets(root, meshes)
    world = add(root, "worldbody")
    base = add(world, "body", name=BASE, childclass=name.lower())
    _visuals(base, BASE, meshes)
    for child in spec.worldbody.bodies:
        _body(base, child, meshes)
    _contact(root, spec)
    _tendons(root, spec, stiff)
    _equalities(root, spec, name.lower())
    _actuators(root, scene)
    custom = add(root, "custom")
    for stepped in scene.stepped.values():
        add(custom, "numeric", name=f"{stepped.prefix}effort_bias", data=stepped.mechanism.effort_bias)
    home = [scene.stepped[arm].E @ q for arm, q in start.items()]
    add(add(root, "keyframe"), "key", name="home", qpos=np.concatenate(home))
    return menagerie_style(document(root, [f"{title} See README.md."]))


def _assets(root: Element, meshes: list[Mesh]) -> None:
    asset = add(root, "asset")
    for material in sorted({mesh.material for mesh in meshes}):
        colour, specular, shininess = MATERIALS[material]
        add(asset, "material", name=material, rgba=[*colour, 1.0], specular=specular, shininess=shininess)
    for file in dict.fromkeys(mesh.file for mesh in meshes):
        add(asset, "mesh", file=file, inertia="shell")


def _visuals(element: Element, link: str, meshes: list[Mesh]) -> None:
    for mesh in meshes:
        if mesh.link == link:
            add(element, "geom", class_="visual", mesh=mesh.name, material=mesh.material)


def _body(parent: Element, body: mujoco.MjsBody, meshes: list[Mesh]) -> None:
    element = add(parent, "body", name=body.name, pos=body.pos, quat=body.quat)
    if body.joints:
        full = np.asarray(body.fullinertia)
        tensor = {"fullinertia": full} if np.isfinite(full).all() and full.any() else {"diaginertia": body.inertia}
        add(element, "inertial", pos=np.nan_to_num(body.ipos), mass=body.mass, **tensor)  # NaN if never set
    for joint in body.joints:
        kind = "slide" if joint.type == mujoco.mjtJoint.mjJNT_SLIDE else None
        drive = _set(joint, "armature", "damping", "stiffness", "frictionloss")
        add(element, "joint", name=joint.name, type=kind, range=joint.range if joint.limited else None, **drive)
    _visuals(element, body.name, meshes)
    for geom in body.geoms:
        if geom.group in (COLLISION["group"], JAW["group"]):
            _solid(element, geom)
    for site in body.sites:
        add(element, "site", name=site.name, pos=site.pos, quat=site.quat if abs(site.quat[0]) < 1.0 else None)
    for child in body.bodies:
        _body(element, child, meshes)


def _solid(parent: Element, geom: mujoco.MjsGeom) -> None:
    kind, fromto = GEOMS[geom.type], np.asarray(geom.fromto)
    placed = {"fromto": fromto} if np.isfinite(fromto).all() else {"pos": geom.pos, "quat": geom.quat}
    alone = not geom.contype or (geom.contype, geom.conaffinity) == TOUCHED
    touched = {} if alone else {"contype": str(geom.contype), "conaffinity": str(geom.conaffinity)}
    count = {"box": 3, "capsule": 1 if "fromto" in placed else 2, "sphere": 1}[kind]
    group = "jaw" if geom.group == JAW["group"] else "collision"
    condim = None if geom.condim == 3 else str(geom.condim)
    friction = None if np.array_equal(geom.friction, FRICTION) else geom.friction
    contact = {"condim": condim, "friction": friction} | touched
    add(parent, "geom", name=geom.name or None, class_=group, type=kind, size=geom.size[:count], **contact, **placed)


def _contact(root: Element, spec: mujoco.MjSpec) -> None:
    if not spec.pairs:
        return
    section = add(root, "contact")
    for pair in spec.pairs:
        names = {"name": pair.name, "geom1": pair.geomname1, "geom2": pair.geomname2, "condim": str(pair.condim)}
        add(section, "pair", **names, gap=pair.gap, solref=pair.solref, solimp=pair.solimp)


def _tendons(root: Element, spec: mujoco.MjSpec, stiff: tuple[float, float]) -> None:
    if not spec.tendons:
        return
    section = add(root, "tendon")
    for tendon in spec.tendons:
        path = list(tendon.path)
        joints = [wrap for wrap in path if wrap.type == mujoco.mjtWrap.mjWRAP_JOINT]
        friction = {"solreffriction": stiff, "solimpfriction": IMPEDANCE} if tendon.frictionloss > 0 else {}
        drive = _set(tendon, "stiffness", "damping", "armature", "frictionloss")
        drive |= {"springlength": None if joints else tendon.springlength} | friction
        element = add(section, "fixed" if joints else "spatial", name=tendon.name, group="5", **drive)
        for wrap in path:
            if wrap.type == mujoco.mjtWrap.mjWRAP_JOINT:
                add(element, "joint", joint=wrap.target.name, coef=wrap.coef)
            else:
                add(element, "site", site=wrap.target.name)


def _equalities(root: Element, spec: mujoco.MjSpec, name: str) -> None:
    section = add(root, "equality")
    for equality in spec.equalities:
        common = {"class_": name, "name": equality.name}
        first, second = equality.name1, equality.name2 or None
        if equality.type == mujoco.mjtEq.mjEQ_CONNECT:
            add(section, "connect", **common, site1=first, site2=second)
        else:
            rule = {"polycoef": equality.data[:5], "active": None if equality.active else "false"}
            add(section, "joint", **common, joint1=first, joint2=second, **rule)


def _actuators(root: Element, scene: Scene) -> None:
    """One motor each, with its largest effort; the constant force of the drives, in its coordinates, is its bias."""
    section = add(root, "actuator")
    arms = scene.arms.values()
    biases = np.concatenate([arm.arm.motors.coupling.T @ -arm.mechanism.drives.constant for arm in arms])
    limits = np.abs(np.concatenate([arm.arm.motors.effort for arm in arms]))
    for actuator, bias, limit in zip(scene.spec.actuators, biases, limits, strict=True):
        target = "tendon" if actuator.trntype == mujoco.mjtTrn.mjTRN_TENDON else "joint"
        element = add(section, "general", name=actuator.name, gear=_some(actuator.gear[0], unless=1.0))
        element.set(target, actuator.target)
        if np.isfinite(limit):
            element.set("ctrlrange", numbers([-limit, limit]))
        if bias:
            element.set("biastype", "affine")
            element.set("biasprm", numbers([bias, 0.0, 0.0]))


def _some(value: float, unless: float = 0.0) -> float | None:
    """The value; None if it is the default."""
    return None if value == unless else float(value)


def _set(part: object, *names: str) -> dict[str, Any]:
    """Numbers or polynomials of a joint or tendon, up to the last coefficient that is not zero; None if all are."""
    values = {name: np.trim_zeros(np.ravel(getattr(part, name)), "b") for name in names}
    return {name: value if value.size else None for name, value in values.items()}
