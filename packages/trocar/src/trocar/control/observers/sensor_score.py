"""Estimated tip forces compared with a force sensor whose axes and sign may be unknown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from trocar import checks
from trocar.control.observers.force_intervals import TipForces
from trocar.errors import TrocarError
from trocar.spatial import Array

CONTACT = 0.2  # [N] force on the sensor above which a row counts as contact
MIN_ROWS = 20  # rows of contact in each half
LINE = 0.1  # second largest spread of forces, relative to the largest, below which they lie along one line


@dataclass(frozen=True, eq=False)
class SensorScore:
    """Errors of estimated tip forces by axis x, y, z of the arm's base.

    Attributes:
        rotation: R_base_sensor (3, 3). reaction: True if the sensor reads the force of the arm on its surroundings, as
            one under the tissue does. fitted: True if the rotation was fitted to the first half of the contact.
        rmse: (3,) in contact, in the second half of it if fitted [N]. range: (3,) of the sensor in the same rows [N].
        free_rmse: (3,) without contact [N], NaN if there are no such rows.
        coverage: (3,) share of all judged rows whose interval holds the sensor's force.
        rows: number of judged rows in contact, and without contact.
        sensor: (N, 3) readings as forces on the arm, base axes [N].
    """

    rotation: Array
    reaction: bool
    fitted: bool
    rmse: Array
    range: Array
    free_rmse: Array
    coverage: Array
    rows: tuple[int, int]
    sensor: Array

    @property
    def share(self) -> Array:
        """RMSE (3,) in contact as a share of the sensor's range."""
        return self.rmse / np.maximum(self.range, np.finfo(float).tiny)


def score(forces: TipForces, sensor: ArrayLike, rotation: ArrayLike | None = None) -> SensorScore:
    """Compare forces with readings (N, 3) [N] of a sensor that does not turn with the arm.

    The sign is the one that fits better: a single bit, whatever the rotation.

    Args:
        rotation: R_base_sensor (3, 3). Default: the one that fits the first half of the rows in contact best; then only
            rows after them are judged.
    """
    F = checks.finite("sensor", sensor, forces.force.shape, "a force for each row")
    contact = np.linalg.norm(F, axis=1) > CONTACT
    touching = np.flatnonzero(contact)
    if len(touching) < 2 * MIN_ROWS:
        raise TrocarError(f"the sensor reads more than {CONTACT:g} N in {len(touching)} rows only; nothing to score")
    first, judged = touching, np.ones(len(F), dtype=bool)
    if rotation is None:
        first = touching[: len(touching) // 2]
        judged = np.arange(len(F)) > first[-1]
        R, reaction = _fitted(forces.force[first], F[first])
    else:
        R = checks.finite("rotation", rotation, (3, 3), "a rotation matrix")
        if np.abs(R @ R.T - np.eye(3)).max() > 1e-6 or np.linalg.det(R) < 0:
            raise TrocarError("rotation must be a rotation matrix: orthogonal, with determinant 1")
        reaction = bool((forces.force[first] * (F[first] @ R.T)).sum() < 0)
    readings = (-F if reaction else F) @ R.T
    error = forces.force - readings
    pressed, free = judged & contact, judged & ~contact
    return SensorScore(
        rotation=R,
        reaction=reaction,
        fitted=rotation is None,
        rmse=_rms(error[pressed]),
        range=np.ptp(readings[pressed], axis=0),
        free_rmse=_rms(error[free]) if free.any() else np.full(3, np.nan),
        coverage=(np.abs(error) <= forces.half_width)[judged].mean(0),
        rows=(int(pressed.sum()), int(free.sum())),
        sensor=readings,
    )


def _fitted(estimate: Array, sensor: Array) -> tuple[Array, bool]:
    """R_base_sensor and the sign, by which readings (N, 3) fit estimates (N, 3) with the least squared error."""
    spread = np.linalg.svd(sensor, compute_uv=False)
    if spread[1] < LINE * spread[0]:
        raise TrocarError("the forces lie along one line, which leaves the sensor's rotation open; pass the rotation")
    fits = [Rotation.align_vectors(estimate, sign * sensor) for sign in (1.0, -1.0)]
    reaction = bool(fits[1][1] < fits[0][1])
    return fits[reaction][0].as_matrix(), reaction


def _rms(error: Array) -> Array:
    return np.asarray(np.sqrt((error**2).mean(0)))
