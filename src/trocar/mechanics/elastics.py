"""Efforts and energy of the elastic elements of an arm."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from trocar.arms import Arm
from trocar.arms.elastics import CableTorque, Elastic, LeverSpring
from trocar.errors import check_known
from trocar.spatial import Array


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
    """Effort per amplitude at one position [rad]: `np.polyval` without its overhead on one number."""
    x, total = min(max(q, cable.lower), cable.upper), 0.0
    for c in cable.coefficients:
        total = total * x + c
    return total


def _unit_energy(element: Elastic, q: Array) -> Array:
    if isinstance(element, CableTorque):
        inside = np.clip(q, element.lower, element.upper)
        return np.polyval(np.polyint(element.coefficients), inside) + _unit_effort(element, q) * (q - inside)
    return 0.5 * (_lever(element, q)[1] - element.rest) ** 2


def _lever(spring: LeverSpring, q: Array) -> tuple[Array, Array]:
    theta = np.pi + spring.offset - q
    return theta, np.sqrt(spring.r**2 + spring.h**2 - 2 * spring.r * spring.h * np.cos(theta))
