"""An arm from a URDF file: its joints, bodies, inertias and joint friction.

    from trocar.arms.urdf import load_urdf

    arm, parameters = load_urdf("robot.urdf", tip="tool0")
    mech = tr.load_mechanism(arm, parameters)

Every body of an `Arm` turns about or slides along the z axis of its own frame, so frames of links with another axis are
turned. Links behind fixed joints become part of the body that carries them. A joint that mimics another one is a body
coupled to it. Meshes, collision shapes and transmissions are not read: motors act on the joints.
"""

from __future__ import annotations

import math
import os
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from trocar.arms.arm import Arm, Body, Joint
from trocar.arms.parameters import Drive, Inertia, Parameters
from trocar.errors import TrocarError, check_known, shown
from trocar.files import read_whole
from trocar.spatial import Array, pose, rotation

KINDS = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "fixed": "fixed"}
SECONDS_TO_SPEED = 0.2  # ASSUMED: a joint reaches its velocity limit in this time; URDF has no limit of accelerations
MAX_LINKS = 200
MAX_NUMBER = 1e6  # of any value in SI units


@dataclass(frozen=True, kw_only=True)
class _UrdfJoint:
    """A joint element: T is the pose of its frame in the parent link, axis a unit vector in that frame."""

    name: str
    kind: Any  # revolute, prismatic or fixed
    parent: str
    child: str
    T: Array
    axis: Array
    limits: Mapping[str, float]
    friction: tuple[float, float]  # viscous, Coulomb
    mimic: tuple[str, float, float] | None  # joint, multiplier, offset


@dataclass
class _Tree:
    """Bodies in depth-first order, and for every link its body (None: the base) and its pose in that body's frame."""

    bodies: list[Body] = field(default_factory=list)
    places: dict[str, tuple[str | None, Array]] = field(default_factory=dict)


def load_urdf(
    path: str | os.PathLike[str], tip: str | None = None, *, name: str | None = None
) -> tuple[Arm, Parameters]:
    """The facts and the dynamic parameters of the robot in a URDF file (SI units, as URDF defines).

    Args:
        tip: link whose frame is the tip. Default: the only link without children; an error if there are several.
        name: name of the arm. Default: that of the robot in the file.
    """
    where = Path(path).name
    root = _parsed(path)
    links = {_name(link, where): link for link in root.findall("link")}
    if not links:
        raise TrocarError(f"{where}: no link; a URDF file has <robot><link name=...>")
    if len(links) > MAX_LINKS:
        raise TrocarError(f"{where}: {len(links)} links; at most {MAX_LINKS} are supported")
    joints = {joint.name: joint for joint in (_joint(element, links, where) for element in root.findall("joint"))}
    base, below = _base(links, joints, where)
    tree = _tree(base, below, joints, where)
    leaves = [link for link in links if not below.get(link)]
    if tip is None and len(leaves) > 1:
        raise TrocarError(f"{where}: several links have no children ({', '.join(leaves)}); choose one as the tip")
    tip = leaves[0] if tip is None else tip
    check_known(f"link of {where}", links, tip)
    body, T_body_tip = tree.places[tip]
    if body is None:
        raise TrocarError(f"{where}: the link {tip} is fixed to the base; choose a tip that moves")
    independent = [joint for joint in joints.values() if joint.kind != "fixed" and joint.mimic is None]
    order = {link: k for k, link in enumerate(tree.places)}
    independent.sort(key=lambda joint: order[joint.child])
    title = name or root.get("name") or "robot"
    arm = Arm(
        name=title,
        joints=tuple(_limited(joint, where) for joint in independent),
        bodies=tuple(tree.bodies),
        tip_body=body,
        T_body_tip=T_body_tip,
        driven={joint.name: joint.child for joint in independent},
        transmissions={
            joint.child: joints[_master(joint, joints, where)[0]].child
            for joint in joints.values()
            if joint.kind != "fixed" and joint.mimic is not None
        },
    )
    drives = tuple(
        Drive(name=joint.name, joints={joint.name: 1.0}, Fv=Fv, Fc=Fc, terms=("Fv", "Fc"))
        for joint in independent
        for Fv, Fc in (joint.friction,)
    )
    inertias = _inertias(links, tree, where)
    return arm, Parameters(arm=title, inertias=inertias, drives=drives, source=f"URDF file {where}")


# -- tree --------------------------------------------------------------------------------------------------------------


def _base(
    links: Mapping[str, ET.Element], joints: Mapping[str, _UrdfJoint], where: str
) -> tuple[str, dict[str, list[_UrdfJoint]]]:
    """The link without a parent, and the joints below every link."""
    parents: dict[str, str] = {}
    below: dict[str, list[_UrdfJoint]] = {}
    for joint in joints.values():
        if joint.child in parents:
            raise TrocarError(f"{where}: the link {joint.child} has two parents; URDF describes trees only")
        parents[joint.child] = joint.parent
        below.setdefault(joint.parent, []).append(joint)
    roots = [link for link in links if link not in parents]
    if len(roots) != 1:
        raise TrocarError(f"{where}: a URDF file needs one link without a parent, got {', '.join(roots) or 'none'}")
    return roots[0], below


def _tree(base: str, below: Mapping[str, list[_UrdfJoint]], joints: Mapping[str, _UrdfJoint], where: str) -> _Tree:
    tree = _Tree(places={base: (None, np.eye(4))})
    waiting = [*reversed(below.get(base, []))]
    while waiting:  # depth-first
        joint = waiting.pop()
        carrier, T_carrier_link = tree.places[joint.parent]
        T = T_carrier_link @ joint.T
        if joint.kind == "fixed":
            tree.places[joint.child] = carrier, T
        else:
            turn = pose(_aligned(joint.axis))  # its z axis is the joint's axis
            master, factor, offset = _master(joint, joints, where)
            moved = pose(rotation("z", offset)) if joint.kind == "revolute" else pose(p=[0.0, 0.0, offset])
            placement = T @ turn @ moved
            tree.bodies.append(
                Body(name=joint.child, parent=carrier, placement=placement, kind=joint.kind, coupling={master: factor})
            )
            tree.places[joint.child] = joint.child, turn.T  # a rotation: its transpose is its inverse
        waiting += reversed(below.get(joint.child, []))
    return tree


def _master(joint: _UrdfJoint, joints: Mapping[str, _UrdfJoint], where: str) -> tuple[str, float, float]:
    """Independent joint, factor and offset of a joint's position."""
    factor, offset, seen = 1.0, 0.0, joint
    for _ in range(len(joints)):
        if seen.mimic is None:
            return seen.name, factor, offset
        other, multiplier, shift = seen.mimic
        check_known(f"{where}: joint that {joint.name} mimics", joints, other)
        factor, offset, seen = factor * multiplier, offset + factor * shift, joints[other]
    raise TrocarError(f"{where}: joint {joint.name} mimics itself")


def _aligned(axis: Array) -> Array:
    """A rotation (3, 3) whose z axis is `axis`; the identity for z itself."""
    helper = np.eye(3)[int(np.argmin(np.abs(axis)))] if abs(axis[2]) < 1.0 else np.array([1.0, 0.0, 0.0])
    x = np.cross(np.cross(axis, helper), axis)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(axis, x), axis])


def _inertias(links: Mapping[str, ET.Element], tree: _Tree, where: str) -> dict[str, Inertia]:
    """Inertia of every body with mass: its link and all links fixed to it."""
    parts: dict[str, list[Inertia]] = {}
    for link, (body, T) in tree.places.items():
        inertia = _inertia(links[link], link, where)
        if body is not None and inertia is not None:
            R = T[:3, :3]
            turned = Inertia(mass=inertia.mass, com=R @ inertia.com + T[:3, 3], I=R @ inertia.I @ R.T)
            parts.setdefault(body, []).append(turned)
    return {body: _together(own) for body, own in parts.items()}


def _together(parts: list[Inertia]) -> Inertia:
    mass = sum(part.mass for part in parts)
    com = sum((part.mass * part.com for part in parts), start=np.zeros(3)) / mass
    total = np.zeros((3, 3))
    for part in parts:
        d = part.com - com
        total += part.I + part.mass * (d @ d * np.eye(3) - np.outer(d, d))
    return Inertia(mass=mass, com=com, I=total)


# -- elements ----------------------------------------------------------------------------------------------------------


def _parsed(path: str | os.PathLike[str]) -> ET.Element:
    content = read_whole(path, "URDF file")
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
        raise TrocarError(f"{Path(path).name}: document types and entities are not allowed in a URDF file")
    try:
        root = ET.fromstring(content)
    except (ET.ParseError, ValueError) as error:
        raise TrocarError(f"{Path(path).name}: not a URDF file: {error}") from None
    if root.tag != "robot":
        raise TrocarError(f"{Path(path).name}: not a URDF file: its element is <{root.tag}>, expected <robot>")
    return root


def _joint(element: ET.Element, links: Mapping[str, ET.Element], where: str) -> _UrdfJoint:
    name = _name(element, where)
    place = f"{where}, joint {name}"
    kind = element.get("type", "")
    check_known(f"{place}: type", KINDS, kind)
    ends = [_child(element, tag, place).get("link", "") for tag in ("parent", "child")]
    check_known(f"{place}: link", links, *ends)
    axis = _numbers(element.find("axis"), "xyz", (1.0, 0.0, 0.0), place)
    length = float(np.linalg.norm(axis))
    if kind != "fixed" and not length > 1e-9:
        raise TrocarError(f"{place}: the axis has no direction")
    limit, dynamics, mimic = (element.find(tag) for tag in ("limit", "dynamics", "mimic"))
    limits = {key: _number(limit, key, default, place) for key, default in _LIMITS.items()}
    if kind == "continuous":
        limits |= {"lower": -2 * math.pi, "upper": 2 * math.pi}
    copied = None
    if mimic is not None:
        factor, offset = _number(mimic, "multiplier", 1.0, place), _number(mimic, "offset", 0.0, place)
        copied = mimic.get("joint", ""), factor, offset
    return _UrdfJoint(
        name=name,
        kind=KINDS[kind],
        parent=ends[0],
        child=ends[1],
        T=_origin(element.find("origin"), place),
        axis=axis / length if length > 1e-9 else axis,
        limits=limits,
        friction=(_number(dynamics, "damping", 0.0, place), _number(dynamics, "friction", 0.0, place)),
        mimic=copied,
    )


_LIMITS = {"lower": 0.0, "upper": 0.0, "effort": math.inf, "velocity": math.inf}


def _limited(joint: _UrdfJoint, where: str) -> Joint:
    missing = [key for key, value in joint.limits.items() if not math.isfinite(value)]
    if missing:
        raise TrocarError(f"{where}, joint {joint.name}: <limit> has no {' and no '.join(missing)}")
    velocity = joint.limits["velocity"]
    return Joint(name=joint.name, kind=joint.kind, acceleration=velocity / SECONDS_TO_SPEED, **joint.limits)


def _inertia(link: ET.Element, name: str, where: str) -> Inertia | None:
    """The inertia of a link in its own frame; None if it has no mass."""
    element = link.find("inertial")
    if element is None:
        return None
    place = f"{where}, link {name}"
    mass = _number(element.find("mass"), "value", 0.0, place)
    if mass < 0:
        raise TrocarError(f"{place}: the mass is {mass:g} kg; it must not be negative")
    if mass == 0:
        return None
    tensor = element.find("inertia")
    xx, xy, xz, yy, yz, zz = (_number(tensor, f"i{key}", 0.0, place) for key in ("xx", "xy", "xz", "yy", "yz", "zz"))
    T = _origin(element.find("origin"), place)
    R = T[:3, :3]
    return Inertia(mass=mass, com=T[:3, 3].copy(), I=R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T)


def _origin(element: ET.Element | None, place: str) -> Array:
    """The pose (4, 4) of an <origin>: rpy are rotations about the fixed axes x, y, z."""
    p, (roll, pitch, yaw) = (_numbers(element, key, (0.0, 0.0, 0.0), place) for key in ("xyz", "rpy"))
    return pose(rotation("z", yaw) @ rotation("y", pitch) @ rotation("x", roll), p)


def _name(element: ET.Element, where: str) -> str:
    name = element.get("name")
    if not name:
        raise TrocarError(f"{where}: a <{element.tag}> has no name")
    return name


def _child(element: ET.Element, tag: str, place: str) -> ET.Element:
    child = element.find(tag)
    if child is None:
        raise TrocarError(f"{place}: <{tag}> is missing")
    return child


def _numbers(element: ET.Element | None, key: str, default: tuple[float, ...], place: str) -> Array:
    text = None if element is None else element.get(key)
    try:
        values = np.array(default if text is None else [float(word) for word in text.split()])
    except ValueError:
        values = np.empty(0)
    if values.shape != (len(default),) or not (np.abs(values) <= MAX_NUMBER).all():
        raise TrocarError(f"{place}: {key} must be {len(default)} numbers up to {MAX_NUMBER:g}, got {shown(text)}")
    return values


def _number(element: ET.Element | None, key: str, default: float, place: str) -> float:
    text = None if element is None else element.get(key)
    try:
        value = default if text is None else float(text)
    except ValueError:
        value = math.nan
    if text is not None and not abs(value) <= MAX_NUMBER:
        raise TrocarError(f"{place}: {key} must be a number up to {MAX_NUMBER:g}, got {shown(text)}")
    return value
