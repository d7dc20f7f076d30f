"""Impedance control: the tip behaves like a spring and a damper."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from trocar.control.controller import State
from trocar.control.tip_task import HOLD, TipController
from trocar.control.trajectories.paths import TipMotion
from trocar.errors import TrocarError
from trocar.mechanics import Mechanism
from trocar.spatial import Array

Wrench = Callable[[], ArrayLike]  # of the environment on the tip: force (3,) [N], or with moment (6,) [N m], base axes


class CartesianImpedance(TipController):
    """tau = J' (K e + D e') + c + g: the tip deflects by K^-1 F under a force F, with the arm's natural inertia.

    With an `inertia` B and the measured wrench F on the tip, it also has that apparent mass, along a moving reference
    too: B (a_ref - a) + D e' + K e + F = 0.

    e is the position error and, for pose tasks, twice the vector part of the error quaternion, in base axes. The first
    three joints produce the force of a position task; the other joints are held as in
    `CartesianFeedbackLinearisation`. Friction and offsets of the drives are not compensated and add to the deflection.

    Args:
        mechanism: the controller's model, which may differ from the simulated one.
        stiffness, damping: K [N/m, N m/rad], D [N s/m, N m s/rad]: one number or (3,) or (3, 3) for the position,
            (6,) or (6, 6) for the pose; both of the same kind.
        inertia: B [kg, kg m^2], of the same shape and positive; it needs `wrench`.
        wrench: measures force (3,) or force and moment (6,) of the environment on the tip [N, N m], base axes.
        hold: [rad/s]. period: [s]. Default: every step.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        stiffness: ArrayLike,
        damping: ArrayLike,
        inertia: ArrayLike | None = None,
        *,
        wrench: Wrench | None = None,
        hold: float = HOLD,
        period: float | None = None,
    ) -> None:
        rows = max(3, np.shape(stiffness)[-1] if np.ndim(stiffness) else 3)
        self.stiffness, self.damping = _matrix(stiffness, "stiffness", rows), _matrix(damping, "damping", rows)
        self.inertia = None if inertia is None else _matrix(inertia, "inertia", rows)
        if self.inertia is not None:
            if wrench is None:
                raise TrocarError("an inertia other than the arm's own needs the measured wrench: wrench=...")
            if np.linalg.eigvalsh(self.inertia)[0] <= 0:
                raise TrocarError(f"inertia must be positive, got {self.inertia.tolist()}")
        elif wrench is not None:
            raise TrocarError("without an inertia the wrench is not used; omit it")
        super().__init__(mechanism, rows, hold, period)
        self._wrench = wrench

    def __call__(self, state: State, setpoint: TipMotion) -> Array:
        task = self._task
        tip = task.tip(state, setpoint)
        force = self.stiffness @ tip.e + self.damping @ tip.de
        if self.inertia is None or self._wrench is None:
            m = task.columns
            M, c, g = task.mechanism.terms(state.q, state.dq)
            tau = c + g
            tau[:m] += tip.J[:, :m].T @ force
            # hold the wrist by its own inertia only, so that the reaction does not load the joints of the spring
            tau[m:] += M[m:, m:] @ task.held(state)[m:]
            return tau
        load = measured(self._wrench)
        a = setpoint.acceleration[: task.rows] + np.linalg.solve(self.inertia, force + load[: task.rows])
        return self._effort(state, tip.J, a, load)


def measured(wrench: Wrench) -> Array:
    """Force and moment (6,) [N, N m] of a sensor; a missing moment is 0."""
    load = np.asarray(wrench(), dtype=float)
    if load.shape not in ((3,), (6,)) or not np.isfinite(load).all():
        raise TrocarError(f"the measured wrench must be 3 or 6 finite numbers [N, N m], got {load!r}")
    return load if load.size == 6 else np.concatenate([load, np.zeros(3)])


def _matrix(values: ArrayLike, name: str, rows: int) -> Array:
    """A number, a diagonal or a symmetric matrix as a read-only matrix (rows, rows), not negative."""
    K = np.array(values, dtype=float)
    if K.ndim < 2 and K.shape in ((), (rows,)):
        K = np.diag(np.broadcast_to(K, rows))
    if K.shape != (rows, rows) or rows not in (3, 6):
        raise TrocarError(
            f"{name} must be one number, (3,) or (3, 3) for the position, (6,) or (6, 6) for the pose, like the "
            f"stiffness; got shape {np.shape(values)}"
        )
    if not (np.isfinite(K).all() and np.allclose(K, K.T) and np.linalg.eigvalsh(K)[0] >= -1e-9 * np.abs(K).max()):
        raise TrocarError(f"{name} must be finite, symmetric and not negative, got {K.tolist()}")
    K = np.array(K)
    K.setflags(write=False)
    return K
