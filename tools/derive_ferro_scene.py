"""Masses of the published scene of Ferro et al. 2022: `python -m tools.derive_ferro_scene SCENE FILE`.

SCENE is the authors' `dyn_dVRK_1arm.ttt`, FILE the parameter set. In the scene the bodies are placed relative to a
frame DH0_ref, and the joint axes miss that frame, and each other, by up to 1.7 mm. Our geometry has exact axes, so
every centre of mass is taken relative to the scene's axis of its own joint. Where an axis of the scene is off ours, the
parent's centre of mass moves by the offset times the mass beyond the axis, divided by the parent's mass; so gravity
remains that of the scene. The axes of all frames are those of DH0_ref at q = 0: tilts of the scene's axes, below 4
mrad, are dropped.

The top and bottom bars only translate in pitch. Their inertia across the bar, 78 and 31 kg m^2 in the scene, has no
effect on the motion but stiffens a simulation, so it is replaced by that of a rod of their mass.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from tools.derive_cad import Repair, repair
from trocar.arms import Arm, load_arm
from trocar.arms.parameters import Drive, Inertia, Parameters, load_parameters, to_toml
from trocar.files import write_whole
from trocar.mechanics import load_mechanism
from trocar.spatial import Array
from trocar_reproductions.ferro2022.scene_file import CoppeliaScene, load_scene_file

NAME, GEOMETRY = "ferro2022_scene", "wang2019"
BASE = "DH0_ref"  # frame of the scene's arm: on the yaw axis, at the height of the pitch axis
BODIES = {  # shape and joint of each of our bodies in the scene
    "yaw": ("L1_respondable_PSM1", "J1_PSM1"),
    "back": ("Lp11_respondable_PSM1", "J2_PSM1"),
    "counterweight": ("CW_respondable", "J31_PSM1"),
    "top": ("Lp1_respondable_PSM1", "J23_PSM1"),
    "bottom": ("Lp2_respondable_PSM1", "J22_PSM1"),
    "front": ("Lp21_respondable_PSM1", "J25_PSM1"),
    "end": ("L2_respondable_PSM1", "J24_PSM1"),
    "insertion": ("L3_respondable_PSM1", "J3_PSM1"),
}
Q3 = 0.1  # insertion in the scene [m]
BARS = {"top": 0.516, "bottom": 0.516}  # length of the bars that only translate in pitch [m]
COMMENTS = """Dynamic parameters of the PSM in the published scene of Ferro et al. 2022, errors included. SI units.

Derived by `python -m tools.derive_ferro_scene dyn_dVRK_1arm.ttt FILE`. This is what their engine simulated, not the
robot: use wang2019 for that. The set they meant to enter is wang2019_published; it differs by
- insertion: the z coordinate of the centre of mass has the wrong sign, 0.2 m off;
- top: its centre of mass is 14 mm off along the bar;
- all links but the insertion: the inertia about the link's origin, divided by the mass, instead of the one about the
  centre of mass;
- all links: the scene's joint axes miss its base frame by up to 1.7 mm.
Friction is off in the scene, so there are no friction terms. Rotors at the four instrument discs as in wang2019; the
scene does not simulate the wrist."""


def derive(scene: CoppeliaScene) -> tuple[Parameters, list[Repair]]:
    """The parameter set of a scene, and the repairs of tensors that no body can have (see tools/derive_cad.py)."""
    arm = load_arm("PSM", GEOMETRY)
    first, joints, T = in_base(scene, arm)
    masses = {body: scene.shape(shape).mass for body, (shape, _) in BODIES.items()}
    inertias: dict[str, Inertia] = {}
    repairs: list[Repair] = []
    for body in arm.bodies:
        if body.name not in BODIES:
            continue
        com = first[body.name] - joints[body.name]
        for child in arm.bodies:
            if child.parent == body.name and child.name in BODIES:
                carried = sum(masses[name] for name in beyond(arm, child.name))
                offset = shift(arm, T, joints, child.name) - shift(arm, T, joints, body.name)
                com = com + carried / masses[body.name] * offset
        R = T[body.name][:3, :3]
        I = inertia_in_base(scene, BODIES[body.name][0])
        if body.name in BARS:
            across = masses[body.name] * BARS[body.name] ** 2 / 12
            I = np.diag([across, I[1, 1], across])
        link = Inertia(mass=round(masses[body.name], 7), com=rounded(R.T @ com), I=rounded(R.T @ I @ R))
        inertias[body.name], change = repair(body.name, link)
        repairs += [] if change is None else [change]
    wrist = tuple(
        Drive(name=drive.name, motors=drive.motors, joints=drive.joints, Im=drive.Im, terms=("Im",))
        for drive in load_parameters("PSM", "wang2019").drives
        if drive.Im > 0.0
    )
    parameters = Parameters(
        name=NAME,
        arm="PSM",
        geometry=GEOMETRY,
        source="Ferro et al. 2022, dynamic-dvrk-coppeliasim-simulator, scenes/dyn_dVRK_1arm.ttt",
        inertias=inertias,
        drives=wrist,
    )
    return parameters, repairs


def comments(repairs: list[Repair]) -> list[str]:
    """The head of the parameter file."""
    lines = [*COMMENTS.splitlines(), "", "Repaired, mass and centre of mass kept (see tools/derive_cad.py):"]
    return lines + [f"- {change}" for change in repairs]


def in_base(scene: CoppeliaScene, arm: Arm) -> tuple[dict[str, Array], dict[str, Array], dict[str, Array]]:
    """Centres of mass and joint positions of the scene, and our frames, all at q = (0, 0, 0.1) in frame 0."""
    T_base = np.linalg.inv(scene.pose(BASE))
    mechanism = load_mechanism("PSM", GEOMETRY)
    q = np.array([0.0, 0.0, Q3, 0.0, 0.0, 0.0, 0.0])
    origin = mechanism.pose(q, "yaw")[:3, 3]
    T = {}
    for name in BODIES:
        T[name] = mechanism.pose(q, name).copy()
        T[name][:3, 3] -= origin
    yaw, pitch = ((T_base @ scene.pose(joint))[:3, 3] for joint in ("J1_PSM1", "J2_PSM1"))
    centre = np.array([yaw[0], pitch[1], yaw[2]])  # on the yaw axis, at the height of the pitch axis
    coms, joints = {}, {}
    for name, (shape, joint) in BODIES.items():
        pose = T_base @ scene.pose(shape)
        coms[name] = pose[:3, :3] @ scene.shape(shape).com + pose[:3, 3] - centre
        at = (T_base @ scene.pose(joint))[:3, 3] - centre
        axis = T[name][:3, 2]
        ours = T[name][:3, 3]
        if arm.body(name).kind == "revolute":  # the point of the scene's axis next to our frame
            joints[name] = at + axis * (axis @ (ours - at))
    for name in BODIES:
        body = arm.body(name)
        if body.kind == "prismatic":  # no axis of rotation: the offset of the parent
            joints[name] = T[name][:3, 3] + joints[str(body.parent)] - T[str(body.parent)][:3, 3]
    return coms, joints, T


def shift(arm: Arm, T: dict[str, Array], joints: dict[str, Array], name: str) -> Array:
    """Offset of the scene's joint from ours (3,), base axes [m]."""
    return joints[name] - T[name][:3, 3]


def beyond(arm: Arm, name: str) -> list[str]:
    """A body and all bodies that it carries."""
    names = [name]
    for body in arm.bodies:
        if body.parent in names and body.name in BODIES:
            names.append(body.name)
    return names


def inertia_in_base(scene: CoppeliaScene, shape: str) -> Array:
    """Inertia of a body about its centre of mass (3, 3), base axes [kg m^2]."""
    R = (np.linalg.inv(scene.pose(BASE)) @ scene.pose(shape))[:3, :3]
    return np.asarray(R @ scene.shape(shape).inertia @ R.T)


def rounded(values: Array) -> Array:
    """Seven decimals: a file of 32-bit numbers has no more."""
    return np.round(values, 7) + 0.0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python -m tools.derive_ferro_scene SCENE FILE")
    derived, changes = derive(load_scene_file(sys.argv[1]))
    print(write_whole(Path(sys.argv[2]), to_toml(derived, comments(changes))))
