"""Dahl friction in the simulation loop, as generalised forces."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from trocar.errors import TrocarError
from trocar.mechanics import Mechanism
from trocar.spatial import Array

# Largest local frequency times timestep; an elastic force held over a step is stable up to 2.
RESOLVED = 1.0


class Hysteresis:
    """The states z of all Dahl elements, driven by the path of the joints.

    A step needs the force before its path is known, so the force is held over the step and z then follows the
    displacement exactly. With the force at the start of the step, the local stiffness 2 F / delta conserves energy with
    an integrator that updates the velocity first (fast, discrete) up to a frequency of 2 / timestep, but gains energy
    with Runge-Kutta; with the force half a step ahead it conserves energy there too. See docs/dynamics.md.

    Args:
        equations: of the arm. D: (n, nv), q = D qpos. timestep: [s].
    """

    def __init__(self, equations: Mechanism, D: Array, timestep: float) -> None:
        _check_resolved(equations, timestep)
        drives = equations.drives
        self._B = (drives.A @ D)[drives.owner]  # s = B qpos
        self._pull = np.ascontiguousarray(-self._B.T)
        self._F, self._slope = drives.F, drives.slope if drives.slope.any() else None
        self._rate = -1.0 / drives.delta
        self._half = 0.5 * timestep
        self._z, self._s, self._path = (np.zeros(len(drives.owner)) for _ in range(3))

    def reset(self) -> None:
        """Relax all elements to zero effort."""
        self._z[:] = 0.0

    def place(self, qpos: Array) -> None:
        """Note that the joints were placed here without motion: z is kept."""
        self._B.dot(qpos, self._s)

    def states(self, qpos: Array) -> Array:
        """z (k,) at the joints' positions."""
        self._follow(qpos)
        return self._z.copy()

    def set_states(self, z: ArrayLike, qpos: Array) -> None:
        """Start from z (k,), in the order of the drives."""
        z = np.asarray(z, dtype=float)
        if z.shape not in ((), self._z.shape) or not (np.abs(z) <= 1.0).all():
            raise TrocarError(f"hysteresis must be {len(self._z)} states, each in [-1, 1], got {z!r}")
        self._z[:] = z
        self.place(qpos)

    @property
    def memory(self) -> tuple[Array, Array]:
        """State of all elements, for a snapshot. Assign it to restore the snapshot."""
        return self._z.copy(), self._s.copy()

    @memory.setter
    def memory(self, memory: tuple[Array, Array]) -> None:
        self._z[:], self._s[:] = memory

    def force(self, qpos: Array, qvel: Array) -> Array:
        """Generalised force (nv,) for the next step."""
        self._follow(qpos)
        return self._effort(self._z, self._s)

    def force_ahead(self, qvel: Array) -> Array:
        """Change of `force` (nv,) over half a step ahead, to add to it for a Runge-Kutta step."""
        path = self._half * self._B.dot(qvel)
        z = _moved(self._z, path, self._rate)
        return self._effort(z, self._s + path) - self._effort(self._z, self._s)

    def _follow(self, qpos: Array) -> None:
        path = self._path
        self._B.dot(qpos, path)
        path -= self._s
        self._s += path
        self._z = _moved(self._z, path, self._rate)

    def _effort(self, z: Array, s: Array) -> Array:
        F = self._F if self._slope is None else self._F + self._slope * s
        return np.asarray(self._pull.dot(F * z))


def _check_resolved(equations: Mechanism, timestep: float) -> None:
    """Raise an error for elements with a delta too short for the timestep."""
    drives = equations.drives
    M, A = equations.mass_matrix(equations.arm.home), drives.A[drives.owner]
    stiffness = 2.0 * drives.F / drives.delta  # the steepest, right after a reversal
    fastest = float(np.sqrt(np.linalg.eigvals(np.linalg.solve(M, A.T @ (stiffness[:, None] * A))).real.max()))
    if fastest * timestep > RESOLVED:
        e = int(np.argmax(stiffness * np.einsum("ki,ki->k", A, np.linalg.solve(M, A.T).T)))
        raise TrocarError(
            f"hysteretic friction is too stiff for a timestep of {timestep:.3g} s: it vibrates at {fastest:.4g} "
            f"rad/s, mostly drive '{drives.drives[drives.owner[e]].name}' with delta = {drives.delta[e]:.3g}; use "
            f"{RESOLVED / fastest:.2g} s or less, or replace it by Coulomb friction (Fc)"
        )


def _moved(z: Array, path: Array, rate: Array) -> Array:
    """z after a monotone path; rate = -1 / delta."""
    d = np.sign(path)
    return np.asarray(d + (z - d) * np.exp(rate * np.abs(path)))
