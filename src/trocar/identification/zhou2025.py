"""Deriving the sets of the da Vinci Si arms: `python -m trocar.identification.zhou2025 ARM SET FILE`.

ARM and SET: PSM_Si zhou2025, PSM_Si zhou2025_measured, PSM_Si saw, ECM_Si saw.

What is published fixes the five gravity coefficients of an arm (see static_gravity.py) and nothing else. The links are
completed to bodies that can exist: pseudo-inertias of least divergence from a prior (published masses with CAD tensors)
that have exactly these coefficients.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from trocar.arms import Arm, load_arm
from trocar.arms.endoscopes import endoscope_inertia
from trocar.arms.parameter_file import to_toml
from trocar.arms.parameters import DRIVE_TERMS, Drive, Inertia, Parameters, load_parameters
from trocar.arms.tables import read
from trocar.errors import UnknownName
from trocar.files import write_whole
from trocar.identification.consistency import Prior, nearest_to_prior
from trocar.identification.si_links import links
from trocar.identification.static_gravity import GravityFit, coefficient_rows, fit_gravity, gravity_regressor
from trocar.mechanics import Mechanism
from trocar.mechanics.inertia import barycentric, pseudo_inertia, standard
from trocar.spatial import Array

SETS = {"PSM_Si": ("zhou2025", "zhou2025_measured", "saw"), "ECM_Si": ("saw",)}

# ASSUMED rotors of such motors, to be multiplied by gear squared [kg m^2]; at the discs as on the Classic PSM.
ROTORS = {"PSM_Si": (1e-5, 1e-5, 1e-6), "ECM_Si": (1e-5, 1e-5, 1e-6, 1e-6)}
DISC_ROTOR = 1e-4 / 11.71**2
# ASSUMED: viscous friction per Coulomb friction [s/rad, s/rad, s/m], that of the Classic PSM (Wang et al. 2019).
VISCOUS = (1.8, 3.3, 2.7)
# ASSUMED share of the insertion's friction that does not come from the cannula [N].
GUIDE = 1.5
ENDOSCOPE = "HD"

LINKS = """- links: of least divergence from the published masses with CAD tensors (links_si.toml), with exactly the
  gravity coefficients D, C, A, B = {coefficients} kg m, m3 = {m3} kg. Only these are measured.
- the two bars and the carriage take their mass from the links beside them."""
COMMENTS = {
    ("PSM_Si", "zhou2025"): """Dynamic parameters of the da Vinci Si PSM: the authors' identified gravity. SI units.

- gravity: fitted to the gravity compensation torques of Table II. With a constant effort Fo at each joint the fit gives
  all fifteen printed numbers to 0.01; without, to 0.16 N m and 0.08 N.
{links}
- friction of yaw, pitch, insertion: from the widths of Table II's non-drift bounds. It grows with the load on yaw and
  pitch (mu), and falls with depth on the insertion (Fx), which is given to the cannula.
- ASSUMED: viscous friction (in proportion to Coulomb friction as on the Classic PSM), rotors, the share of the cannula.
- wrist: friction and stiffness of the Classic instrument (Wang et al. 2019) without offsets.""",
    ("PSM_Si", "zhou2025_measured"): """Dynamic parameters of the da Vinci Si PSM as Table II measured it. SI units.

- gravity: the middle of the non-drift bounds, which friction leaves alone; not the authors' model. To compensate an
  arm with this set by the set zhou2025 is their experiment.
{links}
- all else as in zhou2025.""",
    ("PSM_Si", "saw"): """Dynamic parameters of the da Vinci Si PSM: the dVRK's own gravity compensation. SI units.

- gravity: exactly that of the masses in PSM_Si_physical.json, which has no mass on the carriage. It is 80 to 91 % of
  what Zhou et al. 2025 identified.
{links}
- friction and rotors as in zhou2025, without the offsets Fo.""",
    ("ECM_Si", "saw"): """Dynamic parameters of the da Vinci Si ECM: the dVRK's own gravity compensation. SI units.

- gravity: exactly that of the masses in ECM_Si_physical.json with the HD endoscope (1.8 kg), all of whose mass is
  on the insertion.
{links}
- ASSUMED: all friction. Yaw and pitch as on the PSM_Si, in proportion to the gear; insertion and roll 4 % of the
  motor's largest effort. Rotors are assumed too.""",
}


@dataclass(frozen=True)
class StaticTable:
    """Table II: five poses at rest. Efforts (5, 3) of yaw, pitch [N m], insertion [N]; errors as printed [deg, mm]."""

    q: Array
    pose: Array
    PD_error: Array
    GC_error: Array
    PD_torque: Array
    GC_torque: Array
    lower: Array
    upper: Array

    @property
    def middle(self) -> Array:
        """Centre of the non-drift band: what gravity asks for if friction is symmetric."""
        return 0.5 * (self.lower + self.upper)

    @property
    def half_band(self) -> Array:
        """Half of its width: static friction."""
        return 0.5 * (self.upper - self.lower)

    def inside(self, tau: Array) -> Array:
        """(5, 3): whether efforts lie within the bounds."""
        return (tau >= self.lower) & (tau <= self.upper)


@cache
def table_two() -> StaticTable:
    """Table II of Zhou et al. 2025, and the joint values of its poses."""
    table = read("static_psm_si")
    a, b = np.array(table["bound_1"]), np.array(table["bound_2"])
    names = ("q", "pose", "PD_error", "GC_error", "PD_torque", "GC_torque")
    return StaticTable(
        **{name: np.array(table[name]) for name in names}, lower=np.minimum(a, b), upper=np.maximum(a, b)
    )


def identified() -> GravityFit:
    """The authors' model: gravity and offsets of their compensation torques."""
    return fit_gravity(table_two().q, table_two().GC_torque)


def measured() -> GravityFit:
    """The arm itself: gravity and offsets of the middle of the non-drift bounds."""
    return fit_gravity(table_two().q, table_two().middle)


def static_friction() -> Array:
    """(3, 2): Coulomb friction at no load and its growth, from the half-bands.

    Yaw and pitch: [N m], per load. Insertion: [N] at q3 = 0, per depth [N/m].
    """
    table = table_two()
    load = np.abs(gravity_regressor(table.q) @ measured().coefficients)
    against = np.stack([load[:, 0], load[:, 1], table.q[:, 2]], axis=-1)
    rows = [np.polyfit(against[:, j], table.half_band[:, j], 1)[::-1] for j in range(3)]
    return np.array(rows)


def derive(arm_name: str, name: str) -> Parameters:
    """A set, from what is published and what is assumed."""
    if arm_name not in SETS:
        raise UnknownName("arm of the da Vinci Si", arm_name, SETS)
    if name not in SETS[arm_name]:
        raise UnknownName(f"set of {arm_name} that this module derives", name, SETS[arm_name])
    fit = {"zhou2025": identified, "zhou2025_measured": measured}.get(name)
    return completed(arm_name, name, None if fit is None else fit())


def completed(arm_name: str, name: str, fit: GravityFit | None) -> Parameters:
    """The set of an arm with the gravity and offsets of a fit; None for the gravity of the published masses."""
    arm, published, prior = load_arm(arm_name), *links(arm_name)
    bare = Parameters(
        name=name,
        arm=arm_name,
        geometry=arm.geometry,
        source=f"{_source(arm_name, name)}; links completed with CAD tensors as prior",
        inertias=prior,
        drives=drives(arm, None if fit is None else fit.offset),
        path="",
    )
    K = coefficient_rows(Mechanism(arm, bare))[:, : 10 * len(prior)]
    target = fit.coefficients if fit else sum(K[:, _columns(prior, b)] @ barycentric(i) for b, i in published.items())
    priors = {body: Prior(pseudo_inertia(barycentric(inertia)), np.inf) for body, inertia in prior.items()}
    found = {body: standard(phi) for body, phi in nearest_to_prior(list(prior), K, np.asarray(target), priors).items()}
    if arm_name == "ECM_Si":
        found["roll"] = endoscope_inertia(arm, ENDOSCOPE)
    ordered = {body.name: found[body.name] for body in arm.bodies if body.name in found}
    return Parameters(**{**vars(bare), "inertias": ordered})


def drives(arm: Arm, offset: Array | None) -> tuple[Drive, ...]:
    """Friction, rotors and offsets of an arm."""
    gear = np.array(arm.motors.gear)
    Im = np.array(ROTORS[arm.name]) * gear[: len(ROTORS[arm.name])] ** 2
    F = np.round(static_friction(), 3)
    if arm.name == "ECM_Si":
        pitch = round(float(F[1, 0] * gear[1] / load_arm("PSM_Si").motors.gear[1]), 3)
        four_percent = np.round(0.04 * arm.motors.effort[2:], 3)
        return (
            _arm_drive("yaw", Im[0], F[0, 0], VISCOUS[0], mu=F[0, 1]),
            _arm_drive("pitch", Im[1], pitch, VISCOUS[1], mu=F[1, 1]),
            _arm_drive("insertion", Im[2], four_percent[0], VISCOUS[2]),
            _arm_drive("roll", Im[3], four_percent[1], VISCOUS[0]),
        )
    Fo = [{} if offset is None else {"Fo": round(float(o), 4)} for o in (np.zeros(3) if offset is None else offset)]
    wrist = [d for d in load_parameters("PSM", "wang2019").drives if d.name not in ("yaw", "pitch", "insertion")]
    disc = float(round(DISC_ROTOR * gear[3] ** 2, 6))
    return (
        _arm_drive("yaw", Im[0], F[0, 0], VISCOUS[0], mu=F[0, 1], **Fo[0]),
        _arm_drive("pitch", Im[1], F[1, 0], VISCOUS[1], mu=F[1, 1], **Fo[1]),
        _arm_drive("insertion", Im[2], GUIDE, VISCOUS[2], **Fo[2]),
        _drive(
            "cannula", {"insertion": 1.0}, Fc=F[2, 0] - GUIDE, Fv=round(VISCOUS[2] * (F[2, 0] - GUIDE), 2), Fx=F[2, 1]
        ),
        *(_wrist_drive(d, disc) for d in wrist),
    )


def _arm_drive(joint: str, Im: float, Fc: float, viscous: float, **others: float) -> Drive:
    return _drive(joint, {joint: 1.0}, Im=round(float(Im), 4), Fc=Fc, Fv=round(viscous * Fc, 2), **others)


def _drive(name: str, joints: dict[str, float], **terms: float) -> Drive:
    values: dict[str, Any] = {term: round(float(terms[term]), 4) for term in DRIVE_TERMS if term in terms}
    return Drive(name=name, joints=joints, terms=tuple(values), **values)


def _wrist_drive(drive: Drive, disc: float) -> Drive:
    """The Classic's, without its offset, which belongs to one arm."""
    terms: dict[str, Any] = {term: getattr(drive, term) for term in drive.terms if term != "Fo"}
    if "Im" in terms:
        terms["Im"] = disc
    return Drive(name=drive.name, joints=drive.joints, motors=drive.motors, terms=tuple(terms), **terms)


def comments(parameters: Parameters) -> list[str]:
    """The head of the parameter file."""
    arm = load_arm(parameters.arm)
    c = coefficient_rows(mech := Mechanism(arm, parameters)) @ mech.parameter_vector
    text = LINKS.format(coefficients=", ".join(f"{v:.4f}" for v in c[:4]), m3=f"{c[4]:.4f}")
    command = f"Derived by `python -m trocar.identification.zhou2025 {parameters.arm} {parameters.name} FILE`."
    head, rest = COMMENTS[parameters.arm, parameters.name].format(links=text).split("\n\n", 1)
    return [head, "", command, *rest.splitlines()]


def _source(arm: str, name: str) -> str:
    return str(read("links_si")[arm]["source"] if name == "saw" else read("static_psm_si")["source"])


def _columns(inertias: dict[str, Inertia], body: str) -> slice:
    k = list(inertias).index(body)
    return slice(10 * k, 10 * (k + 1))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: python -m trocar.identification.zhou2025 ARM SET FILE")
    derived = derive(sys.argv[1], sys.argv[2])
    print(write_whole(Path(sys.argv[3]), to_toml(derived, comments(derived))))
