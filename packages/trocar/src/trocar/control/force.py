"""Control of the tip in contact: impedance, and hybrid force/position control."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.control.cartesian import HOLD, TipController
from trocar.control.controller import State
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
        rows = max((3, *np.shape(checks.real_array("stiffness", stiffness))[-1:]))
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
    K = checks.real_array(name, values).copy()
    if K.ndim < 2 and K.shape in ((), (rows,)):
        K = np.diag(np.broadcast_to(K, rows))
    if K.shape != (rows, rows) or rows not in (3, 6):
        raise TrocarError(
            f"{name} must be one number, (3,) or (3, 3) for the position, (6,) or (6, 6) for the pose, like the "
            f"stiffness; got shape {np.shape(values)}"
        )
    if not (np.isfinite(K).all() and np.allclose(K, K.T) and np.linalg.eigvalsh(K)[0] >= -1e-9 * np.abs(K).max()):
        raise TrocarError(f"{name} must be finite, symmetric and not negative, got {K.tolist()}")
    K.setflags(write=False)
    return K


# defaults of the force axes: force-error feedback in addition to the feed-forward [1], its integral [1/s], damping
FEEDBACK, INTEGRAL, FORCE_KD = 1.5, 60.0, 110.0
POSITION_KD = 60.0  # [1/s]


class HybridForcePosition(TipController):
    """Force along the selected base axes, position along the others, by the first three joints.

    The measured wrench is cancelled and the tip's motion linearised. Then, with F the force of the tip on the
    environment and v its velocity,

        position axes:  a = a_ref + kd (v_ref - v) + kp (p_ref - p)
        force axes:     a = kf (F_ref - F) + ki int(F_ref - F) - kd v

    With m the inertia of the tip along the force axes, kf = (1 + g) / m feeds the force forward and feeds its error
    back with gain g; ki = G / m. On a surface of stiffness k and damping d

        m F'' + (m kd + d) F' + (1 + g) k F + G k int F = ...

    which is stable for every k if G < (1 + g) kd: no gain depends on the surface. The defaults satisfy this,
    g = 1.5 and G = 60 /s, with m from the model at every call; kd is 110 /s on force axes and 60 /s on the others. On a
    surface of 5 N/mm or more the PSM settles within 0.2 s; on a soft one, 0.5 N/mm, it overshoots by half and takes
    1.5 s. On a hard one the sensor's bandwidth is the limit (`ForceSensor`, 50 Hz). In free space the tip approaches at
    kf F_ref / kd and faster by ki.

    Args:
        mechanism: the controller's model, which may differ from the simulated one.
        force_axes: (3,) of bool: x, y, z of the base.
        force: F_ref (3,) [N], force of the tip on the environment; used on the force axes only.
        wrench: measures force (3,) or force and moment (6,) of the environment on the tip [N, N m], base axes: -F.
        kp: [1/s^2], kd: [1/s], kf: [1/kg], ki: [1/(kg s)]. Default: the gains above; if only kf is given, ki is 0 and
            kd is 60 /s.
        friction: add the model's friction and offset, at the commanded joint rates.
        hold: [rad/s], for the joints outside the task. period: [s]. Default: every step.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        force_axes: ArrayLike,
        force: ArrayLike,
        wrench: Wrench,
        kp: ArrayLike = 800.0,
        kd: ArrayLike | None = None,
        kf: float | None = None,
        ki: float | None = None,
        *,
        friction: bool = False,
        hold: float = HOLD,
        period: float | None = None,
    ) -> None:
        super().__init__(mechanism, 3, hold, period)
        axes = np.array(force_axes)
        if axes.shape != (3,) or axes.dtype != bool:
            raise TrocarError(f"force_axes must be three booleans, for x, y, z of the base, got {force_axes!r}")
        if not axes.any():
            raise TrocarError("force_axes selects no axis; for position alone use CartesianFeedbackLinearisation")
        self.force_axes, self.force = axes, checks.three_numbers("force", force, "[N]").copy()
        if kf is None and ki is not None:
            raise TrocarError("ki requires kf: give both, or neither for the default gains")
        damping = np.where(axes & (kf is None), FORCE_KD, POSITION_KD) if kd is None else kd
        self.kp, self.kd = checks.gains("kp", kp, 3), checks.gains("kd", damping, 3)
        self.kf = None if kf is None else float(checks.gains("kf", kf, 1))
        self.ki = None if kf is None else float(checks.gains("ki", 0.0 if ki is None else ki, 1))
        self.friction, self._wrench = friction, wrench
        self.reset()

    def reset(self) -> None:
        super().reset()
        self._integral, self._time = np.zeros(3), np.nan  # integral of the force error [N s]; time of the last call [s]

    def __call__(self, state: State, setpoint: TipMotion) -> Array:
        tip = self._task.tip(state, setpoint)
        load = measured(self._wrench)
        short = self.force + load[:3]
        if not np.isnan(self._time):
            self._integral += short * (state.t - self._time)
        self._time = state.t
        v = setpoint.twist[:3] - tip.de
        move = setpoint.acceleration[:3] + self.kd * tip.de + self.kp * tip.e
        push = self._push(state, tip.J, short) - self.kd * v
        along = np.where(self.force_axes, 0.0, setpoint.twist[:3])
        return self._effort(
            state, tip.J, np.where(self.force_axes, push, move), load, friction_at=along if self.friction else None
        )

    def _push(self, state: State, J: Array, short: Array) -> Array:
        """Acceleration (3,) on the force axes for a force error `short` (3,) [N]."""
        if self.kf is not None and self.ki is not None:
            return self.kf * short + self.ki * self._integral
        axes, a = self.force_axes, np.zeros(3)
        m = self._task.inertia(state, J)[np.ix_(axes, axes)]
        a[axes] = np.linalg.solve(m, ((1.0 + FEEDBACK) * short + INTEGRAL * self._integral)[axes])
        return a
