"""Speed of one arm: engine, friction, equations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin

from trocar.arms.parameters import Dahl, Drive, Parameters, load_parameters
from trocar.bench.timing import TIMESTEP, Call, TimedCall, Timing, named_figures, repeated, timed
from trocar.control import JointPD, hold
from trocar.errors import TrocarError
from trocar.mechanics import Mechanism, load_mechanism
from trocar.mechanics.pinocchio_tree import PinocchioTree
from trocar.simulation import Simulator
from trocar.simulation.run import simulate
from trocar.spatial import Array

FIGURES = (
    ("mj_step_us", "step_us", "step_over_mj_step", "real_time_factor"),
    ("step_with_joint_pd_us", "step_with_joint_pd_over_mj_step", "real_time_factor_with_joint_pd"),
    ("step_with_hysteresis_us", "step_with_hysteresis_over_mj_step"),
    ("step_with_load_friction_us", "step_with_load_friction_over_mj_step"),
    ("simulate_us_per_step", "simulate_over_mj_step"),
    ("mj_step_runge_kutta_us", "exact_step_us", "exact_step_over_mj_step_runge_kutta"),
    ("pinocchio_bare_us", "terms_us", "terms_over_pinocchio"),
    ("terms_batch_us_per_state", "terms_batch_over_terms", "terms_batch_over_pinocchio"),
    ("inverse_dynamics_us", "regressor_us", "regressor_batch_us_per_state"),
    ("pinocchio_fk_us", "fk_us", "fk_over_pinocchio_fk", "fk_batch_us_per_state", "fk_batch_over_pinocchio_fk"),
    ("ik_us", "ik_batch_us_per_pose"),
)


def figures(
    rounds: int = 30,
    steps: int = 200,
    batch: int = 10_000,
    arm: str = "PSM",
    progress: Callable[[float], None] | None = None,
) -> dict[str, Timing]:
    """Figures of an arm by name.

    Args:
        rounds: repetitions. steps: calls per round of functions of one state. batch: batch size of the others.
        progress: function called with the completed fraction.
    """
    if min(rounds, steps, batch) < 1:
        raise TrocarError(f"rounds, steps and batch must be 1 or more, got {rounds}, {steps} and {batch}")
    mech = load_mechanism(arm)
    calls = simulation_calls(mech, steps) | _friction_calls(mech, steps) | _mechanics_calls(mech, steps, batch)
    us = timed(calls, rounds, progress)
    return named_figures(chain(*FIGURES), us | {"pinocchio_bare": us["pinocchio"]}, arm.lower())


def step_figures(arm: str, rounds: int = 30, steps: int = 200) -> dict[str, Timing]:
    """The step figures of `figures` for another arm."""
    calls = simulation_calls(load_mechanism(arm), steps)
    return named_figures(FIGURES[0], timed({name: calls[name] for name in ("mj_step", "step")}, rounds), arm.lower())


def held(mech: Mechanism, q: Array) -> Array:
    """Efforts (n,) that hold an arm at rest."""
    return mech.gravity(q) + mech.friction(q, np.zeros_like(q))


def jaws_open(mech: Mechanism) -> Array:
    return np.concatenate([mech.arm.home[: mech.arm.tip_joints], np.full(mech.n - mech.arm.tip_joints, 0.5)])


def step_calls(engine: Any, reset: Call, tau: Any, steps: int) -> dict[str, TimedCall]:
    """Steps of a simulator or scene under constant efforts, and MuJoCo's bare steps on the same model."""
    bare = mujoco.MjData(engine.model)

    def prepare() -> None:  # one step first, so that efforts and loads are set
        reset()
        engine.step(tau)
        mujoco.mj_copyData(bare, engine.model, engine.data)

    return {
        "mj_step": repeated(partial(mujoco.mj_step, engine.model, bare), steps, prepare),
        "step": repeated(partial(engine.step, tau), steps, prepare),
    }


def simulation_calls(mech: Mechanism, steps: int) -> dict[str, TimedCall]:
    """Steps of the engine with the arm held in place and jaws open."""
    sim, exact = (Simulator(mech.arm.name, timestep=TIMESTEP, accuracy=accuracy) for accuracy in ("fast", "exact"))
    q = jaws_open(mech)
    tau, M = held(mech, q), np.diag(mech.mass_matrix(q))
    kp, kd = M * 30.0**2, M * 60.0
    fast, slow = (step_calls(engine, partial(engine.reset, q), tau, steps) for engine in (sim, exact))
    start = fast["step"].prepare
    run = partial(simulate, sim, JointPD(kp, kd), hold(q), steps * TIMESTEP)
    return {
        **fast,
        "step_with_joint_pd": repeated(lambda: sim.step(kp * (q - sim.q) - kd * sim.dq), steps, start),
        "simulate": TimedCall(run, steps, start),
        "mj_step_runge_kutta": slow["mj_step"],
        "exact_step": slow["step"],
    }


def _friction_calls(mech: Mechanism, steps: int) -> dict[str, TimedCall]:
    """Steps of the arm with three Dahl elements instead of Coulomb friction, and also with load-dependent friction."""

    def with_memory(drive: Drive) -> Drive:
        elements = tuple(Dahl(delta, drive.Fc / 3.0) for delta in (2e-3, 1e-2, 5e-2))
        return replace(drive, Fc=0.0, hysteresis=elements if drive.Fc else ())

    def with_load(drive: Drive) -> Drive:
        on_one = len(drive.joints) == 1 and drive.hysteresis
        return replace(drive, mu=0.01, terms=(*drive.terms, "mu")) if on_one else drive

    q = np.array(mech.arm.home)
    tau = held(mech, q)

    def step(parameters: Parameters) -> TimedCall:
        sim = Simulator(mech.arm.name, parameters, timestep=TIMESTEP)
        return repeated(partial(sim.step, tau), steps, partial(sim.reset, q))

    parameters = load_parameters(mech.arm.name)
    drives = tuple(map(with_memory, parameters.drives))
    return {
        "step_with_hysteresis": step(replace(parameters, drives=drives)),
        "step_with_load_friction": step(replace(parameters, drives=tuple(map(with_load, drives)))),
    }


def _mechanics_calls(mech: Mechanism, steps: int, batch: int) -> dict[str, TimedCall]:
    """Calls of the equations for one state and for a batch; the bare calls are Pinocchio's on the same tree."""
    rng = np.random.default_rng(0)
    arm = mech.arm
    # the reference is the whole tree; the mechanism omits massless links
    tree = PinocchioTree(arm.bodies, mech.tree_inertia, arm.E, mech.gravity_vector, whole=True)
    # in the middle of the limits, where every pose is reachable and singularities are far
    q = rng.uniform(0.7 * arm.lower + 0.3 * arm.upper, 0.3 * arm.lower + 0.7 * arm.upper, (batch, arm.n))
    dq, ddq = rng.normal(size=(2, batch, arm.n))
    T = mech.forward_kinematics(q)
    one, d_one, dd_one, T_one = q[0], dq[0], ddq[0], T[0]
    q_tree, dq_tree = arm.E @ one, arm.E @ d_one
    fewer = max(1, steps // 20)  # slow calls are repeated less often

    def pinocchio() -> None:
        pin.crba(tree.model, tree.data, q_tree)
        pin.nonLinearEffects(tree.model, tree.data, q_tree, dq_tree)
        pin.computeGeneralizedGravity(tree.model, tree.data, q_tree)

    return {
        "pinocchio": repeated(pinocchio, steps),
        "terms": repeated(lambda: mech.terms(one, d_one), steps),
        "terms_batch": TimedCall(lambda: mech.terms(q, dq), batch),
        "inverse_dynamics": repeated(lambda: mech.inverse_dynamics(one, d_one, dd_one), steps),
        "regressor": repeated(lambda: mech.regressor(one, d_one, dd_one), fewer),
        "regressor_batch": TimedCall(lambda: mech.regressor(q, dq, ddq), batch),
        "pinocchio_fk": repeated(lambda: pin.forwardKinematics(tree.model, tree.data, q_tree), 10 * steps),
        "fk": repeated(lambda: mech.forward_kinematics(one), 10 * steps),
        "fk_batch": TimedCall(lambda: [mech.forward_kinematics(q) for _ in range(5)], 5 * batch),
        "ik": repeated(lambda: mech.inverse_kinematics(T_one, one), steps),
        "ik_batch": TimedCall(lambda: mech.inverse_kinematics(T, q), batch),
    }
