"""The da Vinci Si arms: gravity in closed form, physical sets, agreement of engine and equations."""

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

import trocar as tr
from tests.support.engine_reference import tree_effort
from tests.support.parameter_heads import head
from tools import derive_si
from trocar.arms.parameters import load_parameters
from trocar.cli import app
from trocar.control import GravityCompensation, JointPID, Setpoint, State, hold
from trocar.identification.si.gravity import coefficients, fit_gravity, gravity_regressor, identified, table_two
from trocar.identification.si.gravity_file import fitted_links, to_json
from trocar.identification.si.parameters import links
from trocar.mechanics.inertia import barycentric, pseudo_inertia

SETS = [(arm, name) for arm, names in derive_si.SETS.items() for name in names]
MOUNTINGS = np.radians([0.0, -15.0, -45.0, -70.0])
GRAVITIES = [(1.0, -2.0, -9.0), *(-9.81 * np.array([0, np.sin(p), np.cos(p)]) for p in MOUNTINGS)]
HOLD = np.array([0.5, -0.6, 0.12, 0.1, 0.2, -0.1, 0.3])


@pytest.fixture(params=SETS, ids="-".join)
def mech(request):
    return tr.load_mechanism(*request.param)


def states(mech, count, seed=0):
    return np.random.default_rng(seed).uniform(mech.arm.lower, mech.arm.upper, (count, mech.n))


# -- gravity ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gravity", GRAVITIES)
def test_five_coefficients_are_the_gravity_of_any_set_at_any_mounting(mech, gravity):
    q = states(mech, 50)
    tilted = tr.Mechanism(mech.arm, mech.parameters, gravity=gravity)
    closed_form = gravity_regressor(q, gravity) @ coefficients(mech)
    np.testing.assert_allclose(closed_form + mech.drives.constant[:3], tilted.gravity(q)[:, :3], atol=1e-12)


def test_one_state_gives_one_row_and_a_batch_keeps_its_axes(random_states):
    q = random_states(tr.load_mechanism("PSM_Si"), 6)
    batch = gravity_regressor(q.reshape(2, 3, 7))
    assert batch.shape == (2, 3, 3, 5)
    np.testing.assert_array_equal(batch[1, 2], gravity_regressor(q[5]))


@pytest.mark.parametrize(
    ("arm", "published"),
    [
        ("PSM_Si", (-0.0815, -0.2697, 0.9692, 0.4060, 0.637)),
        ("ECM_Si", (-0.0682, -0.3440, 1.9378, 0.5856, 1.8)),
    ],
)
def test_the_saw_sets_have_the_gravity_of_the_published_masses(arm, published):
    """First moments of the masses in PSM_Si_physical.json and ECM_Si_physical.json (with 1.8 kg of endoscope)."""
    np.testing.assert_allclose(coefficients(tr.load_mechanism(arm, "saw")), published, atol=6e-5)


def test_published_efforts_that_hold_the_arms():
    """Worked out from the same files by the dVRK's own mapping of link efforts to joints."""
    psm, ecm = tr.load_mechanism("PSM_Si", "saw"), tr.load_mechanism("ECM_Si")
    np.testing.assert_allclose(psm.gravity([0, 0, 0.12, 0, 0, 0, 0])[:3], (-0.80, 3.98, -6.25), atol=5e-3)
    np.testing.assert_allclose(ecm.gravity([0, 0, 0.1, 0])[:3], (-0.23, -14.24, -6.04), atol=5e-3)


def test_the_insertion_carries_half_of_the_carriage():
    mech = tr.load_mechanism("PSM_Si")
    inertias = mech.parameters.inertias
    assert inertias["carriage"].mass > 0.05
    m3 = 0.5 * inertias["carriage"].mass + inertias["insertion"].mass
    assert m3 == pytest.approx(coefficients(mech)[4], abs=1e-12)
    assert mech.gravity([0, 0, 0.1, 0, 0, 0, 0])[2] == pytest.approx(-9.81 * m3 + mech.drives.constant[2], abs=1e-12)


# -- sets -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("arm", "name"), SETS)
def test_the_committed_file_is_reproduced_by_the_program(arm, name):
    derived, committed = derive_si.derive(arm, name), load_parameters(arm, name)
    assert derived.drives == committed.drives
    assert list(derived.inertias) == list(committed.inertias)
    for body, inertia in committed.inertias.items():
        np.testing.assert_allclose(
            barycentric(derived.inertias[body]), barycentric(inertia), rtol=1e-5, atol=1e-8, err_msg=body
        )


@pytest.mark.parametrize(("arm", "name"), SETS)
def test_the_committed_file_documents_its_derivation(arm, name):
    assert derive_si.comments(load_parameters(arm, name)) == head(arm, name)


def test_every_link_is_physical_and_the_mass_matrix_is_positive_definite(mech):
    for body in mech.parameters.inertias.values():
        assert np.linalg.eigvalsh(pseudo_inertia(barycentric(body)))[0] > 1e-8
    assert np.linalg.eigvalsh(mech.mass_matrix(states(mech, 500))).min() > 1e-6


def test_links_stay_near_the_published_masses():
    published = links("PSM_Si")[0]
    for name in ("zhou2025", "saw"):
        found = load_parameters("PSM_Si", name).inertias
        for body, inertia in published.items():
            assert found[body].mass == pytest.approx(inertia.mass, rel=0.25), (name, body)


def test_friction_is_that_of_the_half_bands():
    table, truth = table_two(), tr.load_mechanism("PSM_Si", "zhou2025_measured")
    q = np.pad(table.q, ((0, 0), (0, 4)))
    drives = truth.drives
    band = (drives.coulomb(q, truth.gravity(q)) @ np.abs(drives.A))[:, :3]
    off = band - table.half_band
    np.testing.assert_allclose(off.mean(0), 0.0, atol=2e-3)  # straight lines of least squares
    against = np.stack([*np.abs(truth.gravity(q))[:, :2].T, q[:, 2]], axis=-1)
    np.testing.assert_allclose((off * against).mean(0), 0.0, atol=0.02)  # mu is rounded to 0.001
    assert (np.abs(off) < [0.152, 0.14, 0.02]).all()
    assert {"insertion", "cannula"} <= {drive.name for drive in drives.drives}


# -- engine -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mounting", MOUNTINGS)
def test_the_engines_tree_projected_on_the_joints_is_the_mechanism(mech, mounting):
    name, parameters = mech.arm.name, mech.parameters.name
    sim = tr.Simulator(name, parameters, friction=False, mounting=mounting)
    equations = tr.load_mechanism(name, parameters, mounting=mounting)
    rng = np.random.default_rng(0)
    for q in states(mech, 10):
        dq, ddq = rng.normal(size=(2, sim.n))
        np.testing.assert_allclose(tree_effort(sim, q, dq, ddq), equations.inverse_dynamics(q, dq, ddq), atol=1e-9)


@pytest.mark.parametrize("name", ["PSM_Si", "ECM_Si"])
def test_free_motion_of_the_closed_chain_is_that_of_the_equations(name):
    sim = tr.Simulator(name, friction=False, limits=False, accuracy="exact")
    mech = tr.load_mechanism(name)
    q, dq = np.array(sim.arm.home) + 0.1 * np.eye(sim.n)[1], np.zeros(sim.n)
    sim.reset(q, dq)
    h = sim.timestep
    for _ in range(300):  # Runge-Kutta 4 of the equations for comparison
        f = lambda q, dq: (dq, mech.forward_dynamics(q, dq, np.zeros(sim.n)))  # noqa: E731
        k1 = f(q, dq)
        k2 = f(q + h / 2 * k1[0], dq + h / 2 * k1[1])
        k3 = f(q + h / 2 * k2[0], dq + h / 2 * k2[1])
        k4 = f(q + h * k3[0], dq + h * k3[1])
        q, dq = (x + h / 6 * (a + 2 * b + 2 * c + d) for x, a, b, c, d in zip((q, dq), k1, k2, k3, k4, strict=True))
        sim.step(np.zeros(sim.n))
    assert np.abs(q - sim.arm.home).max() > 0.1
    np.testing.assert_allclose(sim.q[:3], q[:3], atol=2e-6)
    assert sim.rcm_error() < 1e-7


@pytest.mark.parametrize("name", ["PSM_Si", "ECM_Si"])
def test_the_parallelogram_does_not_fold_over_from_one_end_of_the_pitch_to_the_other(name):
    sim = tr.Simulator(name, friction=False)
    mech, arm = tr.load_mechanism(name), sim.arm
    q = np.array(arm.home)
    q[1] = arm.lower[1] + 0.01
    sim.reset(q)
    worst = 0.0
    for k in range(1500):
        goal = arm.lower[1] + 0.01 + min(1.0, k / 1200) * (arm.upper[1] - arm.lower[1] - 0.02)
        tau = mech.gravity(sim.q)
        tau[1] += 300.0 * (goal - sim.q[1]) - 20.0 * sim.dq[1]
        sim.step(tau)
        worst = max(worst, sim.rcm_error())
    assert sim.q[1] == pytest.approx(arm.upper[1] - 0.01, abs=0.02)
    assert worst < 1e-5


def test_brakes_hold_the_first_three_joints_with_the_motors_off():
    sim = tr.Simulator("PSM_Si")
    sim.reset(HOLD)
    sim.brakes = True
    for _ in range(300):
        sim.step(np.zeros(7))
    assert np.abs(sim.q - HOLD)[:3].max() < 1e-6
    sim.brakes = False
    for _ in range(300):
        sim.step(np.zeros(7))
    assert np.abs(sim.q - HOLD)[:3].max() > 0.05


@pytest.mark.parametrize("name", ["PSM_Si", "ECM_Si"])
def test_the_published_pid_is_stable_with_one_sample_of_delay(name):
    sim = tr.Simulator(name, timestep=1 / 1500)
    home = np.array(sim.arm.home)
    goal = home + 0.02 * np.minimum(1.0, sim.arm.upper - home)
    rec = tr.simulate(sim, JointPID(sim.arm, delay=1), hold(goal), 1.0, every=10)
    assert np.abs(rec.dq[-20:]).max() < 1e-3
    assert np.abs(rec.q[-1] - goal)[:3].max() < 0.03  # gravity over Kp


# -- gravity compensation ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "case", [{}, {"mounting": -0.8}, {"added_mass": 0.1}, {"parameters": "saw"}, {"gravity": (2, 1, -9)}]
)
def test_an_arm_compensated_with_its_own_model_stays_in_place(case):
    mech, sim = tr.load_mechanism("PSM_Si", **case), tr.Simulator("PSM_Si", contacts=False, **case)
    sim.reset(HOLD)
    sim.apply_wrench([0, 25.0, 0, 0, 0, 0])
    compensation = GravityCompensation(mech)
    tr.simulate(sim, compensation, None, 0.4, every=50)
    assert np.abs(sim.q - HOLD)[:3].max() > 5e-3
    sim.apply_wrench(np.zeros(6))
    tr.simulate(sim, compensation, None, 0.4, every=50)
    left = sim.q
    tr.simulate(sim, compensation, None, 0.5, every=50)
    assert np.abs(sim.q - left)[:3].max() < 1e-5


def test_feed_forward_is_gravity_at_the_reference_position():
    mech = tr.load_mechanism("PSM_Si")
    asked, is_ = HOLD, HOLD + 0.05
    state, setpoint = State(0.0, is_, np.zeros(7)), Setpoint(asked, np.zeros(7), np.zeros(7))
    np.testing.assert_array_equal(GravityCompensation(mech, feed_forward=True)(state, setpoint), mech.gravity(asked))
    np.testing.assert_array_equal(GravityCompensation(mech)(state, setpoint), mech.gravity(is_))


def test_a_heavier_instrument_adds_its_weight():
    a, b = (tr.load_mechanism("PSM_Si", added_mass=mass) for mass in (0.2, 0.0))
    assert a.gravity([0, 0, 0.1, 0, 0, 0, 0])[2] - b.gravity([0, 0, 0.1, 0, 0, 0, 0])[2] == pytest.approx(-9.81 * 0.2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tr.load_mechanism("PSM_Si", added_mass=-2.0), r"added_mass must be finite and above -0\.\d+ kg"),
        (lambda: tr.load_mechanism("ECM_Si", added_mass=0.1), "ECM takes endoscope="),
        (lambda: tr.load_mechanism("PSM_Si", "zhou2024"), "Did you mean 'zhou2025'"),
        (lambda: derive_si.derive("PSM", "zhou2025"), "PSM_Si"),
        (lambda: coefficients(tr.load_mechanism("PSM")), "no such closed form"),
        (lambda: fit_gravity(np.zeros((4, 3)), np.zeros((4, 3))), "do not determine the 8 numbers"),
        (lambda: fit_gravity(np.zeros((4, 2)), np.zeros((4, 3))), r"must be \(N, 3 or more\)"),
        (lambda: fit_gravity(np.full((9, 3), np.nan), np.zeros((9, 3))), "finite"),
    ],
)
def test_bad_input_is_rejected_with_the_reason(call, message):
    with pytest.raises(tr.TrocarError, match=message):
        call()


# -- from static poses to a file --------------------------------------------------------------------------------------


def test_static_poses_recover_coefficients_and_offsets_at_a_pitched_mounting(random_states):
    mech = tr.load_mechanism("PSM_Si", mounting=-0.8)
    q = random_states(mech, 6)
    tau = mech.gravity(q)[:, :3] + [-0.1, 0.2, 0.3]
    fit = fit_gravity(q, tau, gravity=mech.gravity_vector)
    np.testing.assert_allclose(fit.coefficients, coefficients(mech), atol=1e-10)
    np.testing.assert_allclose(fit.K0, mech.drives.constant[:3] + (-0.1, 0.2, 0.3), atol=1e-10)
    np.testing.assert_allclose(fit.left_out(), tau, atol=1e-8)


def test_the_covariance_is_the_scatter_of_fits_to_noisy_poses(random_states):
    mech, rng, sigma = tr.load_mechanism("PSM_Si"), np.random.default_rng(0), np.array([0.05, 0.03, 0.1])
    q = random_states(mech, 30)
    fits = [fit_gravity(q, mech.gravity(q)[:, :3] + sigma * rng.normal(size=(30, 3))) for _ in range(300)]
    scatter = np.std([np.concatenate([f.coefficients, f.K0]) for f in fits], axis=0)
    stated = np.sqrt(np.mean([np.diag(f.covariance) for f in fits], axis=0))
    np.testing.assert_allclose(stated, scatter, rtol=0.2)


def test_the_exported_file_has_the_fitted_gravity_by_the_dvrks_own_chain(random_states):
    """Potential energy of the file's links, placed by its DH rows, against the fit: gradients by finite differences."""
    mech = tr.load_mechanism("PSM_Si")
    fit = identified()
    joints = json.loads(to_json(fit))["DH"]["joints"]

    def row(a, alpha, d, theta):
        ca, sa, ct, st = np.cos(alpha), np.sin(alpha), np.cos(theta), np.sin(theta)
        return np.array(
            [[ct, -st, 0, a], [st * ca, ct * ca, -sa, -sa * d], [st * sa, ct * sa, ca, ca * d], [0, 0, 0, 1]]
        )

    def energy(q):
        moved = {
            "yaw": q[0],
            "pitch1": q[1],
            "pitch2": -q[1],
            "pitch3": q[1],
            "insertion1": q[2] / 2,
            "insertion2": q[2] / 2,
        }
        T, U = np.eye(4), 0.0
        for j in joints:
            step, slide = moved.get(j["name"], 0.0), j["type"] == "prismatic"
            T = T @ row(j["A"], j["alpha"], j["D"] + (step if slide else 0.0), j["theta"] + (0.0 if slide else step))
            if j.get("mass"):
                U += 9.81 * j["mass"] * (T @ [j["cx"], j["cy"], j["cz"], 1.0])[2]
        return U

    for q in random_states(mech, 20):
        slope = [(energy(q[:3] + e) - energy(q[:3] - e)) / 2e-6 for e in 1e-6 * np.eye(3)]
        # their lengths are rounded to 5 digits and end 0.1 mm off along the shaft
        np.testing.assert_allclose(slope, gravity_regressor(q) @ fit.coefficients, atol=2e-3)


def test_the_exported_masses_are_the_published_ones_except_for_the_insertion():
    found = fitted_links(identified().coefficients)
    assert {link: round(mass, 9) for link, (mass, _) in found.items() if link != "insertion2"} == {
        "yaw": 0.994,
        "pitch1": 1.005,
        "pitch2": 2.060,
        "pitch3": 2.041,
    }
    with pytest.raises(tr.TrocarError, match="m3 = -1"):
        fitted_links(np.array([0, 0, 0, 0, -1.0]))


def test_the_command_fits_and_writes_and_reports_errors(tmp_path):
    table = table_two()
    lines = [",".join(f"{v:g}" for v in (*q, *tau)) for q, tau in zip(table.q, table.GC_torque, strict=True)]
    poses, out, toml = tmp_path / "poses.csv", tmp_path / "gravity.json", tmp_path / "mine.toml"
    poses.write_text("\n".join(["yaw,pitch,insertion,tau_yaw,tau_pitch,tau_insertion", *lines]))
    run = CliRunner().invoke(app, ["gravity", str(poses), "--json", str(out), "-o", str(toml)])
    assert run.exit_code == 0, run.output
    assert re.search(r"m3 +│ +0\.7880", run.output)
    assert json.loads(out.read_text())["fit"]["poses"] == 5
    mech = tr.load_mechanism("PSM_Si", toml)
    np.testing.assert_allclose(coefficients(mech), identified().coefficients, atol=1e-9)
    poses.write_text("yaw,pitch\n1,2\n")
    run = CliRunner().invoke(app, ["gravity", str(poses)])
    assert run.exit_code != 0
    assert "has no column insertion, tau_yaw" in run.output
