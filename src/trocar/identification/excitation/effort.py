"""Motor efforts along a motion by the arm's model, with derivatives; an excitation keeps them within limits."""

from __future__ import annotations

import numpy as np

from trocar.identification.excitation.criterion import SOFT_SIGN
from trocar.mechanics import Mechanism
from trocar.spatial import Array


class MotorEfforts:
    """Effort of each motor along a motion, from weight, inertia and friction: C' tau of the arm's parameters [N m, N].

    Includes rotors, springs and load-dependent friction. Dahl friction has its steady-sliding value.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self._coupling = mechanism.arm.motors.coupling
        drives = mechanism.drives
        self._width = SOFT_SIGN * np.abs(drives.A) @ [joint.velocity for joint in mechanism.arm.joints]

    def __call__(self, q: Array, dq: Array, ddq: Array) -> Array:
        """Motor efforts (N, n) of states (N, n), with the exact sign of Coulomb friction."""
        return self.mechanism.inverse_dynamics(q, dq, ddq, friction=True) @ self._coupling

    def with_derivatives(self, q: Array, dq: Array, ddq: Array) -> tuple[Array, Array]:
        """Motor efforts (N, n) with smoothed Coulomb friction, and derivatives (3, N, n, n) by q, dq and ddq.

        The derivatives are exact: those of the mechanism, and analytic ones of friction.
        """
        mechanism, drives, A = self.mechanism, self.mechanism.drives, self.mechanism.drives.A
        s, ds = q @ A.T, dq @ A.T
        sign = np.tanh(ds / self._width)
        slope = drives.Fx + drives.S @ drives.slope
        coulomb = drives.Fc + drives.S @ drives.F + slope * s
        D = mechanism.inverse_dynamics_derivatives(q, dq, ddq)
        if drives.loaded:
            load, rest = mechanism.gravity(q) @ drives.L.T, np.zeros_like(q)
            coulomb = coulomb + drives.mu * np.abs(load)
            weight = mechanism.inverse_dynamics_derivatives(q, rest, rest)[0]
            D[0] += np.einsum("im,nm,mk,nkj->nij", A.T, drives.mu * np.sign(load) * sign, drives.L, weight)
        tau = mechanism.inverse_dynamics(q, dq, ddq) + (drives.Fv * ds + coulomb * sign) @ A

        def along(x: Array) -> Array:
            """A' diag(x) A of (N, m) slopes by the drives' coordinates."""
            return np.einsum("mi,nm,mj->nij", A, x, A)

        D[0] += along(slope * sign)
        D[1] += along(drives.Fv + coulomb * (1.0 - sign**2) / self._width)
        return tau @ self._coupling, np.einsum("ki,dnkj->dnij", self._coupling, D)
