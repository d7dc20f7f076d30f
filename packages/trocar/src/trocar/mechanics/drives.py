"""Drives of an arm (rotor inertia, friction with memory and stiffness along s = A q) and its elastic elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trocar.arms import Arm
from trocar.arms.parameters import DRIVE_TERMS, CableTorque, Drive, Elastic, LeverSpring
from trocar.errors import TrocarError, check_known
from trocar.laws.cables import cable_torque
from trocar.laws.dahl import dahl_effort
from trocar.laws.law import ScalarLaw
from trocar.laws.sources.function_source import on_arrays, on_numbers
from trocar.spatial import Array

_EFFORT = on_arrays(ScalarLaw(dahl_effort))


def dahl_states(s: ArrayLike, delta: ArrayLike, z0: ArrayLike = 0.0) -> Array:
    """z (T, ...) of Dahl elements along paths s (T, ...) [rad, m], time first.

    The law is `trocar.laws.dahl`, exact if s is monotone between samples.

    Args:
        delta: delta of each path [rad, m]; broadcasts against the trailing axes, like z0.
        z0: state at the first sample, in [-1, 1].
    """
    s, delta = np.asarray(s, dtype=float), np.asarray(delta, dtype=float)
    if not (delta > 0).all():
        raise TrocarError(f"delta of a Dahl element must be positive [rad, m], got {delta!r}")
    ds = np.diff(s, axis=0)
    # The law as decay z + gained, in two operations per sample instead of six; expm1 is exact for short paths.
    decay = np.exp(-np.abs(ds) / delta)
    gained = -np.expm1(-np.abs(ds) / delta) * np.sign(ds)
    z = np.empty_like(s)
    if len(s):
        z[0] = z0
    for k in range(len(ds)):  # a recurrence; vectorised over the paths
        np.multiply(decay[k], z[k], out=z[k + 1, ...])
        z[k + 1] += gained[k]
    return z


class Drives:
    """All drives of an arm as arrays; q, dq, ddq are (..., n), efforts come back as (..., n).

    Attributes:
        A: (m, n), s = A q. L: (m, n), load along each drive = L g; rows of drives with no mu are zero.
        Im, Fv, Fc, Fo, K0, K, K2, Fx, mu: (m,). bias: (n,), Fo in the joints [N m, N].
        owner, delta, F, slope: (k,) of the Dahl elements, in drive order. S: (m, k), sums them by drive.
        loaded: True if any friction depends on load.
        names, values: names and values of the regressor's columns, such as `yaw.Fc` and `yaw.hysteresis[0].F`.
    """

    def __init__(self, drives: Sequence[Drive], arm: Arm) -> None:
        self.drives = tuple(drives)
        self.A = np.array([d.row(arm) for d in drives]).reshape(-1, arm.n)
        column = {term: np.array([getattr(d, term) for d in drives], dtype=float) for term in DRIVE_TERMS}
        self.Im, self.Fv, self.Fc, self.Fo = column["Im"], column["Fv"], column["Fc"], column["Fo"]
        self.K0, self.K, self.K2, self.Fx, self.mu = (column[term] for term in ("K0", "K", "K2", "Fx", "mu"))
        self.loaded = any("mu" in d.terms or d.mu for d in drives)
        loads = [d.load_row(arm) if d.mu or "mu" in d.terms else np.zeros(arm.n) for d in drives]
        self.L = np.array(loads).reshape(-1, arm.n)
        elements = [(i, dahl) for i, d in enumerate(drives) for dahl in d.hysteresis]
        self.owner = np.array([i for i, _ in elements], dtype=int)
        self.delta, self.F, self.slope = (
            np.array([getattr(dahl, name) for _, dahl in elements], dtype=float) for name in ("delta", "F", "slope")
        )
        self.S = (np.arange(len(drives))[:, None] == self.owner).astype(float)
        self.M = self.A.T @ (self.Im[:, None] * self.A)
        self.bias, self.constant = self.Fo @ self.A, self.K0 @ self.A
        self.bias.setflags(write=False)
        self.stiffness = self.A.T @ (self.K[:, None] * self.A)
        self._springs = [(int(i), int(j), float(self.stiffness[i, j])) for i, j in np.argwhere(self.stiffness)]
        self._constants = [(int(i), float(self.constant[i])) for i in np.flatnonzero(self.constant)]
        self._quadratic = bool(self.K2.any())
        terms = [(i, term) for i, drive in enumerate(drives) for term in drive.terms]
        sloped = np.flatnonzero(self.slope)
        place = [int((self.owner[:e] == i).sum()) for e, i in enumerate(self.owner)]
        element = [f"{drives[i].name}.hysteresis[{k}]" for i, k in zip(self.owner, place, strict=True)]
        self.names = (
            *(f"{drives[i].name}.{term}" for i, term in terms),
            *(f"{name}.F" for name in element),
            *(f"{element[e]}.slope" for e in sloped),
        )
        self.values = np.concatenate([[getattr(drives[i], term) for i, term in terms], self.F, self.slope[sloped]])
        # columns of the regressor: a factor (see `regressor`) times the direction of its drive
        m, k = len(drives), len(elements)
        of_terms = [DRIVE_TERMS.index(term) * m + i for i, term in terms]
        after = len(DRIVE_TERMS) * m
        self._factors = np.array([*of_terms, *range(after, after + k), *(after + k + sloped)], dtype=int)
        owners = [*(i for i, _ in terms), *self.owner, *self.owner[sloped]]
        self._directions = np.ascontiguousarray(self.A[owners].T)

    # -- potentials ----------------------------------------------------------------------------------------------
    def springs(self, q: Array) -> Array:
        """Efforts of the potential terms: constant, linear and quadratic in position."""
        linear = q @ self.stiffness + self.constant
        return linear + (self.K2 * (q @ self.A.T) ** 2) @ self.A if self._quadratic else linear

    def spring_slopes(self, q: Array) -> Array:
        """Derivatives (..., n, n) of `springs` by q [N m/rad, N/m]."""
        return self.stiffness + np.einsum("mi,...m,mj->...ij", self.A, 2.0 * self.K2 * (q @ self.A.T), self.A)

    def add_springs(self, g: Array, q: Array) -> None:
        """Add the spring efforts of one state to g (n,) in place; faster than a matrix product for few entries."""
        for i, j, k in self._springs:
            g[i] += k * q[j]
        for i, constant in self._constants:
            g[i] += constant
        if self._quadratic:
            g += (self.K2 * (self.A @ q) ** 2) @ self.A

    def spring_energy(self, q: Array) -> Array:
        """Energy (...) of the potential terms [J], zero at q = 0."""
        s = q @ self.A.T
        return s @ self.K0 + 0.5 * (s**2 @ self.K) + s**3 @ self.K2 / 3.0

    # -- friction ------------------------------------------------------------------------------------------------
    def coulomb(self, q: Array, load: Array | None) -> Array:
        """Coulomb friction (..., m) of every drive, Fc + Fx s + mu |L load| [N m, N]; load (..., n) of the joints."""
        F = self.Fc + self.Fx * (q @ self.A.T)
        return F if load is None else F + self.mu * np.abs(load @ self.L.T)

    def static(self, q: Array, load: Array | None) -> Array:
        """Largest friction (..., m) of every drive at rest: Coulomb friction and the steady effort of Dahl elements."""
        memory = (self.F + self.slope * (q @ self.A.T)[..., self.owner]) @ self.S.T
        return self.coulomb(q, load) + memory

    def friction(self, q: Array, dq: Array, load: Array | None, z: Array | None = None) -> Array:
        """Viscous, Coulomb (sign(0) = 0) and Dahl efforts; z (..., k), None for steady sliding."""
        s, ds = q @ self.A.T, dq @ self.A.T
        effort = self.Fv * ds + self.coulomb(q, load) * np.sign(ds)
        if self.owner.size:
            z = np.sign(ds[..., self.owner]) if z is None else z
            effort = effort + _EFFORT(z, s[..., self.owner], self.F, self.slope) @ self.S.T
        return effort @ self.A

    def states(self, q: Array, z0: ArrayLike | None = None) -> Array:
        """z (T, k) of the Dahl elements along a motion q (T, n), from z0 (k,) at its start (zero if None)."""
        z0 = np.zeros(len(self.owner)) if z0 is None else np.asarray(z0, dtype=float)
        if z0.shape not in ((), self.owner.shape) or not (np.abs(z0) <= 1.0).all():
            raise TrocarError(f"z0 must be one state or {len(self.owner)} states, each in [-1, 1], got {z0!r}")
        return dahl_states((q @ self.A.T)[..., self.owner], self.delta, z0)

    # -- regressor -----------------------------------------------------------------------------------------------
    def regressor(self, q: Array, dq: Array, ddq: Array, load: Array | None, z: Array | None = None) -> Array:
        """Columns (..., n, k) for the drive parameters. The load is held fixed: mu |g| is not linear in masses."""
        s, ds, dds = (x @ self.A.T for x in (q, dq, ddq))
        sign, one = np.sign(ds), np.ones_like(s)
        z = sign[..., self.owner] if z is None else z
        factor = {"Im": dds, "Fv": ds, "Fc": sign, "Fo": one, "K0": one, "K": s, "K2": s**2, "Fx": s * sign}
        factor["mu"] = one if load is None else np.abs(load @ self.L.T) * sign
        every = np.concatenate([*(factor[term] for term in DRIVE_TERMS), z, z * s[..., self.owner]], axis=-1)
        return every[..., None, self._factors] * self._directions


def check_dissipative(drives: Drives, arm: Arm) -> None:
    """Raise an error that names the first drive whose friction can generate energy within the joint limits.

    A Dahl element stores V = F(s) delta z^2 / 2 with F(s) = F + slope s. It is passive where
    F(s) >= |slope| delta / 2, that is, if F(s) is not negative up to half a delta beyond the limits.
    """
    corners = drives.A * arm.lower, drives.A * arm.upper
    low, high = np.minimum(*corners).sum(1), np.maximum(*corners).sum(1)
    every, none = np.arange(len(drives.drives)), np.zeros(len(drives.drives))
    kinds = (
        ("Fv", every, drives.Fv, none, none),
        ("Fc + Fx s", every, drives.Fc, drives.Fx, none),
        ("F + slope s of a Dahl element", drives.owner, drives.F, drives.slope, 0.5 * drives.delta),
    )
    for what, owner, F, slope, beyond in kinds:
        for i, constant, per, margin in zip(owner, F, slope, beyond, strict=True):
            s = low[i] - margin if per > 0 else high[i] + margin
            least = constant + per * s
            if least < -1e-6 * abs(constant):
                where = f" at s = {s:.4g}" if per else ""
                raise TrocarError(
                    f"friction of drive '{drives.drives[i].name}' is not passive: {what} is {least:.3g}{where}, within "
                    f"the joint limits{' and half a delta' if margin else ''}; constrain it in the identification"
                )


# -- elastic elements --------------------------------------------------------------------------------------------------
class Elastics:
    """All elastic elements of an arm; q is (..., n). Their efforts are gradients of their energy."""

    def __init__(self, elements: Sequence[Elastic], arm: Arm) -> None:
        self.elements = tuple(elements)
        self._n = arm.n
        for element in self.elements:
            check_known(f"elastic '{element.name}': joint of {arm.name}", arm.joint_names, element.joint)
        self._joints = [arm.joint_names.index(e.joint) for e in elements]

    def __bool__(self) -> bool:
        return bool(self.elements)

    def effort(self, q: Array) -> Array:
        """Efforts (..., n) [N m, N] with the sign of gravity: the motors must hold them."""
        tau = np.zeros(q.shape[:-1] + (self._n,))
        if q.ndim == 1:  # fast path for one state, as in control loops
            for element, j in zip(self.elements, self._joints, strict=True):
                unit = cable_effort(element, float(q[j])) if isinstance(element, CableTorque) else None
                tau[j] += element.amplitude * (_unit_effort(element, q[j]) if unit is None else unit)
            return tau
        for element, j in zip(self.elements, self._joints, strict=True):
            tau[..., j] += element.amplitude * _unit_effort(element, q[..., j])
        return tau

    def energy(self, q: Array) -> Array:
        """Energy (...) [J]; that of a cable is zero at q = 0."""
        total = np.zeros(q.shape[:-1])
        for element, j in zip(self.elements, self._joints, strict=True):
            total = total + element.amplitude * _unit_energy(element, q[..., j])
        return total

    def regressor(self, q: Array) -> Array:
        """Columns (..., n, k), one per element: effort per amplitude."""
        return self._columns(q, _unit_effort)

    def slopes(self, q: Array) -> Array:
        """Derivatives (..., n, k) of the columns of `regressor` by the joint of each; exact, by complex steps."""
        return self._columns(q, lambda element, x: _unit_effort(element, x + 1e-100j).imag / 1e-100)

    def _columns(self, q: Array, value: Callable[[Elastic, Array], Array]) -> Array:
        Y = np.zeros(q.shape[:-1] + (self._n, len(self.elements)))
        for k, (element, j) in enumerate(zip(self.elements, self._joints, strict=True)):
            Y[..., j, k] = value(element, q[..., j])
        return Y


def _unit_effort(element: Elastic, q: Array) -> Array:
    if isinstance(element, CableTorque):
        return np.polyval(element.coefficients, np.clip(q, element.lower, element.upper))
    theta, length = _lever(element, q)
    return -(length - element.rest) * element.r * element.h * np.sin(theta) / length


def cable_effort(cable: CableTorque, q: float) -> float:
    """Effort per amplitude at one position [rad], without NumPy's overhead on one number."""
    effort: float = _cable_torque(len(cable.coefficients))(q, cable.lower, cable.upper, *cable.coefficients)
    return effort


@cache
def _cable_torque(terms: int) -> Callable[..., Any]:
    return on_numbers(ScalarLaw(cable_torque, vectors={"coefficients": terms}))


def _unit_energy(element: Elastic, q: Array) -> Array:
    if isinstance(element, CableTorque):
        inside = np.clip(q, element.lower, element.upper)
        return np.polyval(np.polyint(element.coefficients), inside) + _unit_effort(element, q) * (q - inside)
    return 0.5 * (_lever(element, q)[1] - element.rest) ** 2


def _lever(spring: LeverSpring, q: Array) -> tuple[Array, Array]:
    theta = np.pi + spring.offset - q
    return theta, np.sqrt(spring.r**2 + spring.h**2 - 2 * spring.r * spring.h * np.cos(theta))
