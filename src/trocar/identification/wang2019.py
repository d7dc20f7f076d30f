"""Deriving `psm_wang2019.toml` from the published set: `python -m trocar.identification.wang2019 FILE`."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from trocar.arms.parameter_file import to_toml
from trocar.arms.parameters import Drive, Parameters
from trocar.files import write_whole
from trocar.identification.consistency import equivalent, prior
from trocar.mechanics import load_mechanism

# Rotor inertia of an instrument motor, at its disc [kg m^2]. The published gains are unstable below 5e-5, and with one
# sample of delay below 1e-4; identification with hysteresis gives 0.5 to 3e-4.
DISC_INERTIA = 1e-4

COMMENTS = """Dynamic parameters of the Classic PSM: the torque of the published set, physically consistent. SI units.

Derived by `python -m trocar.identification.wang2019 FILE` (see trocar/identification/consistency.py):
- links: pseudo-inertias of least divergence from the boxes of prior_psm.toml, all 17 base parameters held;
- counterweight: as published, moved by the least change that makes it positive definite;
- drives: friction and stiffness as published; the negative rotor inertias of the wrist are replaced by positive
  ones at the four instrument discs. Yaw, pitch and insertion carry theirs inside the link inertias.
Wrist links have no inertia of their own: that of the instrument is inside the link "insertion".""".splitlines()


def derive() -> Parameters:
    """The consistent set."""
    published = load_mechanism("PSM", "wang2019_published")
    parameters = published.parameters
    assert parameters is not None
    drives = [_without_rotor(drive) for drive in parameters.drives if not drive.motors]
    by_motor = {next(iter(d.motors)): d for d in parameters.drives if d.motors}
    for disc in ("disc_1", "disc_2", "disc_3", "disc_4"):
        friction = by_motor.get(disc, Drive(name=disc, motors={disc: 1.0}, terms=("Im",)))
        drives.append(replace(friction, Im=DISC_INERTIA))
    return Parameters(
        name="wang2019",
        arm="PSM",
        geometry="wang2019",
        source="Wang et al. 2019, made physically consistent with the same torque",
        inertias=equivalent(published, prior("PSM")).inertias,
        drives=tuple(drives),
        path="",
    )


def _without_rotor(drive: Drive) -> Drive:
    return replace(drive, Im=0.0, terms=tuple(term for term in drive.terms if term != "Im"))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m trocar.identification.wang2019 FILE")
    print(write_whole(Path(sys.argv[1]), to_toml(derive(), COMMENTS)))
