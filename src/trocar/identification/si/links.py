"""Links of the da Vinci Si arms as published, in our link frames: masses of the dVRK, tensors of a CAD export."""

from __future__ import annotations

import numpy as np

from trocar.arms import load_arm
from trocar.arms.arm import poses_at_zero, shift
from trocar.arms.parameters import Inertia
from trocar.arms.tables import read
from trocar.identification.consistency import box
from trocar.mechanics.inertia import from_pseudo_inertia, standard
from trocar.spatial import Array, inverse, mdh, rotation


def links(arm_name: str) -> tuple[dict[str, Inertia], dict[str, Inertia]]:
    """Published masses (with CAD tensors) in our link frames, and the prior, which adds bars and carriage."""
    arm, table = load_arm(arm_name), read("links_si")
    ours, theirs = poses_at_zero(arm.bodies), saw_frames(arm_name)
    turned, published = _cad_tensors(), {}
    for link, entry in table[arm_name]["saw"].items():
        if "mass" not in entry:
            continue
        body = entry["body"]
        T = inverse(ours[body]) @ theirs[link]
        com = T[:3, :3] @ entry["com"] + T[:3, 3]
        cad = table["cad"].get(body)
        if cad is None:
            size = np.array(table["assumed"][body]["size"])
            I = entry["mass"] / 12.0 * (size @ size * np.eye(3) - np.diag(size**2))
        else:
            R = ours[body][:3, :3].T @ turned[body][0]
            I = entry["mass"] / cad["mass"] * R @ turned[body][1] @ R.T
        published[body] = Inertia(mass=entry["mass"], com=com, I=I)
    prior = dict(published)
    for body, entry in table["assumed"].items():
        if body in published:
            scale = entry["mass"] / published[body].mass
            prior[body] = Inertia(mass=entry["mass"], com=published[body].com, I=scale * published[body].I)
        elif "lower" in entry and body in ours:
            P = box(entry["mass"], np.array(entry["lower"]), np.array(entry["upper"]))
            prior[body] = standard(from_pseudo_inertia(P))
    return published, {body.name: prior[body.name] for body in arm.bodies if body.name in prior}


def saw_frames(arm_name: str) -> dict[str, Array]:
    """Poses (4, 4) of the dVRK's link frames in the RCM frame at q = 0."""
    x, y, z = load_arm(arm_name).bodies[0].placement[:3, 3]
    T, frames = shift(x, y, z), {}
    for link, entry in read("links_si")[arm_name]["saw"].items():
        a, alpha, d, theta = entry["row"]
        T = T @ mdh(a=a, alpha=alpha, d=d, theta=theta)
        frames[link] = T
    return frames


def _cad_tensors() -> dict[str, tuple[Array, Array]]:
    """Orientation in the RCM frame and tensor of every CAD link, at our q = 0."""
    cad, R, tensors = read("links_si")["cad"], np.eye(3), {}
    for body in ("yaw", "back", "middle", "end"):
        x, y, z = cad[body]["rpy"]
        R = R @ rotation("z", z) @ rotation("y", y + cad[body]["turns"] * cad["pitch"]) @ rotation("x", x)
        xx, xy, xz, yy, yz, zz = cad[body]["inertia"]
        tensors[body] = R, np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return tensors
