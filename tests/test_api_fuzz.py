"""Odd values for every function of the Python interface give a correct result or a clear one-line error, nothing else.

TROCAR_FUZZ=N tries N values per function instead of a few dozen; TROCAR_FUZZ_SEED=N selects other values.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import trocar as tr
from tests.support.odd_calls import Caller, check_line, finite
from tests.support.odd_values import INPUTS, SEED, rounds
from trocar import batch
from trocar.batch import reduced_simulator
from trocar.control import (
    ComputedTorque,
    ConstantEffort,
    GravityCompensation,
    JointPD,
    JointPID,
    Setpoint,
    State,
    hold,
    quintic,
    sinusoid,
)
from trocar.control.observers import MomentumObserver, external_effort
from trocar.errors import TrocarError
from trocar.mechanics import friction_share, manipulability, singularity
from trocar.simulation.planning.collision import CollisionScene

ARMS = ("PSM", "ECM", "MTMR")


def reached(mech: tr.Mechanism, T: Any, q: np.ndarray) -> None:
    """The joints returned by inverse kinematics bring the tip to the requested pose."""
    np.testing.assert_allclose(mech.forward_kinematics(q), np.asarray(T, dtype=float), atol=1e-7)


def inverse(mech: tr.Mechanism, call: Caller) -> Any:
    T, seed = call.pose(), call.state() if call.rng.integers(2) else None
    if call.rng.integers(2):
        inside = call.rng.uniform(call.arm.lower, call.arm.upper)
        T = mech.forward_kinematics(inside)
    q = mech.inverse_kinematics(T, seed)
    reached(mech, T, q)
    return q


def batch_is_singles(mech: tr.Mechanism, call: Caller) -> Any:
    """Gravity of a batch is that of its rows one by one."""
    q = call.state()
    g = mech.gravity(q)
    rows = np.asarray(q, dtype=float).reshape(-1, mech.n)
    one_by_one = np.array([mech.gravity(row) for row in rows]).reshape(g.shape)
    np.testing.assert_allclose(g, one_by_one, rtol=1e-6, atol=1e-6 * max(1.0, np.abs(rows).max(initial=0.0)))
    return g


def dynamics(mech: tr.Mechanism, call: Caller) -> Any:
    q = call.state()
    dq, ddq = call.like(q), call.like(q)
    return mech.inverse_dynamics(q, dq, ddq, friction=bool(call.rng.integers(2)))


def simulated(mech: tr.Mechanism, call: Caller) -> Any:
    return stepped(simulator(mech.arm.name), call)


def reduced(mech: tr.Mechanism, call: Caller) -> Any:
    """One arm, whose code is compiled once."""
    sim = simulator("ECM", tr.ReducedSimulator)
    return stepped(sim, Caller(call.rng, sim.arm))


def stepped(sim: tr.Simulator, call: Caller) -> Any:
    q = call.state()
    sim.reset(q, call.like(q) if call.rng.integers(2) else None)
    try:
        sim.step(call.state())
    except tr.Diverged:
        return None
    return sim.q, sim.dq, sim.measured_tau


@cache
def simulator(arm: str, kind: Any = tr.Simulator) -> Any:
    """One simulator of each arm and engine; its state carries over from one input to the next."""
    return kind(arm)


def reduced_timestep(_mech: tr.Mechanism, call: Caller) -> None:
    """Its equations are generated once, and again for one input in 300."""
    timestep = call.value()
    with pytest.MonkeyPatch.context() as patch:
        if call.rng.integers(300):
            patch.setattr(reduced_simulator, "load", generated_arms)
        tr.ReducedSimulator("ECM", timestep=timestep)


def generated_arms(mechanism: tr.Mechanism, **options: Any) -> Any:
    key = mechanism.arm.name, tuple(options.items())
    if key not in _GENERATED:
        _GENERATED[key] = batch.load(mechanism, **options)
    return _GENERATED[key]


_GENERATED: dict[Any, batch.BatchArms] = {}


def run(mech: tr.Mechanism, call: Caller) -> Any:
    sim = simulator(mech.arm.name)
    sim.reset(mech.arm.home)
    controller = JointPD(call.value(), 0.0) if call.rng.integers(2) else call.odd()
    reference = hold(call.state()) if call.rng.integers(2) else call.odd()
    duration = 0.002 if call.rng.integers(3) else _short(call.odd())
    try:
        rec = tr.simulate(sim, controller, reference, duration, every=1 if call.rng.integers(3) else _short(call.odd()))
    except tr.Diverged:
        return None
    return rec.q, rec.tau


def _short(value: Any) -> Any:
    """Nonsense, but nothing that would run for minutes."""
    return value if not isinstance(value, int | float) or isinstance(value, bool) else min(value, 0.005)


def along(mech: tr.Mechanism, call: Caller) -> Any:
    t = np.arange(30) * 0.01
    q = np.array(mech.arm.home) + 0.01 * np.sin(t)[:, None]
    rec = tr.Recording(
        t=t if call.rng.integers(2) else call.odd(),
        q=q,
        dq=np.gradient(q, t, axis=0) if call.rng.integers(2) else call.state(),
        tau=q if call.rng.integers(2) else call.odd(),
        joints=mech.arm.joint_names if call.rng.integers(3) else call.odd(),
        joint_units=mech.arm.joint_units,
    )
    return mech.effort_along(rec), external_effort(mech, rec)


def controlled(mech: tr.Mechanism, call: Caller) -> Any:
    kinds: list[Callable[[], Any]] = [
        lambda: JointPD(call.state(), call.value()),
        lambda: JointPID(mech.arm if call.rng.integers(2) else call.odd(), kp=call.state()),
        lambda: ComputedTorque(mech if call.rng.integers(2) else call.odd(), call.value(), call.value()),
        lambda: GravityCompensation(mech if call.rng.integers(2) else call.odd()),
        lambda: ConstantEffort(call.state()),
        lambda: MomentumObserver(mech, call.value()),
    ]
    made = kinds[call.rng.integers(len(kinds))]()
    rest = np.array(mech.arm.home)
    if isinstance(made, MomentumObserver):
        made.reset(rest, 0 * rest)
        return made.update(rest, 0 * rest, call.state(), 0.01)
    return made(State(0.0, rest, 0 * rest), Setpoint(rest))


DOORS: dict[str, Callable[[tr.Mechanism, Caller], Any]] = {
    "forward_kinematics": lambda m, c: m.forward_kinematics(c.state()),
    "pose": lambda m, c: m.pose(c.state(), c.word()),
    "jacobian": lambda m, c: m.jacobian(c.state()),
    "jacobian_dot": lambda m, c: m.jacobian_dot(q := c.state(), c.like(q)),
    "inverse_kinematics": inverse,
    "inverse_kinematics_all": lambda m, c: m.inverse_kinematics_all(c.pose(), c.state()),
    "mass_matrix": lambda m, c: m.mass_matrix(c.state()),
    "gravity": batch_is_singles,
    "terms": lambda m, c: m.terms(q := c.state(), c.like(q)),
    "friction": lambda m, c: m.friction(q := c.state(), c.like(q)),
    "friction_along": lambda m, c: m.friction_along(c.state(), c.value()),
    "inverse_dynamics": dynamics,
    "forward_dynamics": lambda m, c: m.forward_dynamics(q := c.state(), c.like(q), c.like(q)),
    "regressor": lambda m, c: m.regressor(q := c.state(), c.like(q), c.like(q)),
    "derivatives": lambda m, c: m.inverse_dynamics_derivatives(q := c.state(), c.like(q), c.like(q)),
    "energy": lambda m, c: (m.kinetic_energy(q := c.state(), c.like(q)), m.potential_energy(q)),
    "friction_share": lambda m, c: min(friction_share(m, c.state(), c.state()), 1e300),
    "singularity": lambda m, c: [manipulability(m, c.state()), bool(singularity(m, c.state()))],
    "simulator": simulated,
    "simulate": run,
    "recording": along,
    "controllers": controlled,
    "wrench": lambda m, c: simulator(m.arm.name).apply_wrench(c.state(), c.word()),
    "place": lambda m, c: simulator(m.arm.name).place(c.state()),
    "quintic": lambda m, c: quintic(c.state(), c.state(), c.value())(0.3).q,
    "sinusoid": lambda m, c: sinusoid(c.state(), c.state(), c.value())(0.3).q,
    "load_mechanism": lambda m, c: tr.load_mechanism(c.word(), c.word()) and None,
    "load_options": lambda m, c: tr.load_mechanism(m.arm.name, gravity=c.odd(), mounting=c.odd()) and None,
    "load_instrument": lambda m, c: tr.load_mechanism(m.arm.name, instrument=c.word()) and None,
    "load_scene": lambda m, c: tr.load_scene(c.odd()) and None,
    "load_recording": lambda m, c: tr.load_recording(c.word(), c.word()) and None,
    "timestep": lambda m, c: tr.Simulator("ECM", timestep=c.value()) and None,
    "reduced_timestep": reduced_timestep,
    "reduced_step": reduced,
    "collision": lambda m, c: CollisionScene(c.odd()) and None,
}
SLOW = {"timestep": 10, "load_scene": 5, "inverse_kinematics": 4, "inverse_kinematics_all": 4, "load_mechanism": 4}


@pytest.mark.parametrize("door", DOORS)
def test_odd_values_give_an_answer_or_one_clear_line(door: str) -> None:
    rng = np.random.default_rng([SEED, sum(door.encode())])
    mechs = [tr.load_mechanism(name) for name in ARMS]
    for k in range(max(4, rounds(60) // SLOW.get(door, 1))):
        mech = mechs[rng.integers(len(mechs))]
        state = rng.bit_generator.state
        INPUTS[f"Python: {door}"] += 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                finite(DOORS[door](mech, Caller(rng, mech.arm)))
        except TrocarError as error:
            check_line(error)
        except Exception as error:
            error.add_note(f"door {door}, case {k}, arm {mech.arm.name}, seed {SEED}, generator {state['state']}")
            raise
