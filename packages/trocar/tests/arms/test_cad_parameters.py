"""CAD parameters: brought into our frames, made physical by the least change, and true in both engines."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import trocar as tr
from tests.support.engine_reference import tree_effort
from tests.support.parameter_heads import head
from tools import derive_cad as cad
from trocar.arms.arm import poses_at_zero
from trocar.arms.parameters import Inertia, load_parameters
from trocar.arms.tables import read
from trocar.control import JointPID, step_to
from trocar.mechanics.inertia import barycentric, pseudo_inertia

SET = "gondokaryono2019"


@pytest.fixture(params=cad.ARMS, scope="module")
def name(request):
    return request.param


@pytest.fixture(scope="module")
def derived(name):
    return cad.derive(name)


@pytest.fixture(scope="module")
def mech(name):
    return tr.load_mechanism(name, SET)


def test_the_committed_file_is_reproduced_by_the_program(name, derived):
    parameters, _ = derived
    committed = load_parameters(name, SET)
    assert parameters.drives == committed.drives
    assert list(parameters.inertias) == list(committed.inertias)
    for body, inertia in committed.inertias.items():
        np.testing.assert_allclose(
            barycentric(parameters.inertias[body]), barycentric(inertia), rtol=1e-9, atol=1e-11, err_msg=body
        )


# Joints of the CAD model in its base, in the plane of the linkage [m]: Gondokaryono et al. 2019, Tables 4 and 5.
JOINTS = {
    "PSM": {"back": (-0.0296, 0.0), "front": (0.0664, 0.0), "bottom": (-0.0726, 0.1437), "end": (0.4434, 0.1437)},
    "ECM": {
        "front": (0.2722, 0.0),
        "back": (0.2356, -0.0098),
        "bottom": (0.1692, 0.2868),
        "top": (0.1637, 0.3242),
        "end": (0.5096, 0.2868),
    },
}


def test_our_joints_coincide_with_those_of_the_cad(name):
    arm = tr.load_arm(name, SET)
    T, table = poses_at_zero(arm.bodies), read(f"cad_{name.lower()}")
    base = 0.4864 if name == "PSM" else 0.6126
    along, up = (1, 2) if name == "PSM" else (0, 2)
    for body, (y, z) in JOINTS[name].items():
        np.testing.assert_allclose(T[body][1:3, 3], [y - base, z], atol=7e-5)
        link = table["links"][body]["position"]
        height = link[up] - table["rcm"]["position"][up]
        np.testing.assert_allclose([link[along] - base, height], [y - base, z], atol=2e-4)


def test_a_cad_link_off_its_joint_is_an_error(name):
    table = {**read(f"cad_{name.lower()}")}
    table["links"] = {k: {**v} for k, v in table["links"].items()}
    table["links"]["top"]["position"] = [0.0, 0.0, 0.0]
    with pytest.raises(tr.TrocarError, match=r"CAD link 'top' .* off our joint"):
        cad.in_link_frames(tr.load_arm(name, SET), table)


def test_links_keep_mass_and_centre_of_mass(name, derived):
    """The centre of mass in the base frame equals that of the CAD."""
    arm, table = tr.load_arm(name, SET), read(f"cad_{name.lower()}")
    T, T_rcm_base = poses_at_zero(arm.bodies), np.linalg.inv(cad.cad_pose(table["rcm"]))
    for body, entry in table["links"].items():
        inertia = derived[0].inertias[body]
        assert inertia.mass == entry["mass"]
        ours = T[body] @ [*inertia.com, 1.0]
        np.testing.assert_allclose(ours, T_rcm_base @ cad.cad_pose(entry) @ [*entry["com"], 1.0], atol=1e-9)


REPAIRED = {"PSM": {"end", "insertion"}, "ECM": {"back", "front", "end"}}


def test_every_body_is_physical_and_only_the_invalid_ones_were_changed(name, derived):
    parameters, repairs = derived
    assert {note.body for note in repairs} == REPAIRED[name]
    assert all(note.smallest < 0 < note.change for note in repairs)
    for inertia in parameters.inertias.values():
        assert np.linalg.eigvalsh(pseudo_inertia(barycentric(inertia)))[0] > 0
    raw = cad.in_link_frames(tr.load_arm(name, SET), read(f"cad_{name.lower()}"))
    for body, inertia in raw.items():
        if body not in REPAIRED[name]:
            np.testing.assert_array_equal(parameters.inertias[body].I, inertia.I)


def test_the_file_names_every_repair(derived, name):
    assert cad.comments(name, derived[1]) == head(name, SET)
    text = "\n".join(cad.comments(name, derived[1]))
    for note in derived[1]:
        assert str(note) in text
    assert ("ASSUMED" in text) == (name == "ECM")


def test_a_repair_is_the_least_change():
    """No physical body among many near the repaired one is nearer to the invalid tensor."""
    rng = np.random.default_rng(0)
    I = np.array([[0.0515, -0.0158, -0.0022], [-0.0158, -0.0152, 0.0111], [-0.0022, 0.0111, 0.0546]])
    body = Inertia(mass=1.6, com=np.array([0.1, 0.2, 0.3]), I=I)
    fixed, note = cad.repair("front", body)
    again, nothing = cad.repair("front", fixed)
    assert nothing is None
    np.testing.assert_array_equal(again.I, fixed.I)

    def moments(I):
        return 0.5 * np.trace(I) * np.eye(3) - I

    S0, S = moments(body.I), moments(fixed.I)
    assert np.linalg.norm(S - S0) == pytest.approx(note.change, rel=1e-9)
    least = 1.6 * cad.THINNEST**2
    for _ in range(3000):
        A = np.linalg.cholesky(S + 1e-9 * np.eye(3)) + rng.normal(size=(3, 3)) * 10 ** rng.uniform(-5, -1)
        other = A @ A.T
        if np.linalg.eigvalsh(other)[0] >= least:
            assert np.linalg.norm(other - S0) >= note.change


def test_removing_the_counterweight_changes_nothing_if_it_has_no_mass():
    """Their simulation has no counterweight, so there is nothing to remove."""
    with_, without = (tr.load_mechanism("PSM", SET, counterweight=c) for c in (True, False))
    q = np.array([0.3, 0.2, 0.1, 0.1, 0.2, 0.1, 0.3])
    np.testing.assert_array_equal(with_.mass_matrix(q), without.mass_matrix(q))
    a, b = (tr.Simulator("PSM", SET, counterweight=c) for c in (True, False))
    for _ in range(20):
        a.step(np.zeros(7))
        b.step(np.zeros(7))
    np.testing.assert_array_equal(a.q, b.q)


def test_the_only_friction_of_the_psm_is_a_damping_of_a_tenth_on_every_joint():
    mech = tr.load_mechanism("PSM", SET)
    np.testing.assert_allclose(mech.friction(np.zeros(7), np.arange(7.0)), 0.1 * np.arange(7.0), atol=1e-15)


def test_an_instrument_without_the_links_of_the_set_is_rejected():
    with pytest.raises(
        tr.TrocarError, match=r"inertias of finger_left, finger_right, which PSM with PERMANENT_CAUTERY_HOOK"
    ):
        tr.load_mechanism("PSM", SET, instrument="400183")


# The engine against the equations.


def test_the_mass_matrix_is_positive_definite(mech):
    q = np.random.default_rng(1).uniform(mech.arm.lower, mech.arm.upper, (5000, mech.n))
    assert np.linalg.eigvalsh(mech.mass_matrix(q)).min() > 1e-4


def test_the_engines_tree_projected_on_the_joints_is_the_mechanism(name, mech):
    sim = tr.Simulator(name, SET, friction=False)
    rng = np.random.default_rng(0)
    for _ in range(100):
        q = rng.uniform(sim.arm.lower, sim.arm.upper)
        dq, ddq = rng.normal(size=(2, sim.n))
        np.testing.assert_allclose(tree_effort(sim, q, dq, ddq), mech.inverse_dynamics(q, dq, ddq), atol=1e-9)


# Springs [N m/rad, N/m] on the first three joints make the free motion lively and bounded.
SPRING = {"PSM": [8.0, 8.0, 120.0, 0.05, 0.05, 0.05, 0.05], "ECM": [40.0, 40.0, 900.0, 0.1]}
RATES = {"PSM": [1.5, 1.0, 0.4, 0.5, -0.5, 0.4, 0.3], "ECM": [1.0, 0.8, 0.3, 0.5]}


def test_exact_free_motion_is_that_of_the_equations(name, mech):
    n, k, rest = mech.n, np.array(SPRING[name]), np.array(mech.arm.home)
    rest[6:] = 0.6  # the jaws do not meet
    start = rest + 0.3 * np.array([1, -1, 0.2, 1, 1, 1, 0.3])[:n]

    def rate(_, x):
        q, dq = x[:n], x[n:]
        return np.concatenate([dq, mech.forward_dynamics(q, dq, -k * (q - rest))])

    t = 0.01 * np.arange(1, 301)
    x0 = np.concatenate([start, RATES[name]])
    expected = solve_ivp(rate, (0, 3.0), x0, method="DOP853", rtol=1e-11, atol=1e-12, t_eval=t).y[:n].T

    sim = tr.Simulator(name, SET, friction=False, limits=False, accuracy="exact")
    for joint, stiffness, value in zip(sim.arm.joint_names, k, rest, strict=True):
        index = sim.model.joint(sim.arm.driven[joint]).id
        sim.model.jnt_stiffness[index], sim.model.qpos_spring[index] = stiffness, value
    sim.reset(start, RATES[name])
    q, rcm, loop = [], 0.0, 0.0
    for i in range(3000):
        sim.step(np.zeros(n))
        if i % 10 == 9:
            q.append(sim.q)
            rcm, loop = max(rcm, sim.rcm_error()), max(loop, sim.loop_error())
    assert np.abs(np.array(q) - expected).max() < 1e-6
    assert rcm < 1e-7
    assert loop < 1e-7
    assert np.ptp(expected, axis=0)[:3] == pytest.approx([1.0, 1.0, 0.2], abs=0.9)  # it moved


@pytest.mark.parametrize("accuracy", ["fast", "exact", "discrete"])
def test_the_loops_hold_under_10_newton_at_the_tip(name, mech, accuracy):
    sim = tr.Simulator(name, SET, accuracy=accuracy)
    hold = np.array(mech.arm.home) + np.array([0.3, 0.2, 0.01, 0.1, 0.2, 0.1, 0.3])[: mech.n]
    sim.reset(hold)
    wrench = np.array([6.0, -6.0, np.sqrt(28.0), 0, 0, 0])
    sim.apply_wrench(wrench)
    rcm = loop = 0.0
    for _ in range(300):
        tau = mech.gravity(sim.q) - 20.0 * np.diag(mech.mass_matrix(sim.q)) * sim.dq
        tau[: mech.arm.tip_joints] -= mech.jacobian(sim.q).T @ wrench
        sim.step(tau)
        rcm, loop = max(rcm, sim.rcm_error()), max(loop, sim.loop_error())
    np.testing.assert_allclose(sim.q, hold, atol=1e-3)
    assert rcm < 1e-6
    assert loop < 1e-6


def test_the_published_pid_is_stable_with_one_sample_of_delay(name):
    sim = tr.Simulator(name, SET, timestep=1 / 1500)
    start = np.array(sim.arm.home)
    start[6:] = 0.2
    goal = start + np.array([0.1, -0.1, 0.01, 0.2, -0.2, 0.2, 0.2])[: sim.n]
    sim.reset(start)
    recording = tr.simulate(sim, JointPID(sim.arm, delay=1), step_to(start, goal, 0.05), 3.0)
    assert np.abs(recording.dq[-150:]).max() < 1e-3
    np.testing.assert_allclose(recording.q[-1], goal, atol=0.011)  # no integral term: weight leaves an error
