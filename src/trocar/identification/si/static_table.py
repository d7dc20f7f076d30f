"""Table II of Zhou et al. 2025: five static poses of a da Vinci Si PSM, and its gravity and friction from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from trocar.arms.tables import read
from trocar.identification.si.gravity import GravityFit, fit_gravity, gravity_regressor
from trocar.spatial import Array


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
        """Centre of the non-drift band: the gravity effort if friction is symmetric."""
        return 0.5 * (self.lower + self.upper)

    @property
    def half_band(self) -> Array:
        """Half the width of the non-drift band: static friction."""
        return 0.5 * (self.upper - self.lower)

    def inside(self, tau: Array) -> Array:
        """Mask (5, 3) of efforts within the bounds."""
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
    """The authors' model: gravity and constant forces of their compensation torques."""
    return fit_gravity(table_two().q, table_two().GC_torque)


def measured() -> GravityFit:
    """The arm itself: gravity and constant forces of the middle of the non-drift bounds."""
    return fit_gravity(table_two().q, table_two().middle)


def static_friction() -> Array:
    """Coulomb friction at no load and its growth (3, 2), from the half-bands.

    Yaw and pitch: [N m], per load. Insertion: [N] at q3 = 0, per depth [N/m].
    """
    table = table_two()
    fit = measured()
    load = np.abs(gravity_regressor(table.q) @ fit.coefficients + fit.K0)
    against = np.stack([load[:, 0], load[:, 1], table.q[:, 2]], axis=-1)
    rows = [np.polyfit(against[:, j], table.half_band[:, j], 1)[::-1] for j in range(3)]
    return np.array(rows)
