"""A simulator, a controller and a reference make a Recording."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trocar.arms import Arm
from trocar.control import Reference, Setpoint, State, TipMotion, hold
from trocar.errors import TrocarError
from trocar.recording import Recording
from trocar.simulation.simulator import LIMIT_TOLERANCE, Simulator
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
    if not (math.isfinite(duration) and duration > 0):
        raise TrocarError(f"duration must be positive and finite [s], got {duration!r}")
    if every != int(every) or every < 1:
        raise TrocarError(f"every must be a whole number of steps, 1 or more, got {every!r}")
    interval = _steps_per_call(getattr(controller, "period", None), sim.timestep)
    steps = max(1, math.ceil(duration / sim.timestep * (1.0 - 1e-12)))
    setpoint_at = _checked(reference, sim)
    if hasattr(controller, "reset"):
        controller.reset()

    rows = -(-steps // every)
    t = np.empty(rows)
    q, dq, ddq, tau = (np.empty((rows, sim.n)) for _ in range(4))
    commands = {name: np.empty((rows, value.size)) for name, value in _asked(setpoint_at(sim.time), tau[0]).items()}
    extra = _channels(sim, rows, diagnostics, tip="tip_position" in commands)
    for i in range(steps):
        state = State(sim.time, sim.measured_q, sim.measured_dq)
        if i % interval == 0:
            setpoint = setpoint_at(state.t)
            effort = np.asarray(controller(state, setpoint), dtype=float)
        k, rest = divmod(i, every)
        if rest == 0:
            for name, channel in extra.items():
                channel[k] = _DIAGNOSTICS[name](sim)
        sim.step(effort)
        if rest == 0:
            t[k], q[k], dq[k], ddq[k], tau[k] = state.t, state.q, state.dq, sim.ddq, sim.tau
            for name, value in _asked(setpoint, effort).items():
                commands[name][k] = value
        if progress is not None and (i + 1) * _REPORTS // steps != i * _REPORTS // steps:
            progress((i + 1) / steps)
    return Recording(
        t=t,
        q=q,
        dq=dq,
        ddq=ddq,
        tau=tau,
        joints=sim.arm.joint_names,
        joint_units=["rad" if joint.kind == "revolute" else "m" for joint in sim.arm.joints],
        commands=commands,
        extra=extra,
        extra_units=dict.fromkeys(extra, "m"),
        provenance=provenance(sim, controller),
    )


def provenance(sim: Simulator, controller: object) -> dict[str, Any]:
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


_DIAGNOSTICS: dict[str, Callable[[Simulator], float | Array]] = {
    "tip": lambda sim: sim.tip_pose()[:3, 3],
    "rcm_error": Simulator.rcm_error,
    "loop_error": Simulator.loop_error,
}


def _asked(setpoint: Setpoint | TipMotion, effort: Array) -> dict[str, Array]:
    """The commands that a recording keeps of a setpoint and an effort."""
    if isinstance(setpoint, TipMotion):
        return {"tip_position": setpoint.T[:3, 3], "tau": effort}
    return {"q": setpoint.q, "dq": setpoint.dq, "ddq": setpoint.ddq, "tau": effort}


def _channels(sim: Simulator, rows: int, diagnostics: bool, tip: bool) -> dict[str, Array]:
    """Empty channels: the tip's if asked for, and the diagnostics that this arm has."""
    channels: dict[str, Array] = {"tip": np.empty((rows, 3))} if tip or diagnostics else {}
    if not diagnostics:
        return channels
    if sim.arm.has_rcm:
        channels["rcm_error"] = np.empty(rows)
    if sim.arm.loops:
        channels["loop_error"] = np.empty(rows)
    return channels


def _checked(reference: Reference | Callable[[float], TipMotion] | None, sim: Simulator) -> Callable[[float], Any]:
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
