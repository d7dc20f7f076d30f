"""`simulate`: run a simulator or a scene under controllers and return recordings."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import version
from io import BytesIO
from typing import Any, Protocol, overload, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.arms import Arm
from trocar.arms.arm import LIMIT_TOLERANCE
from trocar.control import Reference, Setpoint, State, TipMotion, hold
from trocar.errors import TrocarError, check_known, check_type
from trocar.files import check_memory
from trocar.recording import Recording
from trocar.simulation.engine import Engine
from trocar.simulation.scene import Scene
from trocar.simulation.simulated_arm import SimulatedArm
from trocar.simulation.simulator import Simulator
from trocar.simulation.stepped_arm import SteppedArm
from trocar.spatial import Array

REPORTS = 100  # calls of `progress` in a run
EFFORT_UNIT = "N m or N"  # of a channel of joint efforts
CHANNELS: dict[str, Callable[[SimulatedArm], float | Array]] = {
    "tip": lambda sim: sim.tip_pose()[:3, 3],
    "rcm_error": lambda sim: sim.rcm_error(),
    "loop_error": lambda sim: sim.loop_error(),
}


@runtime_checkable
class OneArm(Protocol):
    """A simulator of one arm in another engine, such as `trocar.batch.ReducedSimulator`.

    It has the members of a `SimulatedArm`, its `SteppedArm` and its `Engine` that `simulate` uses.
    """

    arm: Any
    parameters: Any
    options: Any
    mechanism: Any
    time: float
    faults: Any

    def measured(self) -> tuple[Array, Array]: ...
    def command(self, tau: ArrayLike) -> None: ...
    def row(self) -> tuple[Any, Any]: ...
    def joint_efforts(self, rows: Array) -> Array: ...
    def joint_accelerations(self, rows: Array) -> Array: ...
    def advance(self) -> None: ...


AnyController = Callable[[State, Any], ArrayLike]
AnyReference = Reference | Callable[[float], TipMotion]


@overload
def simulate(
    sim: Simulator | OneArm,
    controller: AnyController,
    reference: AnyReference | None,
    duration: float,
    progress: Callable[[float], None] | None = None,
    *,
    every: int = 1,
    diagnostics: bool = False,
) -> Recording: ...


@overload
def simulate(
    sim: Scene,
    controller: Mapping[str, AnyController],
    reference: Mapping[str, AnyReference | None] | None,
    duration: float,
    progress: Callable[[float], None] | None = None,
    *,
    every: int = 1,
    diagnostics: bool = False,
) -> dict[str, Recording]: ...


def simulate(
    sim: Simulator | Scene | OneArm,
    controller: Any,
    reference: Any,
    duration: float,
    progress: Callable[[float], None] | None = None,
    *,
    every: Any = 1,
    diagnostics: bool = False,
) -> Recording | dict[str, Recording]:
    """Run a simulator or a scene from its current state, each arm under a controller that follows a reference.

    Controllers and recording use the encoders (`measured_q`), which are exact unless drives are elastic or faulty.
    Row k of the recording: q, dq at t_k with tau, ddq of the step that starts at t_k, and the commands in force then.
    tau is the effort as the robot reports it (`measured_tau`), the channel "applied_tau" (N, n) the effort that acted.

    Args:
        sim: a `Simulator`; or a `Scene`, for which controllers, references and the result are dictionaries by arm
            (every arm needs a controller).
        controller: `(state, setpoint) -> effort (n,)`. Its `reset()`, if it has one, is called first. With a
            `period` [s] it is called at that interval and its effort is held; otherwise at every step.
        reference: `t -> Setpoint`, t being the simulated time. Default: hold the initial position. Positions
            outside the joint limits are rejected, unless the arm is simulated without limits. Or `t -> TipMotion`, such
            as a `CartesianPath`, for a tip controller: the recording then has the command "tip_position"
            (N, 3) instead of q, dq and ddq, and the channel "tip" (N, 3) [m], in the base. The engine then enforces
            the joint limits.
        duration: [s], rounded up to whole steps.
        progress: called about a hundred times with the completed fraction, finally with 1.
        every: record every n-th step.
        diagnostics: also record the tip position "tip" (N, 3), "loop_error" (N,) and, for arms with a remote centre of
            motion, "rcm_error" (N,) [m].
    """
    duration = checks.positive("duration", duration)
    every = checks.count("every", every, unit="steps")
    stepped: Mapping[str, SteppedArm | OneArm]
    clock: Engine | OneArm
    if isinstance(sim, Scene):
        arms: Mapping[str, Any] = sim.arms
        alone, stepped, clock = None, sim.stepped, sim.engine
        controllers, references = dict(controller), dict(reference or {})
        check_known("arm of the scene", sim.arms, *controllers, *references)
        for name in sim.arms:
            if name not in controllers:
                raise TrocarError(f"no controller for {name}: a scene needs one for each of {', '.join(sim.arms)}")
    elif isinstance(sim, Simulator | OneArm):
        alone = sim.arm.name
        arms, controllers, references = {alone: sim}, {alone: controller}, {alone: reference}
        stepped, clock = (sim.scene.stepped, sim.scene.engine) if isinstance(sim, Simulator) else ({alone: sim}, sim)
    else:
        raise TrocarError(
            f"simulate needs a Simulator or a Scene, got {type(sim).__name__}; for one arm, pass its scene"
        )
    steps = max(1, math.ceil(duration / next(iter(arms.values())).timestep * (1.0 - 1e-12)))
    _check_memory(-(-steps // every), arms, diagnostics)
    runs = [
        _Run(arm, stepped[name], controllers[name], references.get(name), steps, every, diagnostics)
        for name, arm in arms.items()
    ]
    for i in range(steps):
        time = clock.time
        for run in runs:
            run.command(i, time)
        clock.advance()
        if i % every == 0:
            for run in runs:
                run.record()
        if progress is not None and (i + 1) * REPORTS // steps != i * REPORTS // steps:
            progress((i + 1) / steps)
    recordings = {name: run.recording() for name, run in zip(arms, runs, strict=True)}
    return recordings if alone is None else recordings[alone]


def _check_memory(rows: int, arms: Mapping[str, SimulatedArm], diagnostics: bool) -> None:
    """Raise an error if the recordings of a run would not fit into memory."""
    # Peak while the recording is built: rows of states, efforts, link accelerations and commands, twice.
    numbers = sum(2 * (11 * arm.n + len(arm.arm.bodies)) + 40 * diagnostics for arm in arms.values())
    what = f"recording {rows:.3g} rows of {', '.join(arm.arm.name for arm in arms.values())}"
    check_memory(8.0 * numbers * rows, what, "Simulate a shorter duration or record fewer steps (every=)")


class _Run:
    """One arm, its controller and its reference, and the recorded rows."""

    def __init__(
        self,
        sim: SimulatedArm,
        stepped: SteppedArm | OneArm,
        controller: AnyController,
        reference: AnyReference | None,
        steps: int,
        every: int,
        diagnostics: bool,
    ) -> None:
        self._sim, self._stepped, self._controller, self._every = sim, stepped, controller, every
        self._measured, self._command, self._row = stepped.measured, stepped.command, stepped.row
        check_type("controller", controller, Callable, "a function (state, setpoint) -> effort")
        if reference is not None:
            allowed = "a function t -> Setpoint, such as hold(q) or quintic(...)"
            check_type("reference", reference, Callable, allowed)
        self._interval = _steps_per_call(getattr(controller, "period", None), sim.timestep)
        self._setpoint_at: Callable[[float], Any] = hold(sim.q) if reference is None else reference
        if reference is not None and sim.options.limits and isinstance(reference(sim.time), Setpoint):
            self._setpoint_at = _LimitedReference(reference, sim.arm)
        if hasattr(controller, "reset"):
            controller.reset()
        self._times: list[float] = []
        # columns: q, dq, commanded efforts, delivered motor efforts and link accelerations; the last two are mapped
        # to the joints at the end, all rows at once
        self._width = 4 * sim.n + len(stepped.row()[1])
        self._rows = BytesIO()  # numpy takes twice as long to write a row of short arrays
        self._reported: dict[int, Array] = {}  # reported motor efforts by row, if there are faults
        self._written: Setpoint | TipMotion | None = None  # the last setpoint written, if it is read-only
        self._fresh: list[int] = []  # rows at which a setpoint was written; it applies until the next such row
        first = self._setpoint_at(sim.time)
        self._tip = isinstance(first, TipMotion)
        widths = {"tip_position": 3} if self._tip else dict.fromkeys(("q", "dq", "ddq"), sim.n)
        self._commands = {name: np.empty((-(-steps // every), width)) for name, width in widths.items()}
        diagnosed = (
            {"tip": True, "rcm_error": sim.arm.has_rcm, "loop_error": bool(sim.arm.loops)} if diagnostics else {}
        )
        self._extra: dict[str, list[Any]] = {
            name: [] for name in CHANNELS if diagnosed.get(name) or (self._tip and name == "tip")
        }

    def command(self, i: int, time: float) -> None:
        """Pass the effort of step i to the engine, and record the diagnostics at its start."""
        self._state = state = tuple.__new__(State, (time, *self._measured()))  # State(...), in less time
        if i % self._interval == 0:
            self._setpoint = self._setpoint_at(time)
            effort = self._controller(state, self._setpoint)
            self._effort = np.ascontiguousarray(effort, dtype=float)
        if self._extra and i % self._every == 0:
            for name, channel in self._extra.items():
                channel.append(CHANNELS[name](self._sim))
        self._command(self._effort)

    def record(self) -> None:
        """Record the last step."""
        (t, q, dq), faults, write = self._state, self._stepped.faults, self._rows.write
        for part in (q, dq, self._effort, *self._row()):
            write(part)
        if faults is not None:
            self._reported[len(self._times)] = faults.reported.copy()
        if self._setpoint is not self._written:
            self._write(self._setpoint, len(self._times))
        self._times.append(t)

    def _write(self, setpoint: Any, k: int) -> None:
        """Write a setpoint into row k of the commands."""
        self._fresh.append(k)
        if self._tip:
            self._commands["tip_position"][k] = setpoint.T[:3, 3]
            return
        for name, values in self._commands.items():
            values[k] = getattr(setpoint, name)
        self._written = None if setpoint.q.flags.writeable else setpoint

    def recording(self) -> Recording:
        """The recording of all recorded steps."""
        arm, extra = self._sim.arm, {name: np.array(values) for name, values in self._extra.items()}
        n, rows = arm.n, np.frombuffer(self._rows.getbuffer()).reshape(-1, self._width)
        q, dq, effort, ctrl = (rows[:, k * n : (k + 1) * n] for k in range(4))
        qacc = rows[:, 4 * n :]
        extra["applied_tau"] = tau = self._stepped.joint_efforts(ctrl)
        if self._reported:
            reported = ctrl.copy()
            reported[list(self._reported)] = list(self._reported.values())
            tau = self._stepped.joint_efforts(reported)
        held = np.repeat(self._fresh, np.diff([*self._fresh, len(self._times)]))
        return Recording(
            t=np.array(self._times),
            q=q,
            dq=dq,
            ddq=self._stepped.joint_accelerations(qacc),
            tau=tau + self._sim.mechanism.effort_bias,
            joints=arm.joint_names,
            joint_units=arm.joint_units,
            commands={name: values[held] for name, values in self._commands.items()} | {"tau": effort},
            extra=extra,
            extra_units=dict.fromkeys(extra, "m") | {"applied_tau": EFFORT_UNIT},
            provenance=provenance(self._sim, self._controller),
        )


def provenance(sim: SimulatedArm, controller: object) -> dict[str, Any]:
    """Origin of a simulated recording: arm, parameters, options and controller."""
    return {
        "source": "simulation",
        "arm": sim.arm.name,
        "geometry": sim.arm.geometry,
        "parameters": sim.parameters.name,
        "instrument": sim.arm.instrument,
        "timestep": sim.timestep,
        "accuracy": sim.accuracy,
        **{option: getattr(sim.options, option) for option in ("friction", "counterweight")},
        "gravity": sim.gravity_vector.tolist(),
        # a function by its name, anything else by its repr
        "controller": str(getattr(controller, "__qualname__", None) or repr(controller)),
        "trocar": _version("trocar"),
    }


_version = cache(version)  # reads a file, so only once


class _LimitedReference:
    """A reference that raises an error outside the joint limits."""

    def __init__(self, reference: Callable[[float], Any], arm: Arm) -> None:
        self._reference, self._arm = reference, arm
        low, high = arm.lower - LIMIT_TOLERANCE, arm.upper + LIMIT_TOLERANCE
        self._limits = list(zip(low.tolist(), high.tolist(), strict=True))
        self._checked: Setpoint | None = None

    def __call__(self, t: float) -> Setpoint:
        setpoint: Setpoint = self._reference(t)
        q = setpoint.q
        if setpoint is self._checked and not q.flags.writeable:  # a constant reference
            return setpoint
        if q.shape != (self._arm.n,):
            raise TrocarError(f"{self._arm.name} has {self._arm.n} joints, the reference gives q of shape {q.shape}")
        for (low, high), value in zip(self._limits, q.tolist(), strict=True):  # faster than numpy for so few values
            if not low <= value <= high:
                self._arm.check_within_limits(q, f"the reference at t = {t:.6g} s")
                raise TrocarError(f"the reference at t = {t:.6g} s is not finite: {q}")
        self._checked = setpoint
        return setpoint


def _steps_per_call(period: float | None, timestep: float) -> int:
    """Whole number of timesteps in a controller's period."""
    if period is None:
        return 1
    if not (math.isfinite(period) and period > 0):
        raise TrocarError(f"the period of a controller must be positive and finite [s], got {period!r}")
    steps = max(1, round(period / timestep))
    if abs(period - steps * timestep) <= 1e-9 * period:
        return steps
    choices = ", ".join(f"{period / k:.9g}" for k in (1, 2, 3))
    raise TrocarError(
        f"the controller runs every {period:.9g} s ({1 / period:g} Hz), which is not a whole multiple of the "
        f"timestep {timestep:.9g} s. Possible timesteps: {choices}, ... s; "
        f"for instance Simulator(..., timestep=1 / {1 / period:g})"
    )
