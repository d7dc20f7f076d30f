"""Parameters of a CAD model as a parameter set: `python -m tools.derive_cad ARM FILE` (ARM: PSM or ECM).

Every link of `arms/data/cad_ARM.toml` is moved from its own frame into the frame of our body, at q = 0, where the two
models coincide. A tensor that no body can have is replaced by the nearest one that a body can have. With mass and
centre of mass fixed, a body is physical exactly if its second moments about the centre of mass, S = tr(I)/2 - I, are
positive semidefinite; so the nearest (Frobenius) S has the same axes, with eigenvalues below the minimum raised to it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trocar.arms import Arm, load_arm
from trocar.arms.arm import poses_at_zero
from trocar.arms.loads import endoscope_inertia
from trocar.arms.parameters import DRIVE_TERMS, Drive, Inertia, Parameters, to_toml
from trocar.arms.tables import read
from trocar.errors import TrocarError, check_known
from trocar.files import write_whole
from trocar.spatial import Array, inverse, pose, rotation

ARMS = ("PSM", "ECM")
GEOMETRY = "gondokaryono2019"
ENDOSCOPE = "SD"
THINNEST = 1e-3  # smallest radius of gyration of a link's mass along any direction [m]

# The two models must have the same joints: distance of a CAD frame from our axis [m], and angle between the axes [rad].
APART, TILTED = 2e-4, 1e-4

COMMENTS = {
    "PSM": """Dynamic parameters of the Classic PSM: a CAD model, as its authors simulated it. SI units.

Derived by `python -m tools.derive_cad PSM FILE` from cad_psm.toml. Nothing here is measured: Gondokaryono et
al. lowered two masses by hand (back 0.985 to 0.7 kg, end 2.091 to 0.355 kg), gave the wrist links 10 to 12 g and
1e-3 kg m^2 each to keep their simulation stable, and set the damping of every joint to 0.1. The counterweight, Coulomb
friction and rotors are not in it. For the real arm use wang2019.""",
    "ECM": """Dynamic parameters of the Classic ECM: a CAD model, with an endoscope and assumed drives. SI units.

Derived by `python -m tools.derive_cad ECM FILE` from cad_ecm.toml. Nothing here is measured.
- links: CAD masses as simulated by Gondokaryono et al. 2019.
- roll: the endoscope (Classic SD, 1.5 kg) as the dVRK's gravity compensation has it, instead of the CAD's tool.
- drives: ASSUMED, friction and rotors alike; see cad_ecm.toml. With these rotors the dVRK's own PID is stable with one
  sample of delay, whatever the endoscope.
- The balancing of the real arm is not modelled: gravity is that of the links and the endoscope.""",
}


@dataclass(frozen=True, kw_only=True)
class Repair:
    """Repair of a tensor: smallest eigenvalue of its second moments before [kg m^2], and their change."""

    body: str
    smallest: float
    change: float
    relative: float

    def __str__(self) -> str:
        return (
            f"{self.body}: smallest eigenvalue {self.smallest:.2e} kg m^2, second moments moved by {self.change:.2e} "
            f"({100 * self.relative:.2g} % of their norm)"
        )


def derive(name: str) -> tuple[Parameters, tuple[Repair, ...]]:
    """The set of an arm, and the repairs that it needed."""
    check_known("arm with a CAD model", ARMS, name)
    arm, table = load_arm(name, GEOMETRY), read(f"cad_{name.lower()}")
    repaired = {link: repair(link, body) for link, body in in_link_frames(arm, table).items()}
    inertias = {link: body for link, (body, _) in repaired.items()}
    if name == "ECM":
        inertias["roll"] = endoscope_inertia(arm, ENDOSCOPE)
    parameters = Parameters(
        name=GEOMETRY,
        arm=name,
        geometry=GEOMETRY,
        source=f"Gondokaryono et al. 2019; {table['source']}",
        inertias={body.name: inertias[body.name] for body in arm.bodies if body.name in inertias},
        drives=tuple(_drive(drive, entry) for drive, entry in table["drives"].items()),
        path="",
    )
    return parameters, tuple(note for _, note in repaired.values() if note is not None)


def comments(name: str, repairs: tuple[Repair, ...]) -> list[str]:
    """The head of the parameter file."""
    lines = [
        *COMMENTS[name].splitlines(),
        "",
        "Repaired, mass and centre of mass kept (see tools/derive_cad.py):",
    ]
    return lines + [f"- {note}" for note in repairs]


def in_link_frames(arm: Arm, table: dict[str, Any]) -> dict[str, Inertia]:
    """Inertias of the CAD links in the frames of our bodies, without repairs."""
    T_rcm_base = inverse(cad_pose(table["rcm"]))
    T = poses_at_zero(arm.bodies)
    inertias = {}
    for name, entry in table["links"].items():
        T_body_link = inverse(T[name]) @ T_rcm_base @ cad_pose(entry)
        _check_joint(arm, name, T_body_link)
        R, p = T_body_link[:3, :3], T_body_link[:3, 3]
        xx, xy, xz, yy, yz, zz = entry["inertia"]
        I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        inertias[name] = Inertia(mass=entry["mass"], com=_rounded(R @ entry["com"] + p), I=_rounded(R @ I @ R.T))
    return inertias


def repair(name: str, body: Inertia) -> tuple[Inertia, Repair | None]:
    """The body with the nearest physical tensor, and the repair; None if nothing was changed."""
    S = 0.5 * np.trace(body.I) * np.eye(3) - body.I
    values, axes = np.linalg.eigh(S)
    least = body.mass * THINNEST**2
    if values[0] >= (1.0 - 1e-6) * least:
        return body, None
    nearest = axes @ np.diag(np.maximum(values, least)) @ axes.T
    change = float(np.linalg.norm(nearest - S))
    note = Repair(body=name, smallest=float(values[0]), change=change, relative=change / float(np.linalg.norm(S)))
    I = np.trace(nearest) * np.eye(3) - nearest
    return Inertia(mass=body.mass, com=body.com.copy(), I=_rounded(0.5 * (I + I.T))), note


def _check_joint(arm: Arm, name: str, T_body_link: Array) -> None:
    """Check that the z axis of the CAD frame is the axis of our joint; for a sliding link, parallel to it."""
    off = float(np.linalg.norm(T_body_link[:2, 3])) if arm.body(name).kind == "revolute" else 0.0
    tilt = float(np.arccos(min(1.0, abs(T_body_link[2, 2]))))
    if off > APART or tilt > TILTED:
        raise TrocarError(f"the CAD link '{name}' of {arm.name} is {off:.2g} m and {tilt:.2g} rad off our joint")


def _rounded(values: Array) -> Array:
    """Round to twelve decimals, which removes the noise of right-angle rotations."""
    return np.round(values, 12) + 0.0


def cad_pose(entry: dict[str, Any]) -> Array:
    """Pose (4, 4) of a CAD frame by its position [m] and roll, pitch, yaw [rad]."""
    x, y, z = entry["rpy"]
    return pose(R=rotation("z", z) @ rotation("y", y) @ rotation("x", x), p=entry["position"])


def _drive(name: str, entry: dict[str, Any]) -> Drive:
    terms = tuple(term for term in DRIVE_TERMS if term in entry)
    return Drive(name=name, joints=entry["joints"], terms=terms, **{term: entry[term] for term in terms})


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python -m tools.derive_cad ARM FILE")
    derived, notes = derive(sys.argv[1])
    print(write_whole(Path(sys.argv[2]), to_toml(derived, comments(sys.argv[1], notes))))
