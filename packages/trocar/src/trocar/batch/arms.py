"""Many arms of one kind, stepped together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy import ndarray

from trocar import checks
from trocar.arms.wrist_cables import CABLE_JOINTS, WristCables
from trocar.batch.backend import Backend
from trocar.batch.contact import TipSurface
from trocar.batch.control import BatchControl, BatchJointPID
from trocar.batch.equations.programs import MAX_RATE, query_program, step_program
from trocar.batch.gradients import RolloutGradients
from trocar.batch.parameters import BatchParameters
from trocar.batch.state import REMEDY, BatchLog, BatchState, NotFinite, Values
from trocar.batch.stepper import Stepper, check_sizes, held_inputs, inputs_over_time
from trocar.errors import TrocarError, check_known, shown
from trocar.files import check_memory
from trocar.mechanics import Mechanism
from trocar.spatial import Array

NO_EFFORT = "tau must be an array of efforts [N m, N], got None; pass zeros to apply none"
Effort = Values | BatchControl | Callable[[BatchState, float], Values]


@dataclass(eq=False, repr=False)
class BatchArms:
    """Arms of one kind with the same equations; parameters may differ between them. See `trocar.batch.load`.

    Arrays have joints first and the batch last: (n,) for one arm, (n, N) for N arms.

    Attributes:
        mechanism: source of the generated equations. parameters: by name, see `with_parameters`.
        n: number of joints. limits: joints stop at their limits. motor_limits: efforts are clipped to the motors'
            limits.
        surfaces: surfaces that the tips can touch. wrist: cables of the wrist, and whether they have friction, or None.
        surface_values: values () or (N,) of the surfaces, by the names of the generated inputs.
    """

    mechanism: Mechanism
    backend: Backend
    parameters: BatchParameters
    limits: bool
    surfaces: Sequence[TipSurface] = ()
    motor_limits: bool = False
    wrist: tuple[WristCables, bool] | None = None

    def __post_init__(self) -> None:
        self.n = self.mechanism.n
        self.surface_values = {name: x for k, s in enumerate(self.surfaces) for name, x in s.entries(k).items()}
        self._steppers: dict[tuple[str, int], Stepper] = {}
        self._queries: dict[str, Values] = {}
        self._gradients: dict[tuple[Any, ...], RolloutGradients] = {}
        first = 0 if self.wrist is None else self.mechanism.arm.joint_names.index(CABLE_JOINTS[0])
        self._wrist_rows = slice(first, first + len(CABLE_JOINTS))
        self._one: tuple[Any, Any, Any] = (None, None, None)  # layout, time step and function of single steps

    # -- states ------------------------------------------------------------------------------------------------------

    def state(self, q: Values, dq: Values | None = None) -> BatchState:
        """A state of arms at rest, or moving with dq, with relaxed friction memory and cables.

        Args:
            q, dq: (n,) for one arm or (n, N) [rad, m; rad/s, m/s]. The stops move a joint beyond its limit back.
        """
        np_ = self.backend.arrays
        q = self._checked(q, "q")
        dq = np_.zeros_like(q) if dq is None else self._checked(dq, "dq")
        if q.shape != dq.shape:
            raise TrocarError(f"q and dq must have the same shape, got {q.shape} and {dq.shape}")
        check_sizes(self.parameters.batch, q.shape[1:])
        layout = self._stepper("effort").layout
        memory = np_.zeros((layout.rows - 2 * self.n - layout.wrist, *q.shape[1:]), dtype=q.dtype)
        if self.wrist is not None:
            joints = q[self._wrist_rows]
            motors = np_.asarray(np.linalg.inv(self.wrist[0].coupling), dtype=q.dtype) @ joints
            memory = np_.concatenate([memory, motors, joints])
        return BatchState(self.backend.placed(np_.concatenate([q, dq, memory])), layout)

    def reset(self, state: BatchState, mask: Values, q: Values, dq: Values | None = None) -> BatchState:
        """The state with the arms in `mask` (N,) reset to q (n,) or (n, N), at rest or with dq, and relaxed."""
        self._check_layout(state)
        np_ = self.backend.arrays
        try:
            mask = np_.asarray(mask)
        except (TypeError, ValueError):
            raise TrocarError(f"mask must be boolean of shape {state.batch}, got {shown(mask)}") from None
        if mask.shape != state.batch or mask.dtype != bool:
            raise TrocarError(f"mask must be boolean of shape {state.batch}, got {mask.dtype} of shape {mask.shape}")
        shape = (self.n, *state.batch)
        states = [None if x is None else held_inputs(self.backend, (x,), self.n, state.batch) for x in (q, dq)]
        new = self.state(*(x if x is None or x.shape == shape else np_.broadcast_to(x[:, None], shape) for x in states))
        integral = None if state.integral is None else np_.where(mask, 0.0, state.integral)
        return BatchState(self.backend.placed(np_.where(mask, new.rows, state.rows)), state.layout, integral)

    def measured_q(self, state: BatchState) -> Values:
        """Positions (n,) or (n, N) at the encoders: those of the motors, where cables move the wrist [rad, m]."""
        self._check_layout(state)
        return state.q if self.wrist is None else state.rows[self.measured_rows]

    @property
    def measured_rows(self) -> Array:
        """Rows (n,) of a state that the encoders read."""
        rows = np.arange(self.n)
        if self.wrist is not None:
            rows[self._wrist_rows] = self._stepper("effort").layout.part("wrist").start + np.arange(3)
        return rows

    # -- motion ------------------------------------------------------------------------------------------------------

    def step(self, state: BatchState, tau: Values, dt: float) -> BatchState:
        """The state after one step of length dt [s] under efforts tau (n,) or (n, N) [N m, N].

        Raises `NotFinite` if an arm diverges: a state is not finite or far beyond the arm's.
        """
        layout, last_dt, one = self._one
        if not isinstance(state, BatchState):
            raise _no_state(state)
        # A step of one arm in C takes a fifth of a microsecond: this is the fastest way to call it.
        if state.layout is layout and isinstance(dt, float) and dt == last_dt:
            if type(tau) is not ndarray or tau.dtype.kind != "f":
                tau = self.backend.array(tau)
            rows = state.rows
            if rows.ndim == 1 and tau.shape == one.shape:
                new = one(rows, tau)
                if new is None:
                    self._check_finite(state, 0, 1)
                return BatchState(new, layout, state.integral)
        self._check_layout(state)
        if tau is None:
            raise TrocarError(NO_EFFORT)
        stepper = self._stepper("effort")
        fixed = stepper.prepared(dt, state.batch)
        if not state.batch and (one := stepper.kernel.one(fixed)) is not None:
            self._one = state.layout, dt, one
        inputs = held_inputs(self.backend, (tau,), self.n, state.batch)
        new, _, bad = stepper.kernel.run(state.rows, fixed, inputs, 1, True)
        self._check_finite(state, bad, 1)
        return BatchState(new, state.layout, state.integral)

    def in_place(self, state: BatchState, dt: float) -> Values:
        """A callable that steps one arm of the C backend in place: the fastest way from Python.

        `rows` of the result is its state; `inputs` (2 n,) its efforts, then those of wrenches on its links; both are
        writable. A call returns -1, or 0 if the state is no longer finite.
        """
        self._check_layout(state)
        stepper, in_place = self._stepper("external_effort"), None
        if not state.batch:
            in_place = stepper.kernel.in_place(state.rows, stepper.prepared(dt, ()))
        if in_place is None:
            raise TrocarError("in_place() supports one arm of the C backend only; use step() or rollout()")
        return in_place

    def rollout(
        self,
        state: BatchState,
        tau: Effort,
        dt: float,
        steps: int | None = None,
        *,
        every: int = 1,
        log: bool = True,
        t0: float = 0.0,
    ) -> tuple[BatchState, BatchLog | None]:
        """Take many steps and record them.

        Args:
            tau: efforts (T, n) for all arms or (T, n, N); with `steps`, also (n,) or (n, N), held; or a controller
                `JointPD`, `JointPID` or `ComputedTorque` with references in these shapes, which runs in the generated
                code; or a function of (state, t) that returns efforts (n,) or (n, N) and is called at every step.
            dt: time step [s]. steps: number of steps. Default: that of the efforts or references.
            every: steps between samples. log: False records nothing. t0: time of the first step [s].
        """
        every, log = checks.count("every", every), checks.flag("log", log)
        if not self.backend.traced(t0):
            t0 = checks.number("t0", t0, unit="s")
        self._check_layout(state)
        if tau is None:
            raise TrocarError(NO_EFFORT)
        if callable(tau) and hasattr(tau, "period"):  # a Controller of trocar.control
            raise TrocarError(
                f"a rollout takes batch.JointPD, batch.JointPID, batch.ComputedTorque or a function of (state, t); "
                f"{type(tau).__name__} of trocar.control controls one simulated arm only"
            )
        if callable(tau):
            return self._stepwise(state, tau, dt, steps, every if log else 0, t0)
        if isinstance(tau, BatchControl):
            references = tau.references
            stepper, gains = self._stepper(tau.law, len(references)), self._gains(tau)
        else:
            references, stepper, gains = (tau,), self._stepper("effort"), None
        fixed = stepper.prepared(dt, state.batch, gains)
        if steps is None:
            inputs = inputs_over_time(self.backend, references, self.n, state.batch)
            count = inputs.shape[0]
        else:
            inputs, count = held_inputs(self.backend, references, self.n, state.batch), checks.count("steps", steps)
        if log and self.backend.in_host_memory:  # elsewhere the allocation itself reports
            self._check_memory(state, -(-count // every) * 4 * self.n, f"a log of {count} steps")
        rows, integral = state.rows, state.integral
        if stepper.layout.control:
            if integral is None:
                integral = self.backend.zeros(state.q.shape)
            rows = self.backend.joined([rows, integral])
        new, samples, bad = stepper.kernel.run(rows, fixed, inputs, count, steps is not None, every if log else 0)
        self._check_finite(state, bad, count)
        if stepper.layout.control:
            new, integral = new[: state.layout.rows], new[state.layout.rows :]
        return BatchState(new, state.layout, integral), self._log(samples, dt, every, t0)

    def gradients(
        self,
        state: BatchState,
        tau: Values,
        dt: float,
        by_q: Values,
        by_dq: Values | None = None,
        parameters: Sequence[str] = (),
    ) -> tuple[Values, ...]:
        """Gradients of a loss over a rollout by first state, efforts and parameters. (In JAX, use `jax.grad`.)

        Args:
            state, tau, dt: arguments of the rollout, tau (T, n) or (T, n, N).
            by_q, by_dq: gradient of the loss with respect to positions and velocities (T + 1, n) or (T + 1, n, N) at
                the start of every step and at the end; or (n,) or (n, N), at the end alone; by_dq: default zero.
            parameters: names of parameters, see `with_parameters`.

        Returns:
            Gradients with respect to q and dq, (n,) or (n, N), and tau, (T, n) or (T, n, N). With `parameters`, also
            a dictionary of gradients, each with the parameter's shape and summed over the arms that share it.
        """
        if instead := self.backend.own_gradients:
            raise TrocarError(f"gradients() supports the C and CUDA backends; with {self.backend.name} use {instead}")
        if not isinstance(parameters, list | tuple):
            raise TrocarError(f"parameters must be a list of names, got {shown(parameters)}")
        check_known("parameter of a batch", list(self.parameters), *parameters)
        for name in parameters:
            if not self.parameters.pattern[name].any():
                raise TrocarError(
                    f"{name} is zero for all arms and not in the generated code; set it with with_parameters() first"
                )
        self._check_layout(state)
        n, stepper = self.n, self._stepper("effort")
        inputs = inputs_over_time(self.backend, (tau,), n, state.batch)
        steps, end = len(inputs), (n, *state.batch)
        by_state = [None if x is None else self.backend.array(x) for x in (by_q, by_dq)]
        for name, x in zip(("by_q", "by_dq"), by_state, strict=True):
            if x is not None and x.shape not in (end, (steps + 1, *end)):
                raise TrocarError(
                    f"{name} must have shape {(steps + 1, *end)}, one more than the efforts, or {end}, got {x.shape}"
                )
        if self.backend.in_host_memory:
            self._check_memory(state, (steps + 1) * 2 * stepper.layout.rows, f"the gradient of {steps} steps")
        last = [self.backend.zeros(end) if x is None else x if x.shape == end else x[-1] for x in by_state]
        last.append(self.backend.zeros((stepper.layout.rows - 2 * n, *state.batch)))
        own = [k for k, x in enumerate(by_state) if x is not None and x.shape != end]
        key = tuple(own), tuple(sorted(parameters))
        if key not in self._gradients:
            rows = [k * n + j for k in own for j in range(n)]
            self._gradients[key] = RolloutGradients(stepper.program, self.backend, rows, parameters)
        fixed, code = stepper.prepared(dt, state.batch), self._gradients[key]
        first, by_tau, by_fixed, bad = code.run(
            state.rows, fixed, inputs, self.backend.joined(last), [by_state[k] for k in own]
        )
        self._check_finite(state, bad, steps)
        gradients = first[:n], first[n : 2 * n], by_tau
        if not parameters:
            return gradients
        return *gradients, code.by_parameters(parameters, self.parameters, {"dt": dt, **self.surface_values}, by_fixed)

    # -- parameters --------------------------------------------------------------------------------------------------

    def with_parameters(self, **values: Values) -> BatchArms:
        """A copy with some parameters replaced, each shaped as in `mechanism.tree` or with a trailing axis (..., N).

        mass, com, inertia, gravity; Im, Fv, Fc, K0, K, K2, Fx, mu of the drives; dahl_delta, dahl_F, dahl_slope;
        payload [kg], a point mass at payload_com (3,) [m] in the tip frame. The generated code changes only if a
        value that was zero for all arms is no longer zero.
        """
        changed = self.parameters.replaced(values, self.backend.traced)
        new = replace(self, parameters=changed)
        if all(np.array_equal(changed.pattern[name], self.parameters.pattern[name]) for name in changed):
            new._steppers = {law: replace(stepper, parameters=changed) for law, stepper in self._steppers.items()}
            new._gradients = self._gradients
        return new

    # -- queries -----------------------------------------------------------------------------------------------------

    def forward_dynamics(self, q: Values, dq: Values, tau: Values) -> Values:
        """Acceleration (n,) or (n, N) without friction [rad/s^2, m/s^2]."""
        return self._query("forward_dynamics", q, dq, tau)

    def mass_matrix(self, q: Values) -> Values:
        """Mass matrix M (n, n) or (n, n, N), including rotors."""
        M = self._query("mass_matrix", q)
        return M.reshape(self.n, self.n, *M.shape[1:])

    def bias(self, q: Values, dq: Values) -> Values:
        """Coriolis, centrifugal and potential efforts (n,) or (n, N) [N m, N]: c + g."""
        return self._query("bias", q, dq)

    def tip_pose(self, q: Values) -> Values:
        """Pose of the tip in the base frame, (4, 4) or (4, 4, N)."""
        np_ = self.backend.arrays
        T = self._query("tip_pose", q)
        zero, one = np_.zeros_like(T[:3]), np_.ones_like(T[:1])
        return np_.concatenate([T, zero, one]).reshape(4, 4, *T.shape[1:])

    def jacobian(self, q: Values) -> Values:
        """Jacobian of the tip, (6, m) or (6, m, N): twist in base axes, linear first, for the joints that move it."""
        J = self._query("jacobian", q)
        return J.reshape(6, self.mechanism.tree.tip_joints, *J.shape[1:])

    # -- internals ---------------------------------------------------------------------------------------------------

    def _stepper(self, law: str, references: int = 0) -> Stepper:
        """The compiled step of a control law that uses the first `references`."""
        if (law, references) not in self._steppers:
            tree, parameters = self.mechanism.tree, self.parameters
            program, layout = step_program(
                tree, parameters, self.limits, law, self.surfaces, references, self.motor_limits, self.wrist
            )
            kernel = self.backend.kernel(program)
            stepper = Stepper(self.mechanism, program, layout, kernel, parameters, self.surface_values)
            self._steppers[law, references] = stepper
        return self._steppers[law, references]

    def _query(self, name: str, *joint_values: Values) -> Values:
        if name not in self._queries:
            program = query_program(name, self.mechanism.tree, self.parameters)
            kernel = self.backend.kernel(program)
            values = [self.parameters.entry(node.name) for node in program.parameters]
            self._queries[name] = kernel, kernel.fixed(values)
        kernel, fixed = self._queries[name]
        np_ = self.backend.arrays
        arrays = [self._checked(x, "a joint array") for x in joint_values]
        batch = max((x.shape[1:] for x in arrays), key=len) or self.parameters.batch
        check_sizes(self.parameters.batch, batch)
        inputs = held_inputs(self.backend, arrays, self.n, batch)
        outputs = kernel.run(np_.zeros((0, *batch), dtype=inputs.dtype), fixed, inputs, 1, True, 1)[1]
        return self.backend.fetched(outputs)[0]

    def _checked(self, x: Values, name: str) -> Values:
        array = self.backend.fetched(self.backend.array(x))
        if array.ndim not in (1, 2) or array.shape[0] != self.n or 0 in array.shape:
            raise TrocarError(f"{name} must have shape ({self.n},) or ({self.n}, N), joints first; got {array.shape}")
        self.backend.check_finite(array, name)
        if not self.backend.traced(array) and (np.abs(np.asarray(array)) > MAX_RATE).any():
            raise TrocarError(f"{name} must be within {MAX_RATE:g} of zero [rad, m; per s]")
        return array

    def _check_layout(self, state: BatchState) -> None:
        if not isinstance(state, BatchState):
            raise _no_state(state)
        if state.layout != self._stepper("effort").layout:
            raise TrocarError(
                "the state belongs to arms with different friction, limits or surfaces; use state() of these arms"
            )

    def _check_finite(self, state: BatchState, bad: int, steps: int) -> None:
        """Raise an error if an arm, `bad`, has diverged after some steps; -1 for none."""
        if bad < 0:
            return
        where = f"arm {bad} of {state.batch[0]}" if state.batch else "the arm"
        within = "one step" if steps == 1 else f"{steps} steps"
        raise NotFinite(
            f"{where} has diverged after {within}: its state is not finite, or far beyond any arm's; check its state, "
            "gains and efforts, or use a shorter dt",
            bad if state.batch else None,
        )

    def _check_memory(self, state: BatchState, numbers: int, what: str) -> None:
        check_memory(numbers * (state.batch[0] if state.batch else 1) * self.backend.dtype.itemsize, what, REMEDY)

    def _stepwise(
        self,
        state: BatchState,
        tau: Callable[[BatchState, float], Values],
        dt: float,
        steps: int | None,
        every: int,
        t0: float,
    ) -> tuple[BatchState, BatchLog | None]:
        """A rollout with efforts from a function, called at every step."""
        if steps is None:
            raise TrocarError("efforts from a function require steps=, the number of steps")
        steps = checks.count("steps", steps)
        kernel, fixed = self._stepper("effort").kernel, self._stepper("effort").prepared(dt, state.batch)

        def inputs_at(rows: Values, k: Values) -> Values:
            now = BatchState(rows, state.layout, state.integral)
            return held_inputs(self.backend, (tau(now, t0 + k * dt),), self.n, state.batch)

        if kernel.run_function is not None:
            rows, log, bad = kernel.run_function(state.rows, fixed, inputs_at, steps, every)
            self._check_finite(state, bad, steps)
            return BatchState(rows, state.layout, state.integral), self._log(log, dt, every, t0)
        rows, samples = state.rows, []
        for k in range(steps):
            recorded = 1 if every and k % every == 0 else 0
            rows, sample, bad = kernel.run(rows, fixed, inputs_at(rows, k), 1, True, recorded)
            self._check_finite(state, bad, k + 1)
            if sample is not None:
                samples.append(sample)
        log = self.backend.arrays.concatenate(samples) if samples else None
        return BatchState(rows, state.layout, state.integral), self._log(log, dt, every, t0)

    def _log(self, samples: Values, dt: float, every: int, t0: float) -> BatchLog | None:
        if samples is None:
            return None
        return BatchLog(t0 + dt * every * np.arange(len(samples)), samples, self.mechanism, self.backend.name)

    def _gains(self, control: BatchControl) -> dict[str, Values]:
        """Gains (n,) or (n, N) by name."""
        published = self.mechanism.arm.gains if isinstance(control, BatchJointPID) else None
        gains: dict[str, Values] = {}
        for name, gain in control.gains.items():
            if gain is None and published is None:
                raise TrocarError(f"{self.mechanism.arm.name} has no published {name} for this controller; pass {name}")
            traced = self.backend.traced(gain)
            value = gain if traced else checks.real_array(name, getattr(published, name) if gain is None else gain)
            value = self.backend.arrays.broadcast_to(value, (self.n,)) if value.ndim == 0 else value
            fine = value.ndim <= 2 and value.shape[0] == self.n
            if not fine or not (traced or (np.isfinite(value) & (value >= 0)).all()):
                raise TrocarError(
                    f"{name} must be finite and not negative: one number, ({self.n},) or ({self.n}, N); "
                    f"got shape {value.shape}"
                )
            gains[name] = value
        return gains


def _no_state(value: object) -> TrocarError:
    return TrocarError(f"the state must be a BatchState from state(), step() or rollout(), got {shown(value)}")
