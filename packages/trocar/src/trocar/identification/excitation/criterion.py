"""Excitation of the base parameters by a motion, and the motor efforts that it needs, with derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from trocar.errors import TrocarError, check_known
from trocar.mechanics import Mechanism
from trocar.mechanics.inertia import NAMES
from trocar.mechanics.recursion import base_parameters
from trocar.spatial import Array

Objective = Literal["condition", "determinant"]
OBJECTIVES: tuple[Objective, ...] = ("condition", "determinant")

# Width of the smoothed sign of Coulomb friction in the search, relative to a drive's top speed: sign() has no gradient.
SOFT_SIGN = 0.01


class Criterion:
    """Base parameters of an arm and their excitation by motions, in motor efforts.

    Rows of the regressor are motor efforts (measured by currents); every column is divided by its range over
    the motion, as in Wang et al. 2019. Dahl friction is treated as Coulomb friction.

    Args:
        without: links excluded from the parameters.
        objective: "condition", the condition number; or "determinant", -log det of the information matrix with
            efforts relative to the motors' limits (D-optimality; needs no column scaling).

    Attributes:
        names: names of the independent parameters, one per column.
    """

    def __init__(self, mechanism: Mechanism, without: Sequence[str] = (), objective: Objective = "condition") -> None:
        check_known("objective", OBJECTIVES, objective)
        self.mechanism, self.objective = mechanism, objective
        arm = mechanism.arm
        bodies = [name.partition(".")[0] for name in mechanism.parameter_names if name.endswith(".Lxx")]
        check_known(f"link of {arm.name} with inertia", bodies, *without)
        self._coupling = arm.motors.coupling
        self._links = len(NAMES) * len(bodies)
        drives = mechanism.drives
        self._A = drives.A
        self._width = SOFT_SIGN * np.abs(drives.A) @ [joint.velocity for joint in arm.joints]
        # columns of drives: index of the drive and its term, a factor of the drive's row of A
        self._columns = [(i, term) for i, d in enumerate(drives.drives) for term in _terms(d.terms, d.hysteresis)]
        names = [f"{body}.{name}" for body in bodies for name in NAMES]
        names += [f"{drives.drives[i].name}.{term}" for i, term in self._columns]
        names += [f"{element.name}.amplitude" for element in mechanism.elastics.elements]
        included = np.array(
            [i for i, name in enumerate(names) if name.partition(".")[0] not in without or i >= self._links]
        )
        base = base_parameters(lambda *state: self._regressor(*state)[..., included], arm.lower, arm.upper)
        self._columns_used = included[base.independent]
        self.names = tuple(names[i] for i in self._columns_used)
        self._weights = 1.0 / arm.motors.effort if objective == "determinant" else np.ones(arm.n)

    def __len__(self) -> int:
        return len(self.names)

    def matrix(self, q: Array, dq: Array, ddq: Array) -> Array:
        """(N n, b): the regressor of states (N, n) in motor efforts, columns divided by their range."""
        W = self._regressor(q, dq, ddq)[..., self._columns_used].reshape(-1, len(self))
        return W / self._ranges(W)[0]

    def condition_number(self, q: Array, dq: Array, ddq: Array) -> float:
        """Ratio of the largest to the smallest singular value of `matrix`."""
        return float(np.linalg.cond(self.matrix(q, dq, ddq)))

    def unexcited(self, q: Array, dq: Array, ddq: Array, count: int = 3) -> list[str]:
        """The least excited parameters of a motion: largest entries of the last singular vector."""
        vector = np.linalg.svd(self.matrix(q, dq, ddq))[2][-1]
        return [self.names[i] for i in np.argsort(-np.abs(vector))[:count]]

    def gradient(self, q: Array, dq: Array, ddq: Array, p: float = 16.0) -> tuple[float, Array]:
        """The smooth objective of states (N, n) and its gradient (3, N, n) by q, dq and ddq, column ranges included.

        "condition": log of |W|_p |W^+|_p in Schatten norms, an upper bound of the condition number that converges
        to it with growing p. "determinant": -log det(W'W) / b.
        """
        W, backward = self._with_derivatives(q, dq, ddq)
        N, n = q.shape
        weights = np.tile(self._weights, N)[:, None]
        flat = W.reshape(N * n, len(self)) * weights
        r, top, bottom = self._ranges(flat)
        A = flat / r
        U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
        if sigma[-1] <= 0:
            raise TrocarError("the motion does not move the arm: its regressor is zero")
        if self.objective == "condition":
            log = np.log(sigma)
            large, small = np.exp(p * (log - log[0])), np.exp(-p * (log - log[-1]))
            value = log[0] - log[-1] + (np.log(large.sum()) + np.log(small.sum())) / p
            slope = (large / large.sum() - small / small.sum()) / sigma
        else:  # column ranges cancel
            b = len(self)
            value = -2.0 * (np.log(sigma).sum() + np.log(r).sum()) / b
            slope = -2.0 / (b * sigma)
        dA = (U * slope) @ Vt
        dflat = dA / r
        if self.objective == "condition":
            dr = -(dA * flat).sum(0) / r**2
            columns = np.arange(len(self))
            dflat[top, columns] += dr
            dflat[bottom, columns] -= dr
        return float(value), backward((dflat * weights).reshape(N, n, len(self)))

    def _ranges(self, W: Array) -> tuple[Array, Array, Array]:
        """Largest minus smallest entry of each column, and their rows."""
        top, bottom = W.argmax(0), W.argmin(0)
        columns = np.arange(W.shape[1])
        r = W[top, columns] - W[bottom, columns]
        flat = np.flatnonzero(r <= 0)
        if flat.size:
            raise TrocarError(f"the motion does not excite {', '.join(self.names[i] for i in flat)} at all")
        return r, top, bottom

    def _regressor(self, q: Array, dq: Array, ddq: Array) -> Array:
        """Regressor (N, n, p) of all parameters, in motor efforts, with the exact sign of Coulomb friction."""
        links = self.mechanism.regressor(q, dq, ddq)[..., : self._links]
        drives = self._drive_factors(q, dq, ddq, np.sign(dq @ self._A.T))
        Y = np.concatenate([links, drives, self.mechanism.elastics.regressor(q)], axis=-1)
        return np.einsum("ji,...jp->...ip", self._coupling, Y)

    def _drive_factors(self, q: Array, dq: Array, ddq: Array, sign: Array) -> Array:
        s, ds, dds = (x @ self._A.T for x in (q, dq, ddq))
        one = np.ones_like(s)
        factor = {"Im": dds, "Fv": ds, "Fc": sign, "Fo": one, "K0": one, "K": s, "K2": s**2, "Fx": s * sign}
        return np.stack([factor[term][..., i, None] * self._A[i] for i, term in self._columns], axis=-1)

    def _with_derivatives(self, q: Array, dq: Array, ddq: Array) -> tuple[Array, Callable[[Array], Array]]:
        """The regressor W of the chosen columns with smooth Coulomb friction, and the gradient (3, N, n) of a dW."""
        links, D = self.mechanism.link_regressor_derivatives(q, dq, ddq)
        s, ds, _ = (x @ self._A.T for x in (q, dq, ddq))
        sign = np.tanh(ds / self._width)
        drives = self._drive_factors(q, dq, ddq, sign)
        elastics = self.mechanism.elastics.regressor(q)
        Y = np.concatenate([links, drives, elastics], axis=-1)
        W = np.einsum("ji,njp->nip", self._coupling, Y[..., self._columns_used])
        by_speed = (1.0 - sign**2) / self._width
        # derivatives of the drive factors by s, s' and s'' (0, 1, 2) that are not zero
        one = np.ones_like(s)
        slopes: dict[str, dict[int, Array]] = {
            "Im": {2: one},
            "Fv": {1: one},
            "Fc": {1: by_speed},
            "K": {0: one},
            "K2": {0: 2.0 * s},
            "Fx": {0: sign, 1: s * by_speed},
        }

        def backward(dW: Array) -> Array:
            dY = np.zeros(Y.shape)
            dY[..., self._columns_used] = np.einsum("ij,njp->nip", self._coupling, dW)
            gradient = np.einsum("nip,knipj->knj", dY[..., : self._links], D)
            for k, (i, term) in enumerate(self._columns):
                along = dY[..., self._links + k] @ self._A[i]
                for part, slope in slopes.get(term, {}).items():
                    gradient[part] += (along * slope[:, i])[:, None] * self._A[i]
            gradient[0] += np.einsum(
                "nik,nik->ni", dY[..., self._links + len(self._columns) :], self.mechanism.elastics.slopes(q)
            )
            return gradient

        return W, backward


def _terms(terms: Sequence[str], hysteresis: Sequence[object]) -> tuple[str, ...]:
    """Terms with a column here: Dahl friction as Coulomb friction; load-dependent friction is excluded."""
    columns = [term for term in terms if term != "mu"]
    return (*columns, "Fc") if hysteresis and "Fc" not in columns else tuple(columns)


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
