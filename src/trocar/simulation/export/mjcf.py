"""Arms as MJCF, in the layout of a model folder: NAME.xml with the complete dynamics, scene.xml with light and floor.

Written from the specification that the simulator compiles, with the same numbers and with default classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree.ElementTree import Element

import mujoco
import numpy as np

from trocar.appearance.arm_shapes import JAW
from trocar.appearance.sketch import COLLISION, MATERIALS
from trocar.simulation.engine import IMPEDANCE
from trocar.simulation.export.meshes import BASE, Mesh
from trocar.simulation.export.xml import add, document, numbers
from trocar.simulation.scene import Scene
from trocar.simulation.simulated_arm import SimulatedArm
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
    _options(root, spec)
    _defaults(root, name.lower(), stiff)
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
    for arm, stepped in scene.stepped.items():
        name_of_bias = f"{stepped.prefix}effort_bias"
        add(custom, "numeric", name=name_of_bias, data=scene.arms[arm].mechanism.effort_bias)
    keys = add(root, "keyframe")
    home = [scene.stepped[arm].E @ q for arm, q in start.items()]
    add(keys, "key", name="home", qpos=np.concatenate(home))
    return document(root, [f"{title} See README.md."])


def _options(root: Element, spec: mujoco.MjSpec) -> None:
    settings = spec.option
    option = add(
        root,
        "option",
        timestep=settings.timestep,
        gravity=settings.gravity,
        integrator="implicitfast",
        tolerance=settings.tolerance,
        iterations=settings.iterations,
        cone="elliptic" if settings.cone == mujoco.mjtCone.mjCONE_ELLIPTIC else None,
        impratio=_some(settings.impratio, unless=1.0),
        jacobian="sparse" if settings.jacobian == mujoco.mjtJacobian.mjJAC_SPARSE else None,
    )
    add(option, "flag", island="disable", midphase="disable")


def lit_scene(name: str, centre: Array, extent: float, floor: float | None) -> str:
    """Text of scene.xml: the arm with light, background and an optional floor.

    `centre` (3,) and `extent` are those of the visible shapes, `floor` is the height of the floor [m]; None for no
    floor.
    """
    root = Element("mujoco", model=f"{name} scene")
    add(root, "include", file=f"{name}.xml")
    add(root, "statistic", center=np.round(centre, 2), extent=round(extent, 2))
    visual = add(root, "visual")
    add(visual, "headlight", diffuse="0.4 0.4 0.4", ambient="0.3 0.3 0.3", specular="0.1 0.1 0.1")
    add(visual, "global", azimuth="146", elevation="-19")
    asset = add(root, "asset")
    colours = {"rgb1": "0.84 0.87 0.90", "rgb2": "0.55 0.63 0.74"}
    add(asset, "texture", type="skybox", builtin="gradient", **colours, width="512", height="512")
    world = add(root, "worldbody")
    add(world, "light", pos=[1.2, -0.6, 2.2], dir=[-1.2, 0.6, -2.2], type="directional", diffuse="0.5 0.5 0.5")
    if floor is not None:
        add(
            world,
            "geom",
            name="floor",
            type="plane",
            size="0 0 1",
            pos=[0.0, 0.0, round(floor, 2)],
            rgba="0.72 0.75 0.78 1",
        )
    return document(root)


def _defaults(root: Element, name: str, stiff: tuple[float, float]) -> None:
    top = add(add(root, "default"), "default", class_=name)
    limit, friction = ({f"solref{of}": stiff, f"solimp{of}": IMPEDANCE} for of in ("limit", "friction"))
    add(top, "joint", **limit, **friction)
    add(top, "equality", solref=stiff, solimp=IMPEDANCE)
    add(top, "site", group="4", size="0.002")
    seen = add(top, "default", class_="visual")
    add(seen, "geom", type="mesh", group="2", contype="0", conaffinity="0", mass="0")
    solid = add(top, "default", class_="collision")
    contact = {name: COLLISION[name] for name in ("solref", "solimp", "rgba")}
    touched = {"contype": str(TOUCHED[0]), "conaffinity": str(TOUCHED[1])}
    add(solid, "geom", group="3", **touched, mass="0", **contact)
    jaw = add(top, "default", class_="jaw")
    add(jaw, "geom", group="5", contype="0", conaffinity="0", mass="0")


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
        slide = joint.type == mujoco.mjtJoint.mjJNT_SLIDE
        add(
            element,
            "joint",
            name=joint.name,
            type="slide" if slide else None,
            range=joint.range if joint.limited else None,
            armature=_some(joint.armature),
            damping=_polynomial(joint.damping),
            stiffness=_polynomial(joint.stiffness),
            frictionloss=_some(joint.frictionloss),
        )
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
    add(
        parent,
        "geom",
        name=geom.name or None,
        class_="jaw" if geom.group == JAW["group"] else "collision",
        type=kind,
        size=geom.size[:count],
        condim=str(geom.condim) if geom.condim != 3 else None,
        friction=geom.friction if not np.array_equal(geom.friction, FRICTION) else None,
        **touched,
        **placed,
    )


def _contact(root: Element, spec: mujoco.MjSpec) -> None:
    if not spec.pairs:
        return
    section = add(root, "contact")
    for pair in spec.pairs:
        add(
            section,
            "pair",
            name=pair.name,
            geom1=pair.geomname1,
            geom2=pair.geomname2,
            condim=str(pair.condim),
            gap=pair.gap,
            solref=pair.solref,
            solimp=pair.solimp,
        )


def _tendons(root: Element, spec: mujoco.MjSpec, stiff: tuple[float, float]) -> None:
    if not spec.tendons:
        return
    section = add(root, "tendon")
    for tendon in spec.tendons:
        path = list(tendon.path)
        joints = [wrap for wrap in path if wrap.type == mujoco.mjtWrap.mjWRAP_JOINT]
        friction = {"solreffriction": stiff, "solimpfriction": IMPEDANCE} if tendon.frictionloss > 0 else {}
        element = add(
            section,
            "fixed" if joints else "spatial",
            name=tendon.name,
            group="5",
            stiffness=_polynomial(tendon.stiffness),
            damping=_polynomial(tendon.damping),
            armature=_some(tendon.armature),
            frictionloss=_some(tendon.frictionloss),
            springlength=tendon.springlength if not joints else None,
            **friction,
        )
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
    """One motor each; the constant force of the drives, in actuator coordinates, is its bias."""
    section = add(root, "actuator")
    biases = np.concatenate([constant_efforts(arm) for arm in scene.arms.values()])
    for actuator, bias in zip(scene.spec.actuators, biases, strict=True):
        target = "tendon" if actuator.trntype == mujoco.mjtTrn.mjTRN_TENDON else "joint"
        element = add(section, "general", name=actuator.name, gear=_some(actuator.gear[0], unless=1.0))
        element.set(target, actuator.target)
        if bias:
            element.set("biastype", "affine")
            element.set("biasprm", numbers([bias, 0.0, 0.0]))


def constant_efforts(arm: SimulatedArm) -> Array:
    """Constant effort (actuators,) [N m, N] of the drives' K0, in actuator coordinates."""
    return np.asarray(arm.arm.motors.coupling.T @ -arm.mechanism.drives.constant)


def _some(value: float, unless: float = 0.0) -> float | None:
    """The value; None if it is the default."""
    return None if value == unless else float(value)


def _polynomial(coefficients: Array) -> Array | None:
    """Coefficients of a stiffness or damping, up to the last that is not zero; None if all are."""
    return np.trim_zeros(np.ravel(coefficients), "b") if np.any(coefficients) else None
