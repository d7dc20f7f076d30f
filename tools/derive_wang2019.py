"""Derives the consistent sets from the published ones: `python -m tools.derive_wang2019 PSM|MTM FILE`."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from tools.consistent_links import equivalent, nearest
from trocar.arms.parameters import Drive, Parameters, to_toml
from trocar.files import write_whole
from trocar.identification.consistency import prior
from trocar.mechanics import load_mechanism

# Rotor inertia of an instrument motor, at its disc [kg m^2]. The published gains are unstable below 5e-5, and with one
# sample of delay below 1e-4; identification with hysteresis gives 0.5 to 3e-4.
DISC_ROTORS = {f"disc_{k}": 1e-4 for k in (1, 2, 3, 4)}

COMMENTS = """Dynamic parameters of the PSM: the torque of the published set, physically consistent. SI units.

Derived by `python -m tools.derive_wang2019 PSM FILE` (see tools/consistent_links.py):
- links: pseudo-inertias of least divergence from the boxes of prior_psm.toml, all 17 base parameters held;
- counterweight: as published, moved by the least change that makes it positive definite;
- drives: friction and stiffness as published; the negative rotor inertias of the wrist are replaced by positive
  ones at the four instrument discs. Yaw, pitch and insertion carry theirs inside the link inertias.
Wrist links have no inertia; that of the instrument is part of the link "insertion".""".splitlines()


# Rotor inertia of the last four motors of an MTM, at their actuators [kg m^2]: not published. These are the smallest
# round numbers with which the published PID is stable with one sample of delay.
MTM_ROTORS = {"motor_4": 5e-4, "motor_5": 5e-5, "motor_6": 3e-5, "motor_7": 1e-5}

MTM_COMMENTS = """Dynamic parameters of the MTMR: nearly the published torque, physically consistent. SI units.

Derived by `python -m tools.derive_wang2019 MTM FILE` (see tools/consistent_links.py). No
consistent set has exactly the published torque, whose mass matrix is not positive definite. This one changes it, root
mean square over random states relative to the mean torque of each joint, by
    {change}
without the rotors: those of the last four motors are assumed, see MTM_ROTORS. Friction, springs and cables as
published. The set of the MTML is its mirror image, see docs/mtm.md."""


def derive_mtm() -> tuple[Parameters, list[str]]:
    """The consistent set of the MTM, and the comments that describe its changes."""
    published = load_mechanism("MTMR", "wang2019_published")
    assert published.parameters is not None
    inertias, torque_change = nearest(published, prior("MTMR"))
    parameters = replace(
        published.parameters,
        name="wang2019",
        source="Wang et al. 2019, nearest physically consistent set",
        inertias=inertias,
        drives=_with_rotors(published.parameters.drives, MTM_ROTORS),
        path="",
    )
    change = ", ".join(f"{100 * c:.1f} %" for c in torque_change)
    return parameters, MTM_COMMENTS.format(change=change).splitlines()


def derive() -> Parameters:
    """The consistent set of the PSM."""
    published = load_mechanism("PSM", "wang2019_published")
    assert published.parameters is not None
    return Parameters(
        name="wang2019",
        arm="PSM",
        geometry="wang2019",
        source="Wang et al. 2019, made physically consistent with the same torque",
        inertias=equivalent(published, prior("PSM")),
        drives=_with_rotors(published.parameters.drives, DISC_ROTORS),
        path="",
    )


def _with_rotors(drives: tuple[Drive, ...], rotors: dict[str, float]) -> tuple[Drive, ...]:
    """Drives of joints without their rotors, then those of motors, with rotor inertias [kg m^2] by motor."""
    at_joints = [
        replace(d, Im=0.0, terms=tuple(term for term in d.terms if term != "Im")) for d in drives if not d.motors
    ]
    by_motor = {next(iter(d.motors)): d for d in drives if d.motors}
    bare = {motor: Drive(name=motor, motors={motor: 1.0}, terms=("Im",)) for motor in rotors}
    return (*at_joints, *(replace(by_motor.get(motor, bare[motor]), Im=Im) for motor, Im in rotors.items()))


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("PSM", "MTM"):
        sys.exit("usage: python -m tools.derive_wang2019 PSM|MTM FILE")
    parameters, comments = (derive(), COMMENTS) if sys.argv[1] == "PSM" else derive_mtm()
    print(write_whole(Path(sys.argv[2]), to_toml(parameters, comments)))
