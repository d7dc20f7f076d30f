"""Drives of an arm with wrist cables: the friction that the joints carry, and the coupling that is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trocar.arms import Arm
from trocar.arms.parameters import Drive
from trocar.arms.wrist_cables import CABLE_JOINTS
from trocar.errors import TrocarError

# Largest coupling of wrist and jaw by unequal rotors of the fingers, over the root of their inertias. 0.01 in the
# identified set wang2019_refit; three standard deviations from it, up to 0.4.
MAX_JAW_COUPLING = 0.5


def check_wrist(arm: Arm, option: str, value: object) -> None:
    """Raise an error if an arm has no wrist that cables could move; `option` has this value."""
    if not set(CABLE_JOINTS) <= set(arm.joint_names):
        raise TrocarError(f"{arm.name} has no wrist of {', '.join(CABLE_JOINTS)}; omit {option}={value!r}")


def at_cables(arm: Arm, drive: Drive) -> bool:
    """True if the friction of a drive is that of the cables' joints, not of the motors."""
    return not drive.motors and bool(drive.row(arm)[[arm.joint_names.index(name) for name in CABLE_JOINTS]].any())


def motor_side(arm: Arm, drive: Drive) -> Drive:
    """A drive at the motors: friction at the cables' joints is that of the cables; other friction stays."""
    if at_cables(arm, drive):
        drive = replace(drive, Fc=0.0, hysteresis=(), mu=0.0, Fx=0.0)
    if drive.motors and (drive.mu or drive.Fx):
        raise TrocarError(
            f"wrist cables need friction at the motors that is independent of load and position; drive '{drive.name}' "
            f"of {arm.name} has mu = {drive.mu:g}, Fx = {drive.Fx:g}. Use another set, or wrist='rigid'"
        )
    return drive


def check_rotors(arm: Arm, drives: Sequence[Drive]) -> None:
    """Raise an error if the rotors couple wrist and jaw by more than `MAX_JAW_COUPLING`, which the model leaves out.

    The jaw has no motor of its own in the model, and MuJoCo drops the inertia of a rotor between different branches.
    """
    rows, Im = np.array([drive.row(arm) for drive in drives]), np.array([drive.Im for drive in drives])
    M = rows.T @ (Im[:, None] * rows)
    wrist, scale = np.isin(arm.joint_names, CABLE_JOINTS), np.sqrt(np.maximum(np.diag(M), 1e-30))
    coupling = float(np.abs(M / np.outer(scale, scale))[wrist][:, ~wrist].max())
    if coupling > MAX_JAW_COUPLING:
        raise TrocarError(
            f"the rotors of {arm.name} couple wrist and jaw by {coupling:.2f} of their inertia; wrist cables leave out "
            f"at most {MAX_JAW_COUPLING:g}. Give rotor_inertia, or use wrist='rigid'"
        )
