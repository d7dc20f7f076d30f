"""The two masters: links and drives of one as the mirror image of those of the other.

Both have the same kinematic table. At q = 0 every joint axis lies in the plane x = 0 of the base or is normal to it;
at -q1, -q4, -q6, -q7 the tip is reflected in that plane. From the base to the forearm the arms are built alike; the
gimbal is mirrored. The sources are in docs/mtm.md and in the table [mirror] of data/mtm.toml.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from trocar.arms.arm import poses_at_zero
from trocar.arms.mtm import mtm
from trocar.arms.tables import read
from trocar.errors import TrocarError
from trocar.spatial import Array

if TYPE_CHECKING:
    from trocar.arms.parameters import Drive, Inertia, Parameters

MASTERS = {"MTML", "MTMR"}
ODD_TERMS = ("K0", "K2", "Fx")  # terms of a drive that change sign with its coordinate
MOMENT = re.compile("m[xyz]|L[xyz][xyz]")  # moments of a link that depend on axes


def mirror_image(parameters: Parameters, arm: str) -> Parameters:
    """The set as that of `arm`: reflected if it is of the other master, otherwise unchanged."""
    if not reflections(arm, parameters.arm):
        return parameters if parameters.arm == arm else replace(parameters, arm=arm)
    unmirrored, turned = np.eye(3), reversed_joints(arm, parameters.arm)
    return replace(
        parameters,
        arm=arm,
        source=f"{parameters.source}; mirror image of that of the {parameters.arm}",
        inertias={
            name: reflected(body, reflections(arm, parameters.arm).get(name, unmirrored))
            for name, body in parameters.inertias.items()
        },
        drives=tuple(drive.reversed() if _turned(drive, arm, turned) else drive for drive in parameters.drives),
        elastics=tuple(e.reversed() if e.joint in turned else e for e in parameters.elastics),
    )


def reflected(body: Inertia, H: Array) -> Inertia:
    """Inertia of a link whose shape is reflected by H (3, 3) in its own frame."""
    return replace(body, com=H @ body.com, I=H @ body.I @ H.T)


@cache
def reflections(arm: str, other: str) -> Mapping[str, Array]:
    """Reflection (3, 3), in its own frame, of each link of `arm` that is the mirror image of that of the other master.

    Empty if the two names are not those of two masters.
    """
    if {arm, other} != MASTERS:
        return {}
    T = poses_at_zero(mtm(arm).bodies)
    normals = {name: np.round(T[name][0, :3]) for name in read("mtm")["mirror"]["links"]}  # x of the base
    return {name: np.eye(3) - 2.0 * np.outer(n, n) for name, n in normals.items()}


def reversed_joints(arm: str, other: str) -> tuple[str, ...]:
    """Joints of mirrored links that turn the other way: those whose axis, z of the link, lies in the plane."""
    return tuple(name for name, H in reflections(arm, other).items() if H[2, 2] > 0)


def parities(names: Sequence[str], arm: str, drives: Sequence[Drive], other: str) -> Array:
    """Factors (k,), 1 or -1, of the named parameters (`link.mx`, `drive.K0`) in `mirror_image`."""
    turned = reversed_joints(arm, other)
    links, odd = reflections(arm, other), {drive.name for drive in drives if _turned(drive, arm, turned)}
    factors = []
    for body, _, term in (name.partition(".") for name in names):
        if body in links and MOMENT.fullmatch(term):
            factors.append(np.prod([np.diag(links[body])["xyz".index(axis)] for axis in term[1:]]))
        else:
            factors.append(-1.0 if body in odd and term in ODD_TERMS else 1.0)
    return np.array(factors, dtype=float)


def _turned(drive: Drive, arm: str, turned: Sequence[str]) -> bool:
    """True if the coordinate of a drive is reversed. A motor counts with its own joint, see [mirror] in mtm.toml."""
    facts = mtm(arm)
    joint_of = dict(zip(facts.motors.names, facts.joint_names, strict=True))
    moved = [joint_of.get(name, name) for name, weight in (drive.motors or drive.joints).items() if weight]
    if len({name in turned for name in moved}) > 1:
        raise TrocarError(
            f"drive '{drive.name}' moves {', '.join(moved)}, which are not all mirrored between MTML and MTMR; "
            f"identify the {arm} itself"
        )
    return moved[0] in turned
