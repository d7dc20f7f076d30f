"""Dynamics of the masters: published and consistent set, springs and cables, the engine, the published PID."""

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.signal import butter, filtfilt

import trocar as tr
from tests.support.engine_reference import tree_effort
from tests.support.parameter_heads import head
from tools import derive_wang2019
from trocar.arms.parameters import load_parameters
from trocar.control import JointPID
from trocar.control.trajectories import step_to
from trocar.mechanics.drives import Elastics, cable_effort
from trocar.mechanics.inertia import barycentric, check_consistent

DATA = Path(os.environ.get("TROCAR_DATA", "no data folder")) / "dvrk_dynamics_identification" / "mtm"
START = np.array([-0.2, 0.3, 0.0, 0.5, 0.5, 0.0, 0.0])


@pytest.fixture(scope="module", params=["MTML", "MTMR"])
def mech(request):
    return tr.load_mechanism(request.param)


def states(mech, count=60):
    rng = np.random.default_rng(0)
    q = rng.uniform(mech.arm.lower, mech.arm.upper, (count, 7))
    return (q, *rng.normal(size=(2, count, 7)))


def test_the_mass_matrix_is_positive_definite_everywhere(mech):
    q = np.random.default_rng(1).uniform(mech.arm.lower, mech.arm.upper, (100_000, 7))
    assert np.linalg.eigvalsh(mech.mass_matrix(q)).min() > 5e-6


def test_the_published_mass_matrix_is_not_positive_definite():
    mech = tr.load_mechanism("MTMR", "wang2019_published")
    q = np.random.default_rng(1).uniform(mech.arm.lower, mech.arm.upper, (200, 7))
    assert np.linalg.eigvalsh(mech.mass_matrix(q)).min() < -1e-4
    with pytest.raises(tr.TrocarError, match="is not physical"):
        tr.Simulator("MTMR", "wang2019_published")


def test_the_published_model_has_73_base_parameters_in_addition_to_its_cable():
    mech = tr.load_mechanism("MTMR", "wang2019_published")
    assert len(mech.parameter_vector) == 122 + 1
    assert len(mech.base_parameters) == 73 + 1


@pytest.mark.parametrize("parameters", ["wang2019", "wang2019_refit", "wang2019_published"])
def test_the_equations_are_consistent(parameters):
    mech = tr.load_mechanism("MTML", parameters)
    q, dq, ddq = states(mech)
    M, c, g = mech.terms(q, dq)
    tau = mech.inverse_dynamics(q, dq, ddq, friction=True)
    np.testing.assert_allclose(np.einsum("kij,kj->ki", M, ddq) + c + g + mech.friction(q, dq), tau, atol=1e-11)
    np.testing.assert_allclose(mech.regressor(q, dq, ddq) @ mech.parameter_vector, tau + mech.effort_bias, atol=1e-10)
    one = mech.terms(q[0], dq[0])
    for ours, batch in zip(one, (M[0], c[0], g[0]), strict=True):
        np.testing.assert_allclose(ours, batch, atol=1e-12)
    h = 1e-6
    for j in range(7):
        e = h * np.eye(7)[j]
        slope = (mech.potential_energy(q + e) - mech.potential_energy(q - e)) / (2 * h)
        np.testing.assert_allclose(g[:, j], slope, atol=1e-7)


def test_the_effort_of_a_cable_is_the_same_for_one_state_and_a_batch(mech):
    cable = mech.elastics.elements[1]
    q = np.zeros((9, 7))
    q[:, 3] = np.linspace(-3.5, 3.5, 9)  # also beyond the range it was measured in
    one = [cable_effort(cable, x) for x in q[:, 3]]
    np.testing.assert_allclose(Elastics([cable], mech.arm).effort(q)[:, 3], one, atol=1e-15)


def test_cable_efforts_are_constant_outside_the_measured_range(mech):
    q = np.zeros((3, 7))
    q[:, 3] = 3.3802, 3.4, 3.57
    effort = mech.elastics.effort(q)[:, 3]
    np.testing.assert_array_equal(effort[1:], effort[0])


def test_the_committed_set_is_reproduced_by_the_program():
    derived, comments = derive_wang2019.derive_mtm()
    committed = load_parameters("MTMR", "wang2019")
    check_consistent(committed.inertias)
    assert derived.drives == committed.drives
    assert derived.elastics == committed.elastics
    for name, body in committed.inertias.items():
        np.testing.assert_allclose(barycentric(derived.inertias[name]), barycentric(body), rtol=2e-3, atol=2e-6)
    assert comments == head("MTM", "wang2019")
    assert any("0.4 %, 0.4 %, 0.8 %, 1.3 %, 1.8 %, 0.7 %, 2.5 %" in line for line in comments)


def test_the_change_of_torque_is_small_without_the_assumed_rotors():
    published, ours = (tr.load_mechanism("MTMR", name) for name in ("wang2019_published", "wang2019"))
    q, dq, ddq = states(ours, 2000)
    tau, theirs = (
        ours.inverse_dynamics(q, dq, ddq, friction=True),
        published.inverse_dynamics(q, dq, ddq, friction=True),
    )
    rotors = ddq @ ours.drives.M - ddq @ published.drives.M
    change = np.sqrt(((tau - rotors - theirs) ** 2).mean(0)) / np.abs(theirs).mean(0)
    assert (change < [0.01, 0.01, 0.015, 0.02, 0.03, 0.015, 0.04]).all()


@pytest.mark.skipif(not DATA.is_dir(), reason="TROCAR_DATA has no recordings of Wang et al.")
def test_the_recorded_torque_is_predicted():
    """First 2000 samples of the recording it was identified with. The values are ours: no source prints them. The
    paper's bounds, 16.3 % for three joints and 34 % for the others, are on its test recording; here they hold for the
    published set. The consistent set is up to 2.8 points worse at the wrist, for its rotors."""
    rows = np.loadtxt(DATA / "measured_trajectory" / "one_results.csv", delimiter=",")
    b, a = butter(6, 0.0565)
    q, dq, tau = (filtfilt(b, a, part, axis=0) for part in np.split(rows, 3, axis=1))
    ddq = np.zeros_like(dq)
    ddq[2:-2] = (dq[:-4] - 8 * dq[1:-3] + 8 * dq[3:-1] - dq[4:]) * 200 / 12
    window, error = slice(200, 2200), {}
    for name in ("wang2019_published", "wang2019"):
        mech = tr.load_mechanism("MTMR", name)
        C = mech.arm.motors.coupling
        predicted = (mech.inverse_dynamics(*(x @ C.T for x in (q, dq, ddq)), friction=True) + mech.effort_bias) @ C
        error[name] = np.linalg.norm((predicted - tau)[window], axis=0) / np.linalg.norm(tau[window], axis=0)
    assert (error["wang2019_published"] < [0.163] * 3 + [0.34] * 4).all()
    np.testing.assert_allclose(
        error["wang2019_published"], [0.0860, 0.1623, 0.1252, 0.1891, 0.2476, 0.1814, 0.2800], atol=1e-4
    )
    np.testing.assert_allclose(error["wang2019"], [0.0856, 0.1651, 0.1265, 0.2163, 0.2543, 0.1837, 0.3031], atol=1e-3)


# The engine.


def test_the_engines_tree_projected_on_the_joints_is_the_mechanism(mech):
    sim = tr.Simulator(mech.arm.name, friction=False)
    rng = np.random.default_rng(0)
    for _ in range(50):
        q = rng.uniform(sim.arm.lower, sim.arm.upper)
        dq, ddq = rng.normal(size=(2, 7))
        cable = Elastics([e for e in mech.elastics.elements if e.name == "platform_cable"], mech.arm).effort(q)
        np.testing.assert_allclose(tree_effort(sim, q, dq, ddq) + cable, mech.inverse_dynamics(q, dq, ddq), atol=1e-9)


def test_free_motion_is_that_of_the_equations(mech):
    sim = tr.Simulator(mech.arm.name, friction=False, limits=False, accuracy="exact")
    dq = np.array([0.5, -0.4, 0.3, 0.5, 0.5, -0.4, 1.0])
    sim.reset(START, dq)
    for _ in range(300):
        sim.step(np.zeros(7))

    def rate(_, x):
        return np.concatenate([x[7:], mech.forward_dynamics(x[:7], x[7:], np.zeros(7))])

    end = solve_ivp(rate, (0, 0.3), np.concatenate([START, dq]), method="DOP853", rtol=1e-10, atol=1e-12).y[:7, -1]
    np.testing.assert_allclose(sim.q, end, atol=2e-4)  # springs and cables act through a force held over each step
    assert sim.loop_error() < 1e-8


def test_a_master_is_stable_under_the_published_pid_with_one_sample_of_delay(mech):
    sim = tr.Simulator(mech.arm.name, timestep=1 / 1500)
    mirror = np.array([-1, 1, 1, -1, 1, -1, -1] if mech.arm.name == "MTML" else [1] * 7)
    start = mirror * START
    goal = start + mirror * [0.05, 0.05, 0.05, 0.1, 0.1, 0.1, 0.1]
    sim.reset(start)
    recording = tr.simulate(sim, JointPID(sim.arm, delay=1), step_to(start, goal, 0.05), 3.0)
    assert np.abs(recording.dq[-150:]).max() < 1e-3
    np.testing.assert_allclose(recording.q[-1, :4], goal[:4], atol=0.01)
    assert sim.loop_error() < 1e-7


def test_the_arm_rests_under_gravity_compensation(mech):
    sim = tr.Simulator(mech.arm.name)
    sim.reset(START)
    hold = mech.inverse_dynamics(START, np.zeros(7), np.zeros(7), friction=True)
    for _ in range(1000):
        sim.step(hold)
    np.testing.assert_allclose(sim.q, START, atol=1e-5)


def test_the_gripper_is_set_by_hand_within_its_range(mech):
    sim = tr.Simulator(mech.arm.name)
    sim.gripper = 0.5
    assert sim.gripper == 0.5
    with pytest.raises(tr.TrocarError, match=r"opening of the gripper must be 0 to 1\.047 rad, got 2\.0"):
        sim.gripper = 2.0
    with pytest.raises(tr.TrocarError, match="PSM has no gripper"):
        tr.Simulator("PSM").gripper = 0.1


def test_the_base_of_a_master_is_where_the_console_configuration_puts_it(mech):
    """Looking 60 degrees down: x of the base to the right, y away and level, z up; see docs/conventions.md."""
    T, side = mech.arm.T_hrsv_base, 1.0 if mech.arm.name == "MTML" else -1.0
    np.testing.assert_allclose(T[:3, :3] @ T[:3, :3].T, np.eye(3), atol=1e-15)
    np.testing.assert_array_equal(T[:3, 3], [side * 0.180, 0.400, 0.475])
    root = np.sqrt(0.75)
    np.testing.assert_array_equal(T[:3, :3], [[-1.0, 0.0, 0.0], [0.0, root, 0.5], [0.0, 0.5, -root]])
    assert tr.load_arm("PSM").T_hrsv_base is None
