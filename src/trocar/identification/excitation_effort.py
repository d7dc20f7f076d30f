"""Efforts of the motors along a motion, by the arm's own model, with derivatives: what a search keeps within limits."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from trocar.identification.excitation_criterion import SOFT_SIGN
from trocar.mechanics import Mechanism
from trocar.spatial import Array


class MotorEfforts:
    """What each motor gives along a motion, weight, inertia and friction: C' tau of the arm's parameters [N m, N].

    Friction with memory counts in steady sliding. The rotors, springs and friction by load are in it.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self._coupling = mechanism.arm.motors.coupling
        drives = mechanism.drives
        self._width = SOFT_SIGN * np.abs(drives.A) @ [joint.velocity for joint in mechanism.arm.joints]

    def __call__(self, q: Array, dq: Array, ddq: Array) -> Array:
        """(N, n) of states (N, n), Coulomb friction with its sign."""
        return self.mechanism.inverse_dynamics(q, dq, ddq, friction=True) @ self._coupling

    def with_derivatives(self, q: Array, dq: Array, ddq: Array) -> tuple[Array, Array]:
        """(N, n) with Coulomb friction that turns round smoothly, and derivatives (3, N, n, n) by q, dq and ddq.

        Exact: Pinocchio's derivatives of the recursions, those of drives and springs by hand.
        """
        drives, A = self.mechanism.drives, self.mechanism.drives.A
        rigid, stiffness, gravity, weight = self._rigid(q, dq, ddq)
        s, ds = q @ A.T, dq @ A.T
        sign = np.tanh(ds / self._width)
        slope = drives.Fx + drives.S @ drives.slope
        coulomb = drives.Fc + drives.S @ drives.F + slope * s
        by_load = np.zeros((*q.shape, q.shape[1]))
        if drives.loaded:
            load = gravity @ drives.L.T
            coulomb = coulomb + drives.mu * np.abs(load)
            by_load = np.einsum("im,nm,mk,nkj->nij", A.T, drives.mu * np.sign(load) * sign, drives.L, weight)
        tau = self.mechanism.inverse_dynamics(q, dq, ddq) + (drives.Fv * ds + coulomb * sign + drives.Fo) @ A

        def along(x: Array) -> Array:
            """A' diag(x) A of (N, m) slopes by the drives' coordinates."""
            return np.einsum("mi,nm,mj->nij", A, x, A)

        rigid[0] += stiffness + along(slope * sign) + by_load
        rigid[1] += along(drives.Fv + coulomb * (1.0 - sign**2) / self._width)
        rigid[2] += drives.M
        return tau @ self._coupling, np.einsum("ki,dnkj->dnij", self._coupling, rigid)

    def _rigid(self, q: Array, dq: Array, ddq: Array) -> tuple[Array, Array, Array, Array]:
        """Derivatives (3, N, n, n) of the links' efforts; stiffness of springs; gravity, springs in it, and its slope.

        Gravity is left at zero where friction does not depend on it.
        """
        tree, n = self.mechanism._pinocchio, q.shape[1]
        model, data, E = tree.model, tree.data, tree._E
        drives, elastics = self.mechanism.drives, self.mechanism.elastics
        bent = 2.0 * drives.K2 * (q @ drives.A.T)
        stiffness = drives.stiffness + np.einsum("mi,nm,mj->nij", drives.A, bent, drives.A)
        amplitudes = np.array([element.amplitude for element in elastics.elements])
        stiffness[:, np.arange(n), np.arange(n)] += elastics.slopes(q) @ amplitudes
        found, weight = np.empty((3, *q.shape, n)), np.zeros((*q.shape, n))
        for k, (a, b, c) in enumerate(zip(q @ E.T, dq @ E.T, ddq @ E.T, strict=True)):
            by_q, by_dq, M = pin.computeRNEADerivatives(model, data, a, b, c)
            found[:, k] = [E.T @ part @ E for part in (by_q, by_dq, _symmetric(M))]
            if drives.loaded:
                weight[k] = E.T @ pin.computeGeneralizedGravityDerivatives(model, data, a) @ E
        gravity = self.mechanism.gravity(q) if drives.loaded else np.zeros_like(q)
        return found, stiffness, gravity, weight + stiffness


def _symmetric(M: Array) -> Array:
    """Of an upper triangle: all that Pinocchio fills."""
    upper = np.triu(M)
    return upper + np.triu(upper, 1).T
