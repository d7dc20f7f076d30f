"""The ECM: weight of its endoscope, stability of its controller, holding of its brakes."""

import numpy as np
import pytest

import trocar as tr
from trocar.arms.loads import endoscope_masses
from trocar.control import JointPID, step_to

HOLD = np.array([0.5, 0.6, 0.2, 0.3])
PUSH = [6.0, -6.0, np.sqrt(28.0), 0, 0, 0]  # 10 N


def point_mass_gravity(mass, q, pitch, behind=0.100, d_insertion=0.3822):
    """Joint efforts (4,) that hold a point mass on the insertion axis, in closed form.

    At depth L below the RCM it is at L (c2 s1, -s2, -c2 c1); up is (0, sin p, cos p).
    """
    s1, s2, c1, c2 = np.sin(q[0]), np.sin(q[1]), np.cos(q[0]), np.cos(q[1])
    L, weight, sp, cp = q[2] - d_insertion - behind, 9.81 * mass, np.sin(pitch), np.cos(pitch)
    # height = L (-s2 sp - c2 c1 cp)
    return weight * np.array([L * c2 * s1 * cp, L * (-c2 * sp + s2 * c1 * cp), -s2 * sp - c2 * c1 * cp, 0.0])


@pytest.mark.parametrize("mounting", [-np.pi / 4, 0.0, -1.2])
@pytest.mark.parametrize(("one", "other"), [("HD", "SD"), ("SD", "none"), (3.0, "custom")])
def test_another_endoscope_changes_gravity_by_that_of_a_point_mass(one, other, mounting):
    a, b = (tr.load_mechanism("ECM", endoscope=e, mounting=mounting) for e in (one, other))
    masses = endoscope_masses("ECM")
    mass = masses.get(one, one) - masses.get(other, other)
    for q in np.random.default_rng(0).uniform(a.arm.lower, a.arm.upper, (50, 4)):
        np.testing.assert_allclose(
            a.gravity(q) - b.gravity(q), point_mass_gravity(mass, q, mounting), atol=1e-12, rtol=1e-12
        )


def test_masses_are_those_of_the_gravity_compensation():
    assert endoscope_masses("ECM") == {"SD": 1.5, "HD": 2.5, "custom": 0.8, "none": 0.1}
    assert endoscope_masses("ECM_Si") == {"HD": 1.8}
    assert tr.load_mechanism("ECM").parameters.inertias["roll"].mass == 1.5


def test_the_viewing_direction_does_not_change_the_dynamics():
    q, dq = HOLD, np.array([0.3, -0.2, 0.05, 0.5])
    for a, b in zip(*(tr.load_mechanism("ECM", instrument=s).terms(q, dq) for s in ("straight", "up")), strict=True):
        np.testing.assert_array_equal(a, b)


def test_gravity_is_within_what_the_motors_can_hold_with_every_endoscope():
    arm = tr.load_arm("ECM")
    q = np.random.default_rng(0).uniform(arm.lower, arm.upper, (5000, 4))
    for scope in endoscope_masses("ECM"):
        assert (np.abs(tr.load_mechanism("ECM", endoscope=scope).gravity(q)).max(0) < arm.motors.effort).all()


@pytest.mark.parametrize(
    ("arm", "endoscope", "message"),
    [
        ("ECM", "4K", r"endoscope of ECM '4K' is unknown"),
        ("ECM", -1.0, r"endoscope must be one of SD, HD, custom, none or a positive mass \[kg\], got -1.0"),
        ("ECM", True, "endoscope must be one of"),
        ("PSM", "HD", "PSM carries no endoscope, got endoscope='HD'; omit it"),
    ],
)
def test_a_wrong_endoscope_is_rejected(arm, endoscope, message):
    with pytest.raises(tr.TrocarError, match=message):
        tr.load_mechanism(arm, endoscope=endoscope)


def test_the_ecm_has_no_counterweight_to_omit():
    with pytest.raises(tr.TrocarError, match="ECM has no counterweight"):
        tr.Simulator("ECM", counterweight=False)


@pytest.mark.parametrize("endoscope", ["HD", "none"])
@pytest.mark.parametrize("friction", [True, False])
def test_the_published_pid_is_stable_with_every_endoscope(endoscope, friction):
    sim = tr.Simulator("ECM", timestep=1 / 1500, endoscope=endoscope, friction=friction)
    start = np.array(sim.arm.home)
    goal = start + [0.1, -0.1, 0.01, 0.2]
    sim.reset(start)
    recording = tr.simulate(sim, JointPID(sim.arm, delay=1), step_to(start, goal, 0.05), 3.0)
    assert np.abs(recording.dq[-150:]).max() < 1e-3
    np.testing.assert_allclose(recording.q[-1], goal, atol=0.012)


# Brakes.


@pytest.mark.parametrize("accuracy", ["fast", "exact", "discrete"])
@pytest.mark.parametrize("endoscope", ["SD", "HD"])
def test_brakes_hold_the_weight_of_the_arm_and_10_newton_at_the_tip(accuracy, endoscope):
    sim = tr.Simulator("ECM", accuracy=accuracy, endoscope=endoscope)
    sim.reset(HOLD)
    assert not sim.brakes
    sim.brakes = True
    assert sim.brakes
    sim.apply_wrench(PUSH)
    for k in range(1000):
        sim.step(np.zeros(4))
        if k == 499:
            q = sim.q
    creep = np.abs(sim.q - q) / 0.5
    assert (creep < [1e-6, 1e-6, 1e-7, 1e-6]).all()  # rad/s, m/s
    np.testing.assert_allclose(sim.q, HOLD, atol=1e-8)
    assert sim.rcm_error() < 1e-7


def test_the_arm_falls_when_the_brakes_are_released():
    sim = tr.Simulator("ECM")
    sim.reset(HOLD)
    sim.brakes = True
    for _ in range(50):
        sim.step(np.zeros(4))
    sim.brakes = False
    assert not sim.brakes
    for _ in range(200):
        sim.step(np.zeros(4))
    assert abs(sim.q[1] - HOLD[1]) > 0.05


def test_brakes_stop_a_moving_arm_in_place():
    sim = tr.Simulator("ECM")
    sim.reset(HOLD, [0.5, -0.5, 0.05, 0.0])
    sim.brakes = True
    for _ in range(100):
        sim.step(np.zeros(4))
    np.testing.assert_allclose(sim.q[:3], HOLD[:3], atol=1e-4)  # the roll has none
    assert np.abs(sim.dq).max() < 1e-6


def test_brakes_that_are_already_engaged_keep_their_position():
    sim = tr.Simulator("ECM")
    sim.reset(HOLD)
    sim.brakes = True
    held = sim.model.eq_data.copy()
    sim.apply_wrench(PUSH)
    for _ in range(20):
        sim.step(np.zeros(4))
    sim.brakes = True
    np.testing.assert_array_equal(sim.model.eq_data, held)


def test_a_braked_arm_can_be_placed_elsewhere_and_reset_releases_it():
    sim = tr.Simulator("ECM")
    sim.reset(HOLD)
    sim.brakes = True
    sim.place(HOLD - 0.1)
    for _ in range(50):
        sim.step(np.zeros(4))
    np.testing.assert_allclose(sim.q, HOLD - 0.1, atol=1e-7)
    sim.reset(HOLD)
    assert not sim.brakes


def test_a_snapshot_includes_the_brakes():
    sim = tr.Simulator("ECM")
    sim.reset(HOLD)
    sim.brakes = True
    for _ in range(10):
        sim.step(np.zeros(4))
    snapshot = sim.snapshot()

    def ahead():
        for _ in range(50):
            sim.step(np.array([1.0, 2.0, 3.0, 0.0]))
        return sim.q

    first = ahead()
    sim.brakes = False
    sim.place(HOLD - 0.1)
    ahead()
    sim.restore(snapshot)
    assert sim.brakes
    np.testing.assert_array_equal(ahead(), first)


def test_brakes_are_on_the_three_heavy_joints_of_the_arms_that_have_them():
    for arm in tr.ARMS:
        expected = ("yaw", "pitch", "insertion") if arm in ("ECM", "ECM_Si", "PSM_Si") else ()
        assert tr.load_arm(arm).brakes == expected


def test_engaging_missing_brakes_is_an_error():
    sim = tr.Simulator("PSM")
    assert sim.brakes is False
    with pytest.raises(tr.TrocarError, match="PSM has no brakes"):
        sim.brakes = True
