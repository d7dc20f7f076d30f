"""The JAX backend on a small arm: the same steps as in C, jit, and gradients."""

import numpy as np
import pytest
from arms.test_own_arm import own_arm, own_parameters

import trocar as tr
from trocar import batch

pytestmark = pytest.mark.xdist_group("batch_jax")  # one worker: fixtures are built once
jax = pytest.importorskip("jax", reason="needs JAX: pip install 'trocar[batch]'")
jnp = pytest.importorskip("jax.numpy")

DT = 1e-3


@pytest.fixture(scope="module", autouse=True)
def float64():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture(scope="module")
def pair(float64):
    """The same arm in JAX and in C; without limits, which XLA takes long to compile."""
    return tuple(batch.load(own_arm(), own_parameters(), backend=name, limits=False) for name in ("jax", "c"))


@pytest.fixture(scope="module")
def motion(pair):
    """q, dq (3, 4) and efforts (11, 3, 4)."""
    mech, rng = pair[0].mechanism, np.random.default_rng(0)
    q = rng.uniform(mech.arm.lower, mech.arm.upper, (4, 3)).T
    dq = 0.5 * rng.normal(size=(3, 4))
    return q, dq, mech.gravity(q.T).T + rng.normal(size=(11, 3, 4))


def test_a_rollout_is_that_of_the_c_backend(pair, motion):
    q, dq, tau = motion
    results = [arms.rollout(arms.state(q, dq), tau, DT, every=3) for arms in pair]
    (ours, log), (expected, expected_log) = results
    np.testing.assert_allclose(ours.rows, expected.rows, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(log.samples, expected_log.samples, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(log.recording(2).q, expected_log.recording(2).q, rtol=1e-10, atol=1e-12)


def test_a_jitted_step_is_that_of_the_c_backend(pair, motion):
    q, dq, tau = motion
    ours = jax.jit(pair[0].step)(pair[0].state(q, dq), tau[0], DT)
    expected = pair[1].step(pair[1].state(q, dq), tau[0], DT)
    np.testing.assert_allclose(ours.q, expected.q, rtol=1e-12)
    np.testing.assert_allclose(ours.rows, expected.rows, rtol=1e-10, atol=1e-12)


def test_a_function_of_the_state_runs_inside_a_scan(pair, motion):
    q, dq, tau = motion
    results = [
        arms.rollout(arms.state(q, dq), lambda state, t: tau[0] - 0.5 * state.dq + t, DT, 7, log=False)[0]
        for arms in pair
    ]
    np.testing.assert_allclose(results[0].rows, results[1].rows, rtol=1e-10, atol=1e-12)


def test_gradients_by_efforts_states_and_parameters_match_finite_differences(pair, motion):
    arms, reference = pair
    q, dq, tau = motion
    weights = np.random.default_rng(1).normal(size=(3, 4))
    gravity = np.array(arms.mechanism.tree.gravity)
    Fv = np.array(arms.mechanism.tree.drives.Fv)

    def loss(arms, q, tau, gravity, Fv):
        changed = arms.with_parameters(gravity=gravity, Fv=Fv)
        end, _ = changed.rollout(changed.state(q, dq), tau, DT, log=False)
        return (end.q * weights).sum() + (end.dq * weights).sum()

    given = q, tau, gravity, Fv
    found = jax.grad(lambda *x: loss(arms, *x), argnums=(0, 1, 2, 3))(*map(jnp.asarray, given))
    rng = np.random.default_rng(2)
    for k, gradient in enumerate(found):
        direction = rng.normal(size=given[k].shape) * (given[k] != 0)
        step = 1e-6 * np.abs(given[k]).max()
        ends = [
            loss(reference, *(x + sign * step * direction if i == k else x for i, x in enumerate(given)))
            for sign in (1, -1)
        ]
        np.testing.assert_allclose((gradient * direction).sum(), (ends[0] - ends[1]) / (2 * step), rtol=1e-5)


def test_states_that_are_not_finite_are_reported_with_the_arm(pair, motion):
    q, dq, tau = motion
    bad = tau.copy()
    bad[0, 1, 2] = np.nan
    with pytest.raises(batch.NotFinite, match="arm 2 of 4"):
        pair[0].rollout(pair[0].state(q, dq), bad, DT, every=3)


def test_float64_needs_a_configuration_for_it():
    jax.config.update("jax_enable_x64", False)
    try:
        with pytest.raises(tr.TrocarError, match="jax_enable_x64"):
            batch.load(own_arm(), own_parameters(), backend="jax", precision="float64")
        arms = batch.load(own_arm(), own_parameters(), backend="jax")
        assert arms.state(np.zeros(3)).rows.dtype == np.float32
    finally:
        jax.config.update("jax_enable_x64", True)
