"""Forces in C against the same laws in NumPy, and the choice between them."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import trocar as tr
from tests.support.hysteresis_set import full_set, memory_set
from trocar.arms.parameters import to_toml
from trocar.laws.slip import SolidPairs
from trocar.simulation import Box, Port, Scene, SceneArm, Solid
from trocar.simulation.forces.compiled import CHOICE, step_library
from trocar.spatial import pose

NUMPY, C = "0", "1"
STEPS = 600


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    """Files of sets whose friction has memory; the second also varies with position and load."""
    folder = tmp_path_factory.mktemp("sets")
    for parameters in (memory_set(), full_set()):
        (folder / f"{parameters.name}.toml").write_text(to_toml(parameters))
    return {"memory": folder / f"{memory_set().name}.toml", "full": folder / f"{full_set().name}.toml"}


CASES = {
    "cables": ("MTML", None, {}),
    "cables and memory": ("MTML", "wang2019_refit", {"timestep": 5e-4}),
    "load": ("PSM_Si", None, {}),
    "load, exact": ("ECM_Si", None, {"accuracy": "exact"}),
    "memory": ("PSM", "memory", {}),
    "memory, load, position and a port": ("PSM", "full", {"port": Port()}),
    "memory, exact": ("PSM", "memory", {"accuracy": "exact"}),
}
EQUAL = {"cables", "load", "load, exact"}  # no exponential, and sums of one product


def moved(sim: tr.Simulator, steps: int = STEPS) -> np.ndarray:
    """Joint positions (steps, n) of a motion with reversals, under a force at the tip."""
    mech, arm = sim.mechanism, sim.arm
    middle = np.clip(np.array(arm.home) + 0.05, arm.lower + 0.02, arm.upper - 0.02)
    rate, M = np.linspace(10.0, 25.0, arm.n), np.diag(mech.mass_matrix(middle))
    sim.reset(middle)
    sim.apply_wrench([3.0, -2.0, 1.0, 0.0, 0.0, 0.0])
    rows = []
    for _ in range(steps):
        goal = middle + 0.02 * np.sin(rate * sim.time)
        sim.step(mech.gravity(sim.q) + M * (900.0 * (goal - sim.q) - 60.0 * sim.dq))
        rows.append(sim.q)
    return np.array(rows)


@pytest.mark.parametrize("case", CASES)
def test_forces_in_c_are_those_of_numpy(case, sets, monkeypatch):
    """To the bit, or to the rounding of exponentials and sums, over 600 steps."""
    name, parameters, options = CASES[case]
    paths = []
    for choice in (NUMPY, C):
        monkeypatch.setenv(CHOICE, choice)
        paths.append(moved(tr.Simulator(name, sets.get(parameters, parameters), **options)))
    assert np.ptp(paths[0], axis=0).max() > 0.01
    np.testing.assert_allclose(paths[1], paths[0], rtol=0.0, atol=0.0 if case in EQUAL else 1e-11)


@pytest.mark.parametrize("choice", [NUMPY, C])
def test_the_memory_of_friction_is_copied_bit_for_bit(choice, sets, monkeypatch):
    monkeypatch.setenv(CHOICE, choice)
    sim = tr.Simulator("PSM", sets["full"])
    moved(sim, 200)
    twins = [copy.deepcopy(sim), pickle.loads(pickle.dumps(sim))]
    kept, ends = sim.snapshot(), []
    for each in (sim, *twins):
        for _ in range(50):
            each.step(0.5 * np.ones(7))
        ends.append((each.q, each.hysteresis))
    sim.restore(kept)
    for _ in range(50):
        sim.step(0.5 * np.ones(7))
    for q, z in ends:
        np.testing.assert_array_equal(q, sim.q)
        np.testing.assert_array_equal(z, sim.hysteresis)


def test_states_of_copies_are_their_own(sets, monkeypatch):
    monkeypatch.setenv(CHOICE, C)
    sim = tr.Simulator("PSM", sets["memory"])
    other = copy.deepcopy(sim)
    before = sim.hysteresis
    moved(other, 50)
    np.testing.assert_array_equal(sim.hysteresis, before)
    assert (other.hysteresis != before).any()


def test_rates_of_slip_in_c_are_those_of_numpy_to_the_bit(monkeypatch):
    monkeypatch.setenv(CHOICE, C)
    size = (0.01, 0.01, 0.01)
    blocks = [Solid(f"block{k}", Box(np.zeros(3), size), pose(p=[0.03 * k, 0.1, 0.05]), mass=0.01) for k in range(3)]
    scene = Scene({"PSM1": SceneArm(arm="PSM")}, objects=blocks)
    pairs, model, rng = SolidPairs.of(scene.model), scene.model, np.random.default_rng(3)
    assert pairs.pair.size >= 3
    for _ in range(50):
        scene.data.qvel[:] = rng.normal(size=model.nv) * 10.0 ** rng.uniform(-12.0, 1.0)
        model.pair_friction[:, 0] = rng.uniform(0.1, 1.0)
        scene.engine.forward()
        expected = pairs.rates(scene.data.qvel, model.pair_friction[pairs.first, 0])
        np.testing.assert_array_equal(model.pair_solreffriction[pairs.pair, 1], -expected)


def test_the_choice_is_checked(monkeypatch):
    monkeypatch.setenv(CHOICE, "yes")
    with pytest.raises(tr.TrocarError, match=f"{CHOICE} must be 0"):
        tr.Simulator("MTML")


def test_without_a_compiler_numpy_computes_the_forces(monkeypatch):
    step_library.cache_clear()
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.delenv(CHOICE, raising=False)
    try:
        assert step_library("") is None
        tr.Simulator("MTML").step(np.zeros(7))
        with pytest.raises(tr.TrocarError, match="no-such-compiler"):
            step_library(C)
    finally:
        step_library.cache_clear()
