"""Batches that diverge or get wrong values end with an error that names the arm or the argument."""

from __future__ import annotations

import re
from collections import deque

import numpy as np
import pytest

import trocar as tr
from trocar import batch
from trocar.batch.state import NotFinite
from trocar.errors import TrocarError
from trocar.simulation import Diverged

pytestmark = pytest.mark.xdist_group("batch_divergence")  # one worker: fixtures are built once
HOME = np.array(tr.load_arm("PSM").home)


@pytest.fixture(scope="module", params=["c", "jax"])
def arms(request):
    if request.param == "jax":
        return batch.load("ECM", backend="jax")
    return batch.load("PSM", backend="c")


def test_a_controller_that_is_unstable_at_its_step_is_named_by_the_arm():
    arms = batch.load("PSM", backend="c")
    q = np.tile(HOME[:, None], 5)
    q_ref = q.copy()
    q_ref[3:, 3] += 0.3  # the others rest at their references
    with pytest.raises(NotFinite, match="arm 3 of 5 has diverged") as caught:
        arms.rollout(arms.state(q), batch.JointPID(q_ref), 1e-2, steps=500)
    assert caught.value.arm == 3


@pytest.mark.parametrize("backend", ["c", "jax"])
def test_rates_that_no_arm_has_diverge(backend):
    arms = batch.load("ECM", backend=backend, limits=False)
    tau = np.zeros((arms.n, 4))
    tau[0, 2] = 1e8
    with pytest.raises(NotFinite, match="arm 2 of 4 has diverged"):
        arms.rollout(arms.state(np.tile(np.array(arms.mechanism.arm.home)[:, None], 4)), tau, 1e-3, steps=200)


@pytest.mark.parametrize("simulator", [tr.Simulator, tr.ReducedSimulator])
@pytest.mark.filterwarnings("ignore::trocar.errors.Inaccurate", "ignore::trocar.errors.Unsolved")
def test_joints_far_beyond_their_stops_diverge_in_both_engines(simulator):
    sim, rng = simulator("PSM"), np.random.default_rng(1)
    sim.reset(HOME)
    efforts = 1e4 * np.array([3, 3, 30, 0.1, 0.1, 0.1, 0.1]) * rng.normal(size=(100, 7))
    with pytest.raises(Diverged, match="the simulation of PSM diverged"):
        deque(map(sim.step, efforts), maxlen=0)


@pytest.mark.parametrize("simulator", [tr.Simulator, tr.ReducedSimulator])
def test_efforts_that_mujoco_would_ignore_are_refused(simulator):
    sim = simulator("PSM")
    sim.reset(HOME)
    with pytest.raises(TrocarError, match=r"must be (finite and )?below 1e\+09"):
        sim.step(np.full(7, 1e11))
    with pytest.raises(Diverged, match=r"efforts must be below 1e\+09"):
        tr.load_scene("psm").step({"PSM": np.full(7, 1e11)})


def test_scenes_that_diverge_are_listed():
    scenes = batch.SceneRollouts(tr.Simulator("PSM"), threads=2)
    tau = np.zeros((50, 7, 6))
    tau[:, 0, [1, 4]] = 1e7
    with pytest.raises(NotFinite, match="2 of 6 scenes have diverged: 1, 4") as caught:
        scenes.rollout(scenes.state(np.tile(HOME[:, None], 6)), tau)
    assert caught.value.arm == 1
    with pytest.raises(TrocarError, match=r"tau must be finite and below 1e\+09"):
        scenes.rollout(scenes.state(np.tile(HOME[:, None], 6)), 1e12 * tau)


def stepped(arms, dt):
    return arms.step(arms.state(np.zeros(arms.n)), np.zeros(arms.n), dt)


def rolled(arms, tau, **options):
    return arms.rollout(arms.state(np.zeros(arms.n)), tau, 1e-3, steps=1, **options)


MASKED = np.ma.masked_array(np.zeros(7), [True] + [False] * 6)
WRONG = {
    "complex joints": (lambda arms: arms.state(HOME[: arms.n] + 1j), "it holds complex128"),
    "masked joints": (lambda arms: arms.state(MASKED[: arms.n]), "some of its values are masked"),
    "joints as objects": (lambda arms: arms.state(np.array([None] * arms.n)), "it holds object"),
    "joints as a dictionary": (lambda arms: arms.state({}), "it holds object"),
    "huge joints": (lambda arms: arms.state(np.full(arms.n, 1e81)), "q must be "),
    "no time step": (lambda arms: stepped(arms, None), "dt must be a number from 1e-09 to 0.1 [s]"),
    "a long time step": (lambda arms: stepped(arms, 1e3), "dt must be a number from 1e-09 to 0.1 [s]"),
    "gains as text": (lambda arms: rolled(arms, batch.JointPD(np.zeros(arms.n), "x", 1)), "kp must be an array of"),
    "samples as text": (lambda arms: rolled(arms, np.zeros(arms.n), every="x"), "every must be a whole number"),
}


@pytest.mark.parametrize(("call", "reason"), WRONG.values(), ids=WRONG)
def test_wrong_values_of_a_batch_are_one_line_errors(arms, call, reason):
    with pytest.raises(TrocarError, match=re.escape(reason)):
        call(arms)


def test_a_reset_to_impossible_joints_is_refused(arms):
    state = arms.state(np.zeros((arms.n, 3)))
    with pytest.raises(TrocarError, match=r"q must be (within|finite)"):
        arms.reset(state, np.ones(3, dtype=bool), np.full(arms.n, 1e81))
