"""Inertial parameters of a body: standard, barycentric and 4 x 4 pseudo-inertia.

Standard: mass m, centre of mass c, inertia about c. Barycentric, in which the dynamics are linear:
phi = (m, m c_x, m c_y, m c_z, L_xx, L_xy, L_xz, L_yy, L_yz, L_zz) with L the inertia about the link origin.
Pseudo-inertia: P = [[tr(L)/2 - L, m c], [m c', m]]; a body is physically realisable if and only if P is positive
semidefinite.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trocar.arms.parameters import Inertia
from trocar.errors import TrocarError
from trocar.spatial import Array, skew

NAMES = ("m", "mx", "my", "mz", "Lxx", "Lxy", "Lxz", "Lyy", "Lyz", "Lzz")
_UPPER = np.triu_indices(3)


def barycentric(body: Inertia) -> Array:
    """phi (10,) [kg, kg m, kg m^2]."""
    S = skew(body.com)
    L = body.I - body.mass * S @ S
    return np.array([body.mass, *(body.mass * body.com), *L[_UPPER]])


def standard(phi: Array) -> Inertia:
    """Mass, centre of mass and central inertia of barycentric parameters (10,)."""
    mass = float(phi[0])
    com = phi[1:4] / mass if mass else np.zeros(3)
    S = skew(com)
    I = _symmetric(phi[4:]) + mass * S @ S
    return Inertia(mass=mass, com=com, I=0.5 * (I + I.T))


def pseudo_inertia(phi: Array) -> Array:
    """P (4, 4) of barycentric parameters."""
    L = _symmetric(phi[4:])
    P = np.empty((4, 4))
    P[:3, :3] = 0.5 * np.trace(L) * np.eye(3) - L
    P[:3, 3] = P[3, :3] = phi[1:4]
    P[3, 3] = phi[0]
    return P


def from_pseudo_inertia(P: Array) -> Array:
    """Barycentric parameters (10,) of a pseudo-inertia (4, 4)."""
    L = np.trace(P[:3, :3]) * np.eye(3) - P[:3, :3]
    return np.array([P[3, 3], *P[:3, 3], *L[_UPPER]])


def in_world(body: Inertia, T_world_link: Array) -> Inertia:
    """The body in world axes: centre of mass in the world frame [m], inertia about that centre [kg m^2].

    Ferro et al. 2022 need this for their engine; as printed, their eq. (3) adds the base origin p_0 where the link
    origin p_i belongs, and their eq. (4) gives the inertia about the world origin, not about the centre of mass.
    """
    R, p = T_world_link[:3, :3], T_world_link[:3, 3]
    return Inertia(mass=body.mass, com=R @ body.com + p, I=R @ body.I @ R.T)


def check_consistent(inertias: Mapping[str, Inertia]) -> None:
    """Raise an error that names link and eigenvalue if a body is not physically realisable."""
    for name, body in inertias.items():
        smallest = float(np.linalg.eigvalsh(pseudo_inertia(barycentric(body)))[0])
        if smallest <= 0:
            raise TrocarError(
                f"the inertia of link '{name}' is not physical: smallest eigenvalue of its pseudo-inertia is "
                f"{smallest:.3g}, must be positive; use a consistent set (PSM: parameters='wang2019')"
            )


def _symmetric(v: Array) -> Array:
    xx, xy, xz, yy, yz, zz = v
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
