"""Generated steps of many arms: a second derivation of the equations, which must agree with the first."""

import ctypes
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from arms.test_own_arm import own_arm, own_parameters
from typer.testing import CliRunner

import trocar as tr
from tests.support.hysteresis_set import full_set
from trocar import batch
from trocar.batch.backends import jax as jax_backend
from trocar.batch.c_export import c_files
from trocar.batch.equations.programs import step_program
from trocar.cli import app
from trocar.laws.sources.c_source import c_source
from trocar.mechanics import Mechanism

pytestmark = pytest.mark.xdist_group("batch")  # one worker: fixtures are built once
DT = 1e-3
CASES = [*tr.ARMS, "PSM with all friction", "PSM without counterweight", "own"]


def mechanism(case):
    if case == "PSM with all friction":
        return Mechanism(tr.load_arm("PSM", "wang2019"), full_set())
    if case == "PSM without counterweight":
        return tr.load_mechanism("PSM", counterweight=False, gravity=(2.0, -1.0, -9.0))
    if case == "own":
        return tr.load_mechanism(own_arm(), own_parameters())
    return tr.load_mechanism(case)


@pytest.fixture(scope="module", params=CASES)
def arms(request):
    """Arms of every kind, in C."""
    return batch.load(mechanism(request.param))


@pytest.fixture(scope="module")
def psm():
    return batch.load("PSM")


def states(mech, count, seed=0):
    """q, dq and tau (n, count): positions within the limits, efforts near those that hold the arm."""
    rng = np.random.default_rng(seed)
    q = rng.uniform(mech.arm.lower, mech.arm.upper, (count, mech.n))
    tau = mech.gravity(q) + 0.3 * rng.normal(size=q.shape) * np.abs(np.diagonal(mech.mass_matrix(q), axis1=1, axis2=2))
    return q.T, 0.5 * rng.normal(size=q.T.shape), tau.T


def close(ours, expected, tolerance=1e-12):
    """Equal relative to the largest value of each row (the first axis)."""
    ours, expected = np.asarray(ours), np.asarray(expected)
    assert ours.shape == expected.shape
    size = np.abs(expected).reshape(len(expected), -1).max(1).reshape(-1, *(1 for _ in expected.shape[1:]))
    assert (np.abs(ours - expected) <= tolerance * np.maximum(size, 1e-6 * np.abs(expected).max())).all()


# -- the equations -----------------------------------------------------------------------------------------------------


def test_accelerations_agree_with_the_mechanism(arms):
    mech = arms.mechanism
    q, dq, tau = states(mech, 11)  # not a multiple of the lanes
    expected = mech.forward_dynamics(q.T, dq.T, tau.T).T
    close(arms.forward_dynamics(q, dq, tau), expected)


def test_tip_pose_jacobian_and_mass_matrix_agree_with_the_mechanism(arms):
    mech = arms.mechanism
    q, _, _ = states(mech, 3)
    close(np.moveaxis(arms.tip_pose(q), -1, 0), mech.forward_kinematics(q.T))
    close(np.moveaxis(arms.jacobian(q), -1, 0), mech.jacobian(q.T))
    close(np.moveaxis(arms.mass_matrix(q), -1, 0), mech.mass_matrix(q.T))


def test_one_arm_has_the_accelerations_of_a_batch(psm):
    q, dq, tau = states(psm.mechanism, 5)
    many = psm.forward_dynamics(q, dq, tau)
    for k in range(5):
        close(psm.forward_dynamics(q[:, k], dq[:, k], tau[:, k]), many[:, k], 1e-13)


# -- the step ----------------------------------------------------------------------------------------------------------


def merged(mech):
    """Drives with Coulomb friction by coordinate: (rows a (f, n), weights (f, m) of the drives' friction)."""
    d, rows, weights = mech.tree.drives, [], []
    carried = d.L @ mech.gravity(states(mech, 1)[0][:, 0])  # a massless wrist has none
    for i, a in enumerate(d.A):
        if not (d.Fc[i] or d.Fx[i] or d.mu[i] * carried[i]):
            continue
        for k, row in enumerate(rows):
            w = a @ row / (row @ row)
            if np.allclose(a, w * row):
                weights[k][i] += abs(w)
                break
        else:
            rows.append(a)
            weights.append(np.eye(len(d.Fc))[i])
    return np.array(rows), np.array(weights)


def reference_step(mech, q, dq, forces, stops, z, tau, dt):
    """The step of docs/batch.md for one arm, in NumPy on `Mechanism.terms`."""
    tree, d, a = mech.tree, mech.tree.drives, mech.tree.drives.A
    M, c, g = mech.terms(q, dq)
    rows, weights = merged(mech)
    F = weights @ (np.maximum(d.Fc + d.Fx * (a @ q), 0.0) + d.mu * np.abs(d.L @ g))
    B = a.T @ (d.Fv[:, None] * a)
    owner = d.dahl_drive
    dahl = a[owner].T @ ((d.dahl_F + d.dahl_slope * (a[owner] @ q)) * z)
    inverse = np.linalg.inv(M + dt * B)
    forces, stops = forces.copy(), stops.copy()
    effort = tau - c - g - B @ dq - dahl + rows.T @ forces + stops
    for k in range(len(rows) if np.abs(dq).max() < 1e-9 else 0):  # at rest, friction balances the efforts
        new = np.clip(forces[k] - rows[k] @ effort / (rows[k] @ rows[k]), -F[k], F[k])
        effort, forces[k] = effort + (new - forces[k]) * rows[k], new
    v = dq + dt * inverse @ effort
    below, above = tree.lower - q, tree.upper - q
    least = (np.minimum(below, 0.0) + 0.1 * np.maximum(below, 0.0)) / dt
    most = (np.maximum(above, 0.0) + 0.1 * np.minimum(above, 0.0)) / dt

    def slide(k):
        nonlocal v
        push = dt * inverse @ rows[k]
        new = np.clip(forces[k] - rows[k] @ v / (rows[k] @ push), -F[k], F[k])
        v, forces[k] = v + (new - forces[k]) * push, new

    def stop(j):
        nonlocal v
        push = dt * inverse[:, j]
        new = stops[j] + (np.clip(v[j] - push[j] * stops[j], least[j], most[j]) - v[j]) / push[j]
        v, stops[j] = v + (new - stops[j]) * push, new

    for k in (*reversed(range(len(rows))), *range(len(rows))):
        slide(k)
    for j in range(mech.n):
        stop(j)
    ds = a[owner] @ (dt * v)
    z = np.sign(ds) + (z - np.sign(ds)) * np.exp(-np.abs(ds) / d.dahl_delta)
    return q + dt * v, v, forces, stops, z


def test_twenty_steps_agree_with_the_mechanism(arms):
    mech = arms.mechanism
    q, dq, tau = states(mech, 3)
    q[:, 1] = mech.arm.upper + 1e-4  # beyond a limit
    dq[:, 2] = 0.0
    end, _ = arms.rollout(arms.state(q, dq), tau, DT, 20)
    for k in range(3):
        memory = (np.zeros(len(part)) for part in (end.friction, end.stops, end.hysteresis))
        x = (q[:, k], dq[:, k], *memory)
        for _ in range(20):
            x = reference_step(mech, *x, tau[:, k], DT)
        for ours, expected in zip((end.q, end.dq, end.friction, end.stops, end.hysteresis), x, strict=True):
            np.testing.assert_allclose(
                ours[:, k], expected, rtol=0, atol=1e-9 * max(1.0, np.abs(expected).max(initial=0))
            )


def test_a_step_of_one_arm_is_a_step_of_a_batch(psm):
    q, dq, tau = states(psm.mechanism, 3)
    many = psm.step(psm.state(q, dq), tau, DT)
    for k in range(3):
        one = psm.step(psm.state(q[:, k], dq[:, k]), tau[:, k], DT)
        np.testing.assert_allclose(one.rows, many.rows[:, k], rtol=1e-11, atol=1e-13)


def test_a_step_does_not_change_its_input_state(psm):
    state = psm.state(psm.mechanism.arm.home)
    before = state.rows.copy()
    psm.step(state, np.ones(7), DT)
    np.testing.assert_array_equal(state.rows, before)


# -- friction ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", tr.ARMS)
def test_a_load_below_coulomb_friction_moves_nothing(name):
    """70 % of the Coulomb friction of each coordinate in turn, with the weight compensated, for 10 s."""
    arms = batch.load(name)
    mech, d = arms.mechanism, arms.mechanism.tree.drives
    q = np.array(mech.arm.home)
    rows, weights = merged(mech)
    F = weights @ (d.Fc + d.Fx * (d.A @ q) + d.mu * np.abs(d.L @ mech.gravity(q)))
    shared = ((rows != 0.0).astype(int) @ (rows != 0.0).T.astype(int) > 0).sum(1) > 1  # joints with another coordinate

    def moved(load):
        """(S, f): largest displacement of any joint over time, with a load on each coordinate in turn."""
        tau = mech.gravity(q)[:, None] + load * (F[:, None] * rows).T
        _, log = arms.rollout(arms.state(np.tile(q[:, None], len(rows))), tau, DT, 10_000, every=100)
        return np.abs(log.q - q[:, None]).max(1)

    held = moved(0.7)
    assert held[:, ~shared].max(initial=0.0) == 0.0
    # coordinates that share a joint share the load: it takes some steps until their forces have settled
    assert held.max() < 5e-6
    assert np.abs(held - held[1])[1:].max() < 1e-12
    assert (moved(1.1)[-1, ~shared] > 1e-3).all()


def test_friction_dissipates_energy(psm):
    """A PSM with an initial velocity, without gravity and effort, comes to rest and stays at rest."""
    arms = psm.with_parameters(gravity=np.zeros(3), K0=np.zeros(12), K=np.zeros(12))
    mech = arms.mechanism
    q, dq, _ = states(mech, 4)
    end, log = arms.rollout(arms.state(q, 0.3 * dq), np.zeros(7), DT, 3000)
    energy = [0.5 * dq[:, 0] @ mech.mass_matrix(q[:, 0]) @ dq[:, 0] for q, dq in zip(log.q, log.dq, strict=True)]
    assert (np.diff(energy) <= 1e-9 * energy[0]).all()
    assert np.abs(end.dq).max() < 1e-12


def test_joints_stop_at_their_limits(psm):
    """Driven into its limits with large efforts, the arm stays within them."""
    mech = psm.mechanism
    rng = np.random.default_rng(0)
    tau = np.array(mech.arm.motors.effort)[:, None] * rng.choice([-1.0, 1.0], (7, 16))
    _, log = psm.rollout(psm.state(np.tile(np.array(mech.arm.home)[:, None], 16)), tau, DT, 2000, every=10)
    over = np.maximum(mech.arm.lower[:, None] - log.q, log.q - mech.arm.upper[:, None])
    assert over.max() < 1e-2  # the impact of one joint moves coupled joints
    assert np.abs(over[-1]).min(0).max() < 1e-6  # each arm rests at a limit
    assert over[-1].max() < 1e-5
    free = batch.load("PSM", limits=False)
    _, log = free.rollout(free.state(mech.arm.home), tau[:, 0], DT, 2000, every=10)
    assert (np.maximum(mech.arm.lower - log.q, log.q - mech.arm.upper)).max() > 0.1


@pytest.mark.parametrize(("name", "tolerance"), [("PSM", 1e-7), ("PSM_Si", 2e-6), ("MTML", 2e-5)])
def test_the_engine_agrees(name, tolerance):
    """The closed chain in MuJoCo, pushed against its friction for 0.3 s: a third derivation."""
    arms, sim = batch.load(name), tr.Simulator(name)
    mech = arms.mechanism
    q = np.array(mech.arm.home)
    push = 2.5 * np.abs(mech.friction(q, np.full(mech.n, 1e-9))) * [1, -1, 1, -1, 1, -1, 1]
    tau = mech.gravity(q) + push
    sim.reset(q)
    for _ in range(300):
        sim.step(tau)
    end, _ = arms.rollout(arms.state(q), tau, DT, 300)
    assert (np.abs(sim.q - q) > 0.01).all()
    np.testing.assert_allclose(end.q, sim.q, rtol=0, atol=tolerance)


# -- rollouts ----------------------------------------------------------------------------------------------------------


def test_a_rollout_equals_its_single_steps(psm):
    q, dq, tau = states(psm.mechanism, 9)
    efforts = tau + 0.1 * np.sin(np.arange(13))[:, None, None]
    end, log = psm.rollout(psm.state(q, dq), efforts, DT, every=3, t0=2.0)
    state, kept = psm.state(q, dq), []
    for k, effort in enumerate(efforts):
        new = psm.step(state, effort, DT)
        if k % 3 == 0:
            kept.append((state.q, state.dq, effort, (new.dq - state.dq) / DT))
        state = new
    np.testing.assert_allclose(end.rows, state.rows, rtol=1e-12, atol=1e-14)
    for ours, expected in zip((log.q, log.dq, log.tau, log.ddq), zip(*kept, strict=True), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(log.t, 2.0 + DT * np.arange(0, 13, 3))


def test_a_function_of_the_state_is_called_at_every_step(psm):
    q, dq, tau = states(psm.mechanism, 3)
    end, log = psm.rollout(psm.state(q, dq), lambda state, t: tau - 0.1 * state.dq + t, DT, 5, t0=1.0)
    state = psm.state(q, dq)
    for k in range(5):
        state = psm.step(state, tau - 0.1 * state.dq + (1.0 + k * DT), DT)
    np.testing.assert_allclose(end.rows, state.rows, rtol=1e-12, atol=1e-14)
    assert log.q.shape == (5, 7, 3)


def test_generated_controllers_equal_those_of_control(psm):
    mech, arm = psm.mechanism, psm.mechanism.arm
    q_ref = np.array(arm.home) + 0.05 * np.sin(np.arange(20))[:, None] * [1, 1, 0.2, 1, 1, 1, 0.2]
    zero = np.zeros(7)
    kp, kd = 20.0 * np.ones(7), 0.5 * np.ones(7)
    ki = 30.0 * np.ones(7)
    cases = (
        (batch.JointPD(q_ref, kp, kd), tr.JointPD(kp, kd)),
        (batch.JointPID(q_ref, ki=ki), tr.JointPID(arm, ki=ki)),
        (batch.ComputedTorque(q_ref, 400.0, 40.0), tr.ComputedTorque(mech, 400.0, 40.0)),
    )
    for ours, theirs in cases:
        theirs.period = DT
        end, log = psm.rollout(psm.state(arm.home), ours, DT)
        theirs.reset()
        state = psm.state(arm.home)
        for k, q in enumerate(q_ref):
            tau = theirs(tr.State(0.0, state.q, state.dq), tr.Setpoint(q, zero, zero))
            np.testing.assert_allclose(log.tau[k], tau, rtol=1e-8, atol=1e-8)
            state = psm.step(state, tau, DT)
        np.testing.assert_allclose(end.q, state.q, rtol=0, atol=1e-10)


def test_computed_torque_has_the_nominal_model_or_that_of_each_arm(psm):
    """Heavier arms: the effort is that of `Mechanism` for the nominal model, and perfect tracking for their own."""
    mech = psm.mechanism
    heavy = psm.with_parameters(mass=1.5 * mech.tree.mass, Fc=np.zeros(12), Fv=np.zeros(12))
    q, dq, _ = (x[:, 0] for x in states(mech, 1))
    ddq = np.full(7, 0.1)
    commands = {}
    for model in ("nominal", "own"):
        control = batch.ComputedTorque(q[None], 400.0, 40.0, dq_ref=dq[None], ddq_ref=ddq[None], model=model)
        _, commands[model] = heavy.rollout(heavy.state(q, dq), control, DT)
    np.testing.assert_allclose(commands["nominal"].tau[0], mech.inverse_dynamics(q, dq, ddq), rtol=1e-9, atol=1e-12)
    assert np.abs(commands["nominal"].ddq[0] - ddq).max() > 0.1
    np.testing.assert_allclose(commands["own"].ddq[0], ddq, atol=1e-9)


def test_the_integral_of_a_pid_continues_in_the_next_rollout(psm):
    control = batch.JointPID(np.array(psm.mechanism.arm.home) + 0.01, ki=50.0)
    start = psm.state(psm.mechanism.arm.home)
    whole, _ = psm.rollout(start, control, DT, 40)
    half, _ = psm.rollout(start, control, DT, 20)
    half, _ = psm.rollout(half, control, DT, 20)
    np.testing.assert_allclose(half.rows, whole.rows, rtol=1e-12)
    assert np.abs(whole.integral).max() > 0


def test_a_recording_of_one_arm_satisfies_the_equations(psm):
    mech = psm.mechanism
    q, dq, tau = states(mech, 2)
    _, log = psm.rollout(psm.state(q, dq), tau, DT, 50)
    recording = log.recording(1)
    np.testing.assert_array_equal(recording.extra["applied_tau"], np.tile(tau[:, 1], (50, 1)))
    np.testing.assert_allclose(recording.tau - recording.extra["applied_tau"], np.tile(mech.effort_bias, (50, 1)))
    np.testing.assert_array_equal(recording.q, log.q[:, :, 1])


def test_resets_put_the_masked_arms_back(psm):
    q, dq, tau = states(psm.mechanism, 4)
    state, _ = psm.rollout(psm.state(q, dq), tau, DT, 10)
    mask = np.array([True, False, False, True])
    new = psm.reset(state, mask, q[:, 0])
    np.testing.assert_array_equal(new.rows[:, 1:3], state.rows[:, 1:3])
    np.testing.assert_array_equal(new.q[:, [0, 3]], np.tile(q[:, :1], 2))
    assert not new.dq[:, [0, 3]].any()
    assert not new.friction[:, [0, 3]].any()


# -- gradients ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["own", "PSM with all friction"])
def test_gradients_of_a_rollout_match_finite_differences(case):
    arms = batch.load(mechanism(case), limits=False)
    q, dq, tau = states(arms.mechanism, 3)
    efforts = np.repeat(tau[None], 12, axis=0)
    rng = np.random.default_rng(3)
    weights = rng.normal(size=(2, 13, *q.shape))

    def loss(q, dq, efforts):
        end, log = arms.rollout(arms.state(q, dq), efforts, DT)
        Q, V = (np.concatenate([a, b[None]]) for a, b in ((log.q, end.q), (log.dq, end.dq)))
        return (weights[0] * Q).sum() + (weights[1] * V).sum()

    given = q, dq, efforts
    found = arms.gradients(arms.state(q, dq), efforts, DT, *weights)
    for k, gradient in enumerate(found):
        assert gradient.shape == given[k].shape
        direction = rng.normal(size=given[k].shape) * np.abs(given[k]).max()
        ends = [loss(*(x + s * 1e-8 * direction if i == k else x for i, x in enumerate(given))) for s in (1, -1)]
        np.testing.assert_allclose((gradient * direction).sum(), (ends[0] - ends[1]) / 2e-8, rtol=1e-5)


@pytest.mark.parametrize("shared", [True, False])
def test_gradients_by_parameters_of_smooth_motion_match_finite_differences(shared):
    """Without Coulomb friction, to 1e-7; parameters that all arms share have the sum of the gradients of the arms."""
    arms = batch.load("PSM", limits=False).with_parameters(Fc=np.zeros(len(mechanism("PSM").tree.drives.Fc)))
    q, dq, tau = states(arms.mechanism, 3)
    efforts, tree = np.repeat(tau[None], 12, axis=0), arms.mechanism.tree
    weights = np.random.default_rng(3).normal(size=q.shape)
    values = {"mass": tree.mass, "com": tree.com, "Fv": tree.drives.Fv, "gravity": tree.gravity}
    if not shared:
        values = {name: np.repeat(np.array(x)[..., None], 3, axis=-1) for name, x in values.items()}
    arms = arms.with_parameters(**values)

    def loss(**changed):
        return (weights * other(changed).rollout(arms.state(q, dq), efforts, DT, log=False)[0].q).sum()

    def other(changed):
        return arms.with_parameters(**changed)

    *_, found = arms.gradients(arms.state(q, dq), efforts, DT, weights, parameters=list(values))
    assert set(found) == set(values)
    for name, value in values.items():
        assert found[name].shape == value.shape
        direction = np.random.default_rng(4).normal(size=value.shape) * np.abs(value)
        ends = [loss(**{name: value + s * 1e-4 * direction}) for s in (1, -1)]
        np.testing.assert_allclose((found[name] * direction).sum(), (ends[0] - ends[1]) / 2e-4, rtol=1e-7)


def test_gradients_of_an_arm_at_rest_whose_friction_is_zero_are_finite_differences():
    """The friction force is at both of its bounds at once: they hold it, whatever the efforts."""
    arms = batch.load("PSM")
    home = np.array(arms.mechanism.arm.home)
    arms = arms.with_parameters(Fc=np.zeros(len(arms.mechanism.tree.drives.Fc)))
    efforts = np.tile(arms.mechanism.gravity(home), (3, 1))
    weights, direction = np.random.default_rng(0).normal(size=(2, 3, 7))
    *_, found = arms.gradients(arms.state(home), efforts, DT, weights[0])
    step = 1e-5 * direction
    ends = [arms.rollout(arms.state(home), efforts + x, DT)[0].q @ weights[0] for x in (step, -step)]
    np.testing.assert_allclose((found * step).sum(), (ends[0] - ends[1]) / 2, rtol=1e-5)


def test_gradients_of_the_end_are_those_of_a_loss_of_the_last_state_alone():
    arms = batch.load("ECM", friction=False, limits=False)
    q, dq, tau = states(arms.mechanism, 3)
    by_q, by_dq = np.random.default_rng(1).normal(size=(2, *q.shape))
    whole = np.zeros((2, 6, *q.shape))
    whole[:, -1] = by_q, by_dq
    efforts = np.repeat(tau[None], 5, axis=0)
    for ours, theirs in zip(
        arms.gradients(arms.state(q, dq), efforts, DT, by_q, by_dq),
        arms.gradients(arms.state(q, dq), efforts, DT, *whole),
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-15)


# -- contact -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["plane", "sphere"])
def test_a_tip_that_is_pressed_on_a_surface_stays_within_friction(kind):
    """1 N onto a surface of 2 N/mm and sideways 0.2, 0.4 N: friction 0.3 holds the first and not the second."""
    mech = tr.load_mechanism("PSM")
    q = np.array(mech.arm.home)
    tip = mech.forward_kinematics(q)[:3, 3]
    common = {"stiffness": 2000.0, "damping": 5.0, "friction": 0.3}
    surface = {
        "plane": batch.Plane(normal=[0, 0, 2.0], offset=tip[2], **common),
        "sphere": batch.Sphere(centre=tip - [0, 0, 0.5], radius=0.5, **common),
    }[kind]
    arms = batch.load("PSM", surfaces=[surface])
    force = np.array([[0.2, 0.4, 0.0], [0, 0, 0], [-1.0, -1.0, 0.2]])  # the third is lifted off
    tau = mech.gravity(q)[:, None] + np.vstack([mech.jacobian(q)[:3].T @ force, np.zeros(3)])
    # a damped arm without friction, with its wrist held
    arms = arms.with_parameters(Fc=np.zeros(12), Fv=np.array([0.5, 0.5, 5.0] + [0.5] * 5 + [0.0] * 4))
    end, _ = arms.rollout(arms.state(np.tile(q[:, None], 3)), tau, DT, 400, log=False)
    moved = arms.tip_pose(end.q)[:3, 3] - tip[:, None]
    normal, *tangents = end.contact
    np.testing.assert_allclose(normal[0], 1.0, rtol=0.05)
    np.testing.assert_allclose(moved[2, 0], -1.0 / 2000.0, rtol=0.05)
    assert abs(moved[0, 0]) < 2e-5
    assert moved[0, 1] > 2e-4
    assert np.abs(tangents)[:, 1].max() <= 0.3 * normal[1] * (1 + 1e-9)
    np.testing.assert_allclose(np.abs(tangents)[0, 1], 0.3 * normal[1], rtol=1e-6)
    assert moved[2, 2] > 1e-4
    assert not end.contact[:, 2].any()


def test_surfaces_may_differ_between_arms():
    mech = tr.load_mechanism("ECM")
    q = np.array(mech.arm.home)
    tip = mech.forward_kinematics(q)[:3, 3]
    arms = batch.load(
        "ECM", surfaces=[batch.Plane(normal=[0, 0, 1.0], offset=tip[2] + 1e-3, stiffness=[500.0, 1000.0])]
    )
    state = arms.step(arms.state(np.tile(q[:, None], 2)), mech.gravity(q), DT)
    assert state.contact[0, 1] / state.contact[0, 0] == pytest.approx(2.0, rel=0.1)
    with pytest.raises(tr.TrocarError, match="stiffness of a Plane must be positive"):
        batch.load("ECM", surfaces=[batch.Plane(normal=[0, 0, 1.0], stiffness=0.0)])
    with pytest.raises(tr.TrocarError, match="normal of a Plane must not be zero"):
        batch.load("ECM", surfaces=[batch.Plane(normal=[0, 0, 0.0])])


# -- parameters --------------------------------------------------------------------------------------------------------


def test_per_arm_parameters_equal_separately_loaded_arms(psm):
    """Two arms in one batch: a heavier one tilted, with more friction, and the nominal one."""
    tree, base = psm.mechanism.tree, psm.mechanism.parameters
    drives = tuple(replace(d, Fc=2.0 * d.Fc, Fv=1.5 * d.Fv) for d in base.drives)
    inertias = {k: replace(x, mass=1.2 * x.mass, com=x.com.copy(), I=1.2 * x.I) for k, x in base.inertias.items()}
    other = tr.load_mechanism("PSM", replace(base, drives=drives, inertias=inertias), gravity=(1.0, 2.0, -9.0))
    pair = psm.with_parameters(
        mass=np.stack([tree.mass, other.tree.mass], -1),
        inertia=np.stack([tree.inertia, other.tree.inertia], -1),
        gravity=np.stack([tree.gravity, other.tree.gravity], -1),
        Fc=np.stack([tree.drives.Fc, other.tree.drives.Fc], -1),
        Fv=np.stack([tree.drives.Fv, other.tree.drives.Fv], -1),
    )
    q, dq, tau = states(psm.mechanism, 2)
    end, _ = pair.rollout(pair.state(q, dq), tau, DT, 10)
    for k, single in enumerate((psm, batch.load(other))):
        expected, _ = single.rollout(single.state(q[:, k], dq[:, k]), tau[:, k], DT, 10)
        np.testing.assert_allclose(end.rows[:, k], expected.rows, rtol=1e-9, atol=1e-11)


def test_a_payload_adds_its_weight_at_the_tip(psm):
    q, dq, _ = states(psm.mechanism, 3)
    heavy = psm.with_parameters(payload=0.1)
    force = np.array([0.0, 0.0, -0.1 * 9.81])
    J = psm.jacobian(q)[:3]
    expected = -np.einsum("kjN,k->jN", J, force)
    added = heavy.bias(q, 0 * dq) - psm.bias(q, 0 * dq)
    np.testing.assert_allclose(added[:6], expected, atol=1e-12)
    inertia = heavy.mass_matrix(q) - psm.mass_matrix(q)
    np.testing.assert_allclose(inertia[:6, :6], 0.1 * np.einsum("kiN,kjN->ijN", J, J), atol=1e-12)


def test_random_parameters_share_the_generated_code(psm):
    rng = np.random.default_rng(0)
    tree = psm.mechanism.tree
    drawn = psm.with_parameters(mass=tree.mass[:, None] * rng.uniform(0.8, 1.2, (len(tree.mass), 5)))
    programs = [step_program(tree, arms.parameters)[0] for arms in (psm, drawn)]
    assert c_source(programs[0]) == c_source(programs[1])


@pytest.mark.parametrize("name", ["PSM", "ECM", "MTMR"])
def test_accelerations_in_float32(name):
    mech = tr.load_mechanism(name)
    q, dq, tau = states(mech, 200)
    # efforts that do not nearly balance gravity: the difference of two float32 numbers loses digits
    tau = tau + 0.3 * np.abs(tau).max(1, keepdims=True) * np.random.default_rng(1).normal(size=tau.shape)
    q, dq, tau = (x.astype(np.float32) for x in (q, dq, tau))
    found = batch.load(name, precision="float32").forward_dynamics(q, dq, tau)
    expected = mech.forward_dynamics(*(x.T.astype(float) for x in (q, dq, tau))).T
    assert np.abs(found - expected).max() < 3e-6 * np.abs(expected).max()


def test_float32_follows_float64(psm):
    single = batch.load("PSM", precision="float32")
    q, dq, tau = states(psm.mechanism, 8)
    ours, _ = single.rollout(single.state(q, dq), tau, DT, 100)
    expected, _ = psm.rollout(psm.state(q, dq), tau, DT, 100)
    assert ours.rows.dtype == np.float32
    assert np.abs(ours.q - expected.q).max() < 2e-4


def test_threads_do_not_change_the_result(psm):
    several = batch.load("PSM", threads=3)
    q, dq, tau = states(psm.mechanism, 517)  # more than the shares of two threads, and a rest
    ours, _ = several.rollout(several.state(q, dq), tau, DT, 20)
    expected, _ = psm.rollout(psm.state(q, dq), tau, DT, 20)
    np.testing.assert_array_equal(ours.rows, expected.rows)


# -- errors ------------------------------------------------------------------------------------------------------------


def test_states_that_are_not_finite_are_reported_with_the_arm(psm):
    state = psm.state(np.tile(np.array(psm.mechanism.arm.home)[:, None], 20))
    tau = np.zeros((7, 20))
    tau[2, 13] = np.nan
    with pytest.raises(batch.NotFinite, match="arm 13 of 20") as caught:
        psm.step(state, tau, DT)
    assert caught.value.arm == 13
    with pytest.raises(batch.NotFinite, match="the arm has diverged"):
        psm.step(psm.state(psm.mechanism.arm.home), [0.0, np.inf, 0, 0, 0, 0, 0], DT)
    with pytest.raises(tr.TrocarError, match="q must be finite"):
        psm.state([np.nan] * 7)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda arms, s: arms.state(np.zeros(6)), r"q must have shape \(7,\) or \(7, N\)"),
        (lambda arms, s: arms.step(s, np.zeros(3), DT), r"efforts and references must have shape \(7,\), got \(3,\)"),
        (lambda arms, s: arms.step(s, np.zeros(7), 0.0), "dt must be a number from"),
        (lambda arms, s: arms.rollout(s, np.zeros((5, 6)), DT), r"shape \(5, 7\)"),
        (lambda arms, s: arms.rollout(s, np.zeros(7), DT), "pass steps= to hold them constant"),
        (lambda arms, s: arms.rollout(s, lambda state, t: 0, DT), "require steps="),
        (lambda arms, s: arms.rollout(s, np.zeros(7), DT, 10**12), "a log of .* steps needs"),
        (
            lambda arms, s: arms.rollout(s, batch.JointPD(np.zeros(7), -1.0, 1.0), DT, 3),
            "kp must be finite and not negative",
        ),
        (lambda arms, s: arms.with_parameters(masses=1.0), "'masses' is unknown. Did you mean 'mass'"),
        (lambda arms, s: arms.with_parameters(mass=[1.0]), r"mass must have shape \(13,\)"),
        (lambda arms, s: arms.with_parameters(Fc=-np.ones(12)), "Fc must not be negative"),
        (
            lambda arms, s: arms.with_parameters(payload=[0.1, 0.2]).step(s, np.zeros(7), DT),
            "parameters have values for 2 arms",
        ),
        (
            lambda arms, s: arms.with_parameters(payload=[0.1, 0.2]).mass_matrix(np.zeros((7, 3))),
            "for 2 arms, but the state has 3 arms",
        ),
        (
            lambda arms, s: arms.rollout(s, batch.JointPD(np.zeros(7), np.ones((7, 5)), 1.0), DT, 3),
            "parameters have values for 5 arms",
        ),
        (lambda arms, s: arms.rollout(s, tr.JointPD(1.0, 1.0), DT, 3), "a rollout takes batch.JointPD"),
        (lambda arms, s: arms.reset(s, [True], np.zeros(7)), "mask must be boolean"),
        (lambda arms, s: arms.gradients(s, np.zeros((3, 7)), DT, np.zeros((3, 7))), r"by_q must have shape \(4, 7\)"),
        (lambda arms, s: batch.load("PSM", backend="gpu"), "backend 'gpu' is unknown"),
        (lambda arms, s: batch.load("PSM", "wang2019_published"), "not physical"),
        (lambda arms, s: batch.load("PSM", threads=0), "threads must be"),
    ],
)
def test_mistakes_are_reported_in_one_line(psm, call, message):
    with pytest.raises(tr.TrocarError, match=message) as caught:
        call(psm, psm.state(psm.mechanism.arm.home))
    assert "\n" not in str(caught.value)


def test_a_state_of_arms_with_other_friction_is_refused(psm):
    frictionless = batch.load("PSM", friction=False)
    with pytest.raises(tr.TrocarError, match="different friction"):
        frictionless.step(psm.state(psm.mechanism.arm.home), np.zeros(7), DT)


def test_friction_that_a_step_cannot_follow_is_refused():
    arms = batch.load(Mechanism(tr.load_arm("PSM", "wang2019"), full_set()))
    state = arms.state(arms.mechanism.arm.home)
    with pytest.raises(tr.TrocarError, match=r"too stiff for steps of 0.02 s: it oscillates at .* rad/s, mostly drive"):
        arms.step(state, np.zeros(7), 0.02)
    arms.step(state, np.zeros(7), 1e-3)
    stiff = arms.with_parameters(dahl_delta=1e-4 * arms.parameters["dahl_delta"][:, None] * [1.0, 1e4])
    with pytest.raises(tr.TrocarError, match="too stiff"):
        stiff.step(stiff.state(np.tile(np.array(arms.mechanism.arm.home)[:, None], 2)), np.zeros(7), 1e-3)


def test_negative_friction_is_rejected():
    base = tr.load_mechanism("PSM").parameters
    drives = tuple(replace(d, Fx=-10.0) if d.name == "insertion" else d for d in base.drives)
    with pytest.raises(tr.TrocarError, match="friction of drive 'insertion'"):
        batch.load("PSM", replace(base, drives=drives))


def test_the_command_line_writes_c_and_rejects_unknown_arms(tmp_path):
    call = CliRunner().invoke
    done = call(app, ["export", "ECM", "--c", "--timestep", "0.002", "-o", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert {file.name for file in (tmp_path / "ecm").iterdir()} == {"ecm.c", "ecm.h"}
    assert "steps of 0.002 s" in (tmp_path / "ecm" / "ecm.h").read_text()
    for wrong in (["export", "ECM", "--c", "-f", "urdf"], ["bench", "batches"], ["bench", "--gpu"]):
        done = call(app, wrong)
        assert done.exit_code == 2
        assert len(done.stderr.strip().splitlines()) == 1


def test_no_compiler_is_reported_in_one_line(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    arms = batch.load("ECM")
    with pytest.raises(tr.TrocarError, match="no C compiler was found"):
        arms.step(arms.state(arms.mechanism.arm.home), np.zeros(4), DT)
    monkeypatch.setenv("CC", "nosuchcc -O1")
    with pytest.raises(tr.TrocarError, match="CC names the C compiler 'nosuchcc'"):
        arms.step(arms.state(arms.mechanism.arm.home), np.zeros(4), DT)


def test_a_compiler_that_fails_is_reported_in_one_line(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("CC", "cc -DMIN=+")
    arms = batch.load(own_arm(), own_parameters())
    with pytest.raises(tr.TrocarError, match=r"failed to build the generated code: .*error") as caught:
        arms.forward_dynamics(*np.zeros((3, 3)))
    assert "\n" not in str(caught.value)


def test_a_damaged_cache_is_built_again(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    arms = batch.load(own_arm(), own_parameters())
    q = np.array([0.1, 0.2, 0.1])
    expected = arms.mass_matrix(q)
    (file,) = (tmp_path / "trocar" / "batch").glob("*.so")
    whole = file.read_bytes()
    # truncated like an interrupted copy; with another inode, because this process has the file loaded
    file.unlink()
    file.write_bytes(whole[: len(whole) // 2])
    np.testing.assert_array_equal(batch.load(own_arm(), own_parameters()).mass_matrix(q), expected)
    assert len(file.read_bytes()) == len(whole)


def test_a_cache_that_cannot_be_written_is_reported_in_one_line(monkeypatch, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    arms = batch.load(own_arm(), own_parameters())
    with pytest.raises(tr.TrocarError, match=r"compiled code cannot be written .* set XDG_CACHE_HOME"):
        arms.mass_matrix(np.zeros(3))


def test_missing_jax_is_reported_in_one_line(monkeypatch):
    monkeypatch.setattr(jax_backend, "MISSING", "No module named 'jax'")
    with pytest.raises(tr.TrocarError, match=r'requires JAX \(No module .*pip install "trocar\[batch\]"'):
        batch.load("ECM", backend="jax")


# -- C for others ------------------------------------------------------------------------------------------------------


def test_exported_c_is_the_c_backend(tmp_path):
    """One source and one header, built as strict C99 without a warning."""
    mech = mechanism("own")
    arms = batch.load(mech)
    files = c_files(arms, DT)
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    flags = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wno-unused-function", "-Werror", "-O1", "-fPIC", "-shared"]
    subprocess.run(["cc", *flags, str(tmp_path / "own.c"), "-o", str(tmp_path / "own.so"), "-lm"], check=True)
    loaded = ctypes.CDLL(str(tmp_path / "own.so"))
    q, dq, tau = (x[:, 0].copy() for x in states(mech, 1))
    state = arms.state(q, dq)
    rows = state.rows.copy()
    for _ in range(5):
        loaded.own_step(ctypes.c_void_p(rows.ctypes.data), ctypes.c_void_p(tau.ctypes.data))
        state = arms.step(state, tau, DT)
    np.testing.assert_allclose(rows, state.rows, rtol=1e-10, atol=1e-13)
    given, out = np.concatenate([q, dq, tau]), np.empty(3)
    loaded.own_forward_dynamics(ctypes.c_void_p(given.ctypes.data), ctypes.c_void_p(out.ctypes.data))
    np.testing.assert_allclose(out, mech.forward_dynamics(q, dq, tau), rtol=1e-10)


def test_a_batch_needs_neither_mujoco_nor_pinocchio():
    code = """
import sys

class Missing:
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in ("mujoco", "pinocchio", "ruckig", "cvxpy", "matplotlib"):
            raise ImportError(f"{name} is not installed here")

sys.meta_path.insert(0, Missing())
from trocar import batch

arms = batch.load("PSM")
state, log = arms.rollout(arms.state(arms.mechanism.arm.home), [0.0] * 7, 1e-3, steps=5)
print(log.recording().q.shape, arms.jacobian(state.q).shape)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "(5, 7) (6, 6)\n", done.stderr
