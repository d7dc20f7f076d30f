"""Hysteretic and load-dependent friction: closed forms, the equations, the engine."""

from dataclasses import replace

import numpy as np
import pytest

import trocar as tr
from tests.support.hysteresis_set import full_set, memory_set
from trocar.arms.parameters import Drive, load_parameters, to_toml
from trocar.mechanics.drives import dahl_states


def mechanism(parameters, **options):
    return tr.Mechanism(tr.load_arm("PSM", parameters.geometry), parameters, **options)


# -- one element --------------------------------------------------------------------------------------------------


def test_the_states_depend_on_the_path_but_not_on_its_speed():
    path = np.concatenate([np.linspace(0, 8, 41), np.linspace(8, -3, 56)[1:], np.linspace(-3, 1, 21)[1:]]) * 1e-3
    slow = dahl_states(path, 3e-3)
    finer = np.interp(np.linspace(0, len(path) - 1, 10 * (len(path) - 1) + 1), np.arange(len(path)), path)
    np.testing.assert_allclose(dahl_states(finer, 3e-3)[::10], slow, atol=1e-14)


def test_a_reversal_has_its_closed_form():
    up, back, delta = 0.01, 0.004, 0.005
    z = dahl_states([0.0, up, up - back], delta, z0=-0.3)
    top = 1.0 - 1.3 * np.exp(-up / delta)
    np.testing.assert_allclose(z, [-0.3, top, -1.0 + (1.0 + top) * np.exp(-back / delta)], atol=1e-15)


def test_a_cycle_between_two_points_settles_to_the_closed_loop_of_its_closed_form():
    """The loop is symmetric, its tips at tanh(x / delta) for a path of half length x, as in Masing's rule."""
    x, delta = 0.003, 0.002
    z = dahl_states(x * np.tile([-1.0, 1.0], 40), delta)
    assert z[-1] == pytest.approx(np.tanh(x / delta), abs=1e-14)
    assert z[-2] == pytest.approx(-np.tanh(x / delta), abs=1e-14)


def test_states_broadcast_over_trailing_axes():
    rng = np.random.default_rng(0)
    s, delta = np.cumsum(rng.normal(size=(50, 2, 3)), axis=0), np.array([0.5, 1.0, 2.0])
    z0 = [0.1, 0.2, 0.3]
    z = dahl_states(s, delta, z0)
    for i in range(2):
        for j in range(3):
            np.testing.assert_array_equal(z[:, i, j], dahl_states(s[:, i, j], delta[j], z0[j]))


# -- in the equations -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mech():
    return mechanism(full_set())


def motion(mech, count=400, seed=0):
    """A smooth motion with many reversals; q, dq, ddq (count, n) and the times."""
    rng = np.random.default_rng(seed)
    t = 5e-3 * np.arange(count)
    middle, span = 0.5 * (mech.arm.upper + mech.arm.lower), 0.3 * (mech.arm.upper - mech.arm.lower)
    w, phase = rng.uniform(3.0, 15.0, (2, mech.n)), rng.uniform(0, 6, (2, mech.n))
    a = w[:, None] * t[:, None] + phase[:, None]
    shape = np.array([0.6, 0.4])[:, None, None]
    q = middle + span * (shape * np.sin(a)).sum(0)
    dq = span * (shape * w[:, None] * np.cos(a)).sum(0)
    ddq = -span * (shape * w[:, None] ** 2 * np.sin(a)).sum(0)
    return q, dq, ddq, t


def test_regressor_times_parameters_is_inverse_dynamics_with_every_term(mech):
    q, dq, ddq, _ = motion(mech)
    tau = mech.inverse_dynamics(q, dq, ddq, friction=True)
    M, c, g = mech.terms(q, dq)
    np.testing.assert_allclose(np.einsum("kij,kj->ki", M, ddq) + c + g + mech.friction(q, dq), tau, atol=1e-10)
    np.testing.assert_allclose(mech.regressor(q, dq, ddq) @ mech.parameter_vector, tau + mech.effort_bias, atol=1e-10)
    assert len(mech.parameter_names) == len(set(mech.parameter_names)) == len(mech.parameter_vector)
    for k in (0, 7):
        np.testing.assert_allclose(mech.inverse_dynamics(q[k], dq[k], ddq[k], friction=True), tau[k], atol=1e-11)
        np.testing.assert_allclose(mech.terms(q[k], dq[k])[2], g[k], atol=1e-12)
        np.testing.assert_allclose(mech.gravity(q[k]), g[k], atol=1e-12)
    np.testing.assert_allclose(mech.forward_dynamics(q, dq, tau, friction=True), ddq, rtol=1e-7, atol=1e-7)


def test_the_regressor_along_a_motion_includes_the_memory(mech):
    q, dq, ddq, t = motion(mech)
    expected = mech.inverse_dynamics(q, dq, ddq) + mech.friction_along(q, t, dq, z0=0.5) + mech.effort_bias
    np.testing.assert_allclose(mech.regressor_along(q, dq, ddq, z0=0.5) @ mech.parameter_vector, expected, atol=1e-10)


def test_potential_efforts_are_the_gradient_of_the_energy(mech):
    q, h = motion(mech, 20)[0], 1e-6
    for j in range(mech.n):
        e = h * np.eye(mech.n)[j]
        slope = (mech.potential_energy(q + e) - mech.potential_energy(q - e)) / (2 * h)
        np.testing.assert_allclose(mech.gravity(q)[:, j], slope, atol=2e-7)


def test_memory_ends_in_steady_sliding(mech):
    q = np.array(mech.arm.home) + 0.5 * np.linspace(0, 1, 200)[:, None] * (mech.arm.upper - mech.arm.home)
    f = mech.friction_along(q, 0.01)
    np.testing.assert_allclose(f[-1], mech.friction(q[-1], (q[-1] - q[-2]) / 0.01), rtol=1e-3, atol=1e-6)
    assert (np.abs(f[0] - mech.friction(q[0], (q[1] - q[0]) / 0.01))[:2] > 0.04).all()


def test_memory_differentiates_the_path_in_given_times(mech):
    q, _, _, t = motion(mech)
    f = mech.friction_along(q, 5e-3)
    np.testing.assert_array_equal(f, mech.friction_along(q, 5e-3, np.gradient(q, 5e-3, axis=0)))
    np.testing.assert_allclose(mech.friction_along(q, t), f, atol=1e-12)


def test_every_element_dissipates_energy_over_a_closed_cycle():
    drives = mechanism(memory_set()).drives
    t = np.linspace(0, 3, 3001)
    q = 4e-3 * np.sin(2 * np.pi * t)[:, None] * np.ones(7)  # some elements reverse, some do not
    z, s = drives.states(q), (q @ drives.A.T)[:, drives.owner]
    work = (0.5 * drives.F * (z[1:] + z[:-1]) * np.diff(s, axis=0))[2000:].sum(0)
    assert (work > 0).all()
    assert (work <= 2 * drives.F * np.ptp(s, axis=0)).all()  # loss of Coulomb friction


def test_friction_grows_with_the_load_along_the_drive():
    """On a joint mu |g_j|; on a disc, mu times the gravity effort of that motor."""
    base = load_parameters("PSM")
    drives = [
        Drive(name="pitch_load", joints={"pitch": 2.0}, mu=0.1, terms=("mu",)),
        Drive(name="disc_load", motors={"disc_3": 1.0}, mu=0.2, terms=("mu",)),
    ]
    springs = Drive(name="wrist_spring", joints={"wrist_yaw": 1.0}, K=0.7, terms=("K",))  # a load for the wrist
    mech = mechanism(replace(base, drives=(*drives, springs)))
    q, dq, _, _ = motion(mech, 30)
    g, coupling = mech.gravity(q), mech.arm.motors.coupling
    motor = mech.arm.motors.names.index("disc_3")
    d_motor = dq @ np.linalg.inv(coupling).T
    expected = np.zeros_like(q)
    expected[:, 1] = 0.1 * np.abs(g[:, 1]) * np.sign(dq[:, 1])
    disc = 0.2 * np.abs(g @ coupling)[:, motor] * np.sign(d_motor[:, motor])
    expected += disc[:, None] * np.linalg.inv(coupling)[motor]
    np.testing.assert_allclose(mech.friction(q, dq), expected, atol=1e-12)
    assert np.abs(expected[:, 5]).max() > 1e-3


# -- files and bad input --------------------------------------------------------------------------------------------


def test_the_file_reads_back_exactly(tmp_path):
    path = tmp_path / "full.toml"
    path.write_text(to_toml(full_set()))
    assert load_parameters("PSM", path).drives == full_set().drives


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("hysteresis = 3", "list of"),
        ("hysteresis = [[0.1]]", "list of"),
        ("hysteresis = [[0.1, 'a']]", "must be 2 finite numbers"),
        ("hysteresis = [[0.0, 1.0]]", "delta of a Dahl element must be positive"),
        ("hysteresis = [[0.1, -1.0]]", "must not be negative"),
        ("hysteresis = [[0.1, 1.0, nan]]", "finite"),
        ("mu = -0.1", "mu of drive 'yaw' must not be negative"),
        ("Fy = 0.1", "unknown"),
    ],
)
def test_an_error_names_the_line(tmp_path, line, message):
    path = tmp_path / "bad.toml"
    path.write_text(to_toml(load_parameters("PSM")).replace("Fv = 0.0905326", f"Fv = 0.0905326\n{line}"))
    with pytest.raises(tr.TrocarError, match=message) as error:
        load_parameters("PSM", path)
    assert "drives.yaw" in str(error.value)


def test_load_on_several_joints_is_rejected():
    with pytest.raises(tr.TrocarError, match="one joint or one motor"):
        Drive(name="finger", joints={"wrist_yaw": 1.0, "jaw": 0.5}, mu=0.1)


def test_bad_motions_and_states_are_rejected(mech):
    q = motion(mech)[0]
    for given, message in [
        ({"q": q[0], "dt": 1e-3}, "two samples"),
        ({"q": q, "dt": 0.0}, "positive time step"),
        ({"q": q, "dt": -np.arange(400.0)}, "increasing times"),
        ({"q": q, "dt": 1e-3, "z0": 1.5}, r"\[-1, 1\]"),
        ({"q": q, "dt": 1e-3, "z0": [0.0, 0.0]}, "one state or"),
    ]:
        with pytest.raises(tr.TrocarError, match=message):
            mech.friction_along(**given)
    with pytest.raises(tr.TrocarError, match="positive"):
        dahl_states([0.0, 1.0], -1.0)
