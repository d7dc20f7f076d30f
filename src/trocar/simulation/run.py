"""A simulator, a controller and a reference make a Recording; a scene, with those of every arm, several."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trocar.arms import Arm
from trocar.control import Reference, Setpoint, State, TipMotion, hold
from trocar.errors import TrocarError, UnknownName
from trocar.recording import Recording
from trocar.simulation.scene import Scene
from trocar.simulation.simulated_arm import LIMIT_TOLERANCE, SimulatedArm
from trocar.simulation.simulator import Simulator
from trocar.spatial import Array

_REPORTS = 100  # calls of `progress` in a run


def simulate(
    sim: Simulator,
    controller: Callable[[State, Any], ArrayLike],
    reference: Reference | Callable[[float], TipMotion] | None,
    duration: float,
    progress: Callable[[float], None] | None = None,
    *,
    every: int = 1,
    diagnostics: bool = False,
) -> Recording:
    """Run the simulator from where it stands, under a controller that follows a reference.

    Controllers and recording see what the encoders do (`sim.measured_q`), which is the truth unless drives are elastic.
    Row k of the recording: q, dq at t_k with tau, ddq of the step that starts at t_k, and the commands in force then.

    Args:
        controller: `(state, setpoint) -> effort (n,)`. Its `reset()`, where it has one, is called first. With a
            `period` [s] it is called at that interval and its effort held; without one, at every step.
        reference: `t -> Setpoint`, t being `sim.time`; None to hold the position at the start. Positions outside
            the joint limits are refused, unless the simulator has none. Or `t -> TipMotion`, such as a
            `CartesianPath`, for a controller of the tip: the recording then has the command "tip_position" (N, 3)
            instead of q, dq and ddq, and the channel "tip" (N, 3) [m], in the base. Joint limits are then up to the
            engine.
        duration: [s]; as many steps as cover it.
        progress: called about a hundred times with the fraction done, at last with 1.
        every: record every so many steps.
        diagnostics: also record the tip position "tip" (N, 3), "loop_error" (N,) and, for arms that have a remote
            centre of motion, "rcm_error" (N,) [m].
    """
    run = Run(sim, controller, reference, duration, every, diagnostics)
    for i in range(run.steps):
        effort = run.effort(i)
        sim.step(effort)
        run.record(i)
        _report(progress, i, run.steps)
    return run.recording()


def simulate_scene(
    scene: Scene,
    controllers: Mapping[str, Callable[[State, Any], ArrayLike]],
    references: Mapping[str, Reference | Callable[[float], TipMotion] | None],
    duration: float,
    progress: Callable[[float], None] | None = None,
    *,
    every: int = 1,
    diagnostics: bool = False,
) -> dict[str, Recording]:
    """Run a scene from where it stands: a recording of every arm, each under its own controller.

    Args:
        controllers: of every arm, by name. references: by name; arms left out hold their position at the start.

    All else is as for `simulate`, for every arm.
    """
    for name in (*controllers, *references):
        if name not in scene.arms:
            raise UnknownName("arm of the scene", name, scene.arms)
    for name in scene.arms:
        if name not in controllers:
            raise TrocarError(f"no controller for {name}: a scene needs one for each of {', '.join(scene.arms)}")
    runs = {
        name: Run(arm, controllers[name], references.get(name), duration, every, diagnostics)
        for name, arm in scene.arms.items()
    }
    steps = next(iter(runs.values())).steps
    for i in range(steps):
        scene.step({name: run.effort(i) for name, run in runs.items()})
        for run in runs.values():
            run.record(i)
        _report(progress, i, steps)
    return {name: run.recording() for name, run in runs.items()}


def _report(progress: Callable[[float], None] | None, i: int, steps: int) -> None:
    if progress is not None and (i + 1) * _REPORTS // steps != i * _REPORTS // steps:
        progress((i + 1) / steps)


class Run:
    """One arm, its controller and its reference, and the recording they make; see `simulate`."""

    def __init__(
        self,
        sim: SimulatedArm,
        controller: Callable[[State, Any], ArrayLike],
        reference: Reference | Callable[[float], TipMotion] | None,
        duration: float,
        every: int,
        diagnostics: bool,
    ) -> None:
        if not (math.isfinite(duration) and duration > 0):
            raise TrocarError(f"duration must be positive and finite [s], got {duration!r}")
        if every != int(every) or every < 1:
            raise TrocarError(f"every must be a whole number of steps, 1 or more, got {every!r}")
        self._sim, self._controller, self._every = sim, controller, every
        self._interval = _steps_per_call(getattr(controller, "period", None), sim.timestep)
        self.steps = max(1, math.ceil(duration / sim.timestep * (1.0 - 1e-12)))
        self._setpoint_at = _checked(reference, sim)
        if hasattr(controller, "reset"):
            controller.reset()
        rows = -(-self.steps // every)
        self._t = np.empty(rows)
        self._q, self._dq, self._ddq, self._tau = (np.empty((rows, sim.n)) for _ in range(4))
        first = _asked(self._setpoint_at(sim.time), self._tau[0])
        self._commands = {name: np.empty((rows, value.size)) for name, value in first.items()}
        self._extra = _channels(sim, rows, diagnostics, tip="tip_position" in self._commands)

    def effort(self, i: int) -> Array:
        """Effort (n,) of step i; diagnostics of its start are recorded."""
        sim = self._sim
        self._state = state = State(sim.time, sim.measured_q, sim.measured_dq)
        if i % self._interval == 0:
            self._setpoint = self._setpoint_at(state.t)
            self._effort = np.asarray(self._controller(state, self._setpoint), dtype=float)
        if self._extra and i % self._every == 0:
            for name, channel in self._extra.items():
                channel[i // self._every] = _DIAGNOSTICS[name](sim)
        return self._effort

    def record(self, i: int) -> None:
        """Step i was taken."""
        k, rest = divmod(i, self._every)
        if rest:
            return
        state, sim = self._state, self._sim
        self._t[k], self._q[k], self._dq[k], self._ddq[k], self._tau[k] = state.t, state.q, state.dq, sim.ddq, sim.tau
        for name, value in _asked(self._setpoint, self._effort).items():
            self._commands[name][k] = value

    def recording(self) -> Recording:
        """What was recorded."""
        sim = self._sim
        return Recording(
            t=self._t,
            q=self._q,
            dq=self._dq,
            ddq=self._ddq,
            tau=self._tau,
            joints=sim.arm.joint_names,
            joint_units=sim.arm.joint_units,
            commands=self._commands,
            extra=self._extra,
            extra_units=dict.fromkeys(self._extra, "m"),
            provenance=provenance(sim, self._controller),
        )


def provenance(sim: SimulatedArm, controller: object) -> dict[str, Any]:
    """Where a simulated recording comes from."""
    return {
        "source": "simulation",
        "arm": sim.arm.name,
        "geometry": sim.arm.geometry,
        "parameters": sim.parameters.name,
        "instrument": sim.arm.instrument,
        "timestep": sim.timestep,
        "accuracy": sim.accuracy,
        "friction": sim.friction,
        "counterweight": sim.counterweight,
        "gravity": sim.gravity_vector.tolist(),
        "controller": _description(controller),
        "trocar": version("trocar"),
    }


_DIAGNOSTICS: dict[str, Callable[[SimulatedArm], float | Array]] = {
    "tip": lambda sim: sim.tip_pose()[:3, 3],
    "rcm_error": SimulatedArm.rcm_error,
    "loop_error": SimulatedArm.loop_error,
}


def _asked(setpoint: Setpoint | TipMotion, effort: Array) -> dict[str, Array]:
    """The commands that a recording keeps of a setpoint and an effort."""
    if isinstance(setpoint, TipMotion):
        return {"tip_position": setpoint.T[:3, 3], "tau": effort}
    return {"q": setpoint.q, "dq": setpoint.dq, "ddq": setpoint.ddq, "tau": effort}


def _channels(sim: SimulatedArm, rows: int, diagnostics: bool, tip: bool) -> dict[str, Array]:
    """Empty channels: the tip's if asked for, and the diagnostics that this arm has."""
    channels: dict[str, Array] = {"tip": np.empty((rows, 3))} if tip or diagnostics else {}
    if not diagnostics:
        return channels
    if sim.arm.has_rcm:
        channels["rcm_error"] = np.empty(rows)
    if sim.arm.loops:
        channels["loop_error"] = np.empty(rows)
    return channels


def _checked(reference: Reference | Callable[[float], TipMotion] | None, sim: SimulatedArm) -> Callable[[float], Any]:
    """The reference, refusing to leave the joint limits where there are any; without one, staying."""
    if reference is None:
        return hold(sim.q)
    return _Limited(reference, sim.arm) if sim.limits and isinstance(reference(sim.time), Setpoint) else reference


class _Limited:
    """A reference that refuses to leave the joint limits."""

    def __init__(self, reference: Callable[[float], Any], arm: Arm) -> None:
        self._reference, self._arm = reference, arm
        self._low, self._high = arm.lower - LIMIT_TOLERANCE, arm.upper + LIMIT_TOLERANCE

    def __call__(self, t: float) -> Setpoint:
        setpoint: Setpoint = self._reference(t)
        q = setpoint.q
        if q.shape != self._low.shape:
            raise TrocarError(f"{self._arm.name} has {self._arm.n} joints, the reference gives q of shape {q.shape}")
        inside = (q >= self._low) & (q <= self._high)
        if not inside.all():
            j = int(np.flatnonzero(~inside)[0])
            joint = self._arm.joints[j]
            raise TrocarError(
                f"the reference at t = {t:.6g} s: joint {j + 1} ({joint.name}) violates "
                f"{joint.lower:g} <= {q[j]:.6g} <= {joint.upper:g}"
            )
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
        f"timestep {timestep:.9g} s. Timesteps that would do: {choices}, ... s; "
        f"for instance Simulator(..., timestep=1 / {1 / period:g})"
    )


def _description(controller: object) -> str:
    """A function by its name, anything else by its repr."""
    return str(getattr(controller, "__qualname__", None) or repr(controller))
