"""Properties of the equations of motion, for every parameter set."""

import json
from dataclasses import replace

import numpy as np
import pytest

import trocar as tr
from tests.support.finite_differences import jacobian
from tests.support.repository import SUPPORT
from trocar.arms.parameters import load_parameters

CASES = {
    "wang2019": {"parameters": "wang2019"},
    "wang2019 without counterweight": {"parameters": "wang2019", "counterweight": False},
    "wang2019 tilted": {"parameters": "wang2019", "mounting": 0.6},
    "wang2019 sideways": {"parameters": "wang2019", "gravity": (3.0, -2.0, -8.0)},
    "wang2019_refit": {"parameters": "wang2019_refit"},
    "wang2019_refit sideways": {"parameters": "wang2019_refit", "gravity": (3.0, -2.0, -8.0)},
    "wang2019_published": {"parameters": "wang2019_published"},
    "wang2019_published without counterweight": {"parameters": "wang2019_published", "counterweight": False},
    "PSM gondokaryono2019": {"parameters": "gondokaryono2019"},
    "PSM gondokaryono2019 without counterweight": {"parameters": "gondokaryono2019", "counterweight": False},
    "ECM gondokaryono2019": {"arm": "ECM"},
    "PSM_Si zhou2025": {"arm": "PSM_Si"},
    "PSM_Si zhou2025_measured tilted": {"arm": "PSM_Si", "parameters": "zhou2025_measured", "mounting": -0.26},
    "PSM_Si saw sideways": {"arm": "PSM_Si", "parameters": "saw", "gravity": (3.0, -2.0, -8.0)},
    "ECM_Si saw": {"arm": "ECM_Si"},
    "ECM gondokaryono2019 HD sideways": {"arm": "ECM", "endoscope": "HD", "gravity": (3.0, -2.0, -8.0)},
}


@pytest.fixture(params=CASES, ids=str)
def mech(request):
    case = dict(CASES[request.param])
    return tr.load_mechanism(case.pop("arm", "PSM"), **case)


def states(mech, count=60, seed=0):
    """Random states within limits, plus rest at home, at zero and on the limits."""
    rng = np.random.default_rng(seed)
    special = np.array([mech.arm.home, np.zeros(mech.n), mech.arm.lower, mech.arm.upper])
    q = np.concatenate([rng.uniform(mech.arm.lower, mech.arm.upper, (count, mech.n)), special])
    dq, ddq = rng.normal(size=(2, *q.shape))
    dq[count:] = 0.0
    return q, dq, ddq


def test_the_coriolis_matrix_is_that_of_christoffel_symbols(mech):
    """C dq = c of the batch recursion; dM/dt - 2 C is skew-symmetric; c is quadratic in dq with C = (dc/d dq) / 2."""
    q, dq, _ = states(mech, 12)
    C, h = mech.coriolis_matrix(q, dq), 1e-6
    np.testing.assert_allclose((C @ dq[..., None])[..., 0], mech.coriolis(q, dq), atol=1e-11)
    dM = (mech.mass_matrix(q + h * dq) - mech.mass_matrix(q - h * dq)) / (2 * h)
    np.testing.assert_allclose(dM - 2 * C, -np.swapaxes(dM - 2 * C, -1, -2), atol=1e-6)  # links of 90 kg m^2
    for k in range(0, len(q), 4):
        by_dq = mech.inverse_dynamics_derivatives(q[k], dq[k], np.zeros(mech.n))[1]
        np.testing.assert_allclose(mech.coriolis_matrix(q[k], dq[k]), by_dq / 2, atol=1e-11)


def test_one_state_through_pinocchio_equals_the_batch_recursion(mech):
    q, dq, ddq = states(mech, 20)
    tau = mech.inverse_dynamics(q, dq, ddq, friction=True)
    M, c, g = mech.terms(q, dq)
    for k in range(len(q)):
        np.testing.assert_allclose(mech.inverse_dynamics(q[k], dq[k], ddq[k], friction=True), tau[k], atol=1e-11)
        for one, all_ in zip(mech.terms(q[k], dq[k]), (M, c, g), strict=True):
            np.testing.assert_allclose(one, all_[k], atol=1e-12)
        np.testing.assert_allclose(mech.mass_matrix(q[k]), M[k], atol=1e-12)
        np.testing.assert_allclose(mech.coriolis(q[k], dq[k]), c[k], atol=1e-12)
        np.testing.assert_allclose(mech.gravity(q[k]), g[k], atol=1e-12)


def test_separate_queries_equal_the_combined_one(mech):
    q, dq, _ = states(mech)
    M, c, g = mech.terms(q, dq)
    np.testing.assert_array_equal(mech.mass_matrix(q), M)
    np.testing.assert_array_equal(mech.coriolis(q, dq), c)
    np.testing.assert_array_equal(mech.gravity(q), g)


def test_mass_times_acceleration_plus_bias_is_inverse_dynamics_is_regressor_times_parameters(mech):
    q, dq, ddq = states(mech)
    M, c, g = mech.terms(q, dq)
    tau = mech.inverse_dynamics(q, dq, ddq)
    np.testing.assert_allclose(np.einsum("kij,kj->ki", M, ddq) + c + g, tau, atol=1e-10)
    Y = mech.regressor(q, dq, ddq)
    with_friction = mech.inverse_dynamics(q, dq, ddq, friction=True)
    np.testing.assert_allclose(tau + mech.friction(q, dq), with_friction, atol=1e-12)
    np.testing.assert_allclose(Y @ mech.parameter_vector, with_friction + mech.effort_bias, atol=1e-10)


@pytest.mark.parametrize("arm", ["PSM", "PSM_Si", "ECM", "ECM_Si", "MTML", "MTMR"])
def test_the_derivatives_of_inverse_dynamics_are_those_of_finite_differences(arm):
    mech = tr.load_mechanism(arm, gravity=(3.0, -2.0, -8.0))
    motion = np.array(states(mech, 6))[:, :8].reshape(3, 2, 4, mech.n)  # with two batch axes
    D = mech.inverse_dynamics_derivatives(*motion)
    assert D.shape == (3, 2, 4, mech.n, mech.n)
    for k in range(3):

        def effort(x, k=k):
            return mech.inverse_dynamics(*(x if i == k else other for i, other in enumerate(motion)))

        np.testing.assert_allclose(D[k], jacobian(effort, motion[k]), atol=1e-7)
    np.testing.assert_allclose(D[2], mech.mass_matrix(motion[0]), atol=1e-12)
    one = mech.inverse_dynamics_derivatives(*motion[:, 1, 2])
    np.testing.assert_allclose(one, D[:, 1, 2], atol=1e-13)


def test_the_mass_matrix_is_symmetric(mech):
    M = mech.mass_matrix(states(mech)[0])
    np.testing.assert_allclose(M, np.swapaxes(M, -1, -2), atol=1e-13)


def test_the_consistent_mass_matrix_is_positive_definite_and_the_published_one_is_not():
    q = np.random.default_rng(1).uniform(*(tr.load_arm("PSM").lower, tr.load_arm("PSM").upper), (20000, 7))
    for counterweight in (True, False):
        M = tr.load_mechanism("PSM", counterweight=counterweight).mass_matrix(q)
        assert np.linalg.eigvalsh(M).min() > 1e-6
    assert np.linalg.eigvalsh(tr.load_mechanism("PSM", "wang2019_published").mass_matrix(q[:10])).max(0)[0] < 0


def project_gravity(mech):
    rng = np.random.default_rng(5)
    rows, D, x = rng.normal(size=(3, mech.n)), rng.normal(size=(mech.n, 4)), 0.1 * rng.normal(size=4)
    np.testing.assert_allclose(mech.projected_gravity(rows, D)(x), rows @ mech.gravity(D @ x), atol=1e-11)


def test_projected_gravity_is_gravity_times_the_rows(mech):
    project_gravity(mech)


@pytest.mark.parametrize("parameters", ["wang2019", "wang2019_refit"])
def test_projected_gravity_contains_elastic_elements(parameters):
    project_gravity(tr.load_mechanism("MTML", parameters))


def test_gravity_is_the_gradient_of_potential_energy(mech):
    q = states(mech)[0]
    h = 1e-6
    for j in range(mech.n):
        e = h * np.eye(mech.n)[j]
        slope = (mech.potential_energy(q + e) - mech.potential_energy(q - e)) / (2 * h)
        np.testing.assert_allclose(mech.gravity(q)[:, j], slope, atol=2e-8)


def test_coriolis_efforts_do_no_work_beyond_the_change_of_mass(mech):
    """dq' (dM/dt - 2 C) dq = 0: with it, energy is conserved."""
    q, dq, _ = states(mech)
    h = 1e-6
    M_dot = (mech.mass_matrix(q + h * dq) - mech.mass_matrix(q - h * dq)) / (2 * h)
    power = np.einsum("ki,kij,kj->k", dq, M_dot, dq) - 2 * (dq * mech.coriolis(q, dq)).sum(-1)
    np.testing.assert_allclose(power, 0.0, atol=1e-7)


def test_coriolis_efforts_follow_from_the_mass_matrix(mech):
    """c = (dM/dt) dq - 1/2 d(dq' M dq)/dq, from finite differences of M alone."""
    q, dq, _ = states(mech, 10)
    h = 1e-6
    M_dot = (mech.mass_matrix(q + h * dq) - mech.mass_matrix(q - h * dq)) / (2 * h)
    c = np.einsum("kij,kj->ki", M_dot, dq)
    for j in range(mech.n):
        e = h * np.eye(mech.n)[j]
        dM = (mech.mass_matrix(q + e) - mech.mass_matrix(q - e)) / (2 * h)
        c[:, j] -= 0.5 * np.einsum("ki,kij,kj->k", dq, dM, dq)
    np.testing.assert_allclose(mech.coriolis(q, dq), c, atol=1e-7)


def test_power_of_the_effort_is_the_change_of_energy_plus_friction(mech):
    q, dq, ddq = states(mech)
    h = 1e-6

    def energy(s):
        return mech.kinetic_energy(q + s * dq + 0.5 * s * s * ddq, dq + s * ddq) + mech.potential_energy(
            q + s * dq + 0.5 * s * s * ddq
        )

    power = (dq * mech.inverse_dynamics(q, dq, ddq, friction=True)).sum(-1)
    expected = (energy(h) - energy(-h)) / (2 * h) + (mech.friction(q, dq) * dq).sum(-1)
    np.testing.assert_allclose(power, expected, atol=1e-6)


def test_friction_opposes_motion_in_its_own_coordinates():
    mech = tr.load_mechanism("PSM")
    q, dq, _ = states(mech)
    assert ((mech.friction(q, dq) * dq).sum(-1) >= 0).all()


def test_the_bias_of_the_measured_effort_is_not_a_force():
    mech = tr.load_mechanism("PSM")
    q = np.array(mech.arm.home)
    assert mech.effort_bias[0] == pytest.approx(-0.3000027)
    np.testing.assert_array_equal(mech.friction(q, np.zeros(7)), 0.0)
    np.testing.assert_allclose(mech.inverse_dynamics(q, 0 * q, 0 * q, friction=True), mech.gravity(q), atol=1e-15)
    with pytest.raises(ValueError, match="read-only"):
        mech.effort_bias[0] = 0.0


def test_a_constant_force_is_a_potential():
    known = load_parameters("PSM")
    drives = tuple(replace(d, K0=0.3, terms=(*d.terms, "K0")) if d.name == "pitch" else d for d in known.drives)
    mech, bare = (tr.load_mechanism("PSM", p) for p in (replace(known, drives=drives), known))
    q, dq, ddq = states(mech)
    force = [0, 0.3, 0, 0, 0, 0, 0]
    np.testing.assert_allclose(mech.gravity(q) - bare.gravity(q), np.broadcast_to(force, q.shape), atol=1e-13)
    np.testing.assert_allclose(mech.gravity(q[0]) - bare.gravity(q[0]), force, atol=1e-13)
    np.testing.assert_allclose(mech.potential_energy(q) - bare.potential_energy(q), 0.3 * q[..., 1], atol=1e-13)
    np.testing.assert_array_equal(mech.effort_bias, bare.effort_bias)
    predicted = mech.regressor(q, dq, ddq) @ mech.parameter_vector
    np.testing.assert_allclose(
        predicted, mech.inverse_dynamics(q, dq, ddq, friction=True) + mech.effort_bias, atol=1e-9
    )


@pytest.mark.parametrize("friction", [False, True])
def test_forward_dynamics_inverts_inverse_dynamics(friction):
    mech = tr.load_mechanism("PSM")
    q, dq, ddq = states(mech)
    tau = mech.inverse_dynamics(q, dq, ddq, friction=friction)
    np.testing.assert_allclose(mech.forward_dynamics(q, dq, tau, friction=friction), ddq, atol=1e-8)
    np.testing.assert_allclose(mech.forward_dynamics(q[0], dq[0], tau[0], friction=friction), ddq[0], atol=1e-8)


def test_forward_dynamics_rejects_a_set_that_is_not_physical():
    mech = tr.load_mechanism("PSM", "wang2019_published")
    with pytest.raises(tr.TrocarError, match=r"mass matrix is not positive definite .* 'wang2019_published'"):
        mech.forward_dynamics(mech.arm.home, np.zeros(7), np.zeros(7))


def test_there_are_49_base_parameters_17_of_them_inertial(mech):
    base = mech.base_parameters
    links = [
        i for i, name in enumerate(mech.parameter_names) if name.split(".")[1] in ("m", "mx", "my", "mz") or "L" in name
    ]
    identified = mech.arm.geometry == "wang2019"
    if identified and mech.counterweight and mech.arm.mounting == 0.0 and mech.gravity_vector[1] == 0.0:
        if mech.parameters.name != "wang2019_refit":  # which has other drives
            assert len(base) == 49
        assert np.linalg.matrix_rank(base.B[:, links], tol=1e-9) == 17
    q, dq, ddq = states(mech, seed=5)
    Y = mech.regressor(q, dq, ddq)
    phi_base = base.B @ mech.parameter_vector
    np.testing.assert_allclose(Y[..., base.independent] @ phi_base, Y @ mech.parameter_vector, atol=1e-9)


def test_without_counterweight_only_that_body_is_removed():
    with_, without = (tr.load_mechanism("PSM", counterweight=c) for c in (True, False))
    q, dq, ddq = states(with_)
    body = with_.parameters.inertias["counterweight"]
    columns = [i for i, name in enumerate(with_.parameter_names) if name.startswith("counterweight.")]
    share = with_.regressor(q, dq, ddq)[..., columns] @ with_.parameter_vector[columns]
    difference = with_.inverse_dynamics(q, dq, ddq) - without.inverse_dynamics(q, dq, ddq)
    np.testing.assert_allclose(difference, share, atol=1e-12)
    assert body.mass == pytest.approx(0.35, abs=1e-3)


def test_rotor_inertia_can_be_made_smaller_for_torque_comparisons():
    small, default = (tr.load_mechanism("PSM", rotor_inertia=Im) for Im in (1e-5, None))
    difference = (default.mass_matrix(default.arm.home) - small.mass_matrix(small.arm.home))[3, 3]
    assert difference == pytest.approx(9e-5 / 1.5632**2)


# Golden numbers: the model library of Ferro et al. 2022.

REFERENCE = json.loads((SUPPORT / "golden" / "psm_reference.json").read_text())["rows"]


@pytest.mark.parametrize("parameters", ["wang2019", "wang2019_published"])
def test_the_authors_implementation_is_reproduced(parameters):
    mech = tr.load_mechanism("PSM", parameters)
    without = tr.load_mechanism("PSM", parameters, counterweight=False)
    for row in REFERENCE:
        q, dq, ddq = (np.array([*row[key], 0, 0, 0, 0]) for key in ("q", "dq", "ddq"))
        np.testing.assert_allclose(mech.mass_matrix(q)[:3, :3], row["M"], atol=5e-6)
        np.testing.assert_allclose(mech.coriolis(q, dq)[:3], row["c"], atol=5e-6)
        np.testing.assert_allclose(mech.gravity(q)[:3], row["g"], atol=5e-6)
        np.testing.assert_allclose(mech.inverse_dynamics(q, dq, ddq)[:3], row["tau"], atol=5e-6)
        np.testing.assert_allclose(without.inverse_dynamics(q, dq, ddq)[:3], row["tau_no_counterweight"], atol=1e-4)


@pytest.mark.parametrize(("counterweight", "tolerance"), [(True, 1e-9), (False, 5e-5)])
def test_the_consistent_set_has_the_torque_of_the_published_one(counterweight, tolerance):
    ours, published = (
        tr.load_mechanism("PSM", name, counterweight=counterweight) for name in ("wang2019", "wang2019_published")
    )
    q, dq, ddq = states(ours, 2000)
    difference = ours.inverse_dynamics(q, dq, ddq) - published.inverse_dynamics(q, dq, ddq)
    assert np.abs(difference[:, :3]).max() < tolerance


def test_dynamics_without_parameters_are_an_error():
    with pytest.raises(tr.TrocarError, match="PSM in geometry 'gondokaryono2019' has no dynamic parameters"):
        tr.Mechanism(tr.load_arm("PSM", "gondokaryono2019")).gravity(np.zeros(7))
