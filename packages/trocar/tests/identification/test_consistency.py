"""The consistent set is reproduced by the documented program, and a failing program is an error."""

from dataclasses import replace

import numpy as np
import pytest

import trocar as tr
from tests.support.parameter_heads import head
from tools import derive_wang2019
from tools.consistent_links import equivalent
from trocar.arms.parameters import load_parameters, to_toml
from trocar.identification.consistency import Prior, box, prior
from trocar.mechanics.inertia import barycentric, pseudo_inertia


@pytest.fixture(scope="module")
def derived():
    return derive_wang2019.derive()


def divergence(inertias, priors):
    """Objective of the program: tr Q - log det Q over the links, Q in units of the prior."""
    total = 0.0
    for name, body in inertias.items():
        if name in priors and name != "counterweight":  # found separately
            Q = np.linalg.solve(priors[name].P, pseudo_inertia(barycentric(body)))
            total += np.trace(Q) - np.linalg.slogdet(Q)[1]
    return total


def test_the_committed_file_is_reproduced_by_the_program(derived):
    """The same torque and distance from the prior; along flat directions of the cost the solver may stop anywhere."""
    committed = load_parameters("PSM", "wang2019")
    assert derived.drives == committed.drives
    arm = tr.load_arm("PSM", committed.geometry)
    q, dq, ddq = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 50, arm.n))
    for weighted in (True, False):
        tau = [tr.Mechanism(arm, x, counterweight=weighted).inverse_dynamics(q, dq, ddq) for x in (derived, committed)]
        np.testing.assert_allclose(*tau, atol=1e-9)
    priors = prior("PSM")
    assert divergence(derived.inertias, priors) == pytest.approx(divergence(committed.inertias, priors), abs=1e-6)
    for name, body in committed.inertias.items():
        np.testing.assert_allclose(barycentric(derived.inertias[name]), barycentric(body), rtol=1e-3, atol=1e-5)


def test_the_committed_file_documents_its_derivation():
    assert head("PSM", "wang2019") == derive_wang2019.COMMENTS


def test_base_parameters_are_held_exactly(derived):
    published = tr.load_mechanism("PSM", "wang2019_published")
    held = tr.Mechanism(published.arm, replace(published.parameters, inertias=derived.inertias))
    change = published.base_parameters.B @ (held.parameter_vector - published.parameter_vector)
    np.testing.assert_allclose(change, 0.0, atol=1e-12)
    for body in derived.inertias.values():
        assert np.linalg.eigvalsh(pseudo_inertia(barycentric(body)))[0] > 2e-7


def test_the_counterweight_moves_by_the_least_change():
    published, ours = (
        pseudo_inertia(barycentric(load_parameters("PSM", name).inertias["counterweight"]))
        for name in ("wang2019_published", "wang2019")
    )
    values, _ = np.linalg.eigh(published)
    least = np.linalg.norm(np.maximum(3e-7 - values, 0.0))  # without equality constraints
    change = np.linalg.norm(ours - published)
    assert change == pytest.approx(least, rel=1e-3)
    assert ours[3, 3] == pytest.approx(published[3, 3], abs=1e-12)  # its mass is identified separately


def test_a_box_of_uniform_density_is_the_mean_over_its_points():
    rng = np.random.default_rng(0)
    lower, upper = np.array([-0.1, 0.0, 0.2]), np.array([0.3, 0.1, 0.5])
    points = np.hstack([rng.uniform(lower, upper, (400_000, 3)), np.ones((400_000, 1))])
    np.testing.assert_allclose(box(2.0, lower, upper), 2.0 * points.T @ points / len(points), atol=2e-3)


def test_an_infeasible_program_is_an_error_not_a_result():
    priors = prior("PSM")
    priors["insertion"] = Prior(priors["insertion"].P, largest_mass=0.1)  # its mass is identified: 0.363 kg
    with pytest.raises(tr.TrocarError, match="no consistent set found: the solver returned 'infeasible"):
        equivalent(tr.load_mechanism("PSM", "wang2019_published"), priors)


def test_a_parameter_file_reads_back_exactly(derived, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(to_toml(derived, ["comment"]))
    again = load_parameters("PSM", path)
    assert again.drives == derived.drives
    for name, body in derived.inertias.items():
        np.testing.assert_array_equal(again.inertias[name].I, body.I)
        np.testing.assert_array_equal(again.inertias[name].com, body.com)
    assert tr.load_mechanism("PSM", path).arm.geometry == "wang2019"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("mass = ", "weight = "), r"bodies\.yaw has no field 'mass'"),
        (("com = [", "com = [1.0, "), r"bodies\.yaw: 'com' must be 3 finite"),
        (("Fv = ", "Fw = "), "Fw.* is unknown"),
        (("motors = {", "joints = { yaw = 1.0 }\nmotors = {"), "needs 'joints' or 'motors'"),
        (('arm = "PSM"', 'arm = "ECM"'), "holds parameters of ECM, not of PSM"),
        (("[bodies.yaw]", "[bodies.yaw"), "not valid TOML"),
        (('geometry = "wang2019"\n', ""), "has no field 'geometry'"),
    ],
)
def test_a_malformed_parameter_file_names_the_field(derived, tmp_path, change, message):
    path = tmp_path / "bad.toml"
    path.write_text(to_toml(derived).replace(*change, 1))
    with pytest.raises(tr.TrocarError, match=message):
        load_parameters("PSM", path)


def test_a_missing_parameter_file_is_named(tmp_path):
    with pytest.raises(tr.TrocarError, match=r"nowhere\.toml cannot be read: No such file"):
        tr.load_mechanism("PSM", tmp_path / "nowhere.toml")
