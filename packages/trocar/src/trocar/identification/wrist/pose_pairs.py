"""Commanded joints with the poses of a marker on the instrument, as a camera or tracker saw it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from trocar.errors import TrocarError
from trocar.identification.wrist.joint_pairs import JOINTS, MIN_ROWS
from trocar.mechanics import Mechanism
from trocar.mechanics.hand_eye import hand_eye
from trocar.spatial import Array, checked_pose, inverse, pose

SCALES = {"m": 1.0, "mm": 1e-3}
SPREAD_TOLERANCE = 3.0  # factor between the spread of the seen and of the commanded positions, beyond the unit
CLEARLY = 1.5  # factor between the misfits of two readings of a file, below which neither is chosen


@dataclass(frozen=True, kw_only=True)
class PosePairs:
    """One motion of a PSM: joints as the motors report them, and poses of a marker on the gripper, row by row.

    Attributes:
        name: of the motion.
        command: (N, 6) yaw, pitch [rad], insertion [m], roll, wrist pitch, wrist yaw [rad], in the order of motion.
        seen: (N, 4, 4) T_tracker_marker [m]. NaN in rows in which the marker was not seen; friction remembers them.
        notes: how the file was read: units, conventions, missing rows.
    """

    name: str
    command: Array
    seen: Array
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        command, seen = np.array(self.command, dtype=float), np.array(self.seen, dtype=float)
        if command.ndim != 2 or command.shape[1] != len(JOINTS) or not np.isfinite(command).all():
            raise TrocarError(
                f"{self.name}: commands must be finite rows of {', '.join(JOINTS)}, got shape {command.shape}"
            )
        if seen.shape != (len(command), 4, 4):
            raise TrocarError(f"{self.name}: poses must have shape ({len(command)}, 4, 4), got {seen.shape}")
        object.__setattr__(self, "command", command)
        object.__setattr__(self, "seen", seen)
        if self.visible.sum() < MIN_ROWS:
            raise TrocarError(
                f"{self.name}: needs at least {MIN_ROWS} rows with a seen marker, got {self.visible.sum()}"
            )
        checked_pose(seen[self.visible])

    @property
    def visible(self) -> Array:
        """(N,) rows in which the marker was seen."""
        return np.asarray(np.isfinite(self.seen).all((-1, -2)))


def tip_poses(mechanism: Mechanism, q: Array) -> Array:
    """T_base_tip (..., 4, 4) of joints (..., 6); the jaw is closed."""
    joints = np.zeros((*q.shape[:-1], mechanism.n))
    joints[..., : q.shape[-1]] = q
    return mechanism.forward_kinematics(joints)


def pairs_of(
    name: str,
    command: Array,
    position: Array,
    rotations: dict[str, Array],
    unit: str | None,
    mechanism: Mechanism,
    notes: tuple[str, ...] = (),
) -> PosePairs:
    """Pose pairs from the columns of a file; what the file does not say is decided by the commands, and noted.

    Args:
        position: (N, 3), NaN where not seen. unit: m or mm; None: the one in which the marker moves as far as the tip.
        rotations: (N, 3, 3) by convention. Of several, the one that a hand-eye calibration explains is chosen.
    """
    if not len(command) == len(position) == len(next(iter(rotations.values()))):
        raise TrocarError(f"{name}: {len(position)} poses must be as many as commanded joints, got {len(command)}")
    seen = np.isfinite(position).all(-1) & np.all([np.isfinite(R).all((-1, -2)) for R in rotations.values()], axis=0)
    if seen.sum() < MIN_ROWS:
        raise TrocarError(f"{name}: needs at least {MIN_ROWS} rows with a seen marker, got {seen.sum()}")
    tips = tip_poses(mechanism, command[seen])
    if unit is None:
        unit = _unit(name, position[seen], tips[:, :3, 3])
        notes += (f"{name}: positions are taken as {unit}: the marker moves as far as the tip",)
    convention = next(iter(rotations))
    if len(rotations) > 1:
        convention = _convention(name, tips, {key: R[seen] for key, R in rotations.items()})
        notes += (f"{name}: quaternions are taken as {convention}: a hand-eye calibration explains no other order",)
    if missing := int((~seen).sum()):
        notes += (f"{name}: the marker is not seen in {missing} of {len(seen)} rows",)
    T = pose(rotations[convention], SCALES[unit] * position)
    T[~seen] = np.nan
    return PosePairs(name=name, command=command, seen=T, notes=notes)


def _unit(name: str, position: Array, tip: Array) -> str:
    """Unit in which the seen positions spread like those of the tip; medians ignore outliers."""
    spread, expected = (float(np.median(np.linalg.norm(p - np.median(p, 0), axis=1))) for p in (position, tip))
    for unit, scale in SCALES.items():
        if 1.0 / SPREAD_TOLERANCE < scale * spread / expected < SPREAD_TOLERANCE:
            return unit
    raise TrocarError(
        f"{name}: the seen positions spread by {spread:.3g}, and the tip by {expected:.3g} m: neither m nor mm; name "
        "the unit, such as 'marker_x [mm]', and check the joints"
    )


def _convention(name: str, tips: Array, rotations: dict[str, Array]) -> str:
    """Convention whose rotations follow from those of the tip by one hand-eye rotation."""
    misfits = {key: _misfit(tips, pose(R, np.zeros((len(R), 3)))) for key, R in rotations.items()}
    best, *others = sorted(misfits, key=lambda key: misfits[key])
    if misfits[best] * CLEARLY > misfits[others[0]]:
        raise TrocarError(
            f"{name}: the order of the quaternions ({' or '.join(rotations)}) is unclear; name the components, such as "
            "'marker_qw', or give rotation matrices"
        )
    return best


def _misfit(tips: Array, seen: Array) -> float:
    """Median angle [rad] between motions of the tip and those of the marker, after a hand-eye rotation."""
    other = np.roll(np.arange(len(tips)), len(tips) // 2)
    A, B = inverse(tips) @ tips[other], inverse(seen) @ seen[other]
    X = hand_eye(A, B)[:3, :3]
    off = np.swapaxes(A[:, :3, :3] @ X, -1, -2) @ X @ B[:, :3, :3]
    return float(np.median(Rotation.from_matrix(off).magnitude()))
