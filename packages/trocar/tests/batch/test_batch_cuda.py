"""The CUDA backend on a GPU: the same steps as in C. Without one, see test_batch_kernel.py.

These tests need neither Pinocchio nor MuJoCo. Where both are missing, pass `--noconftest`.
"""

from importlib import import_module

import numpy as np
import pytest

import trocar as tr
from trocar import batch

pytest.importorskip("cuda.bindings", reason="needs NVIDIA's bindings: pip install cuda-bindings nvidia-cuda-nvrtc")
DT = 1e-3


def load(*args, **options):
    try:
        return batch.load(*args, backend="cuda", **options)
    except tr.TrocarError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def reference():
    return batch.load("PSM")


@pytest.fixture(scope="module")
def motion(reference):
    """q, dq (7, 300) and efforts (20, 7, 300)."""
    arm, rng = reference.mechanism.arm, np.random.default_rng(0)
    q = rng.uniform(arm.lower, arm.upper, (300, 7)).T
    push = 0.3 * np.array([1, 1, 5, 0.01, 0.01, 0.01, 0.01])[:, None]
    tau = reference.bias(q, np.zeros_like(q)) + push * rng.normal(size=(20, 7, 300))
    return q, 0.3 * rng.normal(size=(7, 300)), tau


def test_a_rollout_is_that_of_the_c_backend(reference, motion):
    q, dq, tau = motion
    expected, expected_log = reference.rollout(reference.state(q, dq), tau, DT, every=3)
    for precision, tolerance in (("float64", 1e-9), ("float32", 1e-3)):
        arms = load("PSM", precision=precision)
        end, log = arms.rollout(arms.state(q, dq), tau, DT, every=3)
        np.testing.assert_allclose(np.asarray(end.q), expected.q, rtol=0, atol=tolerance)
        np.testing.assert_allclose(np.asarray(log.q), expected_log.q, rtol=0, atol=tolerance)
        np.testing.assert_allclose(np.asarray(log.tau), expected_log.tau, rtol=1e-5, atol=1e-6)
        assert log.recording(7).q.shape == (7, 7)


def test_steps_queries_and_resets_work_on_the_gpu(reference, motion):
    q, dq, tau = motion
    arms = load("PSM", precision="float64")
    state = arms.step(arms.step(arms.state(q, dq), tau[0], DT), tau[1], DT)
    expected = reference.step(reference.step(reference.state(q, dq), tau[0], DT), tau[1], DT)
    np.testing.assert_allclose(np.asarray(state.rows), expected.rows, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(np.asarray(arms.tip_pose(q)), reference.tip_pose(q), atol=1e-12)
    mask = np.arange(300) % 2 == 0
    back = arms.reset(state, mask, q)
    np.testing.assert_array_equal(np.asarray(back.q)[:, mask], q[:, mask])
    np.testing.assert_array_equal(np.asarray(back.q)[:, ~mask], np.asarray(state.q)[:, ~mask])


def test_parameters_of_each_arm_controllers_and_gradients_work_on_the_gpu(reference, motion):
    q, dq, tau = motion
    mass = reference.mechanism.tree.mass[:, None] * np.random.default_rng(1).uniform(0.8, 1.2, (13, 300))
    arms, expected = (x.with_parameters(mass=mass) for x in (load("PSM", precision="float64"), reference))
    control = batch.JointPID(np.array(reference.mechanism.arm.home), ki=10.0)
    ends = [x.rollout(x.state(q, dq), control, DT, 30, log=False)[0] for x in (arms, expected)]
    np.testing.assert_allclose(np.asarray(ends[0].q), ends[1].q, rtol=0, atol=1e-8)
    weights = np.random.default_rng(2).normal(size=(21, 7, 300))
    gradients = [x.gradients(x.state(q, dq), tau, DT, weights) for x in (arms, expected)]
    for ours, theirs in zip(*gradients, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6 * np.abs(theirs).max())


def test_joint_stops_and_sticking_friction_work_on_the_gpu(reference, motion):
    """A third of the arms under a load below Coulomb friction, a third driven into a limit."""
    q, dq, tau = (x.copy() for x in (motion[0], motion[1], motion[2][0]))
    arm, Fc = reference.mechanism.arm, reference.mechanism.tree.drives.Fc[0]
    q[:, :100] = np.array(arm.home)[:, None]
    dq[:, :100], tau[:, :100] = 0.0, reference.bias(q[:, :100], dq[:, :100] * 0)
    tau[0, :100] += np.linspace(-0.7, 0.7, 100) * Fc
    q[1, 100:200], dq[1, 100:200] = arm.upper[1] - 1e-4, 1.0
    expected, _ = reference.rollout(reference.state(q, dq), tau, DT, 50, log=False)
    assert (expected.stops[1, 100:200] != 0).any()
    for precision, tolerance in (("float64", 1e-9), ("float32", 1e-3)):
        arms = load("PSM", precision=precision)
        end, _ = arms.rollout(arms.state(q, dq), tau, DT, 50, log=False)
        np.testing.assert_allclose(np.asarray(end.q), expected.q, rtol=0, atol=tolerance)
        np.testing.assert_array_equal(np.asarray(end.q)[0, :100], q[0, :100].astype(precision))


def test_arrays_of_pytorch_and_jax_are_read_in_place(motion):
    q, dq, tau = motion
    arms = load("PSM")
    expected = np.asarray(arms.step(arms.state(q, dq), tau[0], DT).q)
    given = {"torch": lambda torch: torch.tensor(tau[0], dtype=torch.float32, device="cuda")}
    given["jax"] = lambda jax: jax.device_put(tau[0].astype(np.float32), jax.devices("gpu")[0]).block_until_ready()
    tried = 0
    for name, placed in given.items():
        try:
            array = placed(import_module(name))
        except (ImportError, RuntimeError):
            continue
        tried += 1
        end = arms.step(arms.state(q, dq), array, DT)
        np.testing.assert_array_equal(np.asarray(end.q), expected)
        back = import_module("torch").as_tensor(end.q, device="cuda") if name == "torch" else None
        if back is not None:
            assert back.data_ptr() == end.q.address
    if not tried:
        pytest.skip("needs PyTorch or JAX with a GPU")


def test_states_that_are_not_finite_are_reported_with_the_arm(motion):
    q, dq, tau = motion
    arms, bad = load("PSM"), tau[0].copy()
    bad[3, 211] = np.nan
    with pytest.raises(batch.NotFinite, match="arm 211 of 300"):
        arms.step(arms.state(q, dq), bad, DT)


def test_a_log_that_does_not_fit_is_reported_in_one_line(motion):
    q, dq, _ = motion
    arms = load("PSM")
    with pytest.raises(tr.TrocarError, match=r"does not fit|a log of .* needs") as caught:
        arms.rollout(arms.state(q, dq), np.zeros(7), DT, 10**8)
    assert "\n" not in str(caught.value)
