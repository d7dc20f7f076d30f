"""Zhou et al. 2025: what its tables say themselves, and the pieces of their simulation."""

import numpy as np
import pytest

import trocar as tr
from trocar.experiments.zhou2025 import printed, runs
from trocar.experiments.zhou2025.loop import excitation
from trocar.experiments.zhou2025.others import sensitivity
from trocar.identification.si.gravity import fit_gravity
from trocar.identification.si.static_table import identified, table_two

TABLE = table_two()
POSES = runs.straight(TABLE.q)


@pytest.fixture(scope="module")
def model():
    return tr.load_mechanism(runs.ARM, runs.MODEL)


@pytest.fixture(scope="module")
def truth():
    return tr.load_mechanism(runs.ARM, runs.TRUTH)


def test_poses_are_printed_with_z_down_and_the_last_angle_of_pose_five_is_a_copy(model):
    off = np.abs(printed.printed_poses(model, POSES) - TABLE.pose)
    assert off[:4].max() < 0.01
    assert off[4, :5].max() < 0.01
    assert TABLE.pose[4, 5] == TABLE.pose[4, 2]
    assert printed.printed_poses(model, POSES)[4, 5] == pytest.approx(-107.83, abs=0.03)


def test_the_printed_torques_are_gravity_and_a_constant_at_each_joint(model):
    fit = identified()
    assert np.abs(fit.residual).max() < 0.01
    assert np.abs(fit.left_out() - TABLE.GC_torque).max() < 0.02  # not an overfit: each pose follows from the others
    rigid = fit_gravity(TABLE.q, TABLE.GC_torque, offsets=False)
    assert np.abs(rigid.residual).max() > 0.1
    np.testing.assert_allclose(rigid.coefficients, (-0.1087, -0.3309, 1.1343, 0.4356, 0.793), atol=5e-4)
    np.testing.assert_allclose(runs.holding(model, POSES), TABLE.GC_torque, atol=0.01)


def test_a_joint_held_by_friction_does_not_move_and_one_pushed_beyond_does(model, truth):
    sim = runs.still_simulator()
    q, middle = POSES[1], truth.gravity(POSES[1])
    band = runs.static_band(truth, q)
    for j in range(3):
        for share, moves in ((0.9, False), (1.1, True)):
            value = middle[j] + share * band[j]
            assert runs.moves(sim, q, middle, j, value) is moves


def test_bisection_finds_the_friction_band(model, truth):
    sim = runs.still_simulator()
    q = POSES[3]
    tau = model.gravity(q)
    middle, band = runs.holding(truth, q), runs.static_band(truth, q)
    for j, direction in ((0, 1), (1, -1)):
        found = runs.bound(sim, q, tau, j, direction, 0.05, duration=2.0)
        assert found == pytest.approx(middle[j] + direction * band[j], abs=0.06)


def test_an_effort_that_holds_nothing_has_no_band(truth):
    sim = runs.still_simulator()
    assert np.isnan(runs.bound(sim, POSES[0], np.zeros(7), 1, 1, 0.05))


def test_the_excitation_stays_within_limits_and_uses_them():
    arm = tr.load_arm(runs.ARM)
    motion = excitation(arm)
    setpoints = [motion(t) for t in np.linspace(0.0, motion.duration, 500)]
    q, dq = (np.array([getattr(s, name) for s in setpoints]) for name in ("q", "dq"))
    assert ((q > arm.lower) & (q < arm.upper)).all()
    share = np.maximum(
        np.ptp(q, axis=0) / (arm.upper - arm.lower), np.abs(dq).max(0) / [joint.velocity for joint in arm.joints]
    )
    assert (np.abs(dq).max(0) <= [joint.velocity for joint in arm.joints]).all()
    assert (share > 0.5).all()


def test_a_wrong_model_uses_up_friction_and_none_at_all_more_than_there_is(model):
    rows = {row.name: row for row in sensitivity(model, poses=300)}
    assert rows["links 10 % too light"].held > 0.9
    assert rows["no compensation"].held < 0.1
    assert rows["instrument +100 g"].used[:, 2].max() == pytest.approx(0.1 * 9.81 / 1.57, rel=0.15)
